"""Rules of a gate: texts such as `scenario:colours.mean:5%` as values that explain themselves in a sentence."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm._gate import _metrics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._gate._metrics import Metric

ScopeKind: TypeAlias = Literal["", "scenario", "skill"]
FORM = "[scenario:NAME.|skill:R.]METRIC:LIMIT[%]"
_NUMBER = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<factor>[kKmM]?)(?P<percent>%?)")
_SIGNED = re.compile(r"[-+]?[0-9.,]+(e[-+]?[0-9]+)?[kKmM]?%?", re.IGNORECASE)
"""What is meant as a number, also where it is none that a limit can be."""
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which examples a rule is about."""

    kind: ScopeKind = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.kind else ""

    @property
    def words(self) -> str:
        """` of scenario 'colours'`, or nothing."""
        return f" of {self.kind} {self.name!r}" if self.kind else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; it holds for each agent at each memory span by itself."""

    text: str
    """As it was written."""
    metric: Metric
    limit: float
    """A share from 0 to 1, points, tokens or USD; of a relative rule the share of the baseline's value."""
    relative: bool
    against: bool
    """It is about what moved against the baseline, else about where the metric lies."""
    scope: Scope = Scope()

    @property
    def subject(self) -> str:
        """`the mean score of scenario 'colours'`."""
        return f"{self.metric.words}{self.scope.words}"

    @property
    def sentence(self) -> str:
        """What must be so for the rule to hold."""
        least = "at least" if self.metric.higher_is_better else "at most"
        if self.metric.unit == "chance":
            what = "no scenario" if self.metric.name == "holm" else f"the scores{self.scope.words}"
            verb = "drops" if self.metric.name == "holm" else "do not drop"
            return f"{what} {verb} by more than chance explains (p at most {self.limit:g})"
        if not self.against:
            return f"{self.subject} is {least} {self.amount(self.limit)}"
        verb = "drops" if self.metric.higher_is_better else "rises"
        if not self.limit:
            return f"{self.subject} {verb} by nothing at all"
        return f"{self.subject} {verb} by at most {self.allowed}"

    @property
    def allowed(self) -> str:
        """How much a comparison may lose: `0.05`, `5 % of the baseline's`."""
        if self.relative:
            return f"{_number(_PERCENT * self.limit)} % of the baseline's"
        return self.amount(self.limit)

    def amount(self, value: float) -> str:
        """Return a value of the rule's metric with its unit."""
        return self.amounts(value)[0]

    def amounts(self, *values: float) -> list[str]:
        """Return values of the rule's metric with their units, and enough digits to tell them apart."""
        if self.metric.unit == "tokens":
            return [f"{value:,.0f}" for value in values]
        texts = [_fixed(value, values) for value in values]
        return [f"{text} USD" for text in texts] if self.metric.unit == "usd" else texts


def _number(value: float) -> str:
    return f"{value:.6g}"


def _fixed(value: float, among: Sequence[float]) -> str:
    """Return two decimals, more where they would make two values look the same or hide one."""
    for digits in range(2, 7):
        if all(round(one, digits) != round(other, digits) for one, other in pairwise(sorted({0.0, *among}))):
            return f"{value:.{digits}f}"
    return f"{value:.6g}"


def under(text: str) -> Rule:
    """Return a rule about where a metric must lie; ConfigurationError says what is wrong with the text.

    A bare number means the mean.
    """
    return _parse(f"mean:{text}" if _NUMBER.fullmatch(text.strip()) else text, against=False)


def against(text: str) -> Rule:
    """Return a rule about how far a metric may move against a baseline; ConfigurationError as `under`."""
    if _NUMBER.fullmatch(text.strip()):
        raise ConfigurationError(f"{text!r} names no metric. For the mean score write 'mean:{text.strip()}'")
    return _parse(text, against=True)


def _parse(text: str, *, against: bool) -> Rule:
    head, colon, limit = (part.strip() for part in text.rpartition(":"))
    if not colon and _metrics.metric(limit):
        raise ConfigurationError(f"{text!r} names no limit. Write it as '{limit}:LIMIT'")
    if not head and _SIGNED.fullmatch(limit):
        raise ConfigurationError(f"{text!r} names no metric, or no limit. Write {_example(against=against)}")
    scope, name = _scope(text, head)
    found = _metrics.metric(name)
    if found is None:
        raise ConfigurationError(f"{text!r}: {_no_metric(name or limit, against=against)}")
    if not (found.against if against else found.under):
        other = "where a metric lies (fail-under)" if against else "what moved (compare-fail)"
        raise ConfigurationError(f"{text!r}: {name!r} is for rules about {other} only")
    if scope.kind and not found.scoped:
        raise ConfigurationError(f"{text!r}: {name!r} is about all scenarios together. Leave '{scope}.' out")
    value, relative = _limit(text, limit, found, against=against)
    return Rule(text=text.strip(), metric=found, limit=value, relative=relative, against=against, scope=scope)


def _example(*, against: bool) -> str:
    return "'mean:0.05' or 'mean:5%'" if against else "'mean:0.8' or '0.8'"


def _no_metric(wrong: str, *, against: bool) -> str:
    """Return what to write in place of a word that is no metric."""
    known = _metrics.names(against=against)
    said = f"there is no metric {wrong!r}."
    for kind in ("scenario", "skill"):
        if wrong.startswith(f"{kind}."):
            return f"{said} Did you mean '{kind}:{wrong.removeprefix(kind + '.')}'? Write {FORM}"
    return f"{said}{did_you_mean(wrong.lower(), known)} Write {FORM}, METRIC one of {', '.join(known)}"


def _scope(text: str, head: str) -> tuple[Scope, str]:
    kind, colon, rest = (part.strip() for part in head.partition(":"))
    if not colon:
        return Scope(), head
    name, dot, metric = rest.rpartition(".")
    if kind in ("scenario", "skill") and dot and not name:
        raise ConfigurationError(f"{text!r} names no {kind}. Write it as '{kind}:NAME.{metric}:LIMIT'")
    if kind not in ("scenario", "skill"):
        near = did_you_mean(kind, ["scenario", "skill"])
        raise ConfigurationError(f"{text!r}: a rule is about a scenario or a skill, not a {kind!r}.{near} Write {FORM}")
    if not (dot and name):
        raise ConfigurationError(f"{text!r}: which metric of {kind} {rest!r}? Write it as '{kind}:{rest}.mean:LIMIT'")
    return Scope(kind=kind, name=name), metric  # type: ignore[arg-type]


def _limit(text: str, limit: str, metric: Metric, *, against: bool) -> tuple[float, bool]:
    """Return the limit, and whether it is a share of the baseline's value."""
    found = _NUMBER.fullmatch(limit.strip())
    if found is None:
        raise ConfigurationError(f"{text!r}: {limit!r} is no limit. Write a number of at least 0, as in 0.05 or 5%")
    percent, factor = bool(found["percent"]), found["factor"].lower()
    value = float(found["number"]) * _FACTORS[factor]
    if factor and metric.unit != "tokens":
        raise ConfigurationError(f"{text!r}: k and m are for numbers of tokens")
    if not math.isfinite(value):
        raise ConfigurationError(f"{text!r}: {limit!r} is no limit")
    relative = percent and against and (metric.higher_is_better or metric.unit != "share")
    if percent and not relative and metric.unit != "share":
        plain = {"usd": "dollars, as in 1.5", "tokens": "tokens, as in 20k"}.get(metric.unit, "points, as in 8.5")
        raise ConfigurationError(f"{text!r}: percent of what? Write a number of {plain}")
    if percent:
        value /= _PERCENT
    _check(text, value, metric, relative=relative)
    return value, relative


def _check(text: str, value: float, metric: Metric, *, relative: bool) -> None:
    if metric.unit == "chance" and not 0 < value < 1:
        raise ConfigurationError(f"{text!r}: a probability lies between 0 and 1, as in {metric.name}:0.05")
    if (metric.unit == "share" or (relative and metric.higher_is_better)) and value > 1:
        raise ConfigurationError(
            f"{text!r}: {metric.words} lies between 0 and 1, so no limit above 1 (100%) can be broken"
            if relative
            else f"{text!r}: {metric.words} lies between 0 and 1, so write the limit as 0.8 or 80%"
        )
