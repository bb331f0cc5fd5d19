"""First names that the user goes by, drawn through Faker, and the sentences that tell them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pytest_ltm import Say

from ._parameters import whole

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
    "You may call me {name}.",
    "I have not introduced myself yet: I go by the name of {name}.",
    "By the way, people call me {name}.",
    "Since you have to call me something, call me {name}.",
)
CHANGES = (
    "From today on I go by the name of {name}.",
    "I have taken another name. Please call me {name} from here on.",
    "I do not use my former name any longer; my new name is {name}.",
    "I have changed my name to {name}.",
    "A change again: people call me {name} now.",
    "Drop the name that I had: I am {name} from this moment.",
)
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
    """Return one statement for each name: an introduction, then changes."""
    wordings = [rng.choice(CHANGES if i else INTRODUCTIONS) for i in range(len(names))]
    return [Say(wording.format(name=name)) for wording, name in zip(wordings, names, strict=True)]


def number_of_names(parameters: Mapping[str, Any], default: int) -> int:
    """Return `name_changes`, how many names are told; ValueError unless it is a whole number from 1 to 50."""
    return whole(parameters, "name_changes", default, most=50)
