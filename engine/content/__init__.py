"""Content check: what Kawari does not make pictures of."""
