"""Score, Unscored, Verdict, Evaluator: what is said about answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from pytest_ltm._storage.errors import WhyUnscored


@dataclass(frozen=True, slots=True)
class Check:
    """One part of a score: a sentence that is true or not of the agent's answers."""

    label: str
    """The sentence, as the report shows it."""
    ok: bool
    """Whether it is true."""


@dataclass(frozen=True, slots=True)
class Score:
    """How well an example went, with the reason. ValueError if the value is not between 0 and 1.

    >>> Score(0.5, "one of two colours").value
    0.5
    """

    value: float
    """The share of full marks, 0 to 1."""
    reason: str
    """One sentence for the report: why this value."""
    checks: tuple[Check, ...] = ()
    """Its parts, if it has any."""
    rule: str = ""
    """Name and version of the rule that decided, such as `colours/2`."""
    evidence: str = ""
    """The part of the agent's answer that decided."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and 0 <= self.value <= 1):
            raise ValueError(f"a score lies between 0 and 1, not {self.value!r}")


@dataclass(frozen=True, slots=True)
class Unscored:
    """The scenario ran, but its answers could not be judged: not a zero."""

    reason: str
    """One sentence for the report: why there is no score."""
    rule: str = ""
    """Name and version of the rule that gave up, such as `colours/2`."""
    evidence: str = ""
    """The part of the agent's answer that could not be judged."""
    cause: WhyUnscored = "unscored"
    """Why: it could not be judged, the judge gave no grade or failed, or there is none."""


NO_ORACLE = "no oracle"
"""Why the control `oracle` has no score: the scenario does not say what full marks ask for."""

Scoring: TypeAlias = Literal["current", "v3.5", "paper"]
"""The rules that evaluators follow: `current` is our best, the others are the published deterministic ones."""

SCORINGS: tuple[str, ...] = get_args(Scoring)

Verdict: TypeAlias = "Score | Unscored"

Evaluator: TypeAlias = Callable[[Sequence[str]], "Score | Unscored"]
"""Turns the answers to a scenario's questions, in order, into a verdict. Never raises for any answer."""


def combine(checks: Sequence[Check | Unscored]) -> Score | Unscored:
    """Return the share of the checks passed; any Unscored part makes the whole Unscored."""
    for part in checks:
        if isinstance(part, Unscored):
            return part
    parts = tuple(part for part in checks if isinstance(part, Check))
    if not parts:
        raise ValueError("no checks to combine")
    failed = [part.label for part in parts if not part.ok]
    passed = len(parts) - len(failed)
    reason = "; ".join(failed) if failed else f"all {len(parts)} checks passed"
    return Score(passed / len(parts), reason, checks=parts)
