"""Was this made by Kawari? Watermark and manifest of a file or a camera, judged together."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Report:
    """What was found.

    Attributes:
        watermark: the best finding among all windows.
        manifest: what the file's C2PA manifest says; None for a camera.
        agree: whether the manifest names the watermark that was found; None if it can't be told.
    """

    watermark: Finding
    manifest: Statement | None
    agree: bool | None


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
    watermark = examine(source, key)
    manifest = read(path, root)
    agree = None
    if watermark.payload is not None and manifest.watermark:
        agree = watermark.payload.to_bytes().hex() == manifest.watermark
    return Report(watermark, manifest, agree)


def examine(source: Source, key: bytes | None = None) -> Finding:
    """Look for the watermark in windows of frames until it is found.

    Args:
        source: closed; it is opened, read and closed here. A live source is read for one window.
        key: a private key, tried besides the public one.

    Raises:
        InputError, DeviceError: the source can't be read.
    """
    detectors = [Detector()] if key is None else [Detector(), Detector(key)]
    best = detectors[0].find()
    info = source.open()
    try:
        pictures = _pictures(source)
        windows = 1 if info.live else WINDOWS
        # Skipping spreads the windows over the clip; codecs still have to decode everything.
        skip = max((info.frames or 0) // windows - WINDOW, 0)
        for _ in range(windows):
            fed = 0
            for image in pictures:
                for detector in detectors:
                    detector.feed(image)
                fed += 1
                if fed == WINDOW:
                    break
            if not fed:
                break
            for detector in detectors:
                finding = detector.find()
                best = max(best, finding, key=lambda each: (each.verdict is Verdict.PRESENT, each.z))
                detector.reset()
            if best.verdict is Verdict.PRESENT:
                break
            for _ in zip(range(skip), pictures, strict=False):
                pass
    finally:
        source.close()
    return best


def _pictures(source: Source) -> Iterator[Image]:
    while (frame := source.read()) is not None:
        yield frame.image
