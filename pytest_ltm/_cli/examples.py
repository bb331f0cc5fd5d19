"""`show RUN [ITEM]`: the examples of a run, or one as a chat; `amend RUN ITEM`: one verdict corrected by hand."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.arguments import add_json, add_place, add_run
from pytest_ltm._journal import amendments
from pytest_ltm._journal.result import at_span
from pytest_ltm._journal.run_file import LATEST, find_run
from pytest_ltm._results.columns import result_columns
from pytest_ltm._results.run_loading import read_run
from pytest_ltm._results.statistics.totals import group_by
from pytest_ltm._results.text import clip_text, one_line, pluralize, shorten_text, verdict_text, wrap_text
from pytest_ltm._storage.errors import ConfigurationError, did_you_mean
from pytest_ltm.reporting.chat import ExampleChat, chat_json, chat_lines, example_json, example_lines
from pytest_ltm.reporting.summary import refresh_summary
from pytest_ltm.reporting.verification import DIFFERS, read_marked_run

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence

    from pytest_ltm._journal.result import Automatic, RunResult, ScenarioResult
    from pytest_ltm._results.run_loading import LoadedRun


# What `show --json` prints (docs/coding-agents.md). Fields may be added; the number changes if one goes.
FORMAT = "pytest-ltm show 1"
# Narrower terminals get lines of this width.
LEAST = 40
# The candidates that are listed where an item is ambiguous.
MAX_LISTED_CANDIDATES = 12
_REASON = 120  # the width of a reason
# Options that choose among rows, and the field of a row that each names.
_LABELS = {"agent": "agent", "span": "span_label", "trial": "trial"}


# --- show


def add_show_arguments(parser: ArgumentParser) -> None:
    """Add the run, the item, and how much of it is shown."""
    add_place(parser)
    parser.add_argument("--failed", action="store_true", help="list only examples that did not pass")
    full = "with ITEM: all texts in full, with the exchanges of others in between"
    parser.add_argument("--full", action="store_true", help=full)
    add_json(parser)
    add_run(parser)
    item = "a node ID or part of one, or scenario/example as in colours/0"
    parser.add_argument("item", nargs="?", default="", metavar="ITEM", help=item)


def show_examples(given: Namespace) -> int:
    """List the examples of a run with their scores, or print one as a chat.

    With ITEM, print its messages and replies, what lies between them, the verdict and what decided it. An item in the
    place of RUN, such as colours/0, is one of the latest run.
    """
    if "/" in given.run and not given.item and not Path(given.run).exists():
        given.run, given.item = LATEST, given.run
    loaded_run = read_marked_run(find_run(given.run, given.ltm_dir))
    width = max(shutil.get_terminal_size().columns, LEAST)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if given.item:
        chat = _example_chat(loaded_run, choose_result(loaded_run.result, given, parts=True))
        marks = [text for text in loaded_run.result.notices if text.startswith(DIFFERS)]
        if given.json:
            print(json.dumps({"format": FORMAT, **chat_json(chat, full=given.full), "notes": marks}, indent=1))
        else:
            print("\n".join([*chat_lines(chat, width, color=color, full=given.full), *_note_lines(marks, width)]))
        return 0
    rows = [
        row for row in rows_within(loaded_run.result.scenarios, given) if not given.failed or row.outcome != "passed"
    ]
    if given.json:
        print(json.dumps(_run_json(loaded_run.result, rows), indent=1))
    else:
        print("\n".join(_listed_rows(loaded_run, rows, width, color=color)))
    return 0


def _example_chat(run: LoadedRun, row: ScenarioResult) -> ExampleChat:
    folder = next(each for each in run.conversations if row in each.result.scenarios)
    record = folder.record()
    examples = folder.plan().get("examples")
    # the plan may be damaged, and the chat is worth showing without it
    planned = [each for each in examples if isinstance(each, dict)] if isinstance(examples, list) else []
    names = {f"{each.get('scenario')}/{each.get('example')}": each.get("definition") for each in planned}
    definition = names.get(row.id)
    expected = definition.get("expected") if isinstance(definition, dict) else None
    return ExampleChat(result=row, record=record, expected=expected, damage="" if record else folder.damage())


def _run_json(run: RunResult, rows: Sequence[ScenarioResult]) -> dict[str, Any]:
    totals = [
        {
            "agent": each.agent,
            "span": each.span_label,
            "low": each.total_lower_bound,
            "high": each.total_upper_bound,
            "out_of": each.maximum_total,
        }
        for each in result_columns(run)
    ]
    about = {"format": FORMAT, "run": run.run_id, "folder": run.folder, "totals": totals}
    return {**about, "examples": [example_json(row) for row in rows], "notes": list(run.notices)}


def _listed_rows(run: LoadedRun, rows: Sequence[ScenarioResult], width: int, *, color: bool) -> Iterator[str]:
    for (agent, span, trial), held in group_by(rows, lambda row: (row.agent, row.span_label, row.trial)).items():
        yield clip_text(one_line(f"{at_span(agent, span)}, trial {trial}"), width)
        yield from example_lines(held, width, color=color)
    passed = sum(row.outcome == "passed" for row in rows)
    yield f"{pluralize(len(rows), 'example')}, {passed:,} passed"
    yield from _note_lines(run.result.notices, width)


def _note_lines(notices: Sequence[str], width: int) -> Iterator[str]:
    yield from (line for notice in notices for line in wrap_text(one_line(f"note: {notice}"), width, "      "))


# --- amend


def add_amend_arguments(parser: ArgumentParser) -> None:
    """Add the run, the item and its new score."""
    parser.add_argument("--score", type=float, required=True, help="the share of full marks, 0 to 1")
    parser.add_argument("--reason", required=True, help="why the automatic verdict is wrong")
    add_place(parser)
    add_run(parser, required=True)
    parser.add_argument("item", metavar="ITEM", help="a node ID, or scenario/example as in colours/0")


def amend_verdict(given: Namespace) -> int:
    """Correct one verdict by hand. The automatic one is kept, and every report says so."""
    amendment = amendments.Amendment(score=given.score, reason=given.reason)
    loaded_run = read_run(find_run(given.run, given.ltm_dir))
    before = choose_result(loaded_run.result, given)
    after = amendments.amend_verdict(loaded_run.path, loaded_run.result, before.nodeid, amendment)
    amended = read_run(loaded_run.path)
    # summary.json shows the total
    refresh_summary(amended)
    verdicts = {"before: ": before, "now:    ": after, "automatic: ": before.automatic}
    print(one_line(before.nodeid))
    for name, verdict in verdicts.items():
        if verdict is not None:
            print(f"  {name}{_describe_verdict(verdict)}")
    print(_total_line(loaded_run, amended, after))
    return 0


def _describe_verdict(verdict: ScenarioResult | Automatic) -> str:
    return f"{verdict_text(verdict)}: {shorten_text(one_line(verdict.reason), _REASON, mark='…')}"


def _total_line(before: LoadedRun, after: LoadedRun, row: ScenarioResult) -> str:
    """Return the total of the item's column, before and now."""
    was, now = (
        next(c for c in result_columns(run.result) if (c.agent, c.span_label) == (row.agent, row.span_label))
        for run in (before, after)
    )
    totals = [f"{column.points} of {column.maximum_total}" if column.out_of else "none" for column in (was, now)]
    amended = f"{pluralize(now.amended_verdicts, 'verdict')} of {len(now.rows):,} amended by hand"
    return f"total of {one_line(now.label)}: {totals[0]} before, now {totals[1]} ({amended})"


# --- which example is meant


def choose_result(run: RunResult, given: Namespace, *, parts: bool = False) -> ScenarioResult:
    """Return the one row of a run that `given` means by item, agent, span and trial.

    `parts`: also part of a node id names an item. ConfigurationError lists the candidates if there are none or several.
    """
    rows = rows_within(run.scenarios, given)
    result = [row for row in rows if row.nodeid == given.item]
    result = result or [row for row in rows if given.item in (row.id, row.scenario)]
    if parts:
        result = result or [row for row in rows if given.item in row.nodeid or given.item in row.id]
    narrowed = "".join(f" --{name}={getattr(given, name)}" for name in _LABELS if getattr(given, name))
    if not result:
        known = {name for row in run.scenarios for name in (row.nodeid, row.id)}
        raise ConfigurationError(
            f"run {run.run_id} has no item {given.item!r}{narrowed}.{did_you_mean(given.item, known)} "
            f"Name a node id{', part of one,' * parts} or scenario/example"
        )
    if len(result) > 1:
        listed = [f"  {one_line(row.nodeid)}" for row in result[:MAX_LISTED_CANDIDATES]]
        listed += [f"  … and {len(result) - MAX_LISTED_CANDIDATES:,} more"] * (len(result) > MAX_LISTED_CANDIDATES)
        raise ConfigurationError(
            f"{given.item!r}{narrowed} means {len(result):,} items of run {run.run_id}. "
            "Choose with --agent, --span, --trial, or name one:\n" + "\n".join(listed)
        )
    return result[0]


def rows_within(rows: Sequence[ScenarioResult], given: Namespace) -> list[ScenarioResult]:
    """Return the rows of the agent, span and trial that `given` names; of all where it names none."""
    return [row for row in rows if all(getattr(given, name) in ("", getattr(row, of)) for name, of in _LABELS.items())]
