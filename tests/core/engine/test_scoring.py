"""From the ending of an example to its result."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from _talks import After, Agent, example, simple, talk, watching

from pytest_ltm._core.engine.lane import Ending
from pytest_ltm._core.engine.scoring import describe_ending_error, scenario_result
from pytest_ltm._core.journal.result import ScenarioResult
from pytest_ltm._core.model.handle import Ltm
from pytest_ltm._core.model.score import Check, Score, Unscored, undecided_if_open
from pytest_ltm._core.storage.errors import AgentFault, LtmInternalError
from pytest_ltm.testing import Played

PLACE: dict[str, Any] = {
    "agent": "mybot",
    "span_label": "2k",
    "trial": "0",
    "nodeid": "test_x.py::test_x[mybot-2k-0-0]",
}


def result(
    ending: Ending | None = None,
    played: Played | None = None,
    *,
    costs: Any = None,
    own_wish: bool = False,
    **fields: Any,
) -> ScenarioResult:
    played = played or talk({"a": simple}, examples=[example("a", **fields)])
    return scenario_result(
        played.lanes["a/0"],
        ending or played.endings["a/0"],
        played.transcript,
        costs=costs or {},
        own_wish=own_wish,
        **PLACE,
    )


# --- outcomes


@pytest.mark.parametrize(
    ("value", "threshold", "outcome"),
    [
        (1.0, 1.0, "passed"),
        (0.99, 1.0, "failed"),
        (0.6, 0.6, "passed"),
        (0.0, 0.0, "passed"),
        (0.59, 0.6, "failed"),
    ],
)
def test_a_score_that_reaches_the_threshold_passes(
    value: float, threshold: float, outcome: str
) -> None:
    told = result(Ending(verdict=Score(value, "because")), threshold=threshold)
    assert (told.outcome, told.score, told.reason, told.cause) == (
        outcome,
        value,
        "because",
        "",
    )


def test_rounding_never_fails_anybody() -> None:
    assert (
        result(Ending(verdict=Score(0.1 + 0.2 + 0.3 - 0.3, "x")), threshold=0.3).outcome
        == "passed"
    )
    assert result(Ending(verdict=Score(1 - 1e-12, "x"))).outcome == "passed"


@pytest.mark.parametrize(
    ("ending", "outcome", "cause", "reason"),
    [
        (
            Ending(verdict=Unscored("nobody could tell")),
            "skipped",
            "unscored",
            "nobody could tell",
        ),
        (
            Ending(unplayable="its text is too long"),
            "skipped",
            "requires",
            "its text is too long",
        ),
        (
            Ending(unreached="not reached: gone"),
            "skipped",
            "not reached",
            "not reached: gone",
        ),
        (Ending(error=AgentFault("no reply")), "error", "agent", "no reply"),
        (Ending(error=ValueError("bad")), "error", "scenario", "ValueError: bad"),
        (Ending(error=ValueError()), "error", "scenario", "ValueError"),
    ],
)
def test_without_a_score_there_is_none_and_a_reason(
    ending: Ending, outcome: str, cause: str, reason: str
) -> None:
    told = result(ending)
    assert (told.outcome, told.score, told.cause, told.reason) == (
        outcome,
        None,
        cause,
        reason,
    )


def test_our_own_bugs_are_ours() -> None:
    told = result(Ending(error=LtmInternalError("oops")))
    assert (told.outcome, told.cause) == ("error", "internal")
    assert "please report" in told.reason


def test_who_skipped_itself_is_skipped_without_blame() -> None:
    told = result(Ending(error=RuntimeError("not on Mondays")), own_wish=True)
    assert (told.outcome, told.cause, told.reason) == ("skipped", "", "not on Mondays")


def test_an_ending_without_anything_is_described() -> None:
    assert describe_ending_error(None) == "it ended without a verdict"


# --- what the result keeps of the verdict and the plan


def test_the_parts_of_the_verdict_are_kept() -> None:
    verdict = Score(
        0.5,
        "half",
        checks=(Check("one", ok=True), Check("two", ok=False)),
        rule="x/1",
        evidence="Teal",
    )
    told = result(Ending(verdict=verdict))
    assert (told.checks, told.rule, told.evidence) == (verdict.checks, "x/1", "Teal")


def test_the_parts_of_an_undecided_verdict_are_kept() -> None:
    parts = (Check("one", ok=False, open=True), Check("two", ok=False, open=True))
    undecided = undecided_if_open(Score(0.0, "nothing is proven", parts))
    assert isinstance(undecided, Unscored)
    told = result(Ending(verdict=undecided))
    assert (told.checks, told.score, told.upper) == (parts, 0.0, 1.0)


def test_the_rule_of_who_could_not_tell_is_kept() -> None:
    told = result(Ending(verdict=Unscored("unclear", rule="judge/2", evidence="Hm.")))
    assert (told.rule, told.evidence, told.checks) == ("judge/2", "Hm.", ())


def test_the_plan_and_the_place_are_kept() -> None:
    told = result(skills=("R", "C"), threshold=0.5, span=777)
    assert (told.scenario, told.example, told.skills, told.threshold, told.span) == (
        "a",
        "0",
        ("R", "C"),
        0.5,
        777,
    )
    assert {name: getattr(told, name) for name in PLACE} == PLACE


# --- measurements


def quiz(ltm: Ltm) -> None:
    ltm.say("blue")
    ltm.wait(tokens=100, time="3h")
    ltm.say("teal")
    ltm.wait(tokens=50)
    ltm.ask("which?")


def test_gaps_are_measured_to_each_needle_and_the_smallest_is_the_questions() -> None:
    told = result(played=talk({"a": quiz}))
    (question,) = told.questions
    assert (question.text, question.answer) == ("which?", "ok")
    assert [
        (needle.text, needle.gap, needle.seconds_passed) for needle in question.needles
    ] == [
        ("blue", 2 + 100 + 6 + 50, timedelta(hours=3).total_seconds()),
        ("teal", 2 + 50, 0.0),
    ]
    assert question.gap == told.gap == 52


def test_the_gap_of_an_example_is_that_of_its_last_question() -> None:
    def asks_twice(ltm: Ltm) -> None:
        quiz(ltm)
        ltm.wait(tokens=500)
        ltm.ask("and now?")

    told = result(played=talk({"a": asks_twice}))
    assert [question.gap for question in told.questions] == [52, 52 + 8 + 500]
    assert told.gap == 560


def test_a_question_about_nothing_has_no_gap() -> None:
    told = result(played=talk({"a": watching(After(1), replies=1)}))
    assert (told.gap, told.questions[0].gap, told.questions[0].needles) == (
        None,
        None,
        (),
    )


def test_an_example_that_asked_nothing_has_nothing_measured() -> None:
    told = result(played=talk({"a": lambda ltm: ltm.say("x")}))
    assert (told.questions, told.gap, told.measured_span, told.overrun) == (
        (),
        None,
        None,
        False,
    )


@pytest.mark.parametrize(("reply", "overrun"), [(494, False), (495, True)])
def test_who_took_more_than_its_span_is_flagged(reply: int, *, overrun: bool) -> None:
    def long(ltm: Ltm) -> None:
        ltm.say("x" * 6)
        ltm.ask("y")

    played = talk({"a": long}, Agent("r" * reply), span=500, count="all")
    told = result(played=played)
    assert (told.measured_span, told.overrun) == (6 + reply, overrun)


def test_nobody_overruns_where_there_is_no_span() -> None:
    told = result(played=talk({"a": simple}, Agent("r" * 9999), span=None, count="all"))
    assert (told.span, told.overrun) == (None, False)
    assert told.measured_span == len("blue") + 9999


def test_tokens_are_those_of_its_own_exchanges() -> None:
    assert result(played=talk({"a": quiz, "b": simple})).tokens == len(
        "blueoktealokwhich?ok"
    )


def test_costs_are_those_of_its_own_exchanges() -> None:
    played = talk({"a": simple, "b": simple})
    assert result(played=played, costs={0: 0.25, 1: 0.5, 2: 9.0}).cost_usd == 0.75
    assert result(played=played, costs={3: 1.0}).cost_usd is None
    assert result(played=played, costs={0: 0.0}).cost_usd == 0.0
