"""Runs the bench's many small jobs in a few processes, and remembers what is done.

A job's result is kept as one line of JSON, so that a bench of an hour may be interrupted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cv2

Row = dict[str, Any]
_NICE = 10


@dataclass(frozen=True, slots=True)
class Job:
    """A piece of work.

    Attributes:
        name: unique; what it does, with which material.
        work: a module's function that can be sent to another process; gives rows JSON can hold.
        arguments: for `work`.
    """

    name: str
    work: Callable[..., list[Row]]
    arguments: tuple[Any, ...] = ()


def run(
    jobs: Sequence[Job], processes: int, resume: Path | None, progress: Callable[[str], None]
) -> dict[str, list[Row]]:
    """The rows of every job, by its name.

    Args:
        jobs: what to do.
        processes: how many work at once.
        resume: file with the results of earlier runs, to which new ones are added; None for none.
            It is for the same version of Kawari: what is found there is not done again.
        progress: called with a word on how far it has come.
    """
    done = _known(resume)
    missing = [job for job in jobs if job.name not in done]
    # Fresh processes: the codecs' threads do not survive a fork.
    fresh = get_context("spawn")
    with ProcessPoolExecutor(processes, fresh, initializer=_begin) as pool:
        running = {pool.submit(job.work, *job.arguments): job for job in missing}
        for count, future in enumerate(as_completed(running), 1):
            job = running[future]
            done[job.name] = future.result()
            if resume is not None:
                with resume.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"job": job.name, "rows": done[job.name]}) + "\n")
            progress(f"{count} of {len(missing)}: {job.name}")
    return {job.name: done[job.name] for job in jobs}


def _begin() -> None:
    """Stay in the background, on one core."""
    cv2.setNumThreads(1)
    if hasattr(os, "nice"):
        os.nice(_NICE)


def _known(resume: Path | None) -> dict[str, list[Row]]:
    if resume is None or not resume.exists():
        return {}
    known = {}
    for line in resume.read_text(encoding="utf-8").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:  # the last line of a run that was killed
            continue
        known[entry["job"]] = entry["rows"]
    return known
