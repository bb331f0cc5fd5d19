"""Scenarios word their messages in many ways, half of them without the words of the question."""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pkgutil import iter_modules

import pytest
from pytest_ltm.scenarios import (
    _first_names,
    _places,
    colours,
    conflicting_personal_information,
    delayed_recall,
    how_to_think,
    instruction_recall,
    jokes,
    kv_pairs,
    locations,
    locations_directions,
    name_list,
    names,
)

from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.api.scenarios import Say
from pytest_ltm.locales import capital, variants, worded

ENOUGH = 60
MOONS = next(kind for kind in delayed_recall.KINDS if "moons" in kind.named)
PERSONAL = conflicting_personal_information
MESSAGES = {
    "colours, first": colours.FIRST,
    "colours, later": [*colours.NAMED, *colours.UNNAMED],
    "colours, question": colours.QUESTIONS,
    "names, first": _first_names.INTRODUCTIONS,
    "names, later": [*_first_names.CHANGES, *_first_names.WITHOUT_THE_WORD],
    "names, question": names.QUESTIONS,
    "name_list, question": name_list.QUESTIONS,
    "places, first": [*_places.FIRST, *_places.FIRST_UNNAMED],
    "places, later": [*_places.NEXT, *_places.NEXT_UNNAMED, *_places.FROM_THERE],
    "locations, question": locations.QUESTIONS,
    "locations_directions, question": [
        f"{question} {legs}"
        for question in locations_directions.QUESTIONS
        for legs in locations_directions.LEGS
    ],
    "kv_pairs, entry": [*kv_pairs.ENTRIES, *kv_pairs.UNNAMED],
    "kv_pairs, question": [*kv_pairs.PLAIN, *kv_pairs.NESTED],
    "jokes": [*jokes.INTRODUCTIONS, *jokes.WITHOUT_THE_WORD],
    "jokes, question": jokes.QUESTIONS,
    "delayed_recall, facts": delayed_recall.INTRODUCTIONS,
    "delayed_recall, question": [
        *(
            lead + kind
            for lead in delayed_recall.LEADS
            for kind in (MOONS.named, MOONS.unnamed)
        ),
        *(lead + MOONS.unnamed for lead in delayed_recall.NAMED_LEADS),
    ],
    "instruction_recall, steps": instruction_recall.INTRODUCTIONS,
    **{
        f"instruction_recall, question {number}": [
            lead + question
            for lead in (*instruction_recall.LEADS, *instruction_recall.NAMED_LEADS)
            for question in one
        ]
        for number, one in enumerate(
            (
                (instruction_recall.KINDS[0].asked,),
                instruction_recall.NTH,
                instruction_recall.AFTER,
                instruction_recall.BEFORE,
                instruction_recall.NUMBER,
            )
        )
    },
    "how_to_think, rule": [*how_to_think.INTRODUCTIONS, *how_to_think.FOR_GOODS],
    "how_to_think, case": [*how_to_think.CASES, *how_to_think.CASES_OF_GOODS],
    "how_to_think, maxim": how_to_think.PRINCIPLES,
    "how_to_think, dilemma": how_to_think.DILEMMAS,
    **{
        f"conflicting_personal_information, {kind}": wordings
        for kind, wordings in {
            "first": PERSONAL.FIRST,
            "changed": PERSONAL.CHANGED,
            "corrected": PERSONAL.CORRECTED,
            "corrected without the key": PERSONAL.CORRECTED_UNNAMED,
            "rumoured": PERSONAL.RUMOURED,
            "withdrawn": PERSONAL.WITHDRAWN,
            "withdrawn without the key": PERSONAL.WITHDRAWN_UNNAMED,
            "habit": PERSONAL.RULES,
            "exception": PERSONAL.EXCEPTIONS,
            "question": [PERSONAL.LEADS + PERSONAL.TOPICS[0].question],
        }.items()
    },
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


def test_no_wording_has_a_blank_before_a_sign_or_two_of_them() -> None:
    package = importlib.import_module("pytest_ltm.scenarios")
    modules = [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in iter_modules(package.__path__)
    ]
    lists = [
        held
        for module in modules
        for held in vars(module).values()
        if isinstance(held, tuple | list)
    ]
    wordings = {
        one for held in lists for one in held if isinstance(one, str) and "[" in one
    }
    assert len(wordings) > 400
    assert [
        text for text in variants(sorted(wordings)) if re.search(r" [ ,.;:?!]", text)
    ] == []


def test_alternatives_are_drawn_and_slots_filled() -> None:
    wordings = ("[so|well], {a}[ now|]: [{b}|nothing].",)
    rng = random.Random(0)
    drawn = {worded(rng, wordings, a="x", b="y") for _ in range(200)}
    assert drawn == {
        f"{w}, x{n}: {b}."
        for w in ("So", "Well")
        for n in (" now", "")
        for b in ("y", "nothing")
    }
    assert len(list(variants(wordings))) == len(drawn)


@pytest.mark.parametrize("wordings", [colours.FIRST, colours.NAMED, colours.UNNAMED])
def test_full_reads_every_wording_of_a_favourite_colour(
    wordings: Sequence[str],
) -> None:
    for variant in variants(wordings):
        reader = make_reader("full")()
        reader.reply("My favourite colour is teal.")
        reader.reply(variant.format(colour="mauve"))
        assert (
            reader.reply("What is my favourite colour?").lower()
            == "your favourite colour is mauve."
        ), variant


def test_full_reads_every_question_for_a_favourite_colour() -> None:
    for question in variants(colours.QUESTIONS):
        reader = make_reader("full")()
        reader.reply("My favourite colour is teal.")
        assert reader.reply(question) == "Your favourite colour is teal.", question


def test_half_of_what_changes_a_favourite_colour_does_not_say_that_it_is_one() -> None:
    definitions = [colours.colours(random.Random(seed), {}) for seed in range(200)]
    told = [
        [step.text for step in definition.steps if type(step) is Say]
        for definition in definitions
    ]
    assert all("colour" in first for first, *_ in told)
    changes = [text for _, *later in told for text in later]
    assert 0.4 < sum("colour" not in text for text in changes) / len(changes) < 0.6


@pytest.mark.parametrize("wordings", jokes.WAYS.values())
def test_full_reads_every_way_to_tell_a_joke(wordings: Sequence[str]) -> None:
    for variant in variants(wordings):
        assert jokes.JOKES[0] in asked_again(
            capital(variant.format(joke=jokes.JOKES[0]))
        ), variant


@pytest.mark.slow
@pytest.mark.parametrize("joke", jokes.JOKES)
def test_full_takes_no_joke_for_anything_else(joke: str) -> None:
    assert joke in asked_again(joke)


@pytest.mark.slow
def test_full_reads_every_question_for_a_joke() -> None:
    for question in variants(jokes.QUESTIONS):
        assert jokes.JOKES[0] in asked_again(jokes.JOKES[0], question), question


def asked_again(told: str, question: str = jokes.PLAIN) -> str:
    reader, start = make_reader("full")(), datetime(2024, 1, 1, tzinfo=timezone.utc)
    for hours, said in enumerate(
        ("A parrot opened a bar.", told, "Here is a joke: A swan was late.")
    ):
        reader.tell_time(start + timedelta(hours=hours))
        reader.reply(said)
    reader.tell_time(start + timedelta(hours=5))
    return reader.reply(capital(question.format(elapsed="4 hours")))


def test_most_jokes_are_told_without_the_word_and_half_without_any_introduction() -> (
    None
):
    definitions = [jokes.jokes(random.Random(seed), {}) for seed in range(200)]
    told = [
        step.text
        for definition in definitions
        for step in definition.steps
        if isinstance(step, Say)
    ]
    assert 0.15 < sum("joke" in text for text in told) / len(told) < 0.35
    assert 0.4 < sum(text.startswith(jokes.JOKES) for text in told) / len(told) < 0.6


@pytest.mark.parametrize(
    "wordings",
    [_first_names.INTRODUCTIONS, _first_names.CHANGES, _first_names.WITHOUT_THE_WORD],
)
def test_full_reads_every_wording_of_a_name(wordings: Sequence[str]) -> None:
    for variant in variants(wordings):
        reader = make_reader("full")()
        reader.reply("My name is Sorcha.")
        reader.reply(capital(variant.format(name="Eoin")))
        assert reader.reply("What is my name?") == "Your name is Eoin.", variant


@pytest.mark.slow
def test_full_reads_every_question_for_names() -> None:
    reader = make_reader("full")()
    reader.reply("My name is Sorcha.")
    for form in variants((name_list.FORM,)):
        for question in variants(name_list.QUESTIONS):
            assert reader.reply(capital(question.format(form=form))) == '["Sorcha"]', (
                question
            )
    for question in variants(names.QUESTIONS):
        assert reader.reply(capital(question)) == "Your name is Sorcha.", question


def test_half_of_the_later_names_are_told_without_the_word() -> None:
    definitions = [name_list.name_list(random.Random(seed), {}) for seed in range(200)]
    told = [
        [step.text for step in definition.steps if type(step) is Say][1:]
        for definition in definitions
    ]
    later = [text for one in told for text in one]
    assert (
        0.4
        < sum(not re.search(r"\b(?:name|call)", text) for text in later) / len(later)
        < 0.6
    )


@pytest.mark.parametrize(
    "wordings", [_places.NEXT, _places.NEXT_UNNAMED, _places.FROM_THERE]
)
def test_full_reads_every_wording_of_a_place(wordings: Sequence[str]) -> None:
    slots = {
        "town": "Hobberwold",
        "place": "music hall",
        "before": "fire station",
        "km": 3,
        "way": "west",
    }
    for variant in variants(wordings):
        reader = make_reader("full")()
        reader.reply("The fire station is 2 km north of the lido.")
        reader.reply(capital(variant.format(**slots)))
        told = reader.reply(
            "How do I get from the lido to the music hall, following the places I named?"
        )
        assert "From the fire station, go 3 km west to the music hall." in told, variant


@pytest.mark.slow
@pytest.mark.parametrize(
    "wordings", [locations.QUESTIONS, locations_directions.QUESTIONS]
)
@pytest.mark.parametrize("within", ["", " in Hobberwold"])
def test_full_reads_every_question_about_places(
    wordings: Sequence[str], within: str
) -> None:
    reader = make_reader("full")()
    reader.reply("The fire station is 2 km north of the lido.")
    for question in variants(wordings):
        asked = capital(
            question.format(way=f"from the lido to the fire station{within}")
        )
        assert "2 km north" in reader.reply(asked), question


def test_most_places_are_told_without_the_name_of_a_town() -> None:
    make = locations_directions.locations_directions
    told = [
        step.text
        for seed in range(200)
        for step in make(random.Random(seed), {}).steps
        if type(step) is Say
    ]
    endings = "|".join(_places.ENDINGS)
    assert (
        0.5
        < sum(not re.search(rf"\b[A-Z][a-z]+(?:{endings})\b", text) for text in told)
        / len(told)
        < 0.8
    )


def test_half_of_the_questions_about_a_world_do_not_name_it() -> None:
    definitions = [
        delayed_recall.delayed_recall(random.Random(seed), {}) for seed in range(60)
    ]
    asked = [
        (definition.questions[0].about[0], question.text)
        for definition in definitions
        for question in definition.questions
    ]
    invented = re.compile(r"(?<=[ \n])[A-Z][a-z]{4,}")
    named = [
        bool(set(invented.findall(told.split(":")[0])) & set(invented.findall(text)))
        for told, text in asked
    ]
    assert 0.4 < sum(named) / len(named) < 0.6
    calls = [
        definition.questions[0].about[0].split(":")[0] for definition in definitions
    ]
    assert 0.3 < sum("fictional world" in call for call in calls) / len(calls) < 0.7


def test_half_of_the_questions_about_steps_do_not_name_the_machine() -> None:
    make = instruction_recall.instruction_recall
    asked = [
        one.text
        for seed in range(60)
        for one in make(random.Random(seed), {}).questions
    ]
    named = [
        any(machine in text for machine in instruction_recall.MACHINES)
        for text in asked
    ]
    assert 0.4 < sum(named) / len(named) < 0.6


def test_half_of_the_rules_have_no_name_and_their_cases_none_either() -> None:
    definitions = [
        how_to_think.how_to_think(random.Random(seed), {}) for seed in range(100)
    ]
    cases = [
        (question.about[0], question.text)
        for definition in definitions
        for question in definition.questions
    ]
    named = [" rule" in text.split("\n")[0] for _, text in cases]
    assert 0.4 < sum(named) / len(named) < 0.6
    for name, (told, _) in zip(named, cases, strict=True):
        assert name != any(kind in told for kind in how_to_think.GOODS)


def test_half_of_what_is_said_of_the_users_life_shares_no_word_with_the_question() -> (
    None
):
    common = {
        "a",
        "by",
        "do",
        "for",
        "from",
        "i",
        "in",
        "is",
        "it",
        "my",
        "s",
        "so",
        "the",
        "to",
        "what",
        "where",
        "which",
    }
    leads = set(re.findall(r"[a-z]+", f"{PERSONAL.FIRST} {PERSONAL.LEADS}".lower()))
    make = conflicting_personal_information.conflicting_personal_information
    shared = []
    for seed in range(100):
        for question in make(random.Random(seed), {"statements": 1}).questions:
            told, asked = (
                set(re.findall(r"[a-z]+", text.lower()))
                for text in (*question.about, question.text)
            )
            shared.append(bool((told & asked) - leads - common))
    assert 0.3 < sum(shared) / len(shared) < 0.6
