"""Starts a virtual-camera worker that stands by, without taking the processor from the stream meanwhile.

Imports take most of a start. They are done on a thread of the lowest priority, which Linux knows for
single threads; the worker's own thread keeps the ordinary one, which it could not get back otherwise.
"""

from __future__ import annotations

import os
import sys
import threading

_LOWEST = 19


def load() -> None:
    """Import what a worker needs; on Linux only where nothing else wants to run."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)
    from engine.sinks.virtual_camera_worker import preload

    preload()


if __name__ == "__main__":
    loading = threading.Thread(target=load)
    loading.start()
    loading.join()
    from engine.sinks.virtual_camera_worker import main

    sys.exit(main(sys.argv[1:]))
