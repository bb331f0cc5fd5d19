"""`show RUN [ITEM]`: lists the examples of a run, or shows one as a chat."""

from __future__ import annotations

import json
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import LATEST, RunResult, ScenarioResult, at_span, find_run
from pytest_ltm.api.storage import one_line, pluralize
from pytest_ltm.commands.arguments import add_flags, add_place, add_run
from pytest_ltm.commands.example_chat import (
    ExampleChat,
    chat_json,
    chat_lines,
    example_json,
    style_of,
)
from pytest_ltm.commands.example_choice import choose_result, choose_rows
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.table import paint_text
from pytest_ltm.figures.text import NOTHING, clip_text, verdict_text, wrap_text
from pytest_ltm.reports.html.details import plan_definitions
from pytest_ltm.reports.verification import DIFFERS, read_marked_run

# The format of `show --json` (docs/coding-agents.md). Fields may be added; removing one
# changes the number.
FORMAT = "pytest-ltm show 1"
# Narrower terminals get lines of this width.
_LEAST_WIDTH = 40
_MOST_NAME = 40  # columns of an example's name


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, the item, and the level of detail."""
    add_place(parser)
    full = "with ITEM: all texts in full, with the exchanges of others in between"
    add_flags(
        parser,
        failed="list only examples that did not pass",
        full=full,
        json="print JSON",
    )
    add_run(parser)
    item = "a node ID or part of one, or scenario/example as in colours/0"
    parser.add_argument("item", nargs="?", default="", metavar="ITEM", help=item)


def show_examples(arguments: Namespace) -> int:
    """List the examples of a run with their scores, or print one as a chat.

    With ITEM, print its messages and replies, the distances between them, the verdict and what decided it. An item in
    place of RUN, such as colours/0, refers to the latest run.
    """
    if "/" in arguments.run and not arguments.item and not Path(arguments.run).exists():
        arguments.run, arguments.item = LATEST, arguments.run
    run = read_marked_run(find_run(arguments.run, arguments.ltm_dir))
    width = max(shutil.get_terminal_size().columns, _LEAST_WIDTH)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if arguments.item:
        lines = _show_chat(run, arguments, width, color=color)
    else:
        lines = _list_examples(run.result, arguments, width, color=color)
    print("\n".join(lines))
    return 0


def _note_lines(notices: Sequence[str], width: int) -> Iterator[str]:
    for notice in notices:
        yield from wrap_text(one_line(f"note: {notice}"), width, "      ")


# --- one example


def _show_chat(
    run: LoadedRun, arguments: Namespace, width: int, *, color: bool
) -> Iterator[str]:
    """Yield the chosen example, as lines or as JSON."""
    row = choose_result(run.result, arguments, parts=True)
    chat = _read_chat(run, row)
    full: bool = arguments.full
    marks = [notice for notice in run.result.notices if notice.startswith(DIFFERS)]
    if arguments.json:
        entry = {"format": FORMAT, **chat_json(chat, full=full), "notes": marks}
        yield json.dumps(entry, indent=1)
        return
    yield from chat_lines(chat, width, color=color, full=full)
    yield from _note_lines(marks, width)


def _read_chat(run: LoadedRun, row: ScenarioResult) -> ExampleChat:
    """Return the recorded data of an example."""
    folder = next(
        folder for folder in run.conversations if row in folder.result.scenarios
    )
    record = folder.record()
    definition = plan_definitions(folder.plan()).get(row.id)
    return ExampleChat(
        result=row,
        record=record,
        expected=definition.get("expected") if isinstance(definition, dict) else None,
        damage="" if record else folder.damage(),
    )


# --- All examples


def _list_examples(
    run: RunResult, arguments: Namespace, width: int, *, color: bool
) -> Iterator[str]:
    """Yield the examples of a run, as lines or as JSON."""
    rows = choose_rows(run.scenarios, arguments)
    if arguments.failed:
        rows = [row for row in rows if row.outcome != "passed"]
    if arguments.json:
        yield json.dumps(_run_json(run, rows), indent=1)
        return
    conversations = group_by(rows, lambda row: (row.agent, row.span_label, row.trial))
    for (agent, span, trial), examples in conversations.items():
        yield clip_text(one_line(f"{at_span(agent, span)}, trial {trial}"), width)
        yield from _example_lines(examples, width, color=color)
    passed = sum(row.outcome == "passed" for row in rows)
    yield f"{pluralize(len(rows), 'example')}, {passed:,} passed"
    yield from _note_lines(run.notices, width)


def _run_json(run: RunResult, rows: Sequence[ScenarioResult]) -> dict[str, Any]:
    totals: list[dict[str, Any]] = []
    for column in result_columns(run):
        total = {
            "agent": column.agent,
            "span": column.span_label,
            "low": column.total_lower_bound,
            "high": column.total_upper_bound,
            "out_of": column.maximum_total,
        }
        totals.append(total)
    return {
        "format": FORMAT,
        "run": run.run_id,
        "folder": run.folder,
        "totals": totals,
        "examples": [example_json(row) for row in rows],
        "notes": list(run.notices),
    }


def _example_lines(
    rows: Sequence[ScenarioResult], width: int, *, color: bool
) -> Iterator[str]:
    """Yield a line per example: score, name, and the reason for missing marks."""
    longest = max((len(one_line(row.id)) for row in rows), default=0)
    room = min(longest, _MOST_NAME)
    for row in rows:
        score = verdict_text(row, NOTHING)
        reason = "" if row.outcome == "passed" else one_line(row.reason)
        line = f"  {score:>4}  {one_line(row.id):{room}}  {reason}"
        yield paint_text(clip_text(line, width).rstrip(), style_of(row), color=color)
