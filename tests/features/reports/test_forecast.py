"""The profile of an agent without creating it, and the display of a schedule."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from pytest_ltm.agents.capabilities import capabilities_of, capabilities_of_class
from pytest_ltm.agents.chat_agent import ChatAgent
from pytest_ltm.agents.profile import (
    ChatModelReader,
    FullHistoryReader,
    MemoryPolicyReader,
    TokenEstimator,
    profile_of,
)
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.reader.reader import Reader, make_reader
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import agent_source, allow_missing_keys
from pytest_ltm.agents.spec_facts import is_free, model_of
from pytest_ltm.agents.unbuilt import FixedContext
from pytest_ltm.figures.forecast import Bar
from pytest_ltm.providers import ModelSpec
from pytest_ltm.reports.forecast_lines import MOST_LINES, gantt_lines


class Bot:
    max_message_tokens = 700

    def __init__(self) -> None:
        raise AssertionError("it is never made")

    def reply(self, message: str) -> str:
        return message

    def accept(self, message: str, reply: str) -> None: ...

    def reset(self) -> None: ...


def make_bot() -> Bot:
    return Bot()


def make_something():  # type: ignore[no-untyped-def]
    return Bot()


def test_capabilities_are_read_off_the_class() -> None:
    assert capabilities_of_class(Reader) == capabilities_of(make_reader("full")())
    assert capabilities_of_class(Bot) == {
        "AcceptsHistory",
        "Resettable",
        "LimitsMessages",
    }
    assert {
        "AcceptsHistory",
        "Checkpointable",
        "ReportsUsage",
    } <= capabilities_of_class(ChatAgent)


@pytest.mark.parametrize("given", [Bot, functools.partial(Bot), make_bot])
def test_an_agent_has_a_profile_without_being_made(given: object) -> None:
    found = profile_of(agent_source(given, spec="bots:Bot"))
    assert "AcceptsHistory" in found.capabilities


def test_of_a_factory_that_does_not_say_what_it_makes_nothing_is_assumed() -> None:
    assert (
        profile_of(agent_source(make_something, spec="bots:make")).capabilities
        == frozenset()
    )
    assert profile_of(agent_source(Bot, spec="bots:Bot")).max_message_tokens == 700


def test_adapters_promise_what_their_settings_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    (tmp_path / "bot.yml").write_text(
        "agent: http://localhost:1/chat\n"
        "parameters: {history: told, max_message_tokens: 300, headers: {Authorization: 'Bearer ${MY_KEY}'}}\n"
        "env: [MY_KEY]\n"
    )
    with allow_missing_keys():
        http, human = (
            profile_of(find_agent("bot.yml", base=tmp_path)),
            profile_of(find_agent("human")),
        )
    assert http.capabilities == {"AcceptsHistory", "Configured"}
    assert http.max_message_tokens == 300
    assert {"AcceptsHistory", "TimeAware"} <= human.capabilities


def test_a_chat_model_needs_neither_key_nor_client_for_a_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with allow_missing_keys():
        found = profile_of(find_agent("openai:gpt-4o?context=2000"))
    assert found.max_message_tokens == 500
    assert "AcceptsHistory" in found.capabilities


@pytest.mark.parametrize(
    ("spec", "free"),
    [
        ("full", True),
        ("window:8k", True),
        ("cost:3/15", True),
        ("human", True),
        ("length-bias:8k", True),
        ("length-bias:shortest:0.5k", True),
        ("length-bias:8k:full", True),
        ("length-bias:8k:bots.Bot", False),
        ("length-bias:8k:openai:gpt-4o", False),
        ("padded:500:echo", True),
        ("padded:bots:Bot", False),
        ("memory:rules?preset=ltm-2", True),
        ("memory:openai:gpt-4o", False),
        ("openai:gpt-4o", False),
        ("bots:Bot", False),
        ("cmd:run", False),
    ],
)
def test_ours_are_free(spec: str, free: bool) -> None:
    assert is_free(spec) is free


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec", ["memory:openai:gpt-4o", "length-bias:8k:openai:gpt-4o", "length-bias:8k"]
)
def test_who_stands_before_another_agent_is_told_filler(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with allow_missing_keys():
        assert "AcceptsHistory" in profile_of(find_agent(spec)).capabilities


def test_a_padded_agent_that_may_cost_something_is_not_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with allow_missing_keys():
        found = profile_of(find_agent("padded:300:openai:gpt-4o?context=2000"))
    assert "Configured" in found.capabilities
    assert "AcceptsHistory" not in found.capabilities
    assert found.max_message_tokens == 500
    assert count_tokens(found.answers().reply("Hello.")) > 300


def test_a_model_is_found_in_specs_of_agents_and_judges() -> None:
    assert model_of(
        "ts:openai:gpt-4o@https://api.openai.com/v1?context=5"
    ) == ModelSpec(name="gpt-4o")
    assert model_of(
        "memory:openai:gpt-4o@https://api.openai.com/v1?preset=ltm-1"
    ) == ModelSpec(name="gpt-4o")
    assert model_of("bots:Bot") is None
    assert model_of("openai:") is None


def test_each_policy_sends_what_it_shows() -> None:
    talk = [(f"message {n} of the talk", "noted") for n in range(6)]
    sizes = [count_tokens(message) + count_tokens(reply) for message, reply in talk]
    asked, cached = zip(
        *(FullHistoryReader().ask(*one) for one in talk[:1]), strict=True
    )
    assert (asked, cached) == ((count_tokens(talk[0][0]),), (0,))
    whole: TokenEstimator = FullHistoryReader()
    first, second = whole.ask(*talk[0]), whole.ask(*talk[1])
    assert second == (sizes[0] + count_tokens(talk[1][0]), first[0])
    whole.tell(*talk[2])
    assert whole.ask(*talk[3])[0] == sum(sizes[:3]) + count_tokens(talk[3][0])
    assert TokenEstimator().ask(*talk[0]) == (count_tokens(talk[0][0]), 0)


def test_a_window_never_sends_more_than_it_holds() -> None:
    seen = MemoryPolicyReader(make_reader("window", "30")()._memory)
    sent = [seen.ask(f"message {n} of a long talk", "noted")[0] for n in range(9)]
    assert sent[0] < sent[1] <= 30
    assert max(sent) <= 30


def test_a_chat_sends_its_prompt_again_until_something_is_cut() -> None:
    chat = ChatModelReader(FixedContext(system="Be brief.", context=60), max_tokens=10)
    sent = [chat.ask(f"message {n}", "noted") for n in range(8)]
    assert sent[1][1] == sent[0][0]
    assert max(size for size, _ in sent) <= 50
    assert sent[-1][1] == 0  # the beginning of the prompt has changed


def bars(scenarios: int, examples: int) -> list[Bar]:
    return [
        Bar(
            scenario=f"s{s}",
            example=str(e),
            start=100 * e,
            end=100 * e + 60,
            speaks=(100 * e, 100 * e + 50),
        )
        for s in range(scenarios)
        for e in range(examples)
    ]


def test_a_schedule_shows_who_speaks_and_who_waits() -> None:
    lines = gantt_lines(bars(1, 2), 200, 45)
    assert lines[0] == "s0/0 #---------#-"
    assert lines[1].rstrip() == "s0/1                     #---------#-"
    assert lines[-1].endswith("200 tokens")


@pytest.mark.parametrize(
    ("scenarios", "examples", "lines"), [(3, 2, 7), (3, 40, 4), (60, 1, MOST_LINES + 2)]
)
def test_a_schedule_has_a_bounded_height_and_width(
    scenarios: int, examples: int, lines: int
) -> None:
    for width in (40, 80, 200):
        shown = gantt_lines(bars(scenarios, examples), 100 * examples, width)
        assert len(shown) == lines
        assert max(map(len, shown)) <= width


def test_nothing_is_a_schedule_too() -> None:
    assert len(gantt_lines([], 0, 80)) == 1
