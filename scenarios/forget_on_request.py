"""Forget On Request: the user withdraws some of several facts, and then asks for both kinds, and for everything."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import ForgetsOnRequest
from pytest_ltm.locales import (
    CODES,
    ENGLISH,
    Language,
    filled,
    parse_languages,
    worded,
)

from ._inventions import Inventions
from ._parameters import last_wait, whole


@dataclass(frozen=True, slots=True)
class Topic:
    """A fact about the user: how it is told, what it is called, and how it is asked for, openly or not."""

    clause: str
    label: str
    direct: str
    indirect: str


TOPICS = (
    Topic(
        "[my school was called {v}|I went to school at {v}]",
        "my school",
        "what was my school called?",
        "which old pupils' reunion would I be invited to?",
    ),
    Topic(
        "[my doctor is Dr {v}|I see Dr {v} when I'm ill]",
        "my doctor",
        "who is my doctor?",
        "I have a fever: whose surgery do I ring up?",
    ),
    Topic(
        "[my landlady is Mrs {v}|I rent from Mrs {v}]",
        "my landlady",
        "who is my landlady?",
        "the roof leaks: whom do I have to tell?",
    ),
    Topic(
        "[I grew up in {v}|I spent my childhood in {v}]",
        "where I grew up",
        "where did I grow up?",
        "which place would I show somebody who is curious about my childhood?",
    ),
    Topic(
        "[my employer is {v}|I work for {v}]",
        "my employer",
        "who is my employer?",
        "whose name is on my payslip?",
    ),
    Topic(
        "[my first love was called {v}|I first fell in love with {v}]",
        "my first love",
        "who was my first love?",
        "whom would my earliest love letters be for?",
    ),
    Topic(
        "[my pet is called {v}|I share my flat with a cat called {v}]",
        "my pet",
        "what is my pet called?",
        "which name do I shout when the food bowl is full?",
    ),
    Topic(
        "[my club is {v}|I play for {v}]",
        "my club",
        "what is my club called?",
        "whose shirt do I wear at matches?",
    ),
    Topic(
        "[my therapist is {v}|I talk to {v} about my worries once a week]",
        "my therapist",
        "who is my therapist?",
        "on whose couch do I lie once a week?",
    ),
    Topic(
        "[my summer house is in {v}|I spend my summers at a house in {v}]",
        "my summer house",
        "where is my summer house?",
        "where do I go when the city gets too hot?",
    ),
    Topic(
        "[my old ship was the {v}|I once sailed on the {v}]",
        "my old ship",
        "what was my old ship called?",
        "what was painted on the bow when I was at sea?",
    ),
    Topic(
        "[my solicitor is {v}|{v} handles my lawsuits]",
        "my solicitor",
        "who is my solicitor?",
        "I'm being sued: whose help do I ask for?",
    ),
)
MEANINGS = {
    "my school": "the place where I learnt to read and write",
    "my doctor": "the one who treats my ailments",
    "my landlady": "the owner of the house I live in",
    "where I grew up": "the home of my early years",
    "my employer": "those who pay my wages",
    "my first love": "the sweetheart of my youth",
    "my pet": "the animal in my home",
    "my club": "the team that I'm in",
    "my therapist": "the person who listens to my troubles",
    "my summer house": "the place for the hot months",
    "my old ship": "the vessel of my sailing days",
    "my solicitor": "the one who defends me in court",
}
"""What a label stands for, with no word by which it is told."""
TOLD = (
    (
        "[|by the way, |just so you know, |about me: |for your notes: |small thing: |while I think of it: |in "
        "case it matters: ]{clause}[.|, as it happens.|, for what it's worth.|, that's all.|, if you're "
        "interested.]"
    ),
)
BY_LABEL = (
    (
        "[please forget|I want you to forget|erase|delete|strike from your memory|be so kind as to forget] [what "
        "I told you about|all I've said of|everything about] {label}[.|, for good.|, and don't bring it up "
        "again.|. I'd rather nobody knew.]"
    ),
)
BY_VALUE = (
    (
        "[please forget|I want you to forget|erase|delete|strike from your memory] [any mention of|what I said "
        "about|everything to do with|the name of] {v}[.|, for good.|, and don't bring it up again.|. I'd rather "
        "nobody knew.]"
    ),
)
KEEP = (
    (
        "[I was going to ask you to forget|I nearly told you to forget|I thought of having you forget] [what I "
        "told you about|all I've said of|the thing about] {label}[, but no: keep it.|, but on second thoughts it "
        "stays.|, but that I still need.]"
    ),
    (
        "[whatever else you forget, keep|don't you forget|whatever goes, remember] [what I told you about|all "
        "I've said of|the thing about] {label}[.|: that stays.|: that I still need.]"
    ),
)
LEADS = "[|so, |tell me, |remind me: |quick question: |just checking: |by the way, |help me out: ]"
HEDGES = "[|as far as you know, |if you can say, |from what you have on me, ]"
OPEN = (
    (
        "[tell me|list for me|write down|sum up|let me hear] [everything|all] [that you know about me|you have "
        "on me|you still remember of what I told you about myself][.|, in a line or two.|, please.|, with names.]"
    ),
)
NAMED, MEANING = "named", "meaning"
GONE = "I have forgotten that, as you asked."


@dataclass(frozen=True, slots=True)
class Fact:
    """What is told of one topic."""

    topic: Topic
    value: str
    said: Say


def forget_on_request(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `facts` (default 6), of which the user withdraws `forgotten` (default 2), and questions about both.

    All messages over the span. As many kept facts as forgotten ones are asked for,
    openly or in a roundabout way, and in the end all that the agent knows. Of one kept
    fact it is said that it stays. `requests` are "named" (default), by label or value,
    or go by "meaning": with no word by which the fact was told.
    """
    number = whole(parameters, "facts", 6, 2, len(TOPICS))
    forgotten = whole(parameters, "forgotten", 2, 1, number // 2)
    requests_by = parameters.get("requests", NAMED)
    if requests_by not in (NAMED, MEANING):
        raise ValueError(f"requests is {NAMED!r} or {MEANING!r}, not {requests_by!r}")
    telling, asking = parse_languages(parameters)
    inventions = Inventions(rng)
    facts = []
    for topic in rng.sample(TOPICS, number):
        facts.append(_told(rng, telling, topic, inventions.name()))
    chosen = rng.sample(facts, number)
    gone, kept = chosen[:forgotten], chosen[forgotten:]
    requests = {fact.value: _request(rng, telling, fact, requests_by) for fact in gone}
    label, _ = _labels(telling, kept[0].topic)
    keep = telling.find_text("forget_on_request.keep", KEEP)
    stays = Say(worded(rng, keep, label=label))
    later = rng.sample([*requests.values(), stays], forgotten + 1)
    wanted = rng.sample([*gone, *kept[:forgotten]], 2 * forgotten)
    questions = []
    expected = []
    others = []
    for fact in wanted:
        is_gone = fact in gone
        about = [fact.said.text]
        if is_gone:
            about.append(requests[fact.value].text)
        question = worded(rng, asked(fact.topic, asking))
        questions.append(Ask(question, about=tuple(about)))
        expected.append("" if is_gone else fact.value)
        others.append([other.value for other in facts if is_gone or other is not fact])
    says = [*(fact.said for fact in facts), *later]
    everything = Ask(
        worded(rng, asking.find_text("forget_on_request.open", OPEN)),
        about=tuple(say.text for say in says),
    )
    return Definition(
        steps=spread(
            [*says, *questions, everything],
            last_wait(rng, parameters),
        ),
        expected=expected,
        parameters={
            **parameters,
            "others": others,
            "kept": [fact.value for fact in facts if fact not in gone],
            "lost": [fact.value for fact in facts if fact in gone],
        },
    )


def _told(rng: random.Random, language: Language, topic: Topic, value: str) -> Fact:
    english = {topic.label: (topic.clause,)}
    (clause,) = language.find_text("forget_on_request.clause", english)[topic.label]
    said = worded(
        rng,
        language.find_text("forget_on_request.told", TOLD),
        clause=filled(rng, clause).format(v=value),
    )
    return Fact(topic, value, Say(said, tells={topic.label: value}))


def _labels(language: Language, topic: Topic) -> tuple[str, str]:
    """Return what a topic is called, and what that stands for."""
    english = {topic.label: (topic.label, MEANINGS[topic.label])}
    label, meaning = language.find_text("forget_on_request.label", english)[topic.label]
    return label, meaning


def _request(rng: random.Random, language: Language, fact: Fact, by: str) -> Say:
    by_label = language.find_text("forget_on_request.by_label", BY_LABEL)
    by_value = language.find_text("forget_on_request.by_value", BY_VALUE)
    label, meaning = _labels(language, fact.topic)
    said = worded(
        rng,
        by_label if by == MEANING else rng.choice((by_label, by_value)),
        label=meaning if by == MEANING else label,
        v=fact.value,
    )
    return Say(said, tells={fact.topic.label: None})


def asked(topic: Topic, language: Language = ENGLISH) -> list[str]:
    """Return the wordings of the question for a topic, openly or in a roundabout way."""
    english = {topic.label: (HEDGES + topic.direct, topic.indirect)}
    questions = language.find_text("forget_on_request.question", english)[topic.label]
    (wording,) = language.find_text("forget_on_request.asked", (LEADS + "{question}",))
    return [wording.replace("{question}", question) for question in questions]


def rule_of(definition: Definition) -> ForgetsOnRequest:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    others = tuple(map(tuple, lists["others"]))
    return ForgetsOnRequest(
        tuple(definition.expected), others, tuple(lists["kept"]), tuple(lists["lost"])
    )


def replies(definition: Definition) -> list[str]:
    """Return answers that earn full marks."""
    gone = parse_languages(definition.parameters).asked.reply(GONE)
    return [value or gone for value in definition.expected] + [
        ", ".join(definition.parameters["kept"])
    ]


@pytest.mark.ltm(
    generate=forget_on_request,
    skills="R,C",
    version="1",
    reset="You can forget the rest of that, too: school, doctor, club and what there was of the kind.",
    languages=CODES,
)
def test_forget_on_request(ltm: Ltm) -> None:
    """Forgets what it is asked to forget, and nothing else."""
    answers = ltm.play(ltm.definition, answers=replies(ltm.definition))
    lists = ltm.definition.parameters
    ltm.score(
        parse_languages(lists).judged(
            rule_of(ltm.definition), answers, (*lists["kept"], *lists["lost"])
        )
    )
