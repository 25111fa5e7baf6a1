"""Swappers by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import ModelError
from engine.swap.base import FaceSwap, Swapper
from engine.swap.mesh import MeshSwapper

if TYPE_CHECKING:
    from engine.catalog.store import Store
    from engine.config import NeuralConfig

SWAPPERS = ("mesh",)
"""Names of the swappers that need no download."""


def make_swapper(
    name: str = "mesh", store: Store | None = None, config: NeuralConfig | None = None
) -> Swapper[Any]:
    """The swapper called `name`: the mesh, or a network of the catalogue, which falls back to the mesh.

    Args:
        name: "mesh", or a swapper's name in the catalogue.
        store: the user's models; those in Kawari's folder when not given.
        config: what is done around a network.

    Raises:
        ModelError: there is none of that name, it is not on this computer, or it can't be run.
    """
    mesh = MeshSwapper()
    if name == mesh.name:
        return mesh
    # Imported late: the mesh swapper must not pay for ONNX's parser.
    from engine.catalog import open_store
    from engine.folders import home
    from engine.runtime.device import open_device
    from engine.swap.neural.opening import open_neural

    store = store or open_store(home())
    if name not in store.catalogue:
        raise ModelError(
            f"There is no swapper called '{name}'",
            f"Choose one of: {', '.join(SWAPPERS)}. 'kawari models list' shows the models that can be added",
        )
    return open_neural(name, store, home() / "identities", mesh, config=config, open_device=open_device)


__all__ = ["SWAPPERS", "FaceSwap", "Swapper", "make_swapper"]
