"""The summary at the end of a run, as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from pytest_ltm._core.journal.result import (
    RunResult,
    ScenarioResult,
    at_span,
    ended_early,
    span_place,
)
from pytest_ltm._core.journal.section import Section
from pytest_ltm._core.model.transcript import Count
from pytest_ltm._core.storage.wording import (
    first_and_rest,
    join_words,
    one_line,
    pluralize,
)
from pytest_ltm.figures.columns import (
    GUESSED,
    HAMPERED,
    LEFT_OPEN,
    UNSCORED,
    Column,
    known_sum,
    result_columns,
)
from pytest_ltm.figures.figures import (
    SCORES,
    Report,
    figure_notes,
    shown_figures,
)
from pytest_ltm.figures.metrics import (
    agent_metrics,
    leading_sentences,
    metric_lines,
    quiet_line,
)
from pytest_ltm.figures.sentences import precheck_sentences, span_sentences
from pytest_ltm.figures.statistics.totals import DRAWS, FULL_MARKS, group_by
from pytest_ltm.figures.table import (
    Style,
    TableRow,
    TextTable,
    fits_width,
    paint_text,
    render_table,
)
from pytest_ltm.figures.text import clip_text, exact_dollars, shorten_text, wrap_text
from pytest_ltm.reports.agent_sentences import (
    AgentAtSpan,
    agents_under_test,
    largest_span_label,
    rank_sides,
)

# How many reasons are listed; all are in the result files.
MOST_REASONS = 8
_PLACES = 2
_FURTHER = "and {:,} more"
# A provider's error may bring its whole web page along.
_REASON = 200
# By cause; `{s}` stands where several have an s.
_KINDS = {
    "unscored": "unscored",
    "undecided": "undecided",
    "ungraded": "not graded",
    "requires": "not possible",
    "not reached": "not reached",
    "agent": "agent error{s}",
    "evaluator": "evaluator timeout{s}",
    "judge": "judge error{s}",
    "user": "simulated user error{s}",
    "scenario": "scenario error{s}",
    "internal": "pytest-ltm error{s}",
}


def missing_lines(run: RunResult, width: int) -> list[str]:
    """Return what has no score, grouped by reason, most frequent first; nothing if all have one."""
    missing = [row for row in run.scenarios if not row.scored]
    count, examples = len(missing), pluralize(len(run.scenarios), "example")
    verbs = ("has", "is") if count == 1 else ("have", "are")
    ends = sum(row.is_lost for row in missing)
    with_them = {0: "", count: "; totals count them as 0 and as 1"}.get(
        ends, f"; totals count {ends:,} as 0 and as 1"
    )
    head = f"* {count:,} of {examples} {verbs[0]} no score and {verbs[1]} left out of the means{with_them}:"
    return _reason_lines(
        missing, head if count > 1 else head.replace("count them", "count it"), width
    )


def open_lines(run: RunResult, width: int) -> list[str]:
    """Return what is neither proven right nor wrong, grouped in the same way; nothing if all is."""
    rows = [row for row in run.scenarios if row.upper is not None]
    return _reason_lines(
        rows,
        f"{len(rows):,} of {pluralize(len(run.scenarios), 'example')} {LEFT_OPEN}:",
        width,
    )


def _reason_lines(rows: Sequence[ScenarioResult], head: str, width: int) -> list[str]:
    groups = _by_reason(rows)
    lines = wrap_text(head, width, "  ") if groups else []
    for group in groups[:MOST_REASONS]:
        places = group_by(
            group, lambda row: one_line(at_span(row.agent, row.span_label))
        )
        names = {
            place: list(dict.fromkeys(one_line(row.scenario) for row in of))
            for place, of in places.items()
        }
        parts = [
            f"{place}: {', '.join(first_and_rest(of, 4, _FURTHER))}"
            for place, of in names.items()
        ]
        where = "; ".join(first_and_rest(parts, _PLACES, _FURTHER))
        why = _why_unscored(group[0], s="s" * (len(group) > 1))
        lines += wrap_text(f"  {len(group):,} {why} ({where})", width, "      ")
    more = len(groups) - MOST_REASONS
    return lines + [
        f"  … and {pluralize(more, 'more reason')}, in the results files"
    ] * (more > 0)


def reasons_told(run: RunResult) -> frozenset[str]:
    """Return the reasons that `missing_lines` tells in full."""
    listed = [group[0].reason for group in _unscored_groups(run)[:MOST_REASONS]]
    return frozenset(
        reason
        for reason in listed
        if shorten_text(one_line(reason), _REASON) == one_line(reason)
    )


def first_reason(run: RunResult) -> str:
    """Return why most of what has no score has none; "" if all have one."""
    groups = _unscored_groups(run)
    return _why_unscored(groups[0][0]) if groups else ""


def _unscored_groups(run: RunResult) -> list[list[ScenarioResult]]:
    return _by_reason([row for row in run.scenarios if not row.scored])


def _by_reason(rows: Sequence[ScenarioResult]) -> list[list[ScenarioResult]]:
    """Return rows in groups of one reason, most frequent first."""
    return sorted(group_by(rows, _why_unscored).values(), key=lambda group: -len(group))


def _why_unscored(row: ScenarioResult, s: str = "") -> str:
    other = {"error": "error{s}", "skipped": "skipped"}.get(row.outcome, "partly open")
    kind = _KINDS.get(row.cause, other).format(s=s)
    return (
        f"{kind}: {shorten_text(one_line(row.reason), _REASON)}" if row.reason else kind
    )


def failing_lines(run: RunResult, width: int) -> list[str]:
    """Return a line for each scenario that failed: `colours 0/3 at 32k: does not name 'ochre'`."""
    several = len({row.agent for row in run.scenarios}) > 1
    lines = []
    for name, rows in sorted(
        group_by(
            [row for row in run.scenarios if row.scored], lambda row: row.scenario
        ).items()
    ):
        places = group_by(
            rows,
            lambda row: (
                span_place(row.span_label) + f" ({row.agent})" * several
            ).strip(),
        )
        failed = {
            place: [row for row in of if row.outcome == "failed"]
            for place, of in places.items()
        }
        parts = [
            f"{len(places[place]) - len(of)}/{len(places[place])} {one_line(place)}".rstrip()
            for place, of in failed.items()
            if of
        ]
        if parts:
            # One reason stands for all: the line is a place to begin, the failure texts
            # are above it.
            why = next(row.reason for of in failed.values() for row in of)
            passed = ", ".join(first_and_rest(parts, _PLACES, _FURTHER))
            lines.append(
                clip_text(f"{one_line(name)} {passed}: {one_line(why)}", width)
            )
    return lines


# Narrower terminals get lines of this width.
NARROWEST = 40
MOST_NOTICES = 12


def summary_lines(
    run: RunResult, *, width: int, verbosity: int, color: bool
) -> list[str]:
    """Return what the terminal says of a run, no line wider than `width` (at least 40).

    `verbosity` is pytest's: below 0 one line for each agent and span, above 0 a few
    more rows.
    """
    columns = result_columns(run)
    width = max(width, NARROWEST)
    if not columns:
        return ["no conversations were held"]
    if verbosity < 0:
        lines = [
            *leading_sentences(run),
            *map(_quiet_line, columns),
            *map(quiet_line, agent_metrics(run)),
        ]
        known = [part for line in lines for part in wrap_text(line, width, "  ")]
        return known + [
            line
            for note in _conversation_notes(run)
            for line in _note_lines(note, width)
        ]
    lines = [
        line
        for text in leading_sentences(run)
        for line in [*wrap_text(text, width, "  "), ""]
    ]
    lines += _table_lines(columns, run.suite, width, verbosity=verbosity, color=color)
    spread = ""
    if any(column.spread for column in columns):
        spread = f"spread: standard deviation of the total, over {DRAWS:,} draws of one example each"
    elif any(column.out_of for column in columns):
        # Where figures are measured, the examples are the questions of a data set:
        # there are no others to ask for.
        way_out = "" if agent_metrics(run) else " (--ltm-examples=3 would tell)"
        spread = f"spread of the total: unknown with one example each{way_out}"
    lines += [
        paint_text(line, "dim", color=color)
        for line in wrap_text(spread, width)
        if spread
    ]
    lines += [
        line
        for sentence in span_sentences(run)
        for line in wrap_text(sentence, width, "  ")
    ]
    lines += [
        *metric_lines(run, width, color=color),
        *missing_lines(run, width),
        *open_lines(run, width),
    ]
    amended = sum(column.amended_verdicts for column in columns)
    if amended:
        kept = "the automatic verdicts are kept in the results files"
        lines += wrap_text(
            f"{pluralize(amended, 'verdict')} amended by hand; {kept}", width
        )
    lines += [line for note in figure_notes(columns) for line in wrap_text(note, width)]
    notices = [*run.notices, *precheck_sentences(run), *_conversation_notes(run)]
    lines += [
        line for text in notices[:MOST_NOTICES] for line in _note_lines(text, width)
    ]
    more = len(notices) - MOST_NOTICES
    lines += [f"      … and {pluralize(more, 'more note')}, in the results files"] * (
        more > 0
    )
    lines += (
        wrap_text(f"trust: {one_line(run.trust)}", width, "       ")
        if run.trust
        else []
    )
    if verbosity > 0:
        heads = {
            conversation.name.folder: conversation.journal
            for conversation in run.conversations
            if conversation.journal
        }
        lines += [
            f"last checksum of {one_line(name)}: {head}" for name, head in heads.items()
        ]
    return lines + [f"run folder: {one_line(run.folder)}"] * bool(run.folder)


def _table_lines(
    columns: Sequence[Column], suite: str, width: int, *, verbosity: int, color: bool
) -> list[str]:
    """Return the caption, the table, the columns it has no room for in one sentence, and what has no score."""
    counting = _COUNTS.get(
        frozenset(
            conversation.count
            for column in columns
            for conversation in column.conversations
        ),
        "",
    )
    caption = {
        "Mean score of each scenario; full marks = 1.00.": True,
        f"Memory span: the tokens over which each scenario is stretched{counting}.": any(
            column.span is not None for column in columns
        ),
        "Isolated: each example with a fresh agent.": any(
            column.span is None for column in columns
        ),
        f"{GUESSED}: no more than guessing earns, without memory.": any(
            column.scenarios_at_guessing_level for column in columns
        ),
        f"{UNSCORED}: some examples have no score, see below.": any(
            column.unscored_examples for column in columns
        ),
    }
    table = _results_table(columns, verbosity, suite)
    folded: list[Column] = []
    # Several tables below each other are hard to compare; the agents under test are
    # what the reader looks for.
    if verbosity == 0 and not fits_width(table, width):
        shown, folded = _ordered_columns(columns)
        table = _results_table(shown, verbosity, suite)
    lines = wrap_text(" ".join(text for text, holds in caption.items() if holds), width)
    lines += ["", *render_table(table, width, color=color), ""]
    others = [
        f"{one_line(of[0].name)} {', '.join(f'{column.share} at {one_line(column.span_label)}' for column in of)}"
        for of in group_by(folded, lambda column: column.agent).values()
    ]
    texts = [f"for comparison (-v shows their columns): {'; '.join(others)}"] * bool(
        others
    )
    without = [column for column in columns if column.scenarios_without_score]
    for names, of in group_by(
        without, lambda column: column.scenarios_without_score
    ).items():
        listed = join_words([one_line(name) for name in names])
        labels = join_words(
            first_and_rest(
                [one_line(column.label) for column in of], _PLACES, "{:,} more"
            )
        )
        texts += (
            [f"no score in {listed}: {labels}"]
            if len(of) > 1
            else scoreless_sentence(of[0])
        )
    return lines + [line for text in texts for line in wrap_text(text, width, "  ")]


def _ordered_columns(columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the columns of agents under test, best at the largest memory span first, and those of all others."""
    sides = [AgentAtSpan(column.agent, column) for column in columns]
    names, last = agents_under_test(sides), largest_span_label(sides)
    ranked = [
        side.agent
        for side in rank_sides(
            [side for side in sides if side.column.span_label == last]
        )
    ]
    order = {name: place for place, name in enumerate(ranked)}
    shown = [column for column in columns if column.agent in names] or list(columns)
    folded = (
        [column for column in columns if column.agent not in names]
        if len(shown) < len(columns)
        else []
    )
    return sorted(shown, key=lambda column: order.get(column.agent, len(order))), folded


def _quiet_line(column: Column) -> str:
    parts = ["nothing has a score"]
    if column.out_of:
        # What guessing would earn is worth a word only where it earns anything.
        guessing = [f"{column.floor:.2f} without memory"] * bool(column.floor)
        parts = [
            f"total {column.total_with_spread}",
            *guessing,
            f"accuracy {column.share}",
        ]
        if together := column.sum_of("asked_together"):
            parts.append(f"{pluralize(together, 'question')} in one talk")
    parts += [f"{column.amended_verdicts:,} amended by hand"] * bool(
        column.amended_verdicts
    )
    none = ", ".join(map(one_line, column.scenarios_without_score))
    missing = (
        f"{column.unscored_examples:,} of {len(column.rows):,} without a score"
        + f" (all of {none})" * bool(none)
    )
    parts += [missing] * bool(column.unscored_examples)
    parts += [f"{column.open:,} open"] * bool(column.open)
    return f"{one_line(column.label)}: {', '.join([*parts, pluralize(column.tokens, 'token')])}"


_COUNTS: Mapping[frozenset[Count], str] = {
    frozenset({"told+4"}): "; any reply counts 4 tokens",
    frozenset({"capped"}): "; a reply counts at most as much as its message",
    frozenset({"told"}): "; replies do not count",
    frozenset({"all"}): "; replies count in full",
    frozenset({"filler"}): "; only filler counts",
}


def scoreless_sentence(column: Column) -> list[str]:
    """Return the sentence that names the scenarios without any score; nothing where all have one."""
    names = join_words([one_line(name) for name in column.scenarios_without_score])
    return [f"{one_line(column.label)}: no score in {names}"] * bool(names)


def _results_table(columns: Sequence[Column], verbosity: int, suite: str) -> TextTable:
    def score_cell(column: Column, name: str) -> tuple[str, Style]:
        mean = column.cells[name].mean if name in column.cells else None
        style: Style = (
            "dim"
            if mean is None
            else "good"
            if mean >= FULL_MARKS
            else "part"
            if mean > 0
            else "bad"
        )
        return column.cell_text(name), style

    names = sorted({name for column in columns for name in column.cells})
    rows = [
        TableRow(
            label=name, cells=tuple(score_cell(column, name) for column in columns)
        )
        for name in names
    ]
    rows += _total_rows(columns, verbosity)
    # Marks hang out to the right: digits stay below each other.
    room = max(
        len(_number_marks(text)) for row in rows for text, _ in row.cells
    )  # for marks, behind every number

    def aligned(text: str) -> str:
        return text + " " * (room - len(_number_marks(text)))

    rows = [
        structs.replace(
            row, cells=tuple((aligned(text), style) for text, style in row.cells)
        )
        for row in rows
    ]
    marks = [(HAMPERED * column.hampered).ljust(room) for column in columns]
    heads = tuple(
        (column.name, one_line(column.span_label) + mark)
        for column, mark in zip(columns, marks, strict=True)
    )
    return TextTable(heads=heads, rows=tuple(rows), label="memory span", corner=suite)


def _number_marks(text: str) -> str:
    """Return what stands behind a number."""
    return text[len(text.rstrip(GUESSED + UNSCORED + HAMPERED)) :]


def _total_rows(columns: Sequence[Column], verbosity: int) -> list[TableRow]:
    """Return the rows below the scenarios: the total, and the figures that any column has."""
    # One maximum for all stands in the label, so that the cells stay narrow.
    same = len({column.maximum_total for column in columns}) == 1
    totals = [
        column.points
        if same or not column.out_of
        else f"{column.points}/{column.maximum_total}"
        for column in columns
    ]
    label = f"total of {columns[0].maximum_total}" if same else "total"
    rows = [
        TableRow(
            label=label, cells=tuple((text, "strong") for text in totals), above=True
        )
    ]
    trials: list[Report] = ["trials"] * any(column.pass_k_trials for column in columns)
    verbose: list[Report] = ["verbose"] * (verbosity > 0)
    figures = shown_figures(columns, "terminal", *trials, *verbose)
    scores = [figure for figure in figures if figure in SCORES]
    efforts = [figure for figure in figures if figure not in SCORES]
    for section in (scores, efforts):
        for number, figure in enumerate(section):
            cells: tuple[tuple[str, Style], ...] = tuple(
                (text, "") for text in figure.cells(columns)
            )
            rows.append(
                TableRow(
                    label=figure.heading(columns),
                    cells=cells,
                    above=section is efforts and not number,
                )
            )
    return rows


def _note_lines(text: str, width: int) -> list[str]:
    return wrap_text(f"note: {one_line(text)}", width, "      ")


def _conversation_notes(run: RunResult) -> list[str]:
    """Return the notes on conversations, each once: which of an agent at a span it is true of is said before it."""
    texts = {ended_early(reason) for reason in reasons_told(run)}
    places = group_by(run.conversations, lambda held: (held.agent, held.span_label))
    notes = [
        (conversation, note)
        for conversation in run.conversations
        for note in conversation.notes
        if note not in texts
    ]
    notices = []
    for (agent, span, text), of in group_by(
        notes, lambda each: (each[0].agent, each[0].span_label, each[1])
    ).items():
        every = len(places[agent, span])
        which = (
            f", trial {of[0][0].trial}"
            if len(of) == 1
            else f", {len(of)} of {every} conversations"
        )
        notices.append(f"{at_span(agent, span)}{which if every > 1 else ''}: {text}")
    return notices


# --- What a run asked its judge, in one line; apart from what the agent used.


def judge_lines(run: RunResult, remembered: Sequence[float | None]) -> list[str]:
    """Return the line about the judge, none if nobody asked it.

    `remembered`: for each reply that came from an earlier run what it had cost, in
    dollars, where that is known.
    """
    usage = _side_usage(run, "judge")
    if not usage:
        return []
    spared = known_sum(remembered)
    saying = f"; {len(remembered):,} of them cached" if remembered else ""
    saying += "" if spared is None else f", saving ${exact_dollars(spared)}"
    return [f"judge: {usage}{saying}"]


def user_lines(run: RunResult) -> list[str]:
    """Return the line about the models of simulated users, none if nobody asked one."""
    usage = _side_usage(run, "user")
    return [f"simulated users: {usage}"] * bool(usage)


def _side_usage(run: RunResult, side: str) -> str:
    """Return calls, tokens and dollars of what the examples asked, "" if they asked nothing."""
    calls, tokens = (
        sum(getattr(row, f"{side}_{what}") for row in run.scenarios)
        for what in ("calls", "tokens")
    )
    cost = known_sum(getattr(row, f"{side}_cost_usd") for row in run.scenarios)
    about = (
        "~" * any(getattr(row, f"{side}_estimated") for row in run.scenarios)
        if side == "user"
        else ""
    )
    parts = [
        pluralize(calls, "call"),
        *[about + pluralize(tokens, "token")] * bool(tokens),
    ]
    parts += [] if cost is None else [f"{about}${exact_dollars(cost)}"]
    return ", ".join(parts) if calls else ""


# --- The outcome of scoring a run again, as lines.


def section_lines(section: Section, width: int) -> list[str]:
    """Return what a feature says under a title of its own; nothing where it has none."""
    title = [one_line(section.title)] * bool(section.title)
    sentences = [
        line
        for sentence in section.sentences
        for line in wrap_text(f"  {one_line(sentence)}", width, "  ")
    ]
    return [*title, *sentences]
