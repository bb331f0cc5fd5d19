"""Score, Unscored, Verdict, Evaluator: the data about judged answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from pytest_ltm._core.storage.errors import WhyUnscored
from pytest_ltm._core.storage.schema import SPARSE


class Replies(list[str]):
    """The replies to a script's questions, with the texts told before."""

    def __init__(self, replies: Iterable[str], told: Iterable[str] = ()) -> None:
        super().__init__(replies)
        self.told = tuple(told)


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a score: a sentence about the agent's answers that is true or false."""

    label: str
    """The sentence, as the report shows it."""
    ok: bool
    """Whether it is true."""
    open: bool = field(default=False, metadata={SPARSE: True})
    """Whether it could not be proven either way: then `ok` is false but may be wrong. Only evaluators set it."""
    acted: bool = field(default=False, metadata={SPARSE: True})
    """Whether it concerns the agent's actions, by tool calls or in files, rather than its words."""

    def __post_init__(self) -> None:
        if self.ok and self.open:
            raise ValueError(f"a check that holds cannot be open: {self.label!r}")

    @property
    def state(self) -> Literal["passed", "failed", "open"]:
        """Its outcome in a word."""
        if self.ok:
            return "passed"
        if self.open:
            return "open"
        return "failed"


@dataclass(frozen=True, slots=True)
class Score:
    """The result of an example, with the reason. ValueError if the value is not between 0 and 1.

    >>> Score(0.5, "one of two colours").value
    0.5
    """

    value: float
    """The share of full marks, 0 to 1; open parts count as missed."""
    reason: str
    """One sentence for the report: why this value."""
    checks: tuple[Check, ...] = ()
    """Its parts, if it has any."""
    rule: str = ""
    """Name and version of the rule that decided, such as `colours/2`."""
    evidence: str = ""
    """The part of the agent's answer that decided."""
    left_open: float | None = None
    """The share of full marks of its open parts; None: all checks have equal weight."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and 0 <= self.value <= 1):
            raise ValueError(f"a score lies between 0 and 1, not {self.value!r}")
        if self.left_open is not None and not 0 <= self.left_open <= 1:
            raise ValueError(f"what is open is worth 0 to 1, not {self.left_open!r}")

    @property
    def upper(self) -> float:
        """The value if all open parts passed."""
        if self.left_open is not None:
            # Thirds and sixths may add up to more than 1.
            return min(self.value + self.left_open, 1.0)
        return min(
            self.value
            + sum(check.open for check in self.checks) / max(len(self.checks), 1),
            1.0,
        )


@dataclass(frozen=True, slots=True)
class Unscored:
    """The scenario ran, but its answers could not be judged: not a zero. Undecided, it is between 0 and 1."""

    reason: str
    """One sentence for the report: why there is no score."""
    rule: str = ""
    """Name and version of the rule that gave up, such as `colours/2`."""
    evidence: str = ""
    """The part of the agent's answer that could not be judged."""
    cause: WhyUnscored = "unscored"
    """Why: it could not be judged, the judge gave no grade or failed, or there is none. "undecided": nothing is proven,
    neither right nor wrong; means count it as 0, their upper bounds as 1."""
    checks: tuple[Check, ...] = ()
    """Its parts, if it is undecided and has any."""


# The reason for no score with the control `oracle`: the scenario does not give an
# expected answer.
NO_ORACLE = "no oracle"

# The rules that evaluators follow: `current` is our best, the others are the published
# deterministic ones.
Scoring: TypeAlias = Literal["current", "v3.5", "paper"]

SCORINGS: tuple[str, ...] = get_args(Scoring)

Verdict: TypeAlias = "Score | Unscored"

# Turns the answers to a scenario's questions, in order, into a verdict. Never raises
# for any answer.
Evaluator: TypeAlias = Callable[[Sequence[str]], "Score | Unscored"]


# The cause of an Unscored whose parts are all open.
UNDECIDED: Literal["undecided"] = "undecided"


def with_bounds(verdict: Score | Unscored) -> Score | Unscored:
    """Return an undecided verdict as a score with the bounds 0 and 1; any other unchanged."""
    if isinstance(verdict, Unscored) and verdict.cause == UNDECIDED:
        return Score(
            0.0, verdict.reason, verdict.checks, verdict.rule, verdict.evidence, 1.0
        )
    return verdict


def undecided_if_open(score: Score) -> Score | Unscored:
    """Return Unscored for a score whose parts are all open; any other unchanged."""
    if score.value == 0 and score.upper == 1:
        return Unscored(
            score.reason, score.rule, score.evidence, UNDECIDED, score.checks
        )
    return score
