"""Places of invented towns, each told relative to the one before, and what it takes to tell them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_ltm import Say

from ._parameters import whole

Leg: TypeAlias = tuple[int, str, str]
"""Kilometres, direction, and the place where the leg ends."""
Point: TypeAlias = tuple[int, int]

PLACES = (
    "aviary", "bandstand", "cinema", "courthouse", "drawbridge", "embassy", "fire station", "fish market", "gasworks",
    "hat shop", "ice rink", "law school", "lido", "music hall", "observatory", "opera", "pawnshop", "planetarium",
    "prison", "racecourse", "rose garden", "skate park", "swimming pool", "tram depot", "velodrome", "water tower",
    "waxworks", "wrestling club",
)  # fmt: skip
"""None is a part of another, and none stands in another scenario."""
BEGINNINGS = (
    "Amsel", "Brock", "Crimble", "Dunner", "Elver", "Fossel", "Grindel", "Hobber", "Isper", "Jessel", "Knapper",
    "Lumber", "Mottel", "Nettel", "Orlen", "Pummer", "Quarrel", "Rushel", "Stottel", "Tresser", "Ulver", "Vossel",
    "Wimmer", "Yester",
)  # fmt: skip
ENDINGS = ("borough", "combe", "dale", "fell", "haugh", "holt", "minster", "stead", "thorpe", "wold")
WAYS: Mapping[str, Point] = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
FARTHEST = 5
"""Kilometres of the longest leg."""

FIRST = (
    "Let me tell you about the town of {town}. Right in its middle is the {place}.",
    "I want to describe the town of {town} to you. It begins with the {place}.",
)
NEXT = (
    "In {town} the {place} is {km} km {way} of the {before}.",
    "Another sight of {town} is the {place}: it lies {km} km {way} of the {before}.",
    "If you leave the {before} of {town} and walk {km} km {way}, you get to the {place}.",
    "{km} km {way} of the {before} in {town} there is the {place}.",
)
RESET = "You can forget the town that I described, and all of its places."


def town(rng: random.Random) -> str:
    """Return the name of a town; there are 240, so that two in one conversation rarely share it."""
    return f"{rng.choice(BEGINNINGS)}{rng.choice(ENDINGS)}"


def number_of_places(parameters: Mapping[str, Any], default: int, least: int) -> int:
    """Return `known_locations`, how many places are told; ValueError unless it is a whole number in the range."""
    return whole(parameters, "known_locations", default, least, len(PLACES))


def route(rng: random.Random, places: Sequence[str]) -> list[Leg]:
    """Return a leg to each place but the first; no two places lie at the same point."""
    here: Point = (0, 0)
    taken, legs = {here}, list[Leg]()
    for place in places[1:]:
        free = [(km, way) for km in range(1, FARTHEST + 1) for way in WAYS if moved(here, km, way) not in taken]
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


def told(rng: random.Random, where: str, start: str, legs: Sequence[Leg]) -> list[Say]:
    """Return one statement for each place of a town."""
    befores = [start, *(place for _, _, place in legs)]
    said = [Say(rng.choice(FIRST).format(town=where, place=start))]
    for before, (km, way, place) in zip(befores, legs, strict=False):
        said.append(Say(rng.choice(NEXT).format(town=where, place=place, km=km, way=way, before=before)))
    return said
