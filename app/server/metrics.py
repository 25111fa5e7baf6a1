"""A session's figures as Prometheus text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily

from engine.live.stats import Stats
from engine.metrics import Percentiles

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
RUNNING = ("running", "recovering")


class _Collector:
    def __init__(self, stats: Callable[[], Stats]) -> None:
        self._stats = stats

    def collect(self) -> Iterable[Metric]:
        stats = self._stats()
        yield _gauge("up", "1 while a session runs", float(stats.state in RUNNING))
        yield _gauge("panic", "1 while everything is covered", float(stats.panic))
        yield _gauge("fps", "Pictures that leave per second now", stats.fps)
        yield _gauge("faces", "Faces in the last picture", stats.faces)
        yield _gauge("swapped", "Of these, those that were swapped", stats.swapped)
        yield _gauge("quality_step", "The controller's present step, 0 is the best", stats.quality_step)
        yield CounterMetricFamily("kawari_frames_in", "Frames the source delivered", stats.frames_in)
        yield CounterMetricFamily(
            "kawari_frames_out", "Pictures that left, cards not counted", stats.frames_out
        )
        yield _counters("drops", "Frames that did not leave", "reason", stats.drops.items())
        yield _counters("shown", "Pictures by what they showed", "shown", stats.guard.items())
        yield _counters("errors", "Times a stage raised", "stage", stats.errors.items())
        yield _counters("restarts", "Restarts", "part", stats.restarts.items())
        yield from _durations("delay", "Capture to leaving the engine", "", [("", stats.delay)])
        yield from _durations("stage", "Wall time of each stage", "stage", stats.stages.items())
        sinks = stats.sinks
        yield _counters("sink_written", "Pictures delivered", "sink", ((s.name, s.written) for s in sinks))
        yield _counters(
            "sink_dropped", "Dropped by a full queue", "sink", ((s.name, s.dropped) for s in sinks)
        )
        yield from _durations(
            "sink_delay", "Capture to hand-over", "sink", ((s.name, s.delay) for s in sinks)
        )


def prometheus_text(stats: Callable[[], Stats]) -> bytes:
    """All figures in Prometheus' text format; times in seconds."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(stats))
    return generate_latest(registry)


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"kawari_{name}", text, value)


def _counters(name: str, text: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = CounterMetricFamily(f"kawari_{name}", text, labels=[label])
    for key, value in values:
        family.add_metric([key], value)
    return family


def _durations(
    name: str, text: str, label: str, values: Iterable[tuple[str, Percentiles]]
) -> Iterable[Metric]:
    """A summary (count and sum), and the quantiles as a gauge of their own."""
    labels = [label] if label else []
    summary = SummaryMetricFamily(f"kawari_{name}_seconds", text, labels=labels)
    quantiles = GaugeMetricFamily(f"kawari_{name}_quantile_seconds", text, labels=[*labels, "quantile"])
    for key, one in values:
        keys = [key] if label else []
        summary.add_metric(keys, one.count, one.mean * one.count / 1e3)
        for quantile, value in (("0.5", one.p50), ("0.95", one.p95), ("0.99", one.p99), ("1", one.max)):
            quantiles.add_metric([*keys, quantile], value / 1e3)
    yield summary
    yield quantiles
