"""What a scenario may do: Say, Ask, Wait, Watch, NewSession; and Definition, one generated example of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm._model.transcript import Exchange
from pytest_ltm._storage.errors import ScenarioError

if TYPE_CHECKING:
    from pytest_ltm._model.score import Score, Unscored


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the agent something; its reply earns no credit. ScenarioError if the text is empty."""

    text: str
    """The message."""
    user: str = field(default="", kw_only=True)
    """Whose message it is, for an agent that SeparatesUsers; "": nobody's in particular."""
    tells: Mapping[str, str | None] = field(default_factory=dict, kw_only=True, hash=False)
    """The values that it tells by what they are about, to measure what a memory makes of them: a later value replaces
    an earlier one, None withdraws it. Neither agent nor score depends on it, so it is in no fingerprint."""

    def __post_init__(self) -> None:
        _need_text(self.text)
        if not all(isinstance(text, (str, NoneType)) for text in (*self.tells, *self.tells.values())):
            raise ScenarioError(f"tells={self.tells!r}: a mapping of texts to texts, or to None for what is withdrawn")


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the agent something for credit. ScenarioError if a text is empty."""

    text: str
    """The question."""
    about: Sequence[str] = ()
    """The texts of the says that the question depends on; empty: all earlier ones."""
    answer: str | None = field(default=None, kw_only=True)
    """What full marks ask for, told to the control `oracle` alone; "": any reply will do, None: unknown."""
    user: str = field(default="", kw_only=True)
    """Whose question it is, for an agent that SeparatesUsers; "": nobody's in particular."""
    alone: bool | None = field(default=None, kw_only=True)
    """Whether the state before it is put back behind it; None: as the run says."""
    images: Sequence[str] = field(default=(), kw_only=True)
    """Files shown with it to an agent that AcceptsImages."""
    tells: Mapping[str, Sequence[str]] = field(default_factory=dict, kw_only=True, hash=False)
    """The values of which the reply tells one, by what they are about; otherwise as `tells` of a Say."""

    def __post_init__(self) -> None:
        for text in (self.text, *self.about, *self.tells, *(one for values in self.tells.values() for one in values)):
            _need_text(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let the conversation move on before the scenario's next step, until all conditions are met.

    Raises ScenarioError for negative values and for more than the memory span.

    >>> from datetime import timedelta
    >>> Wait(span=0.5, time=timedelta(hours=3))
    Wait(span=0.5, tokens=0, time=datetime.timedelta(seconds=10800), history=0)
    """

    span: float = 0.0
    """Until this share of the memory span has passed since the scenario's own start, 0 to 1."""
    tokens: int = 0
    """Until this many tokens have passed from now."""
    time: timedelta = timedelta(0)
    """Until this much time has passed from now."""
    history: int = 0
    """Until this many exchanges of the conversation's history have been told, from its beginning."""

    def __post_init__(self) -> None:
        fields = {"tokens": self.tokens, "span": self.span, "time": self.time.total_seconds(), "history": self.history}
        back = [
            f"{name}={value}" for name, value in fields.items() if not value >= 0
        ]  # so written, it also refuses NaN
        if back:
            raise ScenarioError(f"cannot wait backwards: {', '.join(back)}")
        if self.span > 1:
            raise ScenarioError(f"cannot wait beyond the memory span: span={self.span!r} (1.0 is all of it)")


# Sees every exchange since the scenario's last one, by anyone; None means "not yet".
Watcher: TypeAlias = Callable[[Sequence[Exchange]], "Score | Unscored | None"]


@dataclass(frozen=True, slots=True)
class Watch:
    """Have later exchanges of any speaker watched until the watcher returns a verdict."""

    watcher: Watcher
    """Called with every exchange since the scenario's last one; returns a verdict, or None for "not yet"."""
    replies: int | None = None
    """How many replies it counts, the one to the scenario's last message first; None: to the end."""
    answers: Mapping[int, str] | Callable[[datetime], str] | None = None
    """What full marks ask for, by the number of the reply or by its time, for the control `oracle`; None: unknown."""

    def __post_init__(self) -> None:
        if self.replies is not None and self.replies < 1:
            raise ScenarioError(f"a watcher counts at least one reply, not {self.replies!r}")


@dataclass(frozen=True, slots=True)
class NewSession:
    """Have the user come back: the next message goes to an agent made anew, which has its own memory only."""


Step: TypeAlias = "Say | Ask | Wait"
Request: TypeAlias = "Say | Ask | Wait | Watch | NewSession"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The generated data of one example: what is said and asked, in order, and what is expected.

    >>> colour = Definition(
    ...     steps=(Say("My favourite colour is ochre."), Wait(span=0.9), Ask("What is my favourite colour?")),
    ...     expected="ochre",
    ...     replies=("It is ochre.",),
    ... )
    >>> [question.text for question in colour.questions]
    ['What is my favourite colour?']
    """

    steps: tuple[Step, ...]
    """What the scenario says, asks and waits for, in order."""
    expected: Any = None
    """What the evaluator compares with; any JSON value, its form is the scenario's own."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the example was generated from, and anything else its evaluator needs; JSON values."""
    replies: tuple[str, ...] = ()
    """What full marks ask for, a text for each question, told to the control `oracle` alone; empty: unknown."""

    @property
    def questions(self) -> tuple[Ask, ...]:
        """The steps asked for credit, in order."""
        return tuple(step for step in self.steps if isinstance(step, Ask))


# The share of the span after which the last message comes by default.
LAST = 0.9


def spread(messages: Sequence[Say | Ask], last: float = LAST) -> tuple[Step, ...]:
    """Return n messages over a share of the span: after message i a wait until i/(n-1) of it, none after the last.

    By default the share is 90 %, as published (Castillo-Bolado et al., 2024, section 3.3 and appendix C).

    Args:
        messages: The messages in order.
        last: The share of the span after which the last message comes.

    Returns:
        The messages with the waits between them: 2n - 1 steps.

    >>> [step.span if isinstance(step, Wait) else step.text for step in spread([Say("a"), Say("b"), Ask("c")])]
    ['a', 0.45, 'b', 0.9, 'c']
    """
    steps: list[Step] = []
    for i, message in enumerate(messages, start=1):
        steps.append(message)
        if i < len(messages):
            steps.append(Wait(span=last * i / (len(messages) - 1)))
    return tuple(steps)


def _need_text(text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ScenarioError(f"a message is a non-empty text, not {text!r}")
