"""ONNX Runtime sessions, opened the same way everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime as ort

from engine.errors import ModelError


def open_session(path: Path, *, threads: int = 1) -> Any:
    """An `onnxruntime.InferenceSession` on the CPU.

    One thread is the fastest for the small embedded networks; spinning is off, since it burns the
    cores that OpenCV needs (measured, docs/verification.md).

    Raises:
        ModelError: the file is no model, or ONNX Runtime can't run it.
    """
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(f"ONNX Runtime can't load {path.name}: {error}") from error
