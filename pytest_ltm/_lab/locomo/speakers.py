"""A session turn by turn: two speakers, each with a persona, news and memories that the other does not see.

Maharana et al. (2024), section 3: short-term memory is what was said in this session and the summary of the one
before; long-term memory is what was observed in all earlier ones, of which a speaker recalls what the last turn
touches. A photo is a caption; the other reacts to what it shows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from pytest_ltm._lab.author import need, prompt_of, written_by
from pytest_ltm._lab.locomo.world import texts
from pytest_ltm._text.words import content_stems

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ltm._lab.author import Model

    Writes = Callable[["SessionContext", Model], list[dict[str, Any]]]


RECALLED = 8
"""So many memories come to a speaker's mind at a turn."""
_LEAST_FOR_TWO_PHOTOS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """All that a session is written from."""

    number: int
    when: str
    order: tuple[str, str]
    """Who speaks first, and the other."""
    personas: Mapping[str, Any]
    news: Mapping[str, Sequence[str]]
    """What has happened to each since the session before."""
    summaries: Sequence[str]
    """Of the last sessions, the newest last."""
    facts: Sequence[str]
    """Everything that was observed before, the newest last."""
    turns: int

    def turn(self, place: int, text: str, photo: str) -> dict[str, Any]:
        """Return the record of a turn; places count from 0."""
        caption = {"blip_caption": photo} if photo else {}
        return {"speaker": self.order[place % 2], **caption, "dia_id": f"D{self.number}:{place + 1}", "text": text}


def prompt(step: str, **parts: object) -> str:
    """Return the prompt of a step."""
    return prompt_of(texts("prompts"), step, **parts)


def lines(turns: Sequence[Mapping[str, Any]]) -> str:
    """Return turns as they are shown to a model."""
    return "\n".join(
        f"{one['dia_id']} {one['speaker']}: {one['text']}"
        + (f" [photo: {one['blip_caption']}]" if "blip_caption" in one else "")
        for one in turns
    )


def by_turns(scene: SessionContext, model: Model) -> list[dict[str, Any]]:
    """Return the turns of a session, for each of which the model was asked as one of the speakers."""
    photos = _photos(scene)
    said: list[dict[str, Any]] = []
    for place in range(scene.turns):
        shown = said[-1].get("blip_caption", "") if said else ""
        read = partial(_read, shares=place in photos, shown=shown, said=said)
        what = f"session {scene.number}, turn {place + 1}"
        text, photo = written_by(model, _asked(scene, place, said, shown, shares=place in photos), read, what)
        said.append(scene.turn(place, text, photo))
    return said


def _photos(scene: SessionContext) -> set[int]:
    """Return the places of the turns that share a photo: one or two, neither greeting nor farewell."""
    rng, able = Random(f"photos {scene.order} {scene.when}"), range(2, scene.turns - 2)
    return set(rng.sample(able, min(len(able), 1 + (scene.turns >= _LEAST_FOR_TWO_PHOTOS))))


def _asked(scene: SessionContext, place: int, said: Sequence[Mapping[str, Any]], shown: str, *, shares: bool) -> str:
    who, other = scene.order[place % 2], scene.order[1 - place % 2]
    known = texts("prompts")
    tasks = [
        known["begins"] if not said else "",
        known["reacts"].replace("$photo", shown) if shown else "",
        known["shares"] if shares else known["no_photo"],
        known["ends"] if place >= scene.turns - 2 else "",
    ]
    touched = " ".join([said[-1]["text"] if said else "", shown, *scene.news[who]])
    return prompt(
        "turn", name=who, other=other, about=scene.personas[who], when=scene.when, news=scene.news[who],
        summary=scene.summaries[-1] if scene.summaries else "You have not talked before.",
        facts=recalled(scene.facts, touched), turns=lines(said) or "Nothing yet.",
        task=" ".join(task for task in tasks if task),
    )  # fmt: skip


def recalled(facts: Sequence[str], touched: str) -> list[str]:
    """Return what comes to mind: the facts that share most with what was said, of equal ones the newest; in order."""
    stems = content_stems(touched)
    ranked = sorted(range(len(facts)), key=lambda at: (-len(content_stems(facts[at]) & stems), -at))
    return [facts[at] for at in sorted(ranked[:RECALLED])]


def _read(value: Any, *, shares: bool, shown: str, said: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return what is said and the caption of a shared photo; ValueError for what cannot be the next turn."""
    text = value.get("text") if isinstance(value, dict) else None
    need(isinstance(text, str) and bool(text.strip()), "it must be an object with a `text`.")
    assert isinstance(text, str)
    photo = value.get("photo") or ""
    need(isinstance(photo, str) and bool(photo) == shares, "share a photo." if shares else "share no photo this time.")
    need(all(text != one["text"] for one in said), f"{json.dumps(text[:60])} was said before in this chat.")
    reacts = not shown or bool(content_stems(shown) & content_stems(text))
    need(reacts, f"it does not react to the photo of {shown!r}; say something about what it shows.")
    return text.strip(), photo
