"""A live session with the control server, in a process of its own: `python -m app.bench.served FPS`.

It prints the server's port and token as JSON once faces are swapped, runs until its standard input is
closed, and then prints when each picture was taken and when it arrived, ns of the monotonic clock.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

TOKEN = "the-token-of-the-bench"  # noqa: S105 - lets in to nothing else
_LONGEST_S = 600
_PATIENCE_S = 60.0


def main(fps: float) -> None:
    """Serve until told to stop."""
    from app.bench.arrivals import NotingSink
    from app.bench.making import maker
    from app.build import DEMO, make_browser
    from app.desk import LiveDesk, Worn
    from app.options import CameraConfig
    from app.server.server import ControlServer
    from engine.config import SessionConfig

    made, sink = maker(), NotingSink(round(_LONGEST_S * fps))
    browser = make_browser(made.swapper.name)
    face = Worn("bench", made.identity)
    desk = LiveDesk(
        SessionConfig(), CameraConfig(DEMO, "1280x720", fps), made.swapper, [face], [], [sink, browser]
    )
    with ControlServer(desk, browser, 0, TOKEN) as server:
        desk.start()
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while desk.stats().shown != "swapped" and time.monotonic() < deadline:
                time.sleep(0.1)
            tell({"port": server.port, "token": TOKEN})
            sys.stdin.read()
        finally:
            desk.stop()
    count = min(sink.count, len(sink.ids))
    tell({"captured": sink.captured_ns[:count].tolist(), "arrived": sink.arrived_ns[:count].tolist()})


def tell(found: dict[str, object]) -> None:
    """One line of JSON to whoever started this."""
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["KAWARI_HOME"] = folder  # nothing of the user's is touched
        main(float(sys.argv[1]))
