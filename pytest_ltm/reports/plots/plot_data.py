"""The contents of each plot as plain data, with the numbers of tables, report file and `ltm compare`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias

from msgspec import Struct, structs

from pytest_ltm.api.journal import ConversationRecord, ScenarioResult, span_place
from pytest_ltm.api.scenarios import natural_sort_key
from pytest_ltm.api.storage import LtmError, did_you_mean, one_line, pluralize
from pytest_ltm.figures.columns import (
    GUESSED,
    UNSCORED,
    Column,
    ScenarioCell,
    scenario_names,
)
from pytest_ltm.figures.figures import mean_reply_seconds, tokens_a_reply
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.statistics.frontier import (
    BUDGETS,
    PUBLISHED,
    CostPoint,
    lafs,
    pareto_frontier,
)
from pytest_ltm.figures.statistics.paired_comparison import Comparison
from pytest_ltm.figures.statistics.totals import group_by, mean_or_none
from pytest_ltm.figures.text import NOTHING, score_text
from pytest_ltm.gate.changes import Change, Changes
from pytest_ltm.reports.agent_sentences import agents_under_test
from pytest_ltm.reports.html.details import timeline_json as lanes_of
from pytest_ltm.reports.html.report_data import (
    ConversationEntry,
    Material,
    ResultSeries,
    report_material,
)
from pytest_ltm.reports.html.score_tables import (
    BANDS,
    asked_at,
    band_label,
    depth_spots,
    power_label,
    span_power,
)


class PlottedScore(Struct, frozen=True, kw_only=True):
    """The score of one agent at one memory span."""

    span: int | None
    """The memory span in tokens; None for isolated examples."""
    score: float
    """The accuracy, with 0 for each example whose score is open."""
    low: float
    """The lower end of its interval, else of the range that open scores leave, else the score itself."""
    high: float


class AccuracyCurve(Struct, frozen=True, kw_only=True):
    """The scores of one agent over all spans."""

    agent: str
    reference: bool
    """Whether the agent is a control, or a bundled agent among others, and so never ranked."""
    spots: tuple[PlottedScore, ...]
    """By span, isolated examples first."""


class Curve(Struct, frozen=True, kw_only=True):
    """Score over memory span."""

    lines: tuple[AccuracyCurve, ...]
    """Agents under test in the order of the run, then the others."""
    spans: Mapping[int | None, str]
    """Labels, isolated examples first."""
    ceiling: Mapping[int | None, float]
    """The best score of the reference agents that read messages, by span; empty without any."""
    floor: Mapping[int | None, float]
    """The score earned without memory by guessing or cheating, by span; empty if that is nothing."""
    across: str
    """The label of the span axis."""
    notes: tuple[str, ...]


class Square(Struct, frozen=True, kw_only=True):
    """One cell of a heat map."""

    text: str
    score: float | None
    """The score; None if there is none."""
    more: str = ""
    """Additional text in small type."""


class Panel(Struct, frozen=True, kw_only=True):
    """The cells of one agent or one scenario; None marks cells that were not played."""

    name: str
    rows: tuple[tuple[Square | None, ...], ...]


class Heat(Struct, frozen=True, kw_only=True):
    """Small multiples of heat maps, all with the same rows and columns."""

    panels: tuple[Panel, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    across: str
    """The label of the columns."""
    down: str
    """The label of the rows."""
    notes: tuple[str, ...]


class ExchangeMark(Struct, frozen=True, kw_only=True):
    """One exchange in the plot of a conversation."""

    lane: int
    """The index of the lane; -1 for opening and filler."""
    kind: str
    start: int
    tokens: int


class Timeline(Struct, frozen=True, kw_only=True):
    """One conversation along its tokens."""

    label: str
    lanes: tuple[tuple[str, float | None], ...]
    """Name and score of each example, in the order in which they began."""
    extent: tuple[tuple[int, int] | None, ...]
    """Begin and end of each lane, in tokens."""
    marks: tuple[ExchangeMark, ...]
    links: tuple[tuple[int, int, int], ...]
    """The links from needles to questions: lane, end of the needle and start of the question, in tokens."""
    jumps: tuple[int, ...]
    """Positions of jumps in the conversation's time."""
    tokens: int
    notes: tuple[str, ...]


class PlottedDifference(Struct, frozen=True, kw_only=True):
    """The difference of the later side over the earlier one."""

    name: str
    value: float
    interval: tuple[float, float] | None
    pairs: str
    """The number of examples that are better, worse and equal."""


class Forest(Struct, frozen=True, kw_only=True):
    """Paired differences by scenario, a panel per agent and memory span of the later side."""

    across: str
    """The label of the axis, with the side compared with."""
    panels: tuple[tuple[str, tuple[PlottedDifference, ...]], ...]
    """The panels; the first row of each is the mean over its scenarios."""
    notes: tuple[str, ...]


class FrontierSpot(PlottedScore, frozen=True, kw_only=True):
    """Cost per reply and accuracy of one agent at one memory span."""

    agent: str
    cost: float


class FrontierPanel(Struct, frozen=True, kw_only=True):
    """Accuracy against one cost."""

    across: str
    spots: tuple[FrontierSpot, ...]
    steps: tuple[CostPoint, ...]
    """The Pareto-optimal spots, cheapest first."""
    published: tuple[CostPoint, ...] = ()


class Frontier(Struct, frozen=True, kw_only=True):
    """Accuracy against seconds, and against tokens if known."""

    panels: tuple[FrontierPanel, ...]
    notes: tuple[str, ...]


Content: TypeAlias = "Curve | Heat | Timeline | Forest | Frontier"


def chosen_material(
    runs: Sequence[LoadedRun], agents: Sequence[str] = (), spans: Sequence[str] = ()
) -> Material:
    """Return the report data limited to these agents and memory spans; empty sequences mean all.

    LtmError if there is no such agent or span.
    """
    all_material = report_material(runs)
    # Match labels as users gave them, without the run that is added if several runs
    # share one.
    labels = {series.column.agent for series in all_material.series}
    _check_names("agent", agents, labels)
    _check_names("memory span", spans, set(all_material.spans))
    chosen: list[ResultSeries] = []
    for series in all_material.series:
        column = series.column
        has_agent = column.agent in (agents or labels)
        if has_agent and column.span_label in (spans or all_material.spans):
            chosen.append(series)
    if not chosen:
        raise LtmError("no run has these agents at these memory spans")
    keys = {series.key for series in chosen}
    conversations: list[ConversationEntry] = []
    for conversation in all_material.conversations:
        if conversation.series in keys:
            conversations.append(conversation)
    return Material(
        runs=all_material.runs,
        series=tuple(chosen),
        conversations=tuple(conversations),
    )


def _check_names(kind: str, names: Sequence[str], existing: Collection[str]) -> None:
    """Raise LtmError for a name that does not exist."""
    for name in names:
        if name not in existing:
            choices = sorted(existing)
            raise LtmError(
                f"there is no {kind} {name!r}: {', '.join(choices)}.{did_you_mean(name, choices)}"
            )


# --- Score over span.


def accuracy_curves(material: Material) -> Curve:
    """Return the accuracy of each agent over memory spans. LtmError if nothing has a score."""
    scored = [series for series in material.series if series.column.out_of]
    if not scored:
        raise LtmError("nothing has a score, so there is no curve to draw")
    tested = agents_under_test(scored)
    lines = []
    for agent, parts in group_by(scored, lambda series: series.agent).items():
        spots = [_plotted_score(part) for part in parts]
        spots.sort(key=lambda spot: spot.span or 0)
        lines.append(
            AccuracyCurve(
                agent=agent, reference=agent not in tested, spots=tuple(spots)
            )
        )
    lines.sort(key=lambda line: line.reference)
    cheats: set[int] = set()
    for conversation in material.conversations:
        if conversation.folder.result.is_cheat:
            cheats.add(conversation.series)
    # Cheating takes no memory, so its score belongs to the floor and not to the
    # ceiling.
    floor = []
    ceiling = []
    for series in scored:
        column = series.column
        accuracy = column.accuracy_lower_bound or 0.0
        floor.append((column.span, column.floor / column.maximum_total))
        if series.agent in tested:
            continue
        if series.key in cheats:
            floor.append((column.span, accuracy))
        else:
            ceiling.append((column.span, accuracy))
    highest_floor = _highest_per_span(floor)
    columns = [series.column for series in scored]
    columns.sort(key=lambda column: column.span or 0)
    return Curve(
        lines=tuple(lines),
        spans={column.span: column.span_label for column in columns},
        ceiling=_highest_per_span(ceiling),
        floor=highest_floor if any(highest_floor.values()) else {},
        across="memory span in tokens (log scale)",
        notes=_curve_notes(columns),
    )


def _curve_notes(columns: Sequence[Column]) -> tuple[str, ...]:
    """Return notes on the meaning of the bars, and on what was counted as 0."""
    notes = []
    if any(column.interval for column in columns):
        notes.append(
            "Bars: 95\u00a0% intervals of the accuracy, in other conversations as well."
        )
    if not all(column.interval for column in columns):
        notes.append(
            "Points of a single conversation have no interval: it needs trials."
        )
    counted = "counted as 0, bars also allow for 1"
    unscored = sum(column.unscored_examples for column in columns if column.is_open)
    if unscored:
        notes.append(f"{pluralize(unscored, 'example')} without a score: {counted}.")
    unproven = sum(column.open for column in columns)
    if unproven:
        notes.append(
            f"{pluralize(unproven, 'example')} left open, at least in part: {counted}."
        )
    return tuple(notes)


def _plotted_score(series: ResultSeries) -> PlottedScore:
    """Return the accuracy of a series with its interval, or with the range left by open scores."""
    column = series.column
    score = column.total_lower_bound / column.maximum_total
    upper = column.total_upper_bound / column.maximum_total
    low = score
    high = upper
    if column.interval:
        # Open examples count as 0 here, so the score may lie outside the interval.
        low = min(score, column.interval.low)
        high = max(upper, column.interval.high)
    return PlottedScore(span=column.span, score=score, low=low, high=high)


def _highest_per_span(
    scores: Iterable[tuple[int | None, float]],
) -> dict[int | None, float]:
    """Return the highest score at each span, by span, isolated examples first."""
    highest: dict[int | None, float] = {}
    for span, score in sorted(scores, key=lambda place: place[0] or 0):
        highest[span] = max(score, highest.get(span, score))
    return highest


# --- Accuracy against the cost of a reply.


def accuracy_frontier(material: Material, tier: str = "") -> Frontier:
    """Return the accuracy of each agent against the mean seconds and input tokens per reply.

    `tier`: adds the published frontier of that tier of LongMemEval-V2. LtmError if no replies were timed.
    """
    scored = [series for series in material.series if series.column.out_of]
    published = tuple(PUBLISHED.get(tier, ()))
    seconds = _priced_spots(scored, mean_reply_seconds)
    if not seconds:
        raise LtmError(
            "no replies with a score were timed, so there is no frontier to draw"
        )
    panels = [
        FrontierPanel(
            across="seconds a reply, mean (log scale)",
            spots=seconds,
            steps=_frontier_steps(seconds),
            # Published in seconds, so it does not apply to the token panel.
            published=published,
        )
    ]
    tokens = _priced_spots(scored, tokens_a_reply)
    if tokens:
        panels.append(
            FrontierPanel(
                across="tokens read a reply (log scale)",
                spots=tokens,
                steps=_frontier_steps(tokens),
            )
        )
    points = [(spot.cost, spot.score) for spot in seconds]
    least, longest = BUDGETS
    notes = [f"LAFS of all together, {least:g} to {longest:g} s: {lafs(points):.1%}."]
    if tier:
        level = lafs(published)
        gain = 100 * (lafs([*points, *published]) - level)
        notes.append(
            f"Gain over the published frontier ({tier}, {level:.1%}): {gain:+.1f} points."
        )
    return Frontier(panels=tuple(panels), notes=tuple(notes))


def _priced_spots(
    scored: Sequence[ResultSeries], cost_of: Callable[[Column], float | None]
) -> tuple[FrontierSpot, ...]:
    """Return the series whose cost is known, named without their span if there is only one span."""
    one_span = len({series.column.span_label for series in scored}) == 1
    spots = []
    for series in scored:
        cost = cost_of(series.column)
        if cost:
            label = series.agent if one_span else series.label
            score = structs.asdict(_plotted_score(series))
            spots.append(FrontierSpot(agent=label, cost=cost, **score))
    return tuple(spots)


def _frontier_steps(spots: Sequence[FrontierSpot]) -> tuple[CostPoint, ...]:
    """Return the Pareto-optimal spots, cheapest first."""
    return tuple(pareto_frontier((spot.cost, spot.score) for spot in spots))


# --- Heat maps: scenario by span; depth of the needle by length.


def scenario_heatmap(material: Material) -> Heat:
    """Return the mean score of each scenario at each memory span, a panel for each agent."""
    names = scenario_names(material.columns)
    cells = {}
    for series in material.series:
        cells[series.agent, series.column.span_label] = series.column.cells
    panels = []
    for agent in material.agents:
        by_span = [cells.get((agent, span), {}) for span in material.spans]
        rows = []
        for name in names:
            row = [_scenario_square(by_name.get(name)) for by_name in by_span]
            rows.append(tuple(row))
        panels.append(Panel(name=agent, rows=tuple(rows)))
    return Heat(
        panels=tuple(panels),
        rows=tuple(names),
        columns=material.spans,
        across="memory span",
        down="",
        notes=_sign_notes(panels),
    )


def _scenario_square(cell: ScenarioCell | None) -> Square | None:
    """Return the mean score of a scenario as a square, or None if it was not played."""
    if cell is None:
        return None
    if cell.mean is None:
        return Square(text=cell.without, score=None)
    return Square(text=cell.text, score=cell.mean)


def _sign_notes(panels: Sequence[Panel]) -> tuple[str, ...]:
    """Return explanations of the signs that occur in the squares."""
    rows = chain.from_iterable(panel.rows for panel in panels)
    squares = chain.from_iterable(rows)
    signs = {square.text[-1:] for square in squares if square}
    meanings = {
        UNSCORED: "some examples have no score and are left out.",
        GUESSED: "not shown to be above what guessing earns.",
        NOTHING: "no example has a score.",
    }
    return tuple(f"{sign} {text}" for sign, text in meanings.items() if sign in signs)


def example_heatmap(material: Material, skill: str = "") -> Heat:
    """Return the score of each example at the only memory span, a panel per scenario, a row per agent.

    `skill`: only scenarios that need it. LtmError if there are several spans, or if no scenario needs the skill.
    """
    if len(material.spans) > 1:
        raise LtmError(
            f"examples are drawn at one memory span: choose one of {', '.join(material.spans)} with --span"
        )
    by_scenario: dict[str, dict[str, list[ScenarioResult]]] = {}
    for series in material.series:
        for row in series.rows:
            if not skill or skill in row.result.skills:
                by_agent = by_scenario.setdefault(row.result.scenario, {})
                by_agent.setdefault(series.agent, []).append(row.result)
    if not by_scenario:
        raise LtmError(f"no scenario of this run needs the skill {skill!r}")
    played: set[str] = set()
    # All panels have the same columns, although scenarios may have fewer examples.
    width = 0
    for by_agent in by_scenario.values():
        played.update(by_agent)
        width = max(width, *map(len, by_agent.values()))
    agents = [agent for agent in material.agents if agent in played]
    panels = []
    for scenario, by_agent in sorted(by_scenario.items()):
        rows = [_example_squares(by_agent.get(agent, ()), width) for agent in agents]
        panels.append(Panel(name=scenario, rows=tuple(rows)))
    return Heat(
        panels=tuple(panels),
        rows=tuple(agents),
        columns=tuple(f"T{number}" for number in range(1, width + 1)),
        across=f"examples, {span_place(material.spans[0])}".rstrip(", "),
        down="",
        notes=(),
    )


def _example_squares(
    results: Sequence[ScenarioResult], width: int
) -> tuple[Square | None, ...]:
    """Return the scores of examples in order, padded to the width with None."""
    ordered = sorted(
        results, key=lambda result: natural_sort_key(f"{result.trial} {result.example}")
    )
    squares: list[Square | None] = []
    for result in ordered:
        text = NOTHING if result.score is None else score_text(result.score)
        squares.append(Square(text=text, score=result.score))
    return (*squares, *[None] * (width - len(squares)))


# The rows of a depth map: the share of the conversation before the needle, or the
# tokens after it.
By: TypeAlias = Literal["share", "gap"]


def depth_heatmap(material: Material, by: By) -> Heat:
    """Return the mean score of examples by the position of the nearest needle of their last question.

    LtmError if no scored example has such a needle, or if no journal has its position.
    """
    spots = _gap_spots(material) if by == "gap" else _share_spots(material)
    if not spots:
        if by == "share" and _gap_spots(material):
            raise LtmError(
                "no journal says where needles were told: --by=gap needs none"
            )
        raise LtmError(
            "no example with a score has a question that depends on a needle"
        )
    columns = sorted({column for _, column, _, _ in spots})
    if by == "gap":
        rows = sorted({row for _, _, row, _ in spots})
        row_labels = [power_label(row) for row in rows]
        column_labels = [material.spans[column] for column in columns]
        across = "memory span"
        down = "tokens from the needle to the question"
        rounded = "Distances"
    else:
        rows = list(range(BANDS))
        row_labels = [band_label(row) for row in rows]
        column_labels = [power_label(column) for column in columns]
        across = "tokens before the question"
        down = "the needle was told after this share of them"
        rounded = "Lengths"
    scores: dict[tuple[str, int, int], list[float]] = {}
    for agent, column, row, score in spots:
        scores.setdefault((agent, column, row), []).append(score)
    panels = []
    for agent in material.agents:
        if any(spot[0] == agent for spot in spots):
            squares = []
            for row in rows:
                places = [(agent, column, row) for column in columns]
                squares.append(
                    tuple(_mean_square(scores.get(place)) for place in places)
                )
            panels.append(Panel(name=agent, rows=tuple(squares)))
    return Heat(
        panels=tuple(panels),
        rows=tuple(row_labels),
        columns=tuple(column_labels),
        across=across,
        down=down,
        notes=(
            f"Mean score, and below it the number of examples. {rounded} are rounded to powers of two.",
        ),
    )


def _mean_square(scores: Sequence[float] | None) -> Square | None:
    """Return the mean of scores with their count, or None without any."""
    mean = mean_or_none(scores or ())
    if scores is None or mean is None:
        return None
    return Square(text=score_text(mean), score=mean, more=f"{len(scores):,}")


# Agent, column, row and score of an example.
_Placed: TypeAlias = "tuple[str, int, int, float]"


def _gap_spots(material: Material) -> list[_Placed]:
    """Return the scored examples by memory span and by the gap before their question."""
    spots = []
    for series in material.series:
        column = material.spans.index(series.column.span_label)
        for row in series.rows:
            gap = row.result.gap
            score = row.result.score
            if gap is not None and score is not None:
                spots.append((series.agent, column, span_power(gap), score))
    return spots


def _share_spots(material: Material) -> list[_Placed]:
    """Return the scored examples by length of the conversation and by the share of it before the needle."""
    starts: dict[int, int] = {}
    for conversation in material.conversations:
        record = conversation.folder.record()
        if record:
            starts |= asked_at(conversation.rows, record)
    placed: list[_Placed] = []
    for spot in depth_spots(material, starts):
        placed.append((spot.agent, spot.length, spot.band, spot.score))
    return placed


# --- One conversation.


def conversation_timeline(material: Material) -> Timeline:
    """Return the time line of one conversation, if possible at the largest span and of an agent under test.

    LtmError if no conversation has a readable journal.
    """
    columns = {series.key: series.column for series in material.series}

    def order_of(conversation: ConversationEntry) -> tuple[bool, int]:
        column = columns[conversation.series]
        return column.control or column.is_bundled, -(column.span or 0)

    for conversation in sorted(material.conversations, key=order_of):
        record = conversation.folder.record()
        if record is not None and record.position:
            return _make_timeline(conversation, record)
    raise LtmError(
        "no conversation has a journal that can be read, so there is no time line to draw"
    )


def _make_timeline(
    conversation: ConversationEntry, record: ConversationRecord
) -> Timeline:
    """Return the time line of a conversation."""
    drawn = lanes_of(conversation.rows, record)
    lanes = [(one_line(lane["name"]), lane["score"]) for lane in drawn["lanes"]]
    marks = []
    starts = {}
    ends_of_telling = {}
    lane_of = {}
    for number, lane, kind, start, message, reply, _ in drawn["marks"]:
        marks.append(
            ExchangeMark(lane=lane, kind=kind, start=start, tokens=message + reply)
        )
        starts[number] = start
        ends_of_telling[number] = start + message
        lane_of[number] = lane
    # If the journal was truncated, results may refer to exchanges that it no longer
    # contains.
    links: list[tuple[int, int, int]] = []
    for telling, asking, *_ in drawn["links"]:
        if telling in starts and asking in starts:
            link = (lane_of[asking], ends_of_telling[telling], starts[asking])
            links.append(link)
    unscored = sum(score is None for _, score in lanes)
    notes = [f"{pluralize(unscored, 'example')} without a score."] if unscored else []
    return Timeline(
        label=conversation.label,
        lanes=tuple(lanes),
        extent=tuple(_lane_extent(lane, drawn["tokens"]) for lane in drawn["lanes"]),
        marks=tuple(marks),
        links=tuple(links),
        jumps=tuple(position for position, *_ in drawn["jumps"]),
        tokens=drawn["tokens"],
        notes=tuple(notes),
    )


def _lane_extent(lane: Mapping[str, Any], tokens: int) -> tuple[int, int] | None:
    """Return where an example began and ended, in tokens; None if it never began."""
    if lane["from"] is None:
        return None
    return lane["from"], tokens if lane["to"] is None else lane["to"]


# --- Paired differences.

OVERALL = "all scenarios"


def difference_forest(changes: Changes, spans: Sequence[str] = ()) -> Forest:
    """Return the differences of the later side over the earlier one, at all spans or only at some.

    LtmError if no example has a score on both sides.
    """
    scored: list[Change] = []
    for change in changes.changes:
        if change.level and (not spans or change.span_label in spans):
            scored.append(change)
    if not scored:
        raise LtmError(
            "no example has a score on both sides, so there is no difference to draw"
        )
    panels = []
    all_rows: list[PlottedDifference] = []
    for change in scored:
        # The largest loss is at the top, right below the mean.
        names = sorted(
            change.scenarios, key=lambda name: (change.levels[name].difference, name)
        )
        rows = [_plotted_difference(OVERALL, change.overall)]
        rows += [_plotted_difference(name, change.scenarios[name]) for name in names]
        panels.append((change.label, tuple(rows)))
        all_rows += rows
    runs = ""
    if changes.before != changes.after:
        runs = f" ({changes.before}; here {changes.after})"
    return Forest(
        across=f"difference in score from {changes.before_agent}{runs}",
        panels=tuple(panels),
        notes=_forest_notes(all_rows),
    )


def _plotted_difference(name: str, comparison: Comparison) -> PlottedDifference:
    """Return the difference in a scenario, or over all of them."""
    interval = comparison.interval
    better = comparison.better
    worse = comparison.worse
    equal = comparison.pairs - better - worse
    return PlottedDifference(
        name=name,
        value=comparison.difference or 0.0,
        interval=(interval.low, interval.high) if interval else None,
        pairs=f"+{better:,} −{worse:,} ={equal:,}",
    )


def _forest_notes(rows: Sequence[PlottedDifference]) -> tuple[str, ...]:
    """Return explanations of the signs and bars."""
    notes = [
        "Paired by example; at the right how many are better (+), worse (−) and equal (=)."
    ]
    if any(row.interval for row in rows):
        notes.append("Bars: 95\u00a0% intervals, in other conversations as well.")
    if any(row.interval is None for row in rows):
        notes.append(
            "No bar: no example differs, or there are too few trials for an interval."
        )
    return tuple(notes)
