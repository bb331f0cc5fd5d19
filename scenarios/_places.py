"""Places of invented towns, each told relative to the one before, and what it takes to tell them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_ltm import Say
from pytest_ltm.locales import ENGLISH, Language, either, worded

from ._parameters import whole

Leg: TypeAlias = tuple[int, str, str]
"""Kilometres, direction, and the place where the leg ends."""
Point: TypeAlias = tuple[int, int]

PLACES = (
    "aviary",
    "bandstand",
    "cinema",
    "courthouse",
    "drawbridge",
    "embassy",
    "fire station",
    "fish market",
    "gasworks",
    "hat shop",
    "ice rink",
    "law school",
    "lido",
    "music hall",
    "observatory",
    "opera",
    "pawnshop",
    "planetarium",
    "prison",
    "racecourse",
    "rose garden",
    "skate park",
    "swimming pool",
    "tram depot",
    "velodrome",
    "water tower",
    "waxworks",
    "wrestling club",
)
"""None is a part of another, and none stands in another scenario."""
BEGINNINGS = (
    "Amsel",
    "Brock",
    "Crimble",
    "Dunner",
    "Elver",
    "Fossel",
    "Grindel",
    "Hobber",
    "Isper",
    "Jessel",
    "Knapper",
    "Lumber",
    "Mottel",
    "Nettel",
    "Orlen",
    "Pummer",
    "Quarrel",
    "Rushel",
    "Stottel",
    "Tresser",
    "Ulver",
    "Vossel",
    "Wimmer",
    "Yester",
)
ENDINGS = (
    "borough",
    "combe",
    "dale",
    "fell",
    "haugh",
    "holt",
    "minster",
    "stead",
    "thorpe",
    "wold",
)
WAYS: Mapping[str, Point] = {
    "north": (0, 1),
    "south": (0, -1),
    "east": (1, 0),
    "west": (-1, 0),
}
FARTHEST = 5
"""Kilometres of the longest leg."""

FIRST = (
    "let me tell you about [the town of |]{town}. [Right in its middle|At its heart|In the centre] is the {place}.",
    "I [want|would like|promised] to describe [the town of |]{town} to you. It [begins|starts] with the {place}.",
    "[I've just moved to|I grew up in|my aunt lives in] {town}. [Right in the middle|At its heart] is the {place}.",
    "everything in {town} [begins|starts] at the {place}[.|, so I'll do so as well.]",
    "{town} has grown around the {place}[, so let me begin there|, they say|].",
)
FIRST_UNNAMED = (
    "the {place} is [right |]in the [middle|centre] of [my home town|the town where I grew up|our town].",
    "[right in the middle of|at the heart of] [my home town|our town|the town I come from] [stands|is] the {place}.",
    "[my home town|our town] begins with the {place}[, at least for me|, if you come by train|].",
    "[I grew up|I live|we live] next to the {place}, [right |]in the [middle|centre] of town.",
)
"""Of a town that has no other name, so that the question has none either."""
NEXT = (
    "in {town} the {place} [is|lies|stands] {km} km {way} of the {before}.",
    "another [sight|corner|bit] of {town} is the {place}[: it lies|, which is|;] {km} km {way} of the {before}.",
    "if you leave the {before} of {town} and [walk|cycle|go] {km} km {way}, you [get to|reach] the {place}.",
    "{km} km {way} of the {before} in {town} [there is|you find|stands] the {place}.",
    "[from|starting from] the {before} of {town} [it's|it is|I walk] {km} km {way} to the {place}.",
)
NEXT_UNNAMED = (
    "the {place} [is|lies] {km} km {way} of the {before}[.|, by the way.|, as far as I remember.]",
    "[then|next] [there's|comes] the {place}, {km} km {way} of the {before}.",
    "from the {before} you [go|walk|drive] {km} km {way}, and there's the {place}.",
    "[I used to work|my brother works|we often met] at the {place}: that's {km} km {way} of the {before}.",
    "{km} km {way} of the {before}, you [come to|reach|see] the {place}.",
    "you can't miss the {place}[:|, just] go {km} km {way} from the {before}.",
    "[we went to|I passed|I've been to] the {place} [today|yesterday], {km} km {way} of the {before}.",
)
FROM_THERE = (
    "from there [it's|it is|I walk|you go|we cycle] {km} km {way} to the {place}.",
    "{km} km {way} from there [is|you find|stands|we have|you see] the {place}.",
    "[then|next|after that] [comes|there's] the {place}, {km} km {way} from there.",
    "and from there it's {km} km {way} [if you want to see|if you need|to] the {place}.",
)
"""From the place told before."""
RESET = "You can forget the town that I described, and all of its places."


def town(rng: random.Random) -> str:
    """Return the name of a town, of which there are 240; every second town has none, and is the user's own."""
    return (
        f"{rng.choice(BEGINNINGS)}{rng.choice(ENDINGS)}" if rng.random() < 0.5 else ""
    )


def asked(
    rng: random.Random,
    wordings: Sequence[str],
    where: str,
    start: str,
    goal: str,
    language: Language,
) -> str:
    """Return a question about the way from one place to another; it may name the town, if that has a name."""
    within = (
        language.phrase("places.within", " in {town}", town=where)
        if where and rng.random() < 0.5
        else ""
    )
    ends = {"start": language.word(start), "goal": language.word(goal)}
    return worded(
        rng,
        wordings,
        way=language.phrase("places.way", "from the {start} to the {goal}", **ends)
        + within,
    )


def number_of_places(parameters: Mapping[str, Any], default: int, least: int) -> int:
    """Return `known_locations`, how many places are told; ValueError unless it is a whole number in the range."""
    return whole(parameters, "known_locations", default, least, len(PLACES))


def route(rng: random.Random, places: Sequence[str]) -> list[Leg]:
    """Return a leg to each place but the first; no two places lie at the same point."""
    here: Point = (0, 0)
    taken, legs = {here}, list[Leg]()
    for place in places[1:]:
        free = []
        for km in range(1, FARTHEST + 1):
            for way in WAYS:
                if moved(here, km, way) not in taken:
                    free.append((km, way))
        km, way = rng.choice(free)
        here = moved(here, km, way)
        taken.add(here)
        legs.append((km, way, place))
    return legs


def moved(point: Point, km: int, way: str) -> Point:
    """Return the point a number of kilometres away in one direction."""
    east, north = WAYS[way]
    return point[0] + km * east, point[1] + km * north


def end(legs: Iterable[Leg]) -> Point:
    """Return where the legs lead from (0, 0): kilometres east, kilometres north."""
    here: Point = (0, 0)
    for km, way, _ in legs:
        here = moved(here, km, way)
    return here


def told(
    rng: random.Random,
    where: str,
    start: str,
    legs: Sequence[Leg],
    language: Language = ENGLISH,
) -> list[Say]:
    """Return one statement for each place of a town; `where` "" is a town whose name is not told.

    Half of those after the first name no town, and some of these not the place before
    either.
    """
    first = language.find_text("places.first", FIRST)
    first_unnamed = language.find_text("places.first_unnamed", FIRST_UNNAMED)
    following = language.find_text("places.next", NEXT)
    following_unnamed = language.find_text("places.next_unnamed", NEXT_UNNAMED)
    from_there = language.find_text("places.from_there", FROM_THERE)
    before = language.word(start)
    says = [
        Say(
            worded(rng, first if where else first_unnamed, town=where, place=before),
            tells={"the first place": str(before)},
        )
    ]
    for number, (km, way, place) in enumerate(legs):
        unnamed = (
            either(rng, following_unnamed, from_there) if number else following_unnamed
        )
        wordings = either(rng, following, unnamed) if where else unnamed
        there = language.word(place)
        text = worded(
            rng,
            wordings,
            town=where,
            place=there,
            km=km,
            way=language.word(way),
            before=before,
        )
        says.append(Say(text, tells={f"what lies {way} of the {before}": str(there)}))
        before = there
    return says
