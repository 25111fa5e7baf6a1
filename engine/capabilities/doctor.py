"""All probes, side by side, each within a time limit."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping

from engine.capabilities import compute, media, system
from engine.capabilities.probe import Probe, State

PROBES: Mapping[str, Callable[[], list[Probe]]] = {
    "python": system.python,
    "packages": system.packages,
    "embedded models": system.embedded_models,
    "data folder": system.data_folder,
    "key store": system.key_store,
    "screen": system.screen,
    "camera": media.cameras,
    "virtual camera": media.virtual_cameras,
    "onnxruntime": compute.onnxruntime,
    "providers": compute.providers,
    "plugins": compute.plugins,
    "models": compute.user_models,
    "gpu": compute.gpu,
    "cupy": compute.cupy,
    "encoder": media.encoders,
    "microphone": media.microphone,
}


def examine(
    probes: Mapping[str, Callable[[], list[Probe]]] = PROBES, *, seconds: float = 10.0
) -> list[Probe]:
    """Run all probes at once and return their findings in the probes' order.

    A probe that takes longer than `seconds`, or fails itself, becomes a finding that says so; a hung
    one is left behind in a daemon thread.
    """
    answers: queue.SimpleQueue[tuple[str, list[Probe]]] = queue.SimpleQueue()

    def work(name: str, probe: Callable[[], list[Probe]]) -> None:
        try:
            found = probe()
        except Exception as error:  # noqa: BLE001 — one broken probe must not hide the others
            found = [Probe(name, State.WARNING, f"could not be examined: {type(error).__name__}: {error}")]
        answers.put((name, found))

    deadline = time.monotonic() + seconds
    for name, probe in probes.items():
        threading.Thread(target=work, args=(name, probe), name=f"probe {name}", daemon=True).start()
    findings: dict[str, list[Probe]] = {}
    while len(findings) < len(probes):
        try:
            name, found = answers.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            break
        findings[name] = found
    late = f"no answer within {seconds:g} s"
    return [
        finding
        for name in probes
        for finding in findings.get(name, [Probe(name, State.WARNING, late, "Run the command again")])
    ]
