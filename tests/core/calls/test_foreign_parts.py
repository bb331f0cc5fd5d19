"""Foreign judges, fillers, stores, hooks and exporters never end or hang a run, however they misbehave."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from foreign_kinds import BEHAVIOURS, LIMIT, foreign_error, foreign_object, survive

from pytest_ltm._core.calls import airlock, foreign_filler
from pytest_ltm._core.calls.conversation_thread import OutOfTime
from pytest_ltm._core.calls.foreign_filler import admit_filler
from pytest_ltm._core.calls.time_limits import call_within
from pytest_ltm._core.journal.section import as_sections
from pytest_ltm._core.model.filler import FillerExchange
from pytest_ltm._core.session.hook_calls import HookCalls, ask_first
from pytest_ltm._core.storage.errors import JudgeError, LtmError
from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.commands import sharing
from pytest_ltm.judges import judge_registry
from pytest_ltm.judges.model_calls import ModelCaller

# A limit may interrupt garbage collection while Hypothesis runs callbacks.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(?s).*gc_callback:pytest.PytestUnraisableExceptionWarning"
)
SEEDS = 253
NOON = datetime(2024, 3, 4, 12, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airlock, "LOOK_SECONDS", LIMIT)
    monkeypatch.setattr(judge_registry, "_MAKING", LIMIT)
    monkeypatch.setattr(foreign_filler, "_MAKING", LIMIT)


def draw_method(rng: Random, right: Any) -> Callable[..., Any]:
    """Return a method that raises, hangs, lies, or returns a correct or odd value."""
    value, error = foreign_object(rng), foreign_error(rng)

    def throw(*_: object, **__: object) -> Any:
        raise error

    def give(*_: object, **__: object) -> Any:
        return value

    def give_right(*_: object, **__: object) -> Any:
        return right

    return rng.choice([throw, give, give, give_right, *BEHAVIOURS[:6]])


def draw_object(rng: Random, methods: dict[str, Any]) -> Any:
    """Return an object with these methods, any of which may be odd, and odd special methods."""
    members: dict[str, Any] = {
        name: draw_method(rng, right) for name, right in methods.items()
    }
    for name in rng.sample(["__repr__", "__eq__", "__bool__", "__getattr__"], 1):
        members[name] = rng.choice(BEHAVIOURS)
    return type("Foreign", (), members)()


def play_judge(rng: Random) -> None:
    judge = draw_object(rng, {"assess": "GRADE: yes", "configuration": {"a": 1}})
    made = judge_registry.adapt_judge(judge, "judge 'mine:Judge'")
    named = judge_registry._name_judge("mine:Judge", made)
    survive(lambda: named.configuration)
    call = ModelCaller(named.judge, who="the judge", error=JudgeError, timeout=LIMIT)
    with contextlib.closing(call):
        survive(lambda: call(SimpleNamespace(text="?")))  # type: ignore[arg-type]


def play_filler(rng: Random) -> None:
    exchange = rng.choice(
        [FillerExchange("a", "b"), FillerExchange("a", foreign_object(rng))]
    )
    filler = admit_filler(
        draw_object(rng, {"make": exchange, "configuration": ["mine"]})
    )
    survive(filler.configuration)
    made = filler.make(20, 100)
    assert type(made.message) is str
    assert type(made.expected_reply) is str


# Seconds: a store is examined with its thinker, and the machine may be busy.
STORE_LIMIT = 0.5
STORE_METHODS = {"add": "1", "search": ["Riga"], "configuration": {"a": 1}}
OPTIONAL = ("written", "settle", "delete", "save", "reset", "close", "add_session")


def play_store(rng: Random) -> None:
    methods = STORE_METHODS | dict.fromkeys(rng.sample(OPTIONAL, 2))
    store = draw_object(rng, methods)
    module = ModuleType("odd_store")
    vars(module)["Store"] = lambda: store
    sys.modules["odd_store"] = module
    source = find_agent("store:odd_store:Store")
    agent = source.make(timeout=STORE_LIMIT)
    survive(lambda: source.configuration(agent, timeout=STORE_LIMIT))
    caller = AgentCaller(agent, timeout=STORE_LIMIT)
    survive(lambda: caller.tell_time(NOON))
    survive(lambda: caller.tell("I live in Riga.", "Noted."))
    for call in (caller.retrieved, caller.written, caller.usage):
        survive(call)
    survive(lambda: caller.ask("Where do I live?"))
    survive(caller.close)


def play_hook(rng: Random) -> None:
    implementation = SimpleNamespace(
        argnames=(), function=draw_method(rng, 3), plugin=draw_object(rng, {})
    )
    caller = SimpleNamespace(get_hookimpls=lambda: [implementation])
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_ltm_odd=caller))
    calls = HookCalls(config)
    admits = (airlock.exact_text, airlock.exact_pairs, as_sections)
    survive(lambda: list(calls.ask_all("pytest_ltm_odd", rng.choice(admits))))
    assert all(type(fault) is str for fault in calls.faults)
    first: Any = SimpleNamespace(
        hook=SimpleNamespace(pytest_ltm_odd=implementation.function)
    )
    ask_first(first, "pytest_ltm_odd")


def play_exporter(rng: Random) -> None:
    write = draw_method(rng, [])
    with sharing._exporting("mine"):
        list(write())


# Hooks and exporters have no short limit: no reply waits for them.
UNLIMITED = (play_hook, play_exporter)


def _limit_of(play: Callable[[Random], None]) -> float:
    return 0.5 if play in UNLIMITED else 20


def find_end_of(play: Callable[[Random], None], seed: int) -> BaseException | None:
    """Return the exception that ends a play, or None if it ends normally."""
    try:
        call_within(_limit_of(play), lambda: play(Random(seed)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is looked at
        return error
    return None


def is_told(error: BaseException) -> bool:
    return isinstance(error, (LtmError, OSError, OutOfTime))


@pytest.mark.slow
@pytest.mark.nightly("253 objects of each: one part in five at a merge", every=5)
@pytest.mark.parametrize(
    "play", [play_judge, play_filler, play_store, play_hook, play_exporter]
)
@pytest.mark.parametrize("block", range(5))
def test_no_object_of_others_ends_or_hangs_what_asks_it(
    play: Callable[[Random], None], block: int
) -> None:
    for seed in range(block, SEEDS, 5):
        error = find_end_of(play, seed)
        if play not in UNLIMITED:
            assert error is None or isinstance(error, LtmError), seed
        else:
            # errors that end bare pytest as well pass through; a failing disk is
            # reported
            assert not isinstance(error, SystemExit), seed
            assert not isinstance(error, Exception) or is_told(error), seed
        assert not isinstance(error, LtmError) or type(str(error)) is str
