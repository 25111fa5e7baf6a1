"""`kawari models`: the models a user may add."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.console import print_json, print_table, say

if TYPE_CHECKING:
    from engine.catalog.store import Installed, Store


@dataclass(frozen=True, slots=True)
class Row:
    """One model in the list, as `--json` prints it."""

    name: str
    kind: str
    title: str
    installed: bool
    size: int
    sha256: str
    licence: str
    commercial: str
    accepted: bool


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its actions."""
    text = "list, get, check, import or remove models"
    parser = subparsers.add_parser("models", help=text, description=text)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="the models of the catalogue, and which are here")
    get = actions.add_parser("get", help="download a model")
    importing = actions.add_parser("import", help="use a file that you have")
    verify = actions.add_parser("verify", help="check installed models again")
    remove = actions.add_parser("remove", help="delete an installed model")
    quantize = actions.add_parser("quantize", help="make a faster version in lower precision")
    quantize.add_argument("--to", choices=("fp16", "int8"), required=True, help="the precision")
    quantize.add_argument(
        "--calibrate", type=Path, metavar="CLIP",
        help="faces to measure by; the demo camera's if left out",
    )  # fmt: skip
    quantize.add_argument(
        "--least", type=float, metavar="DB",
        help="refuse it below this PSNR against full precision (45 for fp16, 28 for int8)",
    )  # fmt: skip
    for action in (get, importing, remove, quantize):
        action.add_argument("name", help="the model's name")
    importing.add_argument("file", type=Path, help="the model's file; it is copied")
    importing.add_argument(
        "--trust", action="store_true",
        help="it need not be the published file: its contract is checked, its own hash counts from then on",
    )  # fmt: skip
    verify.add_argument("name", nargs="?", help="the model's name; all installed ones if left out")
    for action in (get, importing):
        action.add_argument(
            "--accept-licence", action="store_true", help="you have read the model's licence and accept it"
        )
    for action, execute in (
        (listing, _list),
        (get, _get),
        (importing, _import),
        (verify, _verify),
        (remove, _remove),
        (quantize, _quantize),
    ):
        action.add_argument("--json", action="store_true", help="print JSON")
        action.set_defaults(execute=execute)


def _store() -> Store:
    from engine.catalog import open_store
    from engine.folders import home

    return open_store(home())


def _list(args: argparse.Namespace) -> int:
    store = _store()
    rows = []
    for entry in store.catalogue.values():
        installed = store.installed(entry.name)
        rows.append(
            Row(
                name=entry.name,
                kind=entry.kind.value,
                title=entry.title,
                installed=installed is not None,
                size=installed.path.stat().st_size if installed else entry.size,
                sha256=installed.sha256 if installed else entry.sha256,
                licence=entry.licence,
                commercial=entry.commercial.value,
                accepted=store.accepted(entry.name),
            )
        )
    if args.json:
        print_json(rows)
        return 0
    print_table(
        [
            ("NAME", "KIND", "HERE", "SIZE", "COMMERCIAL", "LICENCE"),
            *(
                (
                    row.name,
                    row.kind,
                    "yes" if row.installed else "-",
                    f"{row.size / 1e6:.0f} MB" if row.size else "?",
                    row.commercial,
                    row.licence,
                )
                for row in rows
            ),
        ]
    )
    return 0


def _get(args: argparse.Namespace) -> int:
    from tqdm import tqdm

    store = _store()
    if args.accept_licence:
        store.accept(args.name)
    entry = store.entry(args.name)
    with tqdm(desc=args.name, total=entry.size or None, unit="B", unit_scale=True, delay=0.5) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total or None
            bar.update(done - bar.n)

        installed = store.get(args.name, progress)
    return _report(installed, "is ready", json=args.json)


def _import(args: argparse.Namespace) -> int:
    store = _store()
    if args.accept_licence:
        store.accept(args.name)
    return _report(store.add(args.name, args.file, trust=args.trust), "was imported", json=args.json)


def _verify(args: argparse.Namespace) -> int:
    store = _store()
    names = [args.name] if args.name else [name for name in store.catalogue if store.installed(name)]
    checked = [store.verify(name) for name in names]
    if args.json:
        print_json([_plain(installed) for installed in checked])
    else:
        print_table((installed.entry.name, "sound", installed.sha256) for installed in checked)
        if not checked:
            say("no model is installed; the embedded ones are checked whenever they are loaded")
    return 0


def _remove(args: argparse.Namespace) -> int:
    from engine.folders import home

    store = _store()
    entry = store.entry(args.name)
    removed = store.remove(args.name)
    if entry.exact:  # what `quantize` has made and noted
        (home() / "catalogue" / f"{args.name}.toml").unlink(missing_ok=True)
    if args.json:
        print_json({"name": args.name, "removed": removed})
    else:
        say(f"{args.name} was removed" if removed else f"{args.name} was not installed")
    return 0


def _quantize(args: argparse.Namespace) -> int:
    from engine.folders import home
    from engine.sources.demo import DemoSource
    from engine.sources.file import FileSource
    from engine.swap.neural.crops import feeds_from
    from engine.swap.neural.variants import make_variant

    store = _store()
    source = FileSource(args.calibrate) if args.calibrate else DemoSource((640, 360), 60)
    made = make_variant(
        store, args.name, args.to, feeds_from(store, source), home() / "catalogue", args.least
    )
    name = made.installed.entry.name
    if args.json:
        print_json({**_plain(made.installed), "psnr": made.psnr, "worst": made.worst, "crops": made.crops})
    else:
        say(
            f"{name} is ready: {made.psnr:.1f} dB against full precision over {made.crops} faces "
            f"(worst {made.worst:.1f}), SHA-256 {made.installed.sha256}. Use it with: --swapper {name}"
        )
    return 0


def _report(installed: Installed, what: str, *, json: bool) -> int:
    if json:
        print_json(_plain(installed))
    else:
        pinned = "" if installed.entry.sha256 else " (no hash is published: this one is pinned from now on)"
        if installed.trusted:
            pinned = " (taken on trust: this hash counts from now on)"
        say(f"{installed.entry.name} {what}: SHA-256 {installed.sha256}{pinned}")
    return 0


def _plain(installed: Installed) -> dict[str, object]:
    return {
        "name": installed.entry.name,
        "path": str(installed.path),
        "sha256": installed.sha256,
        "pinned": not installed.entry.sha256,
        "contract": asdict(installed.entry.contract),
    }
