"""Limits that a judge must keep: `false-pass:0.05`, `injection:0`, `kappa:0.8`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm._judge_check import _measure
from pytest_ltm._judge_check._labelled import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._judge_check._measure import Judged

_MOST = ("false-pass", "false-fail", "unscored", *KINDS)
NAMES = (*_MOST, "kappa")


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit: rates are at most so high, kappa is at least so high."""

    name: str
    value: float

    @classmethod
    def read(cls, text: str) -> Limit:
        """Return the limit that a text such as `false-pass:0.05` gives; ConfigurationError with a cure."""
        name, colon, number = text.partition(":")
        try:
            value = float(number)
        except ValueError:
            value = -1.0
        if name not in NAMES or not colon:
            raise ConfigurationError(
                f"--limit: {text!r} is not NAME:NUMBER with a name of {', '.join(NAMES)}.{did_you_mean(name, NAMES)}"
            )
        if not 0 <= value <= 1:
            raise ConfigurationError(f"--limit: {text!r} needs a number from 0 to 1")
        return cls(name, value)

    def breach(self, rows: Sequence[Judged]) -> str:
        """Return the sentence that says that it is broken, "" if it is kept."""
        found = _found(self.name, rows)
        if found is None:
            return f"{self.name} cannot be measured: the judge judged nothing of the kind"
        if self.name == "kappa":
            return "" if found >= self.value else f"kappa is {found:.2f}, below {self.value:g}"
        return "" if found <= self.value else f"{self.name} is {found:.1%}, above {self.value:.1%}"


def _found(name: str, rows: Sequence[Judged]) -> float | None:
    if name == "kappa":
        return _measure.kappa_of(rows).value
    named = {
        "false-pass": _measure.false_passes,
        "false-fail": _measure.false_fails,
        "unscored": _measure.unscored,
    }
    rate = named[name](rows) if name in named else _measure.wrong_of(rows, name)
    return rate.value
