from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from engine.catalog import open_store
from engine.catalog.check import check_file, check_graph
from engine.catalog.entry import Entry, SourceInput, read_catalogue
from engine.catalog.store import Store
from engine.errors import ModelError, RefusedError
from models import CATALOGUE


def model_bytes(
    side: int = 16, extra_domain: str = "", external: bool = False, kind: int = TensorProto.FLOAT
) -> bytes:
    """A one-layer network that maps a side×side picture to itself."""
    weight = numpy_helper.from_array(np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1), "weight")
    if external:
        weight.ClearField("raw_data")
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="../../etc/passwd")
    nodes = [helper.make_node("Conv", ["picture", "weight"], ["out"])]
    opsets = [helper.make_opsetid("", 17)]
    if extra_domain:
        nodes.append(helper.make_node("Anything", ["out"], ["ignored"], domain=extra_domain))
        opsets.append(helper.make_opsetid(extra_domain, 1))
    shape = [1, 3, side, side]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("picture", kind, shape)],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [weight],
    )
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


GOOD = model_bytes()
TABLE = {
    "kind": "enhancer",
    "title": "Test model",
    "size": len(GOOD),
    "sha256": hashlib.sha256(GOOD).hexdigest(),
    "licence": "Apache-2.0",
    "commercial": "yes",
    "contract": {"inputs": [{"shape": [1, 3, 16, 16]}], "outputs": [{"shape": [1, 3, 16, 16]}]},
}
ENTRY = Entry.from_table("thing", TABLE)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "models", {"thing": ENTRY})
    store.accept("thing")
    return store


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def files(store: Store) -> set[str]:
    return {path.name for path in store.folder.iterdir()} - {"store.json"}


def test_import_verify_remove(store: Store, tmp_path: Path) -> None:
    original = write(tmp_path / "mine.onnx", GOOD)
    installed = store.add("thing", original)
    assert original.exists()
    assert store.path("thing") == installed.path
    assert store.verify("thing").sha256 == ENTRY.sha256
    assert store.remove("thing")
    assert not store.remove("thing")
    assert files(store) == set()


BAD = {
    "empty": (b"", "is empty"),
    "html": (b"<!DOCTYPE html><html><body>log in</body></html>", "web page"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "Git LFS pointer"),
    "truncated": (GOOD[:-9], "cut off"),
    "other": (model_bytes(8) + b" " * 64, "SHA-256"),
    "flipped": (GOOD[:40] + bytes([GOOD[40] ^ 1]) + GOOD[41:], "SHA-256"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_wrong_file_leaves_the_store_untouched(store: Store, tmp_path: Path, case: str) -> None:
    data, words = BAD[case]
    before = files(store)
    with pytest.raises(ModelError, match=words):
        store.add("thing", write(tmp_path / "bad.onnx", data))
    assert files(store) == before
    assert store.installed("thing") is None


UNPUBLISHED = replace(ENTRY, sha256="", size=0)
UNSAFE = {
    "external": (model_bytes(external=True), "another file"),
    "custom": (model_bytes(extra_domain="evil"), "custom operators"),
    "type": (model_bytes(kind=TensorProto.UINT8), "of type uint8"),
    "shape": (model_bytes(8), r"shape \[1, 3, 8, 8\]"),
    "text": (b"not a model at all" * 40, "no ONNX file"),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_a_graph_that_does_not_fit_is_refused(tmp_path: Path, case: str) -> None:
    data, words = UNSAFE[case]
    with pytest.raises(ModelError, match=words):
        check_file(write(tmp_path / "bad.onnx", data), UNPUBLISHED)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("corrupt_truncated.onnx", "no ONNX file"),
        ("html_instead_of_model.onnx", "web page"),
        ("lfs_pointer.onnx", "Git LFS pointer"),
        ("yunet_n_dynamic.onnx", "kind has"),
    ],
)
def test_broken_files_of_the_real_world(shared: Path, file: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        check_file(shared / "data" / "models" / file, UNPUBLISHED)


def test_any_changed_byte_is_found_at_loading(store: Store, tmp_path: Path) -> None:
    path = store.add("thing", write(tmp_path / "mine.onnx", GOOD)).path
    for position in range(len(GOOD)):
        changed = bytearray(GOOD)
        changed[position] ^= 0xFF
        path.write_bytes(changed)
        with pytest.raises(ModelError):
            store.path("thing")
    path.write_bytes(GOOD)
    assert store.path("thing") == path


def test_the_first_import_pins_an_unpublished_hash(tmp_path: Path) -> None:
    store = Store(tmp_path / "models", {"thing": UNPUBLISHED})
    store.accept("thing")
    store.add("thing", write(tmp_path / "a.onnx", GOOD))
    other = onnx.load_from_string(GOOD)
    other.doc_string = "another build of it"
    with pytest.raises(ModelError, match="SHA-256"):
        store.add("thing", write(tmp_path / "b.onnx", other.SerializeToString()))
    assert store.path("thing").read_bytes() == GOOD


def test_the_licence_is_asked_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "models", {"thing": ENTRY})
    mine = write(tmp_path / "mine.onnx", GOOD)
    with pytest.raises(RefusedError, match=r"Apache-2\.0"):
        store.add("thing", mine)
    store.accept("thing")
    assert store.add("thing", mine)
    assert Store(tmp_path / "models", {"thing": ENTRY}).accepted("thing")


def test_a_missing_model_says_how_to_get_it(store: Store) -> None:
    with pytest.raises(ModelError, match="kawari models get thing"):
        store.path("thing")
    with pytest.raises(ModelError, match="kawari models list"):
        store.path("nothing")


def test_the_mirror_comes_before_the_network(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    write(mirror / ENTRY.file, GOOD)
    store = Store(tmp_path / "models", {"thing": ENTRY}, mirror)
    store.accept("thing")
    assert store.get("thing").path.read_bytes() == GOOD


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves GOOD; `server.limit` cuts the answer after so many bytes."""

    def do_GET(self) -> None:
        self.server.seen.append(self.headers.get("Range"))  # type: ignore[attr-defined]
        elsewhere = getattr(self.server, "elsewhere", "")
        if elsewhere and not self.headers["Host"].startswith("127.1:"):
            self.send_response(302)
            self.send_header("Location", elsewhere)
            self.end_headers()
            return
        start = 0
        if range_ := self.headers.get("Range"):
            start = int(range_.removeprefix("bytes=").rstrip("-"))
        body: bytes = self.server.body[start:]  # type: ignore[attr-defined]
        self.send_response(206 if start else 200)
        if self.server.says_length:  # type: ignore[attr-defined]
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body[: self.server.limit])  # type: ignore[attr-defined]

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[http.server.ThreadingHTTPServer]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.body, server.limit, server.seen = GOOD, len(GOOD), []  # type: ignore[attr-defined]
    server.says_length = True  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def served(server: http.server.ThreadingHTTPServer, tmp_path: Path, entry: Entry = ENTRY) -> Store:
    entry = replace(entry, urls=(f"http://127.0.0.1:{server.server_port}/thing.onnx",))
    store = Store(tmp_path / "models", {"thing": entry})
    store.accept("thing")
    return store


def test_a_download_goes_on_where_it_broke(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    store = served(server, tmp_path)
    cuts = range(0, len(GOOD), 23)
    for cut in cuts:
        server.limit, server.seen = cut, []  # type: ignore[attr-defined]
        with pytest.raises(ModelError, match=r"broke|reached"):
            store.get("thing")
        assert store.installed("thing") is None
        server.limit = len(GOOD)  # type: ignore[attr-defined]
        progress: list[int] = []
        installed = store.get("thing", lambda done, _total, into=progress: into.append(done))
        assert installed.sha256 == ENTRY.sha256
        assert server.seen[-1] == (f"bytes={cut}-" if cut else None)  # type: ignore[attr-defined]
        assert progress[-1] == len(GOOD)
        assert files(store) == {"thing.onnx"}
        store.remove("thing")


def test_a_wrong_download_is_thrown_away(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    store = served(server, tmp_path)
    server.body = GOOD[:-1] + b"?"  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match="SHA-256"):
        store.get("thing")
    assert files(store) == set()
    server.body = GOOD  # type: ignore[attr-defined]
    assert store.get("thing").path.read_bytes() == GOOD


def test_without_a_hash_nothing_is_continued(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    """The file at the address may be another one by then: only a hash could tell."""
    store = served(server, tmp_path, UNPUBLISHED)
    server.limit = len(GOOD) // 2  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match=r"broke|reached"):
        store.get("thing")
    server.limit = len(GOOD)  # type: ignore[attr-defined]
    server.body = model_bytes(extra_domain="com.microsoft")  # type: ignore[attr-defined]
    server.limit = len(server.body)  # type: ignore[attr-defined]
    assert store.get("thing").path.read_bytes() == server.body  # type: ignore[attr-defined]
    assert server.seen == [None, None]  # type: ignore[attr-defined]


def test_cut_off_at_any_byte_without_hash_size_or_length(
    server: http.server.ThreadingHTTPServer, tmp_path: Path
) -> None:
    """Only the file itself can tell that something is missing."""
    for cut in range(1, len(GOOD)):
        with pytest.raises(ModelError):
            check_graph(write(tmp_path / "cut.onnx", GOOD[:cut]), UNPUBLISHED.contract)
    store = served(server, tmp_path, UNPUBLISHED)
    server.says_length = False  # type: ignore[attr-defined]
    for cut in range(0, len(GOOD), 97):
        server.limit = cut  # type: ignore[attr-defined]
        with pytest.raises(ModelError):
            store.get("thing")
        assert files(store) == set()
    server.limit = len(GOOD)  # type: ignore[attr-defined]
    assert store.get("thing").path.read_bytes() == GOOD


@pytest.mark.parametrize(
    "notes", ["[]", "{", '{"models": []}', '{"models": {"thing": 3}}', '{"licences": 1}']
)
def test_broken_notes_are_one_sentence(store: Store, notes: str) -> None:
    (store.folder / "store.json").write_text(notes)
    for use in (store.path, store.installed, store.verify, store.accept, store.remove, store.get):
        with pytest.raises(ModelError, match=r"Delete store\.json"):
            use("thing")


def test_plain_http_is_refused(tmp_path: Path) -> None:
    entry = replace(ENTRY, urls=("http://example.org/thing.onnx",))
    store = Store(tmp_path / "models", {"thing": entry})
    store.accept("thing")
    with pytest.raises(ModelError, match="not https"):
        store.get("thing")


def test_the_built_in_catalogue_is_sound() -> None:
    entries = read_catalogue(CATALOGUE)
    for name, entry in entries.items():
        assert entry.licence, name
        assert all(url.startswith("https://") for url in entry.urls), name
        assert len(entry.sha256) in (0, 64), name
        assert set(entry.needs) <= set(entries), name
    assert entries["inswapper_128"].contract.source is SourceInput.EMAP
    assert len({entry.file for entry in entries.values()}) == len(entries)


def test_a_user_adds_a_model(tmp_path: Path) -> None:
    (tmp_path / "catalogue").mkdir()
    (tmp_path / "catalogue" / "mine.toml").write_text(
        '[mine]\nkind = "enhancer"\ntitle = "Mine"\nlicence = "MIT"\n'
        "[mine.contract]\nsize = 16\ninputs = [{ shape = [1, 3, 16, 16] }]\n"
    )
    store = open_store(tmp_path)
    store.accept("mine")
    assert store.add("mine", write(tmp_path / "m.onnx", GOOD)).entry.title == "Mine"


@pytest.mark.parametrize(
    "text",
    [
        "[mine]\nkind = 'enhancer'\n",
        "[mine]\nkind = 'sorcery'\ntitle='x'\nlicence='MIT'\n[mine.contract]\ninputs=[]\n",
        "[mine]\nkind = 'enhancer'\ntitle='x'\nlicence='MIT'\nfile='../x'\n[mine.contract]\ninputs=[]\n",
        "[mine]\nkind = 'enhancer'\ntitle='x'\nlicence='MIT'\ncolour='red'\n[mine.contract]\ninputs=[]\n",
        "[mine\n",
    ],
)
def test_a_wrong_entry_is_explained(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ModelError, match="mine"):
        read_catalogue(tmp_path / "mine.toml")


def test_a_way_round_https_is_refused(server: http.server.ThreadingHTTPServer, tmp_path: Path) -> None:
    store = served(server, tmp_path)
    server.elsewhere = f"http://127.1:{server.server_port}/thing.onnx"  # type: ignore[attr-defined]
    with pytest.raises(ModelError, match="not https"):
        store.get("thing")
    assert files(store) == set()


def test_a_server_that_never_ends_is_stopped(
    server: http.server.ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.catalog.download.LARGEST", len(GOOD) - 1)
    store = served(server, tmp_path)
    with pytest.raises(ModelError, match="more than any model"):
        store.get("thing")
    assert files(store) == set()
