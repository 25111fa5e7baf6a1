"""The provider ladder: its order, what counts as working, and the way down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from engine.errors import ModelError
from engine.runtime.climb import Climb, Steps, UnsoundError
from engine.runtime.gpu import Gpu
from engine.runtime.network import Network, warm_up
from engine.runtime.providers import CPU, Rung, ladder

GPU = Gpu("Some GPU", 13000, 8 << 30)
ALL = [
    "TensorrtExecutionProvider", "CUDAExecutionProvider", "DmlExecutionProvider", "CoreMLExecutionProvider",
    "OpenVINOExecutionProvider", "CPUExecutionProvider",
]  # fmt: skip


def names(rungs: tuple[Rung, ...]) -> list[str]:
    return [rung.name for rung in rungs]


def test_the_order_of_the_ladder() -> None:
    assert names(ladder(available=ALL, gpu=GPU, plugin=False)) == [
        "TensorRT fp16", "TensorRT", "CUDA graph", "CUDA", "CUDA with less memory", "DirectML", "CoreML",
        "OpenVINO", "OpenVINO fp32", "CPU",
    ]  # fmt: skip
    assert names(ladder(available=["CPUExecutionProvider"], plugin=False)) == ["CPU"]


def test_engines_are_kept_by_model_driver_and_gpu(tmp_path: Path) -> None:
    def folder(gpu: Gpu, model: str) -> str:
        return ladder(available=ALL, gpu=gpu, cache=tmp_path, model=model)[0].options["trt_engine_cache_path"]

    others = [Gpu("Another", 13000, 8 << 30), Gpu("Some GPU", 13010, 8 << 30)]
    folders = {folder(GPU, "a"), folder(GPU, "b"), *(folder(other, "a") for other in others)}
    assert len(folders) == 4
    assert folder(GPU, "a") in folders


def test_memory_is_limited_and_the_stream_is_ours() -> None:
    rungs = {rung.name: rung.options for rung in ladder(available=ALL, gpu=GPU, stream=77)}
    assert int(rungs["CUDA"]["gpu_mem_limit"]) < GPU.memory
    assert int(rungs["CUDA with less memory"]["gpu_mem_limit"]) < int(rungs["CUDA"]["gpu_mem_limit"])
    assert rungs["CUDA"]["user_compute_stream"] == rungs["TensorRT"]["user_compute_stream"] == "77"


def test_what_tensorrt_leaves_stays_on_the_gpu() -> None:
    rungs = {rung.name: rung for rung in ladder(available=ALL, gpu=GPU, stream=5)}
    names = [name for name, _ in rungs["TensorRT"].chain]
    assert names == ["TensorrtExecutionProvider", "CUDAExecutionProvider"]
    assert rungs["TensorRT"].chain[1][1] == {"device_id": "0", "user_compute_stream": "5"}
    assert len(rungs["CUDA"].chain) == 1


class FakeNetwork:
    """A network of one picture in, one out, computed by a function."""

    def __init__(self, rung: Rung, compute: Any = lambda x: x * 0.5) -> None:
        self.rung, self.compute = rung, compute

    def get_inputs(self) -> list[Any]:
        shape = type("Input", (), {"name": "x", "shape": ["batch", 3, 8, 8], "type": "tensor(float)"})
        return [shape]

    def run(self, names: object, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [self.compute(feed["x"])]

    def run_unbound(self, names: object, feed: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [feed["x"] * 0.5]


def climb(broken: dict[str, Any], rungs: tuple[Rung, ...] | None = None) -> Climb:
    def open_rung(rung: Rung) -> Any:
        fault = broken.get(rung.name)
        if isinstance(fault, Exception):
            raise fault
        return FakeNetwork(rung, fault) if fault else FakeNetwork(rung)

    return Climb(rungs or ladder(available=ALL, gpu=GPU, plugin=False), open_rung)


def test_only_a_run_of_this_network_counts() -> None:
    steps = iter(range(99))
    one = climb(
        {
            "TensorRT fp16": RuntimeError("libnvinfer.so.10: cannot open\nmore"),
            "TensorRT": lambda x: x * np.nan,
            "CUDA graph": lambda x: np.ones_like(x),
            "CUDA": lambda x: x + next(steps),
        }
    )
    assert one.step().rung.name == "DirectML"
    assert one.rung == "DirectML"
    assert [(refusal.rung, refusal.reason) for refusal in one.refusals] == [
        ("TensorRT fp16", "libnvinfer.so.10: cannot open"),
        ("TensorRT", "it computes no numbers"),
        ("CUDA graph", "it gives the same for different input"),
        ("CUDA", "it gives something else for the same input"),
    ]


def test_out_of_memory_leads_to_less_of_it_then_to_the_cpu() -> None:
    one = climb({"TensorRT fp16": RuntimeError("x"), "TensorRT": RuntimeError("x")})
    assert one.step().rung.name == "CUDA graph"
    short = RuntimeError("CUDA failure 2: out of memory")
    assert one.step(short).rung.name == "CUDA"
    assert one.step(short).rung.name == "CUDA with less memory"
    for name in ("DirectML", "CoreML", "OpenVINO", "OpenVINO fp32", "CPU"):
        assert one.step(short).rung.name == name
    with pytest.raises(ModelError, match="out of memory"):
        one.step(short)
    assert one.rung == ""


def test_other_failures_pass_over_the_rung_with_less_memory() -> None:
    one = climb({name: RuntimeError("x") for name in ("TensorRT fp16", "TensorRT", "CUDA graph")})
    one.step()
    assert one.step(RuntimeError("illegal memory access")).rung.name == "DirectML"


def test_wrong_numbers_lead_to_exact_rungs_only_and_never_twice() -> None:
    one = climb({})
    assert one.step().rung.half
    assert one.step(UnsoundError("black")).rung.name == "TensorRT"
    with pytest.raises(ModelError):
        one.step(UnsoundError("black"))


def test_the_version_of_full_precision_follows() -> None:
    made = []

    def version(name: str) -> Climb:
        made.append(name)
        return climb({}, (CPU,))

    steps = Steps([lambda: version("fp16"), lambda: version("fp32")])
    steps.step()
    assert made == ["fp16"]
    steps.step(UnsoundError("black"))
    assert made == ["fp16", "fp32"]
    with pytest.raises(ModelError):
        steps.step(UnsoundError("black"))


@pytest.mark.shared
def test_every_rung_here_computes_what_the_cpu_does(standins: Path) -> None:
    path, random = standins / "inswapper_128.onnx", np.random.default_rng(0)
    reference = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for rung in ladder():
        try:
            network = Network(path, rung)
            warm_up(network)
        except ModelError:
            continue  # its libraries are not here
        for _ in range(3):
            feed = {
                "target": random.random((1, 3, 128, 128), np.float32),
                "source": random.random((1, 512), np.float32),
            }
            found, wanted = network.run(None, feed)[0], reference.run(None, feed)[0]
            assert np.abs(found - wanted).max() < (0.02 if rung.half else 1e-4), rung.name


def addresses(network: Network) -> list[int]:
    return [
        value.data_ptr()
        for kept in network._buffers.values()
        for value in (*kept.inputs.values(), *kept.outputs)
    ]


@pytest.mark.shared
def test_buffers_are_made_once(standins: Path) -> None:
    network = Network(standins / "inswapper_128.onnx", CPU)
    feed = {"target": np.zeros((1, 3, 128, 128), np.float32), "source": np.ones((1, 512), np.float32)}
    network.run(None, feed)
    buffers = addresses(network)
    for step in range(3):
        feed["target"][:] = step / 4
        (output,) = network.run(None, feed)
        assert abs(float(np.ptp(output - feed["target"], axis=(2, 3)).max())) < 1e-6
    assert addresses(network) == buffers


@pytest.mark.shared
def test_a_file_that_can_not_be_loaded_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.onnx").write_bytes(b"nothing")
    with pytest.raises(ModelError) as caught:
        Network(tmp_path / "bad.onnx", CPU)
    assert "\n" not in str(caught.value)
