"""A run, or what moved between two, as Markdown: for `--ltm-summary` and the step summary of a CI job."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._language.lists import shortened
from pytest_ltm._results import change_report
from pytest_ltm._results.columns import GUESSED, columns
from pytest_ltm._results.figures import figure_notes, shown_figures
from pytest_ltm._results.metrics import leading_sentences, measured
from pytest_ltm._results.sentences import precheck_sentences, span_sentences
from pytest_ltm._results.text import counted, one_line
from pytest_ltm._storage.sanitize import for_file
from pytest_ltm.reporting.terminal import missing_lines, scoreless

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._journal.result import RunResult
    from pytest_ltm._results.columns import Column
    from pytest_ltm._results.gate.changes import Changes
    from pytest_ltm._results.gate.rules import Rule
    from pytest_ltm._results.gate.verdict import GateVerdict


STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The environment variable that names the summary of a CI job's step."""

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
_LEADING = re.compile(r"^([-+#=]|[0-9]+(?=[.)]))")
"""What begins a list, a heading or a rule."""
_WIDE = 10_000
"""Columns: Markdown breaks lines by itself."""


def run_markdown(
    run: RunResult,
    *,
    verdict: GateVerdict | None = None,
    changes: Changes | None = None,
    rules: Sequence[Rule] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a run: its gate's verdict, totals, what moved, scores and figures of scenarios, what has none, notes."""
    found = columns(run)
    parts = [f"## Long-term memory: {_heading(verdict)}", *_verdict(verdict, rules)]
    if not found:
        return "\n\n".join([*parts, "No conversation was held."]) + "\n"
    parts += [f"**{text(sentence)}**" for sentence in leading_sentences(run)]
    parts.append(_totals(found, run.suite))
    if changes is not None:
        parts += _changes(changes)
    said = [*(sentence for column in found for sentence in scoreless(column)), *span_sentences(run), *notes]
    parts += _bullets(said)
    parts.append(_folded("Mean score of each scenario", _scenarios(found, run.suite)))
    for one in measured(run):
        *rows, whole = one.rows()
        table = _table(["", "examples", *one.names], [*rows, *[whole] * (len(rows) > 1)])
        table = "\n\n".join([table, *_bullets(one.sentences)])
        parts.append(_folded(f"Metrics beside the score: {text(one.label)}", table))
    parts += _bullets([line.removeprefix("* ").strip() for line in missing_lines(run, _WIDE)])
    parts += _bullets([*run.notices, *precheck_sentences(run)])
    if run.folder:
        parts.append(f"Run folder: `{one_line(run.folder).replace('`', '')}`")
    return "\n\n".join(parts) + "\n"


def comparison_markdown(run: RunResult, changes: Changes, verdict: GateVerdict | None) -> str:
    """Return what moved against another run, and the verdict if there are rules."""
    heading = f"## {text(changes.after)}" + (f": {_heading(verdict)}" if verdict else "")
    parts = [heading, *_verdict(verdict, ()), *_changes(changes)]
    return "\n\n".join([*parts, *_bullets(span_sentences(run))]) + "\n"


def add_to_step_summary(page: str) -> str:
    """Add a page to the summary of a CI job's step, where the environment names its file; return what went wrong."""
    path = os.environ.get(STEP_SUMMARY)
    try:
        if path:
            # Appended: other steps of the job may have written there before.
            with Path(path).open("ab") as file:
                file.write(for_file(page))
    except OSError as error:
        return f"step summary: cannot write {path!r}: {error.strerror or error}"
    return ""


def text(words: str) -> str:
    """Return words as Markdown that shows exactly them, on one line, whatever they hold."""
    # Agents write these texts: nothing in them may become a mention, a link or HTML.
    plain = one_line(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")
    return _SPECIAL.sub(r"\\\1", plain)


def _heading(verdict: GateVerdict | None) -> str:
    if verdict is None:
        return "no gate"
    words = change_report.verdict_line(verdict).removeprefix("gate: ")
    return {"passed": "passed", "unmeasurable": "could not be measured"}.get(verdict.state, words.partition(":")[0])


def _verdict(verdict: GateVerdict | None, rules: Sequence[Rule]) -> list[str]:
    if verdict is None:
        return []
    parts = [f"**{text(change_report.verdict_line(verdict))}**"]
    parts += _bullets(shortened(change_report.details(verdict), change_report.MOST_LISTED))
    must = _bullets([f"{rule.text}: {rule.sentence}" for rule in rules])
    return parts + [_folded("Rules", body) for body in must]


def _totals(found: Sequence[Column], suite: str) -> str:
    figures = shown_figures(found, "markdown")
    rows = [
        [column.label, *cells] for column, *cells in zip(found, *(each.cells(found) for each in figures), strict=True)
    ]
    table = _table([suite, *(figure.heading(found) for figure in figures)], rows)
    return "\n\n".join([table, *figure_notes(found)])


def _changes(found: Changes) -> list[str]:
    agent = f" (agent {found.before_agent})" if found.before_agent else ""
    rows = []
    for change in found.changes:
        rows.append([f"**{text(change.label)}**", *change_report.overall_cells(change)])
        rows += [[text(name), *change_report.scenario_cells(change, name)] for name in change_report.most_moved(change)]
        more = len(change_report.movers(change)) - len(change_report.most_moved(change))
        rows += [[f"… and {counted(more, 'more scenario')}", *[""] * 5]] * (more > 0)
    table = _raw_table(["", *change_report.HEADS], [[row[0], *map(text, row[1:])] for row in rows])
    return [f"### What moved against {text(found.before + agent)}", table, *_bullets(change_report.sentences(found))]


def _scenarios(found: Sequence[Column], suite: str) -> str:
    names = sorted({name for column in found for name in column.cells})
    rows = [[name, *(column.cell_text(name) for column in found)] for name in names]
    note = f"\n\n{GUESSED}: no more than guessing earns, without memory." * any(column.guessed for column in found)
    return _table([suite, *(column.label for column in found)], rows) + note


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return _raw_table(list(map(text, heads)), [list(map(text, row)) for row in rows])


def _raw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])


def _bullets(sentences: Sequence[str]) -> list[str]:
    """Return the sentences as one list, none where there are none; no first character begins a list of its own."""
    plain = [_LEADING.sub(lambda found: f"&#{ord(found[1][0])};{found[1][1:]}", text(each)) for each in sentences]
    return ["\n".join(f"- {each}" for each in plain)] if plain else []


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
