"""`longmemeval-compile` and `longmemeval-generate`: questions with their evidence, in histories of any length."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pytest_ltm._engine.tokens import counter
from pytest_ltm.datasets.longmemeval.generate.needles import records
from pytest_ltm.datasets.longmemeval.generate.talk import counted
from pytest_ltm.datasets.longmemeval.histories import (
    Corpus,
    GeneratedFillers,
    Length,
    MixedFillers,
    compiled,
    needle,
    needles,
    write,
)

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable

    from pytest_ltm.datasets.longmemeval.histories import Fillers, NeedleRecord


def compile_(given: Namespace) -> int:
    """Write the needles' file again with longer histories."""
    count = counted(counter(given.tokenizer))
    fillers: Fillers = GeneratedFillers(count)
    if given.fillers:
        others = Corpus(given.needles, evidence_only=True)
        fillers = MixedFillers(others, [Corpus(path) for path in given.fillers], count)
    return _write(given, needles(given.needles), fillers, count)


def generate(given: Namespace) -> int:
    """Write a file of generated questions; without a length each has its evidence only."""
    count = counted(counter(given.tokenizer))
    made: Iterable[dict[str, Any]] = records(given.count, given.seed, count)
    found = (needle(record, f"question {record['question_id']}") for record in made)
    return _write(given, found, GeneratedFillers(count), count)


def _write(given: Namespace, found: Iterable[NeedleRecord], fillers: Fillers, count: Callable[[str], int]) -> int:
    """Write the histories of the needles, and say what was written."""
    length = Length(sessions=given.sessions, tokens=given.tokens)
    histories = (compiled(one, fillers, length, seed=given.seed, count=count) for one in found)
    number, size = write(given.output, histories)
    sys.stdout.write(f"{given.output}: {number} question{'s' * (number != 1)}, {size / 1e6:,.1f} MB\n")
    return 0
