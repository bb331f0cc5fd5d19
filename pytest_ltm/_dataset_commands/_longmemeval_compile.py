"""`longmemeval-compile`: questions with their evidence, and fillers, to histories of any length."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._dataset_commands._histories import add_options, counter_of, length_of, save
from pytest_ltm.datasets.longmemeval.compile._corpus import Corpus
from pytest_ltm.datasets.longmemeval.compile._fillers import GeneratedFillers
from pytest_ltm.datasets.longmemeval.compile._history import compiled
from pytest_ltm.datasets.longmemeval.compile._mixture import MixedFillers
from pytest_ltm.datasets.longmemeval.compile._needles import needles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.datasets.longmemeval.compile._fillers import Fillers


def main(argv: Sequence[str]) -> int:
    """Write the needles' file again with longer histories."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-compile",
        description="Place the evidence of every question of a LongMemEval file (such as the oracle file) among "
        "fillers, in a history of a given length. Evidence keeps its dates and order and is never dropped.",
    )
    parser.add_argument(
        "needles", type=Path, help="a LongMemEval file; of its sessions, those that hold evidence count"
    )
    parser.add_argument(
        "--fillers", type=Path, nargs="+", metavar="FILE", default=[],
        help="JSON lists of records or of sessions: half of the fillers are evidence of other questions of the "
        "needles' file, the rest comes in equal parts from these files. Without them fillers are generated",
    )  # fmt: skip
    add_options(parser, required=True)
    given = parser.parse_args(argv)
    return save(given.output, _compiled(given))


def _compiled(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    count, length = counter_of(given), length_of(given)
    fillers: Fillers = GeneratedFillers(count)
    if given.fillers:
        others = Corpus(given.needles, evidence_only=True)
        fillers = MixedFillers(others, [Corpus(path) for path in given.fillers], count)
    for record in needles(given.needles):
        yield compiled(record, fillers, length, seed=given.seed, count=count)
