"""Puts the standard parts together: tracker, choice, swapper, pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.config import SwapConfig, Who
from engine.events import Report, silent
from engine.marking import Marker
from engine.pipeline import Pipeline, Plan
from engine.swap.base import Swapper
from engine.track.base import FaceDetector, FaceTracker
from engine.track.choice import FaceChoice, Which
from engine.types import Image


def build_pipeline(
    config: SwapConfig,
    marker: Marker | None = None,
    swapper: Swapper[Any] | None = None,
    picture: Image | None = None,
) -> Callable[[Plan, Report], Pipeline]:
    """A function that makes the standard pipeline, again and again if it must.

    Args:
        config: names the swapper and the detector.
        marker: marks every picture.
        swapper: use this one instead of making it from `config`.
        picture: the user's still picture for `GuardPolicy.PICTURE`.
    """

    def build(plan: Plan, report: Report) -> Pipeline:
        # Imported late: ONNX Runtime and the models' code take most of the start-up time.
        from engine.blend.modes import paster
        from engine.swap import make_swapper

        return Pipeline(
            make_tracker(config.detector, report),
            swapper or make_swapper(config.swapper),
            plan,
            marker=marker,
            picture=picture,
            report=report,
            join=paster(config.blend),
        )

    return build


def make_tracker(detector: str = "", report: Report = silent, *, thorough: bool = False) -> FaceTracker:
    """The standard tracker with the embedded models, or with a detector of the catalogue.

    Args:
        detector: its name; "" for the embedded one.
        report: takes "detector-fallback".
        thorough: for clips and pictures, see `TrackOptions`.

    Raises:
        ModelError: there is no such detector, or nothing here can run it.
    """
    from engine.track.detector import Detector
    from engine.track.landmarks import Landmarker
    from engine.track.tracker import Tracker, TrackOptions

    chosen: FaceDetector = Detector()
    if detector:
        from engine.catalog import open_store
        from engine.folders import home
        from engine.track.opening import open_detector

        chosen = open_detector(detector, open_store(home()), chosen, report)
    tracker: FaceTracker = Tracker(chosen, Landmarker(), TrackOptions(thorough=thorough))
    return tracker


def choice_for(who: Who) -> FaceChoice:
    """The choice that a word stands for; for CHOSEN everybody, until somebody is chosen."""
    return FaceChoice(Which.LARGEST if who is Who.LARGEST else Which.ALL)
