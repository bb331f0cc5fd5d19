"""Lane: one example in progress, as the conversation sees it; GreenBody: its own side; Ending: its outcome."""

from __future__ import annotations

import contextvars
import math
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Any, TypeVar, cast

from greenlet import GreenletExit, getcurrent, greenlet
from msgspec import Struct, field

from pytest_ltm._core.model.agent import SEES_CLOCK
from pytest_ltm._core.model.handle import Sheet
from pytest_ltm._core.model.plan import PlannedExample
from pytest_ltm._core.model.scenario import Ask, Request, Say, Wait, Watch
from pytest_ltm._core.model.score import NO_ORACLE, Score, Unscored
from pytest_ltm._core.model.tokens import TokenCounter
from pytest_ltm._core.model.transcript import Exchange, Transcript, TranscriptView
from pytest_ltm._core.model.words import has_value
from pytest_ltm._core.storage.errors import (
    AgentFault,
    ScenarioError,
    Unmeasured,
    did_you_mean,
    text_of,
)

T = TypeVar("T")


class CreditedQuestion(Struct, frozen=True):
    """A message asked for credit, with its needles, by exchange numbers."""

    number: int
    needles: tuple[int, ...]
    right: str = ""
    """An answer that earns full marks, if one is known."""


class Ending(Struct, frozen=True, kw_only=True):
    """The outcome of an example; exactly one of the four fields is not None."""

    verdict: Score | Unscored | None = None
    error: BaseException | None = None
    """The exception raised by the body, or the agent's fault: neither counts as a zero."""
    unplayable: str | None = None
    """Why it cannot be played: the agent lacks a capability, or the text is longer than the span."""
    unreached: str | None = None
    """Why it was not played to its end: the agent or the budget was gone."""


class Watching(Struct):
    """A watcher at work."""

    request: Watch
    since: list[Exchange]
    """The exchanges that it sees: the scenario's last one and all later ones."""
    verdict: Score | Unscored | None = None

    @property
    def counts_replies(self) -> bool:
        """Whether it counts replies and has no verdict yet."""
        return self.request.replies is not None and self.verdict is None

    def look(self, *, at_end: bool = False) -> None:
        """Ask the watcher; Unscored if it gives no verdict when one is due."""
        verdict = self.request.watcher(TranscriptView(self.since))
        replies = self.request.replies
        if verdict is not None and not isinstance(verdict, (Score, Unscored)):
            raise ScenarioError(
                f"a watcher returns a Score, Unscored, or None for 'not yet', not {verdict!r}"
            )
        if verdict is None and replies is not None and len(self.since) >= replies:
            within = f"{replies} {'reply' if replies == 1 else 'replies'}"
            verdict = Unscored(f"the watcher gave no verdict within {within}")
        elif verdict is None and at_end:
            verdict = Unscored(
                "the watcher gave no verdict before the conversation ended"
            )
        self.verdict = verdict


class Lane(Struct):
    """One example of the plan in the conversation."""

    index: int
    example: PlannedExample
    body: GreenBody
    span: int | None
    """Its memory span in tokens; None in an isolated conversation."""
    start: int | None = None
    """The position at which it began, in tokens that count towards spans."""
    own: list[Exchange] = field(default_factory=list)
    told: dict[int, Mapping[str, str | None]] = field(default_factory=dict)
    """The values told in its exchanges, by subject; None: withdrawn."""
    unchosen: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The values that questions offered and replies did not choose, by subject."""
    questions: list[CreditedQuestion] = field(default_factory=list)
    watching: list[Watching] = field(default_factory=list)
    broken: BaseException | None = None
    """The agent's fault, or the exception of a watcher."""
    body_ended: bool = False
    released: bool = False
    """Its rivals may start."""
    unprompted: bool = False
    """It gave no expected answer, and the agent is a control that needs one."""
    ended: bool = False
    """It has been reported."""

    def targets(
        self, wait: Wait, *, position: int, now: datetime
    ) -> tuple[int, datetime]:
        """Return the position in tokens and the time at which the wait is over.

        Waits in spans and tokens end at once in an isolated conversation. ScenarioError
        if the wait exceeds the span.
        """
        try:
            time = now + wait.time
        except OverflowError:
            raise ScenarioError(
                f"cannot wait {wait.time}: the calendar ends before that"
            ) from None
        if self.span is None:
            return position, time
        if wait.tokens > self.span:
            raise ScenarioError(
                f"cannot wait beyond the memory span: {wait.tokens:,} tokens, the span has {self.span:,}"
            )
        # A share of the span is counted from the example's beginning, tokens from now:
        # the later one applies.
        start = position if self.start is None else self.start
        return math.ceil(
            max(position + wait.tokens, start + wait.span * self.span)
        ), time

    def needles(
        self, about: Sequence[str], history: dict[str, tuple[int, ...]] | None = None
    ) -> tuple[int, ...]:
        """Return the numbers of the exchanges that a question depends on; without `about`, all of its own.

        `history`: the numbers of the told exchanges of the conversation's history, by
        id; `about` may name these, too.
        """
        if not self.own and not history:
            raise ScenarioError(
                "asks before it has said anything, so there is nothing to remember. Say something first"
            )
        # Without `about`, a question covers everything that the scenario has said so
        # far.
        if not about:
            return self.uncredited_exchanges
        own_texts: dict[str, tuple[int, ...]] = {
            exchange.message: (exchange.number,) for exchange in self.own
        }
        # Its own message comes first: it hides a history id with the same text.
        texts = ChainMap(own_texts, history or {})
        numbers: list[int] = []
        for text in about:
            if text not in texts:
                raise ScenarioError(
                    f"about={text!r} was never said by this scenario.{did_you_mean(text, texts)}"
                )
            numbers += texts[text]
        return tuple(dict.fromkeys(numbers))

    @property
    def uncredited_exchanges(self) -> tuple[int, ...]:
        """The numbers of its exchanges that were not asked for credit."""
        return tuple(exchange.number for exchange in self.own if exchange.kind == "say")

    def unplayable(self, counter: TokenCounter, capabilities: frozenset[str]) -> str:
        """Return why it cannot be played with this agent or in this span; "" if it can."""
        needed = set(self.example.requires)
        if capabilities & {SEES_CLOCK, "Prompted"}:
            # A control is prompted at the right time.
            needed.discard("TimeAware")
        missing = sorted(needed - capabilities)
        if missing:
            return f"needs an agent that is {' and '.join(missing)}"
        # Only what is known before the body runs; texts that a body creates are
        # measured when they are said.
        steps = self.example.definition.steps if self.example.definition else ()
        tokens = sum(
            counter.count(step.text) for step in steps if not isinstance(step, Wait)
        )
        if self.span is None or tokens <= self.span:
            return ""
        return f"its text alone is longer than its memory span of {self.span:,} tokens: give it a longer --ltm-span"

    def note_exchange(self, request: Say | Ask, exchange: Exchange) -> None:
        """Add an exchange of its own and the values told in it; for a question, those chosen by the reply."""
        self.own.append(exchange)
        values_told: dict[str, str | None] = {}
        if isinstance(request, Say):
            values_told.update(request.tells)
        else:
            for subject, values in request.tells.items():
                chosen = [value for value in values if has_value(exchange.reply, value)]
                # A reply that names several of the values has not chosen any.
                if len(chosen) == 1:
                    values_told[subject] = chosen[0]
                    self.unchosen[subject] = tuple(
                        value for value in values if value != chosen[0]
                    )
        if values_told:
            self.told[exchange.number] = values_told

    def withdrawn_values(self, request: Request) -> tuple[str, ...]:
        """Return the previously told values that a message withdraws."""
        if not isinstance(request, Say):
            return ()
        withdrawn = [
            subject for subject, value in request.tells.items() if value is None
        ]
        values = []
        for told_values in self.told.values():
            values += [told_values.get(subject) for subject in withdrawn]
        return tuple(value for value in values if value is not None)

    def measured_span(self, transcript: Transcript) -> int | None:
        """Return the tokens that count towards its span, from its start to the start of its last question."""
        if self.start is None or not self.questions:
            return None
        return transcript.counted_before(self.questions[-1].number) - self.start

    @property
    def has_counting_watcher(self) -> bool:
        """Whether one of its watchers counts replies and has no verdict yet."""
        return any(watching.counts_replies for watching in self.watching)

    def ending(self) -> Ending:
        """Return the outcome, once the body and its watchers are done."""
        broken = self.broken or self.body.error
        if isinstance(broken, Unmeasured):
            # Neither the answer's fault nor the scenario's.
            return Ending(verdict=Unscored(str(broken), cause=broken.cause))
        if isinstance(broken, AgentFault) and broken.leak:
            return Ending(verdict=Score(0.0, str(broken)))
        if broken is None and not self.questions and self.body.assertion is None:
            broken = ScenarioError(
                "asks nothing, so it cannot be scored. Add an `ask` or a watcher"
            )
        # A control that got no expected answer does not measure memory, not even if a
        # check failed.
        if self.unprompted and (
            broken is None or (isinstance(broken, Exception) and self.broken is None)
        ):
            return Ending(verdict=Unscored(NO_ORACLE))
        if broken is not None:
            return Ending(error=broken)
        watched = [
            watching.verdict
            for watching in self.watching
            if watching.verdict is not None
        ]
        return Ending(
            verdict=self.body.sheet.verdict(watched, threshold=self.example.threshold)
        )


# --- GreenBody: a body in plain code, run in a greenlet that switches back at each
# request.

# Ctrl-C and the end of a generator: pytest must see them.
UNWINDING: tuple[type[BaseException], ...] = (KeyboardInterrupt, GeneratorExit)


class GreenBody:
    """An example's own side of the conversation: runs `play` until its next request, and continues when resumed.

    Subclasses implement `play`, the context around each stretch of it, and the report
    in `finish`.
    """

    fatal = UNWINDING
    """Exceptions that must not be mistaken for the end of one example."""
    assertion_types: tuple[type[BaseException], ...] = (AssertionError,)

    def __init__(self) -> None:
        self.sheet = Sheet()
        """Its findings so far; a failed assertion counts as a failed check."""
        self.error: BaseException | None = None
        """The exception other than a failed assertion that ended the body: it cannot be scored."""
        self.assertion: BaseException | None = None
        """The failed assertion that ended the body, if any."""
        self._green: greenlet | None = None
        self._hub: greenlet | None = None

    def play(self) -> object:
        """Run the body."""
        raise NotImplementedError

    def surrounding_context(self) -> AbstractContextManager[object]:
        """Return the context for each stretch of the body."""
        return nullcontext()

    def judging(self, call: Callable[[], T]) -> T:
        """Run a call that evaluates: a watcher, or the body until its next request; Unmeasured if it is too slow."""
        return call()

    def finish(self, lane: Lane, ending: Ending) -> None:
        """Report the example, which is over, watchers included."""
        raise NotImplementedError

    def send(self, request: Request) -> Any:
        """Pass a request to the conversation and return its answer; only from within the body."""
        __tracebackhide__ = True
        if self._hub is None or getcurrent() is not self._green:
            raise ScenarioError(
                "the conversation can only be used in the body of the test, not in a fixture, a thread or after its end"
            )
        return self._hub.switch(request)

    def begin(self) -> Request | None:
        """Run up to the first request; None if the body has ended."""
        green = self._green = greenlet(lambda _: self.play())
        # A new greenlet starts with an empty context; the body must see what its
        # fixtures set.
        green.gr_context = contextvars.copy_context()
        return self._run(green.switch, None)

    def resume(self, value: object) -> Request | None:
        """Return the answer to the body and run up to the next request; None if the body has ended."""
        return self._run(self._living.switch, value)

    def throw_error(self, error: Exception) -> Request | None:
        """Raise the error at the body's pending request; return the next request, or None if the body has ended."""
        return self._run(self._living.throw, error)

    def unwind_body(self) -> None:
        """Unwind the body, so that its `finally` blocks run; their exceptions are dropped."""
        if self._green is None or self._green.dead:
            return
        self._hub = None  # the body must not send any more
        try:
            with self.surrounding_context():
                self._green.throw(GreenletExit)
        except self.fatal:
            raise
        except BaseException:  # noqa: BLE001, S110 - see the docstring
            pass

    @property
    def _living(self) -> greenlet:
        return cast("greenlet", self._green)

    def _run(self, switch: Callable[..., object], value: object) -> Request | None:
        self._hub = getcurrent()
        try:
            with self.surrounding_context():
                request = self.judging(lambda: switch(value))
        except self.fatal:
            raise
        except BaseException as error:  # noqa: BLE001 - skip() and fail() are not Exceptions; all end the body
            if isinstance(error, self.assertion_types):
                self.assertion = error
                text = text_of(error).strip()
                self.sheet.note_failed_assertion(
                    text.splitlines()[0] if text else type(error).__name__
                )
            else:
                self.error = error
            return None
        if self._living.dead:
            return None
        return cast("Request", request)
