"""Probes of what can compute: ONNX Runtime and its providers, GPU, CuPy."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from engine.capabilities.isolated import attempt
from engine.capabilities.probe import Probe, State
from engine.errors import KawariError

_TRIAL_S = 8.0
_GPU_EXTRA = 'Install the CUDA libraries: pip install "kawari[gpu]"'
# Every one of these installs the same package folder `onnxruntime`, the last one wins.
_BUILDS = (
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-directml",
    "onnxruntime-openvino",
    "onnxruntime-rocm",
    "onnxruntime-silicon",
)
_NVIDIA = ("CUDAExecutionProvider", "TensorrtExecutionProvider")
_REMEDIES = {
    "CUDAExecutionProvider": _GPU_EXTRA,
    "TensorrtExecutionProvider": "Only if you want TensorRT: pip install tensorrt-cu13",
    "ROCMExecutionProvider": "Install AMD's ROCm libraries",
}


def installed_builds() -> list[tuple[str, str]]:
    """Name and version of each installed build of ONNX Runtime."""
    found = []
    for name in _BUILDS:
        try:
            found.append((name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def onnxruntime() -> list[Probe]:
    """Is there exactly one build of ONNX Runtime?"""
    builds = installed_builds()
    named = ", ".join(f"{name} {version}" for name, version in builds)
    if len(builds) > 1:
        wanted = next((name for name, _ in builds if name != "onnxruntime"), "onnxruntime")
        return [
            Probe(
                "onnxruntime",
                State.WARNING,
                f"several builds are installed over one another ({named}): the last one installed wins, "
                "and a GPU may go unused",
                f"Run: pip uninstall -y {' '.join(name for name, _ in builds)} && pip install {wanted}",
            )
        ]
    if not builds and importlib.util.find_spec("onnxruntime") is None:
        return [Probe("onnxruntime", State.MISSING, "not installed", "Run: pip install onnxruntime")]
    return [Probe("onnxruntime", State.OK, named or "a build of unknown name")]


def providers() -> list[Probe]:
    """Each provider that ONNX Runtime lists, after a model was run on it."""
    try:
        import onnxruntime as ort
    except ImportError as error:
        return [Probe("providers", State.MISSING, f"ONNX Runtime can't be loaded: {error}")]
    names = ort.get_available_providers()
    with ThreadPoolExecutor(max(len(names), 1)) as pool:
        answers = list(pool.map(lambda name: attempt(["provider", name], _TRIAL_S), names))
    return [_provider(name, *answer) for name, answer in zip(names, answers, strict=True)]


def plugins() -> list[Probe]:
    """OpenVINO's plugin, which computes faster on Intel's processors than ONNX Runtime itself."""
    if importlib.util.find_spec("onnxruntime_ep_openvino") is None:
        return []
    works, detail = attempt(["plugin"], _TRIAL_S)
    remedy = "" if works else "Run: pip install -U onnxruntime-ep-openvino"
    return [Probe("provider OpenVINO", State.OK if works else State.MISSING, detail, remedy, optional=True)]


def _provider(name: str, works: bool, detail: str) -> Probe:
    required = name == "CPUExecutionProvider"
    short = name.removesuffix("ExecutionProvider")
    if works:
        return Probe(f"provider {short}", State.OK, detail, optional=not required)
    remedy = "Install ONNX Runtime again" if required else _REMEDIES.get(name, "")
    if name in _NVIDIA and shutil.which("nvidia-smi") is None:  # a build lists them whatever is there
        remedy = ""
    return Probe(f"provider {short}", State.MISSING, detail, remedy, optional=not required)


def gpu() -> list[Probe]:
    """NVIDIA GPUs, as their driver reports them."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return [Probe("gpu", State.MISSING, "no NVIDIA driver; faces are swapped on the CPU", optional=True)]
    query = [program, "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=_TRIAL_S, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        remedy = "Install the NVIDIA driver again and restart"
        return [Probe("gpu", State.WARNING, f"the NVIDIA driver does not answer: {error}", remedy, True)]
    return [
        Probe("gpu", State.OK, f"{name}, driver {driver}, {memory}", optional=True)
        for name, driver, memory in (line.split(", ") for line in done.stdout.strip().splitlines())
    ]


def cupy() -> list[Probe]:
    """CuPy, after something was computed with it."""
    if importlib.util.find_spec("cupy") is None:
        has_gpu = shutil.which("nvidia-smi") is not None
        return [Probe("cupy", State.MISSING, "not installed", _GPU_EXTRA if has_gpu else "", optional=True)]
    works, detail = attempt(["cupy"], _TRIAL_S)
    if works:
        return [Probe("cupy", State.OK, detail, optional=True)]
    return [Probe("cupy", State.MISSING, detail, _GPU_EXTRA, optional=True)]


def user_models() -> list[Probe]:
    """The models that the user has added: what each last ran on, and why not on something faster."""
    from engine import folders
    from engine.catalog import open_store
    from engine.catalog.opening import read_notes

    try:
        store = open_store(folders.home())
        names = [name for name in store.catalogue if store.installed(name) is not None]
    except KawariError as error:
        return [Probe("models", State.WARNING, error.message, error.remedy, optional=True)]
    notes = read_notes(store.folder)
    return [_model(name, notes.get(name)) for name in names]


def _model(name: str, note: Mapping[str, Any] | None) -> Probe:
    if note is None:
        return Probe(f"model {name}", State.OK, "installed; it has not been run yet", optional=True)
    refused = "; ".join(f"not {rung}: {why}" for rung, why in note["refused"].items())
    if not note["rung"]:
        return Probe(f"model {name}", State.WARNING, f"nothing here can run it: {refused}", optional=True)
    detail = f"last ran on {note['rung']}"
    return Probe(f"model {name}", State.OK, f"{detail} ({refused})" if refused else detail, optional=True)
