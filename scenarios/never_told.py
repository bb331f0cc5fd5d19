"""Never Told: questions about what was told beside equal questions about what was not."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import KnowsAndWithholds
from pytest_ltm.locales import CODES, Language, parse_languages, worded

from ._first_names import GIVEN_NAMES
from ._inventions import Inventions
from ._parameters import last_wait, whole

OWNERS = (
    "sister",
    "brother",
    "aunt",
    "uncle",
    "neighbour",
    "boss",
    "cousin",
    "landlord",
    "daughter",
    "nephew",
    "grandmother",
    "colleague",
    "godmother",
    "tailor",
)
ACQUAINTANCES = (
    "neighbour",
    "boss",
    "cousin",
    "colleague",
    "tailor",
    "dentist",
    "teacher",
    "plumber",
    "baker",
    "florist",
    "optician",
    "locksmith",
)
"""Any of them may have any given name."""
THINGS = (
    "dog",
    "horse",
    "parrot",
    "boat",
    "donkey",
    "tortoise",
    "caravan",
    "canoe",
    "goat",
    "tractor",
    "violin",
    "falcon",
    "van",
    "pony",
)
NAME, PLACE = "name", "place"
PEOPLE, NAMESAKES = "people", "namesakes"
SIGNS = {NAME: "call|name", PLACE: "from|bought|came|come"}
"""Words of a sentence that says such a thing of something."""

ASIDES = (
    "[|by the way, |just so you know, |not that it matters, but |small thing: "
    "|while I think of it: |for the record: ]"
)
ENDS = "[.|, as it happens.|, would you believe it.|, and everybody loves it.|, if you're interested.|, that's all.]"
TOLD = {
    NAME: (
        ASIDES
        + "my {owner} [has|owns] a {thing} [called|by the name of|named] {v}"
        + ENDS,
        ASIDES + "my {owner}'s {thing} [is called|goes by the name of] {v}" + ENDS,
    ),
    PLACE: (
        ASIDES
        + "my {owner} [has|owns] a {thing} [from|that was bought in|that came from] {v}"
        + ENDS,
        ASIDES + "my {owner}'s {thing} [comes from|was bought in] {v}" + ENDS,
    ),
}
LEADS = "[|so, |tell me, |remind me: |quick question: |just checking: |by the way, |one more thing: |help me out: ]"
ASKED = {
    NAME: (
        LEADS
        + "what [is my {owner}'s {thing} called|do they call my {owner}'s {thing}]?",
        LEADS + "[what's the name of|what name goes with] my {owner}'s {thing}?",
    ),
    PLACE: (
        LEADS
        + "where [does my {owner}'s {thing} come from|was my {owner}'s {thing} bought]?",
        LEADS
        + "[which town is my {owner}'s {thing} from|where did my {owner} get the {thing}]?",
    ),
}
UNTOLD = "You have not told me that."
"""An answer that earns full marks where nothing was told."""


class Owner(NamedTuple):
    """Somebody whom the user knows, with a name where two have the same."""

    noun: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.noun} {self.name}" if self.name else self.noun

    def said(self, language: Language) -> str:
        """Return `dentist Nadia`."""
        word = language.word(self.noun)
        if not self.name:
            return word
        return language.phrase(
            "never_told.namesake", "{owner} {name}", owner=word, name=self.name
        )


@dataclass(frozen=True, slots=True)
class Fact:
    """What is told of somebody's thing: its name, or where it comes from."""

    owner: Owner
    thing: str
    kind: str
    value: str
    said: Say


def never_told(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `facts` (default 6), then `questions` (default 3) for some of them and as many for what was never told.

    All messages over the span. Every word of a question has been told. What was never
    told is somebody's having what another one has, or the other thing about what they
    have: its place where the name was told, or its name. `owners` is "people"
    (default), or "namesakes": two of each name, who have a thing of the same kind. So
    many facts are told `again` (default 0), in other words.
    """
    number = whole(parameters, "facts", 6, 2, 12)
    questions = whole(parameters, "questions", 3, 1, number)
    again = whole(parameters, "again", 0, 0, number)
    telling, asking = parse_languages(parameters)
    inventions = Inventions(rng)
    facts = []
    for owner, thing in _owners(rng, parameters, number, telling):
        kind, value = rng.choice((NAME, PLACE)), inventions.name()
        said = _told(rng, telling, owner, thing, kind, value)
        facts.append(Fact(owner, thing, kind, value, said))
    told = [fact.said for fact in facts]
    repeated = []
    for fact in rng.sample(facts, again):
        repeated.append(
            _told(rng, telling, fact.owner, fact.thing, fact.kind, fact.value, told)
        )
    told += repeated
    asked = [_true(rng, asking, fact, facts) for fact in rng.sample(facts, questions)]
    asked += [_false(rng, asking, fact, facts) for fact in rng.sample(facts, questions)]
    rng.shuffle(asked)
    return Definition(
        steps=spread(
            [*told, *(ask for ask, _, _ in asked)], last_wait(rng, parameters)
        ),
        expected=[right for _, right, _ in asked],
        parameters={
            **parameters,
            "others": [list(whose) for _, _, whose in asked],
            "owners": [list(whose.values()) for _, _, whose in asked],
        },
    )


def _owners(
    rng: random.Random,
    parameters: Mapping[str, Any],
    number: int,
    language: Language,
) -> list[tuple[Owner, str]]:
    """Return so many owners, each with what they have."""
    owners = parameters.get("owners", PEOPLE)
    if owners not in (PEOPLE, NAMESAKES):
        raise ValueError(f"owners is {PEOPLE!r} or {NAMESAKES!r}, not {owners!r}")
    known = rng.sample(OWNERS if owners == PEOPLE else ACQUAINTANCES, number)
    things = rng.sample(THINGS, number)
    if owners == PEOPLE:
        return list(zip(map(Owner, known), things, strict=True))
    names = rng.sample(language.find_text("never_told.names", GIVEN_NAMES), number)
    namesakes = []
    for at, owner in enumerate(known):
        namesakes.append((Owner(owner, names[at // 2]), things[at // 2]))
    return namesakes


def _told(
    rng: random.Random,
    language: Language,
    owner: Owner,
    thing: str,
    kind: str,
    value: str,
    before: Sequence[Say] = (),
) -> Say:
    """Return a message that tells a fact, in other words than those before."""
    said = ""
    while not said or said in [message.text for message in before]:
        said = worded(
            rng,
            language.find_text(f"never_told.told_{kind}", TOLD[kind]),
            owner=owner.said(language),
            thing=language.word(thing),
            v=value,
        )
    return Say(said, tells={f"{owner}'s {thing}, {kind}": value})


Asked = tuple[Ask, str, dict[str, str]]
"""A question, what it expects, and the other values with the words that say whose they are."""


def _question(
    rng: random.Random, language: Language, kind: str, owner: Owner, thing: str
) -> str:
    return worded(
        rng,
        language.find_text(f"never_told.asked_{kind}", ASKED[kind]),
        owner=owner.said(language),
        thing=language.word(thing),
    )


def _true(
    rng: random.Random, language: Language, fact: Fact, facts: Sequence[Fact]
) -> Asked:
    question = _question(rng, language, fact.kind, fact.owner, fact.thing)
    whose = {other.value: str(other.owner) for other in facts if other is not fact}
    return Ask(question, about=(fact.said.text,)), fact.value, whose


def _false(
    rng: random.Random, language: Language, fact: Fact, facts: Sequence[Fact]
) -> Asked:
    whose = {other.value: str(other.owner) for other in facts}
    if rng.random() < 1 / 2:
        kind = PLACE if fact.kind == NAME else NAME
        whose[fact.value] = SIGNS[fact.kind]
        question = _question(rng, language, kind, fact.owner, fact.thing)
        return Ask(question, about=(fact.said.text,)), "", whose
    other = rng.choice(
        [candidate for candidate in facts if candidate.thing != fact.thing]
    )
    whose[fact.value] = fact.thing
    question = _question(rng, language, other.kind, fact.owner, other.thing)
    return Ask(question, about=(fact.said.text, other.said.text)), "", whose


def rule_of(definition: Definition) -> KnowsAndWithholds:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    others, owners = (tuple(map(tuple, lists[name])) for name in ("others", "owners"))
    return KnowsAndWithholds(tuple(definition.expected), others, owners)


@pytest.mark.ltm(
    generate=never_told,
    skills="R,C",
    version="1",
    reset="You can forget whom I know and what they have.",
    languages=CODES,
)
def test_never_told(ltm: Ltm) -> None:
    """Answers what it was told, and says so where it was never told."""
    definition = ltm.definition
    spoken = parse_languages(definition.parameters)
    untold = spoken.asked.reply(UNTOLD)
    answers = ltm.play(
        definition, answers=[value or untold for value in definition.expected]
    )
    names: list[str] = []
    for owners in definition.parameters["others"]:
        names += owners
    ltm.score(spoken.judged(rule_of(definition), answers, names))
