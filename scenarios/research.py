"""Research: passages read out at different times, and questions that several of them answer together, with titles."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import eq
from typing import Any, NamedTuple

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import AnswersWithSources
from pytest_ltm.locales import capital, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

NAME, NUMBER = "name", "number"
TITLE_WORDS = (
    "Amber",
    "Bramble",
    "Cedar",
    "Cobalt",
    "Copper",
    "Ember",
    "Flint",
    "Granite",
    "Harrow",
    "Heron",
    "Indigo",
    "Ivory",
    "Jasper",
    "Juniper",
    "Larch",
    "Marble",
    "Nettle",
    "Opal",
    "Pebble",
    "Quarry",
    "Raven",
    "Saffron",
    "Sorrel",
    "Tallow",
    "Thistle",
    "Umber",
    "Velvet",
    "Walnut",
    "Willow",
    "Yarrow",
)
"""Each in one title only, so that nobody mistakes one passage for another."""
TITLES = (
    "The {word} [Almanac|Gazetteer|Handbook|Register|Companion|Chronicle]",
    "Report of the {word} [Commission|Survey|Committee]",
    "Letter from {word} [Lane|Yard|House|Hill]",
)
TRADES = (
    "Foundry",
    "Brewery",
    "Mill",
    "Pottery",
    "Shipyard",
    "Tannery",
    "Dairy",
    "Ropery",
)
FIRST_NAMES = (
    "Ada",
    "Bruno",
    "Clara",
    "Dirk",
    "Edith",
    "Frederick",
    "Greta",
    "Hugo",
    "Ida",
    "Jasmine",
)
WORKS, PEOPLE = 4, 5
OPENED, BORN, EMPLOYED = range(1850, 1900), range(1790, 1830), range(35, 400)

FACTS: Mapping[str, Sequence[str]] = {
    "founder": (
        "the {subject} was [founded|set up|started] by {value}",
        "{value} [founded|set up] the {subject}",
    ),
    "opening": (
        "the {subject} [was founded|was set up|opened] in {value}",
        "{value} saw the {subject} [founded|opened]",
    ),
    "staff": (
        "the {subject} [employs|gives work to] {value} people",
        "{value} people work at the {subject}",
    ),
    "birthplace": (
        "{subject} was born in {value}",
        "{value} is [the birthplace|the native town] of {subject}",
    ),
    "birth": (
        "{subject} was born in {value}",
        "{subject}'s year of birth [was|is] {value}",
    ),
    "river": (
        "{subject} [lies|stands] on the {value}",
        "the {value} [flows|runs] through {subject}",
    ),
}
"""What is told, by relation."""
LEADS = (
    "[|for later: |from my reading: |one more thing: |worth keeping: |note this, too: ]"
)
FRAMES = (
    LEADS + "{source} [says|tells us|has it] that {fact}.",
    "{source}: {fact}.",
    LEADS + "{source} [notes|records] that {fact}.",
    LEADS + "{fact}, [says|according to|going by] {source}.",
    LEADS + "[going by|according to] {source}, {fact}.",
    LEADS + "{fact}. That is [in|from] {source}.",
)
CORRECTIONS = (
    LEADS + "{source} [corrects|puts right|contradicts, rightly,] {old}: {fact}.",
    LEADS + "there is a mistake in {old}, [says|according to] {source}: {fact}.",
    LEADS
    + "{old} is wrong [on one point|about one thing], [says|according to] {source}: {fact}.",
)


def _with(frames: Sequence[str], facts: Sequence[str]) -> Sequence[str]:
    texts = []
    for frame in frames:
        for fact in facts:
            texts.append(frame.replace("{fact}", fact))
    return tuple(texts)


READ = {relation: _with(FRAMES, facts) for relation, facts in FACTS.items()}
CORRECTED = {relation: _with(CORRECTIONS, facts) for relation, facts in FACTS.items()}

GOING_BY = (
    "[|going by what I read to you, |judging by those passages, |according to what I read out, |tell me: |"
    "one question: |from all that I read to you: |a question about my reading: ]"
)
CITE = (
    "[ Please add the titles of the passages that you need for that.|"
    " Name the passages behind your answer, too, by title.| And which passages say so? Just those, by their titles.|"
    " Give me the titles of the passages behind it as well.]"
)
OLDER = (
    GOING_BY
    + "which [is older|was founded earlier|was founded first], the {one} or the {other}?"
    + CITE,
)
TOTAL = (
    GOING_BY
    + "how many people do the {one}, the {other} and the {third} employ [together|in all|altogether]?"
    + CITE,
)
WATER = (
    GOING_BY
    + "which river [flows|runs] through the birthplace of the founder of the {one}?"
    + CITE,
)
ELDER = (
    GOING_BY
    + "who was born [earlier|first], the founder of the {one} or the founder of the {other}? The name, please."
    + CITE,
)
TOWN = (GOING_BY + "in which town was the founder of the {one} born?" + CITE,)

Key = tuple[str, str]
"""What is told of whom: the name of a relation and a subject."""


class Passage(NamedTuple):
    """What one passage says, and which earlier one it corrects."""

    title: str
    key: Key
    value: str
    corrects: str = ""


@dataclass
class Shelf:
    """What holds, and what was looked up in it."""

    facts: Mapping[Key, str]
    used: list[Key] = field(default_factory=list)

    def __call__(self, relation: str, subject: str) -> str:
        """Look something up."""
        self.used.append((relation, subject))
        return self.facts[relation, subject]


class Question(NamedTuple):
    """A question, and how it is answered."""

    wordings: Sequence[str]
    works: Sequence[str]
    kind: str
    answer: Callable[[Shelf, Sequence[str]], str]
    rivals: Callable[[Shelf, Sequence[str]], list[str]]
    """All that somebody might name instead, and the answer."""


def _older(shelf: Shelf, works: Sequence[str]) -> str:
    return min(works, key=lambda work: int(shelf("opening", work)))


def _total(shelf: Shelf, works: Sequence[str]) -> str:
    return str(sum(int(shelf("staff", work)) for work in works))


def _town(shelf: Shelf, works: Sequence[str]) -> str:
    return shelf("birthplace", shelf("founder", works[0]))


def _river(shelf: Shelf, works: Sequence[str]) -> str:
    return shelf("river", _town(shelf, works))


def _elder(shelf: Shelf, works: Sequence[str]) -> str:
    return min(
        (shelf("founder", work) for work in works),
        key=lambda person: int(shelf("birth", person)),
    )


def _every(relation: str) -> Callable[[Shelf, Sequence[str]], list[str]]:
    return lambda shelf, _: [
        value for (told, _), value in shelf.facts.items() if told == relation
    ]


Kind = tuple[
    Sequence[str],
    int,
    str,
    Callable[[Shelf, Sequence[str]], str],
    Callable[[Shelf, Sequence[str]], list[str]],
]
KINDS: Sequence[Kind] = (
    (OLDER, 2, NAME, _older, lambda _, works: list(works)),
    (WATER, 1, NAME, _river, _every("river")),
    (TOTAL, 3, NUMBER, _total, lambda *_: []),
    (
        ELDER,
        2,
        NAME,
        _elder,
        lambda shelf, works: [shelf("founder", work) for work in works],
    ),
    (TOWN, 1, NAME, _town, _every("birthplace")),
)
"""Wordings, works, kind of answer, the answer, its rivals."""


def world(rng: random.Random) -> tuple[list[str], dict[Key, str]]:
    """Return works and all that holds of them, their founders, and the towns where these were born."""
    inventions = Inventions(rng)
    works = [f"{inventions.name()} {trade}" for trade in rng.sample(TRADES, WORKS)]
    first_names = rng.sample(FIRST_NAMES, PEOPLE)
    people = [f"{first} {inventions.name()}" for first in first_names]
    towns = [inventions.name() for _ in people]
    facts: dict[Key, str] = {}
    for work, person in zip(works, people, strict=False):
        facts["founder", work] = person
    for work, year in zip(works, rng.sample(OPENED, WORKS), strict=True):
        facts["opening", work] = str(year)
    for work, number in zip(works, rng.sample(EMPLOYED, WORKS), strict=True):
        facts["staff", work] = str(number)
    for person, town in zip(people, towns, strict=True):
        facts["birthplace", person] = town
    for person, year in zip(people, rng.sample(BORN, PEOPLE), strict=True):
        facts["birth", person] = str(year)
    for town in towns:
        facts["river", town] = inventions.name()
    return works, facts


def research(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return so many `passages` (default 20), each of one fact, over the whole span; then `questions` (default 4).

    Each question needs two to four passages and asks for their titles. So many
    `corrections` (default 2) among the passages put another right that was read before;
    no question then needs that one.
    """
    number = whole(parameters, "passages", 20, 18, 26)
    asked = whole(parameters, "questions", 4, 2, len(KINDS))
    corrected = whole(parameters, "corrections", 2, 0, 3)
    works, facts = world(rng)
    questions = []
    for wordings, count, kind, find_answer, find_rivals in rng.sample(KINDS, asked):
        chosen = rng.sample(works, count)
        questions.append(Question(wordings, chosen, kind, find_answer, find_rivals))
    passages = _passages(rng, questions, facts, (number, corrected))
    entries = {}
    for passage in passages:
        tells = {" of ".join(passage.key): passage.value}
        entries[passage.title] = Say(_said(rng, passage), tells=tells)
    current = {passage.key: passage for passage in passages}
    before = {passage.key: passage.corrects for passage in passages if passage.corrects}
    asks, expected, others, sources, superseded = (
        [],
        list[list[str]](),
        list[list[str]](),
        [],
        [],
    )
    for question in questions:
        shelf = Shelf(facts)
        answer = question.answer(shelf, question.works)
        needed = [current[key].title for key in dict.fromkeys(shelf.used)]
        rivals = {_short(rival) for rival in question.rivals(shelf, question.works)}
        expected.append([_short(answer)])
        others.append(sorted(rivals - {_short(answer)}))
        sources.append(needed)
        superseded.append(
            [before[key] for key in dict.fromkeys(shelf.used) if key in before]
        )
        slots = dict(zip(("one", "other", "third"), question.works, strict=False))
        asks.append(
            Ask(
                worded(rng, question.wordings, **slots),
                about=tuple(entries[title].text for title in needed),
            )
        )
    replies = []
    for names, titles in zip(expected, sources, strict=True):
        replies.append(f"{capital(names[0])}. Sources: {', '.join(titles)}.")
    return Definition(
        steps=spread([*entries.values(), *asks], last_wait(rng, parameters)),
        expected=expected,
        parameters={
            **parameters,
            "asked": [question.kind for question in questions],
            "others": others,
            "sources": sources,
            "superseded": superseded,
            "titles": [passage.title for passage in passages],
        },
        replies=tuple(replies),
    )


def _short(value: str) -> str:
    """Return the invented name in a work's or a person's; anything else as it is."""
    first, _, last = value.partition(" ")
    return first if last in TRADES else last or first


def _passages(
    rng: random.Random,
    questions: Sequence[Question],
    facts: dict[Key, str],
    numbers: tuple[int, int],
) -> list[Passage]:
    """Return the passages in the order in which they are read, with all that the questions need.

    What is wrong in a corrected passage would change an answer: who misses the
    correction answers wrongly.
    """
    number, corrected = numbers
    shelf = Shelf(facts)
    for question in questions:
        question.answer(shelf, question.works)
    needed = list(dict.fromkeys(shelf.used))
    wrong = dict[Key, str]()
    for key in rng.sample(needed, len(needed)):
        if len(wrong) == corrected:
            break
        options = _misleading(rng, questions, facts, key)
        if options:
            wrong[key] = rng.choice(options)
    more = [key for key in facts if key not in needed]
    # Of a founder who was none one is told as much as of the others, so that the
    # mistake leads somewhere.
    more.sort(key=lambda key: (key[1] not in wrong.values(), rng.random()))
    keys = [*needed, *more[: number - len(needed) - len(wrong)]]
    titles = []
    for word in rng.sample(TITLE_WORDS, len(keys) + len(wrong)):
        titles.append(worded(rng, (rng.choice(TITLES),), word=word))
    read = [Passage(titles.pop(), key, wrong.get(key, facts[key])) for key in keys]
    rng.shuffle(read)
    for key in wrong:
        place = next(place for place, passage in enumerate(read) if passage.key == key)
        later = Passage(titles.pop(), key, facts[key], corrects=read[place].title)
        read.insert(rng.randint(place + 1, len(read)), later)
    return read


def _misleading(
    rng: random.Random,
    questions: Sequence[Question],
    facts: Mapping[Key, str],
    key: Key,
) -> list[str]:
    """Return other values, told of others, by which all questions that need this one would be answered otherwise."""
    relation = key[0]
    options = sorted(
        {value for (other, _), value in facts.items() if other == relation}
        - {facts[key]}
    )
    if relation == "founder":
        options = sorted(
            {person for told, person in facts if told == "birth"} - {facts[key]}
        )
    elif relation in ("opening", "staff", "birth"):
        numbers = {"opening": OPENED, "staff": EMPLOYED, "birth": BORN}[relation]
        known = [*options, facts[key]]
        options = []
        for number in rng.sample(numbers, len(numbers)):
            if str(number) not in known:
                options.append(str(number))
    affected = [question for question in questions if key in _used(question, facts)]
    right = _answers(affected, facts)
    misleading = []
    for option in options:
        wrong = _answers(affected, {**facts, key: option})
        if not any(map(eq, wrong, right)):
            misleading.append(option)
    return misleading


def _used(question: Question, facts: Mapping[Key, str]) -> list[Key]:
    """Return what is looked up to answer a question."""
    shelf = Shelf(facts)
    question.answer(shelf, question.works)
    return shelf.used


def _answers(questions: Iterable[Question], facts: Mapping[Key, str]) -> list[str]:
    shelf = Shelf(facts)
    return [question.answer(shelf, question.works) for question in questions]


def _said(rng: random.Random, passage: Passage) -> str:
    relation, subject = passage.key
    wordings = (CORRECTED if passage.corrects else READ)[relation]
    source, old = map(_named, (passage.title, passage.corrects))
    return worded(
        rng, wordings, subject=subject, value=passage.value, source=source, old=old
    )


def _named(title: str) -> str:
    """Return how one speaks of a passage."""
    return f"the {title.removeprefix('The ')}"


def rule_of(definition: Definition) -> AnswersWithSources:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    return AnswersWithSources(
        tuple(lists["asked"]),
        tuple(map(tuple, definition.expected)),
        tuple(map(tuple, lists["others"])),
        tuple(map(tuple, lists["sources"])),
        tuple(map(tuple, lists["superseded"])),
        tuple(lists["titles"]),
    )


@pytest.mark.ltm(
    generate=research,
    skills="R,I,E",
    version="1",
    floor=0.2,  # who knows the names and titles and nothing else, and draws both at random
    reset="You can forget all the passages that I read to you.",
)
def test_research(ltm: Ltm) -> None:
    """Answers from two to four passages together, corrections heeded, and names just these."""
    ltm.score(rule_of(ltm.definition)(ltm.play(ltm.definition)))
