"""Chat models as agents, and which part of the conversation they are shown.

Memory systems, profiles and wrappers take how long a message may be, and the history that is shown.
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
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import (
    AgentSource,
    agent_source,
    current_reading,
    is_keyless,
)
from pytest_ltm.agents.unbuilt import (
    ENCODING,
    FRAME,
    FixedContext,
    Offer,
    reply_tokens,
)
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
# What a message holds: a text, or parts with images.
Content: TypeAlias = "str | list[dict[str, Any]]"
# What was said and replied, their size, and where tools were called a list of messages.
ShownExchange: TypeAlias = tuple[Any, ...]
# Estimated tokens of an image, which the endpoint's own counts correct.
IMAGE_TOKENS = 1000
# Shown in the place of an empty reply, because many endpoints refuse a conversation
# that holds one.
SILENCE = "(no reply)"
_LEAST_RATIO = 0.5
_MOST_RATIO = 3.0
# Estimated tokens of a prompt above which its real size says something of the
# tokenizer.
_ENOUGH = 200


class History:
    """The exchanges that are still shown, oldest first, with their sizes as an estimate in tokens of ours.

    `ratio` is how many tokens of the model one of ours is, learned from what the
    endpoint says it counted. Adding, cutting and measuring take the same time however
    long the conversation is.
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
        """Return the messages to send: the system prompt, what is left of the history, the newest one."""
        messages: list[dict[str, Any]] = [*self._system]
        for message_text, replied, _, *acted in self._exchanges:
            messages += [
                {"role": "user", "content": message_text},
                *itertools.chain.from_iterable(acted),
                {"role": "assistant", "content": replied},
            ]
        return [*messages, {"role": "user", "content": message}]

    def estimate(self, newest: int) -> int:
        """Return the estimated tokens of the prompt whose newest message has `newest`."""
        return self._fixed + self._size + newest

    def add(
        self, message: Content, size: int, reply: str, acted: Sequence[Message] = ()
    ) -> None:
        """Append an exchange; `size`: of the message, and of `acted`, the calls of tools before the reply."""
        reply_text = reply if reply.strip() else SILENCE
        size += self.size_of(reply_text)
        # Without calls as states have always had it.
        calls = (list(acted),) if acted else ()
        self._exchanges.append((message, reply_text, size, *calls))
        self._size += size

    def drop_oldest(self, newest: int, tokens: float) -> None:
        """If the prompt has more than that many of the model's tokens, drop the oldest exchanges, a block at once.

        The prompts that follow then begin alike, so that what was worked out for one of
        them (the prompt cache of a provider, or of llama.cpp) serves the next. An
        exchange that fits stays where what is left without it would be less than half
        of the room beside the newest message: a long reply, or a large message, does
        not cost all.
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
        """Note how long the endpoint says that the prompt was; false for a count so small that the prompt was cut."""
        estimated = self.estimate(newest)
        if estimated >= _ENOUGH and counted < _LEAST_RATIO * estimated * min(
            1.0, self.ratio
        ):
            # whoever counts next to nothing counts something else than the prompt
            return counted < _ENOUGH
        if estimated >= _ENOUGH:
            self.ratio = min(_MOST_RATIO, max(_LEAST_RATIO, counted / estimated))
        return True

    def clear(self) -> None:
        """Forget all exchanges; what is known of the tokenizer stays."""
        self.put_back((deque(), 0))

    def snapshot(self) -> tuple[deque[ShownExchange], int]:
        """Return what is shown, for `put_back`."""
        return self._exchanges.copy(), self._size

    def put_back(self, exchanges_and_size: tuple[deque[ShownExchange], int]) -> None:
        """Show what `snapshot` returned; what is known of the tokenizer stays."""
        self._exchanges, self._size = exchanges_and_size

    def state(self) -> dict[str, Any]:
        """Return all state as JSON values."""
        return {
            "ratio": self.ratio,
            "exchanges": [list(exchange) for exchange in self._exchanges],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to what `state` returned."""
        self.ratio = state["ratio"]
        self._exchanges = deque(
            (message, replied, size, *acted)
            for message, replied, size, *acted in state["exchanges"]
        )
        self._size = sum(exchange[2] for exchange in self._exchanges)


# For pytest: what the server said is in the message.
__tracebackhide__ = True


def kept_share(tokens: float) -> float:
    """Return the share of what fits that is kept when some has to go: more of a window that is refilled slowly."""
    return 0.7 if tokens <= _SMALL_WINDOW else 0.9


# Tokens of a prompt; see docs/openai.md for the figures behind both shares.
_SMALL_WINDOW = 32_000

# Goes up when the way of showing the conversation to a model changes: part of the
# fingerprint.
VERSION = 4
# How often one message is sent again, each time with less before it, because the prompt
# was too long.
SHRINKS = 8
# What is left of a prompt that was too long where the endpoint does not say how much
# fits.
SHARE = 0.75
MAX_MESSAGE_TOKENS = 4096
_LESS = 0.95
CUT_SILENTLY = (
    "the server counted less than half of the prompt: it seems to cut prompts silently. Give its own setting "
    "(Ollama: OLLAMA_CONTEXT_LENGTH) as context=NUMBER, or raise that"
)
LOADED = "the server had to load its model first"
# Seconds of waiting that nobody needs to know of.
_SOON = 1.0


def longest_message(limit: float | None) -> int:
    """Return how long a filler message may be: a quarter of the limit, and never more than usual."""
    if limit is None:
        return MAX_MESSAGE_TOKENS
    return max(1, min(MAX_MESSAGE_TOKENS, int(limit) // 4))


class ActingTurn:
    """A message that a model replies to in several turns, because it calls tools."""

    def __init__(self, message: str = "", tools: Tools | None = None) -> None:
        self.message = message
        self.offered = [] if tools is None else tools.functions
        """The tools, as a provider takes them."""
        self.acted: list[Message] = []
        """The calls and their results so far."""

    def size(self, size_of: Callable[[str], int]) -> int:
        """Return the estimated tokens of the message, the tools and what was called."""
        texts = [json.dumps(part) for part in (*self.offered, *self.acted)]
        return size_of(self.message) + sum(map(size_of, texts))

    def act(self, answer: Any) -> tuple[Call, ...]:
        """Note the calls in a model's answer, and return them."""
        if not answer.calls:
            return ()
        functions = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments or "{}"},
            }
            for call in answer.calls
        ]
        self.acted.append(
            {"role": "assistant", "content": answer.text, "tool_calls": functions}
        )
        return tuple(Call(call.name, call.arguments, call.id) for call in answer.calls)

    def hear(self, results: Sequence[AnsweredCall]) -> None:
        """Note the results of the calls."""
        self.acted += [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": call.result or "(nothing)",
            }
            for call in results
        ]


class ChatAgent(TakesTurns):
    """One conversation with a chat model; close it at the end.

    TakesTools, Compacts, Resettable, Checkpointable, AnswersAlone, AcceptsHistory, Configured, CountsTokens,
    LimitsMessages, ReportsUsage.
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
        """The time of the next message; None where the model is not told the time."""
        self._previous_time: datetime | None = None
        self._turn = ActingTurn()

    @property
    def max_message_tokens(self) -> int:
        """How long a filler message may be: a quarter of the context, and never more than usual."""
        return longest_message(self._limit())

    def reply(self, message: str, tools: Tools | None = None) -> Reply:
        """Return the model's reply, or its calls, having shown it as much of the conversation as fits."""
        if tools is None or not tools.results:
            self._turn = ActingTurn(self._stamp(message), tools)
        else:
            self._turn.hear(tools.results)
        turn = self._turn
        reply = self._ask(turn.message, turn.size(self._history.size_of))
        self._previous_time = self._time
        return reply

    def _ask(self, message: Content, size: int) -> Reply:
        """Return the reply to a message of this estimated size, and remember both."""
        try:
            answer = self._fitting(message, size)
        except BaseException:
            # also a time limit from outside: what was sent is paid for
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
        # Learned before the message is added, after which the prompt has another size.
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
        """Return the model's reply to a question that it is never shown again, nor what made room for it missed."""
        snapshot = self._history.snapshot()
        text = self._stamp(message)
        self._turn = ActingTurn()
        try:
            return self._ask(text, self._history.size_of(text))
        finally:
            self._history.put_back(snapshot)

    def compact(self) -> Reply:
        """Have the model write down what it will need, and forget all else."""
        request = self._stamp(COMPACTION)
        self._turn = ActingTurn()
        summary = self._ask(request, self._history.size_of(request))
        self._history.clear()
        self.accept(HANDED_ON, summary.text)
        return summary

    def accept(self, message: str, reply: str) -> None:
        """Remember an exchange that happened without the model."""
        message = self._stamp(message)
        self._history.add(
            message,
            self._history.size_of(message),
            providers.escape_surrogates(self._context.reading(reply)),
        )
        self._fit(0)
        self._previous_time = self._time

    def reset(self) -> None:
        """Forget the conversation; what is known of the model stays."""
        self._history.clear()
        self._time = self._previous_time = None

    def save(self) -> bytes:
        """Return all state as JSON: what is still shown, and what was learned of the model."""
        return escape_json_text(json.dumps(self._state(), ensure_ascii=False)).encode()

    def load(self, state: bytes) -> None:
        """Go back to what `save` returned; AgentError if another version saved it."""
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
        time_text = fields.get("before")
        self._time = time_text and datetime.fromisoformat(time_text)
        self._previous_time = self._time

    def usage(self) -> Usage:
        """Return what the endpoint has counted since this agent was made, or what that is estimated to have been."""
        return self._used

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens of the model a text has."""
        return round(self._history.count(text) * self._history.ratio)

    def configuration(self) -> Mapping[str, Any]:
        """Return what the answers depend on; no secrets."""
        settings = {
            name: value
            for name in _OWN
            if (value := getattr(self._context, name)) is not None
        }
        return {"chat": VERSION, **self._model.configuration(), **settings}

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the endpoint, before the time for the reply begins to run."""
        return self._completions.turn()

    def close(self) -> None:
        """Close the connections."""
        self._completions.close()

    def _stamp(self, message: str) -> str:
        return stamp_message(
            providers.escape_surrogates(message), self._time, self._previous_time
        )

    def _prompt(self, size: int) -> int:
        """Return the estimated tokens of the model in the prompt whose newest message has this size."""
        return round(self._history.estimate(size) * self._history.ratio)

    def _fitting(self, message: Content, size: int) -> Any:
        """Return the answer to the newest message, after as much of the history as the model takes."""
        self._fit(size)
        for _ in range(SHRINKS):
            try:
                return self._complete(message)
            except providers.ContextOverflow as overflow:
                # Show less, by what the endpoint says of its limit; AgentFault if there
                # is nothing left to cut.
                if not len(self._history):
                    alone = "Nothing is left to cut: it is the system prompt and this message alone"
                    raise AgentFault(f"{overflow}. {alone}") from None
                refused = self._history.estimate(size) * self._history.ratio
                limit = overflow.limit
                counted = overflow.asked
                if not counted and limit is not None and refused < limit:
                    # A limit above our estimate says that the prompt had at least so
                    # many.
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
        """Return how many tokens of the model a prompt may have, as far as anybody knows."""
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
    """The same, AcceptsImages: they go with their message, also when it is shown again, as base64."""

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
    """The same, TimeAware: each message begins with the time that has passed since the one before.

    `[2024-03-04 09:00:00+00:00] Hello.`, later `[3:20:00 later] I am back.`
    """

    def tell_time(self, now: datetime) -> None:
        """Know the time of the next message."""
        self._time = now

    def configuration(self) -> Mapping[str, Any]:
        """Return what the answers depend on."""
        return {**super().configuration(), "time": "passed"}

    def _state(self) -> dict[str, Any]:
        return {
            **super()._state(),
            "before": self._previous_time and self._previous_time.isoformat(),
        }


# --- What specs of chat models and their parameters mean; everything wrong is reported
# before a run begins.

_OWN = ("system", "context", "tokenizer", "images")


def make_chat(kind: str, argument: str, parameters: Field) -> AgentSource:
    """Return the source of `KIND:MODEL[@URL|@NAME][?parameter=value&...]`; AgentError with a cure."""
    return _source(ChatAgent, f"{kind}:{argument}", parameters)


def make_timed(argument: str, parameters: Field) -> AgentSource:
    """Return the source of `ts:SPEC`; AgentError with a cure."""
    if argument.partition(":")[0] in providers.provider_names():
        return _source(TimedChatAgent, argument, parameters, prefix="ts:")
    if not argument:
        raise AgentError(
            "agent 'ts:' names no agent. Write it as in 'ts:mypkg.bot:Bot'."
        )
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
    present = {name: field for name, field in fields.items() if field.value is not None}
    tokenizer = present["tokenizer"].text() if "tokenizer" in present else ENCODING
    token_counter(tokenizer)  # an unknown one is reported now
    images = "images" in present and present["images"].boolean()
    if images and not sees:
        seeing = " and ".join(
            f"{kind}:MODEL"
            for kind in providers.provider_names()
            if providers.provider_of(kind).takes_images
        )
        raise AgentError(
            f"only {seeing} takes images. Leave images out: captions are told"
        )
    return FixedContext(
        system=present["system"].text() if "system" in present else None,
        context=present["context"].tokens() if "context" in present else None,
        tokenizer=tokenizer,
        images=images or None,
        reading=current_reading(),
    )
