"""The ladder of ONNX Runtime's execution providers, from the fastest to the one that always works.

Options are those of ONNX Runtime's pages on the CUDA, TensorRT, DirectML, CoreML and OpenVINO
execution providers.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime as ort

from engine.runtime.gpu import Gpu, first_gpu

_PLUGIN = "onnxruntime_ep_openvino"
_OPENVINO = "OpenVINOExecutionProvider"
_CUDA_SHARE = 0.6
"""Part of the GPU's memory that one network may take; the rest is for the encoder, games, other networks."""
_SMALL_SHARE = 0.25
_SHARED = ("device_id", "user_compute_stream")


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to run a network.

    Attributes:
        name: for people, events and the doctor.
        provider: ONNX Runtime's name of it.
        options: the provider's options.
        half: computes in half precision (fp16 or bf16) although the network may be fp32.
        bound: the device on which inputs and outputs have buffers of their own ("cpu", "cuda"), "" for
            none: OpenVINO's plugin 1.8 gives the first run's picture again when its buffers are reused.
        plugin: it comes from a plugin library rather than from ONNX Runtime's own build.
        only_memory: only worth trying after the rung above ran out of memory.
        steady: the inputs' shapes should never change: TensorRT builds an engine for others, for minutes.
    """

    name: str
    provider: str
    options: Mapping[str, str] = field(default_factory=dict)
    half: bool = False
    bound: str = "cpu"
    plugin: bool = False
    only_memory: bool = False
    steady: bool = False

    @property
    def chain(self) -> tuple[tuple[str, Mapping[str, str]], ...]:
        """The provider and its options, and who takes the operators that it can't do.

        ONNX Runtime adds the CPU by itself; what TensorRT leaves should stay on the GPU.
        """
        own = (self.provider, self.options)
        if self.provider != "TensorrtExecutionProvider":
            return (own,)
        shared = {key: self.options[key] for key in _SHARED if key in self.options}
        return (own, ("CUDAExecutionProvider", shared))


CPU = Rung("CPU", "CPUExecutionProvider")
OPENVINO_PLUGIN = Rung("OpenVINO", _OPENVINO, half=True, bound="", plugin=True)


def ladder(
    *,
    available: Sequence[str] | None = None,
    gpu: Gpu | None = None,
    cache: Path | None = None,
    model: str = "",
    stream: int = 0,
    plugin: bool | None = None,
) -> tuple[Rung, ...]:
    """The rungs that this computer might offer, the fastest first; whether one works, only a run tells.

    Args:
        available: ONNX Runtime's providers; asked for when not given.
        gpu: the NVIDIA GPU; asked for when not given.
        cache: folder for TensorRT's engines and timings; None keeps none.
        model: SHA-256 of the network, part of the cache's key.
        stream: address of a CUDA stream that the provider should work on; 0 lets it make its own.
        plugin: whether OpenVINO's plugin is installed; looked for when not given.
    """
    names = ort.get_available_providers() if available is None else available
    gpu = first_gpu() if gpu is None else gpu
    plugin = importlib.util.find_spec(_PLUGIN) is not None if plugin is None else plugin
    rungs: list[Rung] = []
    if gpu is not None and "TensorrtExecutionProvider" in names:
        rungs += [_tensorrt(gpu, cache, model, stream, half) for half in (True, False)]
    if gpu is not None and "CUDAExecutionProvider" in names:
        rungs += [
            _cuda("CUDA graph", gpu, _CUDA_SHARE, stream, graph=True),
            _cuda("CUDA", gpu, _CUDA_SHARE, stream),
            _cuda("CUDA with less memory", gpu, _SMALL_SHARE, stream, small=True),
        ]
    if "DmlExecutionProvider" in names:
        rungs.append(Rung("DirectML", "DmlExecutionProvider", {"device_id": "0"}))
    if "CoreMLExecutionProvider" in names:
        options = {"ModelFormat": "MLProgram", "MLComputeUnits": "ALL"}
        rungs.append(Rung("CoreML", "CoreMLExecutionProvider", options, half=True))
    if plugin or _OPENVINO in names:
        # On processors with bf16 instructions OpenVINO uses them unless it is told not to.
        built_in: dict[str, str] = {} if plugin else {"device_type": "CPU"}
        exact = '{"CPU": {"INFERENCE_PRECISION_HINT": "f32"}}'
        rungs += [
            Rung("OpenVINO", _OPENVINO, built_in, half=True, bound="", plugin=plugin),
            Rung("OpenVINO fp32", _OPENVINO, {**built_in, "load_config": exact}, bound="", plugin=plugin),
        ]
    return (*rungs, CPU)


def _cuda(
    name: str, gpu: Gpu, share: float, stream: int, *, graph: bool = False, small: bool = False
) -> Rung:
    options = {
        "device_id": "0",
        "gpu_mem_limit": str(int(gpu.memory * share)),
        # Exactly what is asked for, not the next power of two: two networks and a game share the card.
        "arena_extend_strategy": "kSameAsRequested",
        "cudnn_conv_algo_search": "HEURISTIC" if small else "EXHAUSTIVE",
        "cudnn_conv_use_max_workspace": "0" if small else "1",
        "do_copy_in_default_stream": "0" if stream else "1",
    }
    if stream:
        options["user_compute_stream"] = str(stream)
    if graph:
        options["enable_cuda_graph"] = "1"
    return Rung(name, "CUDAExecutionProvider", options, bound="cuda", only_memory=small)


def _tensorrt(gpu: Gpu, cache: Path | None, model: str, stream: int, half: bool) -> Rung:
    options = {"device_id": "0", "trt_fp16_enable": "1" if half else "0"}
    if cache is not None:
        # An engine fits one network, one GPU and one driver only.
        key = hashlib.sha256(f"{model}\0{gpu.name}\0{gpu.driver}\0{ort.__version__}".encode()).hexdigest()[
            :24
        ]
        folder = str(cache / key)
        options |= {
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": folder,
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": folder,
        }
    if stream:
        options["user_compute_stream"] = str(stream)
    name = "TensorRT fp16" if half else "TensorRT"
    return Rung(name, "TensorrtExecutionProvider", options, half=half, bound="cuda", steady=True)


def use_plugin(options: Any, rung: Rung) -> None:
    """Put a plugin's provider into `onnxruntime.SessionOptions`, loading its library at the first use.

    Raises:
        RuntimeError: the plugin offers no processor.
    """

    def devices() -> list[Any]:
        return [
            device
            for device in ort.get_ep_devices()
            if device.ep_name == rung.provider and device.ep_metadata.get("ov_device") == "CPU"
        ]

    found = devices()
    if not found:
        _load_plugin()
        found = devices()
    if not found:
        raise RuntimeError("the plugin finds no processor that it can use")
    options.add_provider_for_devices(found[:1], dict(rung.options))


@cache
def _load_plugin() -> None:
    """Once in a process: ONNX Runtime refuses a library that it has already."""
    import onnxruntime_ep_openvino as plugin

    ort.register_execution_provider_library(_PLUGIN, plugin.get_library_path())
