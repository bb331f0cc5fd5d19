"""`longmemeval-generate`: new questions with histories of any length, without a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pytest_ltm._dataset_commands._histories import add_options, counter_of, length_of, save, whole
from pytest_ltm.datasets.longmemeval.compile._fillers import GeneratedFillers
from pytest_ltm.datasets.longmemeval.compile._history import compiled
from pytest_ltm.datasets.longmemeval.compile._needles import needle
from pytest_ltm.datasets.longmemeval.generate._records import records

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def main(argv: Sequence[str]) -> int:
    """Write a file of generated questions; without a length each has its evidence only."""
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm longmemeval-generate",
        description="Generate questions in the format of LongMemEval: all types and abstention, golds by construction, "
        "histories of generated sessions. Without --sessions and --tokens a history holds the evidence only.",
    )
    parser.add_argument("--count", type=whole, default=500, metavar="N", help="so many questions (default: 500)")
    add_options(parser, required=False)
    given = parser.parse_args(argv)
    return save(given.output, _generated(given))


def _generated(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    count, length = counter_of(given), length_of(given)
    fillers = GeneratedFillers(count)
    for record in records(given.count, given.seed, count):
        one = needle(record, f"question {record['question_id']}")
        yield compiled(one, fillers, length, seed=given.seed, count=count)
