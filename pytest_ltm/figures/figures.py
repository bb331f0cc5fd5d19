"""Figures: every number or text about a column, defined once.

Terminal, Markdown, HTML, `summary.json`, its schema and exports iterate this registry: a new figure is one more entry
here, and `python tests/golden/refresh.py schema` updates the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from statistics import median
from typing import TYPE_CHECKING, Any

from pytest_ltm.api.features import current_hooks
from pytest_ltm.api.storage import ConfigurationError, load_packaged_yaml
from pytest_ltm.figures.columns import HAMPERED, Column
from pytest_ltm.figures.figure import Figure, Missing, Report, has_mixed_costs
from pytest_ltm.figures.memory_measures import (
    MEASURES,
    PLACES,
    MemoryMeasure,
    count_facts,
    count_lost,
)
from pytest_ltm.figures.statistics.totals import group_by, pass_k, weighted_reach
from pytest_ltm.figures.text import NOTHING, format_percent

if TYPE_CHECKING:
    import pluggy


def all_figures() -> tuple[Figure, ...]:
    """Return the figures of this package, then those added by installed features or those of this run.

    ConfigurationError for a duplicate name.
    """
    return _figures_with(current_hooks())


# Cached for the newest run: every table asks for them again.
@lru_cache(maxsize=1)
def _figures_with(hooks: pluggy.HookRelay) -> tuple[Figure, ...]:
    figures = list(FIGURES)
    groups = {figure.group for figure in FIGURES}
    added: list[Figure] = []
    hooks.pytest_ltm_figures(register=added.append)
    for figure in added:
        if figure.group in groups:
            raise ConfigurationError(
                f"a feature adds the figure {figure.name!r}, whose name is taken. Rename it"
            )
        groups.add(figure.group)
        figures.append(figure)
    return tuple(figures)


def shown_figures(columns: Sequence[Column], *reports: Report) -> list[Figure]:
    """Return the figures shown in these tables: those with a value for any of the columns."""
    figures: list[Figure] = []
    for figure in all_figures():
        if (
            figure.label
            and not set(reports).isdisjoint(figure.reports.split())
            and any(map(figure.shown, columns))
            and set(figure.cells(columns)) != {NOTHING}
        ):
            figures.append(figure)
    return figures


HAMPERED_NOTE = (
    f"{HAMPERED}: so much went wrong within the agent (see the notes) "
    "that the score is hardly about its memory."
)


def figure_notes(columns: Sequence[Column]) -> list[str]:
    """Return sentences that explain the signs in tables of figures."""
    notes = []
    if any(column.hampered for column in columns):
        notes.append(HAMPERED_NOTE)
    if has_mixed_costs(columns):
        notes.append("USD in parentheses: an estimate; nothing was spent.")
    # Checks rows that this table leaves out, too: a note too many is better than an
    # unexplained sign.
    if any(figure.has_estimate(columns) for figure in all_figures() if figure.label):
        notes.append(
            "~: partly estimated, from the texts sent and received: the agent did not report all of it, or less than "
            "half of what was sent."
        )
    return notes


def figures_json(column: Column) -> dict[str, Any]:
    """Return the figures of a column in the form of `summary.json`."""
    record: dict[str, Any] = {}
    for group, figures in group_by(all_figures(), lambda figure: figure.group).items():
        first = figures[0]
        value = first.value(column)
        if value is not None and group != first.name:
            value = _group_json(figures, column)
        if value is not None or first.missing == "null":
            record[group] = value
    return record


def _group_json(figures: Iterable[Figure], column: Column) -> dict[str, Any]:
    """Return the figures of a group by the second part of their names, without absent ones."""
    record: dict[str, Any] = {}
    for figure in figures:
        value = figure.value(column)
        if value is not None or figure.missing != "absent":
            record[figure.name.partition(".")[2]] = value
    return record


def figure_numbers(column: Column) -> dict[str, float]:
    """Return the numeric figures, flattened for plotting tools: `judge_cost_usd`, `pass_rate`."""
    numbers: dict[str, float] = {}
    for figure in all_figures():
        value = (
            figure.value(column) if figure.unit not in ("flag", "interval") else None
        )
        if value is not None:
            # Plotting tools use flat names, and existing dashboards depend on those of
            # earlier exports.
            name = figure.name.removeprefix("usage.").removesuffix(".share")
            numbers[name.replace(".", "_")] = float(value)
    return numbers


# --- Building blocks of figures.


def _get(path: str) -> Callable[[Column], Any]:
    """Return a reader of an attribute path such as `spread.sd`; it returns None if a part is missing."""

    def read(column: Column) -> Any:
        value: Any = column
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        return value

    return read


def _ratio(number: float | None, of: float | None) -> float | None:
    return number / of if number is not None and of else None


def _sum_of(name: str) -> Callable[[Column], Any]:
    return lambda column: column.sum_of(name)


def _some_of(name: str) -> Callable[[Column], Any]:
    return lambda column: column.sum_of(name) or None


def _asked(side: str, group: str, label: str, missing: Missing) -> tuple[Figure, ...]:
    """Return figures on the usage of a judge or simulated users; `side`: their prefix in example results."""

    def of_examples(name: str) -> Callable[[Column], Any]:
        return lambda column: column.sum_of_examples(f"{side}_{name}")

    def is_estimated(column: Column) -> bool:
        return any(getattr(row, f"{side}_estimated") for row in column.rows)

    calls = of_examples("calls")
    usd = of_examples("cost_usd")
    return (
        Figure(
            f"{group}.calls",
            "count",
            lambda column: calls(column) or None,
            missing=missing,
        ),
        Figure(f"{group}.tokens", "count", of_examples("tokens")),
        Figure(
            f"{group}.cost_usd",
            "usd",
            usd,
            label,
            missing="null",
            estimated=is_estimated,
        ),
        _flag(f"{group}.estimated", is_estimated),
    )


def _flag(name: str, is_set: Callable[[Column], bool]) -> Figure:
    return Figure(name, "flag", lambda column: is_set(column) or None, missing="absent")


def _agent_usage(
    name: str, label: str, value: Callable[[Column], float | None], form: str
) -> Figure:
    """Return a figure on an agent's usage per message, as its provider counts it."""

    def text(column: Column) -> str:
        return form.format(value(column))

    return Figure(
        f"usage.{name}",
        "ratio",
        value,
        label,
        missing="absent",
        text=text,
        estimated=_is_estimated,
    )


_is_estimated = _get("is_estimated")


def mean_reply_seconds(column: Column) -> float | None:
    """Return the mean seconds per reply; None without timings."""
    replies = (column.sum_of("exchanges") or 0) - (column.sum_of("told") or 0)
    return _ratio(_agent_seconds(column), replies)


def tokens_a_reply(column: Column) -> float | None:
    """Return the mean input tokens per reply; None without usage."""
    read = column.sum_of("input_tokens")
    if read is None:
        return None
    return _ratio(read - column.sum_of("told_input_tokens"), column.sum_of("metered"))


def _agent_rate(name: str, count: Callable[[Column], float | None]) -> Figure:
    return Figure(
        name,
        "ratio",
        lambda column: _ratio(count(column), _agent_seconds(column)),
        missing="null",
    )


def _agent_cost(
    name: str,
    label: str | Callable[[Sequence[Column]], str],
    value: Callable[[Column], Any],
) -> Figure:
    return Figure(
        name,
        "usd",
        value,
        label,
        missing="null",
        estimated=_is_estimated,
        spent_by_agent=True,
    )


def _scenario_cost(column: Column) -> float | None:
    if column.cost_usd is None:
        return None
    filler = column.sum_of("filler_cost_usd") or 0.0
    harness = column.sum_of("harness_cost_usd") or 0.0
    # The remainder of three rounded sums may be slightly negative.
    return max(column.cost_usd - filler - harness, 0.0)


def _durations(group: str, label: str, path: str) -> tuple[Figure, Figure]:
    """Return median and 95th percentile in seconds: one cell in tables, if agents report their usage."""
    middle = _get(f"{path}.median")
    slow = _get(f"{path}.p95")

    def text(column: Column) -> str:
        return f"{_brief_seconds(middle(column))}/{_brief_seconds(slow(column))}"

    def asks_a_model(column: Column) -> bool:
        # Times of rule-based agents mean nothing and change with every run, so tables
        # omit them.
        return column.sum_of("input_tokens") is not None

    both = Figure(
        f"{group}.median",
        "seconds",
        middle,
        label,
        missing="absent",
        text=text,
        shown=asks_a_model,
    )
    return both, Figure(f"{group}.p95", "seconds", slow)


# Seconds from which on no fraction is shown.
_LONG = 10


def _brief_seconds(seconds: float) -> str:
    if seconds >= _LONG:
        return f"{seconds:.0f}"
    if seconds >= 1:
        return f"{seconds:.1f}"
    return f"{seconds:.2f}"


def _measured_spans(column: Column) -> list[int]:
    spans = [row.measured_span for row in column.rows]
    return sorted(span for span in spans if span is not None)


_agent_seconds = _get("pace.asking.total")


def _pass_k(*, in_all: bool) -> Callable[[Column], float | None]:
    return lambda column: (
        pass_k(column.rows, column.pass_k_trials, every=in_all)
        if column.pass_k_trials
        else None
    )


def _tries_label(text: str) -> Callable[[Sequence[Column]], str]:
    return lambda columns: text.format(max(column.pass_k_trials for column in columns))


def _memory_figure(measure: MemoryMeasure) -> Figure:
    in_terminal = "terminal" if measure.unit == "share" else "verbose"
    return Figure(
        f"memory.{measure.name}",
        measure.unit,
        lambda column: measure.of_rows(column.rows),
        measure.label,
        missing="absent",
        reports=f"{in_terminal} markdown html",
    )


def _lost_at(place: str) -> Callable[[Column], int | None]:
    return lambda column: (
        None if count_facts(column.rows) is None else count_lost(column.rows)[place]
    )


def _lost_text(column: Column) -> str:
    lost = count_lost(column.rows)
    return "/".join(str(lost[place]) for place in PLACES)


def _cost_label(columns: Sequence[Column]) -> str:
    for column in columns:
        if column.cost_usd is not None and not column.is_hypothetical:
            return "cost in USD"
    return "would cost in USD"


# The work of its memory, if reported.
_MEMORY = (
    Figure(
        "memory.facts",
        "count",
        lambda column: count_facts(column.rows),
        "facts told",
        missing="absent",
    ),
    *map(_memory_figure, MEASURES),
    Figure(
        "memory.never_written",
        "count",
        _lost_at(PLACES[0]),
        "lost in write/find/use",
        missing="absent",
        text=_lost_text,
    ),
    Figure("memory.not_found", "count", _lost_at(PLACES[1]), missing="absent"),
    Figure("memory.not_used", "count", _lost_at(PLACES[2]), missing="absent"),
)
# Scores.
SCORES = (
    Figure(
        "total",
        "points",
        lambda column: column.total if column.out_of else None,
        "total",
        missing="null",
        reports="markdown html",
        text=lambda column: f"{column.points} of {column.maximum_total}",
        order=_get("total_lower_bound"),
    ),
    Figure("out_of", "count", _get("out_of")),
    Figure(
        "floor",
        "points",
        lambda column: column.floor or None,
        "without memory",
        missing="absent",
    ),
    Figure(
        "bounds.low",
        "points",
        lambda column: column.total_lower_bound if column.out_of else None,
        missing="null",
    ),
    Figure("bounds.high", "points", _get("total_upper_bound")),
    Figure("bounds.full", "count", _get("maximum_total")),
    Figure(
        "spread.sd",
        "points",
        _get("spread.sd"),
        "spread of total",
        missing="null",
        reports="terminal html",
    ),
    Figure("spread.low", "points", _get("spread.low")),
    Figure("spread.high", "points", _get("spread.high")),
    Figure(
        "accuracy",
        "share",
        _get("accuracy"),
        "accuracy",
        missing="null",
        text=lambda column: column.share,
        order=lambda column: column.accuracy_lower_bound,
    ),
    Figure(
        "pass_rate.share",
        "share",
        _get("pass_rate.share"),
        "passed",
        missing="null",
        reports="trials markdown",
    ),
    Figure("pass_rate.passed", "count", _get("pass_rate.passed")),
    Figure("pass_rate.of", "count", _get("pass_rate.of")),
    Figure(
        "pass_rate.interval",
        "interval",
        lambda column: (ends := column.pass_rate.interval) and [ends.low, ends.high],
        "95% interval",
        missing="null",
        reports="markdown",
        without="needs trials",
    ),
    Figure(
        "pass_k.k", "count", lambda column: column.pass_k_trials or None, missing="null"
    ),
    Figure(
        "pass_k.all",
        "share",
        _pass_k(in_all=True),
        _tries_label("pass^{}: all trials"),
        missing="null",
        reports="terminal markdown",
    ),
    Figure(
        "pass_k.any",
        "share",
        _pass_k(in_all=False),
        _tries_label("pass@{}: any trial"),
        missing="null",
        reports="terminal markdown",
    ),
    Figure(
        "asked_together",
        "count",
        _some_of("asked_together"),
        "asked in one talk",
        missing="absent",
    ),
)
# Effort.
EFFORTS = (
    Figure("examples", "count", lambda column: len(column.rows)),
    Figure(
        "unscored",
        "count",
        _get("unscored_examples"),
        "no score",
        reports="markdown html",
    ),
    Figure(
        "open",
        "count",
        lambda column: column.open or None,
        "open",
        missing="absent",
        reports="markdown html",
    ),
    Figure("tokens", "count", _get("tokens"), "tokens"),
    Figure(
        "filler_share",
        "share",
        _get("filler_share"),
        "of which filler",
        missing="null",
        reports="verbose html",
    ),
    Figure(
        "agent_share",
        "share",
        lambda column: _ratio(column.sum_of("reply_tokens"), column.tokens),
        "of which replies",
        missing="null",
        reports="verbose markdown html",
    ),
    Figure(
        "reply_tokens", "count", _sum_of("reply_tokens"), "reply tokens", reports="html"
    ),
    Figure(
        "simulated_seconds",
        "simulated",
        _sum_of("simulated_seconds"),
        "simulated time",
        reports="verbose html",
    ),
    Figure(
        "overruns",
        "count",
        lambda column: sum(row.overrun for row in column.rows),
        "overran the span",
        reports="terminal html",
        shown=lambda column: any(row.overrun for row in column.rows),
    ),
    Figure(
        "mishap_share",
        "share",
        lambda column: column.mishap_share or None,
        "went wrong within",
        missing="absent",
        text=lambda column: (
            format_percent(column.mishap_share) + HAMPERED * column.hampered
        ),
    ),
    Figure(
        "measured_spans.count", "count", lambda column: len(_measured_spans(column))
    ),
    Figure(
        "measured_spans.median",
        "tokens",
        lambda column: median(spans) if (spans := _measured_spans(column)) else None,
        missing="null",
    ),
    Figure(
        "measured_spans.longest",
        "count",
        lambda column: max(_measured_spans(column), default=None),
        missing="null",
    ),
    Figure(
        "amended",
        "count",
        _get("amended_verdicts"),
        "amended by hand",
        reports="terminal",
        shown=lambda column: column.amended_verdicts > 0,
    ),
    Figure("usage.input_tokens", "count", _sum_of("input_tokens"), missing="null"),
    Figure("usage.output_tokens", "count", _sum_of("output_tokens")),
    Figure("usage.cached_tokens", "count", _sum_of("cached_tokens")),
    _agent_usage("tokens_a_reply", "tokens read a reply", tokens_a_reply, "{:,.0f}"),
    _agent_usage(
        "amplification",
        "amplification",
        lambda column: (
            None
            if (read := column.sum_of("input_tokens")) is None
            else _ratio(read + (column.sum_of("output_tokens") or 0), column.tokens)
        ),
        "{:,.1f}x",
    ),
    _agent_usage(
        "cached_share",
        "of that from a cache",
        lambda column: _ratio(
            column.sum_of("cached_tokens") or None, column.sum_of("input_tokens")
        ),
        "{:.0%}",
    ),
    _agent_usage(
        "calls_a_message",
        "calls a message",
        lambda column: _ratio(column.sum_of("calls") or None, column.sum_of("metered")),
        "{:.2f}",
    ),
    _agent_usage(
        "calls_to_store",
        "calls to store",
        lambda column: (
            _ratio(calls, column.sum_of("told"))
            if (calls := column.sum_of("told_calls")) or column.sum_of("calls")
            else None
        ),
        "{:.2f}",
    ),
    _flag("usage.estimated", _is_estimated),
    Figure("agent_seconds", "seconds", _agent_seconds, missing="null"),
    *_durations("reply_seconds", "reply in s, median/p95", "pace.asking"),
    *_durations("storing_seconds", "storing in s, median/p95", "pace.storing"),
    *_durations("settling_seconds", "settling in s, median/p95", "pace.settling"),
    *_MEMORY,
    _agent_rate("tokens_a_second", _sum_of("reply_tokens")),
    _agent_rate("tests_an_hour", lambda column: len(column.rows) * 3600),
    _agent_cost(
        "cost_usd",
        _cost_label,
        _sum_of("cost_usd"),
    ),
    _agent_cost("cost.scenarios", "", _scenario_cost),
    _agent_cost("cost.filler", "for filler", _sum_of("filler_cost_usd")),
    _agent_cost("cost.harness", "for harness", _sum_of("harness_cost_usd")),
    Figure("cost.hypothetical", "boolean", _get("is_hypothetical")),
    _flag("cost.estimated", _is_estimated),
    *_asked("judge", "judge", "judge in USD", "null"),
    *_asked("user", "simulated_users", "simulated user in USD", "absent"),
    Figure("lost.tokens", "count", _some_of("lost_tokens"), missing="absent"),
    Figure(
        "lost.cost_usd",
        "usd",
        _sum_of("lost_cost_usd"),
        "lost in USD",
        missing="null",
        estimated=lambda _: True,
    ),
    Figure(
        "ltm_reach",
        "tokens",
        _get("ltm_score_paper"),
        "LTM score (paper)",
        missing="null",
        reports="verbose html",
    ),
    Figure(
        "ltm_reach_weighted",
        "tokens",
        lambda column: weighted_reach(column.rows),
        "LTM score (blog)",
        missing="null",
        reports="html",
    ),
    Figure("exchanges", "count", _sum_of("exchanges"), "exchanges", reports="verbose"),
    Figure(
        "conversations",
        "count",
        lambda column: len(column.conversations),
        "conversations",
        reports="verbose",
    ),
)
FIGURES = (*SCORES, *EFFORTS)


@cache
def read_definitions() -> Mapping[str, str]:
    """Return the definitions of a run's numbers, by their names in `summary.json` and in item properties."""
    texts: dict[str, str] = load_packaged_yaml(__file__, "figures.yml")
    measures = [f"`{measure.name}`: {measure.definition}" for measure in MEASURES]
    memory_text = texts["memory"].replace("{measures}", "; ".join(measures))
    return texts | {"memory": memory_text}


def figure_meaning(figure: Figure) -> str:
    """Return a figure's definition, or that of its group; "" if the name is self-explanatory."""
    return figure.definition or read_definitions().get(figure.group, "")
