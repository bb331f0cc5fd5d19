"""Delayed Recall: ten facts of a fictional world in one message; one question after the other, later and later."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import RecallsFacts
from pytest_ltm.locales import either, filled, variants, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

NAME, PERSON = "name", "person"
"""What may stand for a list of values: an invented name, an invented person."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact: `{v}` is what is asked for, `{w}` the world."""

    fact: str
    named: str
    """The question for it that names the world."""
    unnamed: str
    """The question for it that does not."""
    values: Sequence[str] | str


KINDS = (
    Kind(
        "[the capital of {w} is|the capital is|its capital is called] {v}.",
        "what is the capital of {w}[| called]?",
        "[what is their capital called|which city is the capital there]?",
        NAME,
    ),
    Kind(
        "[{w} was founded by|it was founded by|its founder was] {v}[|, who had lost a bet|, in a bad year].",
        "who [founded|was the founder of] {w}?",
        "who [was their founder|founded the place over there]?",
        PERSON,
    ),
    Kind(
        "[the coins of {w} are called|the coins are called|its coins are called] {v}.",
        "what [are the coins of {w} called|do they call their coins in {w}]?",
        "[what do they call their coins|what are the coins called over there]?",
        NAME,
    ),
    Kind(
        "[{w} has|it has|in the sky of {w} there are|in the sky there are] {v} moons.",
        "how many moons [does {w} have|are there above {w}]?",
        "how many moons [do they have|are there over there]?",
        (
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "eleven",
            "twelve",
            "thirteen",
        ),
    ),
    Kind(
        "[the longest river of {w} is|the longest river is|no river is longer than] the {v}.",
        "[which river of {w} is the longest|what is the longest river of {w} called]?",
        "[what is their longest river called|which river is the longest there]?",
        NAME,
    ),
    Kind(
        "[a year in {w} has|a year has|their year has] {v} days[|, no more and no less].",
        "how many days [are there in a year of {w}|does a year of {w} have]?",
        "how many days [are there in a year over there|do they have in a year]?",
        tuple(str(number) for number in range(405, 900)),
    ),
    Kind(
        "[the flag of {w} shows|the flag shows|on the flag there is] {v}.",
        "what [does the flag of {w} show|is on the flag of {w}]?",
        "what [is on their flag|is there to see on the flag]?",
        (
            "a lobster",
            "a beetle",
            "a walrus",
            "two herons",
            "an anvil",
            "a thistle",
            "a weasel",
            "a kettle",
            "a comb",
            "three acorns",
            "a spider",
            "an otter",
        ),
    ),
    Kind(
        "[the favourite dish of {w} is|the favourite dish is|their favourite dish is] {v}.",
        "[what is the favourite dish of {w}|which dish is the favourite in {w}]?",
        "[what is their favourite dish|which dish do they like best]?",
        (
            "barley dumplings",
            "pickled nettles",
            "fried acorns",
            "eel pudding",
            "turnip waffles",
            "smoked walnuts",
            "fermented plums",
            "lentil sausages",
            "cabbage pie",
            "roast thistles",
        ),
    ),
    Kind(
        "[it is against the law of {w}|it is against the law|the law forbids everybody] {v}.",
        "what [is against the law in {w}|does the law of {w} forbid]?",
        "what [is against the law there|does the law forbid over there]?",
        (
            "to whistle indoors",
            "to count sheep",
            "to wear wooden shoes",
            "to sell maps",
            "to sneeze in theatres",
            "to plant pumpkins",
            "to eat plums",
            "to swim after sunset",
            "to answer riddles",
            "to shave on Mondays",
        ),
    ),
    Kind(
        "[the national sport of {w} is|the national sport is|the sport that everybody loves is] {v}.",
        "[what is the national sport of {w}|which sport is {w} mad about]?",
        "[what is their national sport|which sport are they mad about]?",
        (
            "stilt racing",
            "raft jousting",
            "barrel rolling",
            "hedge jumping",
            "cheese throwing",
            "mud wrestling",
            "kite fencing",
            "pole climbing",
            "stone skipping",
            "sack hopping",
        ),
    ),
    Kind(
        "[the only export of {w} is|the only export is|it exports nothing but] {v}.",
        "what [does {w} export|is the only export of {w}]?",
        "what [do they export|is their only export]?",
        (
            "glass bells",
            "rope bridges",
            "cork hats",
            "beeswax candles",
            "bone needles",
            "reed flutes",
            "felt boots",
            "tin whistles",
            "marble eggs",
            "leather kites",
        ),
    ),
    Kind(
        "[the highest mountain of {w} is|the highest mountain is|no mountain is higher than] {v}.",
        "[which mountain of {w} is the highest|what is the highest mountain of {w} called]?",
        "[what is their highest mountain called|which mountain is the highest there]?",
        NAME,
    ),
    Kind(
        "[{w} is governed by|it is governed by|they are governed by] {v}.",
        "who [governs|is it that governs] {w}?",
        "who [governs them|is in their government]?",
        (
            "a council of millers",
            "twin queens",
            "the luckiest fisherman",
            "a parliament of aunts",
            "retired judges",
            "seven shepherds",
            "a lottery",
            "the guild of bakers",
            "a deaf emperor",
            "the harbour pilots",
        ),
    ),
    Kind(
        "[the language of {w} is|the language is called|they speak a language called] {v}.",
        "[which language do they speak in {w}|what is the language of {w} called]?",
        "[which language do they speak|what is their language called]?",
        NAME,
    ),
    Kind(
        "[in {w}, taxes are paid in|taxes are paid in|their taxes are paid in] {v}.",
        "in {w}, what [are taxes paid in|do they pay their taxes in]?",
        "what [do they pay their taxes in|are taxes paid in over there]?",
        (
            "honey",
            "firewood",
            "feathers",
            "buttons",
            "candles",
            "mushrooms",
            "pebbles",
            "wool",
            "oysters",
            "garlic",
        ),
    ),
    Kind(
        "[the greatest poet of {w} was|the greatest poet was|no poet was greater than] {v}.",
        "who was the greatest poet [of|in] {w}?",
        "who was [their greatest poet|the greatest poet over there]?",
        PERSON,
    ),
    Kind(
        "[the oldest building in {w} is|the oldest building is|no building is older than] {v}.",
        "[what|which building] is the oldest building in {w}?",
        "[what is their oldest building|which building is the oldest there]?",
        (
            "a barn",
            "a windmill",
            "an observatory",
            "a bathhouse",
            "a prison",
            "a dovecote",
            "a theatre",
            "a tannery",
            "a watchtower",
            "an orphanage",
        ),
    ),
    Kind(
        "[in {w}, everybody travels by|everybody travels by|whoever travels goes by] {v}.",
        "how [do people|does one|do they] travel in {w}?",
        "how do they travel[| over there]?",
        (
            "cable sledge",
            "ostrich cart",
            "hot-air balloon",
            "camel litter",
            "paddle steamer",
            "goat wagon",
            "underground canal",
            "sail bicycle",
            "dog sleigh",
            "rope ferry",
        ),
    ),
    Kind(
        "[a day in {w} has|a day has|their day has] {v} hours.",
        "how many hours [are there in a day in {w}|does a day have in {w}]?",
        "how many hours [do they have in a day|are there in a day over there]?",
        tuple(
            str(number)
            for number in (
                15,
                16,
                17,
                18,
                19,
                21,
                22,
                23,
                25,
                26,
                27,
                28,
                29,
                31,
                32,
                33,
                34,
                35,
            )
        ),
    ),
    Kind(
        "[the spring feast of {w} is called|the spring feast is called|in spring they have a feast called] {v}.",
        "[what is the spring feast of {w} called|which feast does {w} have in spring]?",
        "[what is their spring feast called|which feast do they have in spring]?",
        NAME,
    ),
)

INTRODUCTIONS = (
    (
        "[I've made up|I'm inventing|I keep dreaming of] a fictional world[, {w}|, called {w}| by the name of {w}]. "
        "[Here are {n} facts about it:|This is what I have so far:|What there is to know:]"
    ),
    "[here are|these are|please remember] {n} facts about the fictional world of {w}[:|, which is all my own work:]",
    "[let me tell you|you ought to know] about the fictional world of {w}[, the setting of my novel:|, in short:|:]",
    (
        "[my novel|my new board game|my daughter's bedtime story|our next quiz] [is set in|takes us to] {w}, [a "
        "made-up country|an imaginary kingdom]. [The basics:|What I've got so far:|A few facts:]"
    ),
    (
        "[welcome to|picture|may I introduce] {w}, [a made-up country|an imaginary kingdom|my invented island]. "
        "[Please remember:|Keep this for me:|This is what it is like:]"
    ),
)
"""Those of the first three call it a fictional world, those of the others do not."""
INLINE, LINES = ("; ", " / ", " + "), ("\n", "\n- ", "\n* ")
"""What stands between facts; those on lines all name the world, as do the questions about them.

So the words of no question lead to one fact alone, nor to most: who has only those
recites too much.
"""
LEADS = (
    (
        "[|so, |now, |tell me, |remind me: |quick question: |by the way, |just checking: |one more thing: |pop quiz: "
        "|say, |do you remember: |once more: |next question: |help me out: |and while I think of it: ]"
    ),
)
NAMED_LEADS = (
    "[about|back to|as for|on the subject of] {w}[:|, once more:|, my invention:] ",
)


def delayed_recall(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `facts` (default 10) facts in one message, then as many questions over the span, in any order.

    Half of the questions name the world. What each asks for is expected: a few words,
    or a number.
    """
    number = whole(parameters, "facts", 10, most=len(KINDS))
    inventions = Inventions(rng)
    world = inventions.name()
    kinds = rng.sample(KINDS, number)
    values = [_value(rng, inventions, kind) for kind in kinds]
    lines = rng.choice((True, False, False, False))
    texts = []
    tells = {}
    for kind, value in zip(kinds, values, strict=True):
        texts.append(_fact(rng, kind, lines, world, value))
        tells[next(variants([kind.named])).format(w=world)] = value
    introduction = worded(
        rng, either(rng, INTRODUCTIONS[:3], INTRODUCTIONS[3:]), n=number, w=world
    )
    between = rng.choice(LINES if lines else INLINE)
    facts = Say(
        f"{introduction}{between if lines else ' '}{between.join(texts)}{'' if lines else '.'}",
        tells=tells,
    )
    order = rng.sample(range(number), number)
    questions = []
    for place in order:
        text = _question(rng, kinds[place], world, lines)
        questions.append(Ask(text, about=(facts.text,)))
    return Definition(
        steps=spread([facts, *questions], last_wait(rng, parameters)),
        expected=[values[place] for place in order],
        parameters=parameters,
    )


def _fact(
    rng: random.Random, kind: Kind, on_lines: bool, world: str, value: str
) -> str:
    """Return a fact: as a sentence that names the world, or as one of a list that may not."""
    if on_lines:
        return worded(
            rng,
            [variant for variant in variants([kind.fact]) if "{w}" in variant],
            w=world,
            v=value,
        )
    return filled(rng, kind.fact.removesuffix(".")).format(w=world, v=value)


def _question(rng: random.Random, kind: Kind, world: str, names: bool) -> str:
    named = rng.random() < (1 if names else 1 / 3)
    lead, question = (
        rng.choice(((LEADS, kind.named), (NAMED_LEADS, kind.unnamed)))
        if named
        else (LEADS, kind.unnamed)
    )
    return worded(rng, [phrase + question for phrase in lead], w=world)


def _value(rng: random.Random, inventions: Inventions, kind: Kind) -> str:
    if kind.values == NAME:
        return inventions.name()
    if kind.values == PERSON:
        return inventions.person()
    return rng.choice(kind.values)


@pytest.mark.ltm(
    generate=delayed_recall,
    skills="R",
    version="2",
    reset="You can forget the fictional world and all facts about it.",
)
def test_delayed_recall(ltm: Ltm) -> None:
    """Answers ten questions about ten facts, each later than the one before."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    questions = tuple(question.text for question in ltm.definition.questions)
    evaluator = RecallsFacts(
        tuple(ltm.definition.expected), questions, scoring=ltm.scoring, judge=ltm.judge
    )
    ltm.score(evaluator(answers))
