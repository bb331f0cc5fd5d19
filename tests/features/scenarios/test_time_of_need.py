"""Time of Need: seeing the clock and reminding in time earns full marks; reminding always or never earns nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from labelled_replies import disagreements
from pytest_ltm.scenarios import jokes, time_of_need
from scenario_runs import conversation, generated, scores, values

from pytest_ltm import Ask, Say
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.storage import WallClock
from pytest_ltm.evaluators import RemindsInTime
from pytest_ltm.locales import variants

BODY = time_of_need.test_time_of_need
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
    "nag",
)


def made(number: int, **parameters: Any) -> list[Any]:
    return generated(time_of_need.time_of_need, number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("pace", ["days", "minutes"])
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
def test_who_sees_the_clock_reminds_in_time(
    agent: str, span: int | None, pace: str
) -> None:
    assert (
        scores(BODY, made(12, pace=pace), find_agent(agent).make, span=span)
        == [1.0] * 12
    )


@pytest.mark.slow
def test_reminders_that_fall_due_while_others_speak_are_theirs_to_have() -> None:
    bodies = {"time_of_need": BODY, "jokes": jokes.test_jokes}
    given = {"time_of_need": made(4), "jokes": generated(jokes.jokes, 4)}
    for agent in ("oracle", "full"):
        found = values(
            conversation(bodies, given, find_agent(agent).make(), span=8_000)
        )
        assert [found[f"time_of_need/{n}"] for n in range(4)] == [1.0] * 4


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
def test_tricks_earn_nothing(agent: str) -> None:
    assert BODY.pytestmark[0].kwargs.get("floor", 0) == 0
    assert scores(BODY, made(12), find_agent(agent).make, span=None) == [0.0] * 12


def test_messages_in_other_words_ask_for_the_same() -> None:
    (definition,) = made(1)
    steps = tuple(
        replace(step, text=f"Oh, {step.text}") if isinstance(step, Say) else step
        for step in definition.steps
    )
    steps = tuple(
        replace(step, about=()) if isinstance(step, Ask) else step for step in steps
    )
    assert scores(
        BODY, [replace(definition, steps=steps)], find_agent("oracle").make, span=None
    ) == [1.0]


class Always:
    """Puts every reminder into every reply, or none."""

    def __init__(self, text: str) -> None:
        self._text = text

    def reply(self, message: str) -> str:  # noqa: ARG002 - it never looks
        return self._text


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["Fine.", " ".join(f"It is time to {task}." for task in time_of_need.TASKS)]
)
def test_who_never_reminds_earns_as_little_as_who_always_does(text: str) -> None:
    assert scores(BODY, made(6), lambda: Always(text), span=None) == [0.0] * 6


def test_an_agent_that_is_not_told_the_time_cannot_be_measured() -> None:
    assert BODY.pytestmark[0].kwargs["requires"] == ["TimeAware"]


@pytest.mark.slow
def test_a_clock_on_the_wall_works_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message then takes time, so no reply comes exactly at the due time."""
    now = [datetime(2026, 5, 7, 22, 13, 44, tzinfo=timezone.utc)]

    def look() -> datetime:
        now[0] += timedelta(seconds=1.7)
        return now[0]

    def sleep(seconds: float) -> None:
        now[0] += timedelta(seconds=seconds)

    monkeypatch.setattr(
        "pytest_ltm.testing.SimulatedClock", lambda *_: WallClock(look, sleep)
    )
    for pace in ("minutes", "days"):
        assert (
            scores(BODY, made(4, pace=pace), find_agent("full").make, span=2_000)
            == [1.0] * 4
        )


@pytest.mark.parametrize(
    ("when", "asked", "due"),
    [
        ({"in": 90}, "2024-03-04 09:00", ["2024-03-04 10:30"]),
        ({"at": [16, 30]}, "2024-03-04 09:00", ["2024-03-04 16:30"]),
        ({"at": [8, 0]}, "2024-03-04 09:00", ["2024-03-05 08:00"]),
        ({"at": [8, 0], "tomorrow": True}, "2024-03-04 07:00", ["2024-03-05 08:00"]),
        (
            {"at": [9, 0], "weekday": 0},
            "2024-03-04 09:00",
            ["2024-03-11 09:00", "2024-03-18 09:00"],
        ),
        (
            {"at": [23, 45], "weekday": 2},
            "2024-02-27 12:00",
            ["2024-02-28 23:45", "2024-03-06 23:45"],
        ),
        ({"every": 5}, "2024-03-04 09:00", ["2024-03-04 09:05", "2024-03-04 09:10"]),
    ],
)
def test_moments_are_those_that_people_mean(
    when: dict[str, Any], asked: str, due: list[str]
) -> None:
    began = after = datetime.fromisoformat(f"{asked}+00:00")
    for moment in due:
        found = time_of_need.due_after(when, began, after)
        assert found == datetime.fromisoformat(f"{moment}+00:00")
        after = found
    assert (time_of_need.due_after(when, began, after) is None) == (len(due) == 1)


def test_where_nothing_was_due_there_is_no_score() -> None:
    rule = RemindsInTime(("oil the weathervane",), ((90.0,),), (0.0, 30.0), ((0,),))
    assert isinstance(rule(["Yes.", "Fine."]), Unscored)


def test_an_answer_to_somebody_else_that_has_the_last_word_of_a_task_is_no_reminder() -> (
    None
):
    rule = RemindsInTime(
        ("oil the weathervane",),
        ((90.0,),),
        (0.0, 30.0, 60.0, 91.0),
        ((0,),),
        elsewhere=(1, 2),
    )
    replies = [
        "Yes.",
        "A weathervane.",
        "You sold the weathervane.",
        "It is time to oil the weathervane.",
    ]
    assert points_of(rule, replies) == 1
    assert (
        points_of(rule, ["Yes.", "Time for the weathervane.", "Fine.", replies[-1]])
        == 0
    )
    assert (
        points_of(rule, ["Yes.", "Now oil the weathervane.", "Fine.", replies[-1]]) == 0
    )


def test_a_moment_whose_next_message_calls_the_task_off_does_not_count() -> None:
    rule = RemindsInTime(
        ("oil the weathervane", "wind the clock"),
        ((30.0,), (90.0,)),
        (0.0, 1.0, 40.0, 91.0),
        ((0, 2), (1,)),
    )
    assert (
        points_of(
            rule,
            [
                "Yes.",
                "Yes.",
                "I'll not remind you, then.",
                "It is time to wind the clock.",
            ],
        )
        == 1
    )


def points_of(rule: RemindsInTime, replies: list[str]) -> float:
    verdict = rule(replies)
    assert isinstance(verdict, Score)
    return verdict.value


def words_of(make: Callable[..., Any], number: int) -> list[str]:
    rng = time_of_need.random.Random(0)
    return sorted({str(make(rng)["said"]) for _ in range(number)})


MESSAGES = {
    **{
        name: getattr(time_of_need, name)
        for name in ("ONCE", "AGAIN", "CANCELLED", "MOVED", "CHAT")
    },
    "a moment": words_of(time_of_need._once, 3_000),
    "a week": words_of(time_of_need._weekly, 3_000),
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


@pytest.mark.parametrize(
    "parameters", [{"reminders": 0}, {"rounds": 0}, {"pace": "hours"}]
)
def test_parameters_that_make_no_test_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        made(1, **parameters)


@pytest.mark.parametrize("half", ["first", "second"])
def test_rules_agree_with_replies_labelled_by_hand(half: str) -> None:
    assert disagreements("reasoning", half, "time_of_need", RemindsInTime) == []
