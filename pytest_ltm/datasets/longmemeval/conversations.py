"""LongMemEval as a suite: an entry per question type, a conversation per question or for many."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from pytest_ltm.api.model import PastExchange
from pytest_ltm.api.scenarios import (
    INDEX_FOLDER,
    Ask,
    Definition,
    KeptHistory,
    Suite,
    SuiteEntry,
    ToldConversation,
    Wait,
    told_after,
)
from pytest_ltm.api.storage import ConfigurationError, DatasetError, did_you_mean
from pytest_ltm.datasets.dataset_registry import TYPES
from pytest_ltm.datasets.longmemeval.record import (
    HistorySession,
    HistoryTurn,
    LongMemEvalFile,
    LongMemEvalRecord,
    RecordIndexEntry,
    ability_of,
)
from pytest_ltm.datasets.prompt_file import load_prompts
from pytest_ltm.datasets.rows import by_unique_label

OPENING = (
    "I am going to go through our earlier conversations with you, one after the other, each with its date. Remember "
    "what was said; a short acknowledgement will do. Afterwards I will ask you something."
)
"""The message that explains the conversation to come."""
NOBODY = "(no reply)"
"""The placeholder for a missing side of a round: a session may begin with the assistant."""


def session_history(sessions: Sequence[HistorySession]) -> list[PastExchange]:
    """Return the sessions as exchanges in order; the first of each is prefixed with the session's date."""
    history: list[PastExchange] = []
    for place, session in enumerate(sessions):
        history += round_exchanges(place, session)
    return history


def round_exchanges(place: int, session: HistorySession) -> Iterator[PastExchange]:
    """Yield the rounds of one session, the first prefixed with its date; `place`: its index in the history."""
    roles = [turn.role for turn in session.turns]
    # a new round begins where the user speaks after the assistant: either may have
    # several turns, or none
    begins = []
    for turn, pair in enumerate(pairwise(roles), start=1):
        if pair == ("assistant", "user"):
            begins.append(turn)
    date = f"[{session.when}] " if session.when else ""
    for number, (start, end) in enumerate(
        pairwise([0, *begins, len(roles)] if roles else [])
    ):
        turns = session.turns[start:end]
        user = _spoken_by("user", turns)
        assistant = _spoken_by("assistant", turns)
        # turn ids are numbered from 1 after the session's id, as in the published
        # retrieval corpora
        ids = tuple(f"{session.id}_{turn}" for turn in range(start + 1, end + 1))
        message = user if number else f"{date}{user}"
        as_question = f"{date}I said: {user}\nYou said: {assistant}"
        yield PastExchange(
            f"{place}.{number}", session.at, message, assistant, as_question, ids
        )


def _spoken_by(role: str, turns: Sequence[HistoryTurn]) -> str:
    return "\n".join(turn.content for turn in turns if turn.role == role) or NOBODY


# --- One history for many questions: the sessions of all, without repetition,
# interleaved by date.

Key: TypeAlias = "tuple[str, tuple[HistoryTurn, ...], str]"


def _merge_sessions(
    records: Iterable[LongMemEvalRecord],
) -> tuple[dict[Key, HistorySession], list[tuple[LongMemEvalRecord, list[Key]]]]:
    """Return the distinct sessions of all records by date, and the records without sessions, with evidence keys.

    A filler session shared by several records gets the date of the first that has it; an evidence session gets the date
    in that question's record. Sessions at the same moment keep their order of arrival. If sessions share an id but
    differ in words or date, all but the first are prefixed with their record's id.
    """
    evidence: dict[Key, tuple[str, HistorySession]] = {}
    fillers: dict[Key, tuple[str, HistorySession]] = {}
    bare = []
    for record in records:
        cited: dict[Key, None] = {}
        for session in record.sessions:
            if holds_evidence(session, record):
                key = (session.id, session.turns, session.when)
                evidence.setdefault(key, (record.id, session))
                cited[key] = None
            else:
                fillers.setdefault(
                    (session.id, session.turns, ""), (record.id, session)
                )
        bare.append((replace(record, sessions=()), list(cited)))
    evidence_keys = {key[:2] for key in evidence}
    session_by_key: dict[Key, HistorySession] = {}
    used_ids: set[str] = set()
    for key, (name, session) in [
        *evidence.items(),
        *(item for item in fillers.items() if item[0][:2] not in evidence_keys),
    ]:
        if session.id in used_ids:
            session_by_key[key] = replace(session, id=f"{name}/{session.id}")
        else:
            session_by_key[key] = session
        used_ids.add(session.id)
    return dict(sorted(session_by_key.items(), key=lambda item: item[1].at)), bare


def holds_evidence(session: HistorySession, record: LongMemEvalRecord) -> bool:
    """Return whether a session contains evidence for a record's question."""
    if session.id in record.answer_sessions:
        return True
    return any(turn.has_answer for turn in session.turns)


LATER = "its shared history continues after its date"


@dataclass(frozen=True, slots=True)
class PlacedQuestion:
    """One question, with the position of its evidence in the played history."""

    record: LongMemEvalRecord
    """Without its sessions if the history is shared."""
    sessions: tuple[str, ...]
    """Ids of the sessions with evidence, as played."""
    evidence: tuple[str, ...]
    """Ids of the turns with evidence: the marked ones, or all of these sessions."""
    wanted: tuple[str, ...]
    """Ids of the user's turns that a retriever should find; empty if retrieval is not measured."""
    after: int
    """The number of exchanges up to the last evidence; all of them without evidence."""
    notes: tuple[str, ...]
    """Warnings about the question, a sentence each."""


@dataclass(frozen=True, slots=True)
class HistoryWithQuestions:
    """A history with the questions about it."""

    past: Sequence[PastExchange]
    questions: Mapping[str, PlacedQuestion]
    """By id."""
    irregular: Mapping[str, tuple[int, ...]]
    """The numbers of the user's turns, for sessions where they are not the 1st, 3rd, 5th and so on."""


def told_alone(record: LongMemEvalRecord | None) -> HistoryWithQuestions:
    """Return a record's own history, as in its file but sorted by date; an empty one for None."""
    if record is None:
        return HistoryWithQuestions((), {}, {})
    cited = [session for session in record.sessions if holds_evidence(session, record)]
    past = session_history(record.sessions)
    placed = {record.id: _place_question(record, cited, past)}
    return HistoryWithQuestions(past, placed, _irregular_sessions(record.sessions))


def told_together(records: Iterable[LongMemEvalRecord]) -> HistoryWithQuestions:
    """Return one history for all records, which are consumed one at a time."""
    sessions, bare = _merge_sessions(records)
    past = session_history(list(sessions.values()))
    questions = {}
    for record, keys in bare:
        cited = [sessions[key] for key in keys]
        questions[record.id] = _place_question(record, cited, past)
    return HistoryWithQuestions(past, questions, _irregular_sessions(sessions.values()))


def _place_question(
    record: LongMemEvalRecord,
    cited: Sequence[HistorySession],
    past: Sequence[PastExchange],
) -> PlacedQuestion:
    turns = []
    for session in cited:
        for n, turn in enumerate(session.turns, start=1):
            turns.append((f"{session.id}_{n}", turn))
    marked = [(name, turn) for name, turn in turns if turn.has_answer]
    evidence = tuple(dict.fromkeys(name for name, _ in marked or turns))
    user_turns = tuple(name for name, turn in marked if turn.role == "user")
    later = bool(past) and past[-1].at > record.at and not record.sessions
    ids = tuple(dict.fromkeys(session.id for session in cited))
    notes = (*record.notes, *((LATER,) if later else ()))
    after = told_after(past, set(evidence))
    return PlacedQuestion(
        record, ids, evidence, () if record.abstention else user_turns, after, notes
    )


def _irregular_sessions(
    sessions: Iterable[HistorySession],
) -> dict[str, tuple[int, ...]]:
    numbers = {}
    for session in sessions:
        users = []
        for number, turn in enumerate(session.turns, start=1):
            if turn.role == "user":
                users.append(number)
        if users != list(range(1, len(session.turns) + 1, 2)):
            numbers[session.id] = tuple(users)
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class LongMemEvalOptions:
    """Values of the suite's options: which questions are asked, and how."""

    types: tuple[str, ...]
    """Empty for all."""
    abilities: tuple[str, ...]
    ids: tuple[str, ...]
    sample: int | None
    """The sample size, drawn with the seed; None for all."""
    history: str
    """`own` for a history per question, or `shared`."""
    share: int
    """The number of questions per shared history."""
    after: int | None
    """Tokens between the last evidence and a question; None to ask after the whole history."""
    judge: str
    """Which answers a judge gets, if there is one: `rest`, those that no rule decides, or `all`."""
    protocol: str
    """`ours`, or `official`: a judge decides all, as published."""
    prompts: str
    """The file with wordings of questions and judge prompts; "" for ours."""

    @property
    def shared(self) -> bool:
        """Whether many questions share one history."""
        return self.history == "shared"


def chosen_questions(
    entries: Sequence[RecordIndexEntry], choices: LongMemEvalOptions, *, seed: int
) -> Sequence[RecordIndexEntry]:
    """Return the questions to ask, in file order; ConfigurationError if none is left."""
    entry_by_id = {entry.id: entry for entry in entries}
    for name in choices.ids:
        if name not in entry_by_id:
            raise ConfigurationError(
                f"--ltm-suite=longmemeval?ids: no question {name!r}.{did_you_mean(name, entry_by_id)}"
            )
    chosen = []
    for entry in entries:
        if choices.ids and entry.id not in choices.ids:
            continue
        if choices.types and entry.type not in choices.types:
            continue
        ability = ability_of(entry.id, entry.type)
        if not choices.abilities or ability in choices.abilities:
            chosen.append(entry)
    if not chosen:
        raise ConfigurationError(
            "types, abilities and ids: together they leave no question"
        )
    if choices.sample is None or choices.sample >= len(chosen):
        return chosen
    drawn = Random(f"longmemeval {seed}").sample(range(len(chosen)), choices.sample)
    return [chosen[place] for place in sorted(drawn)]


def _question_notes(questions: Iterable[RecordIndexEntry]) -> Iterator[str]:
    for question in questions:
        if question.fault:
            yield question.fault
        else:
            for note in question.notes:
                yield f"{question.id}: {note}"


def group_by_history(
    entries: Sequence[RecordIndexEntry], size: int, *, seed: int
) -> list[Sequence[RecordIndexEntry]]:
    """Return the questions in groups that share a history, with sizes that differ by at most one.

    The groups are drawn with the seed; within a group, questions are in file order.
    """
    # drawn, because neighbours in the file are of one type, which would then share a
    # history
    mixed = list(entries)
    Random(f"longmemeval groups {seed}").shuffle(mixed)
    count = -(-len(mixed) // size)
    groups: list[Sequence[RecordIndexEntry]] = []
    for number in range(count):
        groups.append(sorted(mixed[number::count], key=lambda entry: entry.start))
    return groups


WORDING = 1
"""The version of the wordings of sessions and questions."""

LEGEND = (
    "LongMemEval: accuracy is its task average (the mean over the question types), `right` of all examples its overall "
    "accuracy, `abstention` that of the questions that cannot be answered; what could not be judged is left out"
)


def _kind_of(record: LongMemEvalRecord) -> str:
    """Return the kind of a question, as a file of prompts names it."""
    return "abstention" if record.abstention else record.type


class LongMemEvalSuite:
    """The questions of a LongMemEval file."""

    def __init__(
        self, file: LongMemEvalFile, choices: LongMemEvalOptions, *, seed: int
    ) -> None:
        self._file = file
        self._choices = choices
        kinds = dict.fromkeys((*TYPES, "abstention"), ("date",))
        self._prompts = (
            load_prompts(Path(choices.prompts), kinds) if choices.prompts else None
        )
        questions = chosen_questions(file.entries, choices, seed=seed)
        self._threads: dict[str, dict[str, RecordIndexEntry]] = {}
        if choices.shared:
            groups = group_by_history(questions, choices.share, seed=seed)
            for number, group in enumerate(groups):
                self._threads[f"h{number}"] = _label_entries(group)
        else:
            for label, entry in _label_entries(questions).items():
                self._threads[label] = {"0": entry}
        types = {entry.type for entry in questions}
        self._kinds = {kind.replace("-", "_"): kind for kind in TYPES if kind in types}
        entries = []
        for name in self._kinds:
            entries.append(SuiteEntry(scenario="_longmemeval_question", name=name))
        self.suite = Suite(
            name="longmemeval", path=str(file.path), entries=tuple(entries)
        )
        unread = sum(bool(entry.fault) for entry in questions)
        remark = f", {unread:,} of them cannot be read" if unread else ""
        text = (
            f"in {_count_of(len(self._threads), 'shared history', 'shared histories')}"
        )
        text = text if choices.shared else "each with a history of its own"
        self.title = f"{file.published or file.path.name}: {_count_of(len(questions), 'question')}{remark}, {text}"
        self.notes: Sequence[str] = (
            *self._protocol_notes(),
            *_question_notes(questions),
        )
        self.legend: Sequence[str] = (LEGEND,)
        """Explanations of the figures for readers of the report."""
        self._compiled = KeptHistory(self._compile)

    def _protocol_notes(self) -> Iterator[str]:
        """Yield notes on wordings and rules that are not ours."""
        if self._prompts:
            yield self._prompts.note
        elif self._choices.protocol == "official":
            yield (
                "protocol=official without prompts=FILE: a judge decides all, but in our words, so that figures do not "
                "compare with published ones"
            )

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return thread and example of all questions of a type."""
        kind = self._kinds[entry]
        places = []
        for thread, questions in self._threads.items():
            for label, question in questions.items():
                if question.type == kind:
                    places.append((thread, label))
        return places

    def told(self, thread: str) -> ToldConversation:
        """Return the sessions of a conversation, without those of questions with unreadable records."""
        history, _ = self._compiled(thread)
        ids = [entry.id for entry in self._threads[thread].values()]
        digests = "".join(map(self._file.digest, history.questions))
        described = {
            "data": "longmemeval",
            "questions": ids,
            "sha256": hashlib.sha256(digests.encode()).hexdigest(),
            "shared": self._choices.shared,
            "wording": WORDING,
        }
        if self._prompts:
            described["prompts"] = self._prompts.sha256
        return ToldConversation(
            history=history.past,
            opening=(self._prompts and self._prompts.opening) or OPENING,
            described=described,
        )

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the option that selects the question; empty for a shared history, which needs all questions."""
        if self._choices.shared:
            return {}
        return {"ids": self._threads[thread]["0"].id}

    def definition(self, entry: str, thread: str, example: str) -> Definition:  # noqa: ARG002 - the thread says all
        """Return one question, asked at its date; one dated before the end of the history is asked at once.

        DatasetError if its record is unreadable.
        """
        history, faults = self._compiled(thread)
        name = self._threads[thread][example].id
        if name in faults:
            raise DatasetError(faults[name])
        question = history.questions[name]
        record = history.questions[name].record
        told_turns: set[str] = set()
        for exchange in history.past:
            told_turns.update(exchange.holds)
        user_turns = {}
        if question.wanted:
            for session, turns in history.irregular.items():
                user_turns[session] = list(turns)
        if self._choices.after is not None:
            waits = [Wait(history=question.after), Wait(tokens=self._choices.after)]
        else:
            late = record.at - history.past[-1].at if history.past else timedelta(0)
            waits = [
                Wait(history=len(history.past)),
                *([Wait(time=late)] if late > timedelta(0) else []),
            ]
        return Definition(
            steps=(
                *waits,
                Ask(
                    self._wording_of(record),
                    tuple(turn for turn in question.evidence if turn in told_turns),
                ),
            ),
            expected=record.answer,
            parameters={
                "id": record.id,
                "type": record.type,
                "ability": ability_of(record.id, record.type),
                "question": record.question,
                "date": record.when,
                "evidence_sessions": list(question.sessions),
                "evidence_turns": list(question.evidence),
                "wanted_turns": list(question.wanted),
                "user_turns": user_turns,
                "judge": self._choices.judge,
                "notes": list(question.notes),
                **(self._prompts.facts_of(_kind_of(record)) if self._prompts else {}),
            },
        )

    def _wording_of(self, record: LongMemEvalRecord) -> str:
        """Return the wording of a question: that of the file, or its text prefixed with the date."""
        parts = {"question": record.question, "date": record.when}
        wording = self._prompts and self._prompts.ask(_kind_of(record), **parts)
        return wording or f"[{record.when}] {record.question}"

    def _compile(self, thread: str) -> tuple[HistoryWithQuestions, Mapping[str, str]]:
        """Return the history of a conversation, and the faults of its records by question."""
        faults: dict[str, str] = {}

        def readable() -> Iterator[LongMemEvalRecord]:
            for entry in self._threads[thread].values():
                try:
                    yield self._file.record(entry.id)
                except DatasetError as error:  # costs this question, not the run
                    faults[entry.id] = str(error)

        records = readable()
        return told_together(records) if self._choices.shared else told_alone(
            next(records, None)
        ), faults


def open_suite(
    path: Path | None, values: Mapping[str, Any], seed: int, cache: Path | None
) -> LongMemEvalSuite:
    """Open the suite of a file; DatasetError or ConfigurationError for unusable values.

    `cache`: a folder in which the positions of records may be kept between runs.
    """
    if path is None:
        raise DatasetError(
            "LongMemEval is not shipped: download longmemeval_s_cleaned.json, or make questions with python -m "
            "pytest_ltm data longmemeval-generate, and give --ltm-suite='longmemeval?data=PATH'"
        )
    return LongMemEvalSuite(
        LongMemEvalFile(path, cache and cache / INDEX_FOLDER),
        LongMemEvalOptions(**values),
        seed=seed,
    )


def _label_entries(entries: Sequence[RecordIndexEntry]) -> dict[str, RecordIndexEntry]:
    way_out = "Rename one, or choose with ids=NAME"
    return by_unique_label(
        {entry.id: entry for entry in entries}, ids="question_ids", way_out=way_out
    )


def _count_of(count: int, singular: str, many: str = "") -> str:
    return f"{count:,} {singular if count == 1 else many or singular + 's'}"
