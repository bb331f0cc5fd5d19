"""One conversation made from templates: world, sessions and questions, all from one random generator."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from msgspec import Struct, structs

from pytest_ltm.api.storage import DatasetError
from pytest_ltm.datasets.locomo.samples import Category, format_locomo_date, written_day
from pytest_ltm.lab.locomo.dialogue_text import (
    HAPPENED,
    GeneratedTurn,
    Reveal,
    event_phrase,
    write_sessions,
)
from pytest_ltm.lab.locomo.questions import GeneratedQuestion, generate_questions
from pytest_ltm.lab.locomo.world import (
    SHORTEST,
    World,
    load_texts,
    phrase_meaning,
    session_outlines,
    tellable_kinds,
    weave_world,
)


def conversation_record(
    name: str,
    speakers: tuple[str, str],
    dates: Sequence[datetime],
    sessions: Sequence[Sequence[Any]],
    qa: list[dict[str, Any]],
    events: Sequence[Any],
    observations: Sequence[Any],
    summaries: Sequence[Any],
) -> dict[str, Any]:
    """Return the record of one conversation; everything but the questions is by session."""
    fields: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
    for number, (day, turns) in enumerate(zip(dates, sessions, strict=True), start=1):
        fields |= {
            f"session_{number}_date_time": format_locomo_date(day),
            f"session_{number}": list(turns),
        }
    return {
        "qa": qa,
        "conversation": fields,
        "event_summary": _by_session("events_session_{}", events),
        "observation": _by_session("session_{}_observation", observations),
        "session_summary": _by_session("session_{}_summary", summaries),
        "sample_id": name,
    }


def _by_session(name: str, entries: Sequence[Any]) -> dict[str, Any]:
    return {name.format(n): entry for n, entry in enumerate(entries, start=1)}


def question_record(
    category: Category, text: str, gold: str, evidence: Sequence[str]
) -> dict[str, Any]:
    """Return a question's record; the gold of an adversarial one is its wrong suggestion."""
    fields: dict[str, Any] = {"question": text}
    if category is not Category.ADVERSARIAL:
        # as years in the published file
        fields["answer"] = int(gold) if gold.isdecimal() else gold
    fields["evidence"] = list(evidence)
    fields["category"] = int(category)
    if category is Category.ADVERSARIAL:
        fields["adversarial_answer"] = gold
    return fields


def _event_statement(world: World, reveal: Reveal) -> str:
    event = reveal.event
    told_day = world.dates[event.session - 1].date()
    kind = tellable_kinds()[event.kind]
    if event.on:
        return f"{event.who} {event_phrase(event)} ({phrase_meaning(reveal.value, told_day)})."
    if kind.gist:
        return f"{event.who} {event_phrase(event)}."
    return f'{event.who} said: "{kind.tell.format(**event.roles)}"'


def _turn_notes(world: World, turn: GeneratedTurn) -> Iterator[str]:
    for reveal in turn.reveals:
        if reveal.role == HAPPENED:
            yield _event_statement(world, reveal)
        for detail in tellable_kinds()[reveal.event.kind].details:
            if detail.role == reveal.role and detail.ask:
                head = f"{reveal.event.who} {event_phrase(reveal.event)}"
                note = f'{head} - "{detail.ask}" {turn.speaker} said: "{turn.text}"'
                if turn.caption:
                    content = turn.caption.removeprefix("a photo of ")
                    note += f" (the photo shows {content})"
                yield note


TURNS, SESSIONS = 588, 27
"""Turns of a published conversation, on average."""
_TURNS_FOR_A_QUESTION = 3
_TOKENS_OF_A_TURN = 28
# It gives the published conversations the 16,641 tokens of text that the paper states.
_TOKENIZER = "cl100k_base"
_OFF = 0.02
_TRIES = 12


class Size(Struct, frozen=True, kw_only=True):
    """The intended length of a conversation; DatasetError for impossible values."""

    sessions: int = SESSIONS
    turns: int = TURNS
    """Number of turns in the whole conversation."""
    questions: int | None = None
    """The maximum; None for one per three turns, as in the published file."""

    def __post_init__(self) -> None:
        if self.sessions < 1 or self.turns < SHORTEST * self.sessions:
            raise DatasetError(
                f"{self.turns} turns cannot be shared among {self.sessions} sessions: each has {SHORTEST} at least. "
                f"Ask for more turns or fewer sessions"
            )
        if self.questions is not None and self.questions < 0:
            raise DatasetError(f"cannot make {self.questions} questions")

    @property
    def max_questions(self) -> int:
        """The maximum number of questions."""
        if self.questions is None:
            return self.turns // _TURNS_FOR_A_QUESTION
        return self.questions


class Generated(Struct, frozen=True):
    """A conversation with all its underlying data."""

    id: str
    world: World
    sessions: tuple[tuple[GeneratedTurn, ...], ...]
    questions: tuple[GeneratedQuestion, ...]

    @property
    def turns(self) -> tuple[GeneratedTurn, ...]:
        """All turns in order."""
        return tuple(chain.from_iterable(self.sessions))

    def as_json(self) -> dict[str, Any]:
        """Return the conversation in the form of a LoCoMo file."""
        world = self.world
        qa = []
        for question in self.questions:
            qa.append(
                question_record(
                    question.category, question.text, question.gold, question.evidence
                )
            )
        turns = []
        events = []
        observations = []
        summaries = []
        for number, (session, day) in enumerate(
            zip(self.sessions, world.dates, strict=True), start=1
        ):
            phrases: dict[str, list[str]] = {speaker: [] for speaker in world.speakers}
            for event in world.events:
                if event.session == number and event.on:
                    phrases[event.who].append(f"{event.who} {event_phrase(event)}.")
            notes: dict[str, list[Any]] = {speaker: [] for speaker in world.speakers}
            summary = (
                f"{' and '.join(world.speakers)} talked at {format_locomo_date(day)}."
            )
            for turn in session:
                for note in _turn_notes(world, turn):
                    notes[turn.speaker].append([note, turn.id])
                for reveal in turn.reveals:
                    if reveal.role == HAPPENED:
                        summary += f" {_event_statement(world, reveal)}"
            turns.append([turn.as_json() for turn in session])
            events.append({**phrases, "date": written_day(day)})
            observations.append(notes)
            summaries.append(summary)
        return conversation_record(
            self.id,
            world.speakers,
            world.dates,
            turns,
            qa,
            events,
            observations,
            summaries,
        )


def of_tokens(tokens: int, sessions: int | None, rng: random.Random) -> Size:
    """Return a size with about that many tokens; by default with as many sessions as fit."""
    turns = round(tokens / _TOKENS_OF_A_TURN)
    fitting = max(1, round(turns * SESSIONS / TURNS)) if sessions is None else sessions
    sizes: dict[float, Size] = {}
    for _ in range(_TRIES):
        size = Size(sessions=fitting, turns=max(turns, SHORTEST * fitting), questions=0)
        # the trial must be exactly the conversation that is generated later
        probe = random.Random()
        probe.setstate(rng.getstate())
        counted = tokens_of(generate_conversation("", size, probe))
        sizes[abs(counted - tokens)] = size
        if abs(counted - tokens) <= _OFF * tokens:
            break
        # another number of turns yields another conversation, whose turns may be longer
        # or shorter
        turns += round((tokens - counted) / _TOKENS_OF_A_TURN) or (
            1 if counted < tokens else -1
        )
    return structs.replace(sizes[min(sizes)], questions=None)


def tokens_of(generated: Generated) -> int:
    """Return the tokens of the utterances, as counted in the paper: without speakers and captions."""
    from pytest_ltm.api.model import token_counter

    return token_counter(_TOKENIZER).count(
        "\n".join(turn.text for turn in generated.turns)
    )


def generate_conversation(name: str, size: Size, rng: random.Random) -> Generated:
    """Generate a conversation with this id."""
    first, second = rng.sample(load_texts("personas")["names"], 2)
    plan = session_outlines(size.sessions, size.turns, rng)
    world = weave_world((first, second), plan, rng)
    sessions = write_sessions(world, plan, rng)
    turns = list(chain.from_iterable(sessions))
    place_by_event = {}
    for place, turn in enumerate(turns):
        for reveal in turn.reveals:
            if reveal.role == HAPPENED:
                place_by_event[reveal.event.id] = place
    world = structs.replace(
        world,
        events=tuple(sorted(world.events, key=lambda event: place_by_event[event.id])),
    )
    questions = generate_questions(world, turns, size.max_questions, rng)
    return Generated(name, world, tuple(map(tuple, sessions)), tuple(questions))
