"""Rules of a gate: parses texts such as `scenario:colours.mean:5%` into values that describe themselves.

A rule is about a metric: a number with its name, good direction, unit, and a way to compute it from results.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from math import fsum
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from pytest_ltm.api.journal import ConversationResult, ScenarioResult, recall_at
from pytest_ltm.api.storage import ConfigurationError, did_you_mean, lazy_pattern
from pytest_ltm.figures.memory_measures import MEASURES
from pytest_ltm.figures.statistics.totals import (
    mean_or_none,
    pass_k,
    score_share,
    scores_by_scenario,
    total_score,
)

if TYPE_CHECKING:
    Rows = Sequence[ScenarioResult]


Unit: TypeAlias = Literal["share", "points", "tokens", "usd", "chance"]


class GateMetric(Struct, frozen=True):
    """One number about one agent, usually at one memory span."""

    name: str
    unit: Unit
    words: str
    """The name in sentences."""
    means: str
    """The definition, for tables of the documentation and `--help`."""
    higher_is_better: bool = True
    under: bool = True
    """Whether a rule of `--ltm-fail-under` may limit its value."""
    against: bool = True
    """Whether a rule of `--ltm-compare-fail` may limit its change."""
    scoped: bool = True
    """Whether a rule may be limited to one scenario or skill."""
    tries: int = 0
    """The k of pass^k and pass@k."""
    of_rows: Callable[[Rows], float | None] | None = None
    """Computes it from the examples in a rule's scope; None if it cannot be determined."""
    of_whole: Callable[[Sequence[ConversationResult]], float | None] | None = None
    """Computes it from whole conversations, for rules about all scenarios together."""

    def value(
        self, rows: Rows, conversations: Sequence[ConversationResult], *, scoped: bool
    ) -> float | None:
        """Return the metric's value; None if it cannot be determined.

        `rows` are the examples in the rule's scope; `conversations` are theirs, and are used unless the rule is
        `scoped`.
        """
        if self.of_whole and not scoped:
            return self.of_whole(conversations)
        return self.of_rows(rows) if self.of_rows else None


def _sum_if_known(values: Sequence[float | None]) -> float | None:
    """Return the sum; None if there are no values or any of them is unknown."""
    # A sum of the known values alone could meet a limit that the whole breaks.
    known_values = [value for value in values if value is not None]
    if not known_values or len(known_values) < len(values):
        return None
    return fsum(known_values)


METRICS = (
    GateMetric(
        "mean",
        "share",
        "the mean score",
        "mean over scenarios of the mean over examples and trials, 0 to 1",
        of_rows=lambda rows: score_share(scores_by_scenario(rows)),
    ),
    GateMetric(
        "total",
        "points",
        "the total",
        "sum over scenarios of the mean over examples",
        of_rows=lambda rows: (
            total_score(scores_by_scenario(rows))
            if any(row.scored for row in rows)
            else None
        ),
    ),
    # The worst scenarios of two runs may be different ones, so a change would have no
    # meaning.
    GateMetric(
        "worst",
        "share",
        "the lowest mean of a scenario",
        "mean of the scenario with the lowest one",
        against=False,
        of_rows=lambda rows: min(
            (mean_or_none(of) or 0.0 for of in scores_by_scenario(rows).values()),
            default=None,
        ),
    ),
    GateMetric(
        "pass_rate",
        "share",
        "the pass rate",
        "share of the scored examples that pass",
        of_rows=lambda rows: mean_or_none(
            [float(row.outcome == "passed") for row in rows if row.scored]
        ),
    ),
    GateMetric(
        "cost",
        "usd",
        "the cost",
        "USD, as far as the agent reports it; for a scenario, that of its own exchanges",
        higher_is_better=False,
        of_whole=lambda conversations: _sum_if_known(
            [conversation.cost_usd for conversation in conversations]
        ),
        of_rows=lambda rows: _sum_if_known(
            [row.cost_usd for row in rows if row.tokens or row.cost_usd is not None]
        ),
    ),
    GateMetric(
        "tokens",
        "tokens",
        "the number of tokens",
        "tokens of all messages and replies; of a scenario: of its own exchanges",
        higher_is_better=False,
        of_rows=lambda rows: _sum_if_known([float(row.tokens) for row in rows]),
        of_whole=lambda conversations: _sum_if_known(
            [float(conversation.tokens) for conversation in conversations]
        ),
    ),
    GateMetric(
        "reply_tokens",
        "tokens",
        "the number of tokens that the agent generated",
        "tokens that the agent generated",
        higher_is_better=False,
        scoped=False,
        of_whole=lambda conversations: _sum_if_known(
            [float(conversation.reply_tokens) for conversation in conversations]
        ),
    ),
    GateMetric(
        "span",
        "tokens",
        "the memory span that was kept, in tokens,",
        "largest memory span up to which 85 % of the isolated score is kept, over all spans of the run",
        scoped=False,
    ),
    GateMetric(
        "unscored",
        "share",
        "the share of examples without a score",
        "share of examples without a score, errors not counted",
        higher_is_better=False,
        of_rows=lambda rows: mean_or_none(
            [float(not row.scored and row.outcome != "error") for row in rows]
        ),
    ),
    GateMetric(
        "errors",
        "share",
        "the share of examples with an error",
        "share of examples that ended in an error",
        higher_is_better=False,
        of_rows=lambda rows: mean_or_none(
            [float(row.outcome == "error") for row in rows]
        ),
    ),
    *(
        GateMetric(
            measure.name,
            "share",
            measure.words,
            measure.definition,
            higher_is_better=measure.higher_is_better,
            against=False,
            of_rows=measure.of_rows,
        )
        for measure in MEASURES
        if measure.words
    ),
    GateMetric(
        "p",
        "chance",
        "the chance of such a drop if nothing changed",
        "one-sided probability of the paired test that the scores dropped by chance",
        under=False,
    ),
    GateMetric(
        "holm",
        "chance",
        "the chance of such a drop of a scenario if nothing changed",
        "the same for each scenario, corrected for looking at all of them",
        under=False,
        scoped=False,
    ),
)
# At most four digits: no run has more trials, and binomials of longer numbers would
# take forever.
_TRIES = lazy_pattern(r"pass(?P<kind>[\^@])(?P<tries>[1-9][0-9]{0,3})")
_RECALL = lazy_pattern(r"recall@([1-9][0-9]{0,3})")
# Names of metrics with a number in the name.
PATTERNS = ("pass^K", "pass@K")


def gate_metric(name: str) -> GateMetric | None:
    """Return the metric with this name, such as `mean` or `pass^3`; None if there is none."""
    if match := _RECALL.fullmatch(name):
        first = int(match[1])
        among = f"among the first {first}" if first > 1 else "in the first of the"
        words = f"the share of needles {among} retrieved texts"

        def mean_recall(rows: Rows) -> float | None:
            return mean_or_none(recall_at(row.questions, first) for row in rows)

        return GateMetric(
            name, "share", words, words, against=False, of_rows=mean_recall
        )
    match = _TRIES.fullmatch(name)
    if match is None:
        return next((metric for metric in METRICS if metric.name == name), None)
    tries = int(match["tries"])
    is_every = match["kind"] == "^"
    if tries == 1:
        words = "the chance that a trial passes"
    elif is_every:
        words = f"the chance that all of {tries} trials pass"
    else:
        words = f"the chance that one of {tries} trials passes"
    return GateMetric(
        name,
        "share",
        words,
        words,
        tries=tries,
        of_rows=lambda rows: pass_k(rows, tries, every=is_every),
    )


def metric_names(*, against: bool) -> tuple[str, ...]:
    """Return the names of metrics for rules about changes (`against`) or values; patterns come last."""
    if against:
        return (*(metric.name for metric in METRICS if metric.against), *PATTERNS)
    names = [metric.name for metric in METRICS if metric.under]
    return (*names, *PATTERNS, "recall@K")


# --- A rule, and its parser.

ScopeKind: TypeAlias = Literal["", "scenario", "skill"]
_KINDS = ("scenario", "skill")
FORM = "[scenario:NAME.|skill:R.]METRIC:LIMIT[%]"
_NUMBER = lazy_pattern(
    r"(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<factor>[kKmM]?)(?P<percent>%?)"
)
# Matches attempts at numbers, including invalid limits.
_SIGNED = lazy_pattern(r"[-+]?[0-9.,]+(e[-+]?[0-9]+)?[kKmM]?%?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_PERCENT = 100


class Scope(Struct, frozen=True, kw_only=True):
    """The examples that a rule is about."""

    kind: ScopeKind = ""
    name: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" if self.kind else ""

    @property
    def words(self) -> str:
        """The scope in words, ` of scenario 'colours'`, or ""."""
        return f" of {self.kind} {self.name!r}" if self.kind else ""

    def rows(self, rows: Iterable[ScenarioResult]) -> tuple[ScenarioResult, ...]:
        """Return the rows in the scope."""
        return tuple(
            row for row in rows if self.includes_skills(row.scenario, row.skills)
        )

    def includes_skills(self, scenario: str, skills: Iterable[str]) -> bool:
        """Whether the scope includes examples of a scenario that needs these skills."""
        if self.kind == "scenario":
            return self.name == scenario
        return not self.kind or self.name in skills


class Rule(Struct, frozen=True, kw_only=True):
    """One rule, applied separately to each agent at each memory span."""

    text: str
    """The rule as the user wrote it."""
    metric: GateMetric
    limit: float
    """A share from 0 to 1, points, tokens or USD; for a relative rule the share of the baseline's value."""
    relative: bool
    against: bool
    """Whether the rule is about the change against the baseline, not about the metric's value."""
    scope: Scope = Scope()

    @property
    def subject(self) -> str:
        """The metric and scope, such as `the mean score of scenario 'colours'`."""
        return f"{self.metric.words}{self.scope.words}"

    @property
    def sentence(self) -> str:
        """The rule as a sentence."""
        if self.metric.higher_is_better:
            least = "at least"
            verb = "drop"
        else:
            least = "at most"
            verb = "rise"
        if self.metric.unit == "chance":
            if self.metric.name == "holm":
                rise = "no scenario drops"
            else:
                rise = f"the scores{self.scope.words} do not drop"
            return f"{rise} by more than chance explains (p at most {self.limit:g})"
        if not self.against:
            return f"{self.subject} is {least} {self.amount(self.limit)}"
        if not self.limit:
            return f"{self.subject} does not {verb} at all"
        return f"{self.subject} {verb}s by at most {self.allowed}"

    @property
    def allowed(self) -> str:
        """The allowed loss in words: `0.05`, `5% of the baseline's`."""
        if self.relative:
            return f"{_PERCENT * self.limit:.6g}% of the baseline's"
        return self.amount(self.limit)

    def amount(self, value: float) -> str:
        """Return a value of the rule's metric with its unit."""
        return self.amounts(value)[0]

    def amounts(self, *values: float) -> list[str]:
        """Return values of the metric with units: the limit exactly, and with enough digits to differ."""
        if self.metric.unit == "tokens":
            return [f"{value:,.0f}" for value in values]
        form = ".6g"
        # two decimals, or more if they would make two values look equal, hide one, or
        # round the limit
        for digits in range(6, 1, -1):
            rounded = [round(value, digits) for value in sorted({0.0, *values})]
            if len(set(rounded)) == len(rounded) and (
                self.limit not in values or self.limit in rounded
            ):
                form = f".{digits}f"
        currency = " USD" if self.metric.unit == "usd" else ""
        return [f"{value:{form}}{currency}" for value in values]


def parse_limit_rule(text: str) -> Rule:
    """Parse a rule about a metric's value; ConfigurationError explains a malformed text.

    A bare number means the mean.
    """
    return _parse_rule(
        f"mean:{text}" if _NUMBER.fullmatch(text.strip()) else text, against=False
    )


def parse_change_rule(text: str) -> Rule:
    """Parse a rule about a metric's change; ConfigurationError explains a malformed text."""
    if _NUMBER.fullmatch(text.strip()):
        raise ConfigurationError(
            f"{text!r} names no metric. For the mean score write 'mean:{text.strip()}'"
        )
    return _parse_rule(text, against=True)


MOST_COLLAPSES = 0.9
"""An agent that loses nearly everything all the time would explain any drop, so this is the maximum."""


def parse_collapses(text: str) -> float:
    """Parse the share of conversations that may earn nothing; ConfigurationError for any other text."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= MOST_COLLAPSES:
        raise ConfigurationError(
            f"{text!r} is not a share from 0 to {MOST_COLLAPSES}. Write 0.3 for 30 % of the conversations"
        )
    return share


def _parse_rule(text: str, *, against: bool) -> Rule:
    # the last colon precedes the limit: a scope has one of its own
    head, colon, limit = map(str.strip, text.rpartition(":"))
    if not colon and gate_metric(limit):
        raise ConfigurationError(
            f"{text!r} names no limit. Write it as '{limit}:LIMIT'"
        )
    if not head and _SIGNED.fullmatch(limit):
        examples = "'mean:0.05' or 'mean:5%'" if against else "'mean:0.8' or '0.8'"
        raise ConfigurationError(
            f"{text!r} names no metric, or no limit. Write {examples}"
        )
    scope, name = _parse_scope(text, head)
    metric = gate_metric(name)
    if metric is None:
        names = metric_names(against=against)
        wrong = name or limit
        kind, dot, name_left = wrong.partition(".")
        # the user may have meant a scope
        if dot and kind in _KINDS:
            hint = f" Did you mean '{kind}:{name_left}'? Write {FORM}"
        else:
            near = did_you_mean(wrong.lower(), names)
            hint = f"{near} Write {FORM}, METRIC one of {', '.join(names)}"
        raise ConfigurationError(f"{text!r}: there is no metric {wrong!r}.{hint}")
    only = ""
    if against and not metric.against:
        only = "where a metric lies (fail-under)"
    if not against and not metric.under:
        only = "what moved (compare-fail)"
    if only:
        raise ConfigurationError(f"{text!r}: {name!r} is for rules about {only} only")
    if scope.kind and not metric.scoped:
        raise ConfigurationError(
            f"{text!r}: {name!r} is about all scenarios together. Leave '{scope}.' out"
        )
    value, relative = _parse_limit(text, limit, metric, against=against)
    return Rule(
        text=text.strip(),
        metric=metric,
        limit=value,
        relative=relative,
        against=against,
        scope=scope,
    )


def _parse_scope(text: str, head: str) -> tuple[Scope, str]:
    kind, colon, scope_name = map(str.strip, head.partition(":"))
    if not colon:
        return Scope(), head
    # the last dot: names may contain others, such as those of scenarios qualified by
    # module
    name, dot, metric_name = scope_name.rpartition(".")
    if kind in _KINDS and dot and not name:
        raise ConfigurationError(
            f"{text!r} names no {kind}. Write it as '{kind}:NAME.{metric_name}:LIMIT'"
        )
    if kind not in _KINDS:
        near = did_you_mean(kind, _KINDS)
        raise ConfigurationError(
            f"{text!r}: a rule is about a scenario or a skill, not a {kind!r}.{near} Write {FORM}"
        )
    if not (dot and name):
        raise ConfigurationError(
            f"{text!r}: which metric of {kind} {scope_name!r}? Write it as '{kind}:{scope_name}.mean:LIMIT'"
        )
    return Scope(kind=kind, name=name), metric_name  # type: ignore[arg-type]


def _parse_limit(
    text: str, limit: str, metric: GateMetric, *, against: bool
) -> tuple[float, bool]:
    """Return the limit, and whether it is a share of the baseline's value."""
    match = _NUMBER.fullmatch(limit.strip())
    if match is None:
        raise ConfigurationError(
            f"{text!r}: {limit!r} is not a limit. Write a number of at least 0, as in 0.05 or 5%"
        )
    percent = bool(match["percent"])
    factor = match["factor"].lower()
    value = float(match["number"]) * _FACTORS[factor]
    if factor and metric.unit != "tokens":
        raise ConfigurationError(f"{text!r}: k and m are for numbers of tokens")
    if not math.isfinite(value):
        raise ConfigurationError(f"{text!r}: {limit!r} is not a limit")
    # a share that should be small is 0 in most baselines, and so is any share of it:
    # for these, 5% means 5 points
    is_share = metric.unit == "share"
    relative = percent and against and (metric.higher_is_better or not is_share)
    if percent and not relative and not is_share:
        plain = {"usd": "dollars, as in 1.5", "tokens": "tokens, as in 20k"}.get(
            metric.unit, "points, as in 8.5"
        )
        raise ConfigurationError(
            f"{text!r}: percent of what? Write a number of {plain}"
        )
    if percent:
        value /= _PERCENT
    if metric.unit == "chance" and not 0 < value < 1:
        raise ConfigurationError(
            f"{text!r}: a probability lies between 0 and 1, as in {metric.name}:0.05"
        )
    if value > 1 and (is_share or (relative and metric.higher_is_better)):
        if relative:
            advice = "no limit above 1 (100%) can be broken"
        else:
            advice = "write the limit as 0.8 or 80%"
        raise ConfigurationError(
            f"{text!r}: {metric.words} lies between 0 and 1, so {advice}"
        )
    return value, relative
