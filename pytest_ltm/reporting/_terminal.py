"""The summary at the end of a run, as lines of text."""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING

from pytest_ltm._result import ENDED_EARLY
from pytest_ltm._statistics import DRAWS, FULL_MARKS
from pytest_ltm.reporting._columns import Column, columns
from pytest_ltm.reporting._measures import measure_lines, measured, quiet_line
from pytest_ltm.reporting._missing import missing_lines, reasons_told
from pytest_ltm.reporting._spans import span_sentences
from pytest_ltm.reporting._table import Row, Style, Table, paint, render
from pytest_ltm.reporting._text import amount, counted, one_line, score_text, span_of_time, wrap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_ltm._result import RunResult

NARROWEST = 40
"""Narrower terminals get lines of this width."""
MOST_NOTICES = 12
NOTHING = "-"
"""Stands where there is no number."""


def summary_lines(run: RunResult, *, width: int, verbosity: int, color: bool) -> list[str]:
    """Return what the terminal says of a run, no line wider than `width` (at least 40).

    `verbosity` is pytest's: below 0 one line for each agent and span, above 0 a few more rows.
    """
    found = columns(run)
    width = max(width, NARROWEST)
    if not found:
        return ["no conversation was held"]
    if verbosity < 0:
        lines = [*map(_quiet_line, found), *map(quiet_line, measured(run))]
        return [part for line in lines for part in wrap(line, width, "  ")]
    table = Table(heads=_heads(found), rows=_rows(found, verbosity), label="memory span")
    lines = [*_caption(found, width), "", *render(table, width, color=color), ""]
    lines += [paint(line, "dim", color=color) for line in _spread_note(run, found, width)]
    for sentence in span_sentences(run):
        lines += wrap(sentence, width, "  ")
    lines += measure_lines(run, width, color=color)
    lines += missing_lines(run, width)
    lines += _amended_note(found, width)
    lines += _would_note(found, width)
    lines += _notices(run, width)
    if run.folder:
        lines.append(f"run folder: {one_line(run.folder)}")
    return lines


def _quiet_line(column: Column) -> str:
    parts = ["nothing has a score"]
    if column.out_of:
        spread = f" ± {column.spread.sd:.2f}" if column.spread else ""
        parts = [f"total {column.total:.2f}{spread} of {column.out_of}", f"accuracy {_percent(column.accuracy)}"]
    if column.amended:
        parts.append(f"{column.amended:,} amended by hand")
    if column.missing:
        parts.append(f"{column.missing:,} of {column.examples:,} without a score")
    return f"{one_line(column.label)}: {', '.join([*parts, counted(column.tokens, 'token')])}"


def _caption(found: Sequence[Column], width: int) -> list[str]:
    sentences = ["Mean score of each scenario; full marks = 1.00."]
    if any(column.span is not None for column in found):
        sentences.append("Memory span: the tokens over which each scenario is stretched.")
    if any(column.span is None for column in found):
        sentences.append("Isolated: each example with a fresh agent.")
    if any(column.missing for column in found):
        sentences.append("*: some examples have no score, see below.")
    return wrap(" ".join(sentences), width)


def _heads(found: Sequence[Column]) -> tuple[tuple[str, str], ...]:
    starred = any(column.missing for column in found)
    return tuple((column.agent, one_line(column.span_label) + " " * starred) for column in found)


def _rows(found: Sequence[Column], verbosity: int) -> tuple[Row, ...]:
    names = sorted({name for column in found for name in column.cells})
    scores = [Row(label=name, cells=tuple(_score_cell(column, name) for column in found)) for name in names]
    return (*_aligned(scores, found), *_aligned(_total_rows(found, verbosity), found))


def _aligned(rows: Sequence[Row], found: Sequence[Column]) -> list[Row]:
    """Leave room for the star behind every number, where any number has one."""
    if not any(column.missing for column in found):
        return list(rows)
    return [
        Row(label=row.label, above=row.above, cells=tuple((_with_room(text), style) for text, style in row.cells))
        for row in rows
    ]


def _with_room(text: str) -> str:
    return text if text.endswith("*") else text + " "


def _score_cell(column: Column, name: str) -> tuple[str, Style]:
    cell = column.cells.get(name)
    if cell is None:
        return "", ""
    star = "*" if cell.missing else ""
    if cell.mean is None:
        return NOTHING + star, "dim"
    style: Style = "good" if cell.mean >= FULL_MARKS else "part" if cell.mean > 0 else "bad"
    return score_text(cell.mean) + star, style


def _total_rows(found: Sequence[Column], verbosity: int) -> list[Row]:
    same = len({column.out_of for column in found}) == 1
    rows = [
        _row(
            f"total of {found[0].out_of}" if same else "total",
            found,
            lambda column: _total_text(column, same=same),
            style="strong",
            above=True,
        )
    ]
    if any(column.spread for column in found):
        rows.append(_row("spread of total", found, _spread_text))
    rows.append(_row("accuracy", found, lambda column: _percent(column.accuracy)))
    if any(column.tries for column in found):
        tries = max(column.tries for column in found)
        rows.append(_row("passed", found, lambda column: _percent(column.pass_rate.share)))
        rows.append(_row(f"pass^{tries}: all trials", found, lambda column: _percent(column.pass_hat)))
        rows.append(_row(f"pass@{tries}: any trial", found, lambda column: _percent(column.pass_at)))
    rows += [
        _row("tokens", found, lambda column: amount(column.tokens), above=True),
        _row("of them filler", found, lambda column: _percent(column.filler_share)),
        _row("simulated time", found, lambda column: span_of_time(column.simulated_seconds)),
        _row("overran the span", found, lambda column: str(column.overruns)),
    ]
    if any(column.amended for column in found):
        rows.append(_row("amended by hand", found, lambda column: f"{column.amended:,}"))
    if any(column.cost_usd is not None for column in found):
        rows += _cost_rows(found)
    if verbosity > 0:
        rows.append(_row("LTM score (paper)", found, _reach_text))
        rows.append(_row("exchanges", found, lambda column: amount(column.exchanges)))
        rows.append(_row("conversations", found, lambda column: amount(column.conversations)))
    return rows


def _row(
    label: str,
    found: Sequence[Column],
    text: Callable[[Column], str],
    *,
    style: Style = "",
    above: bool = False,
) -> Row:
    return Row(label=label, cells=tuple((text(column), style) for column in found), above=above)


def _total_text(column: Column, *, same: bool) -> str:
    if not column.out_of:
        return NOTHING
    return f"{column.total:.2f}" if same else f"{column.total:.2f}/{column.out_of}"


def _spread_text(column: Column) -> str:
    return f"±{column.spread.sd:.2f}" if column.spread else NOTHING


def _cost_rows(found: Sequence[Column]) -> list[Row]:
    would = _all_would(found)
    parts: list[tuple[str, Callable[[Column], float | None]]] = [
        ("would cost in USD" if would else "cost in USD", lambda column: column.cost_usd),
        ("of it filler", lambda column: column.filler_cost_usd),
        ("of it harness", lambda column: column.harness_cost_usd),
    ]
    if any(column.judge_cost_usd is not None for column in found):
        parts.append(("judge in USD", lambda column: column.judge_cost_usd))
    return [
        _row(label, found, functools.partial(_dollars, part=part, would=would))
        for label, part in parts
        if any(part(column) is not None for column in found)
    ]


def _dollars(column: Column, *, part: Callable[[Column], float | None], would: bool) -> str:
    usd = part(column)
    if usd is None:
        return NOTHING
    text = f"{usd:,.2f}" if usd >= _CENTS or not usd else f"{usd:.2g}"
    return f"({text})" if column.hypothetical and not would else text


_CENTS = 0.1
"""Smaller amounts of dollars are shown with two significant digits."""


def _would_note(found: Sequence[Column], width: int) -> list[str]:
    some = [column for column in found if column.cost_usd is not None and column.hypothetical]
    return wrap("(…): what it would cost; nothing was spent", width) if some and not _all_would(found) else []


def _all_would(found: Sequence[Column]) -> bool:
    return all(column.hypothetical for column in found if column.cost_usd is not None)


def _reach_text(column: Column) -> str:
    return NOTHING if column.reach is None else amount(round(column.reach))


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * float(score_text(share)):.0f}%"


def _spread_note(run: RunResult, found: Sequence[Column], width: int) -> list[str]:
    if any(column.spread for column in found):
        return wrap(f"spread: standard deviation of the total, over {DRAWS:,} draws of one example each", width)
    if any(column.out_of for column in found):
        # Where figures are measured, the examples are the questions of a data set: there are no others to ask for.
        way_out = "" if measured(run) else " (--ltm-examples=3 would tell)"
        return wrap(f"spread of the total: unknown with one example each{way_out}", width)
    return []


def _amended_note(found: Sequence[Column], width: int) -> list[str]:
    amended = sum(column.amended for column in found)
    kept = "the verdicts of the rules are kept in the results files"
    return wrap(f"{counted(amended, 'verdict')} amended by hand; {kept}", width) if amended else []


def _notices(run: RunResult, width: int) -> list[str]:
    """Return the notes, each once: which conversations of an agent at a span it is true of is said behind it."""
    held = Counter((conversation.agent, conversation.span_label) for conversation in run.conversations)
    trials: dict[tuple[str, str, str], list[str]] = {}
    told = {f"{ENDED_EARLY}{reason}" for reason in reasons_told(run)}
    for conversation in run.conversations:
        for text in (note for note in conversation.notes if note not in told):
            trials.setdefault((conversation.agent, conversation.span_label, text), []).append(conversation.trial)
    notices = list(run.notices)
    for (agent, span, text), of in trials.items():
        notices.append(f"{agent} at {span}{_where(of, held[agent, span])}: {text}")
    lines = [line for text in notices[:MOST_NOTICES] for line in wrap(f"note: {one_line(text)}", width, "      ")]
    more = len(notices) - MOST_NOTICES
    return [*lines, f"      … and {counted(more, 'more note')}, in the results files"] if more > 0 else lines


def _where(trials: Sequence[str], held: int) -> str:
    if held == 1:
        return ""
    return f", trial {trials[0]}" if len(trials) == 1 else f", {len(trials)} of {held} conversations"
