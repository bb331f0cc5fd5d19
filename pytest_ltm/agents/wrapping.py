"""Wrappers around an agent: `padded:` adds to its replies, `ts:` puts the time before its messages."""

from __future__ import annotations

import inspect
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import cycle
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.capabilities import (
    capabilities_of,
    closing_method,
    is_prompted,
    user_arguments,
)
from pytest_ltm.agents.memory.reading import format_moment, read_moment
from pytest_ltm.agents.memory.scopes import Scope
from pytest_ltm.agents.reader.memory_policies import count_tokens, tokens_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import (
    AgentSource,
    agent_source,
    grant_capabilities,
    require_spec,
)
from pytest_ltm.api.model import (
    Announced,
    ExpectedReply,
    Prompted,
    Reply,
    TakesTools,
    TakesTurns,
)
from pytest_ltm.api.storage import AgentError, describe_duration


class AgentWrapper:
    """A wrapper of an agent that `model` created; closing it closes the agent."""

    def __init__(self, model: AgentSource, agent: Any) -> None:
        self._model = model
        self._agent = agent

    async def aclose(self) -> None:
        """Close the wrapped agent."""
        if name := closing_method(self._agent):
            await await_result(getattr(self._agent, name)())

    def _take_members(self, *, without: frozenset[str]) -> None:
        """Copy the wrapped agent's capabilities.

        Each member is `_NAME` of the wrapper if it exists, else the agent's.
        """
        # A wrapper of replies does not wrap tool calls.
        having = capabilities_of(self._agent) - without - {TakesTools.__name__}
        grant_capabilities(self, having, wrapped=self._agent)

    def _save_with(self, own_state: str | None) -> Any:
        """Return the wrapped agent's state with the wrapper's own; awaitable if the agent's is."""

        def add_own_state(state: bytes) -> bytes:
            return json.dumps([own_state, b64encode(state).decode()]).encode()

        return finish_result(self._agent.save(), add_own_state)

    def _user_arguments(self, method: str, user: str) -> dict[str, Any]:
        """Return the arguments that tell a method of the wrapped agent the user of a message."""
        return user_arguments(getattr(self._agent, method), Scope(user=user))


async def await_result(value: Any) -> Any:
    """Return the value, or the result of an awaitable."""
    return await value if inspect.isawaitable(value) else value


def finish_result(value: Any, finish: Callable[[Any], Any]) -> Any:
    """Return `finish(value)`; an awaitable of it if the value is awaitable."""
    if not inspect.isawaitable(value):
        return finish(value)

    async def finish_later() -> Any:
        return finish(await value)

    return finish_later()


class InTurn(TakesTurns):
    """A wrapper of an agent that takes turns."""

    _agent: Any

    def turn(self) -> Any:
        """Wait for a turn, and hold it."""
        return self._agent.turn()


# --- Padding: a wrapper whose agent talks more, so that fewer exchanges fit between
# what it must remember and the question.

POLITE = (
    "Thank you very much for telling me that, I do appreciate it.",
    "It is always a pleasure to talk with you.",
    "Please do not hesitate to let me know if there is anything else that I can do.",
    "I am here to help, whatever you may need, and I am happy to go on.",
    "I hope that you are having a lovely day.",
    "Your patience and your kind words mean a great deal to me.",
    "Do take all the time that you need.",
)
# The padding of a reply: kind words, the message again, or the previous message, which
# is mostly filler.
PADDINGS = ("politeness", "question", "filler")
# Instead of a number: as many tokens as the message has.
SAME = "same"


# Capabilities of the wrapped agent that a padded one lacks. It accepts no history,
# because it must answer every message, including filler.
PADDING_CAPABILITIES = frozenset(
    {
        "AcceptsHistory",
        "Configured",
        "Resettable",
        "Stateless",
        "AcceptsImages",
        "TakesTools",
    }
)


class Padded(AgentWrapper):
    """A wrapper that adds a number of tokens to each reply; the wrapped agent never sees them.

    It has the wrapped agent's capabilities. Configured.
    """

    def __init__(
        self, model: AgentSource, agent: Any, tokens: int | None, padding: str
    ) -> None:
        """Pad with `tokens` tokens; None: as many as the message has."""
        super().__init__(model, agent)
        self._tokens = tokens
        self._padding = padding
        self._previous_message = ""
        self._take_members(without=PADDING_CAPABILITIES)

    def reply(self, message: str) -> Any:
        """Return the wrapped agent's reply followed by the padding; awaitable if the agent's reply is."""
        return self._reply(message)

    def _reply(self, message: str, user: str = "") -> Any:
        reply = self._agent.reply(message, **self._user_arguments("reply", user))
        return finish_result(reply, partial(self._pad_and_remember, message))

    def _answer_alone(self, message: str) -> Any:
        return finish_result(
            self._agent.answer_alone(message), partial(self._padded, message)
        )

    def _save(self) -> Any:
        return self._save_with(self._previous_message)

    def _load(self, state: bytes) -> Any:
        self._previous_message, inner_state = json.loads(state)
        return self._agent.load(b64decode(inner_state))

    def _pad_and_remember(self, message: str, reply: str | Reply) -> str | Reply:
        """Return a padded reply, and remember its message for the next one."""
        padded = self._padded(message, reply)
        self._previous_message = message
        return padded

    def _padded(self, message: str, reply: str | Reply) -> str | Reply:
        by_padding = {"question": message, "filler": self._previous_message}
        text = by_padding.get(self._padding, "")
        room = count_tokens(message) if self._tokens is None else self._tokens
        texts = [text] if text.strip() else POLITE
        sentences = []
        for sentence, tokens in cycle([(text, count_tokens(text)) for text in texts]):
            sentences.append(sentence)
            room -= tokens
            if room <= 0:
                break
        padding = " ".join(sentences)
        if isinstance(reply, Reply):
            return replace(reply, text=f"{reply.text}\n\n{padding}")
        return f"{reply}\n\n{padding}"

    def configuration(self) -> Mapping[str, Any]:
        """Return the padding and the wrapped agent's configuration."""
        return {
            "padding": self._padding,
            "tokens": self._tokens,
            "model": self._model.configuration(self._agent),
        }


class PromptedPadded(Padded, Prompted):
    """A padded control that is prompted."""

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Pass the prompts to the wrapped control."""
        self._agent.prompt(prompts)


class Padding(Struct, frozen=True):
    """Creates padded agents."""

    model: AgentSource
    tokens: int | None
    kind: str

    def __call__(self) -> Padded:
        """Return a new agent, padded."""
        return self.wrap_agent(self.model.make())

    def wrap_agent(self, agent: Any) -> Padded:
        """Return the given agent, padded."""
        padded = PromptedPadded if is_prompted(agent) else Padded
        return padded(self.model, agent, self.tokens, self.kind)


def make_padded(
    argument: str, find: Callable[[str], AgentSource] = find_agent
) -> AgentSource:
    """Return the source of the agents of `padded:[politeness:|question:|filler:][TOKENS|same:]SPEC`.

    `find` resolves SPEC. Raises ConfigurationError for a wrong number, AgentError for a
    missing SPEC, and for one that `find` does not know.
    """
    padding, size, inner_spec = _parse_padding(argument)
    require_spec("padded", inner_spec, example="1500:window:4k")
    tokens = None if size == SAME else tokens_of("padded", size)
    return agent_source(
        Padding(find(inner_spec), tokens, padding), spec=f"padded:{argument}"
    )


def padded_spec(spec: str) -> str:
    """Return the spec of the agent inside a padded one; "" for any other.

    >>> padded_spec("padded:question:1500:window:4k")
    'window:4k'
    """
    name, _, argument = spec.partition(":")
    return _parse_padding(argument)[2] if name == "padded" else ""


def _parse_padding(argument: str) -> tuple[str, str, str]:
    """Return padding, tokens and the spec of the wrapped agent."""
    padding, _, inner_spec = argument.partition(":")
    if padding not in PADDINGS:
        padding = PADDINGS[0]
        inner_spec = argument
    size, _, sized_spec = inner_spec.partition(":")
    if size[:1].isdigit() or size == SAME:
        return padding, size, sized_spec
    return padding, "1500", inner_spec


# Capabilities that a timed agent implements itself, or does not copy from the wrapped
# one.
ADDED_CAPABILITIES = frozenset(
    {"TimeAware", "Stateless", "AcceptsImages", "Configured"}
)


def stamp_message(
    message: str, time: datetime | None, previous_time: datetime | None
) -> str:
    """Return a message with its time: in full for the first one, then the time since the previous message."""
    if time is None:
        return message
    if previous_time is None:
        return f"[{time.isoformat(' ', 'seconds')}] {message}"
    return f"[{describe_duration(time - previous_time)} later] {message}"


class Timed(AgentWrapper):
    """A wrapper that prefixes each message with its time.

    It has the wrapped agent's capabilities, and is TimeAware.
    """

    def __init__(self, model: AgentSource, agent: Any) -> None:
        super().__init__(model, agent)
        self._time: datetime | None = None
        self._previous_time: datetime | None = None
        if isinstance(agent, (Prompted, Announced)):
            raise AgentError(
                f"agent 'ts:{model.spec}': {model.spec!r} ignores its messages, so timestamps have no effect on it"
            )
        self._take_members(without=ADDED_CAPABILITIES)
        self._is_time_aware = "TimeAware" in capabilities_of(agent)

    def tell_time(self, now: datetime) -> Any:
        """Set the time of the next message."""
        self._time = now
        return self._agent.tell_time(now) if self._is_time_aware else None

    def reply(self, message: str) -> Any:
        """Return the wrapped agent's reply to the message with its time; awaitable if the agent's reply is."""
        return self._reply(message)

    def configuration(self) -> Mapping[str, Any]:
        """Return the wrapped agent's configuration."""
        return {"time": "passed", "model": self._model.configuration(self._agent)}

    # --- capabilities, if the wrapped agent has them

    def _reply(self, message: str, user: str = "") -> Any:
        text = self._stamp(message)
        reply = self._agent.reply(text, **self._user_arguments("reply", user))
        return finish_result(reply, self._pass_time)

    def _answer_alone(self, message: str) -> Any:
        return self._agent.answer_alone(self._stamp(message))

    def _accept(self, message: str, reply: str, user: str = "") -> Any:
        arguments = self._user_arguments("accept", user)
        result = self._agent.accept(self._stamp(message), reply, **arguments)
        return finish_result(result, self._pass_time)

    def _reset(self) -> Any:
        self._time = self._previous_time = None
        return self._agent.reset()

    def _save(self) -> Any:
        return self._save_with(format_moment(self._previous_time))

    def _load(self, state: bytes) -> Any:
        time_text, inner = json.loads(state)
        self._time = self._previous_time = read_moment(time_text)
        return self._agent.load(b64decode(inner))

    def _stamp(self, message: str) -> str:
        return stamp_message(message, self._time, self._previous_time)

    def _pass_time(self, result: Any) -> Any:
        self._previous_time = self._time
        return result


class TimedInTurn(InTurn, Timed):
    """A timed wrapper of a chat model that takes turns."""


class Timing(Struct, frozen=True):
    """Creates timed agents."""

    model: AgentSource

    def __call__(self) -> Timed:
        """Return a new agent, timed."""
        agent = self.model.make()
        timed = TimedInTurn if isinstance(agent, TakesTurns) else Timed
        return timed(self.model, agent)
