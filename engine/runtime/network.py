"""A network on one rung of the provider ladder, with buffers that are made once."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engine.errors import ModelError
from engine.runtime.providers import CPU, Rung, use_plugin

Array = NDArray[Any]
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64}
_SILENT = 4
_ANY_SIDE = 640
"""Side of the warm-up's picture where the network takes any: a multiple of 32, as detectors need."""
_MOST = 8
"""Pictures that one run takes at most, and shapes of inputs for which buffers are kept."""


@dataclass(slots=True)
class _Buffers:
    """Where inputs of certain shapes, and what comes out for them, lie."""

    binding: Any
    inputs: dict[str, Any]
    outputs: list[Any]
    options: Any


class Network:
    """An ONNX Runtime session whose inputs and outputs lie in buffers made at the first run.

    It has those methods of `onnxruntime.InferenceSession` that Kawari uses. Not thread-safe, since
    the buffers are its own: what `run` gives is valid until its next call.

    Args:
        path: an ONNX file that was checked.
        rung: how to run it.
        threads: of the CPU; 0 for one less than the computer has.

    Raises:
        ModelError: this rung can't run it; the message says why.
    """

    def __init__(self, path: Path, rung: Rung, *, threads: int = 0) -> None:
        self.rung = rung
        self._session = _open(path, rung, threads or max((os.cpu_count() or 2) - 1, 1))
        tensors = (*self._session.get_inputs(), *self._session.get_outputs())
        self._types = {one.name: _TYPES.get(one.type, np.float32) for one in tensors}
        self._buffers: dict[tuple[tuple[int, ...], ...], _Buffers] = {}
        self._graphs = itertools.count(1)

    def get_inputs(self) -> Any:
        """Names, shapes and types of the inputs."""
        return self._session.get_inputs()

    def get_outputs(self) -> Any:
        """Names, shapes and types of the outputs."""
        return self._session.get_outputs()

    def get_providers(self) -> list[str]:
        """The providers in use, the main one first."""
        return [str(name) for name in self._session.get_providers()]

    def run(self, names: Sequence[str] | None, feed: Mapping[str, Array]) -> list[Array]:
        """Run once.

        Args:
            names: the outputs wanted; None for all. They may not change from call to call.
            feed: all inputs by name; brought to the type that the network takes.

        Returns:
            The outputs, in their order.

        Raises:
            Exception: whatever the provider raises.
        """
        if not self.rung.bound:
            return self.run_unbound(names, feed)
        shapes = tuple(array.shape for array in feed.values())
        kept = self._buffers.get(shapes)
        if kept is None:
            kept = self._first_run(names, feed, shapes)
        else:
            for name, array in feed.items():
                kept.inputs[name].update_inplace(np.ascontiguousarray(array, self._types[name]))
            self._session.run_with_iobinding(kept.binding, kept.options)
        return [output.numpy() for output in kept.outputs]

    def on_device(
        self, inputs: Mapping[str, Any], output: Any, address: Callable[[Any], int]
    ) -> Callable[[], None]:
        """A run on buffers of a device, which must outlive it.

        Args:
            inputs: all inputs by name, contiguous arrays of the types in `types`.
            output: for the first output, likewise.
            address: gives where an array lies.

        Returns:
            Queues a run on the stream that the rung was opened with, and does not wait for it.
        """
        binding = self._session.io_binding()
        first = self._session.get_outputs()[0].name
        for bind, name, array in (
            *((binding.bind_input, name, array) for name, array in inputs.items()),
            (binding.bind_output, first, output),
        ):
            bind(name, self.rung.bound, 0, array.dtype.type, array.shape, address(array))
        options = self._options()
        options.add_run_config_entry("disable_synchronize_execution_providers", "1")
        return lambda: self._session.run_with_iobinding(binding, options)

    @property
    def types(self) -> Mapping[str, type]:
        """The NumPy type of each input and output, by name."""
        return self._types

    def run_unbound(self, names: Sequence[str] | None, feed: Mapping[str, Array]) -> list[Array]:
        """The same with buffers that ONNX Runtime makes each time."""
        typed = {name: np.asarray(array, self._types[name]) for name, array in feed.items()}
        return list(self._session.run(names, typed))

    def _first_run(
        self, names: Sequence[str] | None, feed: Mapping[str, Array], shapes: tuple[tuple[int, ...], ...]
    ) -> _Buffers:
        """Make the buffers; sizes of outputs that the graph leaves open are known only after a run."""
        device, binding, options = self.rung.bound, self._session.io_binding(), self._options()
        wanted = names or [output.name for output in self._session.get_outputs()]
        inputs = {
            name: ort.OrtValue.ortvalue_from_numpy(np.array(array, self._types[name], order="C"), device, 0)
            for name, array in feed.items()
        }
        for name, value in inputs.items():
            binding.bind_ortvalue_input(name, value)
        for name in wanted:
            binding.bind_output(name, device)
        self._session.run_with_iobinding(binding, options)
        outputs = list(binding.get_outputs())
        # What the run has made becomes the buffer for the next ones.
        for name, value in zip(wanted, outputs, strict=True):
            binding.bind_ortvalue_output(name, value)
        if len(self._buffers) == _MOST:
            del self._buffers[next(iter(self._buffers))]
        self._buffers[shapes] = _Buffers(binding, inputs, outputs, options)
        return self._buffers[shapes]

    def _options(self) -> Any:
        """Options of the runs on certain buffers: a CUDA graph knows only those it was captured with."""
        options = ort.RunOptions()
        if "enable_cuda_graph" in self.rung.options:
            options.add_run_config_entry("gpu_graph_id", str(next(self._graphs)))
        return options


def warm_up(network: Network) -> float:
    """Run the network as it will be run, on made-up input, then on other input, and again.

    Returns:
        Wall time of the second run, seconds: the first may compile.

    Raises:
        ModelError: what comes out is no number, or is not what belongs to the input.
        Exception: whatever the provider raises.
    """
    random = np.random.default_rng(0)
    one, other = ({each.name: _noise(each, random) for each in network.get_inputs()} for _ in range(2))
    first = _outputs(network, one)
    began = time.perf_counter()
    between = _outputs(network, other)
    took = time.perf_counter() - began
    if not all(output.size and np.isfinite(output).all() for output in first):
        raise ModelError("it computes no numbers")
    if _same(first, between):  # a detector that sees nobody twice, or buffers that are not read again
        truth = [output.astype(np.float32) for output in network.run_unbound(None, other)]
        if not _same(between, truth):
            raise ModelError("it gives the same for different input")
    again = first if network.rung is CPU else _outputs(network, one)  # large networks take seconds there
    if not _same(first, again):
        raise ModelError("it gives something else for the same input")
    return took


def most_together(network: Any) -> int:
    """How many pictures the network takes in one run; 1 unless a run of two gives what two runs give.

    Args:
        network: a `Network`, warmed up.
    """
    inputs = network.get_inputs()
    declared = [each.shape[0] for each in (*inputs, *network.get_outputs()[:1])]
    if network.rung.steady or any(isinstance(side, int) for side in declared):
        return 1
    random = np.random.default_rng(1)
    feeds = [{each.name: _noise(each, random) for each in inputs} for _ in range(2)]
    apart = [_outputs(network, feed)[0] for feed in feeds]
    try:
        for first, second in ((0, 1), (1, 0)):
            both = {name: np.concatenate([feeds[first][name], feeds[second][name]]) for name in feeds[0]}
            together = _outputs(network, both)[0]
            if not _same([together], [np.concatenate([apart[first], apart[second]])]):
                return 1
    except Exception:  # noqa: BLE001 - a graph may declare what it can't do
        return 1
    return _MOST


def _same(one: Sequence[Array], other: Sequence[Array]) -> bool:
    """Equal but for what arithmetic of low precision may do."""
    return all(
        a.shape == b.shape and np.allclose(a, b, atol=0.02, rtol=0.02)
        for a, b in zip(one, other, strict=True)
    )


def _outputs(network: Network, feed: Mapping[str, Array]) -> list[Array]:
    return [output.astype(np.float32) for output in network.run(None, feed)]


def _noise(each: Any, random: np.random.Generator) -> Array:
    known = [side if isinstance(side, int) and side > 0 else 0 for side in each.shape]
    shape = [side or (_ANY_SIDE if place else 1) for place, side in enumerate(known)]
    return random.random(shape).astype(_TYPES.get(each.type, np.float32))


def _open(path: Path, rung: Rung, threads: int) -> Any:
    options = ort.SessionOptions()
    options.log_severity_level = _SILENT  # a rung that does not work is an ordinary thing here
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if rung.provider == "DmlExecutionProvider":
        options.enable_mem_pattern = False  # DirectML's own condition
    if rung.bound == "cuda" and hasattr(ort, "preload_dlls"):
        ort.preload_dlls()
    folder = rung.options.get("trt_engine_cache_path")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
    try:
        if rung.plugin:
            use_plugin(options, rung)
            session = ort.InferenceSession(str(path), options)
        else:
            providers = [(name, dict(values)) for name, values in rung.chain]
            session = ort.InferenceSession(str(path), options, providers=providers)
        session.disable_fallback()
    except Exception as error:
        raise ModelError(f"{rung.name} can't load {path.name}: {_first_line(error)}") from error
    if session.get_providers()[0] != rung.provider:
        raise ModelError(f"{rung.name} can't be used here: its libraries do not load")
    return session


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
