"""The doctor's probes: honest on this machine, and robust where something is broken."""

from __future__ import annotations

import json
import platform
import shutil
import threading
from pathlib import Path

import pytest

from engine.capabilities import PROBES, Probe, State, compute, examine, h264_encoders, isolated, system


def test_this_machine() -> None:
    found = examine(seconds=60)
    named = {finding.name: finding for finding in found}
    assert named["python"].state is State.OK and platform.python_version() in named["python"].detail
    for name in ("packages", "embedded models", "data folder", "provider CPU", "encoder libx264"):
        assert named[name].state is State.OK, named[name]
    assert all("could not be examined" not in finding.detail for finding in found)
    assert all(finding.remedy for finding in found if finding.state is State.MISSING and not finding.optional)
    assert json.loads(json.dumps([finding.as_json() for finding in found]))[0]["name"] == "python"


def test_a_hanging_or_broken_probe_does_not_hide_the_others() -> None:
    release = threading.Event()

    def hangs() -> list[Probe]:
        release.wait(60)
        return []

    def breaks() -> list[Probe]:
        raise RuntimeError("driver on fire")

    good = Probe("good", State.OK, "fine")
    hung, broken, fine = examine({"hung": hangs, "broken": breaks, "good": lambda: [good]}, seconds=0.5)
    release.set()
    assert (hung.name, hung.state) == ("hung", State.WARNING) and "no answer" in hung.detail
    assert broken.state is State.WARNING and "driver on fire" in broken.detail
    assert fine == good


def test_providers_are_run_not_only_listed() -> None:
    assert isolated.attempt(["provider", "CPUExecutionProvider"], 60) == (True, "a model was run on it")
    works, why = isolated.attempt(["provider", "NoSuchExecutionProvider"], 60)
    assert not works and why


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="has an NVIDIA GPU")
def test_a_listed_provider_that_falls_back_counts_as_missing() -> None:
    import onnxruntime as ort

    if "CUDAExecutionProvider" not in ort.get_available_providers():
        pytest.skip("this build lists no CUDA")
    works, why = isolated.attempt(["provider", "CUDAExecutionProvider"], 60)
    assert not works and why


def test_a_trial_that_hangs_is_ended() -> None:
    works, why = isolated.attempt(["provider", "CPUExecutionProvider"], 0.01)
    assert not works and "no answer" in why


@pytest.mark.parametrize(
    ("complaints", "cause"),
    [
        (
            "2025-01-01 00:00 [E:onnxruntime:Default, provider_bridge_ort.cc:2251 TryGetProviderInfo_CUDA] "
            "provider_bridge_ort.cc:1844 Get [ONNXRuntimeError] : 1 : FAIL : Failed to load library "
            "libonnxruntime_providers_cuda.so with error: libcublasLt.so.13: cannot open shared object file\n"
            "[W:onnxruntime:Default] Failed to create CUDAExecutionProvider.",
            "libcublasLt.so.13: cannot open shared object file",
        ),
        ("warming up\nCUDA error: out of memory\n", "CUDA error: out of memory"),
        ("all is well\n", ""),
    ],
)
def test_the_cause_is_found_in_what_a_library_prints(complaints: str, cause: str) -> None:
    assert isolated.reason(complaints) == cause


def test_two_builds_of_onnxruntime_are_a_clash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("onnxruntime", "onnxruntime_gpu", "onnxruntime_directml"):
        folder = tmp_path / f"{name}-9.9.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: {name.replace('_', '-')}\nVersion: 9.9\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (finding,) = compute.onnxruntime()
    assert finding.state is State.WARNING
    assert "onnxruntime 9.9" in finding.detail and "onnxruntime-gpu 9.9" in finding.detail
    assert finding.remedy.startswith(
        "Run: pip uninstall -y onnxruntime onnxruntime-gpu onnxruntime-directml &&"
    )
    assert finding.remedy.endswith("pip install onnxruntime-gpu")


def test_encoders_are_opened() -> None:
    encoders = {encoder.name: encoder for encoder in h264_encoders()}
    assert encoders["libx264"].trouble == "" and encoders["libx264"].maker == ""
    if shutil.which("nvidia-smi") is None and "h264_nvenc" in encoders:
        assert encoders["h264_nvenc"].trouble


def test_a_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "not" / "there"))
    assert system.data_folder()[0].state in (State.OK, State.WARNING)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KAWARI_HOME", str(tmp_path / "file" / "kawari"))
    (finding,) = system.data_folder()
    assert finding.state is State.MISSING and finding.remedy


@pytest.mark.skipif(platform.system() != "Linux", reason="elsewhere there is always a screen")
def test_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("DISPLAY", raising=False)
    assert system.screen()[0].state is State.MISSING
    monkeypatch.setenv("DISPLAY", ":1")
    assert system.screen()[0].detail == "X11"


def test_probe_names_are_stable() -> None:
    assert list(PROBES)[:2] == ["python", "packages"] and len(PROBES) == 16
