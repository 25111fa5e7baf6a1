"""Settings become flags and stored values from their one declaration."""

from __future__ import annotations

import argparse
import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.options import CameraConfig, add_flags, from_flags, from_stored, parse_size, to_stored
from engine.config import GuardConfig, GuardPolicy, SwapConfig, Who
from engine.errors import UsageError

FLAGS = {"swapper": "--swapper", "strength": "--strength", "who": "--who"}


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(exit_on_error=False)
    add_flags(made, SwapConfig, FLAGS)
    add_flags(made, GuardConfig, {"policy": "--guard"})
    return made


def test_flags_become_a_configuration() -> None:
    args = parser().parse_args(["--strength", "0.3", "--who", "all", "--guard", "card"])
    assert from_flags(SwapConfig, args) == SwapConfig("mesh", 0.3, Who.ALL)
    assert from_flags(GuardConfig, args) == GuardConfig(GuardPolicy.CARD)


def test_flags_left_out_mean_the_defaults() -> None:
    args = parser().parse_args([])
    assert from_flags(SwapConfig, args) == SwapConfig()
    assert from_flags(GuardConfig, args) == GuardConfig()


@pytest.mark.parametrize("given_words", [["--strength", "1.5"], ["--strength", "nan"], ["--who", "nobody"]])
def test_values_that_are_not_allowed(given_words: list[str]) -> None:
    with pytest.raises(argparse.ArgumentError):
        parser().parse_args(given_words)


def test_help_has_every_setting_and_survives_percent_signs() -> None:
    text = " ".join(parser().format_help().split())
    for one in FLAGS.values():
        assert one in text
    assert "one of" not in text
    assert "hold, blur, pixelate" in text


@given(
    st.builds(SwapConfig, swapper=st.text(), strength=st.floats(0, 1), who=st.sampled_from(Who)),
)
def test_stored_values_come_back(config: SwapConfig) -> None:
    assert from_stored(SwapConfig, to_stored(config)) == (config, [])


@given(st.dictionaries(st.sampled_from(["swapper", "strength", "who", "other"]), st.from_type(object)))
def test_whatever_is_stored_gives_a_configuration(stored: dict[str, object]) -> None:
    config, bad = from_stored(SwapConfig, stored)
    assert isinstance(config, SwapConfig)
    assert set(bad) <= {field.name for field in dataclasses.fields(SwapConfig)}


@pytest.mark.parametrize(
    ("text", "size"), [("1280x720", (1280, 720)), (" 640 X 480 ", (640, 480)), ("800×600", (800, 600))]
)
def test_sizes(text: str, size: tuple[int, int]) -> None:
    assert parse_size(text) == size
    assert CameraConfig(size=text).pixels == size


@pytest.mark.parametrize("text", ["", "720p", "0x0", "99999x10", "640x480x3", "-640x480"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="no picture size"):
        parse_size(text)
