"""Metrics: what a rule may be about, each with its words, its good direction and its unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["share", "points", "tokens", "usd", "chance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number about one agent, mostly at one memory span."""

    name: str
    words: str
    """As sentences call it."""
    means: str
    """What it is, for tables of the documentation and `--help`."""
    unit: Unit
    higher_is_better: bool = True
    under: bool = True
    """A rule of `--ltm-fail-under` may be about it: where it lies."""
    against: bool = True
    """A rule of `--ltm-compare-fail` may be about it: how it moved."""
    scoped: bool = True
    """It may be of one scenario or skill."""
    tries: int = 0
    """The k of pass^k and pass@k."""


METRICS = (
    Metric(
        name="mean", words="the mean score", unit="share",
        means="mean over scenarios of the mean over examples and trials, 0 to 1",
    ),
    Metric(name="total", words="the total", unit="points", means="sum over scenarios of the mean over examples"),
    Metric(
        name="worst", words="the lowest mean of a scenario", unit="share", against=False,
        means="mean of the scenario with the lowest one",
    ),
    Metric(name="pass_rate", words="the pass rate", unit="share", means="share of the scored examples that pass"),
    Metric(
        name="cost", words="the cost", unit="usd", higher_is_better=False,
        means="USD, as far as the agent tells; of a scenario: of its own exchanges",
    ),
    Metric(
        name="tokens", words="the number of tokens", unit="tokens", higher_is_better=False,
        means="tokens of all messages and replies; of a scenario: of its own exchanges",
    ),
    Metric(
        name="reply_tokens", words="the number of tokens that the agent generated", unit="tokens",
        higher_is_better=False, scoped=False, means="tokens that the agent generated",
    ),
    Metric(
        name="span", words="the effective memory span in tokens", unit="tokens", scoped=False,
        means="effective memory span in tokens, over all spans of the run",
    ),
    Metric(
        name="unscored", words="the share of examples that nobody could score", unit="share", higher_is_better=False,
        means="share of examples without a score, errors not counted",
    ),
    Metric(
        name="errors", words="the share of examples with an error", unit="share", higher_is_better=False,
        means="share of examples that ended in an error",
    ),
    Metric(
        name="p", words="the chance of such a drop without any change", unit="chance", under=False,
        means="one-sided probability of the paired test that the scores dropped by chance",
    ),
    Metric(
        name="holm", words="the chance of such a drop of a scenario without any change", unit="chance", under=False,
        scoped=False, means="the same for each scenario, corrected for looking at all of them",
    ),
)  # fmt: skip
_TRIES = re.compile(r"pass(?P<kind>[\^@])(?P<tries>[1-9][0-9]{0,3})")
PATTERNS = ("pass^K", "pass@K")
"""Names of metrics with a number of their own."""


def metric(name: str) -> Metric | None:
    """Return the metric of this name, such as `mean` or `pass^3`; None if there is none."""
    found = _TRIES.fullmatch(name)
    if found is None:
        return next((one for one in METRICS if one.name == name), None)
    tries = int(found["tries"])
    all_of = found["kind"] == "^"
    words = f"the chance that {'all' if all_of else 'one'} of {tries} trials {'pass' if all_of else 'passes'}"
    return Metric(name=name, words=words, unit="share", means=words, tries=tries)


def names(*, against: bool) -> tuple[str, ...]:
    """Return the names of the metrics that a rule can be about: of what moved, or of where one lies; patterns last."""
    return (*(one.name for one in METRICS if (one.against if against else one.under)), *PATTERNS)
