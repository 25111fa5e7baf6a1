"""Benches: what Kawari's quality and speed claims rest on, as `kawari bench …`."""
