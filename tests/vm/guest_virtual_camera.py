"""Runs inside the guest of ../shared/vmcam: our virtual camera through the real v4l2loopback driver.

Every picture carries its number as sixteen black or white blocks and six colour patches. Prints one
JSON object; `test_virtual_camera.py` judges it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from engine.cards import draw_card  # noqa: E402
from engine.devices import explain, find_camera, list_cameras, list_virtual_cameras, present  # noqa: E402
from engine.errors import DeviceError  # noqa: E402
from engine.sinks.base import StreamInfo  # noqa: E402
from engine.sinks.virtual_camera import VirtualCamera  # noqa: E402
from engine.sources.camera import CameraSource  # noqa: E402
from engine.types import Frame, Output  # noqa: E402

DEVICE, NUMBER = "/dev/video10", 10
W, H, FPS = 640, 360, 30
BGR = ((0, 0, 255), (0, 255, 0), (255, 0, 0), (255, 255, 255), (0, 0, 0), (40, 120, 200))


def picture(n: int) -> np.ndarray:
    image = np.full((H, W, 3), 128, np.uint8)
    for i, colour in enumerate(BGR):
        image[: H // 3, i * W // 6 : (i + 1) * W // 6] = colour
    for bit in range(16):
        image[H * 2 // 3 :, bit * W // 16 : (bit + 1) * W // 16] = 255 if n >> bit & 1 else 0
    return image


def number(image: np.ndarray) -> int:
    """Of a BGR or grey picture of any size."""
    h, w = image.shape[:2]
    return sum(1 << b for b in range(16) if image[h * 5 // 6, (2 * b + 1) * w // 32].mean() > 128)


def patches(image: np.ndarray) -> list[np.ndarray]:
    h, w = image.shape[:2]
    return [image[h // 6, (2 * i + 1) * w // 12].astype(int) for i in range(6)]


class Sender(threading.Thread):
    """Writes numbered pictures at an even pace and remembers when."""

    def __init__(self, camera: VirtualCamera) -> None:
        super().__init__(daemon=True)
        self.camera, self.n, self.times = camera, 0, {}
        self.error: Exception | None = None
        self.halt, self.hold = threading.Event(), threading.Event()
        self.pictures = [picture(n) for n in range(32)]  # low bits prepared: page faults are dear here

    def run(self) -> None:
        due = time.monotonic()
        while not self.halt.is_set():
            due = max(due + 1 / FPS, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
            if self.hold.is_set():
                continue
            self.n += 1
            image = self.pictures[self.n % 32]
            for bit in range(5, 16):
                image[H * 2 // 3 :, bit * W // 16 : (bit + 1) * W // 16] = 255 if self.n >> bit & 1 else 0
            self.times[self.n] = time.monotonic()
            try:
                self.camera.write(Output(Frame(self.n, time.monotonic_ns(), image), image))
            except DeviceError as error:
                self.error = error
                return


def read_opencv(frames: int, stop: Path | None = None, number_of_device: int = NUMBER) -> dict[str, Any]:
    import cv2

    for _ in range(200):
        capture = cv2.VideoCapture(number_of_device, cv2.CAP_V4L2)
        if capture.isOpened():
            break
        time.sleep(0.05)
    got, errors, end = [], [], time.monotonic() + 60
    shape = None
    while time.monotonic() < end and len(got) < frames and not (stop and stop.exists()):
        ok, image = capture.read()
        if not ok:
            break
        if shape is None:
            print("started", flush=True)
        shape = list(image.shape)
        n = number(image)
        got.append((n, time.monotonic()))
        error = max(int(np.abs(a - b).max()) for a, b in zip(patches(image), BGR, strict=True))
        errors.append(error)
    size = [int(capture.get(3)), int(capture.get(4))]
    fourcc = int(capture.get(cv2.CAP_PROP_FOURCC)).to_bytes(4, "little").decode()
    centre = image[H // 20, W // 20].tolist() if got else None
    capture.release()
    return {
        "got": got,
        "errors": errors,
        "size": size,
        "shape": shape,
        "fourcc": fourcc,
        "corner": centre,
    }


def read_ffmpeg(frames: int) -> dict[str, Any]:
    with tempfile.TemporaryFile("w+") as log:
        command = ["ffmpeg", "-hide_banner", "-nostdin", "-f", "v4l2", "-i", DEVICE, "-frames:v", str(frames)]
        command += ["-fps_mode", "passthrough", "-f", "rawvideo", "-"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert process.stdout is not None
        luma = [round(16 + 0.257 * r + 0.504 * g + 0.098 * b) for b, g, r in BGR]
        got, errors = [], []
        while len(raw := process.stdout.read(W * H * 3 // 2)) == W * H * 3 // 2:
            grey = np.frombuffer(raw, np.uint8)[: W * H].reshape(H, W)
            got.append((number(grey), time.monotonic()))
            errors.append(max(abs(int(a) - b) for a, b in zip(patches(grey), luma, strict=True)))
        process.wait()
        log.seek(0)
        video = next((line.strip() for line in log if "Video:" in line), "")
    return {"got": got, "errors": errors, "video": video}


def reader(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)


class Watcher:
    """A reader that has already got its first picture, and reads on until it is told to stop."""

    def __init__(self) -> None:
        self._stop = Path(tempfile.mkdtemp()) / "stop"
        self._process = reader("opencv", "100000", str(self._stop))
        assert self._process.stdout is not None and self._process.stdout.readline() == "started\n"

    def stop(self) -> dict[str, Any]:
        self._stop.touch()
        return result(self._process)


def result(process: subprocess.Popen[str]) -> dict[str, Any]:
    text = process.communicate(timeout=40)[0]
    return dict(json.loads(text.strip().splitlines()[-1]))


def summary(read: dict[str, Any], times: dict[int, float]) -> dict[str, Any]:
    """A reader that has just started may get one of its first pictures twice or late (v4l2loopback 0.12)."""
    got = read["got"][5:]
    numbers = [n for n, _ in got]
    delays = [(t - times[n]) * 1000 for n, t in got if n in times]
    seconds = got[-1][1] - got[0][1]
    return {
        "frames": len(numbers),
        "ordered": numbers == sorted(numbers),
        "unknown": sum(n not in times for n in numbers),
        "missed": numbers[-1] - numbers[0] + 1 - len(set(numbers)),
        "fps": round((len(set(numbers)) - 1) / seconds, 2),
        "error": max(read["errors"][5:]),
        "delay_ms": [round(float(np.percentile(delays, q)), 1) for q in (50, 95)],
    }


def refused(action: Callable[[], object]) -> str:
    try:
        action()
    except DeviceError as error:
        return str(error)
    return ""


class Report(dict[str, Any]):
    """Says on standard error how far it is, so that a guest that hangs can be understood."""

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        print(f"{time.monotonic():8.2f} {key}", file=sys.stderr, flush=True)


def main() -> None:
    report = Report()
    report["before"] = [d.state.value for d in list_virtual_cameras()]
    report["cameras"] = [[c.name, c.path, c.sizes, c.rates(640, 360)] for c in list_cameras()]

    # Started before any reader.
    camera = VirtualCamera("VirtualCam")
    started = time.monotonic()
    camera.open(StreamInfo(W, H, FPS, live=True))
    report["open_s"] = round(time.monotonic() - started, 2)
    sender = Sender(camera)
    sender.start()
    first = result(reader("opencv", "80"))
    report["opencv"] = summary(first, sender.times) | {k: first[k] for k in ("size", "shape", "fourcc")}
    second = result(reader("ffmpeg", "80"))
    report["ffmpeg"] = summary(second, sender.times) | {"video": second["video"]}

    # While it runs: not offered as an input, and no second writer.
    report["cameras_while_writing"] = [c.path for c in list_cameras()]
    report["all_cameras_while_writing"] = [c.path for c in list_cameras(include_virtual=True)]
    report["second_writer"] = refused(lambda: VirtualCamera(DEVICE).open(StreamInfo(W, H, FPS, live=True)))

    # The worker dies in mid-stream; the reader stays.
    watching = Watcher()
    time.sleep(1)
    assert camera._worker is not None and camera._worker.pid is not None
    last_sent = camera._worker.state["sent"]
    killed = time.monotonic()
    os.kill(camera._worker.pid, signal.SIGKILL)
    while camera._worker.restarts == 0 or camera._worker.state["sent"] >= last_sent:
        time.sleep(0.05)
    time.sleep(1.5)
    seen = watching.stop()["got"]
    before, after = [p for p in seen if p[1] < killed], [p for p in seen if p[1] >= killed]
    last = before[-1][0]
    fresh = [(n, t) for n, t in after if n > last + 3]  # those that the old worker had not yet sent
    report["killed"] = {
        "before": len(before),
        "after": len(fresh),
        "recovery_s": round(fresh[0][1] - killed, 2) if fresh else None,
        "ordered": [n for n, _ in fresh] == sorted(n for n, _ in fresh),
        "restarts": camera._worker.restarts,
    }

    report["reader_restarts"] = result(reader("restarts", "10"))["ends"]

    # The engine stalls, then stops: the card, not a frozen picture.
    watching = Watcher()
    sender.hold.set()
    time.sleep(2)
    report["stalled_corner"] = watching.stop()["corner"]
    report["card_corner"] = draw_card(W, H, "panic")[H // 20, W // 20].tolist()
    sender.hold.clear()
    time.sleep(1.2)  # the worker reports twice a second
    report["status"] = {"sent": camera.status.sent, "card": camera.status.card} if camera.status else None
    sender.halt.set()
    sender.join()
    report["sender_error"] = str(sender.error or "")

    # Another size while a reader still holds the device: what viewers have is kept, pictures are fitted.
    watching = Watcher()
    camera.close()
    again = VirtualCamera(DEVICE, size=(1280, 720))
    again.open(StreamInfo(W, H, FPS, live=True))
    report["kept_size"] = [again.status.width, again.status.height] if again.status else None
    sender = Sender(again)
    sender.n = 1000
    sender.start()
    time.sleep(1.5)
    seen = watching.stop()
    report["after_reopen"] = sum(n > 1000 for n, _ in seen["got"])
    sender.halt.set()
    sender.join()
    again.close()

    # A writer that was killed leaves the device closed for writing; nobody holds it now.
    subprocess.run([sys.executable, __file__, "die"], check=False)
    report["after_death"] = [d.state.value for d in list_virtual_cameras()]
    again = VirtualCamera(size=(320, 240), fps=25)
    again.open(StreamInfo(W, H, FPS, live=True))
    command = ["ffprobe", "-v", "error", "-f", "v4l2", "-show_entries", "stream=width,height,r_frame_rate"]
    command += ["-of", "csv=p=0", DEVICE]  # not OpenCV: it asks every camera for 30 a second
    report["new"] = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    again.close()
    report["after_close"] = [d.state.value for d in list_virtual_cameras()]
    report["missing"] = refused(lambda: VirtualCamera("/dev/video77").open(StreamInfo(W, H, FPS, live=True)))

    # The webcam, used by somebody else.
    vivid = find_camera("vivid")
    report["vivid_free"] = str(explain(vivid))
    webcam = CameraSource("vivid", size=(640, 360), fps=25)
    info = webcam.open()
    shapes = {frame.image.shape for frame in (webcam.read() for _ in range(5)) if frame}
    webcam.close()
    report["vivid_source"] = [info.width, info.height, info.fps, [list(shape) for shape in shapes]]
    using = subprocess.Popen([sys.executable, __file__, "webcam"], stdout=subprocess.PIPE, text=True)
    assert using.stdout is not None and using.stdout.readline() == "started\n"
    report["vivid_busy"] = refused(CameraSource("vivid").open)
    using.kill()
    using.communicate()

    # The device goes away for good.
    camera = VirtualCamera()
    camera.open(StreamInfo(W, H, FPS, live=True))
    there = present()
    assert camera._worker is not None and camera._worker.pid is not None
    os.kill(camera._worker.pid, signal.SIGKILL)
    for _ in range(100):
        if (
            subprocess.run(["modprobe", "-r", "v4l2loopback"], check=False, capture_output=True).returncode
            == 0
        ):
            break
    report["plugged"] = [len(there), len(present())]
    sender = Sender(camera)
    sender.start()
    sender.join(20)
    report["removed"] = str(sender.error)
    sender.halt.set()
    camera.close()
    report["none_left"] = refused(lambda: VirtualCamera().open(StreamInfo(W, H, FPS, live=True)))
    report["left_in_shm"] = [p.name for p in Path("/dev/shm").glob("kawari*")]
    print(json.dumps(report))


def die() -> None:
    """Write like another program, then be killed."""
    import pyvirtualcam

    camera = pyvirtualcam.Camera(W, H, FPS, device=DEVICE)
    for _ in range(5):
        camera.send(np.zeros((H, W, 3), np.uint8))
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", default="all")
    parser.add_argument("values", nargs="*")
    options = parser.parse_args()
    match options.what:
        case "all":
            main()
        case "opencv":
            print(json.dumps(read_opencv(int(options.values[0]), *map(Path, options.values[1:]))))
        case "restarts":
            ends = [read_opencv(8)["got"][-1][0] for _ in range(int(options.values[0]))]
            print(json.dumps({"ends": ends}))
        case "ffmpeg":
            print(json.dumps(read_ffmpeg(int(options.values[0]))))
        case "webcam":
            read_opencv(100000, None, 0)
        case "die":
            die()
