"""Swappers by name."""

from __future__ import annotations

from typing import Any

from engine.errors import ModelError
from engine.swap.base import FaceSwap, Swapper
from engine.swap.mesh import MeshSwapper

SWAPPERS = ("mesh",)
"""Names of the swappers that need no download."""


def make_swapper(name: str = "mesh") -> Swapper[Any]:
    """The swapper called `name`.

    Raises:
        ModelError: there is none of that name.
    """
    if name == MeshSwapper.name:
        return MeshSwapper()
    raise ModelError(
        f"There is no swapper called '{name}'",
        f"Choose one of: {', '.join(SWAPPERS)}. 'kawari models list' shows the models that can be added",
    )


__all__ = ["SWAPPERS", "FaceSwap", "Swapper", "make_swapper"]
