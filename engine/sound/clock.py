"""Which sample of a sound device belongs to which moment of the system's clock."""

from __future__ import annotations

_STAMP_S = 3e-3
"""Standard deviation of a driver's time stamps: a few milliseconds on PulseAudio and WASAPI."""
_RATE = 2e-4
"""Standard deviation of a sound device's rate: crystals are good for 100 to 200 ppm."""
_WANDER = 1e-6
"""How fast the rate wanders (temperature): 1 ppm in a second, 8 ppm in a minute."""

_JUMP_S = 0.015
"""Stamps that are off by more mean that samples were lost or that a driver's buffer became another one;
jitter stays below."""
_PERSIST_S = 0.2
"""Stamps that agree with each other for so long are believed. While PulseAudio starts a stream, they
don't."""


class SampleClock:
    """Follows a sound device's own clock: a Kalman filter for offset and rate, fed with time stamps.

    The first stamps set the offset; the rate is told from jitter within half a minute, and followed from
    then on with a time constant of about 17 s (the filter's steady state for the constants above at 100
    stamps a second).

    Args:
        rate: the device's nominal rate, samples per second.
        drift: relative error of the rate to begin with; positive if the device is slow.

    Attributes:
        drift: relative error of the sample period as measured: 1e-4 is 100 ppm slow.
    """

    def __init__(self, rate: float, drift: float = 0.0) -> None:
        self._nominal_ns = 1e9 / rate
        self.drift = drift
        self._index = 0
        self._at_ns: float | None = None
        # covariance of (offset in seconds, drift)
        self._p00, self._p01, self._p11 = _STAMP_S**2, 0.0, _RATE**2
        self._claim: tuple[int, int] | None = None

    @property
    def period_ns(self) -> float:
        """Time from sample to sample, ns."""
        return self._nominal_ns * (1 + self.drift)

    @property
    def started(self) -> bool:
        """False until enough stamps agreed."""
        return self._at_ns is not None

    def restart(self, index: int, at_ns: int) -> None:
        """Sample `index` was taken at `at_ns`, whatever was said before; the rate stays."""
        self._index, self._at_ns, self._claim = index, float(at_ns), None
        self._p00, self._p01 = _STAMP_S**2, 0.0

    def update(self, index: int, at_ns: int) -> float:
        """Learn that sample `index` (they grow) was taken, or played, at about `at_ns`.

        Returns:
            0.0; where the clock had to be restarted, how much later than expected it now is, seconds.
        """
        error_s = 0.0
        if self._at_ns is not None:
            error_s = (at_ns - self.time_at(index)) / 1e9
            if abs(error_s) <= _JUMP_S:
                self._claim = None
                self._learn(index, error_s)
                return 0.0
        first, first_ns = self._claim or (index, at_ns)
        if abs(at_ns - first_ns - (index - first) * self.period_ns) > _JUMP_S * 1e9:
            first, first_ns = index, at_ns
        self._claim = first, first_ns
        if (index - first) * self._nominal_ns < _PERSIST_S * 1e9:
            return 0.0
        self.restart(index, at_ns)
        return error_s

    def time_at(self, index: float) -> float:
        """When a sample was, or will be, taken, `time.monotonic_ns()`."""
        assert self._at_ns is not None
        return self._at_ns + (index - self._index) * self.period_ns

    def index_at(self, at_ns: float) -> float:
        """The sample, with fraction, that was taken at that time."""
        assert self._at_ns is not None
        return self._index + (at_ns - self._at_ns) / self.period_ns

    def _learn(self, index: int, error_s: float) -> None:
        predicted = self.time_at(index)
        seconds = (index - self._index) * self._nominal_ns / 1e9
        self._p00 += seconds * (2 * self._p01 + seconds * self._p11)
        self._p01 += seconds * self._p11
        self._p11 += _WANDER**2 * seconds
        gain, rate_gain = (p / (self._p00 + _STAMP_S**2) for p in (self._p00, self._p01))
        self._index, self._at_ns = index, predicted + gain * error_s * 1e9
        self.drift += rate_gain * error_s
        self._p11 -= rate_gain * self._p01
        self._p01 *= 1 - gain
        self._p00 *= 1 - gain
