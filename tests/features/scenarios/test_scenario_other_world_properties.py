"""Other World: a solver that reads only the messages, and knows the real world, finds every answer."""

from __future__ import annotations

import random
import re

from _examples import share
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest_ltm.scenarios.other_world import other_world, rule_of

from pytest_ltm.api.scenarios import Definition, Say, from_json, to_json

SEEDS = st.integers(0, 2**63)
SHAPES = st.fixed_dictionaries(
    {},
    optional={
        "rules": st.integers(6, 12),
        "links": st.integers(1, 3),
        "changes": st.integers(1, 4),
        "questions": st.integers(2, 4),
        "frames": st.integers(1, 2),
    },
)
HERE = dict(
    line.split(": ")
    for line in """dogs: bark|cats: meow|cows: moo|ducks: quack|frogs: croak|lions: roar|hens: cluck|owls: hoot
sheep: bleat|horses: neigh|bees: buzz|pigs: grunt|snow: white|milk: white|grass: green|spinach: green|blood: red
ripe tomatoes: red|coal: black|soot: black|canaries: yellow|carrots: orange|pumpkins: orange|elephants: grey
flamingos: pink|sugar: sweet|honey: sweet|maple syrup: sweet|vinegar: sour|lemons: sour|sea water: salty|tears: salty
a week: 7|a year: 12|a day: 24|an hour: 60|a minute: 60|a century: 100|a spider: 8|a horse: 4|an ant: 6|a bird: 2
a bicycle: 2|a violin: 4|an octopus: 8|a chessboard: 64""".replace(
        "|", "\n"
    ).splitlines()
)
NUMBERS = {
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
SUBJECT = re.compile(rf"\b({'|'.join(HERE)}) (?!have\b)", re.IGNORECASE)
LIKE = re.compile(rf" as ({'|'.join(HERE)})\b")


def solved(definition: Definition) -> list[str]:
    """Return the answer to each question."""
    rules: dict[tuple[str, str], str] = {}
    for step in definition.steps:
        if isinstance(step, Say):
            (world,) = re.findall(r"\b[Ii]n (?:my [a-z]+ )?([A-Z][a-z]+)", step.text)
            subject = SUBJECT.search(step.text)
            assert subject
            like = LIKE.search(step.text)
            words = (
                step.text[subject.end() :]
                .replace(",", " ")
                .replace(".", " ")
                .replace(";", " ")
                .split()
            )
            said = words[words[0] in ("is", "are", "has", "taste", "tastes")]
            rules[world, subject[1].lower()] = (
                like[1] if like else str(NUMBERS.get(said, said))
            )
    answers = []
    for question in definition.questions:
        (thing,) = {one for one in HERE if re.search(rf"\b{one}\b", question.text)}
        world = re.search(
            r"(?<!outside )\b(?:in|In) (?:my [a-z]+ )?([A-Z][a-z]+)", question.text
        )
        value = rules[world[1], thing] if world else HERE[thing]
        answers.append(rules[world[1], value] if world and value in HERE else value)
    return answers


@given(seed=SEEDS, shape=SHAPES)
def test_who_notes_every_rule_and_knows_our_world_works_out_every_answer(
    seed: int, shape: dict[str, int]
) -> None:
    definition = other_world(random.Random(seed), shape)
    assert solved(definition) == [
        re.split(r"[ |]", expected)[0] for expected in definition.expected
    ]
    assert definition == other_world(random.Random(seed), shape)
    assert from_json(to_json(definition), where="here") == definition
    assert rule_of(definition)(definition.replies).value == 1


@given(seed=SEEDS, shape=SHAPES)
def test_there_are_as_many_messages_as_asked_for_and_both_kinds_of_question(
    seed: int, shape: dict[str, int]
) -> None:
    definition = other_world(random.Random(seed), shape)
    told = [step.text for step in definition.steps if isinstance(step, Say)]
    realms = definition.parameters["realms"]
    assert len(told) == shape.get("rules", 6) + shape.get("links", 2) + shape.get(
        "changes", 2
    )
    assert len([text for text in told if LIKE.search(text)]) == shape.get("links", 2)
    assert realms.count("") * 2 == len(realms) == 2 * shape.get("questions", 3)
    assert len(definition.parameters["worlds"]) in (
        [shape["frames"]] if "frames" in shape else [1, 2]
    )


@given(seed=SEEDS, shape=SHAPES)
def test_what_is_asked_of_our_world_is_otherwise_in_another(
    seed: int, shape: dict[str, int]
) -> None:
    definition = other_world(random.Random(seed), shape)
    told = " ".join(
        step.text.lower() for step in definition.steps if isinstance(step, Say)
    )
    answers = zip(
        definition.questions,
        solved(definition),
        definition.parameters["realms"],
        strict=True,
    )
    for question, answer, realm in answers:
        (thing,) = {one for one in HERE if re.search(rf"\b{one}\b", question.text)}
        assert thing in told
        assert (answer == HERE[thing]) is not bool(realm)


@settings(max_examples=share(30))
@given(seed=SEEDS, answers=st.lists(st.text(), max_size=8))
def test_no_answer_breaks_the_rule_and_naming_all_earns_nothing(
    seed: int, answers: list[str]
) -> None:
    rule = rule_of(definition := other_world(random.Random(seed), {}))
    assert 0 <= rule(answers).value <= 1
    assert rule([question.text for question in definition.questions]).value == 0
    everything = zip(rule.expected, rule.others, strict=True)
    assert (
        rule(
            [
                ", ".join([expected.split("|")[0], *others, "3, 4"])
                for expected, others in everything
            ]
        ).value
        == 0
    )
