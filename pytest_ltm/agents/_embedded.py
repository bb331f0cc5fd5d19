"""The embedded agents, which need no key and no network: their names, and what makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentError, ConfigurationError
from pytest_ltm.agents._adapt import AgentSource, source
from pytest_ltm.agents._simple import Echo, Silent

if TYPE_CHECKING:
    from collections.abc import Callable


def _simple(agent: type) -> Callable[[str], AgentSource]:
    name = agent.__name__.lower()

    def make(argument: str) -> AgentSource:
        if argument:
            raise AgentError(f"agent '{name}:{argument}': {name!r} takes no argument. Write {name!r}.")
        return source(agent, spec=name)

    return make


def _reader(policy: str) -> Callable[[str], AgentSource]:
    def make(argument: str) -> AgentSource:
        from pytest_ltm.agents._reader import make_reader  # noqa: PLC0415 - other agents do without

        try:
            reader = make_reader(policy, argument)
        except ConfigurationError as error:
            raise AgentError(f"agent {error}") from error
        return source(reader, spec=f"{policy}:{argument}" if argument else policy)

    return make


def _replay(argument: str) -> AgentSource:
    from pytest_ltm.agents._replay import replay_source  # noqa: PLC0415 - other agents do without

    return replay_source(argument)


def _cost(argument: str) -> AgentSource:
    from pytest_ltm.agents._controls import make_cost  # noqa: PLC0415 - other agents do without

    return make_cost(argument)


def _length_bias(argument: str) -> AgentSource:
    from pytest_ltm.agents._controls import make_length_bias  # noqa: PLC0415 - other agents do without
    from pytest_ltm.agents._specs import find  # noqa: PLC0415 - which looks up here

    return make_length_bias(argument, find)


EMBEDDED: dict[str, Callable[[str], AgentSource]] = {
    "full": _reader("full"),
    "window": _reader("window"),
    "bm25": _reader("bm25"),
    "forgetful": _reader("forgetful"),
    "replay": _replay,
    "length-bias": _length_bias,
    "cost": _cost,
    "echo": _simple(Echo),
    "silent": _simple(Silent),
}
"""What stands before the `:` of a spec, and what makes its agents from what stands behind it ("" if nothing)."""


def describe_embedded() -> list[tuple[str, str]]:
    """Return for each embedded agent a spec (RUN stands for a recorded run), and a sentence about it."""
    return [
        ("full", "Reads by rules and forgets nothing: shows that every scenario can be solved."),
        ("window:8k", "The same reader, seeing only the last 8,000 tokens (any number does)."),
        ("bm25:8k", "The same reader, seeing 8,000 tokens: the newest, and older ones found by BM25."),
        ("forgetful:0.2", "The same reader, forgetting every fifth exchange at random."),
        ("replay:RUN", "Gives the replies that a run recorded (or a journal.jsonl, or a published master log)."),
        (
            "cost:3/15",
            "Spends nothing; reports what a chat at 3 and 15 dollars a million tokens in and out would cost.",
        ),
        ("length-bias:8k", "The same reader, seeing 8,000 tokens: the longest messages. `shortest:8k`: the shortest."),
        ("echo", "Replies with the message itself."),
        ("silent", "Replies with the empty text."),
    ]
