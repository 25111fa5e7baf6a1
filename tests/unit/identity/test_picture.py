"""Decoding: every kind of still, every kind of damage, bounded memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageCms

from engine.errors import InputError
from engine.identity.picture import MAX_SIDE, open_picture, read_picture
from engine.types import Image

HEIC = Path(__file__).parent / "data"

Save = Callable[[Pillow.Image, Path], None]


@pytest.fixture(scope="module")
def chart() -> Pillow.Image:
    """A smooth RGB picture whose four corners tell every rotation and mirroring apart."""
    y, x = np.mgrid[0:120, 0:160].astype(np.float32)
    rgb = np.stack([40 + x, 220 - 1.5 * y, 60 + 0.5 * x + 0.5 * y], 2)
    return Pillow.fromarray(rgb.clip(0, 255).astype(np.uint8))


def bgr(picture: Pillow.Image) -> Image:
    return np.asarray(picture.convert("RGB"))[..., ::-1]


def error(a: Image, b: Image) -> float:
    assert a.shape == b.shape
    return float(np.abs(a.astype(int) - b).mean())


def saved(format_: str, **options: object) -> Save:
    return lambda picture, path: picture.save(path, format_, **options)


def animated(format_: str, **options: object) -> Save:
    def save(picture: Pillow.Image, path: Path) -> None:
        rest = [Pillow.new("RGB", picture.size, colour) for colour in ("red", "blue")]
        picture.save(path, format_, save_all=True, append_images=rest, duration=50, **options)

    return save


@pytest.mark.parametrize(
    ("save", "most"),
    [
        pytest.param(saved("JPEG", quality=95), 2, id="jpeg"),
        pytest.param(saved("JPEG", quality=95, progressive=True), 2, id="progressive jpeg"),
        pytest.param(lambda p, f: p.convert("CMYK").save(f, "JPEG", quality=95), 2, id="cmyk jpeg"),
        pytest.param(saved("PNG"), 0, id="png"),
        pytest.param(lambda p, f: p.convert("P", palette=1, colors=256).save(f, "PNG"), 6, id="palette png"),
        pytest.param(saved("WEBP", lossless=True), 0, id="webp"),
        pytest.param(saved("AVIF", quality=95), 2, id="avif"),
        pytest.param(saved("BMP"), 0, id="bmp"),
        pytest.param(saved("TIFF", compression="tiff_lzw"), 0, id="tiff"),
        pytest.param(saved("JPEG2000"), 2, id="jpeg 2000"),
        pytest.param(saved("PPM"), 0, id="ppm"),
        pytest.param(saved("MPO", quality=95), 2, id="mpo of one picture"),
        pytest.param(animated("GIF"), 6, id="gif"),
        pytest.param(animated("PNG"), 0, id="apng"),
        pytest.param(animated("WEBP", lossless=True), 0, id="animated webp"),
        pytest.param(animated("AVIF", quality=95), 2, id="animated avif"),
        pytest.param(animated("MPO", quality=95), 2, id="mpo of three pictures"),
        pytest.param(animated("TIFF"), 0, id="tiff of three pages"),
    ],
)
def test_format(chart: Pillow.Image, save: Save, most: float, tmp_path: Path) -> None:
    path = tmp_path / "photo.dat"  # the name says nothing: the content decides
    save(chart, path)
    image = read_picture(path)
    assert image.dtype == np.uint8
    assert image.flags.c_contiguous
    assert image.flags.writeable
    assert error(image, bgr(chart)) <= most


@pytest.mark.parametrize("name", ["upright.heic", "turned.heic"])
def test_heic(name: str) -> None:
    """A camera's HEIC: one as stored, one that its `irot` property turns by 90°."""
    expected = np.full((96, 64, 3), (40, 40, 200), np.uint8)
    expected[:48, 32:] = (200, 200, 40)
    assert error(read_picture(HEIC / name), expected) <= 4


def test_heic_is_reduced_and_remembers_its_size() -> None:
    picture = open_picture(HEIC / "upright.heic", max_side=50)
    assert picture.image.shape == (48, 32, 3)
    assert picture.scale == 0.5


def test_heic_that_crashes_its_decoder(tmp_path: Path) -> None:
    """Two bytes changed make libheif 1.23.0 read where nothing is; the process that reads it may die."""
    content = bytearray((HEIC / "turned.heic").read_bytes())
    content[179], content[220] = 0o234, 0o162
    (tmp_path / "bad.heic").write_bytes(content)
    try:
        assert read_picture(tmp_path / "bad.heic").ndim == 3
    except InputError as refused:
        assert "damaged" in str(refused)


@pytest.mark.parametrize("extension", ["tif", "png"])
def test_sixteen_bit_grey_is_scaled_with_rounding(extension: str, tmp_path: Path) -> None:
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    cv2.imwrite(str(tmp_path / f"ramp.{extension}"), values)
    image = read_picture(tmp_path / f"ramp.{extension}")
    np.testing.assert_array_equal(image[..., 1], np.round(values / 257))


@pytest.mark.parametrize("extension", ["tif", "png"])
def test_sixteen_bit_colour_is_right_to_a_level(extension: str, tmp_path: Path) -> None:
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    colour = np.dstack([values, values.T, values[::-1]])
    cv2.imwrite(str(tmp_path / f"ramp.{extension}"), colour)
    difference = read_picture(tmp_path / f"ramp.{extension}") - colour / 257
    assert np.abs(difference).max() < 1


@pytest.mark.parametrize("top", [1.0, 255.0])
def test_float_tiff(top: float, tmp_path: Path) -> None:
    grey = np.linspace(0, top, 64, dtype=np.float32).reshape(8, 8)
    Pillow.fromarray(grey).save(tmp_path / "grey.tif")
    np.testing.assert_allclose(read_picture(tmp_path / "grey.tif")[..., 0], grey * 255 / top, atol=0.51)


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparency_lies_over_white(mode: str, tmp_path: Path) -> None:
    picture = Pillow.new("RGBA", (8, 8), (0, 0, 0, 255))
    picture.paste((0, 0, 0, 0), (4, 0, 8, 8))
    picture.convert(mode).save(tmp_path / "cut.png")
    image = read_picture(tmp_path / "cut.png")
    assert (image[:, :4] == 0).all()
    assert (image[:, 4:] == 255).all()


def test_half_transparent_is_half_white(tmp_path: Path) -> None:
    Pillow.new("RGBA", (4, 4), (200, 0, 100, 128)).save(tmp_path / "half.png")
    assert error(read_picture(tmp_path / "half.png"), np.full((4, 4, 3), (177, 127, 227), np.uint8)) <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
def test_exif_orientation(chart: Pillow.Image, orientation: int, format_: str, tmp_path: Path) -> None:
    """All eight, made from their definition: where row 0 and column 0 of the file lie in the picture."""
    upright = bgr(chart)
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: np.rot90(upright),
        7: np.rot90(upright, 2).transpose(1, 0, 2),
        8: np.rot90(upright, -1),
    }[orientation]
    exif = Pillow.Exif()
    exif[274] = orientation
    options = {} if format_ in ("PNG", "TIFF") else {"quality": 95}
    Pillow.fromarray(np.ascontiguousarray(stored[..., ::-1])).save(
        tmp_path / "turned", format_, exif=exif, **options
    )
    assert error(read_picture(tmp_path / "turned"), upright) <= 2


def test_wide_gamut_becomes_srgb(tmp_path: Path) -> None:
    """With a profile that swaps red and blue, the colours come out swapped: the profile is used."""
    profile = swapped_profile()
    Pillow.new("RGB", (8, 8), (200, 60, 60)).save(tmp_path / "p.png", icc_profile=profile)
    blue, _, red = read_picture(tmp_path / "p.png")[4, 4]
    assert blue > red + 80


def test_srgb_and_broken_profiles_change_nothing(chart: Pillow.Image, tmp_path: Path) -> None:
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for profile in (srgb, b"not a profile"):
        chart.save(tmp_path / "p.png", icc_profile=profile)
        assert error(read_picture(tmp_path / "p.png"), bgr(chart)) == 0


def swapped_profile() -> bytes:
    """sRGB with the tags of its red and blue colorants exchanged."""
    data = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    count = int.from_bytes(data[128:132], "big")
    for entry in range(132, 132 + 12 * count, 12):
        tag = bytes(data[entry : entry + 4])
        data[entry : entry + 4] = {b"rXYZ": b"bXYZ", b"bXYZ": b"rXYZ"}.get(tag, tag)
    return bytes(data).replace("sRGB".encode("utf-16-be"), "swap".encode("utf-16-be"))


def test_unicode_path(chart: Pillow.Image, tmp_path: Path) -> None:
    path = tmp_path / "ünï cödé 人脸 😀 (1).jpg"
    chart.save(path, "PNG")
    assert error(read_picture(path), bgr(chart)) == 0


def test_one_pixel(tmp_path: Path) -> None:
    Pillow.new("RGB", (1, 1), (1, 2, 3)).save(tmp_path / "one.png")
    assert read_picture(tmp_path / "one.png").tolist() == [[[3, 2, 1]]]


def test_digest_is_of_the_bytes(chart: Pillow.Image, tmp_path: Path) -> None:
    chart.save(tmp_path / "a.png")
    (tmp_path / "b.jpg").write_bytes((tmp_path / "a.png").read_bytes())
    chart.save(tmp_path / "c.png", compress_level=0)
    a, b, c = (open_picture(tmp_path / name).digest for name in ("a.png", "b.jpg", "c.png"))
    assert a == b != c
    assert len(a) == 64


# ---- reduction ----------------------------------------------------------------------------------


REDUCED = [
    *(("JPEG", mode) for mode in ("RGB", "L", "CMYK")),
    *(("PNG", mode) for mode in ("RGB", "RGBA", "L", "LA", "P")),
    *(("BMP", mode) for mode in ("RGB", "L", "P")),
]


@pytest.mark.parametrize(("format_", "mode"), REDUCED)
def test_reduced_equals_the_mean_of_blocks(format_: str, mode: str, tmp_path: Path) -> None:
    y, x = np.mgrid[0:803, 0:1209]
    grey = (127 + 60 * np.sin(x / 90) + 60 * np.cos(y / 70)).astype(np.uint8)
    Pillow.fromarray(grey).convert("RGB").convert(mode).save(tmp_path / "big", format_)
    picture = open_picture(tmp_path / "big", max_side=300)
    height, width = picture.image.shape[:2]
    assert 150 < max(height, width) <= 300
    assert picture.scale == pytest.approx(width / 1209, abs=1e-3)
    assert height / width == pytest.approx(803 / 1209, abs=0.01)
    expected = cv2.resize(grey, (width, height), interpolation=cv2.INTER_AREA)
    assert error(picture.image[..., 1], expected) < 3


def test_sixteen_bits_are_reduced_too(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / "deep.png"), np.full((300, 900), 30000, np.uint16))
    image = read_picture(tmp_path / "deep.png", max_side=100)
    assert image.shape == (34, 100, 3)
    assert (image == round(30000 / 257)).all()


def test_nothing_is_reduced_without_need(chart: Pillow.Image, tmp_path: Path) -> None:
    chart.resize((MAX_SIDE + 2, 40)).save(tmp_path / "wide.jpg")
    assert open_picture(tmp_path / "wide.jpg", max_side=None).scale == 1
    assert read_picture(tmp_path / "wide.jpg", max_side=None).shape == (40, MAX_SIDE + 2, 3)


MEASURE = """
import json, resource, sys
from engine.identity.picture import open_picture
import numpy, PIL.AvifImagePlugin
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20
before = peak()
picture = open_picture(sys.argv[1])
print(json.dumps([picture.image.shape, picture.scale, peak() - before]))
"""

LAUNCH = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
"""A small process in between: on Linux a process starts with the peak of the one that forked it."""


@pytest.mark.skipif(sys.platform == "win32", reason="resource.getrusage is POSIX")
@pytest.mark.parametrize(
    ("format_", "options", "mode", "megabytes"),
    [
        pytest.param("JPEG", {}, "RGB", 120, id="jpeg"),
        pytest.param("JPEG", {"progressive": True}, "RGB", 400, id="progressive jpeg"),
        pytest.param("PNG", {"compress_level": 1}, "RGB", 540, id="png"),
        pytest.param("PNG", {"compress_level": 1}, "P", 220, id="palette png"),
    ],
)
def test_memory_for_a_hundred_megapixels(
    format_: str, options: dict[str, object], mode: str, megabytes: float, tmp_path: Path
) -> None:
    tile = Pillow.effect_mandelbrot((400, 300), (-2, -1.5, 1, 1.5), 50).convert(mode)
    picture = Pillow.new(mode, (11600, 8700))
    if tile.palette is not None:
        picture.putpalette(tile.palette)
    for x in range(0, 11600, 400):
        for y in range(0, 8700, 300):
            picture.paste(tile, (x, y))
    picture.save(tmp_path / "huge", format_, **options)
    del picture
    command = [sys.executable, "-c", LAUNCH, sys.executable, "-c", MEASURE, str(tmp_path / "huge")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    shape, scale, peak = json.loads(done.stdout)
    print(f"{format_} {mode} {options}: {peak:.0f} MB")
    assert max(shape) <= MAX_SIDE
    assert scale == pytest.approx(shape[1] / 11600, abs=1e-3)
    assert peak < megabytes


def test_bomb_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    """A PNG of 60000×60000 pixels whose data would inflate to gigabytes."""
    Pillow.new("1", (8, 8)).save(tmp_path / "bomb.png")
    data = bytearray((tmp_path / "bomb.png").read_bytes())
    data[16:24] = (60000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    (tmp_path / "bomb.png").write_bytes(data)
    with pytest.raises(InputError, match="more than 134 megapixels") as caught:
        read_picture(tmp_path / "bomb.png")
    assert caught.value.remedy


# ---- what can't be read -------------------------------------------------------------------------


def check_refused(path: Path | str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_picture(path)
    assert caught.value.exit_code == 3
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    assert not caught.value.message.endswith(".")


def test_missing(tmp_path: Path) -> None:
    check_refused(tmp_path / "no.jpg", "no file “no.jpg”")


def test_folder(tmp_path: Path) -> None:
    check_refused(tmp_path, "is a folder")


def test_path_with_nul() -> None:
    check_refused("a\0b.jpg", "can't be opened")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    check_refused(tmp_path / "pipe.jpg", "not a plain file")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable(chart: Pillow.Image, tmp_path: Path) -> None:
    chart.save(tmp_path / "mine.png")
    (tmp_path / "mine.png").chmod(0)
    check_refused(tmp_path / "mine.png", "may not be read")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"hello, world\n", "is not a picture"),
        (b"<!DOCTYPE html><html></html>", "is not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n", "is not a picture"),
        (b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41", "is not a picture"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(200), "cut off or damaged"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "cut off or damaged|is not a picture"),
    ],
)
def test_no_picture(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "named.jpg").write_bytes(content)
    check_refused(tmp_path / "named.jpg", words)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(format_=st.sampled_from(["JPEG", "PNG", "WEBP", "AVIF", "TIFF", "BMP", "GIF"]), data=st.data())
def test_damage_never_shows_another_error(
    format_: str, data: st.DataObject, chart: Pillow.Image, tmp_path: Path
) -> None:
    path = tmp_path / f"damaged.{format_}"
    chart.save(path, format_)
    content = bytearray(path.read_bytes())
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=8)):
        content[position] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    try:
        assert read_picture(path).ndim == 3
    except InputError as refused:
        assert refused.remedy
