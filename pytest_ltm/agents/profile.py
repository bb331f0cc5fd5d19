"""Profile: what an agent's spec and class say about it, before it is created; nothing is sent."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from pytest_ltm.agents.caller import MAX_MESSAGE_TOKENS
from pytest_ltm.agents.capabilities import (
    capabilities_of,
    capabilities_of_class,
    is_prompted,
)
from pytest_ltm.agents.controls import Bias, ContextWindowAgent
from pytest_ltm.agents.reader.memory_policies import Memory, count_tokens, make_memory
from pytest_ltm.agents.reader.reader import make_reader
from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.agents.spec_facts import is_embedded, is_free, spec_within
from pytest_ltm.agents.unbuilt import FixedContext, Offer, Remembering
from pytest_ltm.agents.wrapping import PADDING_CAPABILITIES, Padding, Timing
from pytest_ltm.api.calls import inherits, look
from pytest_ltm.api.engine import Enclosed
from pytest_ltm.api.journal import events
from pytest_ltm.api.model import (
    Capabilities,
    Exchange,
    Promised,
    Reply,
    TokenCounter,
    token_counter,
)
from pytest_ltm.api.storage import Clock
from pytest_ltm.figures.forecast import TokenUse
from pytest_ltm.fillers import answers_of, reply_of

E = TypeVar("E", bound=events.Event)


class TokenEstimator:
    """Counts the tokens of one conversation, each message alone.

    The rest of the agent's prompt is unknown.
    """

    def ask(self, message: str, reply: str) -> tuple[int, int]:  # noqa: ARG002 - others need the reply
        """Return the tokens sent with a message, and how many of them at best come from a cache."""
        return count_tokens(message), 0

    def ask_alone(self, message: str) -> tuple[int, int]:
        """Return the same for a question that leaves no trace."""
        return self.ask(message, "")

    def tell(self, message: str, reply: str) -> None:
        """Add an exchange that the agent is told."""


class FullHistoryReader(TokenEstimator):
    """Counts the whole conversation."""

    def __init__(self) -> None:
        self._size = self._prompt_size = 0

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return all tokens so far; those of the previous prompt come from a cache."""
        # Providers cache a prompt by its beginning, which is the previous prompt.
        cached = self._prompt_size
        prompt_size = self._size + count_tokens(message)
        self._prompt_size = prompt_size
        self._size = prompt_size + count_tokens(reply)
        return prompt_size, cached

    def ask_alone(self, message: str) -> tuple[int, int]:
        """Return the same; the next prompt shares only the conversation before the question."""
        size = self._size
        sizes = self.ask(message, "")
        self._size = self._prompt_size = size
        return sizes

    def tell(self, message: str, reply: str) -> None:
        """Add the exchange."""
        self._size += count_tokens(message) + count_tokens(reply)


class Filled(FullHistoryReader):
    """Counts as much of the conversation as fits into a prompt of a fixed size.

    The exchanges are chosen anew for each message.
    """

    def __init__(self, max_tokens: int) -> None:
        super().__init__()
        self._max_tokens = max_tokens

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return the size of the prompt; nothing comes from a cache."""
        return min(self._max_tokens, super().ask(message, reply)[0]), 0


class MemoryPolicyReader(TokenEstimator):
    """Counts the exchanges that a memory policy of the embedded reader shows."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._sizes: list[int] = []

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return the tokens of the visible exchanges, including the message."""
        self._memory.add_message(message)
        self._sizes.append(count_tokens(message))
        visible_size = 0
        for position, size in enumerate(self._sizes):
            if self._memory.can_see(position):
                visible_size += size
        self._memory.leave(reply)
        self._sizes[-1] += count_tokens(reply)
        return visible_size, 0

    def ask_alone(self, message: str) -> tuple[int, int]:
        """Return the same, then restore the state."""
        memory_state = self._memory.held()
        sizes = [*self._sizes]
        prompt_and_cached = self.ask(message, "")
        self._memory.put_back(memory_state)
        self._sizes = sizes
        return prompt_and_cached

    def tell(self, message: str, reply: str) -> None:
        """Add the exchange."""
        self._memory.add_message(message)
        self._memory.leave(reply)
        self._sizes.append(count_tokens(message) + count_tokens(reply))


class ChatModelReader(TokenEstimator):
    """Counts the prompt of a chat model: system prompt, as much of the conversation as fits, the message."""

    def __init__(self, context: FixedContext, max_tokens: int | None) -> None:
        # Imported here and below: few runs have a chat model or a memory system.
        from pytest_ltm.agents.chat_agent import History

        self._history = History(context.system, token_counter(context.tokenizer).count)
        self._limit = context.limit(max_tokens)
        self._prompt_size = self._exchanges = 0

    def ask(self, message: str, reply: str) -> tuple[int, int]:
        """Return the size of the prompt; the previous prompt is cached unless exchanges were dropped since."""
        size = self._history.size_of(message)
        if self._limit is not None:
            self._history.drop_oldest(size, self._limit)
        is_uncut = len(self._history) == self._exchanges
        cached = self._prompt_size if is_uncut else 0
        prompt_size = self._history.estimate(size)
        self.tell(message, reply)
        self._prompt_size = prompt_size
        return prompt_size, cached

    def ask_alone(self, message: str) -> tuple[int, int]:
        """Return the same, then restore the state.

        The next prompt shares the conversation before the question.
        """
        history = self._history.snapshot()
        exchanges = self._exchanges
        prompt_and_cached = self.ask(message, "")
        self._history.put_back(history)
        self._exchanges = exchanges
        self._prompt_size = self._history.estimate(0)
        return prompt_and_cached

    def tell(self, message: str, reply: str) -> None:
        """Add the exchange."""
        self._exchanges = len(self._history) + 1
        self._history.add(message, self._history.size_of(message), reply)


FORGETS_NOTHING = make_reader("full")


class Profile(Struct, frozen=True, kw_only=True):
    """What is known about an agent that has not been created."""

    capabilities: frozenset[str]
    max_message_tokens: int = MAX_MESSAGE_TOKENS
    reads: Callable[[], TokenEstimator] = TokenEstimator
    """Creates, for one conversation, the counter of the tokens sent for each reply."""
    policy: str = "each message alone, as the rest of its prompt is unknown"
    """A phrase for what the agent reads for a reply."""
    answers: Callable[[], Any] = FORGETS_NOTHING
    """Creates the stand-in that answers.

    It is the embedded reader, with a memory as good as the agent's could be.
    """
    longest_reply: int | None = None
    """The maximum tokens of a reply; None: unknown."""
    brief: bool = False
    """Whether the stand-in's replies are used as they are, because the embedded agent answers itself."""


def profile_of(source: AgentSource) -> Profile:
    """Return what is known about an agent without creating it; embedded ones, which are free, are created."""
    if not inherits(source.definition, Timing):
        return _profile_of_definition(source)
    profile = _profile_of_definition(source.definition.model)
    return replace(
        profile, capabilities=profile.capabilities | {"TimeAware", "Configured"}
    )


def _profile_of_definition(source: AgentSource) -> Profile:
    kind, _, argument = spec_within(source).partition(":")
    definition = source.definition
    if isinstance(definition, Offer):
        return _chat_profile(definition)
    if isinstance(definition, Promised):
        return _make_profile(definition.capabilities, definition.max_message_tokens)
    if isinstance(definition, Remembering):
        return _memory_profile(definition, source)
    if is_embedded(kind):
        return _embedded_profile(kind, argument, source)
    examine = functools.partial(_profile_of_object, definition, owned=source.owned)
    profile: Profile = look(examine, Profile(capabilities=frozenset()))
    return profile


def _profile_of_object(definition: object, *, owned: bool) -> Profile:
    # With the parameters of a file.
    while isinstance(definition, functools.partial):
        definition = definition.func
    if isinstance(definition, type):
        return _make_profile(
            capabilities_of_class(definition),
            getattr(definition, "max_message_tokens", None),
        )
    if owned:
        having = frozenset[str]()
        if inspect.isfunction(definition):
            return_type = typing.get_type_hints(definition).get("return")
            if isinstance(return_type, type):
                having = capabilities_of_class(return_type)
        return _make_profile(having, None)
    return _make_profile(
        capabilities_of(definition), getattr(definition, "max_message_tokens", None)
    )


def _chat_profile(offer: Offer) -> Profile:
    from pytest_ltm.agents.chat_agent import longest_message

    context = offer.context
    window = context.context
    reply_limit = offer.model.max_tokens
    if window is None:
        words = (
            "the whole conversation, as the model's limit is unknown without context=N,"
        )
        answers = FORGETS_NOTHING
    else:
        words = f"the newest {window:,} tokens,"
        answers = make_reader("window", str(window))
    return Profile(
        capabilities=capabilities_of_class(offer.agent),
        max_message_tokens=longest_message(window),
        reads=lambda: ChatModelReader(context, reply_limit),
        policy=f"{words} sent again with each message{_most_out(reply_limit)}",
        answers=answers,
        longest_reply=reply_limit,
    )


def _make_profile(having: frozenset[str], limit: object) -> Profile:
    profile = Profile(capabilities=having)
    if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0:
        return replace(profile, max_message_tokens=limit)
    return profile


def _most_out(longest_reply: int | None) -> str:
    if longest_reply is None:
        return ""
    return f"; out: at most {longest_reply:,} for each reply"


def _memory_profile(remembering: Remembering, source: AgentSource) -> Profile:
    """Return the profile of a memory system; one that thinks by rules answers itself."""
    from pytest_ltm.agents.memory.user_memories import UserMemories

    sentence = (
        f"calls for other thinking are left out{_most_out(remembering.longest_reply)}"
    )
    return Profile(
        capabilities=capabilities_of_class(UserMemories),
        max_message_tokens=remembering.longest,
        reads=lambda: Filled(remembering.max_tokens),
        policy=f"up to {remembering.max_tokens:,} tokens for each reply; {sentence}",
        longest_reply=remembering.longest_reply,
        answers=source.make if remembering.free else FORGETS_NOTHING,
        brief=remembering.free,
    )


def _embedded_profile(kind: str, argument: str, source: AgentSource) -> Profile:
    if kind == "length-bias" and Bias.parse_bias(argument).model is not None:
        return Profile(capabilities=capabilities_of_class(ContextWindowAgent))
    if inherits(source.definition, Padding) and not is_free(spec_within(source)):
        # The wrapped agent may cost something, so it must not be created.
        padding = source.definition
        model = profile_of(source.definition.model)
        return replace(
            model,
            capabilities=(model.capabilities - PADDING_CAPABILITIES) | {"Configured"},
            answers=lambda: padding.wrap_agent(model.answers()),
            longest_reply=None,
            brief=False,
        )
    profile = Profile(
        capabilities=capabilities_of(source.make()), answers=source.make, brief=True
    )
    if kind in {"full", "cost"}:
        full_policy = "the whole conversation, sent again with each message"
        return replace(profile, reads=FullHistoryReader, policy=full_policy)
    if kind in {"window", "bm25", "forgetful"}:
        memory = make_memory(kind, argument)
        return replace(
            profile,
            reads=lambda: MemoryPolicyReader(memory()),
            policy="what its memory shows it",
        )
    return profile


# --- The stand-in agent of a dry run: the embedded reader, with replies as long as
# those of chat models usually are.

# Tokens of a reply by the kind of its message; filler that asks for a list gets the
# list.
TYPICAL = {
    "say": 25,
    "ask": 45,
    "opening": 25,
    "reset": 25,
    "filler": 25,
    "history": 25,
}
_MORE = " and that is all there is to say about it"


class CostSimulator:
    """The port of an agent that is never created."""

    replaying = False

    def __init__(
        self,
        profile: Profile,
        counter: TokenCounter,
        clock: Clock,
        *,
        assumed: int | None = None,
    ) -> None:
        """`assumed`: the tokens of each reply, unless it is longer; None: typical of its kind."""
        self._assumed = assumed
        self._longest = profile.longest_reply
        self.capabilities = Capabilities(profile.capabilities)
        self.max_message_tokens = profile.max_message_tokens
        self.agent: Any = profile.answers()
        """The agent that answers."""
        self.uses: dict[int, TokenUse] = {}
        """The tokens that each reply would use, by exchange."""
        self.told = self.retold = 0
        """Exchanges that it is told, and those replayed after questions asked alone."""
        self._brief = profile.brief
        self._reads = profile.reads()
        self._counter = counter
        self._clock = clock

    def upcoming(self, kind: type[E]) -> E | None:  # noqa: ARG002 - the protocol's signature
        """Return None: nothing is recorded."""
        return None

    def open(self, said: Sequence[Exchange]) -> None:
        """Do nothing."""

    def ready(self, by: str) -> None:
        """Do nothing."""

    def reply(
        self, message: events.MessageSent, enclosed: Enclosed | None = None
    ) -> events.ReplyReceived:
        """Return a reply of typical length, and store the tokens that it would use."""
        self._tell_time()
        if is_prompted(self.agent):
            self.agent.prompt(() if enclosed is None else enclosed.prompts)
        if message.alone:
            replies = getattr(self.agent, "answer_alone", self.agent.reply)
        else:
            replies = self.agent.reply
        answer: str | Reply = replies(message.text)
        text = answer.text if isinstance(answer, Reply) else answer
        answers = answers_of(message.text)
        if self._assumed is not None:
            text = _stretch_reply(text, self._assumed)
        elif not self._brief:
            if answers is None:
                text = _stretch_reply(text, TYPICAL[message.kind])
            else:
                text = reply_of(answers)
        tokens = self._counter.count(text)
        if self._longest is not None and tokens > self._longest:
            text = text[: len(text) * self._longest // tokens]
            tokens = self._longest
        if message.alone:
            prompt_size, cached = self._reads.ask_alone(message.text)
            if not (self.capabilities.leaves_no_trace or self.capabilities.rewinds):
                # The conversation would be replayed, and paid for again.
                self.retold += self.told
        else:
            prompt_size, cached = self._reads.ask(message.text, text)
            self.told += 1
        self.uses[message.exchange] = TokenUse(
            messages=1, tokens_in=prompt_size, cached=cached, tokens_out=tokens
        )
        return events.ReplyReceived(exchange=message.exchange, text=text, tokens=tokens)

    def tell(self, filler: events.FillerSent) -> events.FillerSent:
        """Add an exchange, which costs nothing until it is sent again."""
        self._tell_time()
        self.told += 1
        self.agent.accept(filler.message, filler.reply)
        self._reads.tell(filler.message, filler.reply)
        return replace(filler, reply_tokens=self._counter.count(filler.reply))

    def _tell_time(self) -> None:
        if hasattr(self.agent, "tell_time"):
            self.agent.tell_time(self._clock.now)

    def written(self, reply: events.ReplyReceived) -> None:
        """Do nothing."""

    def new_session(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _stretch_reply(reply: str, tokens: int) -> str:
    missing = tokens - count_tokens(reply)
    if missing <= 0:
        return reply
    return reply + "," + _MORE * (missing // count_tokens(_MORE))
