"""Research: a solver that reads only the messages answers every question, and finds the passages required."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.research import research, rule_of

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {},
    optional={
        "passages": st.integers(18, 26),
        "questions": st.integers(2, 5),
        "corrections": st.integers(0, 3),
    },
)
SOURCE = (
    r"(?:[A-Z][a-z]+ (?:Almanac|Gazetteer|Handbook|Register|Companion|Chronicle)|Report of the [A-Z][a-z]+ [A-Z][a-z]+|"
    r"Letter from [A-Z][a-z]+ [A-Z][a-z]+)"
)
OPENINGS = {"The", "That", "There", "According", "Going"}
TRADES = {
    "Foundry",
    "Brewery",
    "Mill",
    "Pottery",
    "Shipyard",
    "Tannery",
    "Dairy",
    "Ropery",
}
NAME, FULL = r"[A-Z][a-z]+", r"[A-Z][a-z]+ [A-Z][a-z]+"


def fact(text: str) -> tuple[str, str, str]:
    """Return the relation, its subject and its value, recognized by the names in the text."""
    full, numbers = re.findall(FULL, text), re.findall(r"\d+", text)
    works = [name for name in full if name.split()[1] in TRADES]
    people = [name for name in full if name not in works]
    if works:
        relation = "staff" if "people" in text else "opening" if numbers else "founder"
        return relation, works[0], (numbers or people)[0]
    single = [
        name
        for name in re.findall(NAME, re.sub(FULL, "", text))
        if name not in OPENINGS
    ]
    if people:
        return "birth" if numbers else "birthplace", people[0], (numbers or single)[0]
    one, other = single
    return ("river", other, one) if "through" in text else ("river", one, other)


def solved(definition: Definition) -> list[tuple[str, set[str]]]:
    """Return the full answer to each question, and the titles of the passages required."""
    known: dict[tuple[str, str], tuple[str, str]] = {}
    for step in definition.steps:
        if isinstance(step, Say):
            sources = re.findall(SOURCE, step.text)
            relation, subject, value = fact(
                re.sub(
                    SOURCE,
                    "",
                    re.sub(r"^[A-Z][a-z, ]+: |\b(?:The|That) ", "", step.text),
                )
            )
            known[relation, subject] = (
                value,
                sources["is wrong" in step.text or "mistake in" in step.text],
            )
    return [answered(question.text, known) for question in definition.questions]


def answered(
    text: str, known: dict[tuple[str, str], tuple[str, str]]
) -> tuple[str, set[str]]:
    titles = set[str]()

    def told(relation: str, subject: str) -> str:
        value, title = known[relation, subject]
        titles.add(title)
        return value

    works = re.findall(rf"the ({FULL})", text)
    if "people" in text:
        return str(sum(int(told("staff", work)) for work in works)), titles
    if "birthplace" in text:
        return told("river", told("birthplace", told("founder", works[0]))), titles
    if "in which town" in text.lower():
        return told("birthplace", told("founder", works[0])), titles
    if "born" in text:
        return min(
            (told("founder", work) for work in works),
            key=lambda one: int(told("birth", one)),
        ), titles
    return min(works, key=lambda work: int(told("opening", work))), titles


@given(seed=SEEDS, shape=SHAPES)
def test_who_reads_every_passage_answers_every_question(
    seed: int, shape: dict[str, int]
) -> None:
    definition = research(random.Random(seed), shape)
    lists = definition.parameters
    found = solved(definition)
    answers = [answer.split() for answer, _ in found]
    assert all(
        expected[0] in answer
        for answer, expected in zip(answers, definition.expected, strict=True)
    )
    assert [titles for _, titles in found] == [
        {one.removeprefix("The ") for one in named} for named in lists["sources"]
    ]
    assert definition == research(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.replies).value == 1


@given(seed=SEEDS, shape=SHAPES)
def test_questions_take_two_to_four_passages_of_those_that_were_read(
    seed: int, shape: dict[str, int]
) -> None:
    definition = research(random.Random(seed), shape)
    lists = definition.parameters
    assert len(definition.questions) == shape.get("questions", 4)
    assert all(2 <= len(titles) <= 4 for titles in lists["sources"])
    assert len([step for step in definition.steps if isinstance(step, Say)]) == len(
        set(lists["titles"])
    )
    assert len(lists["titles"]) == shape.get("passages", 20)
    assert all(
        others
        for kind, others in zip(lists["asked"], lists["others"], strict=True)
        if kind == "name"
    )
    assert not any(
        set(old) & set(new)
        for old, new in zip(lists["superseded"], lists["sources"], strict=True)
    )


@given(seed=SEEDS, answers=st.lists(st.text(), max_size=5))
def test_no_answer_breaks_the_rule_and_naming_all_earns_nothing(
    seed: int, answers: list[str]
) -> None:
    rule = rule_of(definition := research(random.Random(seed), {}))
    assert 0 <= rule(answers).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
    names = [
        ", ".join([*expected, *others])
        for expected, others in zip(rule.expected, rule.others, strict=True)
    ]
    everything = [
        name if kind == "name" else ""
        for kind, name in zip(rule.asked, names, strict=True)
    ]
    assert (
        rule([f"{names} {', '.join(rule.titles)}" for names in everything]).value == 0
    )
