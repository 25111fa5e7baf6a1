"""A detector of the catalogue in place of the embedded one, and its failure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from engine.capabilities import compute
from engine.catalog import open_store
from engine.catalog.opening import read_notes
from engine.errors import ModelError
from engine.track.detector import Detector
from engine.track.opening import open_detector

pytestmark = pytest.mark.shared


def test_it_detects_until_it_fails_then_the_embedded_one_does(
    shared: Path, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path))
    store = open_store(tmp_path)
    with pytest.raises(ModelError, match="models get"):
        open_detector("scrfd_500m", store, Detector())
    store.accept("scrfd_500m")
    store.add("scrfd_500m", shared / "data" / "models" / "scrfd_500m_kps__hpc203.onnx")
    events: list[str] = []

    def report(kind: str, message: str = "", **data: Any) -> None:
        events.append(kind)

    detector = open_detector("scrfd_500m", store, Detector(), report)
    image = cv2.imread(str(photos / "uni_man_frontal.jpg"))
    (by_scrfd,) = detector.detect(image)
    assert read_notes(store.folder)["scrfd_500m"]["rung"]
    (probe,) = compute.user_models()
    assert probe.name == "model scrfd_500m" and "last ran on" in probe.detail

    def broken(*_: object) -> None:
        raise RuntimeError("device lost")

    monkeypatch.setattr(detector._chosen, "find", broken)
    (by_embedded,) = detector.detect(image)
    assert events == ["detector-fallback"]
    assert abs(by_embedded.keypoints[:4] - by_scrfd.keypoints[:4]).max() < 0.1 * (
        by_scrfd.box[2] - by_scrfd.box[0]
    )
    detector.detect(image)
    assert events == ["detector-fallback"]


def test_a_network_for_any_size_is_warmed_up_with_one_that_fits(standins: Path, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.accept("scrfd_10g")
    store.add("scrfd_10g", standins / "models" / "buffalo_l" / "det_10g.onnx", trust=True)
    assert open_detector("scrfd_10g", store, Detector()).detect(np.zeros((90, 160, 3), np.uint8)) == []


def test_a_swapper_is_no_detector(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a detector"):
        open_detector("inswapper_128", open_store(tmp_path), Detector())
