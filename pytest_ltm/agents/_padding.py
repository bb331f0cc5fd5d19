"""Padding: another agent that talks more, to have less told between what it must remember and the question."""

from __future__ import annotations

import inspect
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._model.agent import CAPABILITIES, ExpectedReply, Prompted, Reply
from pytest_ltm._storage.errors import AgentError, ConfigurationError
from pytest_ltm.agents._adapt import AgentSource, FreshPromptAgent, agent_source, capabilities_of
from pytest_ltm.agents._capabilities import is_prompted, protocol_members, user_kwargs
from pytest_ltm.agents.reader.memory_policies import count_tokens, tokens_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence


POLITE = (
    "Thank you very much for telling me that, I do appreciate it.", "It is always a pleasure to talk with you.",
    "Please do not hesitate to let me know if there is anything else that I can do.",
    "I am here to help, whatever you may need, and I am happy to go on.", "I hope that you are having a lovely day.",
    "Your patience and your kind words mean a great deal to me.", "Do take all the time that you need.",
)  # fmt: skip
# What a padded reply ends with: kind words, the message once more, or the filler that was told last.
PADDINGS = ("politeness", "question", "filler")


# Capabilities that a padded agent does not take from the other one.
PADDING_CAPABILITIES = frozenset({"Configured", "Resettable", "Stateless", "AcceptsImages"})


class Padded(FreshPromptAgent):
    """Has another agent reply and adds a number of tokens to each reply; that agent never sees what was added.

    It has the other agent's capabilities. Configured.
    """

    def __init__(self, model: AgentSource, agent: Any, tokens: int, padding: str) -> None:
        super().__init__(model, tells=False, agent=agent)
        self._tokens, self._padding, self._heard = tokens, padding, ""
        for name in (capabilities_of(agent) & CAPABILITIES.keys()) - PADDING_CAPABILITIES:
            for member in protocol_members(CAPABILITIES[name]):
                setattr(self, member, getattr(self, f"_{member}", None) or getattr(agent, member))

    def reply(self, message: str) -> str | Reply | Awaitable[str | Reply]:
        """Return the other agent's reply with the padding behind it; to be awaited where the other's is."""
        return self._reply(message)

    def _reply(self, message: str, user: str = "") -> str | Reply | Awaitable[str | Reply]:
        return self._pad(self._agent.reply(message, **user_kwargs(user)), message)

    def _answer_alone(self, message: str) -> str | Reply | Awaitable[str | Reply]:
        return self._pad(self._agent.answer_alone(message), message)

    def _pad(self, given: str | Reply | Awaitable[str | Reply], message: str) -> str | Reply | Awaitable[str | Reply]:
        return self._later(given, message) if inspect.isawaitable(given) else self._padded(given, message)

    async def _later(self, given: Awaitable[str | Reply], message: str) -> str | Reply:
        return self._padded(await given, message)

    def _padded(self, given: str | Reply, message: str) -> str | Reply:
        padding = " ".join(self._sentences(message))
        if isinstance(given, Reply):
            return replace(given, text=f"{given.text}\n\n{padding}")
        return f"{given}\n\n{padding}"

    def _accept(self, message: str, reply: str, user: str = "") -> Any:
        self._heard = message
        return self._agent.accept(message, reply, **user_kwargs(user))

    def _sentences(self, message: str) -> Iterator[str]:
        said = {"question": (message,), "filler": (self._heard,)}.get(self._padding, ())
        left = self._tokens
        for sentence in cycle([each for each in said if each.strip()] or POLITE):
            yield sentence
            left -= count_tokens(sentence)
            if left <= 0:
                return

    def configuration(self) -> Mapping[str, Any]:
        """Return the padding and what the other agent tells of itself."""
        return {
            "padding": self._padding,
            "tokens": self._tokens,
            "model": self._model.configuration(self._agent),
        }


class PromptedPadded(Padded, Prompted):
    """The same in front of a control that is prompted."""

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Hand them on."""
        self._agent.prompt(prompts)


class Padding(Struct, frozen=True):
    """Makes padded agents."""

    model: AgentSource
    tokens: int
    kind: str

    def __call__(self) -> Padded:
        """Return another agent, padded."""
        return self.wrap_agent(self.model.make())

    def wrap_agent(self, agent: Any) -> Padded:
        """Return that agent, padded."""
        padded = PromptedPadded if is_prompted(agent) else Padded
        return padded(self.model, agent, self.tokens, self.kind)


def make_padded(argument: str, find: Callable[[str], AgentSource]) -> AgentSource:
    """Return the source of the agents that `[politeness:|question:|filler:][TOKENS:]SPEC` says.

    `find` knows SPEC. Raises AgentError for a wrong number, where no agent is named, and for what `find` does not know.
    """
    name, (padding, tokens, rest) = f"padded:{argument}", _parse_padding(argument)
    if not rest:
        raise AgentError(f"agent {name!r} names no agent. Write it as in 'padded:1500:window:4k'.")
    return agent_source(Padding(find(rest), read_tokens("padded", tokens), padding), spec=name)


def padded_spec(spec: str) -> str:
    """Return the spec of the agent that a padded one asks; "" for any other.

    >>> unpadded("padded:question:1500:window:4k")
    'window:4k'
    """
    name, _, argument = spec.partition(":")
    return _parse_padding(argument)[2] if name == "padded" else ""


def _parse_padding(argument: str) -> tuple[str, str, str]:
    padding, tokens, rest = PADDINGS[0], "1500", argument
    first, _, behind = rest.partition(":")
    if first in PADDINGS:
        padding, rest = first, behind
    first, _, behind = rest.partition(":")
    return (padding, first, behind) if first[:1].isdigit() else (padding, tokens, rest)


def read_tokens(name: str, text: str) -> int:
    try:
        return tokens_of(name, text)
    except ConfigurationError as error:
        raise AgentError(f"agent {error}") from error
