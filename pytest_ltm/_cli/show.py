"""`show RUN [ITEM]`: the examples of a run with their scores, or one of them as a chat."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

from pytest_ltm._cli.example_selection import chosen, within
from pytest_ltm._journal.result import at_span
from pytest_ltm._journal.run_file import find_run
from pytest_ltm._results.run_loading import read_run
from pytest_ltm._results.statistics.totals import grouped
from pytest_ltm._results.text import clip, counted, one_line, wrap
from pytest_ltm._storage.schema import to_record
from pytest_ltm.reporting.chat import ExampleChat, chat_json, chat_lines, example_lines

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from pytest_ltm._journal.result import ScenarioResult
    from pytest_ltm._results.run_loading import LoadedRun


LEAST = 40
"""Narrower terminals get lines of this width."""


def run(given: Namespace) -> int:
    """Print the list or the chat; LtmError if the run cannot be read, or if no item, or several, are meant."""
    found = read_run(find_run(given.run, given.ltm_dir))
    width = max(shutil.get_terminal_size().columns, LEAST)
    color = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    if given.item:
        chat = _chat(found, chosen(found.result, given, parts=True))
        lines = [json.dumps(chat_json(chat), indent=1)] if given.json else None
        print("\n".join(lines or chat_lines(chat, width, color=color, full=given.full)))
        return 0
    rows = [row for row in within(found.result.scenarios, given) if not given.failed or row.outcome != "passed"]
    if given.json:
        print(json.dumps([to_record(row) for row in rows], indent=1))
    else:
        print("\n".join(_listed(found, rows, width, color=color)))
    return 0


def _chat(run: LoadedRun, row: ScenarioResult) -> ExampleChat:
    folder = next(each for each in run.conversations if row in each.result.scenarios)
    record = folder.record()
    examples = folder.plan().get("examples")
    planned = [each for each in examples if isinstance(each, dict)] if isinstance(examples, list) else []
    names = {f"{each.get('scenario')}/{each.get('example')}": each.get("definition") for each in planned}
    definition = names.get(row.id)
    expected = definition.get("expected") if isinstance(definition, dict) else None
    return ExampleChat(result=row, record=record, expected=expected, damage="" if record else folder.damage())


def _listed(run: LoadedRun, rows: Sequence[ScenarioResult], width: int, *, color: bool) -> Iterator[str]:
    for (agent, span, trial), held in grouped(rows, lambda row: (row.agent, row.span_label, row.trial)).items():
        yield clip(one_line(f"{at_span(agent, span)}, trial {trial}"), width)
        yield from example_lines(held, width, color=color)
    passed = sum(row.outcome == "passed" for row in rows)
    yield f"{counted(len(rows), 'example')}, {passed:,} passed"
    yield from (line for notice in run.result.notices for line in wrap(one_line(f"note: {notice}"), width, "      "))
