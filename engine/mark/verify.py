"""Was this made by Kawari? Watermark and manifest of a file or a camera, judged together."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.mark.detector import Detector, Finding, Verdict
from engine.mark.manifest import Statement, read
from engine.sources.base import Source
from engine.types import Image

WINDOW = 60
"""Frames added up before each search; the watermark was tuned for this many."""
WINDOWS = 10
"""Searches at most, spread over a clip whose length is known."""
SECONDS = 4.0
"""How long a camera is looked at, unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    Attributes:
        watermark: the best finding among all windows.
        manifest: what the file's C2PA manifest says; None for a camera.
        agree: whether the manifest names the watermark that was found; None if it can't be told.
        private: the best finding of a private key; None if none was tried.
    """

    watermark: Finding
    manifest: Statement | None
    agree: bool | None
    private: Finding | None = None


def verify_file(path: Path, source: Source, root: bytes | None, key: bytes | None = None) -> Report:
    """Examine a file.

    Args:
        path: the file, for its manifest.
        source: reads its pictures.
        root: PEM of the root certificate to trust.
        key: a private watermark key, tried besides the public one.

    Raises:
        InputError: the file can't be read.
    """
    watermark, private = _examine(source, key, SECONDS)
    manifest = read(path, root)
    agree = None
    if watermark.payload is not None and manifest.watermark:
        agree = watermark.payload.to_bytes().hex() == manifest.watermark
    return Report(watermark, manifest, agree, private)


def verify_camera(source: Source, seconds: float = SECONDS, key: bytes | None = None) -> Report:
    """Examine a camera.

    Args:
        source: closed; it is opened, read and closed here.
        seconds: how long to look for a mark; less if it is found sooner.
        key: a private watermark key, tried besides the public one.

    Raises:
        DeviceError: the camera can't be read.
    """
    watermark, private = _examine(source, key, seconds)
    return Report(watermark, None, None, private)


def examine(source: Source) -> Finding:
    """Look for the public watermark alone; as `verify_camera`."""
    return _examine(source, None, SECONDS)[0]


def _examine(source: Source, key: bytes | None, seconds: float) -> tuple[Finding, Finding | None]:
    """The best finding of the public and of the private key, in windows of frames until one is found."""
    detectors = [Detector()] if key is None else [Detector(), Detector(key)]
    best = [detector.find() for detector in detectors]
    info = source.open()
    try:
        pictures = _pictures(source, seconds if info.live else math.inf)
        # Skipping spreads the windows over the clip; codecs still have to decode everything.
        skip = max((info.frames or 0) // WINDOWS - WINDOW, 0)
        for _ in itertools.count() if info.live else range(WINDOWS):
            fed = 0
            for image in itertools.islice(pictures, WINDOW):
                for detector in detectors:
                    detector.feed(image)
                fed += 1
            if not fed:
                break
            for index, detector in enumerate(detectors):
                # Reading a payload says more than a few standard deviations.
                best[index] = max(
                    best[index], detector.find(), key=lambda each: (each.payload is not None, each.z)
                )
                detector.reset()
            if any(each.verdict is Verdict.PRESENT for each in best):
                break
            for _ in itertools.islice(pictures, skip):
                pass
    finally:
        source.close()
    return best[0], best[1] if key is not None else None


def _pictures(source: Source, seconds: float) -> Iterator[Image]:
    """The source's pictures, those of so many seconds at most."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and (frame := source.read()) is not None:
        yield frame.image
