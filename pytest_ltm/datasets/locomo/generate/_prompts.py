"""What a model is asked to write, step by step; every answer is to be JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_JSON = "Answer with one JSON value and nothing else. It has this form: "


def persona(name: str, other: Mapping[str, Any] | None) -> str:
    """Ask for a person, unlike the other one."""
    unlike = f"\nThe other speaker, whose work, family and pastimes must differ:\n{_shown(other)}" if other else ""
    form = (
        '{"about": "...", "traits": ["..."], "pastimes": ["..."], "people": {"name": "who that is"}, "plans": ["..."]}'
    )
    return (
        f"Invent {name}, an ordinary adult who will write to a friend for months. Be concrete: work, home town, "
        f"family with names, three pastimes, two lasting traits, two plans.{unlike}\n{_JSON}{form}"
    )


def events(name: str, about: Mapping[str, Any], first: str, last: str, count: int) -> str:
    """Ask for a timeline in which some events come of earlier ones."""
    form = '[{"id": "e1", "date": "YYYY-MM-DD", "event": "one sentence", "causes": ["ids of earlier events"]}]'
    return (
        f"This is {name}:\n{_shown(about)}\nWrite {count} events of this person's life from {first} to {last}, in "
        "the order of their dates. At least every second one results from an earlier one; a few change what was true "
        "before (a new address, a new job). Name places, people, things and numbers.\n"
        f"{_JSON}{form}"
    )


def session(
    speakers: Sequence[str],
    personas: Mapping[str, Any],
    when: str,
    news: Mapping[str, Sequence[str]],
    memory: Mapping[str, Any],
    turns: int,
) -> str:
    """Ask for one sitting: what is new, told with relative dates, by people who remember the earlier ones."""
    form = '[{"speaker": "...", "text": "...", "photo": "what a shared photo shows, or leave it out"}]'
    return (
        f"{speakers[0]} and {speakers[1]} are friends who chat. Personas:\n{_shown(personas)}\n"
        f"What they remember of earlier chats:\n{_shown(memory)}\nIt is {when}. What has happened to each since:\n"
        f"{_shown(news)}\nWrite their chat of exactly {turns} turns, the two in turns, {speakers[0]} first. Each tells "
        "their own news in their own words, with days as people say them (yesterday, last Friday). Nobody contradicts "
        "the personas, the events or the memories; nobody claims what befell the other. One or two photos are shared."
        f"\n{_JSON}{form}"
    )


def reflection(speakers: Sequence[str], when: str, turns: Sequence[Mapping[str, Any]]) -> str:
    """Ask what is worth remembering of a sitting."""
    form = json.dumps({"summary": "...", "observations": {name: [["fact", "turn id"]] for name in speakers}})
    return (
        f"A chat of {when}:\n{_lines(turns)}\nSum it up in under a hundred words, and list for each speaker the facts "
        f"that they told about themselves, each with the id of the turn that says it.\n{_JSON}{form}"
    )


def questions(speakers: Sequence[str], when: str, turns: Sequence[Mapping[str, Any]], earlier: str, count: int) -> str:
    """Ask for questions about a sitting and what was known before it."""
    form = '[{"category": "single-hop", "question": "...", "answer": "...", "evidence": ["turn ids"]}]'
    return (
        f"Facts of earlier chats, with the ids of their turns:\n{earlier}\nThe chat of {when}:\n{_lines(turns)}\n"
        f"Write {count} questions that test whether somebody remembers all this. Call {speakers[0]} and {speakers[1]} "
        "by name. Categories: multi-hop (needs two or more turns; a list with commas), temporal (the answer is a date "
        "such as 7 May 2023, a month or a year, worked out from the date of the chat), open-domain (follows from what "
        "is said and common knowledge), single-hop (one turn; the answer in its words), adversarial (asks one speaker "
        "about what only the other has, so that it has no answer; `answer` is the tempting wrong one, `evidence` what "
        f"tempts). Use each category in turn. Answers are short phrases.\n{_JSON}{form}"
    )


def again(prompt: str, answer: str, wrong: str) -> str:
    """Ask once more, saying what was wrong."""
    began = f"Your last answer began:\n{answer[:600]}"
    return f"{prompt}\n\n{began}\nIt cannot be used: {wrong}\nAnswer again, with all of it."


def _lines(turns: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"{one['dia_id']} {one['speaker']}: {one['text']}"
        + (f" [photo: {one['blip_caption']}]" if "blip_caption" in one else "")
        for one in turns
    )


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
