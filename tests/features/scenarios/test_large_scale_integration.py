"""Large-scale Integration: knowing all facts earns full marks; guessing earns at most the declared floor."""

from __future__ import annotations

import random
from typing import Any

import pytest
from labelled_replies import disagreements
from pytest_ltm.scenarios import large_scale_integration as scenario
from scenario_runs import generated, scores

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.evaluators import WorksOut
from pytest_ltm.locales import variants

BODY = scenario.test_large_scale_integration
FLOOR = BODY.pytestmark[0].kwargs["floor"]
ENOUGH = 30
KINDS = (
    "GIFT",
    "HOME",
    "AFTER_DAY",
    "ABOVE",
    "SPENT_ON",
    "RANKED",
    "FROM",
    "NOT_FROM",
    "MOST",
    "MORE_FOR",
)
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
    "fixed:12",
    "fixed:130",
    "random",
    "notes",
    "inject",
)
TOTAL = {"asked": ("number",), "expected": (("143",),), "others": ((),)}
RANKED = {
    "asked": ("order",),
    "expected": (("Velmere", "Tavaholt", "Oskdun"),),
    "others": ((),),
}
GIVERS = {
    "asked": ("set",),
    "expected": (("Velmere", "Tavaholt"),),
    "others": (("Oskdun",),),
}
BEST = {
    "asked": ("name",),
    "expected": (("Velmere",),),
    "others": (("Tavaholt", "Oskdun"),),
}
COUNT = {"asked": ("number",), "expected": (("7",),), "others": (("20",),)}


def made(number: int, **parameters: Any) -> list[Any]:
    return generated(scenario.large_scale_integration, number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
def test_who_knows_all_facts_earns_full_marks(agent: str, span: int | None) -> None:
    assert scores(BODY, made(12), find_agent(agent).make, span=span) == [1.0] * 12


@pytest.mark.slow
def test_so_does_who_knows_sixty_facts() -> None:
    assert (
        scores(BODY, made(4, facts=60), find_agent("full").make, span=32_000)
        == [1.0] * 4
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
def test_tricks_earn_no_more_than_guessing(agent: str) -> None:
    found = scores(BODY, made(20), find_agent(agent).make, span=None)
    assert sum(found) <= FLOOR * len(found)


@pytest.mark.slow
def test_who_knows_only_the_names_and_guesses_earns_no_more_than_the_floor() -> None:
    rng = random.Random(7)
    earned = []
    for definition in made(400):
        rule = scenario.rule_of(definition)
        guesses = []
        for place, kind in enumerate(rule.asked):
            names = [*rule.expected[place], *rule.others[place]]
            counts = definition.questions[place].text.lower()
            guesses.append(
                ("12" if "gifts" in counts else "130")
                if kind == "number"
                else rng.choice(names)
                if kind == "name"
                else ", ".join(
                    rng.sample(
                        names, len(names) if kind == "order" else (len(names) + 1) // 2
                    )
                )
            )
        earned.append(rule(guesses).value)
    assert 0.1 < sum(earned) / len(earned) <= FLOOR


@pytest.mark.slow
def test_who_forgets_earlier_facts_loses_most_answers() -> None:
    assert (
        sum(scores(BODY, made(6), find_agent("window:2k").make, span=32_000))
        <= 6 * FLOOR
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(getattr(scenario, kind)))
    assert len(set(every)) == len(every) >= ENOUGH


@pytest.mark.parametrize("facts", [19, 61, 24.0, "24"])
def test_sizes_that_make_no_test_are_refused(facts: object) -> None:
    with pytest.raises(ValueError, match="facts"):
        made(1, facts=facts)


@pytest.mark.parametrize(
    ("args", "answer", "credit"),
    [
        (
            TOTAL,
            "£143 in total: 40 from Velmere, 62 from Tavaholt and 41 from Velmere again.",
            1,
        ),
        (TOTAL, "One hundred forty three", 1),
        (TOTAL, "£156", 0.5),
        (TOTAL, "£158", 0),
        (COUNT, "7 gifts, the last on 14 August.", 1),
        (COUNT, "Between six and eight.", 0),
    ],
)
def test_numbers_are_read(args: dict[str, Any], answer: str, credit: float) -> None:
    assert WorksOut(**args)([answer]).value == credit


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (
            TOTAL,
            "A total of £143 was given for the roof, from 3 gifts: £40, £62 and £41.",
        ),
        (
            TOTAL,
            "| Velmere | £40 |\n| Tavaholt | £62 |\n| Velmere | £41 |\n| **Total** | **£143** |",
        ),
        (TOTAL, "40+62=102; 102+41=143."),
        (
            TOTAL,
            "The roof got £200 in total and the boat £57 in total, a difference of £143.",
        ),
        (COUNT, "7 of the 18 gifts were of more than £20."),
        (COUNT, "1. Velmere £24\n2. Oskdun £31\nand five others.\nSo that is 7 gifts."),
        (RANKED, "Velmere gave the most, followed by Tavaholt; Oskdun gave least."),
        (
            RANKED,
            "Oskdun £61, Velmere £143, Tavaholt £120. Ranked: Velmere (£143), Tavaholt (£120), Oskdun (£61).",
        ),
        (
            RANKED,
            "Velmere's first gift was on 3 May, Tavaholt's on 11 May and Oskdun's on 2 June.",
        ),
        (
            GIVERS,
            "Velmere and Tavaholt. Oskdun also lives there but gave nothing for it.",
        ),
        (
            GIVERS,
            "From there: Velmere, Tavaholt, Oskdun. Of these, Velmere and Tavaholt gave for the boat.",
        ),
        (GIVERS, "Everybody except Oskdun."),
        (BEST, "Tavaholt gave first, but Velmere gave the most."),
        (BEST, "Between Tavaholt (£120) and Velmere (£143), Velmere gave the most."),
        (BEST, "Velmere gave £143, compared to Tavaholt's £120 and Oskdun's £61."),
    ],
)
def test_workings_asides_and_comparisons_are_read(
    args: dict[str, Any], answer: str
) -> None:
    assert WorksOut(**args)([answer]).value == 1


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        (TOTAL, "Velmere gave £40, Tavaholt £62 and Velmere £41."),
        (TOTAL, "£143 or £160."),
        (RANKED, "Oskdun, Tavaholt, Velmere"),
        (GIVERS, "Velmere never gave for the boat."),
        (GIVERS, "Velmere, Tavaholt and Oskdun."),
        (BEST, "Tavaholt, Oskdun and Velmere gave the most."),
        (BEST, "Tavaholt or Velmere gave the most."),
        (BEST, "Tavaholt gave more than Velmere."),
    ],
)
def test_what_settles_on_nothing_or_names_all_earns_nothing(
    args: dict[str, Any], answer: str
) -> None:
    assert WorksOut(**args)([answer]).value == 0


def test_a_name_that_begins_with_or_is_no_alternative() -> None:
    rule = WorksOut(("set",), (("Velmere", "Ormungard"),), (("Tavaholt",),))
    assert rule(["Velmere, Ormungard."]).value == 1
    assert rule(["Velmere or Ormungard."]).value == 0


@pytest.mark.parametrize("half", ["first", "second"])
def test_rules_agree_with_replies_labelled_by_hand(half: str) -> None:
    assert disagreements("reasoning", half, "large_scale_integration", WorksOut) == []
