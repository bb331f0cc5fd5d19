"""Research: reading everything earns full marks; guessing earns at most the declared floor."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

import pytest
from labelled_replies import disagreements
from msgspec import structs
from pytest_ltm.scenarios import needle
from pytest_ltm.scenarios import research as scenario
from scenario_runs import conversation, generated, scores, values

from pytest_ltm import Ask, Step
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.evaluators import AnswersWithSources
from pytest_ltm.locales import variants

BODY = scenario.test_research
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
    "fixed:12",
    "fixed:130",
    "random",
    "notes",
    "inject",
)
TITLES = (
    "The Amber Almanac",
    "Report of the Copper Commission",
    "Letter from Harrow Lane",
    "The Granite Gazetteer",
    "Letter from Willow Yard",
    "The Ivory Handbook",
    "Report of the Juniper Survey",
    "The Cobalt Register",
)
RIVER = AnswersWithSources(
    asked=("name",),
    expected=(("Umbril",),),
    others=(("Sarvin", "Orlith"),),
    sources=((TITLES[0], *TITLES[2:4]),),
    superseded=((TITLES[7],),),
    titles=TITLES,
)
SUM = structs.replace(
    RIVER,
    asked=("number",),
    expected=(("260",),),
    others=((),),
    sources=((*TITLES[:2], TITLES[6]),),
)
OLDER = structs.replace(
    RIVER, expected=(("Velmere",),), others=(("Tavaholt",),), sources=(TITLES[:2],)
)
CITED = "The Amber Almanac, Letter from Harrow Lane, The Granite Gazetteer"


def made(number: int, **parameters: Any) -> list[Any]:
    return generated(scenario.research, number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
def test_who_has_read_everything_earns_full_marks(agent: str, span: int | None) -> None:
    assert scores(BODY, made(12), find_agent(agent).make, span=span) == [1.0] * 12


@pytest.mark.slow
def test_so_does_who_has_read_26_passages_with_three_corrections() -> None:
    assert (
        scores(
            BODY,
            made(6, passages=26, corrections=3, questions=5),
            find_agent("full").make,
            span=32_000,
        )
        == [1.0] * 6
    )


@pytest.mark.slow
def test_codes_told_beside_the_passages_do_not_get_in_their_way() -> None:
    bodies = {"it": BODY, "needle": needle.test_needle}
    definitions = {
        "it": made(3),
        "needle": generated(needle.test_needle.pytestmark[0].kwargs["generate"], 2),
    }
    found = values(
        conversation(bodies, definitions, find_agent("full").make(), span=32_000)
    )
    assert list(found.values()) == [1.0] * 5


@pytest.mark.slow
def test_who_heeds_no_correction_loses_each_answer_that_needs_one() -> None:
    for definition in made(20, corrections=1):
        rule = scenario.rule_of(definition)
        steps = tuple(
            blind(step)
            for step in definition.steps
            if not corrects(getattr(step, "text", ""))
        )
        uncorrected = replace(definition, steps=steps)
        [credit] = scores(BODY, [uncorrected], find_agent("full").make, span=None)
        needing = sum(map(bool, rule.superseded))
        assert needing
        assert credit <= 1 - needing / 2 / len(rule.asked)


def blind(step: Step) -> Step:
    return replace(step, about=()) if isinstance(step, Ask) else step


def corrects(text: str) -> bool:
    return (
        len(
            re.findall(
                "Report of the|Letter from|Almanac|Gazetteer|Handbook|Register|Companion|Chronicle",
                text,
            )
        )
        == 2
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
def test_tricks_earn_no_more_than_guessing(agent: str) -> None:
    found = scores(BODY, made(20), find_agent(agent).make, span=None)
    assert sum(found) <= FLOOR * len(found)


@pytest.mark.slow
def test_who_knows_only_names_and_titles_and_guesses_earns_no_more_than_the_floor() -> (
    None
):
    rng = random.Random(7)
    earned = []
    for definition in made(400):
        rule = scenario.rule_of(definition)
        names = [
            "650"
            if kind == "number"
            else rng.choice([*rule.expected[n], *rule.others[n]])
            for n, kind in enumerate(rule.asked)
        ]
        earned.append(
            rule(
                [
                    f"{name}. Sources: {', '.join(rng.sample(rule.titles, 4))}."
                    for name in names
                ]
            ).value
        )
    assert 0.1 < sum(earned) / len(earned) <= FLOOR


@pytest.mark.slow
def test_who_forgets_earlier_passages_loses_most() -> None:
    assert (
        sum(scores(BODY, made(6), find_agent("window:2k").make, span=32_000))
        <= 6 * FLOOR
    )


WORDINGS = {
    **{f"read: {relation}": wordings for relation, wordings in scenario.READ.items()},
    **{
        f"corrected: {relation}": wordings
        for relation, wordings in scenario.CORRECTED.items()
    },
    **{
        f"asked: {kind}": getattr(scenario, kind)
        for kind in ("OLDER", "TOTAL", "WATER", "ELDER", "TOWN")
    },
}


@pytest.mark.parametrize("kind", WORDINGS)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(WORDINGS[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("passages", 17),
        ("passages", 27),
        ("questions", 1),
        ("questions", 6),
        ("corrections", 4),
        ("passages", "20"),
    ],
)
def test_sizes_that_make_no_test_are_refused(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        made(1, **{name: value})


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        (
            RIVER,
            "**Umbril**\n\n**Sources:**\n- *Amber Almanac*\n- *Letter from Harrow Lane*\n- *Granite Gazetteer*",
        ),
        (
            RIVER,
            "The Umbril (Amber Almanac \u2192 Letter from Harrow Lane \u2192 Granite Gazetteer).",
        ),
        (RIVER, f"I believe it's the Sarvin. No wait, the Umbril. Sources: {CITED}"),
        (
            RIVER,
            f"The Umbril. Sources: {CITED}. (The Ivory Handbook is irrelevant here.)",
        ),
        (RIVER, f"The Umbril. Sources: {CITED}, but not Report of the Juniper Survey."),
        (
            RIVER,
            f"The Umbril. Sources: {CITED}. The Cobalt Register, corrected since, says Sarvin.",
        ),
        (
            SUM,
            "120 + 80 + 60 = 260. Passages: The Amber Almanac, the Copper Commission's report, the Juniper Survey.",
        ),
        (
            SUM,
            "- The Amber Almanac: 120\n- Report of the Copper Commission: 80\n- Juniper Survey: 60\n\nTotal: 260",
        ),
        (
            SUM,
            "260. The Amber Almanac, Report of the Copper Commission, Report of the Juniper Survey.",
        ),
        (
            OLDER,
            "Velmere opened in 1871, Tavaholt in 1880. Velmere is older. Amber Almanac and Copper Commission.",
        ),
        (
            SUM,
            "120 (The Amber Almanac) + 80 (Copper Commission) + 60 (Juniper Survey) = 260.",
        ),
        (
            SUM,
            "The sum of 120, 80 and 60 is 260. Amber Almanac, Copper Commission, Juniper Survey.",
        ),
        (
            OLDER,
            "Velmere was set up earlier, since Tavaholt was set up in 1880. Amber Almanac and Copper Commission.",
        ),
        (
            OLDER,
            "The Velmere Foundry, since the Tavaholt Brewery came later. Amber Almanac and Copper Commission.",
        ),
        (
            OLDER,
            "Velmere: 1871. Tavaholt: 1880. Earlier: Velmere. Amber Almanac and Copper Commission.",
        ),
    ],
)
def test_answers_and_sources_are_read_in_many_forms(
    rule: AnswersWithSources, answer: str
) -> None:
    assert rule([answer]).value == 1


@pytest.mark.parametrize(
    ("rule", "answer", "credit"),
    [
        (RIVER, f"Umbril, Sarvin, Orlith. Sources: {CITED}.", 0.5),
        (RIVER, f"It is not the Umbril. Sources: {CITED}.", 0.5),
        (
            RIVER,
            f"The Umbril. I did not use {CITED.replace(', The Granite', ' or The Granite')}.",
            0.5,
        ),
        (RIVER, f"The Umbril. Sources: {', '.join(TITLES)}.", 0.5),
        (RIVER, "The Umbril.", 0.5),
        (RIVER, "It says so in The Ivory Handbook.", 0),
        (RIVER, f"Umbril or Sarvin. Sources: {', '.join(TITLES)}.", 0),
        (SUM, "It's 120, 80 and 60.", 0),
        (SUM, "Between 200 and 300.", 0),
        (OLDER, "Tavaholt, I think, or perhaps Velmere.", 0),
        (OLDER, "Velmere: it might also be Tavaholt.", 0),
        (OLDER, "Velmere. It could be Tavaholt as well.", 0),
        (OLDER, "Velmere, since it opened in 1871, unless it's Tavaholt.", 0),
    ],
)
def test_halves_are_earned_apart(
    rule: AnswersWithSources, answer: str, credit: float
) -> None:
    assert rule([answer]).value == pytest.approx(credit)


@pytest.mark.parametrize("half", ["first", "second"])
def test_rules_agree_with_replies_labelled_by_hand(half: str) -> None:
    assert disagreements("reasoning", half, "research", AnswersWithSources) == []
