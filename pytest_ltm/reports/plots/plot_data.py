"""What each picture shows, as plain data: the numbers are those of tables, report file and `ltm compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import ScenarioResult, span_place
from pytest_ltm._core.model.plan import natural_sort_key
from pytest_ltm._core.storage.errors import LtmError, did_you_mean
from pytest_ltm._core.storage.wording import one_line, pluralize
from pytest_ltm.figures.columns import GUESSED, UNSCORED
from pytest_ltm.figures.figures import mean_reply_seconds, tokens_a_reply
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.statistics.frontier import (
    BUDGETS,
    PUBLISHED,
    CostPoint,
    lafs,
    pareto_frontier,
)
from pytest_ltm.figures.statistics.totals import group_by, mean_or_none
from pytest_ltm.figures.text import NOTHING, score_text
from pytest_ltm.gate.changes import Changes
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
    """One agent at one memory span."""

    span: int | None
    """In tokens; None where examples are isolated."""
    score: float
    """The accuracy, with 0 for each example whose score is open."""
    low: float
    """Where its interval begins, or the bounds that open scores leave; the score itself where neither is known."""
    high: float


class AccuracyCurve(Struct, frozen=True, kw_only=True):
    """One agent over all spans."""

    agent: str
    reference: bool
    """A control, or an agent of this package beside others: never ranked."""
    spots: tuple[PlottedScore, ...]
    """By span, isolated examples first."""


class Curve(Struct, frozen=True, kw_only=True):
    """Score over span."""

    lines: tuple[AccuracyCurve, ...]
    """Agents under test in the order of the run, then the others."""
    spans: Mapping[int | None, str]
    """Labels, isolated examples first."""
    ceiling: Mapping[int | None, float]
    """The best of the reference agents that listen, by span; empty where there is none."""
    floor: Mapping[int | None, float]
    """What is earned without memory by guessing or cheating, by span; empty where that is nothing."""
    across: str
    """What the spans are."""
    notes: tuple[str, ...]


class Square(Struct, frozen=True, kw_only=True):
    """One cell of a heat map."""

    text: str
    score: float | None
    """None: there is no score."""
    more: str = ""
    """In small type."""


class Panel(Struct, frozen=True, kw_only=True):
    """One agent's or one scenario's cells; None: nothing of that kind was played."""

    name: str
    rows: tuple[tuple[Square | None, ...], ...]


class Heat(Struct, frozen=True, kw_only=True):
    """Small multiples of heat maps, all with the same rows and columns."""

    panels: tuple[Panel, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    across: str
    """What the columns are."""
    down: str
    """What the rows are."""
    notes: tuple[str, ...]


class ExchangeMark(Struct, frozen=True, kw_only=True):
    """One exchange of a conversation."""

    lane: int
    """-1: opening and filler."""
    kind: str
    start: int
    tokens: int


class Timeline(Struct, frozen=True, kw_only=True):
    """One conversation over its tokens."""

    label: str
    lanes: tuple[tuple[str, float | None], ...]
    """Name and score of each example, in the order in which they began."""
    extent: tuple[tuple[int, int] | None, ...]
    """From where to where each of them went, in tokens."""
    marks: tuple[ExchangeMark, ...]
    links: tuple[tuple[int, int, int], ...]
    """Lane, and the tokens at which a needle was told and its question was asked."""
    jumps: tuple[int, ...]
    """Where the conversation's time jumped."""
    tokens: int
    notes: tuple[str, ...]


class PlottedDifference(Struct, frozen=True, kw_only=True):
    """What the later side has over the earlier one."""

    name: str
    value: float
    interval: tuple[float, float] | None
    pairs: str
    """How many examples are better, worse and equal."""


class Forest(Struct, frozen=True, kw_only=True):
    """Paired differences by scenario, a panel for each agent and memory span of the later side."""

    across: str
    """What is shown: the difference from whom."""
    panels: tuple[tuple[str, tuple[PlottedDifference, ...]], ...]
    """The first of each panel is the mean over its scenarios."""
    notes: tuple[str, ...]


class FrontierSpot(PlottedScore, frozen=True, kw_only=True):
    """One agent at one memory span: what a reply of its cost, and its accuracy."""

    agent: str
    cost: float


class FrontierPanel(Struct, frozen=True, kw_only=True):
    """Accuracy against one cost."""

    across: str
    spots: tuple[FrontierSpot, ...]
    steps: tuple[CostPoint, ...]
    """The spots that none beats, the cheapest first."""
    published: tuple[CostPoint, ...] = ()


class Frontier(Struct, frozen=True, kw_only=True):
    """Accuracy against seconds, and against tokens where they are known."""

    panels: tuple[FrontierPanel, ...]
    notes: tuple[str, ...]


Content: TypeAlias = "Curve | Heat | Timeline | Forest | Frontier"


def chosen_material(
    runs: Sequence[LoadedRun], agents: Sequence[str] = (), spans: Sequence[str] = ()
) -> Material:
    """Return what the runs hold of these agents and memory spans; of all of them where none is named.

    LtmError if there is no such agent or span.
    """
    whole = report_material(runs)
    # By the labels that users gave, without the run that is added where several runs
    # share one.
    there = {
        "agent": {each.column.agent for each in whole.series},
        "memory span": set(whole.spans),
    }
    for what, names in (("agent", agents), ("memory span", spans)):
        for name in names:
            if name not in there[what]:
                known = sorted(there[what])
                raise LtmError(
                    f"there is no {what} {name!r}: {', '.join(known)}.{did_you_mean(name, known)}"
                )
    series = tuple(
        each
        for each in whole.series
        if each.column.agent in (agents or there["agent"])
        and each.column.span_label in (spans or whole.spans)
    )
    if not series:
        raise LtmError("no run has these agents at these memory spans")
    keys = {each.key for each in series}
    held = tuple(
        conversation
        for conversation in whole.conversations
        if conversation.series in keys
    )
    return Material(runs=whole.runs, series=series, conversations=held)


# --- Score over span.


def accuracy_curves(material: Material) -> Curve:
    """Return the accuracy of each agent over memory spans. LtmError where nothing has a score."""
    scored = [each for each in material.series if each.column.out_of]
    if not scored:
        raise LtmError("nothing has a score, so there is no curve to draw")
    own = agents_under_test(scored)
    lines = [
        AccuracyCurve(
            agent=agent,
            reference=agent not in own,
            spots=tuple(
                sorted(map(_plotted_score, of), key=lambda spot: spot.span or 0)
            ),
        )
        for agent, of in group_by(scored, lambda each: each.agent).items()
    ]
    cheats = {
        conversation.series
        for conversation in material.conversations
        if conversation.folder.result.is_cheat
    }
    others = [each for each in scored if each.agent not in own]
    # What a cheat earns takes no memory, so it belongs to the floor and not to the
    # ceiling.
    without = [
        (each.column.span, each.column.accuracy_lower_bound or 0.0)
        for each in others
        if each.key in cheats
    ]
    without += [
        (each.column.span, each.column.floor / each.column.maximum_total)
        for each in scored
    ]
    floor = _highest_per_span(without)
    ceiling = [
        (each.column.span, each.column.accuracy_lower_bound or 0.0)
        for each in others
        if each.key not in cheats
    ]
    by_span = sorted(
        (each.column for each in scored), key=lambda column: column.span or 0
    )
    unknown = sum(column.unscored_examples for column in by_span if column.is_open)
    unproven = sum(column.open for column in by_span)
    counted = "counted as 0, bars also allow for 1"
    notes = {
        "Bars: 95\u00a0% intervals of the accuracy, in other conversations as well.": any(
            column.interval for column in by_span
        ),
        "Points of a single conversation have no interval: it needs trials.": not all(
            column.interval for column in by_span
        ),
        f"{pluralize(unknown, 'example')} without a score: {counted}.": unknown,
        f"{pluralize(unproven, 'example')} left open, at least in part: {counted}.": unproven,
    }
    return Curve(
        lines=tuple(sorted(lines, key=lambda line: line.reference)),
        spans={column.span: column.span_label for column in by_span},
        ceiling=_highest_per_span(ceiling),
        floor=floor if any(floor.values()) else {},
        across="memory span in tokens (log scale)",
        notes=tuple(note for note, holds in notes.items() if holds),
    )


def _plotted_score(series: ResultSeries) -> PlottedScore:
    column = series.column
    score, most = (
        column.total_lower_bound / column.maximum_total,
        column.total_upper_bound / column.maximum_total,
    )
    sure = column.interval
    return PlottedScore(
        span=column.span,
        score=score,
        # Here open examples count as 0, so the score may lie outside the interval.
        low=min(score, sure.low) if sure else score,
        high=max(most, sure.high) if sure else most,
    )


def _highest_per_span(
    scores: Iterable[tuple[int | None, float]],
) -> dict[int | None, float]:
    by_span = group_by(scores, lambda each: each[0])
    return {
        span: max(score for _, score in by_span[span])
        for span in sorted(by_span, key=lambda span: span or 0)
    }


# --- Accuracy against what a reply costs.


def accuracy_frontier(material: Material, tier: str = "") -> Frontier:
    """Return the accuracy of each agent against the mean seconds, and tokens read, of a reply.

    `tier`: beside the published frontier of that tier of LongMemEval-V2. LtmError where
    no replies were timed.
    """
    scored = [each for each in material.series if each.column.out_of]
    alone = len({each.column.span_label for each in scored}) == 1
    published = tuple(PUBLISHED.get(tier, ()))
    panels = []
    for across, cost in (
        ("seconds a reply, mean (log scale)", mean_reply_seconds),
        ("tokens read a reply (log scale)", tokens_a_reply),
    ):
        priced = [(each, value) for each in scored if (value := cost(each.column))]
        spots = tuple(
            FrontierSpot(
                agent=each.agent if alone else each.label,
                cost=value,
                **structs.asdict(_plotted_score(each)),
            )
            for each, value in priced
        )
        if spots:
            steps = tuple(pareto_frontier((spot.cost, spot.score) for spot in spots))
            panels.append(
                FrontierPanel(
                    across=across, spots=spots, steps=steps, published=published
                )
            )
            published = ()  # it is in seconds: beside tokens it would mean nothing
    if not panels or "seconds" not in panels[0].across:
        raise LtmError(
            "no replies with a score were timed, so there is no frontier to draw"
        )
    own, (least, most) = [(spot.cost, spot.score) for spot in panels[0].spots], BUDGETS
    notes = [f"LAFS of all together, {least:g} to {most:g} s: {lafs(own):.1%}."]
    if tier:
        before = lafs(panels[0].published)
        gain = 100 * (lafs([*own, *panels[0].published]) - before)
        notes.append(
            f"Gain over the published frontier ({tier}, {before:.1%}): {gain:+.1f} points."
        )
    return Frontier(panels=tuple(panels), notes=tuple(notes))


# --- Heat maps: scenario by span; depth of the needle by length.


def scenario_heatmap(material: Material) -> Heat:
    """Return the mean score of each scenario at each memory span, a panel for each agent."""
    rows = sorted({name for each in material.series for name in each.column.cells})
    by = {
        (each.agent, each.column.span_label): each.column.cells
        for each in material.series
    }

    def square(agent: str, span: str, scenario: str) -> Square | None:
        cell = by.get((agent, span), {}).get(scenario)
        if cell is None:
            return None
        return Square(
            text=cell.without if cell.mean is None else cell.text, score=cell.mean
        )

    panels = tuple(
        Panel(
            name=agent,
            rows=tuple(
                tuple(square(agent, span, name) for span in material.spans)
                for name in rows
            ),
        )
        for agent in material.agents
    )
    shown = {
        square.text[-1:]
        for panel in panels
        for row in panel.rows
        for square in row
        if square
    }
    notes = {
        UNSCORED: f"{UNSCORED} some examples have no score and are left out.",
        GUESSED: f"{GUESSED} not above what guessing earns.",
        NOTHING: f"{NOTHING} no example has a score.",
    }
    return Heat(
        panels=panels,
        rows=tuple(rows),
        columns=material.spans,
        across="memory span",
        down="",
        notes=tuple(text for sign, text in notes.items() if sign in shown),
    )


def example_heatmap(material: Material, skill: str = "") -> Heat:
    """Return the score of each example at the one memory span, a panel for each scenario, a row for each agent.

    `skill`: only scenarios that need it. LtmError where there are several spans, or
    nothing needs the skill.
    """
    if len(material.spans) > 1:
        raise LtmError(
            f"examples are drawn at one memory span: choose one of {', '.join(material.spans)} with --span"
        )
    by_example: dict[str, dict[str, list[ScenarioResult]]] = {}
    for series in material.series:
        for result in (
            row.result for row in series.rows if not skill or skill in row.result.skills
        ):
            by_example.setdefault(result.scenario, {}).setdefault(
                series.agent, []
            ).append(result)
    if not by_example:
        raise LtmError(f"no scenario of this run needs the skill {skill!r}")
    agents = [
        agent
        for agent in material.agents
        if any(agent in by for by in by_example.values())
    ]
    columns = max(len(results) for by in by_example.values() for results in by.values())

    def squares(results: Sequence[ScenarioResult]) -> tuple[Square | None, ...]:
        ordered = sorted(
            results,
            key=lambda result: natural_sort_key(f"{result.trial} {result.example}"),
        )
        texts = [
            NOTHING if each.score is None else score_text(each.score)
            for each in ordered
        ]
        drawn = [
            Square(text=text, score=each.score)
            for text, each in zip(texts, ordered, strict=True)
        ]
        # All panels have the same columns, but scenarios may have fewer examples.
        return (*drawn, *[None] * (columns - len(drawn)))

    return Heat(
        panels=tuple(
            Panel(
                name=scenario,
                rows=tuple(squares(by.get(agent, ())) for agent in agents),
            )
            for scenario, by in sorted(by_example.items())
        ),
        rows=tuple(agents),
        columns=tuple(f"T{number}" for number in range(1, columns + 1)),
        across=f"examples, {span_place(material.spans[0])}".rstrip(", "),
        down="",
        notes=(),
    )


# What the rows of a depth map are: the share of the conversation before the needle, or
# the tokens after it.
By: TypeAlias = Literal["share", "gap"]


def depth_heatmap(material: Material, by: By) -> Heat:
    """Return the mean score of examples by where the nearest needle of their last question was told.

    LtmError where no example with a score has such a needle, or no journal says where
    it was told.
    """
    if by == "gap":
        spots = list(_by_gap(material))
    else:
        asked: dict[int, int] = {}
        for conversation in material.conversations:
            record = conversation.folder.record()
            asked |= asked_at(conversation.rows, record) if record else {}
        spots = [
            (spot.agent, spot.length, spot.band, spot.score)
            for spot in depth_spots(material, asked)
        ]
    if not spots:
        unknown = by == "share" and any(_by_gap(material))
        cure = "no journal says where needles were told: --by=gap needs none"
        raise LtmError(
            cure
            if unknown
            else "no example with a score has a question that depends on a needle"
        )
    columns = sorted({column for _, column, _, _ in spots})
    if by == "gap":
        rows = sorted({row for _, _, row, _ in spots})
        names, heads = (
            list(map(power_label, rows)),
            [material.spans[column] for column in columns],
        )
        across, down, rounded = (
            "memory span",
            "tokens from the needle to the question",
            "Distances",
        )
    else:
        rows = list(range(BANDS))
        names, heads = (
            [band_label(row) for row in rows],
            list(map(power_label, columns)),
        )
        across, down, rounded = (
            "tokens before the question",
            "the needle was told after this share of them",
            "Lengths",
        )
    scores = group_by(spots, lambda spot: spot[:3])

    def square(agent: str, column: int, row: int) -> Square | None:
        here = [score for *_, score in scores.get((agent, column, row), ())]
        score = mean_or_none(here)
        return (
            None
            if score is None
            else Square(text=score_text(score), score=score, more=f"{len(here):,}")
        )

    return Heat(
        panels=tuple(
            Panel(
                name=agent,
                rows=tuple(
                    tuple(square(agent, column, row) for column in columns)
                    for row in rows
                ),
            )
            for agent in material.agents
            if any(spot[0] == agent for spot in spots)
        ),
        rows=tuple(names),
        columns=tuple(heads),
        across=across,
        down=down,
        notes=(
            f"Mean score, and below it the number of examples. {rounded} are rounded to powers of two.",
        ),
    )


# Agent, column, row and score of an example.
_Placed: TypeAlias = "tuple[str, int, int, float]"


def _by_gap(material: Material) -> Iterable[_Placed]:
    for series in material.series:
        column = material.spans.index(series.column.span_label)
        for row in series.rows:
            if row.result.gap is not None and row.result.score is not None:
                yield series.agent, column, span_power(row.result.gap), row.result.score


# --- One conversation.


def conversation_timeline(material: Material) -> Timeline:
    """Return the first conversation with a journal, at the largest memory span and of an agent under test if possible.

    LtmError if none has a journal that can be read.
    """
    columns = {each.key: each.column for each in material.series}

    def wanted(held: ConversationEntry) -> tuple[bool, int]:
        column = columns[held.series]
        return column.control or column.is_bundled, -(column.span or 0)

    for held in sorted(material.conversations, key=wanted):
        record = held.folder.record()
        if record is not None and record.position:
            return _make_timeline(held, record)
    raise LtmError(
        "no conversation has a journal that can be read, so there is no time line to draw"
    )


def _make_timeline(held: ConversationEntry, record: ConversationRecord) -> Timeline:
    drawn = lanes_of(held.rows, record)
    begins = {
        number: (lane, start + tokens)
        for number, lane, _, start, tokens, *_ in drawn["marks"]
    }
    asked = {number: start for number, _, _, start, *_ in drawn["marks"]}
    # A journal that was cut has results of exchanges that it no longer holds.
    links = [
        (begins[asking][0], begins[telling][1], asked[asking])
        for telling, asking, *_ in drawn["links"]
        if {telling, asking} <= asked.keys()
    ]
    unscored = sum(
        score is None for score in (lane["score"] for lane in drawn["lanes"])
    )
    return Timeline(
        label=held.label,
        lanes=tuple((one_line(lane["name"]), lane["score"]) for lane in drawn["lanes"]),
        extent=tuple(
            None
            if lane["from"] is None
            else (lane["from"], drawn["tokens"] if lane["to"] is None else lane["to"])
            for lane in drawn["lanes"]
        ),
        marks=tuple(
            ExchangeMark(lane=lane, kind=kind, start=start, tokens=message + reply)
            for _, lane, kind, start, message, reply, _ in drawn["marks"]
        ),
        links=tuple(links),
        jumps=tuple(at for at, *_ in drawn["jumps"]),
        tokens=drawn["tokens"],
        notes=(f"{pluralize(unscored, 'example')} without a score.",)
        if unscored
        else (),
    )


# --- Paired differences.

OVERALL = "all scenarios"


def difference_forest(changes: Changes, spans: Sequence[str] = ()) -> Forest:
    """Return what the later side has over the earlier one, at these memory spans if any is named.

    LtmError where no example has a score in both.
    """
    asked = [
        change
        for change in changes.changes
        if change.level and (not spans or change.span_label in spans)
    ]
    if not asked:
        raise LtmError(
            "no example has a score on both sides, so there is no difference to draw"
        )
    panels = []
    for change in asked:
        # What lost most is at the top, below the mean.
        names = sorted(
            change.scenarios, key=lambda name: (change.levels[name].difference, name)
        )
        sides = {
            OVERALL: change.overall,
            **{name: change.scenarios[name] for name in names},
        }
        rows = [
            PlottedDifference(
                name=name,
                value=side.difference or 0.0,
                interval=(side.interval.low, side.interval.high)
                if side.interval
                else None,
                pairs=f"+{side.better:,} −{side.worse:,} ={side.pairs - side.better - side.worse:,}",
            )
            for name, side in sides.items()
        ]
        panels.append((change.label, tuple(rows)))
    unsure = any(one.interval is None for _, of in panels for one in of)
    runs = (
        ""
        if changes.before == changes.after
        else f" ({changes.before}; here {changes.after})"
    )
    return Forest(
        across=f"difference in score from {changes.before_agent}{runs}",
        panels=tuple(panels),
        notes=(
            "Paired by example; at the right how many are better (+), worse (−) and equal (=).",
            *["Bars: 95\u00a0% intervals, in other conversations as well."]
            * any(one.interval for _, of in panels for one in of),
            *[
                "No bar: no example differs, or there are too few trials for an interval."
            ]
            * unsure,
        ),
    )
