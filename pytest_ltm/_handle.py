"""Ltm, the handle behind the `ltm` fixture: what a scenario's body says, and the sheet that it is scored on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import ScenarioError
from pytest_ltm._judge import Opinion
from pytest_ltm._scenario import Ask, Definition, Request, Say, Step, Wait, Watch, Watcher, duration
from pytest_ltm._score import Check, Score, Scoring, Unscored, combine

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime, timedelta

    from pytest_ltm._judge import Judge


@dataclass
class Sheet:
    """What a body found out about its agent so far."""

    checks: list[Check] = field(default_factory=list)
    said: Score | Unscored | None = None
    """What `ltm.score` said: replaces the checks."""
    measures: dict[str, float] = field(default_factory=dict)
    """Figures beside the score, by name."""
    assertion: Check | None = None
    """The failed assertion that ended the body, also among the checks."""

    def verdict(self, watched: Sequence[Score | Unscored], *, pass_mark: float) -> Score | Unscored:
        """Return the verdict; a watcher's counts as one check, and any Unscored part makes the whole Unscored."""
        unscored = [v for v in (*watched, self.said) if isinstance(v, Unscored)]
        if unscored:
            return unscored[0]
        if isinstance(self.said, Score):
            return self.said if self.assertion is None else _share([self.assertion], [self.said], pass_mark)
        scores = [v for v in watched if isinstance(v, Score)]
        if len(scores) == 1 and not self.checks:
            return scores[0]
        if not self.checks and not scores:
            return Score(1.0, "no assertion failed")
        return _share(self.checks, scores, pass_mark)

    def fail(self, label: str) -> None:
        """Note the failed assertion that ended the body: one more failed check, which no `ltm.score` undoes."""
        self.assertion = Check(label, ok=False)
        self.checks.append(self.assertion)


def _share(checks: Sequence[Check], scores: Sequence[Score], pass_mark: float) -> Score | Unscored:
    whole = combine([*checks, *(Check(score.reason, score.value >= pass_mark) for score in scores)])
    if isinstance(whole, Unscored):
        return whole
    share = (sum(check.ok for check in checks) + sum(score.value for score in scores)) / len(whole.checks)
    return Score(share, whole.reason, checks=whole.checks)


class Ltm:
    """The conversation as one scenario sees it.

    Every method but `check` and `score` may let others speak before it returns.
    """

    def __init__(
        self,
        send: Callable[[Request], Any],
        *,
        now: Callable[[], datetime],
        example: int | str,
        span: int | None,
        rng: random.Random,
        definition: Definition | None = None,
        scoring: Scoring = "current",
        judge: Judge | None = None,
        retrieved: Callable[[], Sequence[str] | None] = lambda: None,
    ) -> None:
        self._retrieved = retrieved
        self._send, self._now, self._definition = send, now, definition
        self.example = example
        """Which example of the scenario this is, from 0 (the file's stem for definitions from a folder)."""
        self.span = span
        """The memory span in tokens; None in an isolated conversation."""
        self.random = rng
        """A generator of this example's own: the same seed gives the same example."""
        self.scoring = scoring
        """Which rules evaluators follow: "current", "v3.5" or "paper"."""
        self.judge = judge
        """The judge that evaluators may ask, or None."""
        self.sheet = Sheet()

    def __repr__(self) -> str:
        """Return the same in every run: it stands in the explanations of failed assertions."""
        return f"<ltm, example {self.example}>"

    @property
    def definition(self) -> Definition:
        """The generated data of this example; ScenarioError if its marker names no `generate`."""
        if self._definition is None:
            raise ScenarioError(
                "this scenario has no definition. "
                "Give it one: @pytest.mark.ltm(generate=f), f(rng, parameters) -> Definition"
            )
        return self._definition

    @property
    def now(self) -> datetime:
        """The conversation's time, aware."""
        return self._now()

    @property
    def retrieved(self) -> Sequence[str] | None:
        """What the agent says that it retrieved for its last reply to this scenario, best first.

        Ids or texts, as the agent has them; None unless it is a ShowsRetrieval.
        """
        return self._retrieved()

    def say(self, text: str) -> str:
        """Tell the agent something and return its reply, which earns no credit."""
        __tracebackhide__ = True
        reply: str = self._send(Say(text))
        return reply

    def ask(self, text: str, about: Iterable[str] = ()) -> str:
        """Ask for credit and return the answer.

        `about`: the texts of the says that the question depends on; by default all earlier ones.
        """
        __tracebackhide__ = True
        depends = (about,) if isinstance(about, str) else tuple(about)
        reply: str = self._send(Ask(text, depends))
        return reply

    def wait(self, *, span: float = 0.0, tokens: int = 0, time: str | float | timedelta = 0) -> None:
        """Let the others speak until all conditions are over.

        `span`: a share of the memory span, counted from the scenario's own start. `tokens` and `time`
        (seconds, a timedelta, or "3h", "1h 30m", "2d"): counted from now. ScenarioError for less than
        nothing and for more than the span.
        """
        __tracebackhide__ = True
        self._send(Wait(span=span, tokens=tokens, time=duration(time)))

    def watch(self, watcher: Watcher, replies: int | None = None) -> None:
        """Have the coming exchanges of anyone watched; its verdict counts as one check.

        `watcher(since)` is called after every exchange until it returns a verdict; `since` begins with
        this scenario's last exchange. With `replies` it must be able to tell after so many; without, it
        lasts to the end of the conversation. A watcher that never tells makes the example Unscored.
        """
        __tracebackhide__ = True
        self._send(Watch(watcher, replies))

    def check(self, label: str, ok: object) -> bool:
        """Note one part of the score: `label` says what should be true. Returns whether it is."""
        passed = bool(ok)
        why = ok.reason if isinstance(ok, Opinion) and not passed else ""
        self.sheet.checks.append(Check(f"{label} (the judge: {why})" if why else str(label), passed))
        return passed

    def measure(self, name: str, value: float) -> None:
        """Note a figure beside the score: it is shown and averaged, and earns nothing.

        ScenarioError for a name that is no identifier, and for a figure that is not finite.
        """
        figure = float(value)
        if not name.isidentifier() or not math.isfinite(figure):
            raise ScenarioError(f"ltm.measure({name!r}, {value!r}): give a name such as 'f1', and a finite number")
        self.sheet.measures[name] = figure

    def score(self, value: float | Score | Unscored, reason: str = "") -> None:
        """Say the score (0 to 1, with a reason) or hand in an evaluator's verdict; replaces the checks."""
        if self.sheet.said is not None:
            raise ScenarioError(f"scored twice: {self.sheet.said!r}, then {value!r}. Use check() for parts of a score")
        if isinstance(value, (Score, Unscored)):
            self.sheet.said = value
            return
        try:
            self.sheet.said = Score(float(value), reason)
        except (TypeError, ValueError) as error:
            raise ScenarioError(f"ltm.score({value!r}): a score is a number from 0 to 1") from error

    def play(self, script: Definition | Iterable[Step]) -> list[str]:
        """Perform the steps in order and return the replies to the questions."""
        __tracebackhide__ = True
        answers = []
        for step in script.steps if isinstance(script, Definition) else script:
            if not isinstance(step, (Say, Ask, Wait)):
                raise ScenarioError(f"play() performs Say, Ask and Wait, not {step!r}")
            reply = self._send(step)
            if isinstance(step, Ask):
                answers.append(reply)
        return answers
