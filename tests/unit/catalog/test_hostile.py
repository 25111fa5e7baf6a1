"""Files that want more than to be computed: each is refused, and none harms this process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import psutil
import pytest
from onnx import TensorProto, helper, numpy_helper

from engine.catalog.check import check_graph, parse
from engine.catalog.entry import Contract, Tensor
from engine.catalog.foreign import refuse_foreign
from engine.catalog.trial import try_out
from engine.errors import ModelError

CONTRACT = Contract(inputs=(Tensor((-1, 3)),), outputs=(Tensor((-1, 3)),))
TRUE = numpy_helper.from_array(np.array(True), "true")


def outside(where: str) -> onnx.TensorProto:
    """A tensor whose numbers lie in another file."""
    tensor = onnx.TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value=where)
    return tensor


def value(name: str) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3])


def save(
    path: Path,
    nodes: Sequence[Any],
    constants: Sequence[Any] = (),
    domains: Sequence[str] = (),
    functions: Sequence[Any] = (),
    sparse: Sequence[Any] = (),
) -> Path:
    graph = helper.make_graph(nodes, "g", [value("in")], [value("out")], constants, sparse_initializer=sparse)
    opsets = [helper.make_opsetid(domain, 13 if not domain else 1) for domain in ("", *domains)]
    model = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def branch(node: Any, *constants: Any) -> Any:
    return helper.make_graph([node], "b", [], [helper.make_tensor_value_info("o", TensorProto.FLOAT, None)],
                             constants)  # fmt: skip


def choose(then: Any) -> Any:
    other = branch(helper.make_node("Identity", ["in"], ["o"]))
    return helper.make_node("If", ["true"], ["out"], then_branch=then, else_branch=other)


ADD = helper.make_node("Add", ["in", "w"], ["out"])


def in_the_graph(path: Path) -> Path:
    return save(path, [ADD], [outside("../../etc/passwd")])


def in_a_constant(path: Path) -> Path:
    return save(path, [helper.make_node("Constant", [], ["w"], value=outside("secret.bin")), ADD])


def in_a_branch(path: Path) -> Path:
    then = branch(helper.make_node("Add", ["in", "w"], ["o"]), outside("secret.bin"))
    return save(path, [choose(then)], [TRUE])


def in_a_sparse_tensor(path: Path) -> Path:
    sparse = onnx.SparseTensorProto(values=outside("secret.bin"), dims=[3])
    sparse.indices.CopyFrom(numpy_helper.from_array(np.array([0], np.int64)))
    return save(path, [ADD], sparse=[sparse])


def in_a_function(path: Path) -> Path:
    nodes = [
        helper.make_node("Constant", [], ["w"], value=outside("secret.bin")),
        helper.make_node("Add", ["x", "w"], ["y"]),
    ]
    made = helper.make_function("com.microsoft", "F", ["x"], ["y"], nodes, [helper.make_opsetid("", 13)])
    node = helper.make_node("F", ["in"], ["out"], domain="com.microsoft")
    return save(path, [node], domains=["com.microsoft"], functions=[made])


EXTERNAL = [in_the_graph, in_a_constant, in_a_branch, in_a_sparse_tensor, in_a_function]


@pytest.mark.parametrize("make", EXTERNAL, ids=lambda each: each.__name__)
def test_weights_outside_the_file_are_refused_wherever_they_are(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    (tmp_path / "secret.bin").write_bytes(b"\0" * 12)
    path = make(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match="in another file"):
        check_graph(path, CONTRACT)


def test_foreign_operators_are_refused_in_branches_and_functions(tmp_path: Path) -> None:
    evil = helper.make_node("Evil", ["in"], ["o"], domain="evil.com")
    paths = [save(tmp_path / "b.onnx", [choose(branch(evil))], [TRUE], ["evil.com"])]
    inner = helper.make_node("Evil", ["x"], ["y"], domain="evil.com")
    opsets = [helper.make_opsetid("evil.com", 1)]
    made = helper.make_function("com.microsoft", "F", ["x"], ["y"], [inner], opsets)
    node = helper.make_node("F", ["in"], ["out"], domain="com.microsoft")
    paths.append(save(tmp_path / "f.onnx", [node], domains=["com.microsoft"], functions=[made]))
    for path in paths:
        with pytest.raises(ModelError, match=r"custom operators \(evil.com\)"):
            check_graph(path, CONTRACT)


def test_a_compiled_engine_is_refused(tmp_path: Path) -> None:
    node = helper.make_node(
        "EPContext", ["in"], ["out"], domain="com.microsoft", embed_mode=0, ep_cache_context="../x.engine"
    )
    with pytest.raises(ModelError, match="compiled engine"):
        check_graph(save(tmp_path / "e.onnx", [node], domains=["com.microsoft"]), CONTRACT)


def test_plain_branches_and_functions_pass(tmp_path: Path) -> None:
    path = save(tmp_path / "m.onnx", [choose(branch(helper.make_node("Abs", ["in"], ["o"])))], [TRUE])
    refuse_foreign(parse(path), path.name)
    try_out(path)


def field(number: int, data: bytes) -> bytes:
    """A length-delimited protobuf field."""

    def varint(value: int) -> bytes:
        low, rest = value & 127, value >> 7
        return bytes([low | 128]) + varint(rest) if rest else bytes([low])

    return bytes([number << 3 | 2]) + varint(len(data)) + data


def test_a_graph_too_deep_for_the_parser_is_no_model(tmp_path: Path) -> None:
    graph = field(1, b"")
    for _ in range(1000):
        graph = field(1, field(5, field(6, graph)))  # a node with an attribute that is a graph
    path = tmp_path / "m.onnx"
    path.write_bytes(field(7, graph))
    with pytest.raises(ModelError, match="no ONNX file"):
        check_graph(path, CONTRACT)


# ---- tried out in another process ---------------------------------------------------------------


def endless(path: Path) -> Path:
    scalar = helper.make_tensor_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Abs", ["v"], ["w"])],
        "body",
        [scalar("i", TensorProto.INT64, []), scalar("go", TensorProto.BOOL, []), value("v")],
        [scalar("on", TensorProto.BOOL, []), value("w")],
    )
    many = numpy_helper.from_array(np.array(2**62, np.int64), "many")
    return save(path, [helper.make_node("Loop", ["many", "true", "in"], ["out"], body=body)], [many, TRUE])


def greedy(path: Path) -> Path:
    """300 bytes that ask for 4 GiB."""
    side = numpy_helper.from_array(np.array([2**15, 2**15], np.int64), "side")
    nodes = [
        helper.make_node(
            "ConstantOfShape", ["side"], ["big"], value=numpy_helper.from_array(np.float32([1]))
        ),
        helper.make_node("Exp", ["big"], ["bigger"]),
        helper.make_node("ReduceMax", ["bigger"], ["one"], keepdims=0),
        helper.make_node("Add", ["in", "one"], ["out"]),
    ]
    return save(path, nodes, [side])


def impossible(path: Path) -> Path:
    """And one that asks for more than any machine has."""
    side = numpy_helper.from_array(np.array([2**30, 2**20], np.int64), "side")
    nodes = [
        helper.make_node(
            "ConstantOfShape", ["side"], ["big"], value=numpy_helper.from_array(np.float32([1]))
        ),
        helper.make_node("ReduceMax", ["big"], ["one"], keepdims=0),
        helper.make_node("Add", ["in", "one"], ["out"]),
    ]
    return save(path, nodes, [side])


def crowded(path: Path) -> Path:
    """Ten million nodes of two bytes each, a hundred times as large once parsed."""
    path.write_bytes(field(7, field(1, b"") * 10_000_000))
    return path


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (endless, "does not come to an end"),
        (greedy, "needs too much memory"),
        (impossible, "needs too much memory"),
        (crowded, "needs too much memory"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_takes_too_much_is_ended(tmp_path: Path, make: Callable[[Path], Path], words: str) -> None:
    path = make(tmp_path / "m.onnx")
    before, before_it = psutil.Process().memory_info().rss, set(psutil.Process().children())
    with pytest.raises(ModelError, match=words):
        try_out(path, seconds=10 if make is endless else 90, memory=600 << 20)
    assert psutil.Process().memory_info().rss - before < 200 << 20
    assert set(psutil.Process().children()) <= before_it


def test_what_crashes_the_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "m.onnx", [helper.make_node("Abs", ["in"], ["out"])])
    real = subprocess.Popen

    def dies(arguments: list[str], **options: Any) -> Any:
        return real([arguments[0], "-c", "import os; os.abort()"], **options)

    monkeypatch.setattr(subprocess, "Popen", dies)
    with pytest.raises(ModelError, match="crashes"):
        try_out(path)
