"""Control agents beside the reader's: what a run would cost, and what the mere length of messages gives away."""

from __future__ import annotations

import inspect
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_ltm._errors import AgentError, ConfigurationError
from pytest_ltm.agents._adapt import AgentSource, powers, source
from pytest_ltm.agents._by_length import ByLength
from pytest_ltm.agents._memory import count, tokens_of
from pytest_ltm.agents._protocols import Reply, Usage
from pytest_ltm.agents._reader import Reader
from pytest_ltm.fillers import answers_of, reply_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

NOTED = "Okay, I have noted that."
"""What the cost agent says: as short as chat models are when they are asked to be brief."""
MILLION = 1_000_000


class Cost:
    """Spends nothing, and reports what a chat model would have used that is sent the whole conversation each time.

    The model of cost: every message re-sends all earlier messages and replies, so a reply's input is the sum of all
    tokens so far and its output the reply itself; nothing is cached, and what a chat format adds is not counted.
    Exchanges that it is told (filler, mostly) cost nothing themselves and are re-sent like the others, as with
    `openai:` agents. Tokens are those of `cl100k_base`. What still asks for a list of answers gets it, everything else
    gets `NOTED`. AcceptsHistory, Checkpointable, Configured.
    """

    def __init__(self, dollars_in: float, dollars_out: float) -> None:
        self._in, self._out = dollars_in, dollars_out
        self._history = 0

    def reply(self, message: str) -> Reply:
        """Return nothing useful, with its usage and its cost."""
        answers = answers_of(message)
        text = NOTED if answers is None else reply_of(answers)
        used = Usage(input_tokens=self._history + count(message), output_tokens=count(text))
        self._history = used.input_tokens + used.output_tokens
        dollars = used.input_tokens * self._in + used.output_tokens * self._out
        return Reply(text, used, dollars / MILLION, hypothetical=True)

    def accept(self, message: str, reply: str) -> None:
        """Count an exchange that will be sent again with every later message."""
        self._history += count(message) + count(reply)

    def save(self) -> bytes:
        """Return the size of the conversation."""
        return json.dumps(self._history).encode()

    def load(self, state: bytes) -> None:
        """Go back to what `save` returned."""
        self._history = json.loads(state)

    def configuration(self) -> Mapping[str, Any]:
        """Return the prices, in dollars per million tokens."""
        return {"cost": {"in": self._in, "out": self._out}}


class Shown:
    """Shows an agent, for each message anew, the exchanges that a memory keeps, and has it reply.

    AcceptsHistory, Configured.
    """

    def __init__(self, memory: ByLength, model: AgentSource, name: str) -> None:
        self._memory, self._model, self._name = memory, model, name
        self._exchanges: list[tuple[str, str]] = []
        self._agent = self._made()

    async def reply(self, message: str) -> str | Reply:
        """Return the model's reply; a message without one is forgotten."""
        self._memory.arrive(message)
        try:
            given = await self._shown(message)
        except BaseException:
            self._memory.drop()
            raise
        text = given.text if isinstance(given, Reply) else given
        self._exchanges.append((message, text))
        self._memory.leave(text)
        return given

    def accept(self, message: str, reply: str) -> None:
        """Keep an exchange for which the model need not be asked."""
        self._memory.arrive(message)
        self._exchanges.append((message, reply))
        self._memory.leave(reply)

    async def _shown(self, message: str) -> str | Reply:
        agent = await self._blank()
        for position, exchange in enumerate(self._exchanges):
            if self._memory.sees(position):
                await _settled(agent.accept(*exchange))
        given: str | Reply = await _settled(agent.reply(message))
        return given

    def configuration(self) -> Mapping[str, Any]:
        """Return the memory and what the model tells of itself."""
        return {"memory": self._name, "model": self._model.configuration(self._agent)}

    async def aclose(self) -> None:
        """Close the model."""
        close = getattr(self._agent, "aclose", None) or getattr(self._agent, "close", None)
        if close is not None:
            await _settled(close())

    async def _blank(self) -> Any:
        """Return an agent that knows nothing: the same one reset, or another."""
        if "Resettable" in powers(self._agent):
            await _settled(self._agent.reset())
        else:
            await self.aclose()
            self._agent = self._made()
        return self._agent

    def _made(self) -> Any:
        agent = self._model.make()
        if "AcceptsHistory" not in powers(agent):
            raise AgentError(f"{self._model.spec!r} has no accept(message, reply), so it can be shown nothing")
        return agent


class Bias(NamedTuple):
    """What stands behind `length-bias:`."""

    shortest: bool
    size: str
    model: str | None
    """The spec of who is shown the messages; "" where one was announced and not named, None: the embedded reader."""

    @classmethod
    def of(cls, argument: str) -> Bias:
        """Return what `[longest:|shortest:][SIZE][:MODEL]` says; what begins with a digit is meant as a size."""
        which, colon, rest = argument.partition(":")
        if not colon or which not in {"longest", "shortest"}:
            which, rest = "longest", argument
        size, colon, model = rest.partition(":")
        if size[:1].isdigit():
            return cls(which == "shortest", size, model if colon else None)
        return cls(which == "shortest", "8k", rest)


def make_cost(argument: str) -> AgentSource:
    """Return the source of agents that cost IN/OUT dollars per million tokens; AgentError for what are no prices."""
    try:
        dollars_in, dollars_out = (float(part) for part in argument.split("/"))
    except ValueError:
        dollars_in = dollars_out = -1.0
    if not (0 <= dollars_in < math.inf and 0 <= dollars_out < math.inf):
        raise AgentError(
            f"agent 'cost:{argument}': {argument!r} are no prices. Write dollars per million tokens in and out, as in "
            f"'cost:3/15'."
        )
    return source(lambda: Cost(dollars_in, dollars_out), spec=f"cost:{argument}")


def make_length_bias(argument: str, find: Callable[[str], AgentSource]) -> AgentSource:
    """Return the source of agents that go by length, by default the embedded reader.

    `argument` is as `Bias.of` reads it; `find` knows its model. Raises AgentError for a wrong size and for what `find`
    does not know.
    """
    name, bias = f"length-bias:{argument}", Bias.of(argument)
    try:
        tokens = tokens_of("length-bias", bias.size)
    except ConfigurationError as error:
        raise AgentError(f"agent {error}") from error
    if bias.model is None:
        return source(lambda: Reader(lambda: ByLength(tokens, count, shortest=bias.shortest), name), spec=name)
    if not bias.model:
        raise AgentError(f"agent {name!r} names no model. Write it as in 'length-bias:8k' or 'length-bias:8k:SPEC'.")
    found = find(bias.model)
    return source(lambda: Shown(ByLength(tokens, count, shortest=bias.shortest), found, name), spec=name)


async def _settled(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
