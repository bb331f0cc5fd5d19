"""`longmemeval-compile` and `longmemeval-generate`: questions with their evidence, in histories of any length."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from pytest_ltm._lab.commands.author import author
from pytest_ltm._lab.longmemeval.histories import (
    Corpus,
    GeneratedFillers,
    Length,
    MixedFillers,
    compiled,
    needle,
    needles,
    write,
)
from pytest_ltm._lab.longmemeval.modelled import at_once, by_turns, modelled
from pytest_ltm._lab.longmemeval.needles import identity, questions, records
from pytest_ltm._lab.longmemeval.session_text import counted
from pytest_ltm._model.tokens import counter
from pytest_ltm._results.text import counted as counted_of
from pytest_ltm._storage.errors import DatasetError
from pytest_ltm.datasets.longmemeval.record import LongMemEvalFile

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_ltm._lab.longmemeval.histories import Fillers, NeedleRecord
    from pytest_ltm._lab.longmemeval.modelled import Writes


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
    if given.model:
        return _by_model(given, by_turns if given.turn_by_turn else at_once)
    if given.turn_by_turn:
        raise DatasetError("--turn-by-turn needs --model: it is asked as the person and as the assistant")
    count = counted(counter(given.tokenizer))
    made: Iterable[dict[str, Any]] = records(given.count, given.seed, count)
    found = (needle(record, f"question {record['question_id']}") for record in made)
    return _write(given, found, GeneratedFillers(count), count)


def _by_model(given: Namespace, writes: Writes) -> int:
    """Make what the file does not hold yet, and write it after each question: what broke off is taken up again."""
    records = _begun(given.output)
    done = {record["question_id"] for record in records}
    with author(given.model) as model:
        for number, one in enumerate(questions(given.count, given.seed)):
            seed = f"{given.seed} {number}"
            if identity(one, seed)[0] not in done:
                records.append(modelled(one, seed, model, writes))
                write(given.output, records)
        sys.stderr.write(f"{model.cost}\n")
    sys.stdout.write(f"{given.output}: {counted_of(len(records), 'question')}\n")
    return 0


def _begun(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    for _ in LongMemEvalFile(path).records():
        pass  # what was edited by hand since is read, and refused if it cannot be
    found: list[dict[str, Any]] = json.loads(path.read_bytes())
    return found


def _write(given: Namespace, found: Iterable[NeedleRecord], fillers: Fillers, count: Callable[[str], int]) -> int:
    """Write the histories of the needles, and say what was written."""
    length = Length(sessions=given.sessions, tokens=given.tokens)
    histories = (compiled(one, fillers, length, seed=given.seed, count=count) for one in found)
    number, size = write(given.output, histories)
    sys.stdout.write(f"{given.output}: {number} question{'s' * (number != 1)}, {size / 1e6:,.1f} MB\n")
    return 0
