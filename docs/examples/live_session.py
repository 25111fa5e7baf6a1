"""A live session with the demo camera: python live_session.py [SECONDS]

Shows figures while it runs, presses the panic button once, and says what happened.
"""

import sys
import time

from engine import Session, SessionConfig, SwapConfig
from engine.identity.demo import demo_photo
from engine.sinks.null import NullSink
from engine.sources.demo import DemoSource
from engine.swap import make_swapper


def main(seconds: float = 4.0) -> None:
    swapper = make_swapper("mesh")
    identity = swapper.prepare([demo_photo()])
    config = SessionConfig(swap=SwapConfig(strength=0.8))

    session = Session(
        config, lambda: DemoSource((640, 480), 15.0), [NullSink()], identity=identity, swapper=swapper
    )
    session.subscribe(lambda event: print(f"  {event.kind}: {dict(event.data)}"))
    with session:
        for _ in range(int(seconds)):
            time.sleep(1)
            stats = session.stats()
            print(f"{stats.fps:.0f} fps, 95 % within {stats.delay.p95:.0f} ms, {stats.shown}")
        session.panic()
        time.sleep(0.3)
        print("panic:", session.stats().shown)
        session.panic(False)

    stats = session.stats()
    print(f"{stats.frames_out} pictures left; dropped: {stats.drops}; guard: {stats.guard}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
