"""Questions whose evidence stands in one session: what the user said, what the assistant said, what the user likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._days import days_of_may, end_of_may
from pytest_ltm.datasets.longmemeval.generate._needle import Fact, Needle, Query, Told
from pytest_ltm.datasets.longmemeval.generate._sessions import Aside

if TYPE_CHECKING:
    from random import Random

    from pytest_ltm.datasets.longmemeval.generate._texts import Attribute, Made, Never, Taste

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


def refusal(never: Never, *, verb: tuple[str, str] = ("mention", "mentioned")) -> str:
    """Return the gold of a question that cannot be answered."""
    now, then = verb
    return f"The information provided is not enough. You did not {now} {never.lacks}, you only {then} {never.has}."


def from_user(rng: Random, row: Attribute, *, abstains: bool) -> Needle:
    """Return a question about something that the user mentioned once."""
    (at,) = days_of_may(rng, 1)
    value = rng.choice(row.values)
    shown = row.shown.format(v=value)
    about = row.never.ask if abstains else row.key
    return Needle(
        type="single-session-user",
        abstains=abstains,
        question=row.never.ask if abstains else rng.choice(row.ask),
        answer=refusal(row.never) if abstains else shown,
        asked=end_of_may(rng),
        told=(Told(at=at, theme=row.theme, aside=Aside(rng.choice(row.say).format(v=value))),),
        world=(Fact(at, row.key, shown),),
        query=Query("value", (about,)),
        field=row.field,
    )


def from_assistant(rng: Random, row: Made, *, abstains: bool) -> Needle:
    """Return a question about an entry of a list or table that the assistant made up."""
    (at,) = days_of_may(rng, 1)
    made = _made(rng, row)
    text = "\n".join([f"**{row.title}**", *(f"{number}. {line}" for number, line in enumerate(_lines(row, made), 1))])
    slot = rng.choice(sorted(made))
    return Needle(
        type="single-session-assistant",
        abstains=abstains,
        question=row.never.ask if abstains else row.ask.format(nth=slot, slot=slot),
        answer=refusal(row.never, verb=("ask for", "asked for")) if abstains else made[slot],
        asked=end_of_may(rng),
        told=(Told(at=at, theme=row.theme, aside=Aside(request=row.request, made=text)),),
        world=tuple(Fact(at, f"{row.key}: {name}", entry) for name, entry in made.items()),
        query=Query("entry", (row.never.ask if abstains else f"{row.key}: {slot}",)),
    )


def _made(rng: Random, row: Made) -> dict[str, str]:
    """Return slot -> entry, in the order in which they are listed."""
    if row.how == "amount":
        names = rng.sample(row.entries, min(6, len(row.entries)))
        return dict(zip(names, (f"${value}" for value in rng.sample(row.values, len(names))), strict=True))
    slots = row.slots or ORDINALS
    return dict(zip(slots, rng.sample(row.entries, len(slots)), strict=True))


def _lines(row: Made, made: dict[str, str]) -> list[str]:
    if row.how == "nth":
        return list(made.values())
    return [f"{slot[0].upper()}{slot[1:]}: {entry}" for slot, entry in made.items()]


def from_taste(rng: Random, row: Taste) -> Needle:
    """Return a request for advice that what the user once said should shape; its gold is a rubric."""
    (at,) = days_of_may(rng, 1)
    return Needle(
        type="single-session-preference",
        question=row.ask,
        answer=f"The user would prefer {row.likes}. They would not want {row.dislikes}.",
        asked=end_of_may(rng),
        told=(Told(at=at, theme=row.theme, aside=Aside(row.said)),),
        world=(Fact(at, f"likes: {row.ask}", row.likes), Fact(at, f"dislikes: {row.ask}", row.dislikes)),
        query=Query("taste", (f"likes: {row.ask}", f"dislikes: {row.ask}")),
    )
