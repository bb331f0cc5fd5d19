"""Lane: one example in progress, as the conversation sees it; Body, its own side; Ending, what became of it."""

from __future__ import annotations

import math
from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pytest_ltm._errors import JudgeError, ScenarioError, did_you_mean
from pytest_ltm._scenario import Wait
from pytest_ltm._score import Score, Unscored
from pytest_ltm._transcript import Heard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pytest_ltm._handle import Sheet
    from pytest_ltm._plan import PlannedExample
    from pytest_ltm._scenario import Request, Watch
    from pytest_ltm._tokens import TokenCounter
    from pytest_ltm._transcript import Exchange, Transcript


@dataclass(frozen=True, slots=True)
class Question:
    """A message asked for credit, by exchange numbers."""

    number: int
    needles: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What became of an example; exactly one of the four is not None."""

    verdict: Score | Unscored | None = None
    error: BaseException | None = None
    """What its body raised, or the agent's fault: neither is ever a zero."""
    unplayable: str | None = None
    """Why it cannot be played: the agent lacks a power, or its text is longer than the span."""
    unreached: str | None = None
    """Why it was not played to its end: the agent or the budget was gone."""


class Body(Protocol):
    """An example's own side of the conversation: it is resumed and answers with its next request."""

    sheet: Sheet
    """What it found out so far; a failed assertion is a failed check there."""
    error: BaseException | None
    """What ended it other than a failed assertion: no score can be made of that."""
    assertion: BaseException | None
    """The failed assertion that ended it, if one did."""
    fatal: tuple[type[BaseException], ...]
    """What must never be taken for the end of one example."""

    def begin(self) -> Request | None:
        """Run up to the first request; None: it has ended."""
        ...

    def resume(self, value: object) -> Request | None:
        """Hand back the answer to the last request and run up to the next; None: it has ended."""
        ...

    def throw(self, error: Exception) -> Request | None:
        """Raise the error at the last request and run on; None: it has ended."""
        ...

    def abandon(self) -> None:
        """Unwind it, so that its clean-up runs."""
        ...

    def finish(self, lane: Lane, ending: Ending) -> None:
        """It is over, watchers included: report it."""
        ...


@dataclass
class Watching:
    """A watcher at work."""

    request: Watch
    since: list[Exchange]
    """The exchanges that it sees: the scenario's last one and all after it."""
    verdict: Score | Unscored | None = None

    @property
    def counts(self) -> bool:
        """Whether it counts replies and has not spoken yet."""
        return self.request.replies is not None and self.verdict is None

    def look(self, *, at_end: bool = False) -> None:
        """Ask the watcher; whoever cannot tell when it must is Unscored."""
        said = self.request.watcher(Heard(self.since))
        if said is not None and not isinstance(said, (Score, Unscored)):
            raise ScenarioError(f"a watcher returns a Score, Unscored, or None for 'not yet', not {said!r}")
        self.verdict = said
        if self.verdict is not None:
            return
        replies = self.request.replies
        if replies is not None and len(self.since) >= replies:
            self.verdict = Unscored(
                f"the watcher could not tell within {replies} {'reply' if replies == 1 else 'replies'}"
            )
        elif at_end:
            self.verdict = Unscored("the watcher could not tell before the conversation ended")


@dataclass
class Lane:
    """One example of the plan in the conversation."""

    index: int
    example: PlannedExample
    body: Body
    span: int | None
    """Its memory span in tokens; None in an isolated conversation."""
    start: int | None = None
    """Tokens of the conversation when it began."""
    own: list[Exchange] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    watching: list[Watching] = field(default_factory=list)
    broken: BaseException | None = None
    """The agent's fault, or what one of its watchers raised."""
    body_ended: bool = False
    released: bool = False
    """Its rivals may start."""
    ended: bool = False
    """It has been reported."""

    def targets(self, wait: Wait, *, position: int, now: datetime) -> tuple[int, datetime]:
        """Return what the conversation must have reached before it goes on: tokens, and time.

        Span and tokens are over at once in an isolated conversation. ScenarioError beyond the span.
        """
        try:
            time = now + wait.time
        except OverflowError:
            raise ScenarioError(f"cannot wait {wait.time}: the calendar ends before that") from None
        if self.span is None:
            return position, time
        if wait.tokens > self.span:
            raise ScenarioError(
                f"cannot wait beyond the memory span: {wait.tokens:,} tokens, the span has {self.span:,}"
            )
        start = position if self.start is None else self.start
        return math.ceil(max(position + wait.tokens, start + wait.span * self.span)), time

    def needles(self, about: Sequence[str], history: dict[str, tuple[int, ...]] | None = None) -> tuple[int, ...]:
        """Return the numbers of the exchanges that a question depends on; no `about`: all of its own.

        `history`: the numbers of the exchanges told of the conversation's history, by id: `about` may name these, too.
        """
        if not self.own and not history:
            raise ScenarioError(
                "asks before it has said anything, so there is nothing to remember. Say something first"
            )
        if not about:
            return self.said
        own: dict[str, tuple[int, ...]] = {exchange.message: (exchange.number,) for exchange in self.own}
        known = ChainMap(own, history or {})
        for text in about:
            if text not in known:
                raise ScenarioError(f"about={text!r} was never said by this scenario.{did_you_mean(text, known)}")
        return tuple(dict.fromkeys(number for text in about for number in known[text]))

    @property
    def said(self) -> tuple[int, ...]:
        """The numbers of its exchanges that were not asked for credit."""
        return tuple(exchange.number for exchange in self.own if exchange.kind == "say")

    def unplayable(self, counter: TokenCounter, powers: frozenset[str]) -> str:
        """Return why it cannot be played with this agent or in this span, or ""."""
        missing = sorted(set(self.example.requires) - powers)
        if missing:
            return f"needs an agent that is {' and '.join(missing)}"
        steps = self.example.definition.steps if self.example.definition else ()
        tokens = sum(counter.count(step.text) for step in steps if not isinstance(step, Wait))
        if self.span is None or tokens <= self.span:
            return ""
        return f"its text alone is longer than its memory span of {self.span:,} tokens: give it a longer --ltm-span"

    def measured_span(self, transcript: Transcript) -> int | None:
        """Return the tokens from its start to the start of its last question."""
        if self.start is None or not self.questions:
            return None
        return transcript.number(self.questions[-1].number).start - self.start

    @property
    def counting(self) -> int:
        """How many of its watchers count replies and have not spoken yet."""
        return sum(watching.counts for watching in self.watching)

    def ending(self) -> Ending:
        """Return what became of it now that its body and its watchers are done."""
        broken = self.broken or self.body.error
        if isinstance(broken, JudgeError):  # no fault of the answer, nor of the scenario
            return Ending(verdict=Unscored(str(broken), cause=broken.cause))
        if broken is None and not self.questions and self.body.assertion is None:
            broken = ScenarioError("asks nothing, so it cannot be scored. Add an `ask` or a watcher")
        if broken is not None:
            return Ending(error=broken)
        watched = [watching.verdict for watching in self.watching if watching.verdict is not None]
        return Ending(verdict=self.body.sheet.verdict(watched, pass_mark=self.example.pass_mark))
