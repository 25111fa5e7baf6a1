"""`kawari bench …`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.console import print_json, say
from engine.errors import InputError, UsageError

if TYPE_CHECKING:
    from app.bench.report import Relation, Report


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `bench` and its benches to the command line; each sets `execute`, which gives the exit code."""
    text = "measure quality, speed, delay and endurance"
    parser = subparsers.add_parser("bench", help=text, description=text)
    benches = parser.add_subparsers(dest="bench", required=True, metavar="BENCH")
    _quality(benches)
    _pipeline(benches)
    _latency(benches)
    _soak(benches)
    _load(benches)
    _flood(benches)
    _overhead(benches)
    _precision(benches)
    _watermark(benches)
    _neural(benches)


def _common(parser: argparse.ArgumentParser, measure: Callable[[argparse.Namespace], Report]) -> None:
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a threshold is missed")
    parser.set_defaults(execute=lambda arguments: _print(arguments, measure(arguments)))


def _print(arguments: argparse.Namespace, report: Report) -> int:
    if arguments.json:
        print_json(report.json())
    else:
        say(report.text())
    return 1 if arguments.check and not report.passed else 0


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def _quality(benches: Any) -> None:
    parser = benches.add_parser("quality", help="identity, expression, steadiness on real clips")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with videos/, images/ and models/ (../shared/data)"
    )
    parser.add_argument("--identity-model", type=Path, metavar="FILE", help="MobileFaceNet ONNX file")
    parser.add_argument("--clips", metavar="A,B…", help="parts of clips' names; all if not given")
    parser.add_argument("--sources", metavar="A,B…", help="names of source persons")
    parser.add_argument("--frames", type=_positive, default=60, metavar="N", help="frames of each clip (60)")
    parser.add_argument("--strength", type=float, default=0.8, help="how far the shape goes (0.8)")
    parser.add_argument("--swapper", default="mesh", help="mesh, or null: the bench's own zero")
    parser.add_argument(
        "--sheet", type=Path, metavar="FILE.png", help="write contact sheets, one for each clip"
    )
    parser.add_argument("--quick", action="store_true", help="three clips, two sources, 30 frames")
    _common(parser, _run_quality)


def _run_quality(arguments: argparse.Namespace) -> Report:
    from app.bench import material
    from app.bench.identity import IdentityNetwork
    from app.bench.looking import Observer
    from app.bench.people import know
    from app.bench.quality import Options, QualityBench
    from app.bench.subject import product
    from app.bench.verdict import summarise

    data = arguments.data or material.DATA
    network = arguments.identity_model or data / "models" / material.IDENTITY_MODEL
    observer = Observer(IdentityNetwork(network))
    if not data.is_dir():
        raise InputError(f"There is no folder {data}", "Name the folder with the clips by --data")
    clips = pick(material.CLIPS, arguments.clips, lambda clip: clip.name)
    names = arguments.sources or ",".join(material.DEFAULT_PEOPLE)
    people = pick(material.PEOPLE, names, lambda person: person.name)
    frames = arguments.frames
    if arguments.quick:
        frames = min(frames, 30)
        clips = clips if arguments.clips else [clips[i] for i in (0, 1, 3)]
        people = people if arguments.sources else people[:2]
    subject = product(arguments.swapper)
    known = [know(person, subject.photo, observer, data) for person in people]
    options = Options(data, frames, arguments.strength, arguments.sheet)
    results = QualityBench(subject, observer, options).run(clips, known, _progress)
    _progress("")
    return summarise(results).finish()


def _pipeline(benches: Any) -> None:
    parser = benches.add_parser("pipeline", help="cost of a frame by stage, and how it grows")
    parser.add_argument("--frames", type=_positive, default=90, metavar="N", help="frames measured (90)")
    parser.add_argument("--swapper", default="mesh", help="the swapper's name")
    parser.add_argument("--quick", action="store_true", help="the cost by stage alone")
    _common(parser, _run_pipeline)


def _run_pipeline(arguments: argparse.Namespace) -> Report:
    from app.bench import cold, overhead, pipeline
    from app.bench.making import maker

    made = maker(arguments.swapper)
    report = pipeline.run(made, arguments.frames, not arguments.quick, _progress)
    limits: list[tuple[str, Relation, float]] = [("swapped", ">=", 1), ("ratio", "<=", 10), ("fps", ">=", 30)]
    if not arguments.quick:
        _progress("Python's share")
        share = overhead.measure(made, arguments.frames)
        columns = ("function", "calls a frame", "ms a frame")
        report.table("Python functions, own time under the profiler", columns, share.functions)
        report.table("calls into compiled code", columns, share.compiled)
        _progress("start-up")
        starts = cold.start_up()
        report.table("fresh processes", ("first swapped frame, s", "CPU s", "peak memory, MiB"), [
            (one.first_s, one.cpu_s, one.memory_mb) for one in starts
        ])  # fmt: skip
        report.figures |= {
            "python_share": share.share,
            "python_share_at_most": share.at_most,
            "instructions": share.instructions,
            "instruction_ns": share.instruction_ns,
            "crossings": share.crossings,
            "crossing_ns": share.crossing_ns,
            "cold_s": starts[0].first_s,
            "cold_cpu_s": starts[0].cpu_s,
            "warm_s": min(one.first_s for one in starts[1:]),
            "memory_mb": max(one.memory_mb for one in starts),
        }
        limits += [("cold_s", "<=", 3), ("warm_s", "<=", 1.5), ("memory_mb", "<=", 500)]
        limits += [("python_share", "<=", 0.15)]
    for name, relation, threshold in limits:
        report.check(name, relation, threshold)
    _progress("")
    return report.finish()


def _latency(benches: Any) -> None:
    parser = benches.add_parser("latency", help="delay, drops, order of a live session")
    parser.add_argument("--seconds", type=_positive_float, default=20, metavar="N", help="for each rate (20)")
    parser.add_argument(
        "--fps", type=_positive_float, nargs="+", default=[30, 60], help="the source's rates (30 60)"
    )
    _common(parser, _run_latency)


def _run_latency(arguments: argparse.Namespace) -> Report:
    from app.bench import latency

    report = latency.run(arguments.seconds, arguments.fps, _progress)
    _progress("")
    return report.finish()


def _soak(benches: Any) -> None:
    parser = benches.add_parser("soak", help="memory, threads, handles, delay of a long live session")
    parser.add_argument("--minutes", type=_positive_float, default=3, metavar="N", help="how long (3)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with videos/ (../shared/data)")
    parser.add_argument("--clip", type=Path, metavar="FILE", help="clip to loop")
    _common(parser, _run_soak)


def _run_soak(arguments: argparse.Namespace) -> Report:
    from app.bench import material, soak

    clip = arguments.clip or (arguments.data or material.DATA) / "videos" / soak.CLIP
    if not clip.is_file():
        if arguments.clip or arguments.data:
            raise InputError(f"There is no clip {clip.name}", "Name another by --clip")
        clip = None  # the moving portrait
    report = soak.run(arguments.minutes, clip, _progress)
    _progress("")
    return report.finish()


def _load(benches: Any) -> None:
    parser = benches.add_parser("load", help="what the controller does about more work and less processor")
    parser.add_argument("--seconds", type=_positive_float, default=60, metavar="N", help="of each load (60)")
    _common(parser, _run_load)


def _run_load(arguments: argparse.Namespace) -> Report:
    from app.bench import load

    report = load.run(arguments.seconds, _progress)
    _progress("")
    return report.finish()


def _flood(benches: Any) -> None:
    parser = benches.add_parser("flood", help="delay of the stream while the control server is flooded")
    parser.add_argument("--seconds", type=_positive_float, default=8, metavar="N", help="of each spell (8)")
    parser.add_argument("--rounds", type=_positive, default=4, metavar="N", help="quiet and flood (4)")
    parser.add_argument("--fps", type=_positive_float, default=30, help="the camera's rate (30)")
    _common(parser, _run_flood)


def _run_flood(arguments: argparse.Namespace) -> Report:
    from app.bench import flood

    report = flood.run(arguments.seconds, arguments.rounds, arguments.fps, _progress)
    _progress("")
    return report.finish()


def _overhead(benches: Any) -> None:
    text = "what a neural swap costs around the network, against the least possible"
    parser = benches.add_parser("overhead", help=text)
    parser.add_argument("--frames", type=_positive, default=150, metavar="N", help="frames measured (150)")
    _common(parser, _run_overhead)


def _run_overhead(arguments: argparse.Namespace) -> Report:
    from app.bench import neural

    report = neural.run(arguments.frames, _progress)
    _progress("")
    return report


def _precision(benches: Any) -> None:
    text = "an installed network's versions on every provider here, side by side"
    parser = benches.add_parser("precision", help=text)
    parser.add_argument("name", nargs="?", default="inswapper_128", help="the network (inswapper_128)")
    parser.add_argument("--runs", type=_positive, default=3, metavar="N", help="runs of each (3)")
    _common(parser, _run_precision)


def _run_precision(arguments: argparse.Namespace) -> Report:
    from app.bench import precision
    from engine.catalog import open_store
    from engine.folders import home

    report = precision.run(open_store(home()), arguments.name, arguments.runs, _progress)
    if arguments.name == "inswapper_128":
        report.check("int8 on CPU", ">=", 2.5)
        if any(name.endswith("OpenVINO") for name in report.figures):
            report.check("int8 on OpenVINO", ">=", 8)
    _progress("")
    return report.finish()


def _watermark(benches: Any) -> None:
    text = "what the watermark survives, costs and shows, and how often it is seen where it is not"
    parser = benches.add_parser("watermark", help=text)
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with videos/ and images/ (../shared/data)"
    )
    parser.add_argument("--processes", type=_positive, default=2, metavar="N", help="that work at once (2)")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="keep results there, and go on from them")
    parser.add_argument("--quick", action="store_true", help="two clips and few windows")
    _common(parser, _run_watermark)


def _run_watermark(arguments: argparse.Namespace) -> Report:
    from app.bench import material
    from app.bench.watermark.run import run

    data = arguments.data or material.DATA
    if not (data / "videos").is_dir():
        raise InputError(f"There is no folder {data / 'videos'}", "Name the folder with the clips by --data")
    report = run(data, arguments.processes, arguments.quick, arguments.resume, _progress)
    _progress("")
    return report


def _neural(benches: Any) -> None:
    text = "rate, copies, the network's share and the delay of a neural swap, on whatever runs it here"
    parser = benches.add_parser("neural", help=text, description=text)
    parser.add_argument("name", nargs="?", default="inswapper_128", help="the swapper (inswapper_128)")
    parser.add_argument(
        "--file",
        type=Path,
        metavar="FILE.onnx",
        help="a network of that swapper's kind",
    )
    parser.add_argument("--half", action="store_true", help="in half precision")
    parser.add_argument(
        "--frames", type=_positive, default=300, metavar="N", help="as fast as possible (300)"
    )
    parser.add_argument("--seconds", type=_positive_float, default=10, metavar="N", help="like a camera (10)")
    parser.add_argument("--fps", type=_positive_float, default=30, help="the camera's rate (30)")
    _common(parser, _run_neural)


def _run_neural(arguments: argparse.Namespace) -> Report:
    from app.bench import network
    from engine.catalog import open_store
    from engine.folders import home

    with network.store_of(open_store(home()), arguments.name, arguments.file, arguments.half) as store:
        report = network.run(
            store, arguments.name, arguments.frames, arguments.seconds, arguments.fps, _progress
        )
    _progress("")
    return report


def pick(choices: Any, wanted: str | None, name: Callable[[Any], str]) -> list[Any]:
    """The choices whose name contains one of the comma-separated words.

    Raises:
        UsageError: a word fits none.
    """
    if not wanted:
        return list(choices)
    words = [word.strip() for word in wanted.split(",")]
    for word in words:
        if not any(word in name(choice) for choice in choices):
            known = ", ".join(name(choice) for choice in choices)
            raise UsageError(f"The bench knows no {word!r}", f"It knows {known}")
    return [choice for choice in choices if any(word in name(choice) for word in words)]


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _positive_float(text: str) -> float:
    number = float(text)
    if not 0 < number < 100_000:
        raise argparse.ArgumentTypeError("must be above 0")
    return number
