"""Trials that load drivers, in a process of their own: `python -m engine.capabilities.isolated`.

A GPU library that is broken may print, hang or kill its process; here it can't harm anybody. The last
line on standard output is the answer, a JSON object: `ok` and `detail`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import engine


def attempt(arguments: Sequence[str], seconds: float) -> tuple[bool, str]:
    """Run one trial; (it worked, what was found or why not)."""
    root = str(Path(engine.__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
    try:
        done = subprocess.run(
            [sys.executable, "-m", __name__, *arguments],
            capture_output=True,
            timeout=seconds,
            check=False,
            env=os.environ | {"PYTHONPATH": path},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired:
        return False, f"no answer within {seconds:g} s"
    except OSError as error:
        return False, f"can't be tried: {error}"
    said = done.stdout.decode(errors="replace").strip().splitlines()
    complaints = done.stderr.decode(errors="replace")
    try:
        answer = json.loads(said[-1])
    except (IndexError, ValueError):
        return False, reason(complaints) or f"the trial ended with status {done.returncode}"
    if answer["ok"]:
        return True, str(answer["detail"])
    return False, reason(complaints) or str(answer["detail"])


def reason(complaints: str) -> str:
    """The cause in what a library printed: the part about the missing file, else the last error line."""
    lines = [line.strip() for line in complaints.splitlines() if line.strip()]
    for line in lines:
        if (
            "with error:" in line
        ):  # ONNX Runtime: "Failed to load library … with error: libX.so: cannot open …"
            return line.split("with error:", 1)[1].strip()
    errors = [line for line in lines if "error" in line.lower() or "[E:" in line]
    return errors[-1].split("] ", 1)[-1][:300] if errors else ""


def tiny_model() -> bytes:
    """A convolution of a 1×1×4×4 picture of ones with a 3×3 kernel of ones: its centre is 9."""
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "tiny",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, 4, 4))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 1, 2, 2))],
        [helper.make_tensor("w", TensorProto.FLOAT, (1, 1, 3, 3), [1.0] * 9)],
    )
    opset = helper.make_opsetid("", 17)
    return bytes(helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString())


def try_provider(name: str) -> tuple[bool, str]:
    """Compute on one ONNX Runtime provider; falling back to the CPU without a word counts as failure."""
    import numpy as np
    import onnxruntime as ort

    if name in ("CUDAExecutionProvider", "TensorrtExecutionProvider") and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()
    options = ort.SessionOptions()
    if name != "CPUExecutionProvider":
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = ort.InferenceSession(tiny_model(), options, providers=[name])
    if session.get_providers()[0] != name:
        return False, "it falls back to the CPU"
    (result,) = session.run(None, {"x": np.ones((1, 1, 4, 4), np.float32)})
    if not np.allclose(result, 9, atol=0.1):
        return False, f"it computes wrongly ({result.ravel()[0]} instead of 9)"
    return True, "a model was run on it"


def try_plugin() -> tuple[bool, str]:
    """Compute with OpenVINO's plugin."""
    import numpy as np
    import onnxruntime as ort

    from engine.runtime.providers import OPENVINO_PLUGIN, use_plugin

    options = ort.SessionOptions()
    use_plugin(options, OPENVINO_PLUGIN)
    session = ort.InferenceSession(tiny_model(), options)
    (result,) = session.run(None, {"x": np.ones((1, 1, 4, 4), np.float32)})
    return bool(np.allclose(result, 9, atol=0.1)), "a model was run on its plugin"


def try_cupy() -> tuple[bool, str]:
    """Compute on the GPU with CuPy."""
    import cupy

    total = int(cupy.arange(5).sum())
    return total == 10, f"version {cupy.__version__}, CUDA {cupy.cuda.runtime.runtimeGetVersion()}"


def main(arguments: Sequence[str]) -> int:
    """Do one trial: `provider NAME`, `plugin` or `cupy`."""
    answer: dict[str, Any]
    try:
        trials = {"plugin": try_plugin, "cupy": try_cupy}
        ok, detail = try_provider(arguments[1]) if arguments[0] == "provider" else trials[arguments[0]]()
        answer = {"ok": ok, "detail": detail}
    except Exception as error:  # noqa: BLE001 — whatever a driver raises is the finding
        text = str(error).strip().splitlines()
        answer = {"ok": False, "detail": text[0] if text else type(error).__name__}
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
