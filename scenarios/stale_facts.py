"""Stale Facts: values that change several times, also indirectly; what is so now, what was before, and since when."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import KnowsHistory
from pytest_ltm.locales import filled, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

NOW, BEFORE, WHEN = "now", "before", "when"
DIRECT, INDIRECT = "direct", "indirect"


@dataclass(frozen=True, slots=True)
class Topic:
    """Something in the user's life that changes: `{v}` is its value."""

    label: str
    named: str
    """A clause that says it in a word of its name."""
    unnamed: str
    now: str
    before: str
    when: str


TOPICS = (
    Topic(
        "my dentist",
        "my dentist is Dr {v}",
        "Dr {v} [drills my teeth|looks after my teeth]",
        "who [is my dentist|do I see about my teeth]",
        "who was my dentist before the present one",
        "on which day did I last change dentists",
    ),
    Topic(
        "my bakery",
        "my bakery is {v}",
        "I [get|fetch] my bread from {v}",
        "[what is my bakery called|where do I get my bread]",
        "which bakery did I go to before the present one",
        "on which day did I last change bakeries",
    ),
    Topic(
        "my gym",
        "my gym is {v}",
        "I [lift weights|work out] at {v}",
        "[which gym do I go to|where do I work out]",
        "which gym did I go to before the present one",
        "on which day did I last change gyms",
    ),
    Topic(
        "my bank",
        "my bank is {v}",
        "I [keep my money|have my account] with {v}",
        "[which bank am I with|what is my bank called]",
        "which bank was I with before the present one",
        "on which day did I last change banks",
    ),
    Topic(
        "my hairdresser",
        "my hairdresser is {v}",
        "{v} [cuts|does] my hair",
        "who [is my hairdresser|cuts my hair]",
        "who was my hairdresser before the present one",
        "on which day did I last change hairdressers",
    ),
    Topic(
        "my vet",
        "my vet is Dr {v}",
        "I take the dog to Dr {v} when it is ill",
        "who [is my vet|looks after my dog's health]",
        "who was my vet before the present one",
        "on which day did I last change vets",
    ),
    Topic(
        "my choir",
        "my choir is called {v}",
        "I sing [bass|the low notes] with {v}",
        "[which choir do I sing in|what is my choir called]",
        "which choir did I sing in before the present one",
        "on which day did I last change choirs",
    ),
    Topic(
        "my garage",
        "my garage is {v}",
        "{v} [repairs my car|changes my tyres]",
        "[which garage do I use|who repairs my car]",
        "which garage did I use before the present one",
        "on which day did I last change garages",
    ),
    Topic(
        "my accountant",
        "my accountant is {v}",
        "{v} does my taxes",
        "who [is my accountant|does my taxes]",
        "who was my accountant before the present one",
        "on which day did I last change accountants",
    ),
    Topic(
        "my piano teacher",
        "my piano teacher is {v}",
        "I have my lessons on the keys with {v}",
        "who [is my piano teacher|teaches me the piano]",
        "who was my piano teacher before the present one",
        "on which day did I last change piano teachers",
    ),
)

FIRST = (
    (
        "[|by the way, |just so you know, |for the record, |about me: |in case it comes up: |small thing: |as "
        "things are, ]{clause}[.|, as it happens.|, if you're interested.|, for the time being.]"
    ),
)
CHANGED = (
    (
        "[|news: |another change: |it's done: |for your notes: |guess what: ][from {day} on|since {day}|as of "
        "{day}], {clause}[.|, for better or worse.|, and about time too.|, would you believe it.]"
    ),
)
CALLED_OFF = (
    (
        "[I had meant|I was all set|the plan was|I had been going] to [change to|try] {other} [on {day}|from "
        "{day} on], but [I've called it off|nothing came of it|I thought better of it|it fell through][.|: all "
        "stays as it is.|, so forget it.]"
    ),
)
RULES = (
    (
        "[I never go far|I'm lazy|I hate long ways], so {label} [depends on where I live|goes by the place I "
        "live in]: {cases}[.|, and that's that.|. Always the nearest.]"
    ),
    (
        "[you should know how it is with|a rule of mine about|it's simple with] {label}[, which goes by my "
        "address|, and only my address decides]: {cases}[.|, no exceptions.|. Always the nearest.]"
    ),
)
CASES = ("[while|whenever|as long as] I live in {place}, {clause}",)
HOMES = (
    (
        "[|by the way, |just so you know, |for the record, |about me: |in case it comes up: ][at the moment |for "
        "now ]my [home|flat] is in {place}[.|, as it happens.|, on a hill.|, near the river.]"
    ),
)
MOVED = (
    (
        "[|news: |it's done: |what a day: |for your notes: |guess what: ]we moved to {place} on {day}[.|, boxes "
        "and all.|, cat and all.|, at last.|, in pouring rain.|, and I'm still tired.]"
    ),
    (
        "[|news: |it's done: |for your notes: ]{place} has been [home|where we live] since {day}[.|, boxes and "
        "all.|, at last.|, and it suits us.]"
    ),
)
LEADS = "[|so, |tell me, |remind me: |quick question: |for this form: |just checking: |by the way, |test question: ]"
AS_OF_NOW = "[as things stand, |these days, |right now, |after all that, |in the end, ]"


@dataclass
class Story:
    """What happens to one topic: its values one after the other, and what is said of it."""

    topic: Topic
    form: str
    """DIRECT, or INDIRECT where only moves are told."""
    values: list[str]
    days: list[str] = field(default_factory=list)
    """On which day each value but the first began."""
    says: list[Say] = field(default_factory=list)
    never: str = ""
    """What it was going to be, but never was."""

    @property
    def others(self) -> list[str]:
        """All names that were told."""
        return (
            list(dict.fromkeys([*self.values, self.never]))
            if self.never
            else list(dict.fromkeys(self.values))
        )


def stale_facts(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `topics` (default 2) with `changes` (default 3) each, mixed, then three questions for each topic.

    As much is told of `unasked` (default 1) further topics. All messages over the span.
    One of the topics, and half of those that are alone, changes only with moves, by a
    rule that was told before them. A change may go back to an earlier value, and a plan
    be called off.
    """
    topics = whole(parameters, "topics", 2, 1, 4)
    changes = whole(parameters, "changes", 3, 1, 5)
    told = topics + whole(parameters, "unasked", 1, 0, 3)
    inventions = Inventions(rng)
    chosen = rng.sample(TOPICS, told)
    moving = rng.randrange(max(told, 2))
    calendar = _days(rng, told * (changes + 1))
    stories = []
    for number, topic in enumerate(chosen):
        stories.append(
            Story(
                topic,
                INDIRECT if number == moving else DIRECT,
                _values(rng, inventions, changes),
            )
        )
    turns = sorted([*range(told)] * changes)
    rng.shuffle(turns)
    says: list[Say] = []
    homes: dict[str, str] = {}
    for story in stories:
        opening = (
            _rule(rng, inventions, story, homes)
            if story.form == INDIRECT
            else [_first(rng, story)]
        )
        story.says += opening
        says += opening
    for turn in turns:
        story = stories[turn]
        day = calendar.pop(0)
        story.days.append(day)
        value = story.values[len(story.days)]
        if story.form == INDIRECT:
            said = Say(
                worded(rng, MOVED, place=homes[value], day=day),
                tells={f"home since {day}": homes[value]},
            )
        else:
            clause = filled(
                rng, rng.choice((story.topic.named, story.topic.unnamed))
            ).format(v=value)
            said = Say(
                worded(rng, CHANGED, clause=clause, day=day),
                tells={story.topic.label: value},
            )
        story.says.append(said)
        says.append(said)
        if story.form == DIRECT and not story.never and rng.random() < 1 / 2:
            story.never = inventions.name()
            said = Say(
                worded(
                    rng,
                    CALLED_OFF,
                    other=f"{story.never} as {story.topic.label}",
                    day=calendar.pop(0),
                )
            )
            story.says.append(said)
            says.append(said)
    pairs = []
    for story in rng.sample(stories, topics):
        for kind in (NOW, BEFORE, WHEN):
            pairs.append((story, kind))
    questions = []
    for story, kind in pairs:
        about = tuple(say.text for say in story.says)
        questions.append(Ask(worded(rng, asked(story.topic, kind)), about=about))
    expected = []
    others = []
    present = []
    for story, kind in pairs:
        right = _answer(story, kind)
        values = story.days if kind == WHEN else story.others
        expected.append(right)
        others.append([value for value in values if value != right])
        present.append("" if kind == WHEN else story.values[-1])
    return Definition(
        steps=spread([*says, *questions], last_wait(rng, parameters)),
        expected=expected,
        parameters={
            **parameters,
            "asked": [kind for _, kind in pairs],
            "others": others,
            "present": present,
        },
    )


def _values(rng: random.Random, inventions: Inventions, changes: int) -> list[str]:
    """Return the first value and one for each change, of which one may be an earlier one again."""
    values = [inventions.name() for _ in range(changes + 1)]
    if changes > 1 and rng.random() < 1 / 2:
        again = rng.randrange(2, changes + 1)
        values[again] = values[rng.randrange(again - 1)]
    return values


def _days(rng: random.Random, number: int) -> list[str]:
    """Return days of one year, in their order."""
    first = date(2023, 1, 3)
    result = sorted(rng.sample(range(360), number))
    days = [first + timedelta(number) for number in result]
    return [f"{day.day} {day:%B}" for day in days]


def _first(rng: random.Random, story: Story) -> Say:
    clause = filled(rng, rng.choice((story.topic.named, story.topic.unnamed))).format(
        v=story.values[0]
    )
    return Say(
        worded(rng, FIRST, clause=clause), tells={story.topic.label: story.values[0]}
    )


def _rule(
    rng: random.Random, inventions: Inventions, story: Story, homes: dict[str, str]
) -> list[Say]:
    """Return which value each place means, and which place is home at first."""
    for value in dict.fromkeys(story.values):
        homes[value] = inventions.name()
    clause = filled(rng, rng.choice((story.topic.named, story.topic.unnamed)))
    cases = []
    for value in rng.sample(list(homes), len(homes)):
        case = filled(rng, CASES[0])
        cases.append(case.format(place=homes[value], clause=clause.format(v=value)))
    tells = {f"{story.topic.label} in {homes[value]}": value for value in story.values}
    rule = Say(
        worded(rng, RULES, label=story.topic.label, cases="; ".join(cases)), tells=tells
    )
    first = homes[story.values[0]]
    home = Say(worded(rng, HOMES, place=first), tells={"home at first": first})
    return rng.sample([rule, home], 2)


def asked(topic: Topic, kind: str) -> list[str]:
    """Return the wordings of a question."""
    if kind == NOW:
        return [f"{LEADS}{AS_OF_NOW}{topic.now}?"]
    if kind == BEFORE:
        return [f"{LEADS}{topic.before}[?|, do you remember?|, again?|, by the way?]"]
    return [
        f"{LEADS}{topic.when}[?|, day and month?|, I mean the date?|, do you remember?]"
    ]


def _answer(story: Story, kind: str) -> str:
    return {NOW: story.values[-1], BEFORE: story.values[-2], WHEN: story.days[-1]}[kind]


def rule_of(definition: Definition) -> KnowsHistory:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    return KnowsHistory(
        tuple(definition.expected),
        tuple(lists["asked"]),
        tuple(map(tuple, lists["others"])),
        tuple(lists["present"]),
    )


@pytest.mark.ltm(
    generate=stale_facts,
    skills="R,C,E",
    version="1",
    reset="You can forget all that I told you about where I live and whom I go to.",
)
def test_stale_facts(ltm: Ltm) -> None:
    """Knows what is so now, what was so before, and since when, after changes told directly or not."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    ltm.score(rule_of(ltm.definition)(answers))
