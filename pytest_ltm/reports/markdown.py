"""A run, or what moved between two, as Markdown: for `--ltm-summary` and the step summary of a CI job."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from pytest_ltm._core.journal.result import RunResult
from pytest_ltm._core.storage.disk import refuse_named_pipe
from pytest_ltm._core.storage.sanitize import for_file
from pytest_ltm._core.storage.wording import first_and_rest, one_line, pluralize
from pytest_ltm.figures.columns import GUESSED, result_columns
from pytest_ltm.figures.figures import figure_notes, shown_figures
from pytest_ltm.figures.metrics import agent_metrics, leading_sentences
from pytest_ltm.figures.sentences import precheck_sentences, span_sentences
from pytest_ltm.gate import change_report
from pytest_ltm.gate.changes import Changes
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.verdict import GateVerdict
from pytest_ltm.reports.terminal import missing_lines, scoreless_sentence

# The environment variable that names the summary of a CI job's step.
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"

_SPECIAL = re.compile(r"([\\`*_\[\]|~$])")
# What begins a list, a heading or a rule.
_LEADING = re.compile(r"^([-+#=]|[0-9]+(?=[.)]))")


def run_markdown(
    run: RunResult,
    *,
    sentences: Sequence[str] = (),
    verdict: GateVerdict | None = None,
    changes: Changes | None = None,
    rules: Sequence[Rule] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a run: its gate's verdict, `sentences` on its agents, totals, what moved, scores, what has none, notes."""
    columns = result_columns(run)
    heading, gate = _gate_section(verdict, rules)
    parts = [f"## Long-term memory: {heading}", *gate]
    if not columns:
        return "\n\n".join([*parts, "No conversation was held."]) + "\n"
    parts += [
        f"**{markdown_text(sentence)}**"
        for sentence in (*sentences, *leading_sentences(run))
    ]
    figures = shown_figures(columns, "markdown")
    labels = [column.label for column in columns]
    rows = [
        list(row)
        for row in zip(labels, *(each.cells(columns) for each in figures), strict=True)
    ]
    table = markdown_table(
        [run.suite, *(figure.heading(columns) for figure in figures)], rows
    )
    parts.append("\n\n".join([table, *figure_notes(columns)]))
    if changes is not None:
        parts += _changes_section(changes)
    said = [
        *(sentence for column in columns for sentence in scoreless_sentence(column)),
        *span_sentences(run),
        *notes,
    ]
    parts += _bullet_list(said)
    names = sorted({name for column in columns for name in column.cells})
    means = [[name, *(column.cell_text(name) for column in columns)] for name in names]
    guessed = any(column.scenarios_at_guessing_level for column in columns)
    note = f"\n\n{GUESSED}: no more than guessing earns, without memory." * guessed
    parts.append(
        _folded_section(
            "Mean score of each scenario",
            markdown_table([run.suite, *labels], means) + note,
        )
    )
    for one in agent_metrics(run):
        *rows, whole = one.rows()
        table = markdown_table(
            ["", "examples", *one.names], [*rows, *[whole] * (len(rows) > 1)]
        )
        table = "\n\n".join([table, *_bullet_list(one.sentences)])
        parts.append(
            _folded_section(
                f"Metrics beside the score: {markdown_text(one.label)}", table
            )
        )
    # Wider than any line, as Markdown breaks lines by itself.
    parts += _bullet_list(
        [line.removeprefix("* ").strip() for line in missing_lines(run, 10_000)]
    )
    parts += _bullet_list([*run.notices, *precheck_sentences(run)])
    parts += [f"Trust: {markdown_text(run.trust)}."] * bool(run.trust)
    if run.folder:
        parts.append(f"Run folder: `{one_line(run.folder).replace('`', '')}`")
    return "\n\n".join(parts) + "\n"


def comparison_markdown(
    run: RunResult, changes: Changes, verdict: GateVerdict | None
) -> str:
    """Return what moved against another run, and the verdict if there are rules."""
    heading, gate = _gate_section(verdict, ())
    parts = [
        f"## {markdown_text(changes.after)}" + f": {heading}" * bool(verdict),
        *gate,
        *_changes_section(changes),
    ]
    return "\n\n".join([*parts, *_bullet_list(span_sentences(run))]) + "\n"


def add_to_step_summary(page: str) -> str:
    """Add a page to the summary of a CI job's step, where the environment names its file; return what went wrong."""
    path = os.environ.get(STEP_SUMMARY)
    try:
        if path:
            # Appended: other steps of the job may have written there before.
            refuse_named_pipe(Path(path))
            with Path(path).open("ab") as file:
                file.write(for_file(page))
    except OSError as error:
        return f"step summary: cannot write {path!r}: {error.strerror or error}"
    return ""


def markdown_text(words: str) -> str:
    """Return words as Markdown that shows exactly them, on one line, whatever they hold."""
    # Agents write these texts: nothing in them may become a mention, a link or HTML.
    plain = (
        one_line(words)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("@", "&#64;")
    )
    return _SPECIAL.sub(r"\\\1", plain)


def _gate_section(
    verdict: GateVerdict | None, rules: Sequence[Rule]
) -> tuple[str, list[str]]:
    """Return what the gate said in a few words, for a heading, and in full."""
    if verdict is None:
        return "no gate", []
    line = change_report.verdict_line(verdict)
    known = {"passed": "passed", "unmeasurable": "could not be measured"}
    parts = [f"**{markdown_text(line)}**"]
    parts += _bullet_list(
        first_and_rest(
            change_report.verdict_details(verdict), change_report.MOST_LISTED
        )
    )
    must = _bullet_list([f"{rule.text}: {rule.sentence}" for rule in rules])
    parts += [_folded_section("Rules", body) for body in must]
    return known.get(
        verdict.state, line.removeprefix("gate: ").partition(":")[0]
    ), parts


def _changes_section(changes: Changes) -> list[str]:
    agent = f" (agent {changes.before_agent})" if changes.before_agent else ""
    rows = []
    for change in changes.changes:
        rows.append(
            [f"**{markdown_text(change.label)}**", *change_report.overall_cells(change)]
        )
        rows += [
            [markdown_text(name), *change_report.scenario_cells(change, name)]
            for name in change_report.most_moved(change)
        ]
        more = len(change_report.moved_scenarios(change)) - len(
            change_report.most_moved(change)
        )
        rows += [[f"… and {pluralize(more, 'more scenario')}", *[""] * 5]] * (more > 0)
    # First cells hold Markdown of ours; only the others are escaped here.
    table = _raw_table(
        ["", *change_report.HEADS],
        [[row[0], *map(markdown_text, row[1:])] for row in rows],
    )
    return [
        f"### What moved against {markdown_text(changes.before + agent)}",
        table,
        *_bullet_list(change_report.comparison_sentences(changes)),
    ]


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose cells show exactly these words."""
    return _raw_table(
        list(map(markdown_text, heads)), [list(map(markdown_text, row)) for row in rows]
    )


def _raw_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])


def _bullet_list(sentences: Sequence[str]) -> list[str]:
    """Return the sentences as one list, none where there are none; no first character begins a list of its own."""
    plain = [
        _LEADING.sub(
            lambda result: f"&#{ord(result[1][0])};{result[1][1:]}", markdown_text(each)
        )
        for each in sentences
    ]
    return ["\n".join(f"- {each}" for each in plain)] if plain else []


def _folded_section(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
