"""Control agents other than the reader: echo, silence, cost, message length, the oracle.

`pytest_ltm.agents` exports Echo and Silent; profiles ask for the abilities of biased
and windowed agents.
"""

from __future__ import annotations

import bisect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.reader.memory_policies import (
    Full,
    Memory,
    Window,
    count_tokens,
    tokens_of,
)
from pytest_ltm.agents.reader.reader import Reader, make_reader
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource, agent_source, refuse_argument
from pytest_ltm.agents.wrapping import AgentWrapper, await_result
from pytest_ltm.api.model import ExpectedReply, Prompted, Reply, Tools, Usage
from pytest_ltm.api.storage import AgentError
from pytest_ltm.fillers import answers_of, reply_of


class ByLength(Memory):
    """A memory that shows the newest message and, by length, the others that fit into that many tokens.

    The longest come first, or with `shortest` the shortest.

    The length of an exchange is that of its message, in tokens; of equal ones the newer
    is shown. Its reply takes up room, too.
    """

    def __init__(
        self, tokens: int, count: Callable[[str], int], *, shortest: bool = False
    ) -> None:
        self._tokens = tokens
        self._count = count
        self._sign = 1 if shortest else -1
        self._lengths: list[int] = []
        self._sizes: list[int] = []
        self._ranked: list[tuple[int, int]] = []
        self._visible: frozenset[int] | None = None

    def add_message(self, message: str) -> None:
        """Add the message; the previous one is ranked among the others."""
        if self._lengths:
            self._rank(len(self._lengths) - 1)
        self._lengths.append(self._count(message))
        self._sizes.append(self._lengths[-1])
        self._visible = None

    def leave(self, reply: str) -> None:
        """Add the reply to the newest exchange."""
        self._sizes[-1] += self._count(reply)

    def drop(self) -> None:
        """Forget the newest message, which got no reply."""
        self._lengths.pop()
        self._sizes.pop()
        self.restore([self._lengths, self._sizes])

    def can_see(self, position: int) -> bool:
        """Return whether the exchange is among those that are kept."""
        if self._visible is None:
            newest = len(self._sizes) - 1
            positions = {newest}
            room = self._tokens - self._sizes[newest]
            for _, negative in self._ranked:
                if self._sizes[-negative] <= room:
                    positions.add(-negative)
                    room -= self._sizes[-negative]
            self._visible = frozenset(positions)
        return position in self._visible

    def state(self) -> list[Any]:
        """Return lengths and sizes."""
        return [self._lengths, self._sizes]

    def restore(self, state: Any) -> None:
        """Restore what `state` returned."""
        self._lengths, self._sizes = state
        self._ranked = []
        self._visible = None
        for position in range(len(self._lengths) - 1):
            self._rank(position)

    def _rank(self, position: int) -> None:
        # Kept sorted: sorting for each message would take quadratic time.
        bisect.insort(self._ranked, (self._sign * self._lengths[position], -position))


# The cost agent's reply: as short as that of a chat model asked to be brief.
ACKNOWLEDGEMENT = "Okay, I have noted that."
MILLION = 1_000_000


class ChatCostMeter:
    """Spends nothing, and reports the usage of a chat model that gets the whole conversation each time.

    The cost model: every message re-sends all earlier messages and replies, so a
    reply's input is the sum of all tokens so far and its output the reply itself;
    nothing is cached, and the overhead of a chat format is not counted. Exchanges that
    it accepts (mostly filler) cost nothing themselves and are re-sent like the others,
    as with `openai:` agents. Tokens are those of `cl100k_base`. A message that asks for
    a list of answers gets the list, any other gets `ACKNOWLEDGEMENT`. AnswersAlone,
    AcceptsHistory, Checkpointable, Configured.
    """

    def __init__(self, dollars_in: float, dollars_out: float) -> None:
        self._price_in = dollars_in
        self._price_out = dollars_out
        self._history = 0

    def reply(self, message: str) -> Reply:
        """Return a reply without content, with its usage and its cost."""
        reply = self.answer_alone(message)
        if reply.usage is not None:
            self._history = reply.usage.total
        return reply

    def answer_alone(self, message: str) -> Reply:
        """Return the same reply for a question that is not re-sent later."""
        answers = answers_of(message)
        text = ACKNOWLEDGEMENT if answers is None else reply_of(answers)
        used = Usage(
            input_tokens=self._history + count_tokens(message),
            output_tokens=count_tokens(text),
            calls=1,
        )
        dollars = (
            used.input_tokens * self._price_in + used.output_tokens * self._price_out
        )
        return Reply(text, used, dollars / MILLION, hypothetical=True)

    def accept(self, message: str, reply: str) -> None:
        """Count an exchange that is re-sent with every later message."""
        self._history += count_tokens(message) + count_tokens(reply)

    def save(self) -> bytes:
        """Return the size of the conversation."""
        return json.dumps(self._history).encode()

    def load(self, state: bytes) -> None:
        """Restore what `save` returned."""
        self._history = json.loads(state)

    def configuration(self) -> Mapping[str, Any]:
        """Return the prices, in dollars per million tokens."""
        return {"cost": {"in": self._price_in, "out": self._price_out}}


class ContextWindowAgent(AgentWrapper):
    """Gives a blank agent, for each message, the exchanges that a memory keeps, and returns its reply.

    AnswersAlone, AcceptsHistory, Configured.
    """

    def __init__(self, memory: ByLength, model: AgentSource, name: str) -> None:
        super().__init__(model, model.make())
        if "AcceptsHistory" not in capabilities_of(self._agent):
            raise AgentError(
                f"{model.spec!r} has no accept(message, reply), so no history can be passed to it"
            )
        self._memory = memory
        self._name = name
        self._exchanges: list[tuple[str, str]] = []

    async def reply(self, message: str) -> str | Reply:
        """Return the model's reply; a message that gets none is forgotten."""
        self._memory.add_message(message)
        try:
            reply = await self._ask(message)
        except BaseException:
            self._memory.drop()
            raise
        text = reply.text if isinstance(reply, Reply) else reply
        self._exchanges.append((message, text))
        self._memory.leave(text)
        return reply

    async def answer_alone(self, message: str) -> str | Reply:
        """Return the model's reply to a message that is never shown again."""
        self._memory.add_message(message)
        try:
            return await self._ask(message)
        finally:
            self._memory.drop()

    def accept(self, message: str, reply: str) -> None:
        """Add an exchange without asking the model."""
        self._memory.add_message(message)
        self._exchanges.append((message, reply))
        self._memory.leave(reply)

    async def _ask(self, message: str) -> str | Reply:
        if "Resettable" in capabilities_of(self._agent):
            await await_result(self._agent.reset())
        else:
            await self.aclose()
            self._agent = self._model.make()
        for position, exchange in enumerate(self._exchanges):
            if self._memory.can_see(position):
                await await_result(self._agent.accept(*exchange))
        reply: str | Reply = await await_result(self._agent.reply(message))
        return reply

    def configuration(self) -> Mapping[str, Any]:
        """Return the memory's name and the model's configuration."""
        return {"memory": self._name, "model": self._model.configuration(self._agent)}


class Bias(NamedTuple):
    """The parsed argument of `length-bias:`."""

    shortest: bool
    size: str
    model: str | None
    """The spec of the agent that sees the messages; "": a colon without a spec, None: the embedded reader."""

    @classmethod
    def parse_bias(cls, argument: str) -> Bias:
        """Parse `[longest:|shortest:][SIZE][:MODEL]`; a part that begins with a digit is a size."""
        which, colon, size_and_model = argument.partition(":")
        if not colon or which not in {"longest", "shortest"}:
            which = "longest"
            size_and_model = argument
        size, colon, model = size_and_model.partition(":")
        if size[:1].isdigit():
            return cls(which == "shortest", size, model if colon else None)
        return cls(which == "shortest", "8k", size_and_model)


def make_cost(argument: str) -> AgentSource:
    """Return the source of agents that cost IN/OUT dollars per million tokens.

    Raises AgentError for anything else.
    """
    try:
        dollars_in, dollars_out = map(float, argument.split("/"))
    except ValueError:
        dollars_in = dollars_out = -1.0
    if not (0 <= dollars_in < math.inf and 0 <= dollars_out < math.inf):
        raise AgentError(
            f"agent 'cost:{argument}': {argument!r} is not a pair of prices. Write dollars per million tokens in and "
            f"out, as in 'cost:3/15'."
        )
    return agent_source(
        lambda: ChatCostMeter(dollars_in, dollars_out), spec=f"cost:{argument}"
    )


def make_length_bias(
    argument: str, find: Callable[[str], AgentSource] = find_agent
) -> AgentSource:
    """Return the source of agents that see messages by length; the default model is the embedded reader.

    `Bias.parse_bias` parses `argument`; `find` resolves the model. Raises
    ConfigurationError for a wrong size, AgentError for a model that `find` does not
    know.
    """
    name = f"length-bias:{argument}"
    bias = Bias.parse_bias(argument)
    make = partial(
        ByLength,
        tokens_of("length-bias", bias.size),
        count_tokens,
        shortest=bias.shortest,
    )
    if bias.model is None:
        return agent_source(lambda: Reader(make, name), spec=name)
    if not bias.model:
        raise AgentError(
            f"agent {name!r} names no model. Write it as in 'length-bias:8k' or 'length-bias:8k:SPEC'."
        )
    model = find(bias.model)
    return agent_source(lambda: ContextWindowAgent(make(), model, name), spec=name)


# --- Echo and Silent: the two simplest agents, for first steps and as the control rows
# of a report.


class _Fixed:
    stateless: Literal[True] = True

    def reset(self) -> None:
        """Do nothing: there is nothing to forget."""

    def configuration(self) -> Mapping[str, Any]:
        """Return the agent's name."""
        return {"embedded": type(self).__name__.lower()}


class Echo(_Fixed):
    """Replies with the message itself: passes any scenario that only looks for words of the question."""

    def reply(self, message: str, user: str = "") -> str:  # noqa: ARG002 - it makes no difference
        """Return `message`, for any `user`."""
        return message


class Silent(_Fixed):
    """Always replies with the empty string: its score is what an agent earns by saying nothing."""

    def reply(self, message: str, user: str = "") -> str:  # noqa: ARG002 - the protocol's names of them
        """Return "", whatever the `message`, for any `user`."""
        return ""


def make_simple(kind: type[Echo | Silent], argument: str) -> AgentSource:
    """Return the source of Echo or Silent, which take no argument."""
    name = kind.__name__.lower()
    refuse_argument(name, argument)
    return agent_source(kind, spec=name)


make_echo = partial(make_simple, Echo)
make_silent = partial(make_simple, Silent)


def make_policy(policy: str, argument: str) -> AgentSource:
    """Return the source of readers with a memory policy."""
    return agent_source(
        make_reader(policy, argument),
        spec=f"{policy}:{argument}" if argument else policy,
    )


# --- The oracle: a control that is prompted with the full-mark answers, and gives those
# whose needles it still sees.


class Oracle(Prompted):
    """Gives the prompted answers whose needles its memory still shows.

    Resettable, SeparatesUsers, TakesTools, AnswersAlone, AcceptsHistory, Configured.
    """

    def __init__(self, make: Callable[[], Memory], memory: str) -> None:
        self._make = make
        self._policy = memory
        self._prompts: Sequence[ExpectedReply] = ()
        self._places: dict[str, int] = {}
        """The number of the newest exchange of each message."""
        self._count = 0
        self.reset()

    def prompt(self, prompts: Sequence[ExpectedReply]) -> None:
        """Set what the reply to the next message must contain."""
        self._prompts = prompts

    def reply(
        self,
        message: str,
        user: str = "",  # noqa: ARG002 - the prompts are this user's
        tools: Tools | None = None,
    ) -> str:
        """Return the answers whose needles are all visible, after calling their tools."""
        self._hear(message)
        prompts = self._prompts
        self._prompts = ()
        answers = []
        for prompt in prompts:
            if not all(map(self._sees, prompt.needles)):
                continue
            if prompt.text:
                answers.append(prompt.text)
            for call in prompt.calls:
                if tools is not None and isinstance(call.arguments, Mapping):
                    tools.call(call.name, **call.arguments)
        if answers:
            reply = "\n".join(answers)
        elif any(prompt.text for prompt in prompts):
            reply = "I do not know."
        else:
            reply = "All right."
        self._memory.leave(reply)
        return reply

    def _sees(self, needle: str) -> bool:
        return needle in self._places and self._memory.can_see(self._places[needle])

    def answer_alone(self, message: str) -> str:
        """Return the same as `reply`, then forget the message."""
        memory_state = self._memory.held()
        places = dict(self._places)
        count = self._count
        try:
            return self.reply(message)
        finally:
            self._memory.put_back(memory_state)
            self._places = places
            self._count = count

    def accept(self, message: str, reply: str, user: str = "") -> None:  # noqa: ARG002
        """Add an exchange that happened without a reply of the oracle."""
        self._hear(message)
        self._memory.leave(reply)

    def reset(self) -> None:
        """Forget everything."""
        self._memory = self._make()
        self._places = {}
        self._count = 0
        self._prompts = ()

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the answers, except the prompts."""
        return {"embedded": "oracle", "memory": self._policy}

    def _hear(self, message: str) -> None:
        self._memory.add_message(message)
        self._places[message] = self._count
        self._count += 1


def make_oracle(argument: str) -> AgentSource:
    """Return the source of oracles that see everything, or the newest tokens (`8k`).

    Raises ConfigurationError for a wrong size.
    """
    if not argument:
        return agent_source(lambda: Oracle(Full, "full"), spec="oracle")
    tokens = tokens_of("oracle", argument)
    return agent_source(
        lambda: Oracle(lambda: Window(tokens), f"window:{argument}"),
        spec=f"oracle:{argument}",
    )
