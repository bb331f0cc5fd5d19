"""`ts:SPEC`: another agent that reads in each message how much time has passed since the one before."""

from __future__ import annotations

import inspect
import json
from base64 import b64decode, b64encode
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._model.agent import CAPABILITIES, Announced, Prompted, TakesTurns
from pytest_ltm._storage.clock import describe_duration
from pytest_ltm._storage.errors import AgentError
from pytest_ltm.agents._adapt import AgentSource, FreshPromptAgent, capabilities_of
from pytest_ltm.agents._capabilities import protocol_members, user_kwargs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractContextManager


# Capabilities that a timed agent has by itself, or does not take from the other one.
ADDED_CAPABILITIES = frozenset({"TimeAware", "Stateless", "AcceptsImages", "Configured"})


def stamp_message(message: str, now: datetime | None, before: datetime | None) -> str:
    """Return a message with its time: the whole at first, then what has passed since the message before."""
    if now is None:
        return message
    if before is None:
        return f"[{now.isoformat(' ', 'seconds')}] {message}"
    return f"[{describe_duration(now - before)} later] {message}"


class Timed(FreshPromptAgent):
    """Hands another agent each message with its time. It has the other agent's capabilities, and is TimeAware."""

    def __init__(self, model: AgentSource, agent: Any) -> None:
        super().__init__(model, tells=False, agent=agent)
        self._now: datetime | None = None
        self._before: datetime | None = None
        having = capabilities_of(agent)
        if isinstance(agent, (Prompted, Announced)):
            raise AgentError(
                f"agent 'ts:{model.spec}': {model.spec!r} does not go by what it is told, so time is lost on it"
            )
        for name in (having & CAPABILITIES.keys()) - ADDED_CAPABILITIES:
            for member in protocol_members(CAPABILITIES[name]):
                setattr(self, member, getattr(self, f"_{member}", None) or getattr(agent, member))
        self._told_too = "TimeAware" in having

    def tell_time(self, now: datetime) -> Any:
        """Know the time of the next message."""
        self._now = now
        return self._agent.tell_time(now) if self._told_too else None

    def reply(self, message: str) -> Any:
        """Return the other agent's reply to the message with its time; to be awaited where the other's is."""
        return self._reply(message)

    def configuration(self) -> Mapping[str, Any]:
        """Return what the other agent tells of itself."""
        return {"time": "passed", "model": self._model.configuration(self._agent)}

    # --- capabilities, if the other agent has them

    def _reply(self, message: str, user: str = "") -> Any:
        return self._then(
            self._agent.reply(stamp_message(message, self._now, self._before), **user_kwargs(user)), self._passed
        )

    def _answer_alone(self, message: str) -> Any:
        return self._agent.answer_alone(stamp_message(message, self._now, self._before))

    def _accept(self, message: str, reply: str, user: str = "") -> Any:
        stamp = stamp_message(message, self._now, self._before)
        return self._then(self._agent.accept(stamp, reply, **user_kwargs(user)), self._passed)

    def _reset(self) -> Any:
        self._now = self._before = None
        return self._agent.reset()

    def _save(self) -> Any:
        before = None if self._before is None else self._before.isoformat()
        return self._then(self._agent.save(), lambda state: json.dumps([before, b64encode(state).decode()]).encode())

    def _load(self, state: bytes) -> Any:
        before, inner = json.loads(state)
        self._now = self._before = None if before is None else datetime.fromisoformat(before)
        return self._agent.load(b64decode(inner))

    def _passed(self, given: Any) -> Any:
        self._before = self._now
        return given

    def _then(self, given: Any, does: Callable[[Any], Any]) -> Any:
        return self._later(given, does) if inspect.isawaitable(given) else does(given)

    async def _later(self, given: Awaitable[Any], does: Callable[[Any], Any]) -> Any:
        return does(await given)


class TimedInTurn(Timed, TakesTurns):
    """The same in front of a chat model that waits for its turn."""

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn, and hold it."""
        held: AbstractContextManager[object] = self._agent.turn()
        return held


class Timing(Struct, frozen=True):
    """Makes timed agents."""

    model: AgentSource

    def __call__(self) -> Timed:
        """Return another agent, timed."""
        agent = self.model.make()
        return (TimedInTurn if isinstance(agent, TakesTurns) else Timed)(self.model, agent)
