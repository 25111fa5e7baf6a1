"""Runs inside the guest of ../shared/vmcam: a webcam, `kawari live`, v4l2loopback, and two readers at once.

Two webcams are used: the kernel's vivid driver, whose colour bars carry the number of each picture as
text, and a second v4l2loopback device that plays a clip with a face, colour patches and a time code.
Prints one JSON object; `test_live.py` judges it.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path
from typing import Any

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.devices import v4l2  # noqa: E402

OUTPUT, NAME, WEBCAM = "/dev/video10", "VirtualCam", "/dev/video11"
W, H, FPS = 640, 360, 30
WORK = Path(tempfile.gettempdir())
GLYPHS = WORK / "glyphs.npy"
COLOURS = {"code": WORK / "patches.npy", "vivid": WORK / "bars.npy"}
"""As each webcam gives them: Kawari must pass them on, not mend them."""
HOME = WORK / "kawari"
SELF = [sys.executable, str(Path(__file__).resolve())]
BGR = np.array([(0, 0, 255), (0, 255, 0), (255, 0, 0), (255, 255, 255), (0, 0, 0), (40, 120, 200)])
CODE_MS = 1 << 16
FRAMES = 210


def luma(bgr: np.ndarray) -> np.ndarray:
    """Y of BT.601, limited range, as drivers make it."""
    return 16 + bgr @ np.array((0.098, 0.504, 0.257))


# --- the time code: a white block, sixteen bits of milliseconds, a black block


CENTRES = np.array([(2 * i + 1) * W // 36 for i in range(18)])


def burn(image: np.ndarray, ms: int) -> None:
    bits = [1, *(ms >> bit & 1 for bit in range(16)), 0]
    for i, bit in enumerate(bits):
        image[H - 40 :, i * W // 18 : (i + 1) * W // 18] = 255 * bit


def time_code(image: np.ndarray) -> int | None:
    """Of a BGR or grey picture; None if there is none (a card)."""
    row = image[H - 20, CENTRES].reshape(18, -1).mean(1) > 128
    if not row[0] or row[-1]:
        return None
    return int(sum(1 << bit for bit in range(16) if row[bit + 1]))


def patches(image: np.ndarray) -> np.ndarray:
    """The mean of each patch's middle: 6 or 6×3."""
    return np.array([image[i * 50 + 8 : i * 50 + 42, 20:60].mean((0, 1)) for i in range(6)])


def webcam(clip: str) -> None:
    """Feed the second device until killed."""
    import pyvirtualcam

    video, pictures = cv2.VideoCapture(clip), []
    for _ in range(40):
        image = cv2.resize(video.read()[1], (W, H), interpolation=cv2.INTER_AREA)
        for i, colour in enumerate(BGR):
            image[i * 50 : (i + 1) * 50, :80] = colour
        pictures.append(image)
    pictures += pictures[-2:0:-1]
    camera = pyvirtualcam.Camera(W, H, FPS, fmt=pyvirtualcam.PixelFormat.BGR, device=WEBCAM)
    due, number = time.monotonic(), 0
    while True:
        due = max(due + 1 / FPS, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))
        image, number = pictures[number % len(pictures)], number + 1
        burn(image, time.monotonic_ns() // 1_000_000 % CODE_MS)
        camera.send(image)
        if number == 2:
            print("started", flush=True)


# --- vivid: eight colour bars, and lines of text in characters of 8×16 pixels


def character(image: np.ndarray, line: int, column: int) -> np.ndarray:
    x, y = 16 + 8 * column, 16 + 16 * line
    cell = image[y : y + 16, x : x + 8]
    return ((cell if cell.ndim == 2 else cell[..., 1]) > 128).ravel()


def bars(image: np.ndarray) -> np.ndarray:
    """The mean of each bar below the text: 8 or 8×3."""
    return np.array([image[200:340, i * 80 + 20 : i * 80 + 60].mean((0, 1)) for i in range(8)])


def read_directly(webcam: int) -> np.ndarray:
    """The fifth picture."""
    capture = cv2.VideoCapture(webcam, cv2.CAP_V4L2)
    for key, value in ((3, W), (4, H), (5, FPS)):
        capture.set(key, value)
    image = [capture.read()[1] for _ in range(5)][-1]
    capture.release()
    return image


def study_vivid() -> None:
    """Read it directly: how it writes digits, and its colours."""
    with Path("/dev/video0").open("rb") as device:  # VIDIOC_S_CTRL, V4L2_CID_AUDIO_VOLUME: 7 and 9 are shown
        ioctl(device, 0xC008561C, bytearray(ctypes.c_uint32(0x00980905)) + bytearray(ctypes.c_int32(79)))
    image = read_directly(0)
    # " 640x360, input 0", " brightness 128, …", " volume  79, …", " integer_menu 5, …"
    places = {0: (1, 3), 1: (2, 12), 2: (2, 13), 3: (1, 5), 4: (1, 2), 5: (7, 14), 6: (1, 1), 7: (4, 9)}
    places |= {8: (2, 14), 9: (4, 10)}
    np.save(GLYPHS, np.array([character(image, *places[digit]) for digit in range(10)]))
    np.save(COLOURS["vivid"], bars(image))


def vivid_number(image: np.ndarray, glyphs: np.ndarray) -> int | None:
    """The number in the first line: " 00:00:00:340 10"; None if nothing legible is there (a card)."""
    number = None
    for column in range(14, 20):
        unlike = (glyphs != character(image, 0, column)).sum(1)
        if unlike.min() > 6:
            return number
        number = (number or 0) * 10 + int(unlike.argmin())
    return number


# --- readers, each a process of its own


def wait_for_device() -> None:
    """v4l2loopback's device is a camera from its first picture on."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with v4l2.opened(OUTPUT) as descriptor:
            if v4l2.capability(v4l2.query(descriptor))[2] & v4l2.CAP_VIDEO_CAPTURE:
                return
        time.sleep(0.1)


def opencv() -> Iterator[np.ndarray]:
    capture = cv2.VideoCapture(int(OUTPUT[10:]), cv2.CAP_V4L2)
    assert capture.isOpened()
    fourcc = int(capture.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little").decode()
    print(json.dumps({"format": f"{fourcc} {capture.get(3):g}x{capture.get(4):g}"}), flush=True)
    try:
        while (read := capture.read())[0]:
            yield read[1]
    finally:
        capture.release()


def ffmpeg() -> Iterator[np.ndarray]:
    command = ["ffmpeg", "-hide_banner", "-nostdin", "-f", "v4l2", "-i", OUTPUT]
    command += ["-fps_mode", "passthrough", "-f", "rawvideo", "-"]
    size = W * H * 3 // 2
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, bufsize=size)
        assert process.stdout is not None
        try:
            first = True
            while len(raw := process.stdout.read(size)) == size:
                if first:
                    log.seek(0)
                    text = next((line.strip() for line in log if "Video:" in line), "")
                    print(json.dumps({"format": text}), flush=True)
                    first = False
                yield np.frombuffer(raw, np.uint8)[: W * H].reshape(H, W)
        finally:
            process.kill()
            process.wait()


def read(reader: str, what: str, frames: int, stop: str = "") -> None:
    """Read until so many pictures of the stream were seen, or told to stop; print what was seen."""
    seen, glyphs = np.load(COLOURS[what]), np.load(GLYPHS)
    expected, measure = seen if reader == "opencv" else luma(seen), patches if what == "code" else bars
    identify = time_code if what == "code" else lambda image: vivid_number(image, glyphs)
    got: list[tuple[int, float]] = []
    error, deadline = 0.0, time.monotonic() + 90
    print(json.dumps({"ready": True}), flush=True)
    wait_for_device()
    for image in opencv() if reader == "opencv" else ffmpeg():
        now, key = time.monotonic() * 1000, identify(image)
        if key is not None:
            if not got:
                print(json.dumps({"started": now}), flush=True)
            if len(got) % 10 == 9:
                error = max(error, float(np.abs(measure(image) - expected).max()))
            got.append((key, now))
        if len(got) >= frames or time.monotonic() > deadline or (stop and Path(stop).exists()):
            break
    print(json.dumps({"got": got, "error": round(error, 2)}), flush=True)


def restart_ten_times() -> None:
    """Open the camera, see a dozen pictures of the stream, close it; ten times."""
    ends = []
    for _ in range(10):
        pictures = opencv()
        ends.append([time_code(next(pictures)) for _ in range(12)])
        pictures.close()
    print(json.dumps(ends))


class Reader:
    """A reader's process, which waits for the device; `end` waits for its last picture."""

    def __init__(self, reader: str, what: str, frames: int = 100_000) -> None:
        self._stop = Path(tempfile.mkdtemp()) / "stop"
        command = [*SELF, "read", reader, what, str(frames), str(self._stop)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.result: dict[str, Any] = {}
        self._await("ready")

    def begin(self) -> None:
        """Wait for the stream's first picture."""
        self._await("started")

    def _await(self, key: str) -> None:
        assert self._process.stdout is not None
        while key not in self.result:
            line = self._process.stdout.readline()
            assert line, "a reader ended early"
            self.result |= json.loads(line)

    def end(self, *, now: bool = False) -> dict[str, Any]:
        if now:
            self._stop.touch()
        for line in self._process.communicate(timeout=120)[0].splitlines():
            self.result |= json.loads(line)
        return self.result


def summary(result: dict[str, Any], *, coded: bool) -> dict[str, Any]:
    """Of what a reader saw; its first pictures may come twice or late (v4l2loopback 0.12).

    Of longer streams the first three seconds do not count: on one core, readers that start take the time.
    """
    skipped = 3 * FPS if len(result["got"]) > 6 * FPS else 5
    got = result["got"][skipped:]
    keys = np.array([key for key, _ in got])
    steps = np.diff(keys)
    if coded:
        steps = (steps + CODE_MS // 2) % CODE_MS - CODE_MS // 2
    fresh = int((steps > 0).sum())
    found = {
        "format": result["format"],
        "pictures": len(got),
        "fps": round(fresh / (got[-1][1] - got[0][1]) * 1000, 2),
        "backwards": int((steps < 0).sum()),
        "repeated": int((steps == 0).sum()),
        "error": result["error"],
    }
    if coded:
        delays = [(now - key) % CODE_MS for key, now in got]
        found["delay_ms"] = [round(float(np.percentile(delays, q)), 1) for q in (50, 95, 99)]
    else:
        found["missed"] = int((steps[steps > 0] - 1).sum())
    return found


# --- kawari itself


def null(arguments: list[str]) -> None:
    """`kawari` with a swapper that gives the face's own pixels back: what the bench calls null.

    The guard would cover a face that is still the same, hence `--guard pass` with it.
    """
    import engine.swap
    from app.__main__ import main as kawari
    from app.bench.subject import NullSwapper

    class Null(NullSwapper):
        def prepare(self, photos: object) -> Any:
            return object()

    engine.swap.make_swapper = lambda *_, **__: Null()
    sys.argv[1:] = arguments
    raise SystemExit(kawari())


@contextlib.contextmanager
def live(swapper: str, camera: str) -> Iterator[subprocess.Popen[bytes]]:
    """`kawari live` to the virtual camera, until the block ends."""
    program = [*SELF, "null"] if swapper == "null" else [sys.executable, "-m", "app"]
    command = [*program, "live", "--headless", "--camera", camera, "--size", f"{W}x{H}"]
    # That everybody starts at once on one core is no reason to lower the rate for the next minutes.
    command += ["--delay", "1000", "--virtual-camera", NAME]
    command += ["--guard", "pass"] if swapper == "null" else []
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        yield process
        assert process.poll() is None, "kawari live ended by itself"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)


Readers = dict[str, Reader]


def two_readers(what: str) -> Readers:
    """Both at once; started before Kawari, since on one core their own start would hold it up."""
    return {name: Reader(name, what, FRAMES) for name in ("opencv", "ffmpeg")}


def summaries(readers: Readers, what: str) -> dict[str, Any]:
    return {name: summary(reader.end(), coded=what == "code") for name, reader in readers.items()}


def writer_pid() -> int | None:
    """The process that has the virtual camera open for writing."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            for link in (process / "fd").iterdir():
                if str(link.readlink()) == OUTPUT:
                    flags = (process / "fdinfo" / link.name).read_text().split("flags:")[1].split()[0]
                    if int(flags, 8) & os.O_ACCMODE == os.O_WRONLY:
                        return int(process.name)
    return None


def killed() -> dict[str, Any]:
    """SIGKILL for the worker in mid-stream: how long the reader waits for the next new picture."""
    reader = Reader("opencv", "code")
    reader.begin()
    time.sleep(2)
    writer = writer_pid()
    assert writer is not None
    moment = time.monotonic() * 1000
    os.kill(writer, signal.SIGKILL)
    time.sleep(4)
    got = reader.end(now=True)["got"]
    taken_later = [now - moment for key, now in got if 0 < (key - moment) % CODE_MS < CODE_MS // 2]
    return {"recovery_ms": round(taken_later[0]), "pictures": len(taken_later)}


def second_writer() -> dict[str, Any]:
    command = [sys.executable, "-m", "app", "live", "--headless", "--camera", "vivid", "--size", f"{W}x{H}"]
    done = subprocess.run(
        [*command, "--virtual-camera", NAME, "--seconds", "20"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return {"status": done.returncode, "said": done.stderr.strip().splitlines()[-1:]}


def main(clip: str) -> None:
    began = time.monotonic()
    os.environ["KAWARI_HOME"] = str(HOME)
    report: dict[str, Any] = {}

    def note(key: str, value: Any) -> None:
        report[key] = value
        print(f"{time.monotonic() - began:6.1f} s {key} {value}", file=sys.stderr, flush=True)

    study_vivid()
    for swapper in ("mesh", "null"):
        readers = two_readers("vivid")
        with live(swapper, "vivid"):
            note(f"vivid_{swapper}", summaries(readers, "vivid"))
    feeding = subprocess.Popen([*SELF, "webcam", clip], stdout=subprocess.PIPE, text=True)
    assert feeding.stdout is not None and feeding.stdout.readline() == "started\n"
    np.save(COLOURS["code"], patches(read_directly(int(WEBCAM[10:]))))
    try:
        readers = two_readers("code")
        with live("null", WEBCAM):
            note("null", summaries(readers, "code"))
            note("killed", killed())
            done = subprocess.run([*SELF, "restarts"], stdout=subprocess.PIPE, text=True, check=True)
            note("restarts", json.loads(done.stdout.splitlines()[-1]))
            note("second_writer", second_writer())
        readers = two_readers("code")
        with live("mesh", WEBCAM):
            note("mesh", summaries(readers, "code"))
            target = Path(os.environ["VMCAM_OUT"]) / "captured.mkv"
            command = [
                "ffmpeg",
                "-v",
                "error",
                "-nostdin",
                "-y",
                "-f",
                "v4l2",
                "-i",
                OUTPUT,
                "-frames:v",
                "70",
            ]
            note("install", f"{json.loads((HOME / 'watermark.json').read_text())['install']:06x}")
            note("capture", subprocess.run([*command, "-c:v", "rawvideo", target], check=False).returncode)
    finally:
        feeding.kill()
        feeding.communicate()
    print(json.dumps(report))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["all", clip]:
            main(clip)
        case ["read", reader, what, frames, stop]:
            read(reader, what, int(frames), stop)
        case ["restarts"]:
            restart_ten_times()
        case ["webcam", clip]:
            webcam(clip)
        case ["null", *arguments]:
            null(arguments)
