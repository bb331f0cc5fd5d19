"""Chat models behind an OpenAI-compatible endpoint as agents, and which part of the conversation they are shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._clock import describe
from pytest_ltm._errors import AgentError, AgentFault
from pytest_ltm._providers import Completions, ContextOverflow, Model, Used
from pytest_ltm._tokens import counter
from pytest_ltm.agents._history import History
from pytest_ltm.agents._protocols import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

__tracebackhide__ = True
"""For pytest: what the server said is in the message."""

VERSION = 2
"""Goes up when the way of showing the conversation to a model changes: part of the fingerprint."""
SHRINKS = 8
"""How often one message is sent again, each time with less before it, because the prompt was too long."""
SHARE = 0.75
"""What is left of a prompt that was too long where the endpoint does not say how much fits."""
MAX_MESSAGE_TOKENS = 4096
_LESS = 0.95
_ROOM = 1000
ENCODING = "o200k_base"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the model is shown beside the newest message."""

    system: str | None = None
    context: int | None = None
    """Tokens of the model for prompt and reply together; None: everything, until the endpoint refuses it."""
    tokenizer: str = ENCODING
    """For the estimate of sizes, which the endpoint's own counts correct."""


class OpenAiChat:
    """One conversation with a chat model; close it at the end.

    Resettable, Checkpointable, AcceptsHistory, Configured, CountsTokens, LimitsMessages, ReportsUsage.
    """

    def __init__(self, model: Model, shown: Shown) -> None:
        self._model, self._shown = model, shown
        self._completions = Completions(model)
        self._history = History(shown.system, counter(shown.tokenizer).count)
        self._learned: float | None = None
        self._used = Usage()

    @property
    def max_message_tokens(self) -> int:
        """How long a filler message may be: a quarter of the context, and never more than usual."""
        limit = self._limit()
        return MAX_MESSAGE_TOKENS if limit is None else max(1, min(MAX_MESSAGE_TOKENS, int(limit) // 4))

    def reply(self, message: str) -> Reply:
        """Return the model's reply, having shown it as much of the conversation as fits."""
        message = self._noted(message)
        size = self._history.size_of(message)
        answer = self._fitting(message, size)
        if answer.used is not None:
            self._history.learn(size, answer.used.input)
        self._history.add(message, size, answer.text)
        usage = None if answer.used is None else _usage(answer.used)
        self._used = _sum(self._used, usage)
        return Reply(answer.text, usage)

    def accept(self, message: str, reply: str) -> None:
        """Remember an exchange that happened without the model."""
        message = self._noted(message)
        self._history.add(message, self._history.size_of(message), _sendable(reply))
        self._fit(0)

    def reset(self) -> None:
        """Forget the conversation; what is known of the model stays."""
        self._history.clear()

    def save(self) -> bytes:
        """Return all state as JSON: what is still shown, and what was learned of the model."""
        return json.dumps(self._state(), ensure_ascii=False).encode()

    def load(self, state: bytes) -> None:
        """Go back to what `save` returned; AgentError if another version saved it."""
        kept = json.loads(state)
        if kept.get("version") != VERSION:
            raise AgentError(
                f"this state was saved by version {kept.get('version')!r} of the chat agent, not {VERSION}"
            )
        self._restore(kept)

    def usage(self) -> Usage:
        """Return what the endpoint has counted since this agent was made."""
        return self._used

    def count_tokens(self, text: str) -> int:
        """Return about how many tokens of the model a text has."""
        return round(self._history.count(text) * self._history.ratio)

    def configuration(self) -> Mapping[str, Any]:
        """Return what the answers depend on; no secrets."""
        shown = {"system": self._shown.system, "context": self._shown.context, "tokenizer": self._shown.tokenizer}
        given = {name: value for name, value in shown.items() if value is not None}
        return {"chat": VERSION, **self._model.configuration(), **given}

    def ltm_turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the endpoint, before the time for the reply begins to run (private to the engine)."""
        return self._completions.turn()

    def close(self) -> None:
        """Close the connections."""
        self._completions.close()

    def _noted(self, message: str) -> str:
        return _sendable(message)

    def _fitting(self, message: str, size: int) -> Any:
        """Return the answer to the newest message, after as much of the history as the model takes."""
        self._fit(size)
        for _ in range(SHRINKS):
            try:
                return self._completions.complete(self._history.prompt(message))
            except ContextOverflow as overflow:
                self._shrink(size, overflow)
        return self._completions.complete(self._history.prompt(message))

    def _shrink(self, size: int, overflow: ContextOverflow) -> None:
        """Show less, by what the endpoint says of its limit; AgentFault if there is nothing left to cut."""
        if not len(self._history):
            raise AgentFault(
                f"{overflow}. Nothing is left to cut: it is the system prompt and this message alone"
            ) from None
        self._learned = self._taught(size, overflow)
        if self._learned < 1:
            raise AgentFault(f"{overflow}. max_tokens={self._model.max_tokens} leaves no room for it") from None
        refused = self._history.estimate(size) * self._history.ratio
        self._history.cut(size, min(self._learned, _LESS * refused))

    def _taught(self, size: int, overflow: ContextOverflow) -> float:
        """Return how many tokens a prompt may have, after what was said of the one that was too long."""
        refused = self._history.estimate(size) * self._history.ratio
        counted = overflow.asked or (
            overflow.limit if overflow.limit is not None and refused < overflow.limit else None
        )
        if counted is not None:
            self._history.learn(size, counted)
        return SHARE * refused if overflow.limit is None else overflow.limit - self._room(overflow.limit)

    def _fit(self, size: int) -> None:
        limit = self._limit()
        if limit is not None:
            self._history.cut(size, limit)

    def _limit(self) -> float | None:
        """Return how many tokens of the model a prompt may have, as far as anybody knows."""
        context = self._shown.context
        known = [self._learned, None if context is None else max(1, context - self._room(context))]
        return min((limit for limit in known if limit is not None), default=None)

    def _room(self, context: int) -> int:
        """Return the tokens of the context that are kept for the reply."""
        return self._model.max_tokens or min(_ROOM, context // 4)

    def _state(self) -> dict[str, Any]:
        used = [self._used.input_tokens, self._used.output_tokens, self._used.cached_tokens]
        return {"version": VERSION, "learned": self._learned, "used": used, **self._history.state()}

    def _restore(self, kept: dict[str, Any]) -> None:
        self._learned = kept["learned"]
        self._used = Usage(**dict(zip(Usage.__slots__, kept["used"], strict=True)))
        self._history.restore(kept)


class TimedOpenAiChat(OpenAiChat):
    """The same, TimeAware: each message begins with the time that has passed since the one before.

    `[2024-03-04 09:00:00+00:00] Hello.`, later `[3:20:00 later] I am back.`
    """

    def __init__(self, model: Model, shown: Shown) -> None:
        super().__init__(model, shown)
        self._now: datetime | None = None
        self._before: datetime | None = None

    def tell_time(self, now: datetime) -> None:
        """Know the time of the next message."""
        self._now = now

    def reply(self, message: str) -> Reply:
        """Return the reply to the message with its time."""
        reply = super().reply(message)
        self._before = self._now
        return reply

    def accept(self, message: str, reply: str) -> None:
        """Remember the exchange with its time."""
        super().accept(message, reply)
        self._before = self._now

    def reset(self) -> None:
        """Forget the conversation and its time."""
        super().reset()
        self._now = self._before = None

    def configuration(self) -> Mapping[str, Any]:
        """Return what the answers depend on."""
        return {**super().configuration(), "time": "passed"}

    def _noted(self, message: str) -> str:
        message = _sendable(message)
        if self._now is None:
            return message
        if self._before is None:
            return f"[{self._now.isoformat(' ', 'seconds')}] {message}"
        return f"[{describe(self._now - self._before)} later] {message}"

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "before": None if self._before is None else self._before.isoformat()}

    def _restore(self, kept: dict[str, Any]) -> None:
        super()._restore(kept)
        from datetime import datetime  # noqa: PLC0415 - a type for the rest of the module

        before = kept["before"]
        self._now = self._before = None if before is None else datetime.fromisoformat(before)


def _sendable(text: str) -> str:
    """Return the text with an escape for each half of a surrogate pair, which UTF-8 cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _usage(used: Used) -> Usage:
    return Usage(input_tokens=used.input, output_tokens=used.output, cached_tokens=used.cached)


def _sum(one: Usage, other: Usage | None) -> Usage:
    if other is None:
        return one
    return Usage(
        input_tokens=one.input_tokens + other.input_tokens,
        output_tokens=one.output_tokens + other.output_tokens,
        cached_tokens=one.cached_tokens + other.cached_tokens,
    )
