"""`lab amend RUN ITEM`: corrects one verdict by hand."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from pytest_ltm.api.journal import RunResult, ScenarioResult, find_run
from pytest_ltm.api.storage import one_line, pluralize
from pytest_ltm.commands.arguments import add_place, add_run
from pytest_ltm.commands.example_choice import choose_result
from pytest_ltm.figures.columns import Column, result_columns
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.text import shorten_text, verdict_text
from pytest_ltm.records import amendments
from pytest_ltm.reports.summary import refresh_summary

_WIDTH = 120  # of a reason


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, the item and its new score."""
    parser.add_argument(
        "--score", type=float, required=True, help="the share of full marks, 0 to 1"
    )
    parser.add_argument(
        "--reason", required=True, help="why the automatic verdict is wrong"
    )
    add_place(parser)
    add_run(parser, required=True)
    parser.add_argument(
        "item", metavar="ITEM", help="a node ID, or scenario/example as in colours/0"
    )


def amend_verdict(arguments: Namespace) -> int:
    """Correct one verdict by hand. The automatic one is kept, and every report mentions it."""
    amendment = amendments.Amendment(score=arguments.score, reason=arguments.reason)
    run = read_run(find_run(arguments.run, arguments.ltm_dir))
    original = choose_result(run.result, arguments)
    after = amendments.amend_verdict(run.path, run.result, original.nodeid, amendment)
    amended = read_run(run.path)
    # the summary contains the total
    refresh_summary(amended)
    print(one_line(original.nodeid))
    verdicts = {
        "before: ": original,
        "now:    ": after,
        "automatic: ": original.automatic,
    }
    for label, verdict in verdicts.items():
        if verdict is not None:
            reason = shorten_text(one_line(verdict.reason), _WIDTH, mark="…")
            print(f"  {label}{verdict_text(verdict)}: {reason}")
    print(_total_line(run.result, amended.result, after))
    return 0


def _total_line(original: RunResult, after: RunResult, row: ScenarioResult) -> str:
    """Return the effect of an amended row on its agent's total at its span."""
    column = _column_of(original, row)
    amended = _column_of(after, row)
    verdicts = pluralize(amended.amended_verdicts, "verdict")
    by_hand = f"{verdicts} of {len(amended.rows):,} amended by hand"
    return (
        f"total of {one_line(amended.label)}: {_total_text(column)} before, "
        f"now {_total_text(amended)} ({by_hand})"
    )


def _column_of(run: RunResult, row: ScenarioResult) -> Column:
    place = (row.agent, row.span_label)
    for column in result_columns(run):
        if (column.agent, column.span_label) == place:
            return column
    raise LookupError(place)


def _total_text(column: Column) -> str:
    if column.out_of:
        return f"{column.points} of {column.maximum_total}"
    return "none"
