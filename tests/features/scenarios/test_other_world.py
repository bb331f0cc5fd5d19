"""Other World: keeping the worlds apart earns full marks; knowing only one of them earns nothing."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from labelled_replies import disagreements
from pytest_ltm.scenarios import other_world as scenario
from scenario_runs import generated, scores

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.evaluators import KeepsWorldsApart
from pytest_ltm.locales import variants

BODY = scenario.test_other_world
FLOOR = BODY.pytestmark[0].kwargs["floor"]
ENOUGH = 30
CARELESS = (
    "echo",
    "silent",
    "dump",
    "dump-always",
    "recite:2k",
    "agree",
    "candidates",
    "hedge",
    "hedge:unsure",
    "keywords",
    "fixed:last",
    "random",
    "notes",
    "inject",
)
CATS, DUCKS = (
    ("bark|woof", "meow|mew", "moo", "quack", "hoot"),
    ("moo", "hoot", "quack", "bark"),
)
NOVEL, PLAY = "Tavaholt|novel", "Oskdun|play"


def made(number: int, **parameters: Any) -> list[Any]:
    return generated(scenario.other_world, number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
def test_who_keeps_the_worlds_apart_earns_full_marks(
    agent: str, span: int | None
) -> None:
    assert scores(BODY, made(12), find_agent(agent).make, span=span) == [1.0] * 12


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
def test_tricks_earn_no_more_than_guessing(agent: str) -> None:
    found = scores(BODY, made(16), find_agent(agent).make, span=None)
    assert sum(found) <= FLOOR * len(found)


class KnowItAll:
    """Knows the real world, but no invented one."""

    def reply(self, message: str) -> str:
        known = (
            thing for thing in scenario.THINGS if thing.question() in message.lower()
        )
        return next((thing.fact(thing.value) for thing in known), "Noted.")


@pytest.mark.slow
def test_who_answers_everything_from_common_knowledge_earns_nothing() -> None:
    assert scores(BODY, made(16), KnowItAll, span=None) == [0.0] * 16


class Fan:
    """Answers all questions from the invented worlds, by asking the embedded reader about each of them."""

    def __init__(self) -> None:
        self._reader = find_agent("full").make()
        self._worlds: list[str] = []

    def reply(self, message: str) -> str:
        words = message.replace(",", " ").split()
        self._worlds += [
            after for word, after in itertools.pairwise(words) if word in scenario.MEDIA
        ]
        asked = next(
            (
                thing.question()
                for thing in scenario.THINGS
                if thing.question() in message.lower()
            ),
            "",
        )
        if not asked:
            return str(self._reader.reply(message))
        said = (
            str(self._reader.reply(f"In {world}, {asked}?"))
            for world in dict.fromkeys(self._worlds)
        )
        return next((one for one in said if "don't know" not in one), "")


@pytest.mark.slow
def test_who_answers_everything_from_the_invented_worlds_earns_nothing() -> None:
    assert scores(BODY, made(16, frames=1), Fan, span=None) == [0.0] * 16
    assert scores(BODY, made(16, frames=2), Fan, span=None) == [0.0] * 16


@pytest.mark.slow
def test_who_knows_our_world_and_guesses_about_others_earns_no_more_than_the_floor() -> (
    None
):
    """A real value never holds in an invented world; all other values of its kind are equally likely."""
    chances = []
    for definition in made(400):
        for question, realm in zip(
            definition.questions, definition.parameters["realms"], strict=True
        ):
            thing = next(
                one
                for one in scenario.THINGS
                if one.question() in question.text.lower()
            )
            if realm:
                chances.append(
                    1
                    / len(
                        [
                            value
                            for value in scenario.VALUES[thing.aspect]
                            if value != thing.value
                        ]
                    )
                )
    assert FLOOR - 0.01 < sum(chances) / len(chances) <= FLOOR


@pytest.mark.slow
def test_who_forgets_earlier_rules_loses_most_answers() -> None:
    assert (
        sum(scores(BODY, made(8), find_agent("window:2k").make, span=32_000))
        <= 8 * FLOOR
    )


@pytest.mark.parametrize("kind", ["TOLD", "LIKE", "CHANGED", "INSIDE", "OUTSIDE"])
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(getattr(scenario, kind)))
    assert len(set(every)) == len(every) >= ENOUGH


@pytest.mark.parametrize(
    "parameters",
    [
        {"rules": 5},
        {"rules": 13},
        {"links": 0},
        {"changes": 5},
        {"questions": 5},
        {"frames": 3},
    ],
)
def test_sizes_that_make_no_test_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        made(1, **parameters)


def credit(
    answer: str,
    expected: str,
    *,
    realm: str = NOVEL,
    frames: tuple[str, ...] = (NOVEL, PLAY),
) -> float:
    every = (
        CATS
        if expected in CATS[:2]
        else DUCKS
        if expected in DUCKS
        else ("white", "green", "blue")
    )
    others = (
        ()
        if expected[0].isdecimal()
        else tuple(value for value in every if value != expected)
    )
    return KeepsWorldsApart((expected,), (others,), (realm,), frames)([answer]).value


@pytest.mark.parametrize(
    "answer",
    [
        "In Tavaholt they moo, in Oskdun they hoot, and in reality they quack.",
        "moo (Tavaholt), hoot (Oskdun), quack (real world)",
        "**Tavaholt:**\n- moo\n\n**Oskdun:**\n- hoot\n\n**Real world:**\n- quack",
        "1. Tavaholt: moo\n2. Oskdun: hoot\n3. Reality: quack",
        "| World | Sound |\n|---|---|\n| Tavaholt | moo |\n| Oskdun | hoot |\n| Real world | quack |",
        "They moo in your novel, hoot in your play, and quack here.",
    ],
)
def test_of_an_answer_about_several_worlds_each_part_counts_for_its_own(
    answer: str,
) -> None:
    assert (
        credit(answer, "moo")
        == credit(answer, "hoot", realm=PLAY)
        == credit(answer, "quack", realm="")
        == 1
    )
    assert (
        credit(answer, "hoot")
        == credit(answer, "quack", realm=PLAY)
        == credit(answer, "moo", realm="")
        == 0
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Like real dogs, they bark.", CATS[0]),
        ("Although cats meow in our world, in Tavaholt they bark.", CATS[0]),
        ("You first said they moo, then changed that to bark.", CATS[0]),
        ("There, cats bark. Here, they meow.", CATS[0]),
        ('You told me: "In my novel Tavaholt, cats bark." So: bark.', CATS[0]),
        ("<think>Cats meow.</think>Woof.", CATS[0]),
        ("You changed snow from blue to green.", "green"),
        ("It's green (you had it blue before).", "green"),
        ("You changed it from 9 to 5.", "5 days"),
        ("5 days (120 hours)", "5 days"),
        ("_Five_", "5 days"),
        ("5. That is how many days it has.", "5 days"),
        ("Twenty-nine legs, not 8.", "29 legs"),
        ("In Tavaholt 5; otherwise 7.", "5 days"),
        ("It'd be a bark in Tavaholt, and a meow anywhere else.", CATS[0]),
        ("Tavaholt's cats bark; Oskdun's meow.", CATS[0]),
    ],
)
def test_comparisons_and_changes_are_read(answer: str, expected: str) -> None:
    assert credit(answer, expected) == 1


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("It depends on the world: bark in one, meow in the other.", CATS[0]),
        ("Bark and meow.", CATS[0]),
        ("- bark\n- meow\n- moo", CATS[0]),
        ("bark (or maybe moo)", CATS[0]),
        ("In the real world, they bark.", CATS[0]),
        ("In the play they bark.", CATS[0]),
        ("Did you say bark? I have no memory of that.", CATS[0]),
        ("I can't tell you whether they bark.", CATS[0]),
        ("They stopped barking; now they moo.", CATS[0]),
        ("Green originally, then blue.", "green"),
        ("green/white", "green"),
        ("Green here, white there.", "green"),
        ("Between 3 and 40.", "5 days"),
        ("5 hours", "5 days"),
        ("At least 5.", "5 days"),
        ("5 days or more.", "5 days"),
        ("15", "5 days"),
    ],
)
def test_hedges_refusals_and_other_worlds_earn_nothing(
    answer: str, expected: str
) -> None:
    frames = (NOVEL, PLAY) if "play" in answer else (NOVEL,)
    assert credit(answer, expected, frames=frames) == 0


def test_names_of_worlds_may_have_any_signs() -> None:
    assert (
        credit(
            "In (C++) they moo, in reality they quack.",
            "moo",
            realm="C++|game",
            frames=("C++|game",),
        )
        == 1
    )


@pytest.mark.parametrize("half", ["first", "second"])
def test_rules_agree_with_replies_labelled_by_hand(half: str) -> None:
    assert disagreements("reasoning", half, "other_world", KeepsWorldsApart) == []
