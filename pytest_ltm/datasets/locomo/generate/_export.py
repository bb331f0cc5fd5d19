"""A generated conversation as LoCoMo's JSON: fields and dates as the published file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._dates import MONTHS, written
from pytest_ltm.datasets.locomo.generate import _texts
from pytest_ltm.datasets.locomo.generate._talk import HAPPENED, happening
from pytest_ltm.datasets.locomo.generate._when import meaning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm.datasets.locomo.generate._asked import Asked
    from pytest_ltm.datasets.locomo.generate._graph import World
    from pytest_ltm.datasets.locomo.generate._talk import Reveal, Said

_Sessions = tuple[tuple["Said", ...], ...]


def exported(name: str, world: World, sessions: _Sessions, asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the record of one conversation."""
    numbered = list(enumerate(sessions, start=1))
    return {
        "qa": [question(one.category, one.text, one.gold, one.evidence) for one in asked],
        "conversation": conversation(world.speakers, world.dates, [[_turn(one) for one in said] for said in sessions]),
        "event_summary": {f"events_session_{n}": _events(world, n) for n, _ in numbered},
        "observation": {f"session_{n}_observation": _observations(world, said) for n, said in numbered},
        "session_summary": {f"session_{n}_summary": _summary(world, n, said) for n, said in numbered},
        "sample_id": name,
    }


def question(category: Category, text: str, gold: str, evidence: Sequence[str]) -> dict[str, Any]:
    """Return a question's record; the gold of an adversarial one is what it wrongly suggests."""
    if category is Category.ADVERSARIAL:
        return {
            "question": text, "evidence": list(evidence), "category": int(category), "adversarial_answer": gold,
        }  # fmt: skip
    answer = int(gold) if gold.isdecimal() else gold  # as the published file has years
    return {"question": text, "answer": answer, "evidence": list(evidence), "category": int(category)}


def conversation(
    speakers: tuple[str, str], dates: Sequence[Any], sessions: Sequence[Sequence[dict[str, Any]]]
) -> dict[str, Any]:
    """Return the record of what was said."""
    found: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
    for number, (at, turns) in enumerate(zip(dates, sessions, strict=True), start=1):
        found[f"session_{number}_date_time"] = written(at)
        found[f"session_{number}"] = list(turns)
    return found


def _turn(said: Said) -> dict[str, Any]:
    photo = {"blip_caption": said.caption} if said.caption else {}
    return {"speaker": said.speaker, **photo, "dia_id": said.id, "text": said.text}


def _events(world: World, number: int) -> dict[str, Any]:
    at = world.dates[number - 1]
    found: dict[str, Any] = {
        who: [
            f"{who} {happening(event)}."
            for event in world.events
            if event.who == who and event.session == number and event.on
        ]
        for who in world.speakers
    }
    return {**found, "date": f"{at.day} {MONTHS[at.month - 1]}, {at.year}"}


def _observations(world: World, said: Sequence[Said]) -> dict[str, list[list[str]]]:
    return {
        who: [[text, turn.id] for turn in said if turn.speaker == who for text in _notes(world, turn)]
        for who in world.speakers
    }


def _notes(world: World, turn: Said) -> Iterator[str]:
    for reveal in turn.reveals:
        if reveal.what == HAPPENED:
            yield _statement(world, reveal)
        for detail in _texts.kinds()[reveal.event.kind].details:
            if detail.role == reveal.what and detail.ask:
                shown = f" (the photo shows {turn.caption.removeprefix('a photo of ')})" if turn.caption else ""
                yield f'{_subject(reveal)} - "{detail.ask}" {turn.speaker} said: "{turn.text}"{shown}'


def _subject(reveal: Reveal) -> str:
    return f"{reveal.event.who} {happening(reveal.event)}"


def _statement(world: World, reveal: Reveal) -> str:
    event = reveal.event
    told = world.dates[event.session - 1].date()
    if event.on:
        return f"{_subject(reveal)} ({meaning(reveal.value, told)})."
    tell = _texts.kinds()[event.kind].tell.format(**event.roles)
    return f"{_subject(reveal)}." if _texts.kinds()[event.kind].gist else f'{event.who} said: "{tell}"'


def _summary(world: World, number: int, said: Sequence[Said]) -> str:
    one, two = world.speakers
    notes = [_statement(world, r) for turn in said for r in turn.reveals if r.what == HAPPENED]
    return f"{one} and {two} talked at {written(world.dates[number - 1])}. " + " ".join(notes)
