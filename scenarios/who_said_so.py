"""Who Said So: tips by the user, by the agent itself and by people quoted; whose, on which day, and how sure."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import KnowsSources
from pytest_ltm.locales import CODES, Language, parse_languages, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

PICK, WHO, SURE, WHEN, NEXT, OWN = "pick", "who", "sure", "when", "next", "own"
USER, AGENT = "user", "agent"
CERTAIN, GUESS, TAKEN_BACK = LEVELS = ("certain", "guess", "taken back")
CONTESTS = (
    "regatta",
    "marathon",
    "bake-off",
    "derby",
    "spelling bee",
    "quiz",
    "tombola",
    "joust",
    "triathlon",
    "rodeo",
    "sandcastle contest",
    "poetry slam",
    "hurdle race",
    "pumpkin show",
)
SOURCES = (
    "barber",
    "vicar",
    "florist",
    "butcher",
    "plumber",
    "tailor",
    "gardener",
    "postwoman",
    "newspaper",
    "almanac",
    "landlady",
    "greengrocer",
    "optician",
    "horoscope",
)

DAYS = "[|so, |well, |for your notes: |as you may know, ][it's {day}, and|it's {day} today, and|today is {day}, and] "
SAID = {
    CERTAIN: (
        DAYS
        + "I [am quite certain|have no doubt|know for certain] that {v} will win the {contest}.",
        DAYS
        + "my own tip for the {contest} is {v}, and [it's a certain one|I'm certain of it|there's no doubt].",
    ),
    GUESS: (
        DAYS
        + "I [am only guessing|have no more than a hunch|merely guess] that {v} will win the {contest}.",
        DAYS
        + "my own tip for the {contest} is {v}, [though it's a mere guess|but just a guess|but it's only a hunch].",
    ),
}
HEARD = (
    DAYS + "I [hear|have it|know] from my {source} that {v} will win the {contest}, "
)
QUOTED = {
    CERTAIN: (
        DAYS
        + "my {source} [is quite certain|has no doubt|leaves no doubt] that {v} will win the {contest}.",
        HEARD + "[and that's for certain|and without any doubt|and it's certain].",
    ),
    GUESS: (
        DAYS
        + "my {source} [is only guessing|has no more than a hunch|merely guesses] that {v} will win the {contest}.",
        HEARD
        + "[but only as a rumour|though it's a mere guess|but it's only a guess].",
    ),
}
ASKS_FOR_TIP = (
    DAYS
    + "[I want your tip|it's your turn|it's time for a tip of yours]: who will win the {contest}, {a} or {b}? "
)
PICKS = {
    CERTAIN: (
        ASKS_FOR_TIP
        + "[Pick|Choose|Name] one[, please|]; [I'll take it as certain|it counts as certain].",
        ASKS_FOR_TIP
        + "Just say which, and [be certain of it|let it be a certain one].",
    ),
    GUESS: (
        ASKS_FOR_TIP
        + "[Pick|Choose|Name] one[, please|]; [a mere guess will do|I'll take it as a guess].",
        ASKS_FOR_TIP
        + "Just say which; [it is only a guess|nobody takes it for more than a guess].",
    ),
}
WITHDRAWN = (
    (
        "[|by the way, |small thing: |for the record, |for your notes: |not that it matters, but ][I hear that|I "
        "must add that|I should say that|as I understand,] the tip for the {contest} has been [taken back|withdrawn]."
    ),
)
LEADS = "[|so, |tell me, |remind me: |quick question: |just checking: |by the way, |test question: ]"
QUESTIONS = {
    WHO: (
        LEADS
        + "who gave the tip for the {contest}: [was it me, was it you|me, you], or somebody else, and who?",
        LEADS
        + "whose was the tip for the {contest}: mine, yours, or somebody else's, [and|namely] whose?",
        LEADS
        + "did I tell you who would win the {contest}, did you tell me, or did I quote somebody, and whom?",
    ),
    SURE: (
        LEADS
        + "[as things stand|after all that], is the tip for the {contest} certain, a mere guess, or taken back?",
        LEADS
        + "how sure is the tip for the {contest} [by now|as things stand]: certain, a mere guess, or taken back?",
    ),
    WHEN: (
        LEADS
        + "[on which day did we have|what is the day of] the tip for the {contest}[|, day and month]?",
        LEADS
        + "[what|which] day was it when the tip for the {contest} was given[|, day and month]?",
    ),
    NEXT: (
        LEADS
        + "for which contest did we have the next tip [right |]after the one for the {contest}?",
        LEADS
        + "which contest was the next to be tipped[|, right] after the {contest}[|, do you remember]?",
    ),
    OWN: (
        LEADS
        + "whom did you [yourself |]pick for the {contest} [back then|when I asked you|at the time]?",
        LEADS
        + "what was your own tip for the {contest}[|, the name that you picked|, do you remember]?",
    ),
}


@dataclass(frozen=True, slots=True)
class Tip:
    """Who tipped whom for a contest."""

    contest: str
    source: str
    """USER, AGENT, or who is quoted."""
    level: str
    day: str
    names: tuple[str, ...]
    """Who is tipped; of the agent's tip both that it may choose from."""
    text: str
    withdrawn: str = ""
    """The message that takes it back."""


def who_said_so(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `each` (default 2) tips by the user, by the agent, which picks one of two, and by people that are quoted.

    Then nine questions. All messages over the span. One in three tips is certain, one a
    guess, one is taken back later. Asked are: whose it was, of one tip of each kind of
    source; how sure it is, of one on each level; the day of one; which came next after
    another; and which the agent picked itself.
    """
    each = whole(parameters, "each", 2, 2, 4)
    telling, asking = parse_languages(parameters)
    inventions, number = Inventions(rng), 3 * each
    quoted, contests = rng.sample(SOURCES, each), rng.sample(CONTESTS, number)
    sources = [*[USER] * each, *[AGENT] * each, *quoted]
    rng.shuffle(sources)
    if sources[0] == AGENT:  # who is asked first has been told nothing
        other = rng.choice(
            [place for place, source in enumerate(sources) if source != AGENT]
        )
        sources[0], sources[other] = sources[other], sources[0]
    levels = rng.sample([*LEVELS] * each, number)
    tips = []
    for parts in zip(contests, sources, levels, _days(rng, number), strict=True):
        tips.append(_tip(rng, telling, inventions, *parts))
    told: list[Say | Ask] = []
    for tip in tips:
        if tip.source == AGENT:
            about = (tips[0].text,)
            told.append(Ask(tip.text, about=about, tells={tip.contest: tip.names}))
        else:
            told.append(Say(tip.text, tells={tip.contest: tip.names[0]}))
    for tip in tips:
        if tip.withdrawn:
            place = next(n for n, step in enumerate(told) if step.text == tip.text)
            told.insert(rng.randint(place + 1, len(told)), Say(tip.withdrawn))
    own = rng.sample([tip for tip in tips if tip.source == AGENT], 2)
    mine = rng.choice([tip for tip in tips if tip.source == USER])
    heard = rng.choice([tip for tip in tips if tip.source in quoted])
    asked = [(WHO, tip) for tip in (mine, own[0], heard)]
    for level in LEVELS:
        on_level = [tip for tip in tips if tip.level == level]
        asked.append((SURE, rng.choice(on_level)))
    asked += [(WHEN, rng.choice(tips)), (OWN, own[1])]
    rng.shuffle(asked)
    # before any other question names contests
    asked.insert(0, (NEXT, rng.choice(tips[:-1])))
    questions = [_ask(rng, asking, kind, tip, tips) for kind, tip in asked]
    picks = [(PICK, tip) for tip in tips if tip.source == AGENT]
    places = {tip.contest: place for place, (_, tip) in enumerate(picks)}
    pairs = [*picks, *asked]
    places_of_picks = [-1] * len(picks)
    places_of_picks += [places.get(tip.contest, -1) for _, tip in asked]
    return Definition(
        steps=spread([*told, *questions], last_wait(rng, parameters)),
        expected=[_expected(kind, tip, tips) for kind, tip in pairs],
        parameters={
            **parameters,
            "asked": [kind for kind, _ in pairs],
            "others": [_others(kind, tip, tips) for kind, tip in pairs],
            "picks": places_of_picks,
        },
        replies=tuple(_reply(kind, tip, tips) for kind, tip in pairs),
    )


def _tip(
    rng: random.Random,
    language: Language,
    inventions: Inventions,
    contest: str,
    source: str,
    level: str,
    day: str,
) -> Tip:
    said_level = rng.choice((CERTAIN, GUESS)) if level == TAKEN_BACK else level
    contest_word = language.word(contest)
    withdrawn = ""
    if level == TAKEN_BACK:
        wordings = language.find_text("who_said_so.withdrawn", WITHDRAWN)
        withdrawn = worded(rng, wordings, contest=contest_word)
    one, other = inventions.name(), inventions.name()
    names = (one, other) if source == AGENT else (one,)
    part, english = {USER: ("said", SAID), AGENT: ("picks", PICKS)}.get(
        source, ("quoted", QUOTED)
    )
    number, month = day.split()
    text = worded(
        rng,
        language.find_text(f"who_said_so.{part}_{said_level}", english[said_level]),
        day=language.phrase(
            "who_said_so.day", "{day} {month}", day=number, month=language.word(month)
        ),
        contest=contest_word,
        source=language.word(source),
        v=one,
        a=one,
        b=other,
    )
    return Tip(contest, source, level, day, names, text, withdrawn)


def _days(rng: random.Random, number: int) -> list[str]:
    """Return days of one year, in their order."""
    numbers = sorted(rng.sample(range(360), number))
    result = [date(2023, 1, 3) + timedelta(days) for days in numbers]
    return [f"{day.day} {day:%B}" for day in result]


def _ask(
    rng: random.Random, language: Language, kind: str, tip: Tip, tips: Sequence[Tip]
) -> Ask:
    about = [tip.text]
    if kind == SURE and tip.withdrawn:
        about.append(tip.withdrawn)
    if kind == NEXT:
        about.append(_next(tip, tips).text)
    wordings = language.find_text(f"who_said_so.asked_{kind}", QUESTIONS[kind])
    text = worded(rng, wordings, contest=language.word(tip.contest))
    return Ask(text, about=tuple(about))


def _next(tip: Tip, tips: Sequence[Tip]) -> Tip:
    return tips[tips.index(tip) + 1]


def _expected(kind: str, tip: Tip, tips: Sequence[Tip]) -> str:
    """Return what a question expects; "" where the agent picks, and where it is asked what it picked."""
    if kind == NEXT:
        return _next(tip, tips).contest
    return {WHO: tip.source, SURE: tip.level, WHEN: tip.day}.get(kind, "")


def _others(kind: str, tip: Tip, tips: Sequence[Tip]) -> list[str]:
    """Return what else could be said; of a pick, what can be picked."""
    if kind == PICK:
        return list(tip.names)
    if kind == WHO:
        told_sources = (USER, AGENT, tip.source)
        return [other.source for other in tips if other.source not in told_sources]
    if kind == NEXT:
        named = (tip.contest, _next(tip, tips).contest)
        return [other.contest for other in tips if other.contest not in named]
    return [other.day for other in tips if other.day != tip.day] if kind == WHEN else []


def _reply(kind: str, tip: Tip, tips: Sequence[Tip]) -> str:
    """Return an answer that earns full marks."""
    fields = {USER: "It was you.", AGENT: "It was me.", GUESS: "It is a mere guess."}
    if kind in (PICK, OWN):
        return f"{tip.names[0]}."
    expected = _expected(kind, tip, tips)
    return fields.get(expected, f"{expected}.")


def names_of(definition: Definition) -> list[str]:
    """Return the names that are tipped."""
    names: list[str] = []
    for step in definition.steps:
        for value in step.tells.values() if isinstance(step, (Say, Ask)) else ():
            names += [value] if isinstance(value, str) else value or ()
    return names


def rule_of(definition: Definition) -> KnowsSources:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    spoken, names = parse_languages(lists), names_of(definition)
    texts = []
    for step in definition.steps:
        if isinstance(step, (Say, Ask)):
            texts.append(spoken.meaning(step.text, names))
    return KnowsSources(
        tuple(definition.expected),
        tuple(lists["asked"]),
        tuple(map(tuple, lists["others"])),
        tuple(lists["picks"]),
        tuple(texts),
    )


@pytest.mark.ltm(
    generate=who_said_so,
    skills="R,C,E",
    floor=0.1,  # an agent that knows the kinds of questions gets 1/6 of two groups of four, and seldom the next contest
    version="1",
    reset="You can forget all tips for contests, whoever gave them.",
    languages=CODES,
)
def test_who_said_so(ltm: Ltm) -> None:
    """Knows who said something, the user, the agent itself or somebody quoted; on which day, and how sure."""
    definition = ltm.definition
    answers = ltm.play(definition)
    spoken = parse_languages(definition.parameters)
    ltm.score(spoken.judged(rule_of(definition), answers, names_of(definition)))
