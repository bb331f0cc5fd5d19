"""Questions about an invented language follow from the examples alone, and their answers never occur before."""

from __future__ import annotations

import random
import re

from hypothesis import given
from hypothesis import strategies as st
from pytest_ltm.scenarios.gradual import gradual, rule_of
from pytest_ltm.scenarios.transfer import UNTOLD, transfer
from pytest_ltm.scenarios.transfer import rule_of as rule_of_transfer

from pytest_ltm import Definition
from pytest_ltm.api.scenarios import Ask, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SIZES = st.fixed_dictionaries(
    {"lessons": st.integers(3, 7), "probes": st.integers(1, 4)}
)
QUOTED = re.compile(r"(?<![a-z])'([a-z ]+)'")


def words(gloss: str) -> frozenset[str]:
    """Return the meanings in a phrase, with the plural as a separate one."""
    *others, noun = gloss.split()
    return frozenset(
        {*others, noun.rstrip("s"), *noun[len(noun.rstrip("s")) :]} - {"the"}
    )


def composed(known: dict[frozenset[str], str], asked: frozenset[str]) -> str:
    """Return a form by analogy: the affixes around one noun are applied to another."""
    nouns = {
        word: form for said, form in known.items() if len(said) == 1 for word in said
    }
    around = {
        said - {noun}: form.split(nouns[noun])
        for said, form in known.items()
        for noun in said & nouns.keys()
    }
    (noun,) = asked & nouns.keys()
    (one, before, after), (other, first, last) = (
        (word, *around[frozenset({word})]) for word in sorted(asked - {noun})
    )
    if bool(before) == bool(first):
        # both on the same side: some example has both, which shows their order
        both = "".join(
            next(parts for said, parts in around.items() if said >= {one, other})
        )
        affixes = "".join(sorted((before + after, first + last), key=both.index))
        return affixes + nouns[noun] if before else nouns[noun] + affixes
    return f"{before or first}{nouns[noun]}{after or last}"


def solved(definition: Definition) -> list[str]:
    """Return the requested forms, from the lessons so far; corrections are ignored."""
    known: dict[frozenset[str], str] = {}
    answers = []
    for step in definition.steps:
        if isinstance(step, Say):
            quoted = QUOTED.findall(step.text)
            for one, other in zip(quoted[::2], quoted[1::2], strict=True):
                gloss, form = (one, other) if " " in one else (other, one)
                known[words(gloss)] = form
        if isinstance(step, Ask):
            answers.append(composed(known, words(QUOTED.findall(step.text)[0])))
    return answers


@given(SEEDS, SIZES)
def test_each_form_follows_from_the_lessons_before_its_question(
    seed: int, sizes: dict[str, int]
) -> None:
    definition = gradual(random.Random(seed), sizes)
    assert solved(definition) == definition.expected
    assert len(definition.expected) == sizes["lessons"] * sizes["probes"]
    assert definition == gradual(random.Random(seed), sizes)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.expected).value == 1


@given(SEEDS, SIZES)
def test_nobody_says_a_form_before_it_is_asked_for(
    seed: int, sizes: dict[str, int]
) -> None:
    definition = gradual(random.Random(seed), sizes)
    parameters, heard, asked = definition.parameters, "", 0
    for step in definition.steps:
        if isinstance(step, Ask):
            assert definition.expected[asked] not in heard
            heard += parameters["wrong"][asked]
            asked += 1
        if isinstance(step, (Ask, Say)):
            heard += step.text
    assert rule_of(definition)(parameters["told"][:1] * asked).value == 0


@given(SEEDS)
def test_a_question_is_about_the_messages_that_tell_its_parts(seed: int) -> None:
    definition = gradual(random.Random(seed), {})
    for question in definition.questions:
        (noun,) = [
            word
            for word in words(QUOTED.findall(question.text)[0])
            if f"'the {word}'" in "".join(question.about)
        ]
        assert any(f"'the {noun}'" in text for text in question.about)


NAMED = re.compile(r"\b[Ii]n(?:to)? ([A-Z][a-z]+)\b")


def known_to_whoever_reads(definition: Definition) -> list[str]:
    """Return the forms found in the lessons; "" if neither the language nor a similarly built one shows it."""
    lessons: dict[str, dict[frozenset[str], str]] = {}
    families: list[set[str]] = []
    answers = []
    for step in definition.steps:
        if isinstance(step, Say):
            *_, name = NAMED.findall(step.text)
            quoted = QUOTED.findall(step.text)
            pairs = [
                (one, other) if " " in one else (other, one)
                for one, other in zip(quoted[::2], quoted[1::2], strict=True)
            ]
            lessons[name] = {words(gloss): form for gloss, form in pairs}
            families += [
                {name, other}
                for other in lessons
                if f" like {other}:" in step.text and " not " not in step.text
            ]
        if isinstance(step, Ask):
            (name,), (gloss,) = NAMED.findall(step.text), QUOTED.findall(step.text)
            alike = next((family for family in families if name in family), {name})
            answers.append(
                next(
                    filter(
                        None,
                        (
                            shown(lessons[one], lessons[name], words(gloss))
                            for one in alike
                        ),
                    ),
                    "",
                )
            )
    return answers


def shown(
    lesson: dict[frozenset[str], str],
    own: dict[frozenset[str], str],
    asked: frozenset[str],
) -> str:
    """Return a phrase in one language by the pattern of another's lesson; "" if the lesson lacks it."""
    noun = next(said for said in own if len(said) == 1 and said <= asked)
    found = [(said, form) for said, form in lesson.items() if said > asked - noun]
    return next(
        (
            form.replace(lesson[said - (asked - noun)], own[noun])
            for said, form in found
        ),
        "",
    )


@given(SEEDS, st.integers(1, 3))
def test_what_one_language_says_of_another_is_what_the_user_says_of_both(
    seed: int, questions: int
) -> None:
    definition = transfer(random.Random(seed), {"questions": questions})
    parameters = definition.parameters
    assert known_to_whoever_reads(definition) == definition.expected
    assert [bool(form) for form in definition.expected] == [
        alike or kind == "own"
        for alike, kind in zip(parameters["alike"], parameters["kinds"], strict=True)
    ]
    assert (
        definition.expected.count("") == 2 * questions == len(definition.expected) / 4
    )
    assert definition == transfer(random.Random(seed), {"questions": questions})
    assert from_json(to_json(definition), where="here") == definition
    assert (
        rule_of_transfer(definition)(
            [form or UNTOLD for form in definition.expected]
        ).value
        == 1
    )


@given(SEEDS)
def test_both_pairs_are_equal_and_no_form_is_said(seed: int) -> None:
    definition = transfer(random.Random(seed), {})
    parameters = definition.parameters
    said = " ".join(
        step.text for step in definition.steps if isinstance(step, (Say, Ask))
    )
    assert not any(f"'{form}'" in said for form in parameters["forms"])
    kinds = [
        sorted(
            kind
            for kind, one in zip(parameters["kinds"], parameters["alike"], strict=True)
            if one is alike
        )
        for alike in (True, False)
    ]
    assert kinds[0] == kinds[1]
