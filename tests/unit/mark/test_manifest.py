from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from engine.errors import InputError
from engine.mark.manifest import Trust, can_sign, read, sign
from engine.mark.payload import Payload, model_id
from engine.mark.signer import given_signing_key, local_signing_key

PAYLOAD = Payload(0xABCDEF, model_id("mesh"), (0, 1), date(2026, 11, 30))


def make(path: Path) -> Path:
    frames = np.random.default_rng(0).integers(0, 256, (10, 96, 128, 3)).astype(np.uint8)
    if path.suffix in (".mp4", ".mov"):
        with av.open(path, "w") as container:
            stream = container.add_stream("libx264", 10)
            stream.width, stream.height, stream.pix_fmt = 128, 96, "yuv420p"
            for frame in frames:
                container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="bgr24")))
            container.mux(stream.encode(None))
    else:
        path.write_bytes(cv2.imencode(path.suffix, frames[0])[1].tobytes())
    return path


@pytest.fixture(params=[".mp4", ".mov", ".png", ".jpg", ".webp", ".tiff"])
def signed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    target = tmp_path / f"signed{request.param}"
    sign(make(tmp_path / f"plain{request.param}"), target, local_signing_key(tmp_path), PAYLOAD, "mesh")
    return target


def test_trusted_with_our_root_and_untrusted_without(signed: Path, tmp_path: Path) -> None:
    root = local_signing_key(tmp_path).root
    statement = read(signed, root)
    assert statement.trust is Trust.TRUSTED
    assert statement.synthetic
    assert statement.watermark == PAYLOAD.to_bytes().hex()
    assert statement.generator.startswith("Kawari")
    assert read(signed).trust is Trust.UNTRUSTED
    assert read(signed, local_signing_key(tmp_path / "another").root).trust is Trust.UNTRUSTED


def test_one_flipped_bit_is_seen(signed: Path, tmp_path: Path) -> None:
    """Wherever it is but in the zeros that fill up the room reserved for the signature: they say nothing."""
    data = signed.read_bytes()
    root = local_signing_key(tmp_path).root
    places = [len(data) * (2 * place + 1) // 40 for place in range(20)]
    places = [place for place in places if any(data[place - 16 : place + 16])]
    assert len(places) >= 15
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1
        signed.write_bytes(changed)
        assert read(signed, root).trust is not Trust.TRUSTED, place
    changed = bytearray(data)
    changed[len(data) * 3 // 4 if signed.suffix in (".mp4", ".mov") else len(data) // 2] ^= 1
    signed.write_bytes(changed)
    assert read(signed, root).trust is Trust.TAMPERED


def test_the_signed_picture_is_still_the_picture(tmp_path: Path) -> None:
    plain, target = make(tmp_path / "plain.png"), tmp_path / "signed.png"
    sign(plain, target, local_signing_key(tmp_path), PAYLOAD, "mesh")
    assert np.array_equal(cv2.imread(str(plain)), cv2.imread(str(target)))


def test_files_without_a_manifest(tmp_path: Path) -> None:
    assert read(make(tmp_path / "plain.jpg")).trust is Trust.ABSENT
    assert read(tmp_path / "notes.txt").trust is Trust.ABSENT
    (tmp_path / "empty.png").write_bytes(b"")
    assert read(tmp_path / "empty.png").trust is not Trust.TRUSTED
    with pytest.raises(InputError, match="can't be read"):
        read(tmp_path / "missing.png")


def test_formats_that_can_not_carry_one(tmp_path: Path) -> None:
    assert not can_sign(Path("clip.mkv"))
    with pytest.raises(InputError, match="mkv"):
        sign(tmp_path / "a.mkv", tmp_path / "b.mkv", local_signing_key(tmp_path), PAYLOAD, "mesh")


def test_the_key_is_private_and_kept(tmp_path: Path) -> None:
    first = local_signing_key(tmp_path)
    assert local_signing_key(tmp_path) == first
    assert (tmp_path / "signing").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "signing").iterdir())


def test_a_key_of_ones_own(tmp_path: Path) -> None:
    local_signing_key(tmp_path)
    chain, key = tmp_path / "signing" / "chain.pem", tmp_path / "signing" / "key.pem"
    assert given_signing_key(chain, key).key == key.read_bytes()
    local_signing_key(tmp_path / "b")
    with pytest.raises(InputError, match="does not belong"):
        given_signing_key(chain, tmp_path / "b" / "signing" / "key.pem")
    with pytest.raises(InputError, match="PEM"):
        given_signing_key(key, chain)


def test_reading_does_not_load_the_library_for_other_files() -> None:
    code = "import sys, engine.mark.manifest; sys.exit('c2pa' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
