"""The mesh swapper: works on any CPU with nothing to download."""

from engine.swap.mesh.identity import MeshIdentity
from engine.swap.mesh.swapper import MeshFaceSwap, MeshOptions, MeshSwapper

__all__ = ["MeshFaceSwap", "MeshIdentity", "MeshOptions", "MeshSwapper"]
