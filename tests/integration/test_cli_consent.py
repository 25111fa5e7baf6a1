"""`kawari consent` and the flags that give one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import cv2
import pytest

from app.cli import run
from engine.identity.consent import Basis, ConsentStore
from engine.identity.demo import portrait_path
from engine.identity.photo import photo_digest
from tests.unit.identity.test_live_match import Played, to_both_sides

FORM = b"I agree. Eileen"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "kawari"))
    return tmp_path / "kawari"


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    return Path(shutil.copy(portrait_path(), tmp_path / "eileen.png"))


@pytest.fixture
def form(tmp_path: Path) -> Path:
    path = tmp_path / "release.PDF"
    path.write_bytes(FORM)
    return path


def digest(photo: Path) -> str:
    return photo_digest(hashlib.sha256(photo.read_bytes()).hexdigest(), 1)


def store(home: Path) -> ConsentStore:
    return ConsentStore(home / "identities" / "consent")


def swap(photo: Path, *more: str) -> int:
    output = photo.parent / "o.png"
    return run(["run", "--source", str(photo), "--input", str(photo), "--output", str(output), "--overwrite",
                *more])  # fmt: skip


def test_everything_said_with_a_swap_is_on_record(home: Path, photo: Path, form: Path) -> None:
    assert swap(photo, "--consent", "permission", "--consent-by", "Eileen", "--purpose", "a show",
                "--expires", "2999-12-31", "--release", str(form)) == 0  # fmt: skip
    consent = store(home).require(digest(photo))
    assert (consent.basis, consent.who, consent.purpose) == (Basis.PERMISSION, "Eileen", "a show")
    assert consent.expires == datetime(3000, 1, 1, tzinfo=UTC)
    assert consent.document == hashlib.sha256(FORM).hexdigest()
    copy = store(home).releases.find(consent.document)
    assert copy is not None
    assert copy.read_bytes() == FORM
    assert swap(photo, "--consent", "permission") == 0  # said again: what is on record stays
    assert store(home).require(digest(photo)) == consent


def test_the_day_named_is_the_last_one(
    home: Path, photo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    today = datetime.now(UTC).date()
    assert swap(photo, "--consent", "self", "--expires", today.isoformat()) == 0
    capsys.readouterr()
    tomorrow = datetime.combine(today + timedelta(days=1), datetime.min.time(), UTC)
    monkeypatch.setattr(ConsentStore.__init__, "__defaults__", (lambda: tomorrow,))
    assert swap(photo) == 6
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"ended on {today.isoformat()}" in said
    assert swap(photo, "--consent", "self") == 0  # a new consent


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["--expires", "2999-01-01"], 2, "--consent"),
        (["--consent", "self", "--expires", "2001-01-01"], 2, "expired already"),
        (["--consent", "self", "--release", "nowhere.pdf"], 3, "nowhere.pdf"),
        (["--consent", "self", "--release", "{empty}"], 3, "empty"),
    ],
)
def test_what_does_not_fit_is_refused(
    home: Path, photo: Path, capsys: pytest.CaptureFixture[str], flags: list[str], code: int, words: str
) -> None:
    empty = photo.parent / "empty.pdf"
    empty.touch()
    assert swap(photo, *(flag.format(empty=empty) for flag in flags)) == code
    assert words in capsys.readouterr().err
    assert not (home / "identities").exists()


@pytest.mark.parametrize("day", ["soon", "2026-13-01", "9999-12-31", "1.2.2030"])
def test_a_day_that_is_none(home: Path, photo: Path, day: str) -> None:
    with pytest.raises(SystemExit) as caught:
        swap(photo, "--consent", "self", "--expires", day)
    assert caught.value.code == 2


def test_list_export_revoke(home: Path, photo: Path, form: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["consent", "give", str(photo), "--consent", "permission", "--consent-by", "Eileen <b>",
                "--expires", "2999-12-31", "--release", str(form)]) == 0  # fmt: skip
    assert swap(photo) == 0
    capsys.readouterr()
    assert run(["consent", "list"]) == 0
    said = capsys.readouterr().out
    assert "2999-12-31" in said
    assert digest(photo)[:12] in said
    assert run(["consent", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["photo"], listed["basis"]) == (digest(photo), "permission")

    page = photo.parent / "page.html"
    assert run(["consent", "export", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Eileen &lt;b&gt;" in text
    assert "3000-01-01 00:00 UTC" in text
    link = re.search(r'href="data:application/octet-stream;base64,([^"]+)"', text)
    assert link is not None
    assert base64.b64decode(link[1]) == FORM

    folder = home / "identities"
    assert list((folder / "prepared").iterdir())
    assert run(["consent", "revoke", str(photo)]) == 0
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert swap(photo) == 6
    assert run(["consent", "revoke", str(photo)]) == 3


def test_revoke_by_digest(home: Path, photo: Path) -> None:
    other = photo_digest("ab" * 32, 1)
    for each in (digest(photo), other):
        store(home).give(each, Basis.SELF)
    assert run(["consent", "revoke", digest(photo)[:7]]) == 3  # too short to be sure
    assert run(["consent", "revoke", digest(photo)[:12]]) == 0
    assert [each for each, _ in store(home).records()] == [other]


def test_a_form_stays_as_long_as_a_record_needs_it(home: Path, form: Path) -> None:
    consents = store(home)
    document = consents.releases.keep(form)
    for number in "12":
        consents.give(number * 64, Basis.PERMISSION, document=document)
    consents.revoke("1" * 64)
    assert consents.releases.find(document) is not None
    consents.revoke("2" * 64)
    assert consents.releases.find(document) is None


def test_a_changed_form_is_not_shown_as_the_one_on_record(home: Path, form: Path) -> None:
    releases = store(home).releases
    document = releases.keep(form)
    found = releases.find(document)
    assert found is not None
    found.write_bytes(b"I do not agree")
    assert releases.find(document) is None


CATALOGUE = """
[mobilefacenet]
kind = "embedder"
title = "MobileFaceNet of the tests"
licence = "tests only"

[mobilefacenet.contract]
inputs = [{ shape = [-1, 3, 112, 112] }]
outputs = [{ shape = [-1, 128] }]
template = "arcface"
size = 112
colour = "bgr"
mean = [0.5, 0.5, 0.5]
std = [0.5, 0.5, 0.5]
"""


@pytest.mark.shared
def test_prove(
    home: Path, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    images = to_both_sides(shared / "data" / "videos")
    photo, stranger = tmp_path / "photo.png", str(shared / "data" / "images" / "uni_man_frontal.jpg")
    cv2.imwrite(str(photo), images[20])
    prove = ["consent", "prove", str(photo), "--seconds", "60"]
    monkeypatch.setattr("engine.sources.camera.CameraSource", lambda _: Played(images))

    def said() -> str:
        return capsys.readouterr().err

    assert run(prove) == 5
    assert "kawari models get" in said()
    (home / "catalogue").mkdir(parents=True)
    (home / "catalogue" / "own.toml").write_text(CATALOGUE)
    model = shared / "data" / "models" / "mobilefacenet_bgr128__KennethWang.onnx"
    assert run(["models", "import", "mobilefacenet", str(model), "--accept-licence"]) == 0
    assert run(prove) == 6
    assert "Nobody has said" in said()
    assert swap(photo, "--consent", "permission") == 0
    assert run(prove) == 2
    assert "not the user's own" in said()
    assert swap(photo, "--consent", "self") == 0
    assert run(prove) == 0
    assert "Look into the camera" in said()
    proof = store(home).require(digest(photo)).proof
    assert proof is not None
    assert proof.model == "mobilefacenet"
    assert 0.5 <= proof.similarity <= 1
    assert (datetime.now(UTC) - proof.when).total_seconds() < 600
    page = tmp_path / "page.html"
    assert run(["consent", "export", str(page)]) == 0
    assert f"similarity {proof.similarity:.2f} by mobilefacenet" in page.read_text()
    assert not [path for path in (home / "identities").rglob("*") if "embeddings" in path.parts]

    assert run(["consent", "give", stranger, "--consent", "self"]) == 0
    assert run(["consent", "prove", stranger]) == 6
    assert "does not seem to be" in said()
    assert len([1 for _, consent in store(home).records() if consent.proof]) == 1
