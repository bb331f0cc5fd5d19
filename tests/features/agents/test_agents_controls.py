from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from pytest_ltm.agents import AcceptsHistory, Reply, Usage
from pytest_ltm.agents.controls import ByLength, make_cost, make_length_bias
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import agent_source
from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import AgentError
from pytest_ltm.fillers import TriviaFiller

COUNT = token_counter("cl100k_base").count


def no_model(spec: str) -> Any:
    raise AgentError(spec)


# --- cost


def test_each_message_sends_the_history_again() -> None:
    agent: Any = find_agent("cost:3/15").make()
    first, second = agent.reply("one two three"), agent.reply("four")
    assert first.usage == Usage(
        input_tokens=COUNT("one two three"), output_tokens=COUNT(first.text), calls=1
    )
    assert second.usage.input_tokens == COUNT("one two three") + COUNT(
        first.text
    ) + COUNT("four")


def test_what_it_is_told_costs_nothing_until_it_is_sent_again() -> None:
    agent: Any = find_agent("cost:3/15").make()
    agent.accept("one two three", "four")
    assert agent.reply("five").usage.input_tokens == COUNT("one two three") + COUNT(
        "four"
    ) + COUNT("five")


def test_cost_is_that_of_the_tokens_at_the_two_prices() -> None:
    agent: Any = find_agent("cost:1000000/2e6").make()
    reply = agent.reply("one two three")
    assert reply.cost_usd == reply.usage.input_tokens + 2 * reply.usage.output_tokens


def test_a_saved_cost_agent_goes_on_with_the_same_history() -> None:
    one, other = (make_cost("3/15").make() for _ in range(2))
    one.reply("a b c")
    other.load(one.save())  # type: ignore[attr-defined]
    assert other.reply("d") == one.reply("d")


def test_filler_is_answered_at_its_length() -> None:
    filler = TriviaFiller(random.Random(0), token_counter("cl100k_base")).make(
        300, 4096
    )
    assert make_cost("3/15").make().reply(filler.message).text == filler.expected_reply  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "argument", ["", "3", "a/b", "-1/2", "nan/1", "1/inf", "1/2/3"]
)
def test_what_are_no_prices_is_refused(argument: str) -> None:
    with pytest.raises(
        AgentError, match=r"is not a pair of prices\. Write dollars per million tokens"
    ):
        make_cost(argument)


# --- by length


def seen(memory: ByLength, sizes: list[int]) -> list[int]:
    for size in sizes:
        memory.add_message("x" * size)
        memory.leave("")
    return [position for position in range(len(sizes)) if memory.can_see(position)]


def test_the_longest_messages_are_kept_and_the_newest() -> None:
    assert seen(ByLength(20, len), [5, 9, 4, 8, 1]) == [1, 3, 4]


def test_the_shortest_messages_are_kept_and_the_newest() -> None:
    assert seen(ByLength(12, len, shortest=True), [5, 9, 4, 8, 1]) == [0, 2, 4]


def test_what_is_kept_fits_with_its_replies() -> None:
    memory = ByLength(10, len)
    memory.add_message("xxxxx")
    memory.leave("y" * 6)
    memory.add_message("z")
    assert not memory.can_see(0)
    assert memory.can_see(1)


def test_a_restored_memory_sees_the_same() -> None:
    one, other = ByLength(20, len), ByLength(20, len)
    kept = seen(one, [5, 9, 4, 8, 1])
    other.restore(one.state())
    assert [position for position in range(5) if other.can_see(position)] == kept


def test_the_reader_answers_from_what_is_long_or_short_enough() -> None:
    long, short = (
        find_agent(f"length-bias:{spec}").make() for spec in ("30", "shortest:30")
    )
    for agent in (long, short):
        agent.reply("My favourite colour is teal.")
        agent.reply("word " * 20)
    question = "What is my favourite colour?"
    assert "teal" in str(short.reply(question)).lower()
    assert "teal" not in str(long.reply(question)).lower()


class Model:
    """Returns the prompts it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def accept(self, message: str, reply: str) -> None:
        self.shown.append(f"{message}>{reply}")

    async def reply(self, message: str) -> Reply:
        return Reply(" ".join([*self.shown, message]), Usage(output_tokens=1))


def asked(agent: Any, message: str) -> Any:
    return asyncio.run(agent.reply(message))


def test_any_agent_that_accepts_history_is_shown_the_kept_messages_only() -> None:
    agent = make_length_bias(
        "14:some.model", lambda spec: agent_source(Model, spec=spec)
    ).make()
    assert asked(agent, "hi").text == "hi"
    asked(agent, "a much longer message than the others in here")
    reply = asked(agent, "hm")
    assert reply.text == "hi>hi hm"
    assert reply.usage == Usage(output_tokens=1)


def test_a_model_without_history_cannot_be_shown_anything() -> None:
    with pytest.raises(AgentError, match="'echo' has no accept"):
        make_length_bias("8k:echo", find_agent).make()


def test_a_message_that_got_no_reply_is_forgotten() -> None:
    class Failing(Model):
        async def reply(self, message: str) -> Reply:
            if message == "fail":
                raise ConnectionError
            return await super().reply(message)

    agent = make_length_bias(
        "8k:some.model", lambda spec: agent_source(Failing, spec=spec)
    ).make()
    asked(agent, "a")
    with pytest.raises(ConnectionError):
        asked(agent, "fail")
    asked(agent, "b")
    assert asked(agent, "c").text == "a>a b>a>a b c"


def test_one_agent_that_can_be_reset_is_shown_each_message_anew() -> None:
    made: list[Model] = []

    class Reset(Model):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

        def reset(self) -> None:
            self.shown.clear()

    agent = make_length_bias(
        "8k:some.model", lambda spec: agent_source(Reset, spec=spec)
    ).make()
    asked(agent, "a")
    assert asked(agent, "b").text == "a>a b"
    assert len(made) == 1


def test_a_model_is_told_filler_and_not_asked_it() -> None:
    agent: Any = make_length_bias(
        "shortest:12:some.model", lambda spec: agent_source(Model, spec=spec)
    ).make()
    agent.accept("hi", "ho")
    agent.accept("a much longer message than the others in here", "ho")
    assert asked(agent, "hm").text == "hi>ho hm"
    assert isinstance(agent, AcceptsHistory)


def test_the_longest_may_be_said_in_so_many_words() -> None:
    one, other = (
        find_agent(f"length-bias:{spec}").make() for spec in ("longest:30", "30")
    )
    for agent in (one, other):
        agent.reply("My favourite colour is teal.")
        agent.reply("word " * 20)
    assert one.reply("What is my favourite colour?") == other.reply(
        "What is my favourite colour?"
    )


def test_a_model_without_a_size_gets_eight_thousand_tokens() -> None:
    found: list[str] = []

    def look(spec: str) -> Any:
        found.append(spec)
        return agent_source(Model, spec=spec)

    agent: Any = make_length_bias("shortest:openai:small", look).make()
    assert found == ["openai:small"]
    assert (agent._memory._tokens, agent._memory._count) == (8000, count_tokens)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("length-bias:0", "is not a number of tokens"),
        ("length-bias:", "names no model"),
        ("length-bias:8k:", "names no model"),
        ("length-bias:nosuch", "unknown agent 'nosuch'"),
        ("length-bias:8q", "'8q' is not a number of tokens"),
        ("length-bias:shortest:8kk:full", "'8kk' is not a number of tokens"),
    ],
)
def test_a_wrong_length_bias_is_refused(spec: str, says: str) -> None:
    with pytest.raises(AgentError, match=says):
        find_agent(spec)
