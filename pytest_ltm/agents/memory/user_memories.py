"""User memories: a memory system of the papers with a separate memory for each user."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm.api.model import Reply, TakesTurns, Usage

if TYPE_CHECKING:
    from pytest_ltm.agents.memory.paging import Paging
    from pytest_ltm.agents.memory.pipeline import Pipeline

Memory: TypeAlias = "Pipeline | Paging"
_USERS = "users"


class UserMemories(TakesTurns):
    """Memory systems of one kind, by user ("" if no user is given), which share nothing.

    It has their capabilities, and SeparatesUsers.
    """

    def __init__(self, make: Callable[[], Memory]) -> None:
        """`make`: creates the memory of a user."""
        self._make = make
        self._memories = {"": make()}
        self._last = self._memories[""]
        """The memory that replied last."""
        self._lock = threading.Lock()
        # Conversations that share this object each have their own thread and time.
        self._clock = threading.local()

    def reset(self) -> None:
        """Forget all users."""
        self._clock = threading.local()
        for memory in self._memories.values():
            memory.reset()

    def tell_time(self, now: datetime) -> None:
        """Set the conversation's time."""
        self._clock.now = now

    def reply(self, message: str, user: str = "") -> Reply:
        """Return the reply from this user's memory."""
        self._last = self._turn_to(user)
        return self._last.reply(message)

    def answer_alone(self, message: str) -> Reply:
        """Return the same without a user; nothing is stored."""
        self._last = self._turn_to("")
        return self._last.answer_alone(message)

    def accept(self, message: str, reply: str, user: str = "") -> Reply | None:
        """Store an exchange of this user."""
        return self._turn_to(user).accept(message, reply)

    def retrieved(self) -> list[str]:
        """Return the texts that the last reply was read from, best first."""
        return self._last.retrieved()

    def in_context(self) -> list[str]:
        """Return the non-retrieved part of the last reply's prompt."""
        return self._last.in_context()

    def usage(self) -> Usage:
        """Return the total usage of all memories."""
        used = Usage()
        for memory in self._memories.values():
            used += memory.usage()
        return used

    def calls(self) -> Mapping[str, int]:
        """Return the number of their thinkers' calls, by role."""
        calls = Counter[str]()
        for memory in self._memories.values():
            calls.update(memory.calls())
        return calls

    @property
    def max_message_tokens(self) -> int:
        """The maximum tokens of a message."""
        return self._memories[""].max_message_tokens

    def configuration(self) -> Mapping[str, Any]:
        """Return the settings that affect the replies; no secrets."""
        return self._memories[""].configuration()

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the endpoint, if there is one."""
        return self._memories[""].turn()

    def close(self) -> None:
        """Close all connections."""
        for memory in self._memories.values():
            memory.close()

    def save(self) -> bytes:
        """Return all state: that of a single memory as it is, that of several by user."""
        states = {user: self._turn_to(user).save() for user in list(self._memories)}
        if len(states) == 1:
            return states[""]
        texts = {user: state.decode() for user, state in states.items()}
        return json.dumps({_USERS: texts}).encode()

    def load(self, state: bytes) -> None:
        """Restore what `save` returned."""
        for memory, user_state in self._memories_of(state):
            memory.load(user_state)

    def ingested(self) -> bytes:
        """Return the ingested state, for an agent that differs only in `reading`."""
        return self.save()

    def adopt(self, ingested: bytes) -> None:
        """Adopt the state of an agent of the same kind; this agent's own usage stays."""
        for memory, user_state in self._memories_of(ingested):
            memory.adopt(user_state)

    def _memories_of(self, state: bytes) -> list[tuple[Memory, bytes]]:
        """Return the memory of each user in a state, and that user's part; all other memories are closed."""
        self._clock = threading.local()
        for user in [name for name in self._memories if name]:
            self._memories.pop(user).close()
        states = _states_by_user(state)
        return [
            (self.memory_of(user), user_state) for user, user_state in states.items()
        ]

    def _turn_to(self, user: str) -> Memory:
        memory = self.memory_of(user)
        now = getattr(self._clock, "now", None)
        if now is not None:
            memory.tell_time(now)
        return memory

    def memory_of(self, user: str) -> Memory:
        """Return the memory of a user, creating it if necessary."""
        with self._lock:
            if user not in self._memories:
                self._memories[user] = self._make()
            return self._memories[user]


def _states_by_user(state: bytes) -> dict[str, bytes]:
    if not state.startswith(f'{{"{_USERS}": '.encode()):
        return {"": state}
    texts: dict[str, str] = json.loads(state)[_USERS]
    return {user: text.encode() for user, text in texts.items()}
