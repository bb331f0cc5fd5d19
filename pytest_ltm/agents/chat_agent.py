"""Chat models as agents, and the part of the conversation that they are shown.

Memory systems, profiles and wrappers use its message limit and its history.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import structs

from pytest_ltm import providers
from pytest_ltm.agents.memory.reading import format_moment, read_moment
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import (
    AgentSource,
    agent_source,
    current_reading,
    is_keyless,
    require_spec,
)
from pytest_ltm.agents.unbuilt import ENCODING, FRAME, FixedContext, Offer, reply_tokens
from pytest_ltm.agents.wrapping import Timing, stamp_message
from pytest_ltm.api.model import (
    COMPACTION,
    CUT_OFF,
    HANDED_ON,
    AnsweredCall,
    Call,
    Mishap,
    Reply,
    TakesTurns,
    Tools,
    Usage,
    escape_surrogates,
    token_counter,
    usage_of,
)
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    Field,
    escape_json_text,
    image_type,
)
from pytest_ltm.providers.specs import Spec

Message: TypeAlias = dict[str, Any]
# The content of a message: a text, or parts with images.
Content: TypeAlias = "str | list[dict[str, Any]]"
# Message, reply, their size and, if tools were called, a list of messages.
ShownExchange: TypeAlias = tuple[Any, ...]
# Estimated tokens of an image; the endpoint's own counts correct it.
IMAGE_TOKENS = 1000
# Shown instead of an empty reply, because many endpoints refuse a conversation that has
# one.
SILENCE = "(no reply)"
_LEAST_RATIO = 0.5
_MOST_RATIO = 3.0
# Estimated tokens of a prompt above which its real size tells something about the
# tokenizer.
_ENOUGH = 200


class History:
    """The exchanges that are still shown, oldest first, with their sizes in tokens of our tokenizer.

    `ratio`: the model's tokens per token of ours, learned from the endpoint's counts.
    Adding, dropping and measuring take constant time.
    """

    def __init__(self, system: str | None, count: Callable[[str], int]) -> None:
        self.count = count
        self.ratio = 1.0
        self._system = [{"role": "system", "content": system}] if system else []
        self._fixed = self.size_of(system) if system else 0
        self._exchanges: deque[ShownExchange] = deque()
        self._size = 0

    def __len__(self) -> int:
        return len(self._exchanges)

    def size_of(self, text: str) -> int:
        """Return the estimated tokens of one message."""
        return self.count(text) + FRAME

    def prompt(self, message: Content) -> list[dict[str, Any]]:
        """Return the messages to send: the system prompt, the remaining history, the newest message."""
        messages: list[dict[str, Any]] = [*self._system]
        for message_text, replied, _, *acted in self._exchanges:
            messages += [
                {"role": "user", "content": message_text},
                *itertools.chain.from_iterable(acted),
                {"role": "assistant", "content": replied},
            ]
        return [*messages, {"role": "user", "content": message}]

    def estimate(self, newest: int) -> int:
        """Return the estimated tokens of a prompt whose newest message has `newest` tokens."""
        return self._fixed + self._size + newest

    def add(
        self, message: Content, size: int, reply: str, acted: Sequence[Message] = ()
    ) -> None:
        """Append an exchange. `size`: of the message and of `acted`, the tool calls before the reply."""
        reply_text = reply if reply.strip() else SILENCE
        size += self.size_of(reply_text)
        # Without calls, the tuple keeps the form that saved states have always had.
        calls = (list(acted),) if acted else ()
        self._exchanges.append((message, reply_text, size, *calls))
        self._size += size

    def drop_oldest(self, newest: int, tokens: float) -> None:
        """Drop the oldest exchanges, a block at once, if the prompt exceeds `tokens` of the model's tokens.

        The following prompts then begin alike, so that a prompt cache (of a provider,
        or of llama.cpp) can be used. An exchange that fits is kept if, without it, less
        than half of the room next to the newest message would be used: one long reply
        or large message does not cost the whole history.
        """
        if self.estimate(newest) * self.ratio <= tokens:
            return
        beside = (self._fixed + newest) * self.ratio
        fair = beside + (tokens - beside) / 2
        while self._exchanges:
            size = self.estimate(newest) * self.ratio
            oldest = self._exchanges[0][2] * self.ratio
            is_short = size <= kept_share(tokens) * tokens
            if size <= tokens and (is_short or size - oldest < fair):
                return
            self._size -= self._exchanges.popleft()[2]

    def note_prompt_size(self, newest: int, counted: int) -> bool:
        """Learn from the prompt size that the endpoint counted.

        False if it is so small that the prompt was cut.
        """
        estimated = self.estimate(newest)
        if estimated >= _ENOUGH and counted < _LEAST_RATIO * estimated * min(
            1.0, self.ratio
        ):
            # a count of next to nothing is not a count of the prompt, see usage_of
            return counted < _ENOUGH
        if estimated >= _ENOUGH:
            self.ratio = min(_MOST_RATIO, max(_LEAST_RATIO, counted / estimated))
        return True

    def clear(self) -> None:
        """Forget all exchanges; the learned ratio stays."""
        self.put_back((deque(), 0))

    def snapshot(self) -> tuple[deque[ShownExchange], int]:
        """Return the shown exchanges, for `put_back`."""
        return self._exchanges.copy(), self._size

    def put_back(self, exchanges_and_size: tuple[deque[ShownExchange], int]) -> None:
        """Restore what `snapshot` returned; the learned ratio stays."""
        self._exchanges, self._size = exchanges_and_size

    def state(self) -> dict[str, Any]:
        """Return all state as JSON values."""
        return {
            "ratio": self.ratio,
            "exchanges": [list(exchange) for exchange in self._exchanges],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned."""
        self.ratio = state["ratio"]
        self._exchanges = deque()
        for message, replied, size, *acted in state["exchanges"]:
            self._exchanges.append((message, replied, size, *acted))
        self._size = sum(exchange[2] for exchange in self._exchanges)


# For pytest: the message already has the server's answer.
__tracebackhide__ = True


def kept_share(tokens: float) -> float:
    """Return the share of a full window to keep when exchanges are dropped.

    More of a large one, which fills up slowly.
    """
    return 0.7 if tokens <= _SMALL_WINDOW else 0.9


# Tokens of a prompt; see docs/openai.md for the figures behind both shares.
_SMALL_WINDOW = 32_000

# Increase when the way of showing the conversation changes: part of the fingerprint.
VERSION = 4
# Retries of a message whose prompt was too long, each with less history.
SHRINKS = 8
# The share of an overlong prompt to keep if the endpoint does not report its limit.
SHARE = 0.75
MAX_MESSAGE_TOKENS = 4096
_LESS = 0.95
CUT_SILENTLY = (
    "the server counted less than half of the prompt: it seems to cut prompts silently. Give its own setting "
    "(Ollama: OLLAMA_CONTEXT_LENGTH) as context=NUMBER, or raise that"
)
LOADED = "the server had to load its model first"
# Seconds of waiting that are not worth a report.
_SOON = 1.0


def longest_message(limit: float | None) -> int:
    """Return the maximum tokens of a filler message: a quarter of the limit, at most the usual maximum."""
    if limit is None:
        return MAX_MESSAGE_TOKENS
    return max(1, min(MAX_MESSAGE_TOKENS, int(limit) // 4))


class ActingTurn:
    """A message to which a model replies in several turns, because it calls tools."""

    def __init__(self, message: str = "", tools: Tools | None = None) -> None:
        self.message = message
        self.offered = [] if tools is None else tools.functions
        """The tools, in the form that a provider takes."""
        self.acted: list[Message] = []
        """The calls and their results so far."""

    def size(self, size_of: Callable[[str], int]) -> int:
        """Return the estimated tokens of the message, the tools and the calls."""
        texts = [json.dumps(part) for part in (*self.offered, *self.acted)]
        return size_of(self.message) + sum(map(size_of, texts))

    def act(self, answer: Any) -> tuple[Call, ...]:
        """Store the calls in a model's answer, and return them."""
        if not answer.calls:
            return ()
        calls = [call.to_message() for call in answer.calls]
        self.acted.append(
            {"role": "assistant", "content": answer.text, "tool_calls": calls}
        )
        return tuple(Call(call.name, call.arguments, call.id) for call in answer.calls)

    def hear(self, results: Sequence[AnsweredCall]) -> None:
        """Store the results of the calls."""
        for call in results:
            result = call.result or "(nothing)"
            self.acted.append(
                {"role": "tool", "tool_call_id": call.id, "content": result}
            )


class ChatAgent(TakesTurns):
    """One conversation with a chat model; close it at the end.

    TakesTools, Compacts, Resettable, Checkpointable, AnswersAlone, AcceptsHistory,
    Configured, CountsTokens, LimitsMessages, ReportsUsage.
    """

    def __init__(self, model: providers.ModelSpec, context: FixedContext) -> None:
        self._model = model
        self._context = context
        says = context.reading.says_something
        self._completions = providers.open_model(model, says=says)
        self._history = History(context.system, token_counter(context.tokenizer).count)
        self._learned: float | None = None
        self._used = Usage()
        self._time: datetime | None = None
        """The time of the next message; None if the model is not told the time."""
        self._previous_time: datetime | None = None
        self._turn = ActingTurn()

    @property
    def max_message_tokens(self) -> int:
        """The maximum tokens of a filler message: a quarter of the context, at most the usual maximum."""
        return longest_message(self._limit())

    def reply(self, message: str, tools: Tools | None = None) -> Reply:
        """Return the model's reply, or its tool calls, given as much of the conversation as fits."""
        if tools is None or not tools.results:
            self._turn = ActingTurn(self._stamp(message), tools)
        else:
            self._turn.hear(tools.results)
        turn = self._turn
        reply = self._ask(turn.message, turn.size(self._history.size_of))
        self._previous_time = self._time
        return reply

    def _ask(self, message: Content, size: int) -> Reply:
        """Return the reply to a message of this estimated size, and add both to the history."""
        try:
            answer = self._fitting(message, size)
        except BaseException:
            # also for a time limit from outside: the sent tokens are billed
            lost_usage = self._completions.lost
            if lost_usage is not None:
                self._used += usage_of(
                    lost_usage,
                    prompt=self._prompt(size),
                    reply=self._model.max_tokens or 0,
                )
            raise
        usage = usage_of(
            answer.used, prompt=self._prompt(size), reply=self.count_tokens(answer.text)
        )
        # Learned before the message is added, which changes the size of the prompt.
        counted = answer.used.input
        limit = self._model.max_tokens
        happened = {
            CUT_SILENTLY: counted is not None
            and not self._history.note_prompt_size(size, counted),
            LOADED: self._completions.loading > _SOON,
            f"{CUT_OFF}{'its limit' if limit is None else f'max_tokens={limit}'}": answer.was_cut,
        }
        mishaps = tuple(Mishap(name) for name, holds in happened.items() if holds)
        self._used += usage
        calls = self._turn.act(answer) if self._turn.offered else ()
        if not calls:
            reply = self._context.reading(answer.text)
            self._history.add(message, size, reply, self._turn.acted)
            self._turn = ActingTurn()
        return Reply(
            answer.text,
            usage,
            finish_reason=answer.finish_reason,
            thoughts=answer.thoughts,
            mishaps=mishaps,
            calls=calls,
        )

    def answer_alone(self, message: str) -> Reply:
        """Return the model's reply to a question, then restore the history, including what made room for it."""
        snapshot = self._history.snapshot()
        text = self._stamp(message)
        self._turn = ActingTurn()
        try:
            return self._ask(text, self._history.size_of(text))
        finally:
            self._history.put_back(snapshot)

    def compact(self) -> Reply:
        """Make the model write down what it will need, and forget everything else."""
        request = self._stamp(COMPACTION)
        self._turn = ActingTurn()
        summary = self._ask(request, self._history.size_of(request))
        self._history.clear()
        self.accept(HANDED_ON, summary.text)
        return summary

    def accept(self, message: str, reply: str) -> None:
        """Add an exchange that the model did not generate."""
        message = self._stamp(message)
        self._history.add(
            message,
            self._history.size_of(message),
            escape_surrogates(self._context.reading(reply)),
        )
        self._fit(0)
        self._previous_time = self._time

    def reset(self) -> None:
        """Forget the conversation; what was learned about the model stays."""
        self._history.clear()
        self._time = self._previous_time = None

    def save(self) -> bytes:
        """Return all state as JSON: the shown history, and what was learned about the model."""
        return escape_json_text(json.dumps(self._state(), ensure_ascii=False)).encode()

    def load(self, state: bytes) -> None:
        """Restore what `save` returned; AgentError if another version saved it."""
        fields = json.loads(state)
        if fields.get("version") != VERSION:
            version = fields.get("version")
            raise AgentError(
                f"this state was saved by version {version!r} of the chat agent, not {VERSION}"
            )
        self._learned = fields["learned"]
        self._used = Usage(
            **dict(zip(Usage.__struct_fields__, fields["used"], strict=True))
        )
        self._history.restore(fields)
        self._time = self._previous_time = read_moment(fields.get("before"))

    def usage(self) -> Usage:
        """Return the total usage of this agent, counted by the endpoint or estimated."""
        return self._used

    def count_tokens(self, text: str) -> int:
        """Return the approximate number of the model's tokens in a text."""
        return round(self._history.count(text) * self._history.ratio)

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the answers; no secrets."""
        settings = {}
        for name in _OWN:
            value = getattr(self._context, name)
            if value is not None:
                settings[name] = value
        return {"chat": VERSION, **self._model.configuration(), **settings}

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the endpoint, before the time limit of the reply begins."""
        return self._completions.turn()

    def close(self) -> None:
        """Close the connections."""
        self._completions.close()

    def _stamp(self, message: str) -> str:
        return stamp_message(
            escape_surrogates(message), self._time, self._previous_time
        )

    def _prompt(self, size: int) -> int:
        """Return the estimated size, in the model's tokens, of a prompt whose newest message has this size."""
        return round(self._history.estimate(size) * self._history.ratio)

    def _fitting(self, message: Content, size: int) -> Any:
        """Return the answer to the newest message, after as much history as the model accepts."""
        self._fit(size)
        for _ in range(SHRINKS):
            try:
                return self._complete(message)
            except providers.ContextOverflow as overflow:
                # Show less, according to the endpoint's limit; AgentFault if nothing is
                # left to cut.
                if not len(self._history):
                    alone = "Nothing is left to cut: it is the system prompt and this message alone"
                    raise AgentFault(f"{overflow}. {alone}") from None
                refused = self._history.estimate(size) * self._history.ratio
                limit = overflow.limit
                counted = overflow.asked
                if not counted and limit is not None and refused < limit:
                    # A limit above our estimate means that the prompt had at least that
                    # many tokens.
                    counted = limit
                if counted:
                    self._history.note_prompt_size(size, counted)
                if limit is None:
                    self._learned = SHARE * refused
                else:
                    self._learned = limit - reply_tokens(limit, self._model.max_tokens)
                if self._learned < 1:
                    raise AgentFault(
                        f"{overflow}. max_tokens={self._model.max_tokens} leaves no room for it"
                    ) from None
                refused = self._history.estimate(size) * self._history.ratio
                self._history.drop_oldest(size, min(self._learned, _LESS * refused))
        return self._complete(message)

    def _complete(self, message: Content) -> Any:
        prompt = [*self._history.prompt(message), *self._turn.acted]
        offered = self._turn.offered
        more = {"tools": offered} if offered else {}
        return self._completions.complete(prompt, **more)

    def _fit(self, size: int) -> None:
        if (limit := self._limit()) is not None:
            self._history.drop_oldest(size, limit)

    def _limit(self) -> float | None:
        """Return the maximum size of a prompt in the model's tokens, None if unknown."""
        limits = [self._learned, self._context.limit(self._model.max_tokens)]
        return min((limit for limit in limits if limit is not None), default=None)

    def _state(self) -> dict[str, Any]:
        used = structs.astuple(self._used)
        return {
            "version": VERSION,
            "learned": self._learned,
            "used": used,
            **self._history.state(),
        }


class SeeingChatAgent(ChatAgent):
    """A ChatAgent that AcceptsImages: they are sent as base64, also when their message is shown again."""

    def reply_with_images(self, message: str, images: Sequence[bytes]) -> Reply:
        """Return the reply to a message with images; AgentFault for one that is not a PNG, JPEG, GIF or WebP."""
        text = self._stamp(message)
        self._turn = ActingTurn()
        size = self._history.size_of(text) + IMAGE_TOKENS * len(images)
        parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
        for number, image in enumerate(images, start=1):
            kind = image_type(image)
            if not kind:
                raise AgentFault(
                    f"image {number} of {len(images)} is not a PNG, JPEG, GIF or WebP image",
                    fatal=True,
                )
            url = f"data:{kind};base64,{b64encode(image).decode()}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        return self._ask(parts, size)


class TimedChatAgent(ChatAgent):
    """A ChatAgent that is TimeAware: each message begins with the time since the previous one.

    `[2024-03-04 09:00:00+00:00] Hello.`, later `[3:20:00 later] I am back.`
    """

    def tell_time(self, now: datetime) -> None:
        """Set the time of the next message."""
        self._time = now

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the answers."""
        return {**super().configuration(), "time": "passed"}

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "before": format_moment(self._previous_time)}


# --- Parse specs of chat models and their parameters; every error is reported before a
# run begins.

_READERS: Mapping[str, Callable[[Field], Any]] = {
    "system": Field.text,
    "context": Field.tokens,
    "tokenizer": Field.text,
    "images": Field.boolean,
}
_OWN = tuple(_READERS)


def make_chat(kind: str, argument: str, parameters: Field) -> AgentSource:
    """Return the source of `KIND:MODEL[@URL|@NAME][?parameter=value&...]`; AgentError with a cure."""
    return _source(ChatAgent, f"{kind}:{argument}", parameters)


def make_timed(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `ts:SPEC`; AgentError with a cure."""
    if argument.partition(":")[0] in providers.provider_names():
        return _source(TimedChatAgent, argument, parameters, prefix="ts:")
    require_spec("ts", argument, example="mypkg.bot:Bot")
    if parameters.mapping():
        raise parameters.fault(
            f"'ts:' takes none. Write those of {argument!r} into a file: ts:bot.yml"
        )
    return agent_source(Timing(find_agent(argument)), spec=f"ts:{argument}")


def _source(
    agent: type[ChatAgent], spec: str, parameters: Field, *, prefix: str = ""
) -> AgentSource:
    chosen, context_fields = providers.read_model(
        spec, role="agent", parameters=parameters, also=_OWN, ready=not is_keyless()
    )
    try:
        takes_images = providers.provider_of(chosen.provider).takes_images
        context = _read_context(
            context_fields, sees=agent is ChatAgent and takes_images
        )
    except AgentError as error:
        raise AgentError(
            f"agent '{prefix}{Spec.parse(spec, role='agent').head}': {error}"
        ) from error
    agent = SeeingChatAgent if context.images else agent
    return agent_source(
        lambda: agent(chosen, context),
        spec=f"{prefix}{spec}",
        promise=Offer(agent, chosen, context),
    )


def _read_context(fields: Mapping[str, Field], *, sees: bool) -> FixedContext:
    values: dict[str, Any] = {}
    for name, read in _READERS.items():
        if name in fields and fields[name].value is not None:
            values[name] = read(fields[name])
    token_counter(values.get("tokenizer", ENCODING))  # an unknown one is reported now
    if not values.get("images"):
        values["images"] = None
    elif not sees:
        kinds = []
        for kind in providers.provider_names():
            if providers.provider_of(kind).takes_images:
                kinds.append(f"{kind}:MODEL")
        seeing = " and ".join(kinds)
        raise AgentError(
            f"only {seeing} takes images. Leave images out: captions are sent instead"
        )
    return FixedContext(**values, reading=current_reading())
