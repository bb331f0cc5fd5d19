"""Metrics in addition to the score, averaged by scenario and over all examples of an agent at a span."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm.api.journal import RunResult, at_span
from pytest_ltm.api.storage import lazy, one_line, pluralize
from pytest_ltm.figures.statistics.counts import Interval
from pytest_ltm.figures.statistics.pairs import against_control
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.table import paint_text
from pytest_ltm.figures.text import (
    NOTHING,
    columns_of,
    pad_left,
    pad_right,
    shorten_text,
    wrap_text,
    wrap_texts,
)

if TYPE_CHECKING:
    from pytest_ltm.figures.statistics.paired_comparison import Comparison

# Few runs have a measure with a control to compare.
_compare_runs = lazy("pytest_ltm.figures.statistics.paired_comparison:compare_runs")
# Heading of the row of means over all examples that have a measure (micro means).
ALL_EXAMPLES = "all examples"
_GAP = "  "
_LONGEST = 24


class Averaged(Struct, frozen=True):
    """The mean of one measure."""

    mean: float
    count: int
    """Number of examples that have the measure."""


class AgentMetrics(Struct, frozen=True):
    """The measures of one agent at one memory span."""

    agent: str
    span_label: str
    names: tuple[str, ...]
    """In the order of their first appearance."""
    examples: Mapping[str, int]
    """Number of examples by scenario, in the order of the run."""
    cells: Mapping[tuple[str, str], Averaged]
    """By scenario and measure; the scenario "" stands for all of them."""
    contrasts: Mapping[str, Comparison]
    """Comparisons of a measure with its control, in the same examples."""

    @property
    def label(self) -> str:
        """The agent and span as text, such as `full at 32k`."""
        return one_line(at_span(self.agent, self.span_label))

    @property
    def sentences(self) -> list[str]:
        """The differences between measures and their controls, a sentence each."""
        texts = []
        for name, result in self.contrasts.items():
            sure = "interval needs trials"
            if interval := _difference_interval(result):
                sure = f"95% interval {interval.low:+.2f} … {interval.high:+.2f}"
            elif result.interval or result.is_identical:
                sure = "the same in all"
            count = pluralize(result.pairs, "example")
            texts.append(
                f"{name} against its control: {result.difference or 0.0:+.2f} ({sure}; {count})"
            )
        return texts

    def text(self, scenario: str, name: str) -> str:
        """Return the mean as text: one digit if any mean of the measure is above one, else three.

        A star follows if some examples lack the measure.
        """
        result = self.cells.get((scenario, name))
        # A blank aligns the digits with those of starred scenarios.
        if name not in self.partial:
            star = ""
        elif scenario in self._lacking(name):
            star = "*"
        else:
            star = " "
        if result is None:
            return NOTHING + star
        is_share = all(
            abs(cell.mean) <= 1
            for (_, cell_name), cell in self.cells.items()
            if cell_name == name
        )
        number = f"{result.mean:.3f}" if is_share else f"{result.mean:,.1f}"
        return number + star

    @property
    def partial(self) -> frozenset[str]:
        """The measures that only some examples of a scenario have."""
        return frozenset(name for name in self.names if self._lacking(name))

    def rows(self) -> list[list[str]]:
        """Return name, number of examples and all means of each scenario, ending with all examples."""
        counts = {**self.examples, "": sum(self.examples.values())}
        rows = []
        for scenario, count in counts.items():
            means = [self.text(scenario, name) for name in self.names]
            rows.append([scenario or ALL_EXAMPLES, f"{count:,}", *means])
        return rows

    def _lacking(self, name: str) -> set[str]:
        """Return the scenarios in which only some examples have the measure, and "" if there are any."""
        lacking = set()
        for scenario, count in self.examples.items():
            cell = self.cells.get((scenario, name))
            if cell is not None and cell.count < count:
                lacking |= {scenario, ""}
        return lacking


def agent_metrics(run: RunResult) -> tuple[AgentMetrics, ...]:
    """Return the metrics of each agent and span that has any, in the order of the run."""
    metrics = []
    for (agent, span_label), rows in group_by(
        run.scenarios, lambda row: (row.agent, row.span_label)
    ).items():
        cells: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
        for row in rows:
            for metric in row.metrics:
                # Each value counts twice: for its scenario, and for the row of all
                # examples.
                cells[row.scenario, metric.name].append(metric.value)
                cells["", metric.name].append(metric.value)
        if not cells:
            continue
        averages: dict[tuple[str, str], Averaged] = {}
        for place, values in cells.items():
            averages[place] = Averaged(fmean(values), len(values))
        contrasts: dict[str, Comparison] = {}
        for name, pairs in against_control(rows).items():
            contrasts[name] = _compare_runs(pairs, collapses=0)
        names = tuple(dict.fromkeys(name for _, name in cells))
        examples = Counter(row.scenario for row in rows)
        metrics.append(
            AgentMetrics(agent, span_label, names, examples, averages, contrasts)
        )
    return tuple(metrics)


def _difference_interval(comparison: Comparison) -> Interval | None:
    """Return the interval of a difference, or None if all units agree: zero width would claim certainty."""
    if comparison.interval and comparison.interval.low < comparison.interval.high:
        return comparison.interval
    return None


def metric_lines(run: RunResult, width: int, *, color: bool) -> list[str]:
    """Return a table of means per agent, no line wider than `width`; empty without metrics."""
    metrics = agent_metrics(run)
    if not metrics:
        return []
    text = "Further metrics: the mean over the examples that have one; they earn no points."
    if any(metric.partial for metric in metrics):
        starred = " *: some examples have none."
    else:
        starred = ""
    lines = wrap_text(text + starred, width)
    for metric in metrics:
        lines += _measure_table(metric, width, color=color)
        lines += wrap_texts(metric.sentences, width)
    return [*lines, ""]


def quiet_line(agent_metric: AgentMetrics) -> str:
    """Return the means over all examples in one line."""
    figures: list[str] = []
    for name in agent_metric.names:
        figures.append(f"{name} {agent_metric.text('', name).strip()}")
    return f"{agent_metric.label}: {', '.join(figures)}"


def metrics_json(run: RunResult, agent: str, span_label: str) -> dict[str, Any]:
    """Return the means of one agent at one span as JSON values, by measure."""
    for column_metrics in agent_metrics(run):
        if (column_metrics.agent, column_metrics.span_label) == (agent, span_label):
            return _column_json(column_metrics)
    return {}


def _column_json(column_metrics: AgentMetrics) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for name in column_metrics.names:
        parts: dict[str, dict[str, Any]] = {}
        for place in ("", *column_metrics.examples):
            cell = column_metrics.cells.get((place, name))
            if cell is not None:
                parts[place] = {"mean": cell.mean, "count": cell.count}
        metrics[name] = parts.pop("") | {"scenarios": parts}
        comparison = column_metrics.contrasts.get(name)
        if comparison is not None:
            interval = _difference_interval(comparison)
            metrics[name]["against_control"] = {
                "difference": comparison.difference,
                "interval": interval and [interval.low, interval.high],
                "examples": comparison.pairs,
            }
    return metrics


def _measure_table(agent_metric: AgentMetrics, width: int, *, color: bool) -> list[str]:
    """Return the table of one agent, split at blank lines if the terminal is too narrow."""
    # Names may come from files by anyone, figures come from us.
    rows = [[one_line(name), *figures] for name, *figures in agent_metric.rows()]
    heads = [("", ""), ("", "examples")]
    for name in agent_metric.names:
        # break `recall_repaired` in two lines; a blank leaves room for the stars below
        # it
        (first, _, second) = name.partition("_")
        blank = " " if name in agent_metric.partial else ""
        heads.append((first + blank, second + blank) if second else ("", name + blank))
    slots = []
    for i, head in enumerate(heads):
        texts = [*head, *(row[i] for row in rows)]
        slots.append(max(map(columns_of, texts)))
    # A long scenario name must not push the figures off the terminal.
    slots[0] = min(slots[0], max(width // 3, len(ALL_EXAMPLES)), _LONGEST)
    room = width - slots[0] - slots[1] - len(_GAP)
    pages: list[list[int]] = [[]]
    for i in range(2, len(heads)):
        needed = sum(len(_GAP) + slots[place] for place in [*pages[-1], i])
        if pages[-1] and needed > room:
            pages.append([])
        pages[-1].append(i)

    def line(cells: Sequence[str], page: Sequence[int]) -> str:
        label = pad_right(shorten_text(cells[0], slots[0], mark="…"), slots[0])
        numbers = [pad_left(cells[i], slots[i]) for i in [1, *page]]
        return _GAP.join([label, *numbers]).rstrip()

    lines = []
    title = shorten_text(agent_metric.label, width, mark="…")
    upper_heads, lower_heads = zip(*heads, strict=True)
    for page in pages:
        tops = [line(upper_heads, page), line(lower_heads, page)]
        rule = paint_text("─" * max(map(columns_of, tops)), "dim", color=color)
        lines += [
            "",
            paint_text(title, "strong", color=color),
            *filter(None, tops),
            rule,
        ]
        *scenario_lines, total = (line(row, page) for row in rows)
        lines += [*scenario_lines, *([rule, total] if len(scenario_lines) > 1 else [])]
    return lines


# Headings of the metrics that data sets publish in place of our score: they lead a
# report.
LEADING = {"f1": "F1 over all questions"}


def leading_metrics(run: RunResult) -> list[tuple[str, dict[str, str]]]:
    """Return the heading of each such metric, and its mean for each agent and span that has it."""
    leading = []
    for name, head in LEADING.items():
        means: dict[str, str] = {}
        for metric in agent_metrics(run):
            if name in metric.names:
                means[metric.label] = metric.text("", name).strip()
        if means:
            leading.append((head, means))
    return leading


def leading_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each such metric."""
    sentences = []
    for head, means in leading_metrics(run):
        places = [f"{place} {mean}" for place, mean in means.items()]
        sentences.append(f"{head}: {', '.join(places)}")
    return sentences
