"""A model that tells age, made for the test: the older, the redder a face's surroundings are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from insightface.model_zoo.attribute import Attribute
from onnx import TensorProto, helper, numpy_helper

from app.cli import run
from engine.catalog.entry import read_catalogue
from engine.content.age import YOUNGEST, AgeCheck, open_age
from engine.content.judges import standard_judges
from engine.errors import ModelError
from engine.identity.demo import portrait_path
from engine.identity.import_photo import PhotoReader
from engine.identity.picture import read_picture
from engine.types import Face, Frame, Image, Output
from models import CATALOGUE
from tests.unit.content.covering import why_covered

ENTRY = read_catalogue(CATALOGUE)["genderage"]


def age_model(path: Path, *, add: float = 0.0, times: float = 1.0) -> Path:
    """Age over 100 = the crop's mean red, 0..1, times and plus something; normalised in the graph."""
    weights = np.zeros((3, 3), np.float32)
    weights[0, 2] = times
    constants = [
        numpy_helper.from_array(np.float32(0), "zero"),
        numpy_helper.from_array(np.float32(1 / 255), "scale"),
        numpy_helper.from_array(weights, "weights"),
        numpy_helper.from_array(np.float32([0, 0, add]), "add"),
    ]
    nodes = [
        helper.make_node("Sub", ["data", "zero"], ["a"], name="Sub_0"),  # InsightFace looks for these
        helper.make_node("Mul", ["a", "scale"], ["b"], name="Mul_1"),
        helper.make_node("ReduceMean", ["b"], ["c"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["c", "weights"], ["d"]),
        helper.make_node("Add", ["d", "add"], ["fc1"]),
    ]
    graph = helper.make_graph(
        nodes,
        "age",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["n", 3, 96, 96])],
        [helper.make_tensor_value_info("fc1", TensorProto.FLOAT, ["n", 3])],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), str(path))
    return path


def constant_age(home: Path, years: float) -> None:
    """Add a model to Kawari's folder that gives everybody the same age."""
    model = age_model(home.parent / "age.onnx", times=0, add=years / 100)
    assert run(["models", "import", "genderage", str(model), "--accept-licence"]) == 0


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(scope="module")
def portrait() -> tuple[Image, Face]:
    picture = read_picture(portrait_path())
    seen: list[tuple[Image, Face]] = []
    PhotoReader(screen=lambda _, image, face: seen.append((image, face))).read(portrait_path())
    assert seen[0][0].shape == picture.shape
    return seen[0]


def test_as_insightface_reads_it(tmp_path: Path, portrait: tuple[Image, Face]) -> None:
    path = age_model(tmp_path / "age.onnx")
    session = ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    ours, theirs = AgeCheck(session, ENTRY.contract), Attribute(str(path), session)

    class TheirFace(dict[str, object]):
        bbox: np.ndarray

    rng = np.random.default_rng(1)
    image, face = portrait
    for _ in range(20):
        shift = rng.uniform(-120, 120, 2)
        landmarks = face.landmarks.copy()
        landmarks[:, :2] = landmarks[:, :2] * rng.uniform(0.3, 2) + shift
        moved = Face(0, landmarks, 1.0)
        their_face = TheirFace()
        their_face.bbox = np.array(moved.box)
        theirs.get(image, their_face)
        assert abs(ours.years(image, moved) - float(str(their_face["age"]))) <= 0.51  # theirs is rounded


def test_without_a_model_nothing_is_asked(home: Path) -> None:
    assert open_age(home) is None
    assert len(standard_judges(home)) == 1


def test_a_changed_model_is_an_error(home: Path) -> None:
    constant_age(home, 40)
    assert open_age(home) is not None
    path = home / "models" / ENTRY.file
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ModelError):
        open_age(home)


@pytest.mark.parametrize(("years", "code"), [(YOUNGEST - 0.1, 6), (YOUNGEST + 0.1, 0)])
def test_a_source_photo(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], years: float, code: int
) -> None:
    constant_age(home, years)
    portrait, target = str(portrait_path()), tmp_path / "blank.png"
    Path(target).write_bytes(Path(portrait).read_bytes())
    arguments = ["consent", "give", portrait, "--consent", "fictional"]
    assert run(arguments) == code
    assert ("seems to show a child" in capsys.readouterr().err) is (code == 6)


def test_a_photo_that_was_accepted_before_the_model_came(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    portrait = str(portrait_path())
    arguments = ["run", "--source", portrait, "--input", portrait, "--output", str(tmp_path / "o.png")]
    assert run([*arguments, "--consent", "fictional"]) == 0
    (tmp_path / "o.png").unlink()
    constant_age(home, 9)
    assert run(arguments) == 6
    assert not (tmp_path / "o.png").exists()


def test_a_target_picture(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The source passes while there is no model; `demo_photo` is not looked at."""
    constant_age(home, 9)
    (judge,) = standard_judges(home)[1:]
    image = read_picture(portrait_path())
    face = PhotoReader().read(portrait_path()).face
    assert judge.sees(Output(Frame(0, 0, image), image, (face,)))
    assert not judge.sees(Output(Frame(0, 0, image), image))
    assert "child" in judge.message


def test_a_live_target_is_covered(home: Path) -> None:
    constant_age(home, 9)
    assert "child" in why_covered()
