"""Keeps the delay under its budget by a ladder of quality steps."""

from __future__ import annotations

from collections.abc import Sequence

from engine.metrics import Histogram
from engine.quality import LADDER, Quality

_WINDOW_S = 0.4
"""Delays are judged over windows of this length, so that four steps down fit into 3 s."""
_WARM_UP_S = 1.0
"""The first frames of a session fill caches and buffers; they say nothing about the load."""
_FRAMES = 4
"""Frames that a window needs at least."""
_DOWN = 0.9
"""Share of the budget above which quality goes down."""
_FAR = 1.5
"""Share of the budget above which it goes down two steps, and at once."""
_IN_A_ROW = 2
"""Windows above `_DOWN` that a step down needs otherwise: in a window of a dozen frames a single late one,
as any other program causes now and then, decides the 95th percentile."""
_UP = 0.55
"""Share of the budget below which quality may go up; far from `_DOWN`, so that a step's own cost
does not bring it straight back (hysteresis)."""
_CALM_S = 30.0
"""Time below `_UP` before the first step up. With it, a constant load that lies between two steps
sees one step up and one down, and then at most two moves a minute."""
_CALM_MAX_S = 480.0
_TRIAL_S = 10.0
"""A step up that is taken back within this time failed: the next one waits twice as long."""


class Controller:
    """Watches delays, chooses a step. One thread observes, any thread reads `step`.

    Args:
        budget_ms: the 95th percentile of the delay is kept below this.
        adapt: False to stay at the best step.
        ladder: steps from the best to the cheapest.

    Attributes:
        step: index into the ladder.
        moves: steps taken so far.
    """

    def __init__(self, budget_ms: float, adapt: bool = True, ladder: Sequence[Quality] = LADDER) -> None:
        self._budget_ms = budget_ms
        self._adapt = adapt
        self._ladder = tuple(ladder)
        self._window = Histogram()
        self._window_began: int | None = None
        self._calm_since: int | None = None
        self._calm_s = _CALM_S
        self._up_at: int | None = None
        self._over = 0
        self.step = 0
        self.moves = 0

    @property
    def quality(self) -> Quality:
        """The hints of the present step."""
        return self._ladder[self.step]

    def observe(self, delay_ns: int, now_ns: int) -> bool:
        """Count one frame's delay; True if the step changed."""
        if not self._adapt:
            return False
        if self._window_began is None:
            self._window_began = now_ns + int(_WARM_UP_S * 1e9)
        if now_ns < self._window_began:
            return False
        self._window.record(delay_ns)
        age_s = (now_ns - self._window_began) / 1e9
        if age_s < _WINDOW_S or len(self._window) < _FRAMES:
            return False
        load = self._window.quantile(0.95) / self._budget_ms
        self._window.clear()
        self._window_began = now_ns
        return self._judge(load, now_ns)

    def _judge(self, load: float, now_ns: int) -> bool:
        self._over = self._over + 1 if load > _DOWN else 0
        if load > _DOWN:
            self._calm_since = None
            if load <= _FAR and self._over < _IN_A_ROW:
                return False
            self._over = 0
            if self._up_at is not None and (now_ns - self._up_at) / 1e9 < _TRIAL_S:
                self._calm_s = min(self._calm_s * 2, _CALM_MAX_S)
            self._up_at = None
            return self._go(self.step + (2 if load > _FAR else 1))
        if load > _UP:
            self._calm_since = None
            return False
        if self._calm_since is None:
            self._calm_since = now_ns
        if (now_ns - self._calm_since) / 1e9 < self._calm_s or self.step == 0:
            return False
        self._calm_since, self._up_at = None, now_ns
        return self._go(self.step - 1)

    def _go(self, step: int) -> bool:
        step = min(step, len(self._ladder) - 1)
        if step == self.step:
            return False
        self.step = step
        self.moves += 1
        return True
