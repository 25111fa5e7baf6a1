"""A session on the demo camera that something covers."""

from __future__ import annotations

import threading

from app.build import make_session
from engine.config import SessionConfig
from engine.events import Event
from engine.identity.demo import demo_photo
from engine.sinks.null import NullSink
from engine.sources.demo import DemoSource
from engine.swap import make_swapper


def why_covered() -> str:
    """Run it until it is covered; the sentence that says why."""
    swapper = make_swapper()
    covered = threading.Event()
    said: list[str] = []

    def hear(event: Event) -> None:
        if event.kind == "panic":
            said.append(event.message)
            covered.set()

    session = make_session(
        SessionConfig(),
        lambda: DemoSource((320, 240), 15.0),
        swapper,
        swapper.prepare([demo_photo()]),
        [NullSink()],
    )
    session.subscribe(hear)
    with session:
        assert covered.wait(60)
        assert session.stats().panic
    return said[0]
