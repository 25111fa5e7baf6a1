from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import psutil
import pytest
from PIL import Image as PillowImage
from PIL import ImageCms

from engine.errors import InputError
from engine.sources.decode import ClipDecoder
from engine.sources.file import FileSource
from engine.types import Frame
from tests.make_clip import PATCHES, colour_bars, moving, write_clip

ONE = 1 << 16


def read_all(source: FileSource) -> list[Frame]:
    source.open()
    frames = list(iter(source.read, None))
    source.close()
    return frames


def worst(image: np.ndarray, patches: tuple[tuple[int, int, int], ...] = PATCHES) -> int:
    """Largest error over the middles of the bars."""
    step = image.shape[1] / len(patches)
    seen = np.array([image[image.shape[0] // 2, int((i + 0.5) * step)] for i in range(len(patches))], int)
    return int(np.abs(seen - np.array(patches)).max())


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("matrix", [1, 5, 6, 9])
def test_colours_come_back_whatever_the_matrix_and_range(
    tmp_path: Path, matrix: int, full_range: bool
) -> None:
    path = write_clip(tmp_path / "c.mp4", [colour_bars()] * 2, matrix=matrix, full_range=full_range)
    assert worst(read_all(FileSource(path))[0].image) <= 5


def test_untagged_small_pictures_are_bt601_and_large_ones_bt709(tmp_path: Path) -> None:
    small = write_clip(tmp_path / "s.mp4", [colour_bars()], matrix=6, said=False)
    large = write_clip(tmp_path / "l.mp4", [colour_bars(448, 720)], matrix=1, said=False)
    assert worst(read_all(FileSource(small))[0].image) <= 5
    assert worst(read_all(FileSource(large))[0].image) <= 5


def test_ten_bits_are_rounded_to_eight(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "c.mkv", [colour_bars()], codec="libx265", pixels="yuv420p10le", matrix=1)
    assert worst(read_all(FileSource(path))[0].image) <= 5


@pytest.mark.parametrize("transfer", [16, 18])
def test_hdr_white_and_grey_are_neutral_and_ordered(transfer: int) -> None:
    from engine.hdr import Transfer, tone_map

    ramp = np.repeat(np.linspace(0, 65535, 64).astype(np.uint16)[None, :, None], 3, axis=2)
    out = tone_map(ramp, Transfer(transfer))[0].astype(int)
    assert (np.ptp(out, axis=1) <= 1).all()
    assert (np.diff(out[:, 1]) >= 0).all()
    assert out[0, 1] == 0
    assert out[-1, 1] == 255
    # graphics white of BT.2408: 58 % of PQ, 75 % of HLG: bright, not clipped
    white = np.full((1, 1, 3), round((0.58 if transfer == 16 else 0.75) * 65535), np.uint16)
    assert 190 <= tone_map(white, Transfer(transfer))[0, 0, 1] <= 250


MATRICES = {
    "upright": ((ONE, 0, 0, ONE), lambda a: a),
    "clockwise": ((0, ONE, -ONE, 0), lambda a: np.rot90(a, -1)),
    "half": ((-ONE, 0, 0, -ONE), lambda a: np.rot90(a, 2)),
    "counter-clockwise": ((0, -ONE, ONE, 0), lambda a: np.rot90(a, 1)),
    "mirrored": ((-ONE, 0, 0, ONE), lambda a: a[:, ::-1]),
    "upside-down mirror": ((ONE, 0, 0, -ONE), lambda a: a[::-1]),
    "transposed": ((0, ONE, ONE, 0), lambda a: a.transpose(1, 0, 2)),
}


@pytest.mark.parametrize("name", MATRICES)
def test_turned_and_mirrored_clips_come_out_upright(tmp_path: Path, name: str) -> None:
    (a, b, c, d), turn = MATRICES[name]
    stored = moving(3)
    path = write_clip(tmp_path / "t.mp4", stored, display_matrix=[a, b, 0, c, d, 0, 0, 0, 1 << 30])
    source = FileSource(path)
    info = source.open()
    frames = list(iter(source.read, None))
    source.close()
    wanted = turn(stored[1])
    assert (info.height, info.width) == wanted.shape[:2]
    assert np.abs(frames[1].image.astype(int) - wanted).mean() < 4
    assert frames[1].image.flags.c_contiguous


def test_times_of_a_variable_rate_clip_are_kept(tmp_path: Path) -> None:
    pts = [0, 40, 50, 130, 131, 400]
    path = write_clip(tmp_path / "v.mp4", moving(6), pts=pts, time_base=Fraction(1, 1000))
    frames = read_all(FileSource(path))
    assert [f.pts for f in frames] == pytest.approx([p / 1000 for p in pts])
    assert [f.id for f in frames] == list(range(6))


@pytest.mark.parametrize("size", [(97, 63), (96, 63), (97, 64)])
def test_odd_sizes_in_full_chroma(tmp_path: Path, size: tuple[int, int]) -> None:
    stored = moving(2, *size)
    frames = read_all(FileSource(write_clip(tmp_path / "o.mp4", stored, pixels="yuv444p")))
    assert frames[0].image.shape == stored[0].shape
    assert np.abs(frames[0].image.astype(int) - stored[0]).mean() < 3


def test_animated_webp(tmp_path: Path) -> None:
    pictures = [PillowImage.fromarray(f[..., ::-1]) for f in moving(4)]
    path = tmp_path / "a.webp"
    pictures[0].save(
        path, save_all=True, append_images=pictures[1:], duration=[40, 80, 120, 60], lossless=True
    )
    frames = read_all(FileSource(path))
    assert [f.pts for f in frames] == pytest.approx([0, 0.04, 0.12, 0.24])
    assert np.array_equal(frames[2].image, moving(4)[2])


def test_a_cut_off_clip_gives_its_beginning_and_the_number_lost(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 255, (64, 96, 3), dtype=np.uint8) for _ in range(40)]
    whole = write_clip(tmp_path / "w.mp4", noise, options={"movflags": "faststart"})
    # the index first, then the data, as cameras and web servers store it
    import av

    front = tmp_path / "f.mp4"
    with av.open(str(whole)) as i, av.open(str(front), "w", options={"movflags": "faststart"}) as o:
        stream = o.add_stream_from_template(i.streams.video[0])
        for packet in i.demux(i.streams.video[0]):
            if packet.size:
                packet.stream = stream
                o.mux(packet)
    cut = tmp_path / "c.mp4"
    cut.write_bytes(front.read_bytes()[: front.stat().st_size // 2])
    source = FileSource(cut)
    frames = read_all(source)
    assert 0 < len(frames) < 40
    assert len(frames) + source.unreadable == 40


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("none.mp4", None, "no file"),
        ("zero.mp4", b"", "empty"),
        ("text.mp4", b"not a video at all\n" * 20, "not a video"),
        ("text.webp", b"RIFF\x00\x00\x00\x00WEBPgarbage", "not a video|can't be decoded|No frame"),
    ],
)
def test_what_is_no_clip_says_so_in_one_line(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        FileSource(path).open()
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_sound_without_picture_is_refused(tmp_path: Path) -> None:
    import av

    path = tmp_path / "s.m4a"
    with av.open(str(path), "w") as file:
        stream = file.add_stream("aac", rate=48000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4096), np.float32), "fltp", "mono")
        frame.sample_rate = 48000
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    with pytest.raises(InputError, match="no video"):
        FileSource(path).open()


def test_loop_goes_on_with_growing_ids(tmp_path: Path) -> None:
    source = FileSource(write_clip(tmp_path / "l.mp4", moving(3)), loop=True)
    assert source.open().frames is None
    frames = [source.read() for _ in range(8)]
    source.close()
    assert [f.id for f in frames if f] == list(range(8))
    assert source.read() is None


def test_realtime_is_live_and_close_wakes_a_waiting_read(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "r.mp4", moving(3), pts=[0, 1, 30_000], time_base=Fraction(1, 1000))
    source = FileSource(path, realtime=True)
    assert source.open().live
    first = source.read()
    assert first is not None
    assert first.pts is None
    source.read()
    got: list[Frame | None] = []
    reader = threading.Thread(target=lambda: got.append(source.read()))
    reader.start()
    time.sleep(0.05)
    source.close()
    reader.join(0.5)
    assert not reader.is_alive()
    assert got == [None]


def test_joined_transport_stream_keeps_its_frames_fitted_and_its_times_growing(tmp_path: Path) -> None:
    a = write_clip(tmp_path / "a.ts", moving(5, 96, 64))
    b = write_clip(tmp_path / "b.ts", moving(5, 128, 64))
    joined = tmp_path / "j.ts"
    joined.write_bytes(a.read_bytes() + b.read_bytes())
    frames = read_all(FileSource(joined))
    assert len(frames) == 10
    assert {f.image.shape for f in frames} == {(64, 96, 3)}
    assert (np.diff([f.pts for f in frames]) > 0).all()
    # 128×64 in 96×64: bars of eight rows above and below
    assert frames[-1].image[:6].max() == 0
    assert frames[-1].image[12:50].min() > 10


def test_reading_many_frames_makes_no_threads(tmp_path: Path) -> None:
    source = FileSource(write_clip(tmp_path / "m.mp4", moving(60)))
    source.open()
    kept = [source.read() for _ in range(10)]
    before = psutil.Process().num_threads()
    kept += [source.read() for _ in range(50)]
    assert None not in kept
    assert psutil.Process().num_threads() <= before + 2
    source.close()


def test_frames_and_decoders_are_freed_at_once(tmp_path: Path) -> None:
    """Not only when the collector comes by: till then the codec takes new buffers for every frame."""
    path = write_clip(tmp_path / "c.mp4", moving(10))
    source = FileSource(path, loop=True)
    kinds = (av.VideoFrame, av.container.InputContainer, ClipDecoder)
    gc.collect()
    before = [sum(isinstance(one, kind) for one in gc.get_objects()) for kind in kinds]
    gc.disable()
    try:
        source.open()
        for _ in range(95):
            assert source.read() is not None
        after = [sum(isinstance(one, kind) for one in gc.get_objects()) for kind in kinds]
    finally:
        gc.enable()
        source.close()
    frames, containers, decoders = np.subtract(after, before)
    # the first frame of each round is asked how it is turned, which ties it up
    assert frames <= 10 + 2
    assert containers <= 1
    assert decoders <= 1


def test_pictures_with_a_colour_profile_do_not_crash_the_collector(tmp_path):
    """A crash would take the whole process: a process of its own looks."""
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for mode in ("RGB", "L", "RGBA"):
        PillowImage.new(mode, (32, 32)).save(tmp_path / f"{mode}.png", icc_profile=profile)
    code = (
        "import gc, sys; from engine.sources.file import FileSource\n"
        "for path in sys.argv[1:]:\n"
        "    source = FileSource(path); source.open()\n"
        "    while source.read() is not None: pass\n"
        "    source.close(); del source; gc.collect()\n"
    )
    paths = [str(path) for path in tmp_path.iterdir()]
    assert subprocess.run([sys.executable, "-c", code, *paths], check=False).returncode == 0
