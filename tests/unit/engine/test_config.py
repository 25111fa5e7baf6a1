from __future__ import annotations

import pytest

from engine.config import (
    DelayConfig,
    GuardConfig,
    GuardPolicy,
    HealthConfig,
    SessionConfig,
    SwapConfig,
    Who,
    settings_of,
)
from engine.errors import UsageError

GROUPS = (SwapConfig, GuardConfig, DelayConfig, HealthConfig, SessionConfig)


@pytest.mark.parametrize("group", GROUPS)
def test_every_setting_explains_itself(group):
    for one in settings_of(group):
        assert one.help and not one.help.endswith(".")
        assert one.accepts(one.default)


def test_values_outside_their_limits_are_refused_in_words():
    with pytest.raises(UsageError, match=r"strength can't be 1\.5\. Give a number from 0 to 1"):
        SwapConfig(strength=1.5)
    with pytest.raises(UsageError):
        SwapConfig(strength=float("nan"))
    with pytest.raises(UsageError, match="largest, all, chosen"):
        SwapConfig(who="everybody")  # type: ignore[arg-type]


def test_words_are_parsed():
    by_name = {one.name: one for group in GROUPS for one in settings_of(group)}
    assert by_name["who"].parse("all") is Who.ALL
    assert by_name["policy"].parse("blur") is GuardPolicy.BLUR
    assert by_name["overlap"].parse("no") is False
    assert by_name["restarts"].parse("3") == 3
    for name, word in (("who", "x"), ("overlap", "x"), ("restarts", "x")):
        with pytest.raises(UsageError):
            by_name[name].parse(word)


def test_pass_through_is_never_a_default():
    assert GuardConfig().policy is GuardPolicy.HOLD
