"""LongMemEval as a suite: an entry for each question type, a conversation for each question or for many."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError
from pytest_ltm._scenario import Ask, Definition, Wait
from pytest_ltm._suite import Suite, SuiteEntry
from pytest_ltm.datasets._labels import labelled
from pytest_ltm.datasets._suites import ToldConversation
from pytest_ltm.datasets.longmemeval._choices import Choices, choices_of, chosen, groups
from pytest_ltm.datasets.longmemeval._delivery import OPENING
from pytest_ltm.datasets.longmemeval._file import LongMemEvalFile
from pytest_ltm.datasets.longmemeval._index import FOLDER
from pytest_ltm.datasets.longmemeval._schema import TYPES, ability_of
from pytest_ltm.datasets.longmemeval._told import told_alone, told_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_ltm.datasets.longmemeval._index import Entry
    from pytest_ltm.datasets.longmemeval._schema import Record
    from pytest_ltm.datasets.longmemeval._told import Question, Told

WORDING = 1
"""The version of the words in which sessions are told and questions are put."""

LEGEND = (
    "LongMemEval: accuracy is its task average (the mean over the question types), `right` of all examples its overall "
    "accuracy, `abstention` that of the questions that cannot be answered; what nobody could judge is in no mean"
)


class LongMemEvalSuite:
    """The questions of a LongMemEval file."""

    def __init__(self, file: LongMemEvalFile, choices: Choices, *, seed: int) -> None:
        self._file, self._choices = file, choices
        asked = chosen(file.entries, choices, seed=seed)
        self._threads = _shared(asked, choices, seed) if choices.shared else _own(asked)
        names = [kind for kind in TYPES if any(entry.type == kind for entry in asked)]
        self._kinds = {kind.replace("-", "_"): kind for kind in names}
        entries = tuple(SuiteEntry(scenario="_longmemeval_question", name=name) for name in self._kinds)
        self.suite = Suite(name="longmemeval", path=str(file.path), entries=entries)
        unread = sum(bool(entry.fault) for entry in asked)
        lost = f", {unread:,} of them cannot be read" if unread else ""
        self.title = f"{file.published or file.path.name}: {_counted(len(asked), 'question')}{lost}, {self._told_in()}"
        odd = ((entry, *([entry.fault] if entry.fault else entry.notes)) for entry in asked)
        self.notes = tuple(note if entry.fault else f"{entry.id}: {note}" for entry, *notes in odd for note in notes)
        self.legend = (LEGEND,)
        """What the report's readers should know of its figures."""
        self._last: tuple[str, Told, Mapping[str, str]] | None = None

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return thread and example of every question of a type."""
        kind = self._kinds[entry]
        return [
            (thread, label)
            for thread, asked in self._threads.items()
            for label, one in asked.items()
            if one.type == kind
        ]

    def told(self, thread: str) -> ToldConversation:
        """Return the sessions told in a conversation; without those of questions whose records cannot be read."""
        told, _ = self._compiled(thread)
        ids = [one.id for one in self._threads[thread].values()]
        digests = "".join(self._file.digest(name) for name in told.questions)
        return ToldConversation(
            history=told.past,
            opening=OPENING,
            described={
                "data": "longmemeval",
                "questions": ids,
                "sha256": hashlib.sha256(digests.encode()).hexdigest(),
                "shared": self._choices.shared,
                "wording": WORDING,
            },
        )

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the option that names the question; none where its history is shared, which all of them make."""
        return {} if self._choices.shared else {"ids": self._threads[thread]["0"].id}

    def definition(self, entry: str, thread: str, example: str) -> Definition:  # noqa: ARG002 - the thread says all
        """Return one question, asked at its date; one dated before what is told last is asked at once.

        DatasetError if its record cannot be read.
        """
        told, faults = self._compiled(thread)
        name = self._threads[thread][example].id
        if name in faults:
            raise DatasetError(faults[name])
        question = told.questions[name]
        known = {turn for one in told.past for turn in one.holds}
        return Definition(
            steps=(
                *self._waits(told, question),
                Ask(f"[{question.when}] {question.text}", tuple(turn for turn in question.evidence if turn in known)),
            ),
            expected=question.answer,
            parameters={
                "id": question.id, "type": question.type, "ability": ability_of(question.id, question.type),
                "question": question.text, "date": question.when,
                "evidence_sessions": list(question.sessions), "evidence_turns": list(question.evidence),
                "wanted_turns": list(question.wanted),
                "user_turns": {name: list(told.irregular[name]) for name in told.irregular if question.wanted},
                "judge": self._choices.judge, "notes": list(question.notes),
            },
        )  # fmt: skip

    def _waits(self, told: Told, question: Question) -> tuple[Wait, ...]:
        if self._choices.after is not None:
            return Wait(history=question.after), Wait(tokens=self._choices.after)
        late = question.at - told.last if told.last else timedelta(0)
        return Wait(history=len(told.past)), *((Wait(time=late),) if late > timedelta(0) else ())

    def _compiled(self, thread: str) -> tuple[Told, Mapping[str, str]]:
        """Return what is told in a conversation, and by question what is wrong with its record.

        The last one asked for is kept, and no other.
        """
        if self._last is None or self._last[0] != thread:
            self._last = None  # lets go of the one before the next is made
            faults: dict[str, str] = {}
            records = self._readable([one.id for one in self._threads[thread].values()], faults)
            told = told_together(records) if self._choices.shared else told_alone(next(records, None))
            self._last = thread, told, faults
        return self._last[1:]

    def _readable(self, ids: Sequence[str], faults: dict[str, str]) -> Iterator[Record]:
        for name in ids:
            try:
                yield self._file.record(name)
            except DatasetError as error:
                faults[name] = str(error)

    def _told_in(self) -> str:
        if not self._choices.shared:
            return "each with a history of its own"
        return f"in {_counted(len(self._threads), 'shared history', 'shared histories')}"


def open_suite(
    path: Path | None, options: Mapping[str, str], *, seed: int, cache: Path | None = None
) -> LongMemEvalSuite:
    """Return the suite of a file; DatasetError or ConfigurationError for what cannot be used.

    `cache`: a folder in which the places of records may be remembered between runs.
    """
    if path is None:
        raise DatasetError(
            "LongMemEval is not shipped: download longmemeval_s_cleaned.json, or make questions with python -m "
            "pytest_ltm longmemeval-generate, and give --ltm-data=PATH"
        )
    choices = choices_of(options)
    return LongMemEvalSuite(LongMemEvalFile(path, cache and cache / FOLDER), choices, seed=seed)


def _own(asked: Sequence[Entry]) -> dict[str, dict[str, Entry]]:
    """Return thread -> example -> question, each in a thread of its own."""
    return {label: {"0": entry} for label, entry in _labelled(asked).items()}


def _shared(asked: Sequence[Entry], choices: Choices, seed: int) -> dict[str, dict[str, Entry]]:
    return {f"h{number}": _labelled(group) for number, group in enumerate(groups(asked, choices.share, seed=seed))}


def _labelled(entries: Sequence[Entry]) -> dict[str, Entry]:
    way_out = "Rename one, or choose with --ltm-longmemeval-ids"
    return labelled(entries, ids="question_ids", way_out=way_out)


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
