"""`kawari bench precision`: a network's versions on every provider here, side by side in one run.

CPU time of the whole process, so that other work on the machine does not count.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from app.bench.report import Report, Value
from engine.catalog.store import Store
from engine.errors import ModelError
from engine.runtime.network import Network, warm_up
from engine.runtime.precision import psnr
from engine.runtime.providers import CPU, ladder


def run(store: Store, name: str, runs: int, progress: Callable[[str], None]) -> Report:
    """Measure `name` and its versions; the ratios are over full precision in ONNX Runtime's own CPU code."""
    report = Report("precision")
    versions = [store.entry(name)]
    versions += [entry for entry in store.catalogue.values() if entry.exact == name]
    rows: list[list[Value]] = []
    baseline: float | None = None
    exact: np.ndarray | None
    for entry in versions:
        if store.installed(entry.name) is None:
            continue
        path, exact = store.path(entry.name), None
        for rung in reversed(ladder()):
            progress(f"{entry.name} on {rung.name}")
            try:
                network = Network(path, rung)
                warm_up(network)
            except ModelError as error:
                report.notes.append(f"{entry.name} on {rung.name}: {error.message}")
                continue
            seconds, picture = _measure(network, runs)
            baseline = seconds if baseline is None else baseline
            exact = picture if rung is CPU else exact
            quality = None if exact is None else psnr(exact, picture, 1 / entry.contract.out_std)
            rows.append([entry.name, rung.name, seconds * 1e3, baseline / seconds, quality])
            key = f"{'fp32' if entry.name == name else entry.name.removeprefix(name + '-')} on {rung.name}"
            report.figures[key] = baseline / seconds
            del network
    report.table(
        f"{name}, one picture", ("version", "provider", "CPU ms", "× faster", "dB to the CPU's"), rows
    )
    return report


def _measure(network: Network, runs: int) -> tuple[float, np.ndarray]:
    random = np.random.default_rng(1)
    feed = {
        each.name: random.random([side if isinstance(side, int) else 1 for side in each.shape], np.float32)
        for each in network.get_inputs()
    }
    spent = []
    for _ in range(runs):
        began = time.process_time()
        output = network.run(None, feed)[0]
        spent.append(time.process_time() - began)
    return min(spent), np.array(output)
