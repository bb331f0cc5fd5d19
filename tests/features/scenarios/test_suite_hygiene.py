"""The suite `hygiene`: seeing everything earns full marks; one answer for everything earns nothing."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pytest_ltm.scenarios import (
    forget_on_request,
    kept_secret,
    never_told,
    stale_facts,
    users_apart,
    who_said_so,
)
from scenario_runs import generated, scores

from pytest_ltm import evaluators
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.locales import variants

NAMES = tuple(entry.scenario for entry in built_in("hygiene").entries)
LABELLED = Path(__file__).parents[2] / "labelled"
ENOUGH = 30
MESSAGES = {
    "stale_facts, first": stale_facts.FIRST,
    "stale_facts, changed": stale_facts.CHANGED,
    "stale_facts, called off": stale_facts.CALLED_OFF,
    "stale_facts, rule": stale_facts.RULES,
    "stale_facts, home": stale_facts.HOMES,
    "stale_facts, moved": stale_facts.MOVED,
    **{
        f"stale_facts, {kind}": stale_facts.asked(stale_facts.TOPICS[0], kind)
        for kind in (stale_facts.NOW, stale_facts.BEFORE, stale_facts.WHEN)
    },
    **{f"never_told, {kind} told": never_told.TOLD[kind] for kind in never_told.TOLD},
    **{
        f"never_told, {kind} asked": never_told.ASKED[kind] for kind in never_told.ASKED
    },
    "users_apart, opening": users_apart.INTRODUCTIONS,
    "users_apart, told": [
        speaker.replace("{text}", topic)
        for speaker in users_apart.SPEAKERS
        for topic in [users_apart.TOPICS[0].clause]
    ],
    "users_apart, in private": [
        speaker.replace("{text}", users_apart.PRIVATE + users_apart.SECRETS[0][0])
        for speaker in users_apart.SPEAKERS
    ],
    "users_apart, question": users_apart.QUESTIONS,
    "forget_on_request, told": forget_on_request.TOLD,
    "forget_on_request, by label": forget_on_request.BY_LABEL,
    "forget_on_request, by value": forget_on_request.BY_VALUE,
    "forget_on_request, kept": forget_on_request.KEEP,
    "forget_on_request, question": forget_on_request.asked(forget_on_request.TOPICS[0]),
    "forget_on_request, everything": forget_on_request.OPEN,
    **{
        f"who_said_so, {level} by the user": who_said_so.SAID[level]
        for level in who_said_so.SAID
    },
    **{
        f"who_said_so, {level} quoted": who_said_so.QUOTED[level]
        for level in who_said_so.QUOTED
    },
    **{
        f"who_said_so, {level} by the agent": who_said_so.PICKS[level]
        for level in who_said_so.PICKS
    },
    "who_said_so, taken back": who_said_so.WITHDRAWN,
    **{
        f"who_said_so, {kind} asked": who_said_so.QUESTIONS[kind]
        for kind in who_said_so.QUESTIONS
    },
    "kept_secret, opening": kept_secret.INTRODUCTIONS,
    **{
        f"kept_secret, told {kind}": [
            said.replace("{clause}", kept_secret.THINGS[0].clause) for said in told
        ]
        for kind, told in kept_secret.TOLD.items()
    },
    **{
        f"kept_secret, asked {manner}": [
            question
            for thing in kept_secret.THINGS
            for question in kept_secret.wordings(thing, manner)
        ]
        for manner in (kept_secret.FOREIGN, kept_secret.USE)
    },
    **{
        f"kept_secret, asked {manner}": asked
        for manner, asked in kept_secret.MANNERS.items()
        if asked
    },
    **{
        f"kept_secret, hint of {number}": asked
        for number, asked in kept_secret.HINTS.items()
    },
}


class Always:
    """Gives a constant reply."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def reply(self, message: str) -> str:  # noqa: ARG002 - it never looks
        return self._reply


class First:
    """Answers with the first message that it was told."""

    def __init__(self) -> None:
        self._first = ""

    def reply(self, message: str) -> str:
        self._first = self._first or message
        return self._first


CARELESS = {
    **{
        spec: find_agent(spec).make
        for spec in (
            "echo",
            "silent",
            "dump",
            "recite:2k",
            "agree",
            "candidates",
            "hedge",
        )
    },
    "yes": lambda: Always("Yes."),
    "you": lambda: Always("You did."),
    "me": lambda: Always("I did."),
    "certain": lambda: Always("It is certain."),
    "knows nothing": lambda: Always("I don't know; you have not told me."),
    "refuses": lambda: Always("I'm sorry, I can't share that."),
    "first": First,
}


def body(name: str) -> Any:
    return getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{name}"), f"test_{name}"
    )


def made(name: str, number: int, **parameters: Any) -> list[Any]:
    return generated(body(name).pytestmark[0].kwargs["generate"], number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [8_000, None])
@pytest.mark.parametrize("name", NAMES)
def test_who_sees_everything_earns_full_marks(name: str, span: int | None) -> None:
    assert (
        scores(body(name), made(name, 6), find_agent("oracle").make, span=span)
        == [1.0] * 6
    )


@pytest.mark.slow
@pytest.mark.parametrize("span", [8_000, None])
@pytest.mark.parametrize("name", NAMES)
def test_full_reads_what_was_told_and_sees_what_was_not(
    name: str, span: int | None
) -> None:
    assert (
        scores(body(name), made(name, 12), find_agent("full").make, span=span)
        == [1.0] * 12
    )


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
@pytest.mark.parametrize("name", NAMES)
def test_one_answer_for_all_earns_nothing(name: str, agent: str) -> None:
    assert scores(body(name), made(name, 8), CARELESS[agent], span=None) == [0.0] * 8


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


def labelled(name: str) -> list[dict[str, Any]]:
    lines = [line for half in ("first", "second") for line in read(half)]
    return [row for row in map(json.loads, lines) if row["scenario"] == name]


def read(half: str) -> Sequence[str]:
    return (LABELLED / f"hygiene.{half}.jsonl").read_text(encoding="utf-8").splitlines()


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_rules_agree_with_replies_labelled_by_hand(name: str) -> None:
    rows = labelled(name)
    assert len(rows) >= 40
    wrong = [
        row["answers"]
        for row in rows
        if getattr(evaluators, row["evaluator"])(**tuples_of(row["args"]))(
            row["answers"]
        ).value
        != row["credit"]
    ]
    assert len(wrong) <= ALLOWED.get(name, 0), wrong


ALLOWED: dict[str, int] = {}
"""Number of replies per scenario on which the rules may differ from the label; these may never grow."""


def tuples_of(args: dict[str, Any]) -> dict[str, Any]:
    return {name: tuples(value) for name, value in args.items()}


@pytest.mark.slow
def test_full_knows_who_speaks_where_each_message_begins_with_its_time() -> None:
    assert (
        scores(
            body("kept_secret"),
            made("kept_secret", 6),
            find_agent("ts:full").make,
            span=8_000,
        )
        == [1.0] * 6
    )


@pytest.mark.parametrize(
    "wrong", [{"people": 2}, {"secrets": 7}, {"plain": 0}, {"attempts": 0}]
)
def test_secrets_that_make_no_test_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        made("kept_secret", 1, **wrong)
