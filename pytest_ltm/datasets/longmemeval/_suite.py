"""LongMemEval as a suite: a conversation of its own for each question, an entry for each question type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, DatasetError, did_you_mean
from pytest_ltm._scenario import Ask, Definition, Wait
from pytest_ltm._suite import Suite, SuiteEntry
from pytest_ltm.datasets._suites import ToldConversation
from pytest_ltm.datasets.longmemeval._delivery import OPENING, history
from pytest_ltm.datasets.longmemeval._file import Entry, LongMemEvalFile
from pytest_ltm.datasets.longmemeval._schema import TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.datasets.longmemeval._schema import Record

WORDING = 1
"""The version of the words in which sessions are told and questions are put."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Which questions are asked."""

    types: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    sample: int | None = None
    """So many, drawn by the seed; None: all."""


class LongMemEvalSuite:
    """The questions of a LongMemEval file."""

    def __init__(self, file: LongMemEvalFile, choices: Choices, *, seed: int) -> None:
        self._file = file
        chosen = _chosen(file, choices, seed)
        self._ids = {label_of(entry.id): entry for entry in chosen}
        names = [kind for kind in TYPES if any(entry.type == kind for entry in chosen)]
        self._kinds = {kind.replace("-", "_"): kind for kind in names}
        entries = tuple(SuiteEntry(scenario="_longmemeval_question", name=name) for name in self._kinds)
        self.suite = Suite(name="longmemeval", path=str(file.path), entries=entries)
        self.title = f"{file.path.name}: {len(chosen)} questions, each with a history of its own"
        self.notes: Sequence[str] = ()

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return the thread of every question of a type; it is its only example."""
        return [(thread, "0") for thread, one in self._ids.items() if one.type == self._kinds[entry]]

    def told(self, thread: str) -> ToldConversation:
        """Return the sessions of a question."""
        entry = self._ids[thread]
        return ToldConversation(
            history=history(self._file.record(entry.id).sessions),
            opening=OPENING,
            described={
                "data": "longmemeval", "question": entry.id, "sha256": self._file.digest(entry.id), "wording": WORDING,
            },
        )  # fmt: skip

    def definition(self, entry: str, thread: str, example: str) -> Definition:  # noqa: ARG002 - a question is the only one
        """Return one question, asked at its date; one dated before the last session is asked at once."""
        record = self._file.record(self._ids[thread].id)
        past = history(record.sessions)
        late = record.at - record.sessions[-1].at if record.sessions else timedelta(0)
        evidence = evidence_of(record)
        known = {turn for one in past for turn in one.holds}
        return Definition(
            steps=(
                Wait(history=len(past)),
                *((Wait(time=late),) if late > timedelta(0) else ()),
                Ask(f"[{record.when}] {record.question}", tuple(turn for turn in evidence if turn in known)),
            ),
            expected=record.answer,
            parameters={
                "id": record.id, "type": record.type, "question": record.question, "date": record.when,
                "evidence_sessions": list(record.answer_sessions), "evidence_turns": list(evidence),
                "notes": list(record.notes),
            },
        )  # fmt: skip


def evidence_of(record: Record) -> tuple[str, ...]:
    """Return the ids of the turns that hold the answer; all turns of the cited sessions where no turn is marked."""
    marked, all_turns = [], []
    for session in record.sessions:
        for number, turn in enumerate(session.turns, start=1):
            name = f"{session.id}_{number}"
            if turn.has_answer:
                marked.append(name)
            if session.id in record.answer_sessions:
                all_turns.append(name)
    return tuple(dict.fromkeys(marked or all_turns))


def open_suite(path: Path | None, options: Mapping[str, str], *, seed: int) -> LongMemEvalSuite:
    """Return the suite of a file; DatasetError or ConfigurationError for what cannot be used."""
    if path is None:
        raise DatasetError("LongMemEval is not shipped: download longmemeval_s_cleaned.json and give --ltm-data=PATH")
    return LongMemEvalSuite(LongMemEvalFile(path), _choices(options), seed=seed)


def label_of(name: str) -> str:
    """Return a question's id as a label of node ids."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)


def _choices(options: Mapping[str, str]) -> Choices:
    types = _parts(options.get("types", ""))
    for kind in types:
        if kind not in TYPES:
            raise ConfigurationError(
                f"--ltm-longmemeval-types: no type {kind!r}.{did_you_mean(kind, TYPES)} There are {', '.join(TYPES)}"
            )
    sample = options.get("sample", "")
    if sample and not (sample.isdecimal() and int(sample)):
        raise ConfigurationError(f"--ltm-longmemeval-sample: expected a number of questions, got {sample!r}")
    return Choices(types=types, ids=_parts(options.get("ids", "")), sample=int(sample) if sample else None)


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _chosen(file: LongMemEvalFile, choices: Choices, seed: int) -> Sequence[Entry]:
    known = {entry.id: entry for entry in file.entries}
    for name in choices.ids:
        if name not in known:
            raise ConfigurationError(f"--ltm-longmemeval-ids: no question {name!r}.{did_you_mean(name, known)}")
    found = [known[name] for name in dict.fromkeys(choices.ids)] or list(file.entries)
    found = [entry for entry in found if not choices.types or entry.type in choices.types]
    if not found:
        raise ConfigurationError("--ltm-longmemeval-types and -ids: together they leave no question")
    if choices.sample is None or choices.sample >= len(found):
        return found
    drawn = Random(f"longmemeval {seed}").sample(range(len(found)), choices.sample)
    return [found[place] for place in sorted(drawn)]
