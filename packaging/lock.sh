#!/usr/bin/env bash
# Makes requirements/*.txt again: exact versions with hashes for every platform, no index lines.
set -eu
cd "$(dirname "$0")/.."
common=(--universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url --quiet)
uv pip compile "${common[@]}" pyproject.toml -o requirements/run.txt "$@"
uv pip compile "${common[@]}" pyproject.toml --group dev --extra server -o requirements/dev.txt "$@"
uv pip compile "${common[@]}" pyproject.toml --extra gpu -o requirements/gpu.txt "$@"
