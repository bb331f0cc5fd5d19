"""Sessions: when the user comes back, to an agent that was made anew meanwhile and has its own memory only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_ltm._storage.clock import duration
from pytest_ltm._storage.errors import ConfigurationError, ScenarioError

if TYPE_CHECKING:
    from datetime import datetime, timedelta

# Capabilities with which an agent can be met again.
SURVIVES = ("KeepsUsers", "Checkpointable", "Stateless")
EVERY = "every:"
NO_USERS = "the agent cannot be told whose a message is: its reply() has no parameter `user` (SeparatesUsers)"


def cannot_come_back(capabilities: frozenset[str]) -> str:
    """Return why an agent with these capabilities has no second session, or ""."""
    if capabilities & set(SURVIVES):
        return ""
    return (
        "the agent has one session only: it is neither a KeepsUsers (begin_session) nor Checkpointable (save, load) "
        "nor Stateless (stateless = True)"
    )


class Rhythm(Protocol):
    """Says when a session is over."""

    def is_over(self, counted: int, now: datetime) -> bool:
        """Return whether the next session begins, with `counted` tokens that count towards spans, and at this time."""


class _ByTokens:
    def __init__(self, number: int, span: int) -> None:
        self._number, self._span, self._sessions = number, span, 0

    def is_over(self, counted: int, now: datetime) -> bool:
        del now
        before, self._sessions = self._sessions, counted * self._number // self._span
        return self._sessions > before


class _ByTime:
    def __init__(self, length: timedelta, began: datetime) -> None:
        self._length, self._began, self._sessions = length, began, 0

    def is_over(self, counted: int, now: datetime) -> bool:
        del counted
        before, self._sessions = self._sessions, (now - self._began) // self._length
        return self._sessions > before


def parse_sessions_option(text: str) -> str:
    """Return what `--ltm-sessions` says as plans have it; ConfigurationError if it says nothing that can be meant."""
    if text:
        _parse_sessions(text)
    return text


def _parse_sessions(text: str) -> int | timedelta:
    """Return the sessions in each memory span, or the length of one."""
    try:
        if text.startswith(EVERY):
            length = duration(text.removeprefix(EVERY))
            if length.total_seconds() > 0:
                return length
        elif text.isascii() and text.isdecimal() and int(text) > 1:
            return int(text)
    except ScenarioError:
        pass
    raise ConfigurationError(f"{text!r} is not a number of sessions from 2 on, or every:TIME such as every:8h")


def session_rhythm(text: str, *, span: int | None, began: datetime) -> Rhythm | None:
    """Return when sessions are over; None where there is one only: nothing says more, or no span can be divided."""
    if not text:
        return None
    sessions = _parse_sessions(text)
    if isinstance(sessions, int):
        return None if span is None else _ByTokens(sessions, span)
    return _ByTime(sessions, began)
