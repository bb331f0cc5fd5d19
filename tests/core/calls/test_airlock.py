"""Values from foreign code arrive as exact builtins or as a fault, within their time limit."""

from __future__ import annotations

import ast
import contextlib
import traceback
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from foreign_kinds import LIMIT, SCALARS, foreign_agent, foreign_error, survive

from pytest_ltm import AgentFault, LtmError, Reply, TransientFault
from pytest_ltm._core.calls import airlock
from pytest_ltm._core.calls.conversation_thread import OutOfTime
from pytest_ltm._core.calls.retry import classify_failure
from pytest_ltm._core.calls.time_limits import call_within
from pytest_ltm._core.model.agent import Mishap
from pytest_ltm._core.storage.clock import wall_time
from pytest_ltm.agents.answers import check_reply
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.sources import agent_source

# A limit may interrupt garbage collection while Hypothesis or a WeakSet runs callbacks.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(?s).*(gc_callback|WeakSet):pytest.PytestUnraisableExceptionWarning"
)


def play(seed: int) -> None:
    """Perform every operation of a conversation on a generated agent."""
    made = foreign_agent(Random(seed))
    with contextlib.suppress(LtmError):
        source = agent_source(made, spec="bots:Bot")
        agent = source.make(timeout=LIMIT)
        survive(lambda: source.configuration(agent, timeout=LIMIT))
        caller = AgentCaller(agent, timeout=LIMIT)
        calls: list[Callable[[], Any]] = [
            *(caller.usage, caller.retrieved, caller.in_context, caller.written),
            lambda: caller.ask("What is my cat called?"),
            lambda: caller.save() if caller.capabilities.saves else None,
            lambda: caller.reset() if "Resettable" in caller.capabilities else None,
            lambda: (
                caller.tell("a", "b")
                if "AcceptsHistory" in caller.capabilities
                else None
            ),
            caller.close,
        ]
        for call in calls:
            survive(call)


@pytest.fixture(autouse=True)
def short_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airlock, "LOOK_SECONDS", LIMIT)


@pytest.mark.parametrize("seed", range(60))
def test_no_object_of_an_agent_ends_or_hangs_what_asks_it(seed: int) -> None:
    call_within(20, lambda: play(seed))


@pytest.mark.nightly("five thousand machine-made agents")
@pytest.mark.parametrize("block", range(50))
def test_no_object_of_five_thousand_agents_ends_or_hangs_what_asks_it(
    block: int,
) -> None:
    for seed in range(1_000 + block * 100, 1_100 + block * 100):
        call_within(20, lambda number=seed: play(number))  # type: ignore[misc]


@pytest.mark.parametrize("seed", range(60))
def test_an_error_that_was_settled_can_be_touched_anywhere(seed: int) -> None:
    error = foreign_error(Random(seed))
    try:
        settled = call_within(1, lambda: airlock.settle_error(error))
    except OutOfTime:  # a gate runs within the limit of its call
        return
    assert all(type(word) in SCALARS or type(word) is tuple for word in settled.args)
    assert settled == settled  # noqa: PLR0124 - runs its __eq__
    assert type(str(settled)) is str
    traceback.format_exception(settled)


def test_a_plain_error_stays_what_it_is() -> None:
    error = ZeroDivisionError("division by zero")
    assert airlock.settle_error(error) is error


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**5000, -1, object(), "soon"],
    ids=["nan", "inf", "huge", "negative", "object", "text"],
)
def test_a_fault_of_ours_may_be_given_anything(value: Any) -> None:
    fault = TransientFault("busy", retry_after=value, taken=value)
    settled = airlock.settle_error(fault)
    assert type(settled) is TransientFault
    assert settled.retry_after is None
    assert settled.taken is False
    assert classify_failure(fault, now=wall_time()) is not None
    for odd in (AgentFault(value, fatal=value), TransientFault(value)):
        settled = airlock.settle_error(odd)
        assert type(settled) is type(odd)
        assert type(str(settled)) is str
    assert type(str(airlock.settle_error(ValueError(value)))) is str


def test_a_fault_that_says_when_to_come_back_stays_what_it_is() -> None:
    fault = TransientFault("busy", retry_after=1.5, taken=True)
    assert airlock.settle_error(fault) is fault


def test_a_replaced_error_keeps_its_name_text_and_causes() -> None:
    class ClientError(Exception):
        def __str__(self) -> str:
            return "no connection"

    error = ClientError()
    error.__cause__ = KeyError("model")
    settled = airlock.settle_error(error)
    shown = "".join(traceback.format_exception(settled))
    assert "ClientError: no connection" in shown
    assert "KeyError: 'model'" in shown


def test_a_mishap_that_lies_is_left_out() -> None:
    reply = Reply("x", mishaps=(Mishap("a"), object(), Mishap("b", 10**400)))  # type: ignore[arg-type]
    assert [mishap.what for mishap in check_reply(reply, ValueError).mishaps] == ["a"]


# Modules that handle foreign objects, and their names for them.
HOLDERS = (
    *("agents/caller.py", "judges/model_calls.py", "agents/_subprocess_main.py"),
    *("_core/calls/event_loop.py", "_core/calls/foreign.py"),
    *("modes/costs.py", "modes/concurrency.py"),
)
FOREIGN = {
    "agent",
    "callee",
    "made",
    "source.definition",
    "value",
    "self.agent",
    "self._agent",
    "self._model",
}
TOUCHING = {
    *("getattr", "hasattr", "isinstance", "issubclass", "repr", "str", "vars", "dir"),
    *("len", "iter", "bool", "float", "int", "list", "dict", "tuple", "sorted"),
    "callable",
}


def touches(source: str) -> list[str]:
    """Return where a module applies a builtin to a foreign object; nested functions run behind a gate."""
    tree = ast.parse(source)
    within = {
        id(inner)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for nested in ast.walk(function)
        if nested is not function and isinstance(nested, ast.FunctionDef | ast.Lambda)
        for inner in ast.walk(nested)
    }
    return [
        f"line {call.lineno}: {ast.unparse(call)}"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and id(call) not in within
        and isinstance(call.func, ast.Name)
        and call.func.id in TOUCHING
        and call.args
        and ast.unparse(call.args[0]) in FOREIGN
    ]


@pytest.mark.parametrize("name", HOLDERS)
def test_foreign_objects_are_touched_in_the_airlock_only(name: str) -> None:
    package = Path(airlock.__file__).parents[2]
    assert touches((package / name).read_text("utf-8")) == []


def test_a_touch_elsewhere_is_found() -> None:
    source = "def limit(agent):\n    return getattr(agent, 'max_message_tokens')"
    assert touches(source) == ["line 2: getattr(agent, 'max_message_tokens')"]
