"""The end of the program, while threads of the engine may still be inside compiled code."""

from __future__ import annotations

import os
import sys
import threading
import time

_PATIENCE_S = 5.0


def end(code: int, patience_s: float = _PATIENCE_S) -> int:
    """Give the engine's threads time to end, then return `code`; leave at once if one hangs.

    A session's stop waits for a second at most and leaves behind what is in the middle of a model. If the
    interpreter ended under such a thread, Python would unwind it through C++ code, which aborts.
    """
    until = time.monotonic() + patience_s
    threads = [one for one in threading.enumerate() if one.daemon and one.name.startswith("kawari-")]
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.0))
    if any(thread.is_alive() for thread in threads):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
