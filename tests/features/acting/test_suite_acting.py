"""The suite `acting`: correct agents earn full marks, a planted fault costs some, and guessing earns nothing."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from _examples import share
from pytest_ltm.scenarios import acting

from pytest_ltm import Call, Definition, Reply, Score, Tools
from pytest_ltm.agents.reader.notes import Patterns, first_match
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import (
    Ask,
    PlannedExample,
    Say,
    built_in,
    from_json,
    to_json,
)
from pytest_ltm.testing import run_conversation, run_scenario

TASKS = sorted(acting.TASKS)
PATTERNS = Patterns("acting")
DECISIVE = {
    "preference": "time",
    "correction": "address",
    "standing": "time",
    "constraint": "leave_out",
    "promise": "device",
    "procedure": "step",
    "resumed": "step",
    "failed_way": "line",
    "needless": "reference",
}
RIVALS = {"preference", "correction", "constraint", "failed_way"}
"""Tasks in which a rival value is told: another person's, or an earlier one."""


def definition_of(task: str, seed: int) -> Definition:
    made: Definition = acting.acting(random.Random(f"{task} {seed}"), {"task": task})
    return made


def wanted_calls(rows: Sequence[Sequence[Any]]) -> list[Call]:
    calls: list[Call] = acting.wanted_calls(rows)
    return calls


class Planted:
    """Makes the wanted calls of one example, except for one planted fault."""

    def __init__(self, definition: Definition, fault: str = "") -> None:
        self.task: str = definition.parameters["task"]
        self.definition, self.fault = definition, fault
        self.wanted = iter(definition.expected)
        self.asks = [step.text for step in definition.steps if isinstance(step, Ask)]
        self.heard = 0

    def begin_session(self, user: str) -> None:
        """Ignore new sessions: the planted faults do not include loss of memory."""

    def reply(self, message: str, tools: Tools | None = None) -> str | Reply:
        if tools is None or tools.results:
            return "Done."
        self.heard += 1
        calls: list[Call] = []
        if message in self.asks:
            calls = wanted_calls(next(self.wanted))
        return Reply("Sure.", calls=self.planted(calls))

    def planted(self, calls: list[Call]) -> list[Call]:
        early = self.fault == "early" and self.heard == 2
        if early or (self.fault == "again" and not calls and self.heard > 2):
            return wanted_calls(self.definition.expected[0])
        if not calls or not self.fault:
            return calls
        first, *others = calls
        if self.fault in ("wrong", "rival"):
            name = DECISIVE[self.task]
            value = "nothing" if self.fault == "wrong" else self.rival(name)
            return [Call(first.name, {**first.arguments, name: value}), *others]  # type: ignore[dict-item]
        return {
            "missing": others,
            "twice": [first, *calls],
            "needless": [*calls, self.unrelated()],
            "looked up": [Call(acting.LOOK_UP, {"topic": "it"}), *calls],
            "backwards": calls[::-1],
            "from the start": [*wanted_calls(self.definition.expected[0]), *calls],
        }.get(self.fault, calls)

    def rival(self, name: str) -> str:
        """Return a value told for the argument that is not the wanted one."""
        [[_, arguments]] = self.definition.expected[0]
        says = [step.text for step in self.definition.steps if isinstance(step, Say)]
        found = [first_match(PATTERNS["told"][name], text) for text in says]
        values = [match[name] for match in found if match]
        others = [value for value in values if value.lower() != arguments[name].lower()]
        return str(others[0])

    def unrelated(self) -> Call:
        """Return a call to a tool that the task does not need."""
        wanted = {name for calls in self.definition.expected for name, _ in calls}
        [name] = {*self.definition.parameters["tools"]} - {*wanted, acting.LOOK_UP}
        _, schema = acting.TOOLS[name]
        return Call(
            name, {key: 1 if kind == "integer" else "x" for key, kind in schema.items()}
        )


def faults_of(task: str) -> list[str]:
    return [
        *("wrong", "missing", "twice", "needless"),
        *(["rival"] if task in RIVALS else []),
        *(["early", "again"] if task == "promise" else []),
        *(["backwards"] if task in ("procedure", "resumed") else []),
        *(["from the start"] if task == "resumed" else []),
        *(["looked up"] if task == "needless" else []),
    ]


def play(definition: Definition, agent: object) -> Any:
    return run_scenario(
        acting.test_acting, agent, definition=definition, span=None
    ).verdict


@pytest.mark.parametrize("task", TASKS)
def test_every_verdict_on_tasks_of_a_kind_is_right(task: str) -> None:
    """Of 450 tasks in total at night, correct agents earn full marks, and each planted fault costs some."""
    wrong: list[tuple[int, str, Any]] = []
    planted = Counter[str]()
    faults = faults_of(task)
    for seed in range(max(len(faults), share(50))):
        definition, fault = definition_of(task, seed), faults[seed % len(faults)]
        planted[fault] += 1
        right = play(definition, Planted(definition))
        faulty = play(definition, Planted(definition, fault))
        if not (isinstance(right, Score) and right.value == 1.0):
            wrong.append((seed, "", right))
        if not (isinstance(faulty, Score) and faulty.value < 1.0):
            wrong.append((seed, fault, faulty))
    assert wrong == []
    assert set(planted) == set(faults)


def test_the_failure_says_what_was_called_and_what_had_been_told() -> None:
    definition = definition_of("correction", 0)
    verdict = play(definition, Planted(definition, "rival"))
    said = [step.text for step in definition.steps if isinstance(step, Say)]
    assert "called send_parcel(" in verdict.reason
    assert verdict.reason.endswith(f" tokens before: {said[-1]}")


def test_a_look_up_that_nobody_needs_costs_the_point_in_one_kind_and_is_counted_in_all() -> (
    None
):
    for task in TASKS:
        definition = definition_of(task, 1)
        verdict = play(definition, Planted(definition, "looked up"))
        assert verdict.value == (0.0 if task == "needless" else 1.0), task


# --- Controls.


def whole_suite(agent: object, number: int, span: int = 1_000) -> Mapping[str, float]:
    examples = [
        PlannedExample(scenario=task, example=str(i), definition=definition_of(task, i))
        for i in range(number)
        for task in TASKS
    ]
    bodies = dict.fromkeys(TASKS, acting.test_acting)
    played = run_conversation(bodies, agent, examples=examples, span=span)
    values = {}
    for key, ending in played.endings.items():
        assert isinstance(ending.verdict, Score), (key, ending)
        values[key] = ending.verdict.value
    return values


@pytest.mark.parametrize("spec", ["full", "oracle"])
def test_a_control_earns_full_marks(spec: str) -> None:
    values = whole_suite(find_agent(spec).make(), 6)
    assert {key: value for key, value in values.items() if value < 1} == {}


def test_a_window_earns_nothing_beyond_its_size() -> None:
    assert set(whole_suite(find_agent("window:300").make(), 2).values()) == {0.0}


class Guesses:
    """Makes its calls from the question alone, guessing the rest."""

    def __init__(self) -> None:
        self.rng = random.Random(0)

    def begin_session(self, user: str) -> None:
        """Start without knowledge, like every session."""

    def reply(self, message: str, tools: Tools | None = None) -> str:
        for wish, pattern in PATTERNS["wanted"].items():
            found, tool = pattern.search(message), wish.partition(" ")[0]
            if tools is not None and found is not None:
                _, schema = acting.TOOLS[tool]
                named = {key: text for key, text in found.groupdict().items() if text}
                tools.call(tool, **{name: self.value(name, named) for name in schema})
        return "Done."

    def value(self, name: str, named: Mapping[str, str]) -> object:
        if name == "euros":
            return int(named[name])
        if name == "time" and "slots" in named:
            return self.rng.choice(named["slots"].split(", "))
        if name in named and name != "time":
            return named[name]
        return self.rng.choice(self.guesses(name))

    def guesses(self, name: str) -> Sequence[str]:
        foods: Sequence[str] = acting.FOODS
        if name == "leave_out":
            return foods
        hours = [acting.format_clock(minutes) for minutes in range(1080, 1200, 5)]
        return hours if name == "time" else ("nothing",)


def test_an_agent_that_calls_from_the_question_alone_earns_about_nothing() -> None:
    values = whole_suite(Guesses(), 24)
    assert sum(values.values()) / len(values) <= 0.05


def test_an_agent_that_does_nothing_earns_nothing() -> None:
    class Idle:
        def begin_session(self, user: str) -> None:
            """Start without knowledge."""

        def reply(self, message: str, tools: object = None) -> str:
            return f"I heard {len(message)} characters, and do not need {tools}."

    assert set(whole_suite(Idle(), 1).values()) == {0.0}


# --- Definitions.


def test_the_suite_has_each_kind_once() -> None:
    entries = built_in("acting").entries
    assert sorted(entry.parameters["task"] for entry in entries) == TASKS
    assert {entry.scenario for entry in entries} == {"acting"}


@pytest.mark.parametrize("task", TASKS)
def test_a_definition_survives_its_file(task: str) -> None:
    definition = definition_of(task, 0)
    assert from_json(to_json(definition), where="here").expected == definition.expected


def test_an_unknown_task_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="task is one of preference, correction"):
        acting.acting(random.Random(0), {"task": "dance"})
