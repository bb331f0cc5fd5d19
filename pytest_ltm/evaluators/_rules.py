"""The rule sets an evaluator may follow, and how a verdict names the one that decided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm._score import SCORINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._score import Score, Unscored


def check_scoring(scoring: str) -> None:
    """Raise ConfigurationError unless the name is one of the rule sets."""
    if scoring not in SCORINGS:
        raise ConfigurationError(
            f"scoring {scoring!r} is unknown; choose from {', '.join(SCORINGS)}.{did_you_mean(scoring, SCORINGS)}"
        )


def last(answers: Sequence[str]) -> str:
    """Return the last answer, "" if there is none."""
    return answers[-1] if answers else ""


def standing_in(verdict: Score | Unscored, scoring: str, rule: str) -> Score | Unscored:
    """Return the verdict of the current rules, saying that it stands in for a published rule that asks a model."""
    note = f" (the rule of {scoring} asks a model; the current rule stands in)"
    return replace(verdict, reason=verdict.reason + note, rule=f"{rule}/{scoring}+{verdict.rule}")
