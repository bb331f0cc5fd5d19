"""A run, or what moved between two, as Markdown: for `--ltm-summary` and the step summary of a CI job."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm.reporting._changes import listed, movers, overall_cells, scenario_cells, sentences
from pytest_ltm.reporting._columns import columns
from pytest_ltm.reporting._gate import MOST, details, verdict_line
from pytest_ltm.reporting._measures import ALL, measured
from pytest_ltm.reporting._missing import missing_lines
from pytest_ltm.reporting._spans import span_sentences
from pytest_ltm.reporting._text import amount, counted, one_line, score_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from pytest_ltm._gate._changes import Changes
    from pytest_ltm._gate._rules import Rule
    from pytest_ltm._gate._verdict import Verdict
    from pytest_ltm._result import RunResult
    from pytest_ltm.reporting._columns import Column
    from pytest_ltm.reporting._measures import Measured

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_LEADING = re.compile(r"^([-+#=]|[0-9]+(?=[.)]))")
"""What begins a list, a heading or a rule."""
_WIDE = 10_000
"""Columns: Markdown breaks lines by itself."""


def run_markdown(
    run: RunResult,
    *,
    verdict: Verdict | None = None,
    changes: Changes | None = None,
    rules: Sequence[Rule] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a run: its gate's verdict, totals, what moved, scores and figures of scenarios, what has none, notes."""
    found = columns(run)
    parts = [f"## Long-term memory: {_heading(verdict)}", *_verdict(verdict, rules)]
    if not found:
        return "\n\n".join([*parts, "No conversation was held."]) + "\n"
    parts.append(_totals(found))
    if changes is not None:
        parts += _changes(changes)
    said = [*span_sentences(run), *notes]
    parts += [_bullets(said)] * bool(said)
    parts.append(_folded("Mean score of each scenario", _scenarios(found)))
    for one in measured(run):
        parts.append(_folded(f"Beside the score: {text(one.agent)} at {text(one.span_label)}", _means(one)))
    missing = missing_lines(run, _WIDE)
    parts += [_bullets(line.removeprefix("* ").strip() for line in missing)] * bool(missing)
    parts += [_bullets(run.notices)] * bool(run.notices)
    if run.folder:
        parts.append(f"Run folder: `{one_line(run.folder).replace('`', '')}`")
    return "\n\n".join(parts) + "\n"


def comparison_markdown(run: RunResult, changes: Changes, verdict: Verdict | None) -> str:
    """Return what moved against another run, and the verdict if there are rules."""
    heading = f"## {text(changes.after)}" + (f": {_heading(verdict)}" if verdict else "")
    parts = [heading, *_verdict(verdict, ()), *_changes(changes)]
    said = span_sentences(run)
    return "\n\n".join([*parts, *[_bullets(said)] * bool(said)]) + "\n"


def add_to_step_summary(page: str) -> str:
    """Add a page to the summary of a CI job's step, where the environment names its file; return what went wrong."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    try:
        if path:
            with Path(path).open("ab") as file:
                file.write(page.encode("utf-8", "backslashreplace"))
    except OSError as error:
        return f"step summary: cannot write {path!r}: {error.strerror or error}"
    return ""


def text(words: str) -> str:
    """Return words as Markdown that shows exactly them, on one line, whatever they hold."""
    plain = one_line(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return _SPECIAL.sub(r"\\\1", plain)


def _entity(found: re.Match[str]) -> str:
    """Return the first character as a number, which begins nothing."""
    return f"&#{ord(found[1][0])};{found[1][1:]}"


def _heading(verdict: Verdict | None) -> str:
    if verdict is None:
        return "no gate"
    words = verdict_line(verdict).removeprefix("gate: ")
    return {"held": "held", "unmeasurable": "could not be measured"}.get(verdict.state, words.partition(":")[0])


def _verdict(verdict: Verdict | None, rules: Sequence[Rule]) -> list[str]:
    if verdict is None:
        return []
    parts = [f"**{text(verdict_line(verdict))}**"]
    found = details(verdict)
    more = [f"… and {len(found) - MOST:,} more"] if len(found) > MOST else []
    parts += [_bullets([*found[:MOST], *more])] * bool(found)
    if rules:
        parts.append(_folded("What must hold", _bullets(f"{rule.text}: {rule.sentence}" for rule in rules)))
    return parts


def _totals(found: Sequence[Column]) -> str:
    trials = any(column.tries for column in found)
    heads = ["", "total", "accuracy", "passed", *(["pass^k", "pass@k"] if trials else []), "no score", "tokens"]
    costs = [name for name, part in _COSTS.items() if name == "USD" or any(part(each) is not None for each in found)]
    rows = [
        [*_total_row(column, trials=trials), *(_usd(_COSTS[name](column), column) for name in costs)]
        for column in found
    ]
    would = any(column.hypothetical for column in found)
    note = "\n\nUSD in brackets: what it would cost; nothing was spent." * would
    return _table([*heads, *costs], rows) + note


_COSTS: Mapping[str, Callable[[Column], float | None]] = {
    "USD": lambda column: column.cost_usd,
    "of it filler": lambda column: column.filler_cost_usd,
    "of it harness": lambda column: column.harness_cost_usd,
    "USD of the judge": lambda column: column.judge_cost_usd,
}


def _usd(dollars: float | None, column: Column) -> str:
    if dollars is None:
        return "-"
    text = f"{dollars:,.2f}" if dollars >= _CENTS or not dollars else f"{dollars:.2g}"
    return f"({text})" if column.hypothetical and dollars is not column.judge_cost_usd else text


_CENTS = 0.1


def _total_row(column: Column, *, trials: bool) -> list[str]:
    rate = column.pass_rate
    share = "-" if rate.share is None else f"{rate.share:.0%} ({rate.interval.low:.0%} … {rate.interval.high:.0%})"
    tries = [_chance(column.pass_hat, column.tries), _chance(column.pass_at, column.tries)] if trials else []
    return [
        column.label,
        f"{column.total:.2f} of {column.out_of}" if column.out_of else "-",
        "-" if column.accuracy is None else score_text(column.accuracy),
        share,
        *tries,
        f"{column.missing:,}",
        amount(column.tokens),
    ]


def _chance(value: float | None, tries: int) -> str:
    return "-" if value is None else f"{score_text(value)} (k = {tries})"


def _changes(found: Changes) -> list[str]:
    agent = f" (agent {found.before_agent})" if found.before_agent else ""
    rows = []
    for change in found.changes:
        rows.append([f"**{text(change.label)}**", *overall_cells(change)])
        rows += [[text(name), *scenario_cells(change, name)] for name in listed(change)]
        more = len(movers(change)) - len(listed(change))
        rows += [[f"… and {counted(more, 'more scenario')}", *[""] * 5]] * (more > 0)
    heads = ["", "before", "now", "change", "95 % interval", "p (drop)"]
    table = _raw_table(heads, [[row[0], *map(text, row[1:])] for row in rows])
    return [f"### What moved against {text(found.before + agent)}", table, _bullets(sentences(found))]


def _scenarios(found: Sequence[Column]) -> str:
    names = sorted({name for column in found for name in column.cells})
    rows = [[name, *(_cell(column, name) for column in found)] for name in names]
    return _table(["", *(column.label for column in found)], rows)


def _means(one: Measured) -> str:
    rows = [[name, f"{count:,}", *(one.text(name, of) for of in one.names)] for name, count in one.examples.items()]
    total = [ALL, f"{sum(one.examples.values()):,}", *(one.text("", of) for of in one.names)]
    return _table(["", "examples", *one.names], [*rows, *[total] * (len(rows) > 1)])


def _cell(column: Column, name: str) -> str:
    cell = column.cells.get(name)
    if cell is None:
        return ""
    star = "*" if cell.missing else ""
    return ("-" if cell.mean is None else score_text(cell.mean)) + star


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return _raw_table(list(map(text, heads)), [list(map(text, row)) for row in rows])


def _raw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])


def _bullets(sentences_: Iterable[str]) -> str:
    return "\n".join(f"- {_LEADING.sub(_entity, text(sentence))}" for sentence in sentences_)


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
