"""`kawari run`: a clip or picture in, the same with the other face out."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from app.commands.arguments import add_swap_flags, prepare, swap_config
from app.console import Progress, as_dict, note, print_json, print_table, say
from app.options import from_flags
from engine.config import BadgeConfig, GuardConfig, GuardPolicy
from engine.errors import UsageError

if TYPE_CHECKING:
    from app.clip import ClipProcess
    from engine.export import ExportReport


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    text = "swap the face in a clip or picture"
    parser = subparsers.add_parser(
        "run",
        help=text,
        description=f"{text}; the result has the input's length, rate, size and sound",
    )
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="the clip or picture")
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="where to write; its ending chooses the format",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the output file if it exists")
    parser.add_argument("--json", action="store_true", help="print frames, faces and times per stage as JSON")
    add_swap_flags(parser, source_required=True, guard=GuardPolicy.BLUR, live=False)
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    """Do it."""
    from app.build import clip_watch, credentials, make_pipeline
    from app.clip import ClipProcess
    from engine.export import export
    from engine.mark.badge import Badge

    if args.output.exists() and not args.overwrite:
        raise UsageError(f"{args.output.name} exists already", "Add --overwrite, or give another name")
    swap = swap_config(args)
    guard = from_flags(GuardConfig, args, empty_after_s=_EMPTY_AFTER_S)
    swapper, identity = prepare(args, swap.swapper)
    badge = Badge(from_flags(BadgeConfig, args))
    pipeline = make_pipeline(swap, guard, swapper, identity, badge=badge, report=_tell)
    process = ClipProcess(pipeline, clip_watch())
    sign = credentials(swapper.name).attach

    def finish(path: Path) -> None:
        process.settle()
        sign(path)

    with Progress() as progress:
        report = export(args.input, args.output, process, progress=progress, finish=finish)
    for warning in report.warnings:
        note(f"kawari: {warning}.")
    if process.covered:
        note(
            f"kawari: In {process.covered} of {report.frames} frames a face could not be swapped and was "
            f"hidden ({guard.policy.value}). Another --guard shows something else, pass leaves it visible."
        )
    _print(args, report, process)
    return 0


_EMPTY_AFTER_S = 0.2
"""A clip is looked at frame by frame: nothing is gained by waiting longer to be sure that nobody is there."""


def _tell(kind: str, message: str = "", **data: str | int | float | bool) -> None:
    if kind.startswith(("swapper-", "detector-", "extra-")):
        note(f"kawari: {message}")


def _print(args: argparse.Namespace, report: ExportReport, process: ClipProcess) -> None:
    if args.json:
        shown = {shown.value: count for shown, count in process.shown.items()}
        print_json({"input": args.input, "output": args.output, **as_dict(report), "shown": shown})
        return
    say(f"{args.output}: {report.frames} frames, {report.swapped_frames} with the face swapped")
    print_table(((stage, f"{time.mean:.1f} ms a frame") for stage, time in report.stage_ms.items()), "  ")
