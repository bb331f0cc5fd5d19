"""Logs as a suite: an entry per kind of question, a conversation per user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from pytest_ltm.api.scenarios import (
    Ask,
    Definition,
    KeptHistory,
    Suite,
    SuiteEntry,
    ToldConversation,
    Wait,
)
from pytest_ltm.api.storage import ConfigurationError, DatasetError, did_you_mean
from pytest_ltm.datasets.logs.log_file import (
    EVERYBODY,
    LogQuestion,
    LogsFile,
    LogUser,
    ToldSessions,
)
from pytest_ltm.datasets.rows import by_unique_label

OPENING = (
    "I am going to go through earlier conversations with you, one after the other, each with its date. Remember what "
    "was said; a short acknowledgement will do. Later I will ask you about it."
)
"""The message that explains the conversation to come."""
WORDING = 1
"""The version of the wordings of sessions and questions."""
LEGEND = "Logs: questions without a gold answer are asked, and have no score"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsOptions:
    """Values of the suite's options: which questions are asked, and how."""

    users: tuple[str, ...]
    """Empty for all."""
    kinds: tuple[str, ...]
    ids: tuple[str, ...]
    after: int | None
    """Tokens between the evidence and a question; None to ask at its date, or after all sessions."""
    judge: str
    """Which answers a judge gets, if there is one: `rest`, those that no rule decides, or `all`."""
    protocol: str
    """`ours`, or `official`: the published scorer's figure is the score, unless it uses a model."""


class LogsSuite:
    """The questions of a file of logs."""

    family = "logs"
    """The data set whose options it has, whatever its own name."""

    def __init__(
        self,
        file: LogsFile,
        choices: LogsOptions,
        *,
        name: str = "logs",
        scorer: str = "",
    ) -> None:
        file.check()
        self._file = file
        self._choices = choices
        self._scorer = scorer
        self._threads = _chosen_threads(file, choices)
        questions: list[LogQuestion] = []
        total = 0
        for user, chosen in self._threads.values():
            questions += chosen.values()
            total += len(file.users[user].sessions)
        entries = []
        for kind in sorted({question.kind for question in questions}):
            entries.append(SuiteEntry(scenario="_logs_question", name=kind))
        self.suite = Suite(name=name, path=str(file.path), entries=tuple(entries))
        users = f" of {len(self._threads)} users" if len(self._threads) > 1 else ""
        if file.header and file.header.source:
            source = file.header.source
        else:
            source = file.path.name
        self.title = (
            f"{source}: {len(questions):,} questions{users}, {total:,} sessions"
        )
        self.notes: Sequence[str] = tuple(file_notes(file))
        self.legend: Sequence[str] = (LEGEND,)
        self._history = KeptHistory(
            lambda thread: file.history(self._threads[thread][0])
        )

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return thread and example of all questions of a kind."""
        places = []
        for thread, (_, questions) in self._threads.items():
            for label, question in questions.items():
                if question.kind == entry:
                    places.append((thread, label))
        return places

    def told(self, thread: str) -> ToldConversation:
        """Return the sessions of a user."""
        return ToldConversation(
            history=self._history(thread),
            opening=(self._file.header and self._file.header.opening) or OPENING,
            described={
                "data": "logs",
                "sha256": self._file.digest(self._threads[thread][0]),
                "wording": WORDING,
            },
        )

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the option that selects the user, if the file names users."""
        user = self._threads[thread][0]
        return {"users": user} if user else {}

    def definition(self, entry: str, thread: str, example: str) -> Definition:  # noqa: ARG002 - the thread says all
        """Return one question, asked at its date before later sessions, or after all of them without a date."""
        name, questions = self._threads[thread]
        past = self._history(thread)
        log_question = questions[example]
        sessions = self._file.users[name].sessions
        evidence: list[str] = []
        for cited in log_question.evidence:
            evidence += sessions[cited].turn_ids if cited in sessions else [cited]
        date = f"[{log_question.asked.written}] " if log_question.asked else ""
        options = ""
        for letter, text in log_question.options.items():
            options += f"\n({letter}) {text}"
        images = (
            [str(self._file.path.parent / log_question.image)]
            if log_question.image
            else ()
        )
        alone = log_question.asks == "alone" if log_question.asks else None
        question = Ask(
            f"{date}{log_question.text}{options}",
            tuple(evidence),
            alone=alone,
            images=images,
        )
        more = {
            "options": log_question.options,
            "claims": list(log_question.claims),
            "tolerance": log_question.tolerance,
        }
        more |= {
            "match": log_question.match if log_question.match != "answer" else "",
            "scorer": self._scorer,
            "official": log_question.official.rule if log_question.official else "",
            "official_gold": list(log_question.official.gold)
            if log_question.official
            else [],
            "protocol": self._choices.protocol.replace("ours", ""),
        }
        return Definition(
            steps=(*self._waits(past, log_question, evidence), question),
            expected=list(log_question.golds),
            parameters={
                "id": log_question.id,
                "kind": log_question.kind,
                "question": log_question.text,
                "never_told": log_question.never_told,
                "evidence": list(log_question.evidence),
                "judge": self._choices.judge,
                **{name: value for name, value in more.items() if value},
            },
        )

    def _waits(
        self, past: ToldSessions, question: LogQuestion, evidence: Sequence[str]
    ) -> tuple[Wait, ...]:
        if self._choices.after is not None:
            return Wait(history=past.told_after(evidence)), Wait(
                tokens=self._choices.after
            )
        if question.after:
            return (Wait(history=past.told_with(question.after)),)
        if question.asked is None:
            return (Wait(history=len(past)),)
        are_told = [place.is_told_by(question.asked) for place in past.places]
        # with several zones, days may be mixed: include sessions of the question's day
        # and all before them
        sessions = len(are_told) - are_told[::-1].index(True) if any(are_told) else 0
        total = past.told_by(sessions)
        last = past.places[-1]
        late = last.question_time(question.asked) - last.at
        return Wait(history=total), *((Wait(time=late),) if late > timedelta(0) else ())


def file_notes(file: LogsFile) -> Iterator[str]:
    """Yield warnings about a file that can be played."""
    yield from file.header.notes if file.header else ()
    if file.disorder:
        yield f"sessions out of order: {file.disorder:,}; they are played by date"
    open_count = 0
    for question in _all_questions(file):
        if not (question.golds or question.claims or question.never_told):
            open_count += 1
    if open_count:
        yield f"questions without a gold answer: {open_count:,}; they are asked, and have no score"


def _all_questions(file: LogsFile) -> list[LogQuestion]:
    questions: list[LogQuestion] = []
    for user in file.users.values():
        questions += user.questions.values()
    return questions


def _chosen_threads(
    file: LogsFile, choices: LogsOptions
) -> dict[str, tuple[str, dict[str, LogQuestion]]]:
    """Return user and questions by thread and label; ConfigurationError if none is left."""
    all_questions = _all_questions(file)
    names_by_option = {
        "users": set(file.users),
        "kinds": {log_question.kind for log_question in all_questions},
        "ids": {log_question.id for log_question in all_questions},
    }
    for option, names in names_by_option.items():
        for name in getattr(choices, option):
            if name not in names:
                guess = did_you_mean(name, names)
                raise ConfigurationError(
                    f"--ltm-suite=logs?{option}: {file.path} has no {name!r}.{guess}"
                )
    result = {}
    for name, user in file.users.items():
        questions = _chosen_questions(user, choices)
        if questions and (not choices.users or name in choices.users):
            result[name or EVERYBODY] = (
                name,
                by_unique_label(questions, ids="ids", way_out="Rename one"),
            )
    if not all_questions:
        raise DatasetError(
            f"{file.path}: holds no question: add lines such as {EXAMPLE}"
        )
    if not result:
        raise ConfigurationError(
            "users, kinds and ids: together they leave no question"
        )
    return by_unique_label(
        result, ids="users", way_out="Rename one, or choose with users=NAME"
    )


def _chosen_questions(user: LogUser, choices: LogsOptions) -> dict[str, LogQuestion]:
    questions = {}
    for question in user.questions.values():
        if choices.kinds and question.kind not in choices.kinds:
            continue
        if not choices.ids or question.id in choices.ids:
            questions[question.id] = question
    return questions


EXAMPLE = '{"question": "When does Ann fly?", "gold": "on Tuesday", "evidence": ["s1"]}'
"""A line with a question."""


def open_suite(
    path: Path | None,
    values: Mapping[str, Any],
    _seed: int = 0,
    _cache: Path | None = None,
    *,
    name: str = "logs",
    scorer: str = "",
) -> LogsSuite:
    """Open the suite of a file; DatasetError or ConfigurationError for unusable values."""
    if path is None:
        raise DatasetError(
            "no logs: give --ltm-suite='logs?data=FILE.jsonl', or make one of a chat export with ltm data convert"
        )
    return LogsSuite(LogsFile(path), LogsOptions(**values), name=name, scorer=scorer)
