"""Evidence sessions written by a model: the question, its gold and what must be said are ours, the words are not.

What the model wrote is checked: everything that the question needs stands in the marked turn, and in no other of the
user's.
"""

from __future__ import annotations

import re
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._storage.schema import load
from pytest_ltm._text.words import content_stems
from pytest_ltm.datasets._author import need, prompt_of, written_by
from pytest_ltm.datasets.longmemeval.generate.needles import as_record, besides, identity
from pytest_ltm.datasets.longmemeval.generate.talk import WORDS, Aside, frames, themes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from pytest_ltm.datasets._author import Model
    from pytest_ltm.datasets.longmemeval.generate.needles import Needle, Told


ROUNDS = (2, 4)
_REPLY_WORDS = 150
_ENOUGH = 0.5
"""This share of the words that say what is told must be in the message; names, numbers and days must be in any case."""
_NUMBER = re.compile(r"\$?\d[\d:.,]*(?<=\d)")


def modelled(needle: Needle, seed: str, model: Model) -> dict[str, Any]:
    """Return the record of a question, its sessions written by a model. DatasetError if the model cannot do it."""
    name, rng = identity(needle, seed)
    mentions, values = besides(needle, name), [fact.value for fact in needle.world]
    sessions = []
    for number, told in enumerate(needle.told, start=1):
        rounds = rng.randint(*ROUNDS)
        place = rng.randrange(rounds)
        asides = [told.aside if at == place else mentions.next(told.theme) or Aside() for at in range(rounds)]
        read = partial(chat, asides=asides, place=place, kept=kept(told, values))
        what = f"question {name}, session {number}"
        sessions.append(written_by(model, _prompt(rng, told, asides), read, what))
    return as_record(needle, name, sessions)


@cache
def _prompts() -> dict[str, str]:
    found: dict[str, str] = load(Path(__file__).parent / "texts" / "prompts.yml").value
    return found


def _prompt(rng: Random, told: Told, asides: Sequence[Aside]) -> str:
    requests = rng.sample(themes()[told.theme].requests, len(asides))
    plan = [
        {"wants": f"{asked.text} {aside.request}".strip()}
        | ({"lets_slip": aside.said} if aside.said else {})
        | ({"made": aside.made} if aside.made else {})
        for asked, aside in zip(requests, asides, strict=True)
    ]
    return prompt_of(_prompts(), "session", rounds=str(len(plan)), words=str(_REPLY_WORDS), plan=plan)


def kept(told: Told, values: Sequence[str]) -> tuple[str, ...]:
    """Return what must stand in the message as it is: numbers and days, and of names and gold values their words."""
    said = told.aside.said
    exact = {*_NUMBER.findall(said), *(day for day in WORDS if day in said.casefold())}
    spoken = said.split()
    names = [word for word in spoken[1:] if word[0].isupper()]
    names += [word for word in spoken[:1] if word.rstrip(",") not in frames()["small_words"]]
    stems = content_stems(said) if said else frozenset()
    needed = {stem for value in (*values, *names) for stem in content_stems(value) & stems if not stem.isdigit()}
    return (*sorted(exact), *sorted(needed - {"i"}))


def chat(value: Any, asides: Sequence[Aside], place: int, kept: Sequence[str]) -> list[dict[str, Any]]:
    """Return the turns of a session, the evidence marked; ValueError with what is wrong."""
    need(isinstance(value, list) and len(value) == len(asides), f"it must be a list of {len(asides)} rounds.")
    turns: list[dict[str, Any]] = []
    for number, (one, aside) in enumerate(zip(value, asides, strict=True), start=1):
        said = [str(one.get(role) or "").strip() if isinstance(one, dict) else "" for role in ("user", "assistant")]
        need(all(said), f"round {number} must have the texts `user` and `assistant`.")
        here, listed = number == place + 1, [line for line in aside.made.splitlines() if line.strip()]
        gone = [line for line in listed if line not in said[1]]
        need(not gone, f"round {number}: the assistant's answer lacks this line of `made`: {gone[:1]}.")
        if here and aside.said:
            _told(said[0], aside.said, kept, number)
        turns += [
            {"role": "user", "content": said[0], "has_answer": here and not aside.made},
            {"role": "assistant", "content": said[1], "has_answer": here and bool(aside.made)},
        ]
    others = [turn["content"] for turn in turns if turn["role"] == "user" and not turn["has_answer"]]
    again = next((text for text in others if kept and not _lacking(text, kept)), "")
    need(not again, f"what slips out in round {place + 1} is said again: {again[:80]!r}.")
    return turns


def _told(text: str, said: str, kept: Sequence[str], number: int) -> None:
    lacking = _lacking(text, kept)
    need(not lacking, f"round {number}: the message must keep {lacking} of {said!r}.")
    stems = content_stems(said)
    share = len(stems & content_stems(text)) / len(stems)
    need(share >= _ENOUGH, f"round {number}: the message does not tell {said!r}.")


def _lacking(text: str, kept: Sequence[str]) -> list[str]:
    stems, plain = content_stems(text), text.casefold()
    return [part for part in kept if part not in stems and part.casefold() not in plain]
