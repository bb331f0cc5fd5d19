"""First names that the user goes by, drawn through Faker, and the sentences that tell them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pytest_ltm import Say

from ._parameters import whole
from ._wording import either, worded

LOCALES = ("en_US", "en_IE")
ORDINARY_WORDS = frozenset(
    """amber angel april ariel austin autumn bill brandy brook brooke brooklyn carmel carol carter chad chase chelsea
    cherie cheyenne christian cody cole crystal daisy dakota dale dawn dean destiny diamond don drew earl ebony eden
    eve faith faye gene glen grace grant guy harry heather holly hunter india ivy jack jade jasmine jay jean jersey
    jesus jordan josh joy kane kelvin kent kerry kirby lacey lance lane leigh london mark martin mary mason max may
    melody mercedes mike miles miracle misty nick norm olive paige parker pat patty pearce penny perry pierce preston
    rachel raven ray reece regan rich rick robin rod rose rosemary rowan ruby rusty sandy savannah sean shay shelby
    sherry sierra skip spencer stone storm sue summer sydney tanner taylor terry tia tiffany tobias tom tony tory tracy
    trey troy una victor virginia ward warren wayne whitney will willow woody""".split()  # noqa: SIM905 - reads best
)
"""Names that are also colours, things, places, months or words of other texts: they are not drawn."""

INTRODUCTIONS = (
    "[by the way, |I should have said: |before we go on, |]my name is {name}.",
    "[you may|feel free to|please|you can] call me {name}[.|, everybody does.|, that's easiest.]",
    "[I have not introduced myself yet|Where are my manners|We haven't met]: [I'm|I am] {name}.",
    "people [usually |mostly |]call me {name}[.|, or used to.|, for some reason.]",
    "I go by [the name of |]{name}[.|, as it happens.|, in case you need it.]",
    "{name} is [what I am called|my name][, by the way|, if you were wondering|, nice to meet you|].",
    "hello, [this is {name}|{name} here|it's {name}]. [I talk a lot, so be warned.|How are things?|Bear with me.]",
    "this is {name} [speaking|writing][, hello|, as you'll have guessed|, in a good mood|].",
    "you're talking to {name}[.|, by the way.|, who else.]",
)
CHANGES = (
    "from [today|now] on [my name is|I go by the name of|I want to be called] {name}.",
    "I have taken another name. [Please call|Call] me {name} [from here on|now|, will you].",
    "I don't use [my former|my old|that] name any longer; [my new name is|call me] {name}.",
    "I [have changed|changed|am changing] my name to {name}.",
    "a change again: [people call|they call|my sister calls] me {name} now.",
    "drop the name [that I had|you have for me]: I am {name} [from this moment|from now on].",
    "my name [has changed to|is now] {name}[, by the way|. It's official|, since the wedding|].",
    "[start calling|call] me {name}[ instead|, please| from now on].",
    "refer to me as {name}[, please| from now on|].",
    "{name} is [what I am called|my name] [now|these days|from today on].",
)
WITHOUT_THE_WORD = (
    "I'm {name} [now|these days|from today on], [by the way|believe it or not|so get used to it].",
    "it's {name} [now|these days|from here on][, by the way|, please|. I'll explain another time].",
    "I've settled on {name}[.| for now.| instead.| after a lot of thought.]",
    "make that {name}[, please|. I've thought it over|, it sounds better|].",
    "just {name} [will do|is fine] [now|from now on|these days].",
    "you're talking to {name} [now|these days|from here on][.|, in a manner of speaking.]",
    "{name}, [please|if you don't mind], [from now on|from here on|as of today].",
    "I [signed the lease|enrolled|checked in] as {name} [today|this morning], and I'm keeping that.",
    "I've become {name}[ since the wedding| for good| at last|, on the advice of my agent].",
    "[sorry|no], not that any more: {name}[, please|].",
    "everybody [at work|at the club|at home] says {name} to me [now|these days].",
)
"""How people go on once it is known what they were called."""
RESET = "Please forget every name that I have given myself. For the time being I have none."


def first_names(rng: random.Random, number: int) -> list[str]:
    """Return different names in plain letters; none is a part of another, so that every rule can tell them apart."""
    drawn: list[str] = []
    makers = [_maker(locale) for locale in LOCALES]
    for maker in makers:
        maker.seed_instance(rng.getrandbits(64))
    while len(drawn) < number:
        name = str(rng.choice(makers).first_name())
        if name.isascii() and name.isalpha() and name.lower() not in ORDINARY_WORDS and not _alike(name, drawn):
            drawn.append(name)
    return drawn


def _alike(name: str, others: list[str]) -> bool:
    return any(name.lower() in other.lower() or other.lower() in name.lower() for other in others)


@lru_cache(maxsize=len(LOCALES))
def _maker(locale: str) -> Any:
    from faker import Factory

    return Factory.create(locale, providers=["faker.providers.person"])


def told(rng: random.Random, names: list[str]) -> list[Say]:
    """Return one statement for each name: an introduction, then changes, of which half do not say that they are one."""
    return [
        Say(worded(rng, either(rng, CHANGES, WITHOUT_THE_WORD) if place else INTRODUCTIONS, name=name))
        for place, name in enumerate(names)
    ]


def number_of_names(parameters: Mapping[str, Any], default: int) -> int:
    """Return `name_changes`, how many names are told; ValueError unless it is a whole number from 1 to 50."""
    return whole(parameters, "name_changes", default, most=50)
