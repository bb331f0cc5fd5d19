"""The summary at the end of a run, as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from msgspec import structs

from pytest_ltm.api.journal import (
    RunResult,
    ScenarioResult,
    Section,
    at_span,
    ended_early,
    span_place,
)
from pytest_ltm.api.model import Count
from pytest_ltm.api.storage import first_and_rest, join_words, one_line, pluralize
from pytest_ltm.figures.columns import (
    GUESSED,
    GUESSED_NOTE,
    HAMPERED,
    LEFT_OPEN,
    UNSCORED,
    Column,
    known_sum,
    result_columns,
    scenario_names,
)
from pytest_ltm.figures.figure import Report
from pytest_ltm.figures.figures import SCORES, figure_notes, shown_figures
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
from pytest_ltm.figures.text import (
    clip_text,
    exact_dollars,
    shorten_text,
    wrap_text,
    wrap_texts,
)
from pytest_ltm.reports.agent_sentences import (
    AgentAtSpan,
    agents_under_test,
    rank_at_largest_span,
)

# The most reasons listed; all are in the result files.
MOST_REASONS = 8
_PLACES = 2
_FURTHER = "and {:,} more"
# A provider's error may include its whole web page.
_REASON = 200
# By cause; `{s}` marks the plural ending.
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

_WHO_DECIDES = "  a judge (--ltm-judge=SPEC) decides most, `ltm lab amend` any by hand; a gate takes the first figure"


def missing_lines(run: RunResult, width: int) -> list[str]:
    """Return the examples without a score, grouped by reason, most frequent first; empty if all have one."""
    missing = [row for row in run.scenarios if not row.scored]
    count = len(missing)
    lost_count = sum(row.is_lost for row in missing)
    has, is_, pronoun = ("has", "is", "it") if count == 1 else ("have", "are", "them")
    totals = ""
    if lost_count:
        counted = pronoun if lost_count == count else f"{lost_count:,}"
        totals = f"; totals count {counted} as 0 and as 1"
    examples = pluralize(len(run.scenarios), "example")
    head = f"* {count:,} of {examples} {has} no score and {is_} left out of the means{totals}:"
    return _reason_lines(missing, head, width)


def open_lines(run: RunResult, width: int) -> list[str]:
    """Return the examples left open, grouped in the same way; empty if there are none."""
    rows = [row for row in run.scenarios if row.upper is not None]
    examples = pluralize(len(run.scenarios), "example")
    lines = _reason_lines(rows, f"{len(rows):,} of {examples} {LEFT_OPEN}:", width)
    if rows and not any(row.judge_calls for row in run.scenarios):
        lines += wrap_text(_WHO_DECIDES, width, "      ")
    return lines


def _reason_lines(rows: Sequence[ScenarioResult], head: str, width: int) -> list[str]:
    """Return a line for each reason below a head; empty without rows."""
    if not rows:
        return []
    groups = _by_reason(rows)
    lines = wrap_text(head, width, "  ")
    for group in groups[:MOST_REASONS]:
        reason = _why_unscored(group[0], plural=len(group) > 1)
        text = f"  {len(group):,} {reason} ({_where_lost(group)})"
        lines += wrap_text(text, width, "      ")
    more = len(groups) - MOST_REASONS
    if more > 0:
        reasons = pluralize(more, "more reason")
        lines.append(f"  … and {reasons}, in the results files")
    return lines


def _where_lost(rows: Sequence[ScenarioResult]) -> str:
    """Return the first few places (scenario, agent, span) of some rows, and how many more there are."""
    places = group_by(rows, lambda row: one_line(at_span(row.agent, row.span_label)))
    parts = []
    for place, place_rows in places.items():
        names = list(dict.fromkeys(one_line(row.scenario) for row in place_rows))
        parts.append(f"{place}: {', '.join(first_and_rest(names, 4, _FURTHER))}")
    return "; ".join(first_and_rest(parts, _PLACES, _FURTHER))


def reasons_told(run: RunResult) -> frozenset[str]:
    """Return the reasons that `missing_lines` shows in full."""
    listed = [group[0].reason for group in _unscored_groups(run)[:MOST_REASONS]]
    in_full: set[str] = set()
    for reason in listed:
        line = one_line(reason)
        if shorten_text(line, _REASON) == line:
            in_full.add(reason)
    return frozenset(in_full)


def first_reason(run: RunResult, cause: str) -> str:
    """Return the most frequent reason for missing scores; "" if none is missing, or it is `cause`."""
    groups = _unscored_groups(run)
    if not groups or groups[0][0].reason == cause:
        return ""
    return _why_unscored(groups[0][0])


def _unscored_groups(run: RunResult) -> list[list[ScenarioResult]]:
    return _by_reason([row for row in run.scenarios if not row.scored])


def _by_reason(rows: Sequence[ScenarioResult]) -> list[list[ScenarioResult]]:
    """Return rows in groups of one reason, most frequent first."""
    return sorted(group_by(rows, _why_unscored).values(), key=lambda group: -len(group))


def _why_unscored(row: ScenarioResult, *, plural: bool = False) -> str:
    """Return the kind of a cause, and the reason."""
    default = {"error": "error{s}", "skipped": "skipped"}.get(
        row.outcome, "partly open"
    )
    kind = _KINDS.get(row.cause, default).format(s="s" if plural else "")
    if not row.reason:
        return kind
    return f"{kind}: {shorten_text(one_line(row.reason), _REASON)}"


def failing_lines(run: RunResult, width: int) -> list[str]:
    """Return a line for each scenario that failed, such as `colours 0/3 at 32k: does not name 'ochre'`."""
    several_agents = len({row.agent for row in run.scenarios}) > 1

    def place_of(row: ScenarioResult) -> str:
        place = span_place(row.span_label)
        if several_agents:
            return f"{place} ({row.agent})".strip()
        return place

    scored = [row for row in run.scenarios if row.scored]
    scenarios = group_by(scored, lambda row: row.scenario)
    lines = []
    for name, rows in sorted(scenarios.items()):
        parts = []
        reasons = []
        for place, place_rows in group_by(rows, place_of).items():
            failed = [row for row in place_rows if row.outcome == "failed"]
            if failed:
                passed = len(place_rows) - len(failed)
                parts.append(f"{passed}/{len(place_rows)} {one_line(place)}".rstrip())
                reasons.append(failed[0].reason)
        if parts:
            # One reason stands for all: the line is a starting point, and the failure
            # texts are above it.
            places = ", ".join(first_and_rest(parts, _PLACES, _FURTHER))
            text = f"{one_line(name)} {places}: {one_line(reasons[0])}"
            lines.append(clip_text(text, width))
    return lines


# Narrower terminals get lines of this width.
NARROWEST = 40
MOST_NOTICES = 12


def summary_lines(
    run: RunResult, *, width: int, verbosity: int, color: bool, told_below: str = ""
) -> list[str]:
    """Return the terminal summary of a run, no line wider than `width` (at least 40).

    `verbosity` is pytest's: below 0 one line per agent and span, above 0 a few more rows.
    `told_below`: a reason that the caller prints, which no note repeats.
    """
    columns = result_columns(run)
    width = max(width, NARROWEST)
    if not columns:
        return ["no conversations were held"]
    if verbosity < 0:
        return _quiet_lines(run, columns, width, told_below)
    lines = []
    for sentence in leading_sentences(run):
        lines += [*wrap_text(sentence, width, "  "), ""]
    lines += _table_lines(columns, run.suite, width, verbosity=verbosity, color=color)
    for line in _spread_lines(run, columns, width):
        lines.append(paint_text(line, "dim", color=color))
    lines += wrap_texts(span_sentences(run), width, "  ")
    lines += metric_lines(run, width, color=color)
    lines += missing_lines(run, width)
    lines += open_lines(run, width)
    lines += _amendment_lines(columns, width)
    lines += wrap_texts(figure_notes(columns), width)
    lines += _notice_lines(run, width, told_below)
    if run.trust:
        lines += wrap_text(f"trust: {one_line(run.trust)}", width, "       ")
    if verbosity > 0:
        lines += _checksum_lines(run)
    if run.folder:
        lines.append(f"run folder: {one_line(run.folder)}")
    return lines


def _quiet_lines(
    run: RunResult, columns: Sequence[Column], width: int, told_below: str
) -> list[str]:
    """Return a line per agent and span, and the notes."""
    texts = [
        *leading_sentences(run),
        *map(_quiet_line, columns),
        *map(quiet_line, agent_metrics(run)),
    ]
    notes = _conversation_notes(run, told_below)
    return wrap_texts(texts, width, "  ") + _note_lines(notes, width)


def _spread_lines(run: RunResult, columns: Sequence[Column], width: int) -> list[str]:
    """Return the explanation of a total's spread, or why there is none."""
    if any(column.spread for column in columns):
        return wrap_text(
            f"spread: standard deviation of the total, over {DRAWS:,} draws of one example each",
            width,
        )
    if not any(column.out_of for column in columns):
        return []
    # With data set metrics, the examples are the questions of a data set, and there are
    # no others to ask for.
    way_out = "" if agent_metrics(run) else " (--ltm-examples=3 would tell)"
    return wrap_text(
        f"spread of the total: unknown with one example each{way_out}", width
    )


def _amendment_lines(columns: Sequence[Column], width: int) -> list[str]:
    """Return how many verdicts a person has replaced; empty if none."""
    amended = sum(column.amended_verdicts for column in columns)
    if not amended:
        return []
    whereabouts = "the automatic verdicts are kept in the results files"
    return wrap_text(
        f"{pluralize(amended, 'verdict')} amended by hand; {whereabouts}", width
    )


def _notice_lines(run: RunResult, width: int, told_below: str) -> list[str]:
    """Return the first notices, and how many more there are."""
    notices = [
        *run.notices,
        *precheck_sentences(run),
        *_conversation_notes(run, told_below),
    ]
    lines = _note_lines(notices[:MOST_NOTICES], width)
    more = len(notices) - MOST_NOTICES
    if more > 0:
        lines.append(
            f"      … and {pluralize(more, 'more note')}, in the results files"
        )
    return lines


def _checksum_lines(run: RunResult) -> list[str]:
    """Return the last checksum of each journal."""
    heads: dict[str, str] = {}
    for conversation in run.conversations:
        if conversation.journal:
            heads[conversation.name.folder] = conversation.journal
    return [f"last checksum of {one_line(name)}: {heads[name]}" for name in heads]


def _table_lines(
    columns: Sequence[Column], suite: str, width: int, *, verbosity: int, color: bool
) -> list[str]:
    """Return the caption, the table, a sentence on columns that do not fit, and the missing scores."""
    table = _results_table(columns, verbosity, suite)
    folded: list[Column] = []
    # Several tables below each other are hard to compare; readers look for the agents
    # under test.
    if verbosity == 0 and not fits_width(table, width):
        shown_columns, folded = _ordered_columns(columns)
        table = _results_table(shown_columns, verbosity, suite)
    lines = wrap_text(_table_caption(columns), width)
    lines += ["", *render_table(table, width, color=color), ""]
    sentences = [*_folded_sentence(folded), *_scoreless_sentences(columns)]
    return lines + wrap_texts(sentences, width, "  ")


def _table_caption(columns: Sequence[Column]) -> str:
    """Return a description of the table and of the signs in it."""
    conversations = chain.from_iterable(column.conversations for column in columns)
    counts = frozenset(conversation.count for conversation in conversations)
    sentences = ["Mean score of each scenario; full marks = 1.00."]
    if any(column.span is not None for column in columns):
        sentences.append(
            f"Memory span: the tokens over which each scenario is stretched{_COUNTS.get(counts, '')}."
        )
    if any(column.span is None for column in columns):
        sentences.append("Isolated: each example with a fresh agent.")
    if any(column.scenarios_at_guessing_level for column in columns):
        sentences.append(GUESSED_NOTE)
    if any(column.unscored_examples for column in columns):
        sentences.append(f"{UNSCORED}: some examples have no score, see below.")
    return " ".join(sentences)


def _folded_sentence(folded: Sequence[Column]) -> list[str]:
    """Return the shares of the columns that did not fit into the table; empty if all did."""
    if not folded:
        return []
    parts = []
    for columns in group_by(folded, lambda column: column.agent).values():
        shares: list[str] = []
        for column in columns:
            shares.append(f"{column.share} at {one_line(column.span_label)}")
        parts.append(f"{one_line(columns[0].name)} {', '.join(shares)}")
    return [f"for comparison (-v shows their columns): {'; '.join(parts)}"]


def _scoreless_sentences(columns: Sequence[Column]) -> list[str]:
    """Return the scenarios without any score, once for each group of columns that share them."""
    without = [column for column in columns if column.scenarios_without_score]
    groups = group_by(without, lambda column: column.scenarios_without_score)
    sentences = []
    for names, group in groups.items():
        if len(group) == 1:
            sentences += scoreless_sentence(group[0])
            continue
        labels = [one_line(column.label) for column in group]
        places = join_words(first_and_rest(labels, _PLACES, "{:,} more"))
        scenarios = join_words([one_line(name) for name in names])
        sentences.append(f"no score in {scenarios}: {places}")
    return sentences


def _ordered_columns(columns: Sequence[Column]) -> tuple[list[Column], list[Column]]:
    """Return the columns of agents under test, best at the largest span first, and the other columns."""
    sides = [AgentAtSpan(column.agent, column) for column in columns]
    tested = agents_under_test(sides)
    ranked = rank_at_largest_span(sides)
    order = {side.agent: place for place, side in enumerate(ranked)}
    shown_columns = [column for column in columns if column.agent in tested]
    folded = [column for column in columns if column.agent not in tested]
    if not shown_columns:
        shown_columns, folded = folded, []
    shown_columns.sort(key=lambda column: order.get(column.agent, len(order)))
    return shown_columns, folded


def _quiet_line(column: Column) -> str:
    """Return the figures of a column in one line."""
    parts = []
    if column.out_of:
        parts.append(f"total {column.total_with_spread}")
        # The guessing score is worth mentioning only if it is above zero.
        if column.floor:
            parts.append(f"{column.floor:.2f} without memory")
        parts.append(f"accuracy {column.share}")
        together = column.sum_of("asked_together")
        if together:
            parts.append(f"{pluralize(together, 'question')} in one talk")
    else:
        parts.append("nothing has a score")
    if column.amended_verdicts:
        parts.append(f"{column.amended_verdicts:,} amended by hand")
    if column.unscored_examples:
        missing = (
            f"{column.unscored_examples:,} of {len(column.rows):,} without a score"
        )
        names = [one_line(name) for name in column.scenarios_without_score]
        if names:
            missing += f" (all of {', '.join(names)})"
        parts.append(missing)
    if column.open:
        parts.append(f"{column.open:,} open")
    parts.append(pluralize(column.tokens, "token"))
    return f"{one_line(column.label)}: {', '.join(parts)}"


_COUNTS: Mapping[frozenset[Count], str] = {
    frozenset({"told+4"}): "; any reply counts 4 tokens",
    frozenset({"capped"}): "; a reply counts at most as much as its message",
    frozenset({"told"}): "; replies do not count",
    frozenset({"all"}): "; replies count in full",
    frozenset({"filler"}): "; only filler counts",
}


def scoreless_sentence(column: Column) -> list[str]:
    """Return the sentence that names the scenarios without any score, or nothing if all have one."""
    names = join_words([one_line(name) for name in column.scenarios_without_score])
    if not names:
        return []
    return [f"{one_line(column.label)}: no score in {names}"]


def _results_table(columns: Sequence[Column], verbosity: int, suite: str) -> TextTable:
    """Return the scores of each scenario, with totals and figures below."""
    rows = []
    for name in scenario_names(columns):
        scores = tuple(_score_cell(column, name) for column in columns)
        rows.append(TableRow(label=name, cells=scores))
    rows += _total_rows(columns, verbosity)
    # Marks hang to the right of each number, so that digits stay aligned.
    all_cells = chain.from_iterable(row.cells for row in rows)
    room = max(len(_number_marks(text)) for text, _ in all_cells)
    aligned = []
    for row in rows:
        cells: list[tuple[str, Style]] = []
        for text, style in row.cells:
            spaces = " " * (room - len(_number_marks(text)))
            cells.append((text + spaces, style))
        aligned.append(structs.replace(row, cells=tuple(cells)))
    heads = []
    for column in columns:
        mark = HAMPERED if column.hampered else ""
        heads.append((column.name, one_line(column.span_label) + mark.ljust(room)))
    return TextTable(
        heads=tuple(heads), rows=tuple(aligned), label="memory span", corner=suite
    )


def _score_cell(column: Column, name: str) -> tuple[str, Style]:
    """Return the mean of a scenario in a column, styled by how good it is."""
    mean = column.cells[name].mean if name in column.cells else None
    return column.cell_text(name), _score_style(mean)


def _score_style(mean: float | None) -> Style:
    """Return the style of a score."""
    if mean is None:
        return "dim"
    if mean >= FULL_MARKS:
        return "good"
    return "part" if mean > 0 else "bad"


def _number_marks(text: str) -> str:
    """Return the marks after a number."""
    return text[len(text.rstrip(GUESSED + UNSCORED + HAMPERED)) :]


def _total_rows(columns: Sequence[Column], verbosity: int) -> list[TableRow]:
    """Return the rows below the scenarios: the total, and the figures that some column has."""
    # A common maximum goes into the label, so that the cells stay narrow.
    same = len({column.maximum_total for column in columns}) == 1
    cells: list[tuple[str, Style]] = []
    for column in columns:
        shows_maximum = column.out_of and not same
        maximum = f"/{column.maximum_total}" if shows_maximum else ""
        cells.append((column.points + maximum, "strong"))
    label = f"total of {columns[0].maximum_total}" if same else "total"
    rows = [TableRow(label=label, cells=tuple(cells), above=True)]
    reports: list[Report] = ["terminal"]
    if any(column.pass_k_trials for column in columns):
        reports.append("trials")
    if verbosity > 0:
        reports.append("verbose")
    figures = shown_figures(columns, *reports)
    scores = [figure for figure in figures if figure in SCORES]
    efforts = [figure for figure in figures if figure not in SCORES]
    first_effort = next(iter(efforts), None)
    for figure in [*scores, *efforts]:
        texts: list[tuple[str, Style]] = [(text, "") for text in figure.cells(columns)]
        row = TableRow(
            label=figure.heading(columns),
            cells=tuple(texts),
            above=figure is first_effort,
        )
        rows.append(row)
    return rows


def _note_lines(notes: Iterable[str], width: int) -> list[str]:
    """Return the notes, wrapped."""
    return wrap_texts((f"note: {one_line(note)}" for note in notes), width, "      ")


def _conversation_notes(run: RunResult, told_below: str) -> list[str]:
    """Return the notes on conversations, each once, prefixed with the agent and span it applies to."""
    told_elsewhere = set(map(ended_early, {*reasons_told(run), told_below}))
    trials: dict[tuple[str, str, str], list[str]] = {}
    conversations: Counter[tuple[str, str]] = Counter()
    for conversation in run.conversations:
        place = conversation.agent, conversation.span_label
        conversations[place] += 1
        for note in conversation.notes:
            if note not in told_elsewhere:
                trials.setdefault((*place, note), []).append(conversation.trial)
    notes = []
    for (agent, span, note), noted in trials.items():
        total = conversations[agent, span]
        which = ""
        if total > 1:
            which = f", {len(noted)} of {total} conversations"
            if len(noted) == 1:
                which = f", trial {noted[0]}"
        notes.append(f"{at_span(agent, span)}{which}: {note}")
    return notes


# --- The judge's usage in one line, separate from the agent's.


def judge_lines(run: RunResult, remembered: Sequence[float | None]) -> list[str]:
    """Return the line about the judge, or nothing if it was not asked.

    `remembered`: the original cost in dollars of each reply reused from an earlier run, if known.
    """
    usage = _side_usage(run, "judge")
    if not usage:
        return []
    line = f"judge: {usage}"
    if remembered:
        line += f"; {len(remembered):,} of them cached"
    saved = known_sum(remembered)
    if saved is not None:
        line += f", saving ${exact_dollars(saved)}"
    return [line]


def user_lines(run: RunResult) -> list[str]:
    """Return the line about the models of simulated users, or nothing if none was asked."""
    usage = _side_usage(run, "user")
    return [f"simulated users: {usage}"] if usage else []


def _side_usage(run: RunResult, side: str) -> str:
    """Return calls, tokens and dollars of one side's requests, or "" without any."""
    rows = run.scenarios
    calls = sum(getattr(row, f"{side}_calls") for row in rows)
    if not calls:
        return ""
    estimated = side == "user" and any(row.user_estimated for row in rows)
    sign = "~" if estimated else ""
    parts = [pluralize(calls, "call")]
    tokens = sum(getattr(row, f"{side}_tokens") for row in rows)
    if tokens:
        parts.append(sign + pluralize(tokens, "token"))
    cost = known_sum(getattr(row, f"{side}_cost_usd") for row in rows)
    if cost is not None:
        parts.append(f"{sign}${exact_dollars(cost)}")
    return ", ".join(parts)


# --- The outcome of rescoring a run, as lines.


def section_lines(section: Section, width: int) -> list[str]:
    """Return a feature's section below its title; empty if it has no title."""
    lines = [one_line(section.title)] if section.title else []
    sentences = [f"  {one_line(sentence)}" for sentence in section.sentences]
    return lines + wrap_texts(sentences, width, "  ")
