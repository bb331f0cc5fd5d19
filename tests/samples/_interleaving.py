"""A small loop for the reader's tests: plays definitions with their steps in random order, without the engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from pytest_ltm.scenarios.jokes import length

from pytest_ltm.agents.reader.reader import Reader
from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import Definition, Say, Wait
from pytest_ltm.evaluators import NamesColour, QuoteAtReply, RecallsJoke
from pytest_ltm.fillers.quiz import QuizFact, message_of, reply_of

RESETS = {
    "colours": "Please forget everything that I told you about my favourite colour.",
    "jokes": "Thank you. You can forget the jokes that I have told you so far.",
    "prospective_memory": "Forget my request to add a line to one of your replies, and the line as well.",
}


@dataclass
class Talk:
    """One conversation with a reader: its clock, its replies and the delivery of filler."""

    reader: Reader
    rng: random.Random
    now: datetime = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)
    watching: int = 0

    def __post_init__(self) -> None:
        self.replies: list[str] = []

    def send(self, text: str) -> str:
        self.reader.tell_time(self.now)
        self.replies.append(self.reader.reply(text))
        return self.replies[-1]

    def fill(self, lines: int) -> None:
        numbers = [
            (self.rng.randrange(1000), self.rng.randrange(1000)) for _ in range(lines)
        ]
        message = message_of(
            [QuizFact(f"What is {a} plus {b}?", str(a + b)) for a, b in numbers]
        )
        answers = reply_of([str(a + b) for a, b in numbers])
        if self.watching or self.rng.random() < 0.5:
            assert self.send(message).startswith(answers)
        else:
            self.reader.tell_time(self.now)
            self.reader.accept(message, answers)
            self.replies.append(answers)


Step = Iterator[datetime | None]
Verdict = Score | Unscored | None


def play(
    chains: dict[str, list[Definition]],
    reader: Reader,
    *,
    seed: int,
    filler_lines: int = 3,
    resets: dict[str, str] = RESETS,
) -> dict[str, list[float]]:
    """Return the scores by scenario; examples of one scenario run in sequence, all else is interleaved at random."""
    talk = Talk(reader, random.Random(f"talk {seed}"))
    scores: dict[str, list[float]] = {name: [] for name in chains}
    running = {
        name: _chain(name, definitions, talk, scores[name], resets.get(name, ""))
        for name, definitions in sorted(chains.items())
    }
    due: dict[str, datetime] = dict.fromkeys(running, talk.now)
    while running:
        talk.fill(
            talk.rng.randint(1, filler_lines)
        ) if talk.rng.random() < 0.3 else None
        ready = [name for name in running if due[name] <= talk.now]
        if not ready:
            talk.now = min(due[name] for name in running)
            continue
        name = talk.rng.choice(ready)
        try:
            due[name] = next(running[name]) or talk.now
        except StopIteration:
            del running[name]
    return scores


def _chain(
    name: str,
    definitions: list[Definition],
    talk: Talk,
    scores: list[float],
    reset: str,
) -> Step:
    for definition in definitions:
        yield from _BODIES[name](definition, talk, scores)
        if reset:
            talk.send(reset)


def _colours(definition: Definition, talk: Talk, scores: list[float]) -> Step:
    answer = ""
    for step in definition.steps:
        if isinstance(step, Wait):
            yield _later(step, talk)
        else:
            answer = talk.send(step.text)
    _note(scores, NamesColour(definition.expected)([answer]))


def _jokes(definition: Definition, talk: Talk, scores: list[float]) -> Step:
    told_at = talk.now
    for step in definition.steps:
        if isinstance(step, Wait):
            yield _later(step, talk)
            continue
        if isinstance(step, Say) and definition.expected in step.text:
            told_at = talk.now
        talk.send(step.text)
    question = definition.parameters.get(
        "question", "Which joke did I tell you about {elapsed} ago?"
    )
    answer = talk.send(question.format(elapsed=length(talk.now - told_at)))
    others = tuple(
        step.text
        for step in definition.steps
        if isinstance(step, Say) and definition.expected not in step.text
    )
    _note(scores, RecallsJoke(definition.expected, others)([answer]))


def _prospective(definition: Definition, talk: Talk, scores: list[float]) -> Step:
    since = 0
    for step in definition.steps:
        if isinstance(step, Wait):
            yield _later(step, talk)
        else:
            since = len(talk.replies)
            talk.send(step.text)
    watcher = QuoteAtReply(definition.expected["quote"], definition.expected["nth"])
    talk.watching += 1
    while len(talk.replies) < since + definition.expected["nth"]:
        yield None
        if talk.rng.random() < 0.5:
            talk.fill(1)
    talk.watching -= 1
    _note(
        scores,
        watcher.verdict(talk.replies[since : since + definition.expected["nth"]]),
    )


def _later(wait: Wait, talk: Talk) -> datetime:
    return (
        talk.now
        + wait.time
        + timedelta(minutes=talk.rng.randrange(3) if wait.time else 0)
    )


def _note(scores: list[float], verdict: Verdict) -> None:
    assert isinstance(verdict, Score), verdict
    scores.append(verdict.value)


_BODIES: dict[str, Callable[[Definition, Talk, list[float]], Step]] = {
    "colours": _colours,
    "jokes": _jokes,
    "prospective_memory": _prospective,
}
