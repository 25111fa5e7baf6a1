"""Several faces in one run, where the graph really takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from engine.catalog.entry import read_catalogue
from engine.runtime.climb import UnsoundError
from engine.runtime.network import Network, most_together
from engine.runtime.providers import CPU, Rung
from engine.swap.base import Job
from engine.swap.neural.swapper import Extras, NeuralIdentity, NeuralSwapper
from engine.types import Face, Image
from models import CATALOGUE
from tests.unit.neural import graphs
from tests.unit.swap.faces import landmarks, picture

CONTRACTS = {name: entry.contract for name, entry in read_catalogue(CATALOGUE).items()}
CENTRES = [(120, 120), (330, 130), (540, 120), (130, 350), (330, 360)]


class Counted(Network):
    runs = 0
    spoil = -1

    def run(self, names: Any, feed: Any) -> list[np.ndarray]:
        self.runs += 1
        outputs = super().run(names, feed)
        if self.spoil >= 0:
            outputs[0][self.spoil % len(outputs[0])] = np.nan
        return outputs


def crowd() -> tuple[Image, list[Face]]:
    faces = [Face(number, landmarks(150, centre), 1.0) for number, centre in enumerate(CENTRES)]
    return picture(faces[0].landmarks, seed=2), faces


def swapper_of(path: Path, name: str, several: bool, boost: int = 1) -> tuple[NeuralSwapper, Counted]:
    contract = CONTRACTS[name]
    network = Counted(graphs.swapper(path / f"{several}.onnx", contract, several=several), CPU, threads=1)
    swapper = NeuralSwapper(name, contract, network, extras=Extras(boost=boost))
    swapper.together = most_together(network)
    network.runs = 0
    return swapper, network


def jobs_of(swapper: NeuralSwapper, faces: list[Face]) -> list[Job]:
    """Each face becomes somebody else."""
    contract, random = swapper.contract, np.random.default_rng(5)
    side = contract.source_size
    shape = (1, 3, side, side) if side else (1, 512)
    people = [random.normal(0, 1 / np.sqrt(shape[-1]), shape).astype(np.float32) for _ in faces]
    return [Job(face, swapper.follow(NeuralIdentity(one))) for face, one in zip(faces, people, strict=True)]


@pytest.mark.parametrize(
    ("name", "boost"), [("inswapper_128", 1), ("inswapper_128", 2), ("blendswap_256", 1)]
)
def test_together_as_one_by_one_in_fewer_runs(tmp_path: Path, name: str, boost: int) -> None:
    image, faces = crowd()
    made, runs = {}, {}
    for several in (True, False):
        swapper, network = swapper_of(tmp_path, name, several, boost)
        made[several] = swapper.patches(image, jobs_of(swapper, faces))
        runs[several] = network.runs
    pictures = len(faces) * boost**2
    assert runs == {False: pictures, True: -(-pictures // 8)}
    for one, other in zip(made[True], made[False], strict=True):
        assert np.array_equal(one.image, other.image)
        assert np.array_equal(one.matrix, other.matrix)
    assert np.abs(made[True][0].image.astype(int) - made[True][1].image).max() > 3  # the sources differ


def test_buffers_are_kept_for_each_number_of_faces(tmp_path: Path) -> None:
    image, faces = crowd()
    swapper, network = swapper_of(tmp_path, "inswapper_128", True)
    jobs = jobs_of(swapper, faces)
    alone = [swapper.patches(image, [job])[0].image for job in jobs]
    before = len(network._buffers)
    for count in (5, 2, 1, 5, 2):
        for index, patch in enumerate(swapper.patches(image, jobs[:count])):
            assert np.array_equal(patch.image, alone[index])
    assert len(network._buffers) <= before + 2


def test_one_face_without_a_picture_spoils_no_other(tmp_path: Path) -> None:
    image, faces = crowd()
    swapper, network = swapper_of(tmp_path, "inswapper_128", True)
    faces[1] = Face(1, faces[1].landmarks + np.float32(5000), 1.0)  # outside the picture: not asked for
    network.spoil = 2
    made = swapper.patches(image, jobs_of(swapper, faces))
    assert made[1] is None
    assert isinstance(made[3], UnsoundError)  # the third picture of the run
    assert all(made[index].image.any() for index in (0, 2, 4))


def test_a_graph_that_only_says_so_is_run_one_by_one(tmp_path: Path) -> None:
    """The axis is declared open, but the first picture's source colours them all."""
    path = graphs.swapper(tmp_path / "true.onnx", CONTRACTS["inswapper_128"], several=True)
    assert most_together(Network(path, CPU)) == 8
    assert most_together(Network(path, Rung("TensorRT", "CPUExecutionProvider", steady=True))) == 1
    model = onnx.load(str(path))
    reshape = next(node for node in model.graph.node if node.op_type == "Reshape")
    for sides, why in (([1, -1, 1, 1], "another shape"), ([1, 1, 1, 1], "an error")):
        shape = next(each for each in model.graph.initializer if each.name == reshape.input[1])
        shape.CopyFrom(onnx.numpy_helper.from_array(np.int64(sides), shape.name))
        onnx.save(model, str(tmp_path / "lying.onnx"))
        assert most_together(Network(tmp_path / "lying.onnx", CPU)) == 1, why
    assert most_together(Network(graphs.swapper(path, CONTRACTS["inswapper_128"]), CPU)) == 1
