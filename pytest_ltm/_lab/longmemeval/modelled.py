"""Evidence sessions written by a model: the question, its gold and what must be said are ours, the words are not.

What the model wrote is checked: everything that the question needs stands in the marked turn, and in no other of the
user's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm._lab.author import prompt_of, require, written_by
from pytest_ltm._lab.longmemeval.needles import as_record, record_identity, side_mentions
from pytest_ltm._lab.longmemeval.session_text import WORDS, Aside, early_round, load_frames, load_themes
from pytest_ltm._language.words import content_stems
from pytest_ltm._storage.schema import load_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm._lab.author import Model
    from pytest_ltm._lab.longmemeval.needles import EvidenceSession, Needle


ROUNDS = (2, 4)
_REPLY_WORDS = 150
# This share of the words that say what is told must be in the message; names, numbers and days must be in any case.
_ENOUGH = 0.5
_NUMBER = re.compile(r"\$?\d[\d:.,]*(?<=\d)")


@dataclass(frozen=True, slots=True)
class RoundOutline:
    """What a message is about, and what comes out in it and in its answer."""

    wants: str
    aside: Aside
    evidence: bool


@dataclass(frozen=True, slots=True)
class SessionOutline:
    """A session to be written."""

    rounds: tuple[RoundOutline, ...]
    kept: tuple[str, ...]
    """What must stand in the message that is evidence, as it is."""
    what: str
    """Its name in errors."""


_Turn: TypeAlias = dict[str, Any]
# From a session to be written to its turns; DatasetError if the model cannot do it.
Writes: TypeAlias = "Callable[[SessionOutline, Model], list[_Turn]]"


def write_record(needle: Needle, seed: str, model: Model, writes: Writes) -> dict[str, Any]:
    """Return the record of a question, its sessions as `writes` makes them. DatasetError if the model cannot do it."""
    name, rng = record_identity(seed, abstains=needle.abstains)
    mentions, values = side_mentions(needle, name), [fact.value for fact in needle.world]
    sessions = []
    for number, message in enumerate(needle.told, start=1):
        rounds = rng.randint(*ROUNDS)
        place = early_round(rng, rounds)
        kept = words_to_keep(message, values)
        plan = []
        for at, asked in enumerate(rng.sample(load_themes()[message.theme].requests, rounds)):
            aside = message.aside if at == place else mentions.next(message.theme) or Aside()
            # by chance a mention may have the very words that only the evidence may have
            if at != place and kept and not _lacking_words(aside.said, kept):
                aside = Aside()
            plan.append(RoundOutline(f"{asked.text} {aside.request}".strip(), aside, at == place))
        sessions.append(writes(SessionOutline(tuple(plan), kept, f"question {name}, session {number}"), model))
    return as_record(needle, name, sessions)


@cache
def session_prompts() -> dict[str, str]:
    """Return what a model is asked, by step, and the words that are filled in."""
    texts: dict[str, str] = load_yaml(Path(__file__).parent / "texts" / "prompts.yml").value
    return texts


def at_once(talk: SessionOutline, model: Model) -> list[_Turn]:
    """Return the turns of a session that the model wrote in one answer."""
    named = ({"wants": one.wants, "lets_slip": one.aside.said, "made": one.aside.made} for one in talk.rounds)
    plan = [{name: text for name, text in wanted.items() if text or name == "wants"} for wanted in named]
    asked = prompt_of(session_prompts(), "session", rounds=str(len(plan)), words=str(_REPLY_WORDS), plan=plan)
    return written_by(model, asked, lambda value: read_chat(value, talk), talk.what)


def by_turns(talk: SessionOutline, model: Model) -> list[_Turn]:
    """Return the turns of a session for which the model was asked one by one.

    As the person it knows what the person wants and lets slip, as the assistant only what has been said (and the list
    that it makes up): the self-chat of LongMemEval (Wu et al., 2025).
    """
    turns: list[_Turn] = []
    for number, one in enumerate(talk.rounds, start=1):
        slip = session_prompts()["slips"].replace("$said", one.aside.said) if one.aside.said else ""
        listed = session_prompts()["lists"].replace("$made", one.aside.made) if one.aside.made else ""
        for role, more in (("user", {"wants": one.wants, "slips": slip}), ("assistant", {"lists": listed})):
            none = "\n\n".join(f"{turn['role']}: {turn['content']}" for turn in turns) or "(nothing yet)"
            asked = prompt_of(session_prompts(), role, chat=none, words=str(_REPLY_WORDS), **more)
            read = partial(_read_chat_turn, role=role, number=number, talk=talk)
            turns.append(written_by(model, asked, read, f"{talk.what}, round {number}, {role}"))
    return turns


def words_to_keep(evidence_session: EvidenceSession, values: Sequence[str]) -> tuple[str, ...]:
    """Return what must stand in the message as it is: numbers and days, and of names and gold values their words."""
    aside = evidence_session.aside.said
    exact = {*_NUMBER.findall(aside), *(day for day in WORDS if day in aside.casefold())}
    spoken = aside.split()
    names = [word for word in spoken[1:] if word[0].isupper()]
    names += [word for word in spoken[:1] if word.rstrip(",") not in load_frames()["small_words"]]
    stems = content_stems(aside) if aside else frozenset()
    needed = {stem for value in (*values, *names) for stem in content_stems(value) & stems if not stem.isdigit()}
    return (*sorted(exact), *sorted(needed - {"i"}))


def read_chat(value: Any, talk: SessionOutline) -> list[_Turn]:
    """Return the turns of a session, the evidence marked; ValueError with what is wrong."""
    rounds = len(talk.rounds)
    require(isinstance(value, list) and len(value) == rounds, f"it must be a list of {rounds} rounds.")
    return [
        _read_chat_turn({"text": one.get(role) if isinstance(one, dict) else None}, role, number, talk)
        for number, one in enumerate(value, start=1)
        for role in ("user", "assistant")
    ]


def _read_chat_turn(value: Any, role: str, number: int, talk: SessionOutline) -> _Turn:
    """Return a turn of a round, marked if it is evidence; ValueError with what is wrong."""
    said = value.get("text") if isinstance(value, dict) else None
    text = said.strip() if isinstance(said, str) else ""
    require(bool(text), f"round {number} must have a text of the {role}.")
    here = talk.rounds[number - 1]
    listed = [line for line in here.aside.made.splitlines() if line.strip()] if role == "assistant" else []
    gone = [line for line in listed if line not in text]
    require(not gone, f"round {number}: the assistant's answer lacks this line of `made`: {gone[:1]}.")
    if role == "user" and here.evidence and here.aside.said:
        reply, stems, lacking = here.aside.said, content_stems(here.aside.said), _lacking_words(text, talk.kept)
        require(not lacking, f"round {number}: the message must keep {lacking} of {reply!r}.")
        holds = len(stems & content_stems(text)) >= _ENOUGH * len(stems)
        require(holds, f"round {number}: the message does not tell {reply!r}.")
    elif role == "user" and talk.kept:
        differs = bool(_lacking_words(text, talk.kept))
        require(differs, f"round {number}: what slips out elsewhere is said again: {text[:80]!r}.")
    has_answer = here.evidence and bool(here.aside.made) is (role == "assistant")
    return {"role": role, "content": text, "has_answer": has_answer}


def _lacking_words(text: str, kept: Sequence[str]) -> list[str]:
    stems, plain = content_stems(text), text.casefold()
    return [part for part in kept if part not in stems and part.casefold() not in plain]
