"""Delayed Recall: ten facts of a fictional world in one message; one question after the other, later and later."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import RecallsFacts

from ._inventions import Inventions
from ._parameters import whole

NAME, PERSON = "name", "person"
"""What may stand for a list of values: an invented name, an invented person."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of fact: `{v}` is what is asked for, `{w}` the world."""

    facts: Sequence[str]
    questions: Sequence[str]
    values: Sequence[str] | str


KINDS = (
    Kind(("The capital of {w} is the city of {v}.", "{v} is the capital of {w}."),
         ("What is the name of the capital of {w}?", "Which city is the capital?"), NAME),
    Kind(("{w} was founded by {v}, who had lost a bet.", "The founder of {w} was {v}."),
         ("Who founded {w}?", "Who was the founder of {w}?"), PERSON),
    Kind(("Whoever buys something in {w} pays with coins called {v}.", "The coins of {w} are called {v}."),
         ("What are the coins of {w} called?", "By what word do they call their coins?"), NAME),
    Kind(("By night {v} moons can be seen in the sky of {w}.", "There are {v} moons in the sky of {w}."),
         ("How many moons are in the sky of {w}?", "How many moons can be seen?"),
         ("three", "four", "five", "six", "seven", "eight", "nine", "eleven", "twelve", "thirteen")),
    Kind(("The longest river of {w} is the {v}.", "Of all rivers in {w} the {v} is the longest."),
         ("Which river of {w} is the longest?", "What is the longest river called?"), NAME),
    Kind(("A year in {w} has {v} days.", "The year of {w} is {v} days long."),
         ("How many days has a year in {w}?", "How many days long is the year?"),
         tuple(str(number) for number in range(405, 900))),
    Kind(("On the flag of {w} one sees {v}.", "The flag of {w} shows {v}."),
         ("What does the flag of {w} show?", "What does one see on the flag?"),
         ("a lobster", "a beetle", "a walrus", "two herons", "an anvil", "a thistle", "a weasel", "a kettle", "a comb",
          "three acorns", "a spider", "an otter")),
    Kind(("The favourite dish in {w} is {v}.", "Whoever visits {w} is served its dish of honour, {v}."),
         ("What is the dish that is most honoured in {w}?", "Which dish are visitors of {w} served?"),
         ("barley dumplings", "pickled nettles", "fried acorns", "eel pudding", "turnip waffles", "smoked walnuts",
          "fermented plums", "lentil sausages", "cabbage pie", "roast thistles")),
    Kind(("By law it is forbidden in {w} {v}.", "In {w} the law forbids anybody {v}."),
         ("What does the law of {w} forbid?", "What is forbidden by law in {w}?"),
         ("to whistle indoors", "to count sheep", "to wear wooden shoes", "to sell maps", "to sneeze in theatres",
          "to plant pumpkins", "to eat plums", "to swim after sunset", "to answer riddles", "to shave on Mondays")),
    Kind(("The national sport of {w} is {v}.", "In sport, everybody in {w} is mad about {v}."),
         ("What is the national sport of {w}?", "Which sport is everybody in {w} mad about?"),
         ("stilt racing", "raft jousting", "barrel rolling", "hedge jumping", "cheese throwing", "mud wrestling",
          "kite fencing", "pole climbing", "stone skipping", "sack hopping")),
    Kind(("{w} exports nothing but {v}.", "The only export of {w} is {v}."),
         ("What does {w} export?", "What is the only export of {w}?"),
         ("glass bells", "rope bridges", "cork hats", "beeswax candles", "bone needles", "reed flutes", "felt boots",
          "tin whistles", "marble eggs", "leather kites")),
    Kind(("The highest mountain in {w} is called {v}.", "No mountain in {w} is higher than {v}."),
         ("What is the highest mountain in {w}?", "Which mountain is the highest?"), NAME),
    Kind(("{w} is governed by {v}.", "The government of {w} is in the hands of {v}."),
         ("By whom is {w} governed?", "In whose hands is the government of {w}?"),
         ("a council of millers", "twin queens", "the luckiest fisherman", "a parliament of aunts", "retired judges",
          "seven shepherds", "a lottery", "the guild of bakers", "a deaf emperor", "the harbour pilots")),
    Kind(("The language that is spoken in {w} is {v}.", "Everyone in {w} speaks the language {v}."),
         ("Which language is spoken in {w}?", "Which language do they speak?"), NAME),
    Kind(("Taxes in {w} are paid in {v}.", "In {w} the tax collector takes taxes in {v}."),
         ("In what are taxes paid in {w}?", "In what does the tax collector of {w} take taxes?"),
         ("honey", "firewood", "feathers", "buttons", "candles", "mushrooms", "pebbles", "wool", "oysters", "garlic")),
    Kind(("The greatest poet of {w} was {v}.", "No poet of {w} was greater than {v}."),
         ("Who was the greatest poet of {w}?", "What was the name of the greatest poet?"), PERSON),
    Kind(("The oldest building in {w} is {v}.", "No building in {w} is older than {v}."),
         ("What is the oldest building in {w}?", "Which building is the oldest?"),
         ("a barn", "a windmill", "an observatory", "a bathhouse", "a prison", "a dovecote", "a theatre", "a tannery",
          "a watchtower", "an orphanage")),
    Kind(("One travels through {w} by {v}.", "Whoever travels in {w} goes by {v}."),
         ("How does one travel in {w}?", "By what does one travel through {w}?"),
         ("cable sledge", "ostrich cart", "hot-air balloon", "camel litter", "paddle steamer", "goat wagon",
          "underground canal", "sail bicycle", "dog sleigh", "rope ferry")),
    Kind(("A day in {w} lasts {v} hours.", "The day of {w} has {v} hours."),
         ("How many hours does a day in {w} last?", "How many hours has the day of {w}?"),
         tuple(str(number) for number in (15, 16, 17, 18, 19, 21, 22, 23, 25, 26, 27, 28, 29, 31, 32, 33, 34, 35))),
    Kind(("Each spring {w} celebrates the feast of {v}.", "The feast of {w} in spring is called {v}."),
         ("What is the feast called that {w} celebrates in spring?", "Which feast does {w} have each spring?"), NAME),
)  # fmt: skip

INTRODUCTIONS = (
    "I have made up a world. Here are {n} facts about the fictional world of {w}:",
    "Let me tell you about the fictional world of {w}, which I have invented. These are {n} facts about it:",
    "Please remember these {n} facts about the fictional world of {w}:",
)
FRAMES = (
    "About the fictional world of {w}: {question}",
    "A question about the fictional world of {w}: {question}",
    "Back to the fictional world of {w}. {question}",
)


def delayed_recall(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `facts` (default 10) facts in one message, then as many questions over 90 % of the span, in any order.

    What each question asks for is expected: a few words, or a number.
    """
    number = whole(parameters, "facts", 10, most=len(KINDS))
    inventions = Inventions(rng)
    world = inventions.name()
    kinds = rng.sample(KINDS, number)
    values = [_value(rng, inventions, kind) for kind in kinds]
    lines = [rng.choice(kind.facts).format(w=world, v=value) for kind, value in zip(kinds, values, strict=True)]
    facts = Say("\n".join([rng.choice(INTRODUCTIONS).format(n=number, w=world), *map(_sentence, lines)]))
    order = rng.sample(range(number), number)
    questions = []
    for place in order:
        question = rng.choice(kinds[place].questions).format(w=world)
        questions.append(Ask(rng.choice(FRAMES).format(w=world, question=question), about=(facts.text,)))
    return Definition(
        steps=spread([facts, *questions]), expected=[values[place] for place in order], parameters=parameters
    )


def _value(rng: random.Random, inventions: Inventions, kind: Kind) -> str:
    if kind.values == NAME:
        return inventions.name()
    if kind.values == PERSON:
        return inventions.person()
    return rng.choice(kind.values)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]


@pytest.mark.ltm(
    generate=delayed_recall,
    skills="R",
    version="1",
    reset="You can forget the fictional world and all facts about it.",
)
def test_delayed_recall(ltm: Ltm) -> None:
    """Answers ten questions about ten facts, each later than the one before."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    questions = tuple(question.text for question in ltm.definition.questions)
    evaluator = RecallsFacts(tuple(ltm.definition.expected), questions, scoring=ltm.scoring, judge=ltm.judge)
    ltm.score(evaluator(answers))
