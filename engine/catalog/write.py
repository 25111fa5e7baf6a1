"""Writes a catalogue entry as TOML, the form in which users add models."""

from __future__ import annotations

import json
from dataclasses import fields
from enum import Enum
from typing import Any

from engine.catalog.entry import Entry, Tensor


def to_toml(entry: Entry) -> str:
    """The TOML table of an entry; `read_catalogue` gives the same entry back."""
    lines = [f"[{json.dumps(entry.name)}]"]
    lines += _lines(entry, {"name", "contract"})
    lines += ["", f"[{json.dumps(entry.name)}.contract]", *_lines(entry.contract, set())]
    return "\n".join(lines) + "\n"


def _lines(values: Any, left_out: set[str]) -> list[str]:
    names = [field.name for field in fields(values) if field.name not in left_out]
    return [f"{name} = {_value(getattr(values, name))}" for name in names]


def _value(value: Any) -> str:
    if isinstance(value, Enum):
        return _value(value.value)
    if isinstance(value, tuple):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, Tensor):
        return f"{{ shape = {_value(value.shape)}, name = {_value(value.name)} }}"
    return json.dumps(value, ensure_ascii=False)
