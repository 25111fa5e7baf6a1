"""The demo camera: an animated person, made from a picture that a dependency ships."""

from engine.sources.demo.source import DemoSource

__all__ = ["DemoSource"]
