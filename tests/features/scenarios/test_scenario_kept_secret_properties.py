"""Kept Secret: a solver without the generator's code knows each fact's owner, and who may learn it on which day."""

from __future__ import annotations

import random
import re
from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.kept_secret import REFUSED, kept_secret, rule_of

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {
        "people": st.integers(3, 5),
        "secrets": st.integers(1, 6),
        "plain": st.integers(1, 4),
        "attempts": st.integers(1, 4),
    }
)
ABOUT = [
    re.compile(rf"\b(?:{words})", re.IGNORECASE)
    for words in (
        r"mill\b|mühle|moulin|molino",
        "studio|atelier|alquila",
        "safe|tresor|coffre|caja",
        "earn|monthly pay|income|gehalt|salaire|sueldo",
        "debts|owe|schulden|dettes|deudas",
        "horse|races|bookmaker|pferd|cheval|caballo",
        "brewery|brauerei|brasserie|cervec",
        "moving|new home|removal|zieht um|déménager|se muda",
        "baby|bib|bébé|bebé",
        "pen name|publish|name i write|publisher|cover|künstlername|publie|publica",
    )
]
COMMON = (
    "January",
    "February",
    "August",
    "September",
    "October",
    "November",
    "December",
    "Confidentially",
    "Between",
    "Privately",
)
DATE = re.compile(r"\b(\d+) ([A-Z][a-z]+)\b")


def about(text: str) -> int:
    return next(number for number, words in enumerate(ABOUT) if words.search(text))


def named(text: str, people: list[str]) -> list[str]:
    """Return the people named in a text, in order."""
    names = "|".join(people)
    return list(dict.fromkeys(re.findall(rf"\b(?:{names})\b", text)))


def days(text: str) -> list[datetime]:
    return [
        datetime.strptime(f"{day} {month} 2001", "%d %B %Y")  # noqa: DTZ007
        for day, month in DATE.findall(text)
    ]


def solved(definition: Definition) -> list[str]:
    """Return for each question the last word of the fact about its thing, or "" if the asker may not learn it."""
    opening, *told = [step.text for step in definition.steps if isinstance(step, Say)]
    people = re.findall(r"[A-Z]\w+", re.split(r"[:.]", opening)[1])
    known = {about(text): text for text in told}
    answers = []
    for question in definition.questions:
        greeting, _, text = question.text.partition(": ")
        (asker,), (today,) = named(greeting, people), days(greeting)
        fact = known[about(text)]
        speaker, *friends = named(fact, people)
        assert (named(text, people) or [asker])[-1] == speaker
        value = next(
            word
            for word in re.findall(r"\d{4}|[A-Z][a-z]{5,}", fact.partition(": ")[2])
            if word not in COMMON
        )
        kept = re.search(
            r"confiden|between you and me|ears only|trusting|privately",
            fact,
            re.IGNORECASE,
        )
        allowed = (
            not kept
            or asker in (speaker, *friends)
            or any(today >= day for day in days(fact))
        )
        answers.append(value if allowed else "")
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_whoever_knows_who_may_know_can_answer(
    seed: int, shape: dict[str, int]
) -> None:
    definition = kept_secret(random.Random(seed), shape)
    assert solved(definition) == definition.expected
    assert definition.expected.count("") == shape["secrets"] * shape["attempts"]
    assert (
        len(definition.expected)
        == shape["secrets"] * (shape["attempts"] + 1) + shape["plain"]
    )
    asked = [days(question.text)[0] for question in definition.questions]
    assert asked == sorted(asked)
    assert definition == kept_secret(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert (
        rule_of(definition)([value or REFUSED for value in definition.expected]).value
        == 1
    )


@given(seed=SEEDS, replies=st.lists(st.text(), max_size=12))
def test_no_answer_breaks_the_rule_and_an_echo_earns_nothing(
    seed: int, replies: list[str]
) -> None:
    rule = rule_of(definition := kept_secret(random.Random(seed), {}))
    assert 0 <= rule(replies).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
    assert rule(["I can't tell you that."] * len(definition.expected)).value == 0
    assert rule([value or "Yes." for value in definition.expected]).value == 0
