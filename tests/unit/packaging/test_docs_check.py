"""The documentation check must find each kind of fault it looks for, and nothing else."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_check", ROOT / "packaging" / "docs_check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="kawari")
    commands = made.add_subparsers()
    live = commands.add_parser("live")
    live.add_argument("--source", nargs="+")
    live.add_argument("--fps")
    models = commands.add_parser("models").add_subparsers()
    for name in ("list", "get"):
        models.add_parser(name).add_argument("--json", action="store_true")
    return made


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nkawari live --source a.jpg --fps 30   # words --not-a-flag\n```",
        "```sh\nkawari live \\\n  --source a.jpg\nls --all | grep x\n```",
        "Say `kawari models list|get --json`, or `kawari COMMAND --anything`, or `kawari`.",
        "```python\nkawari nonsense --flag\n```",
        "The kawari --flag of prose is prose.",
    ],
)
def test_what_exists_is_fine(check: ModuleType, parser: argparse.ArgumentParser, text: str) -> None:
    assert list(check.command_faults(text, parser)) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```sh\nkawari fly\n```", "2: there is no command `kawari fly`"),
        ("one\n\nuse `kawari live --speed 3`", "3: `kawari live` has no flag --speed"),
        ("`kawari models list|put`", "1: there is no command `kawari models put`"),
        ("`kawari models list|get --fps`", "1: `kawari models list` has no flag --fps"),
        ("```sh\npython3 packaging/dev.py kawari live \\\n --bad\n```", "2: `kawari live` has no flag --bad"),
    ],
)
def test_what_does_not_exist_is_named(
    check: ModuleType, parser: argparse.ArgumentParser, text: str, fault: str
) -> None:
    assert fault in list(check.command_faults(text, parser))


def test_links(check: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "other page.md").write_text("# A `title`, with: signs\n")
    page = tmp_path / "page.md"
    text = (
        "# Here\n[a](other%20page.md#a-title-with-signs) [b](#here) [c](https://example.org/x)\n"
        "`[no](link)` ![d](gone.png)\n[e](other%20page.md#nothing)\n"
    )
    page.write_text(text)
    faults = list(check.link_faults(page, text))
    assert len(faults) == 2
    assert faults[0].startswith("3: the link to gone.png")
    assert faults[1].startswith("4: other%20page.md has no heading")


def test_changelog(check: ModuleType) -> None:
    good = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- x\n\n## [0.1.0] - 2030-01-31\n"
    assert list(check.changelog_faults(good)) == []
    assert len(list(check.changelog_faults("# Changes\n## 0.1\n### New\n"))) == 3
    assert list(check.changelog_faults("# Changelog\n## [0.1.0]\n")) != []
