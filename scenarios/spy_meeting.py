"""Spy Meeting: three people send a coded message each; together they say where, when and with what to meet."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import DecodesMessages

Code = tuple[str, tuple[str, ...]]
"""What a message says, and the words any of which shows that it was understood."""

PLACES: tuple[Code, ...] = (
    ("where thousands of sisters in striped coats make honey", ("apiary", "beehive", "hive", "bee", "beekeeper")),
    ("where ships are warned of the rocks by night", ("lighthouse",)),
    ("where grain is ground by sails that never go to sea", ("windmill", "mill")),
    ("where wine hangs in bunches before anybody bottles it", ("vineyard", "vine")),
    ("where the dead of the town lie under their names", ("cemetery", "graveyard", "churchyard", "burial ground")),
    ("where flour and yeast become loaves", ("bakery", "bakehouse", "baker")),
    ("where tigers and giraffes can be visited on one afternoon", ("zoo", "zoological garden", "menagerie")),
    ("where stone is cut out of the hillside", ("quarry",)),
    ("where books are lent and everybody whispers", ("library",)),
    ("where planes come down from the sky", ("airport", "airfield", "airstrip", "runway", "aerodrome")),
)
TIMES: tuple[Code, ...] = (
    ("when everybody's shadow is at its shortest", ("noon", "midday", "12 PM", "12:00 PM")),
    ("when one day hands over to the next", ("midnight", "12 AM", "12:00 AM")),
    ("when the rooster wakes the farm", ("dawn", "sunrise", "daybreak", "early morning", "early in the morning")),
    ("when the sun goes under behind the hills", ("sunset", "dusk", "sundown", "nightfall", "twilight")),
    ("when carved pumpkins grin from the windows", ("Halloween", "31 October", "October 31", "October 31st")),
    ("when paper hearts are sent to those one loves", ("Valentine", "14 February", "February 14", "February 14th")),
    ("when people fool each other and nobody may be angry", ("April Fool", "1 April", "April 1", "April 1st")),
    ("when the old year is counted out, ten to one", ("New Year", "31 December", "December 31", "December 31st")),
)
ITEMS: tuple[Code, ...] = (
    ("a way to stay dry under a cloudburst", ("umbrella", "raincoat", "poncho", "rain jacket", "parasol")),
    ("a way to dig a deep hole", ("spade", "shovel")),
    ("a way up to a window, rung by rung", ("ladder",)),
    ("a way to find north in a fog", ("compass",)),
    ("a way to see far ships as though they were near", ("binoculars", "spyglass", "telescope", "field glass")),
    ("a way to take pictures of the documents", ("camera",)),
    ("a way to cut through a fence of wire", ("pliers", "wire cutter", "bolt cutter", "pincers", "nippers")),
    ("a way to light up a dark cellar without a flame", ("torch", "flashlight", "headlamp", "electric lamp")),
    ("a way to leave no fingerprints", ("glove",)),
    ("a way to breathe below the surface of a lake", ("snorkel", "scuba", "diving", "oxygen tank", "air tank")),
)
PEOPLE = (
    "Anselm Zorrick", "Berengaria Quarrendon", "Cosmo Tavernake", "Desdemona Ilk", "Eustachia Vantongeren",
    "Florimund Orpwood", "Gwendoline Yarrick", "Horatio Spindleby", "Jessamy Ulmer", "Leocadia Frump",
    "Montague Ziervogel", "Peregrine Holdfast", "Sidonie Ackerwald", "Thaddeus Crumm", "Ulrika Nachtegaal",
)  # fmt: skip

OPENING = "{names} will each send me a coded message about a secret meeting. I shall pass the three on to you."
MESSAGES: Mapping[str, tuple[str, ...]] = {
    "place": ("We meet {clue}.", "The place is {clue}.", "Find us {clue}."),
    "time": ("Be there {clue}.", "Come {clue}.", "It starts {clue}."),
    "item": ("You will need {clue}.", "Have with you {clue}.", "Do not come without {clue}."),
}
SENT = "Coded message from {name}: {message}"
QUESTIONS = (
    "You know the coded messages of {names}. In plain words: where and when is the secret meeting, and what to bring?",
    "Decode what {names} wrote about the secret meeting: which place, which time, which thing to bring? Be specific.",
)


def spy_meeting(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return an opening and three coded messages over 90 % of the span, in any order, then the question.

    Expected are the groups of words for each message, as sent; `other_messages` are those of all others.
    """
    sent = [(kind, rng.choice(codes)) for kind, codes in (("place", PLACES), ("time", TIMES), ("item", ITEMS))]
    people = rng.sample(PEOPLE, len(sent))
    names = f"{', '.join(people[:-1])} and {people[-1]}"
    rng.shuffle(sent)
    senders = rng.sample(people, len(people))
    says = [Say(OPENING.format(names=names))]
    for name, (kind, (clue, _)) in zip(senders, sent, strict=True):
        says.append(Say(SENT.format(name=name, message=rng.choice(MESSAGES[kind]).format(clue=clue))))
    question = Ask(rng.choice(QUESTIONS).format(names=names), about=tuple(say.text for say in says[1:]))
    expected = [list(words) for _, (_, words) in sent]
    others = [list(words) for _, words in (*PLACES, *TIMES, *ITEMS) if list(words) not in expected]
    return Definition(
        steps=spread([*says, question]),
        expected=expected,
        parameters={**parameters, "other_messages": others},
    )


@pytest.mark.ltm(
    generate=spy_meeting,
    skills="R,I",
    version="1",
    reset="The secret meeting is called off. Please forget the coded messages.",
)
def test_spy_meeting(ltm: Ltm) -> None:
    """Decodes three messages and puts together where, when and with what the meeting is."""
    answers = ltm.play(ltm.definition, answers=[". ".join(group[0] for group in ltm.definition.expected)])
    expected, others = (
        tuple(map(tuple, groups))
        for groups in (ltm.definition.expected, ltm.definition.parameters.get("other_messages", ()))
    )
    ltm.score(DecodesMessages(expected, others, scoring=ltm.scoring)(answers))
