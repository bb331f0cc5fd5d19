"""What a scenario may do: Say, Ask, Wait, Watch; and Definition, one generated example of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm._errors import ScenarioError
from pytest_ltm._transcript import Exchange

if TYPE_CHECKING:
    from pytest_ltm._score import Score, Unscored

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def duration(value: str | float | timedelta) -> timedelta:
    """Return a duration from `90`, `"3h"`, `"1h 30m"`, `"2d"` or a timedelta (units s, m, h, d, w).

    Raises ScenarioError for anything else and for negative durations.
    """
    if isinstance(value, str):
        parts = _DURATION.findall(value)
        if not parts or _DURATION.sub("", value).strip(" ,"):
            raise ScenarioError(f"{value!r} is no duration; write it as '30s', '45m', '3h', '1h 30m' or '2d'")
        return sum((timedelta(**{_UNITS[unit]: float(n)}) for n, unit in parts), timedelta())
    length = value if isinstance(value, timedelta) else timedelta(seconds=value)
    if length < timedelta(0):
        raise ScenarioError(f"cannot wait backwards: {value!r}")
    return length


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the agent something; its reply earns no credit."""

    text: str

    def __post_init__(self) -> None:
        _need_text(self.text)


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the agent something for credit."""

    text: str
    about: tuple[str, ...] = ()
    """The texts of the says that the question depends on; empty: all earlier ones."""

    def __post_init__(self) -> None:
        for text in (self.text, *self.about):
            _need_text(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let the conversation move on before the scenario's next step; all conditions must be over."""

    span: float = 0.0
    """Until this share of the memory span has passed since the scenario's own start, 0 to 1."""
    tokens: int = 0
    """Until so many tokens have passed from now."""
    time: timedelta = timedelta(0)
    """Until so much time has passed from now."""
    history: int = 0
    """Until so many exchanges of the conversation's history have been told, from its beginning."""

    def __post_init__(self) -> None:
        least = min(self.tokens, self.history)
        if not (least >= 0 and self.time >= timedelta(0) and self.span >= 0):  # so written, it also refuses NaN
            raise ScenarioError(f"cannot wait backwards: {self!r}")
        if self.span > 1:
            raise ScenarioError(f"cannot wait beyond the memory span: span={self.span!r} (1.0 is all of it)")


Watcher: TypeAlias = Callable[[Sequence[Exchange]], "Score | Unscored | None"]
"""Sees every exchange since the scenario's last one, by anyone; None means "not yet"."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Have later exchanges of anyone watched until the watcher can tell."""

    watcher: Watcher
    replies: int | None = None
    """How many replies it counts, the one to the scenario's last message first; None: to the end."""

    def __post_init__(self) -> None:
        if self.replies is not None and self.replies < 1:
            raise ScenarioError(f"a watcher counts at least one reply, not {self.replies!r}")


Step: TypeAlias = "Say | Ask | Wait"
Request: TypeAlias = "Say | Ask | Wait | Watch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The generated data of one example: what is said and asked, in order, and what is expected."""

    steps: tuple[Step, ...]
    expected: Any = None
    """What the evaluator compares with; any JSON value, its form is the scenario's own."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the example was generated from, and anything else its evaluator needs; JSON values."""

    @property
    def questions(self) -> tuple[Ask, ...]:
        """The steps asked for credit, in order."""
        return tuple(step for step in self.steps if isinstance(step, Ask))


def spread(messages: Sequence[Say | Ask]) -> tuple[Step, ...]:
    """Return n messages over 90 % of the span: after message i a wait until i x 90/(n-1) %, none after the last.

    The published default (Castillo-Bolado et al., 2024, section 4).
    """
    steps: list[Step] = []
    for i, message in enumerate(messages, start=1):
        steps.append(message)
        if i < len(messages):
            steps.append(Wait(span=0.9 * i / (len(messages) - 1)))
    return tuple(steps)


def _need_text(text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ScenarioError(f"a message is a text that is not empty, not {text!r}")
