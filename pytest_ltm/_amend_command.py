"""`python -m pytest_ltm amend RUN ITEM --score S --reason TEXT`: correct one verdict by hand."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm import _amendments
from pytest_ltm._amendments import Amendment
from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm.reporting._columns import columns
from pytest_ltm.reporting._run_folder import LATEST, find_run, read_run
from pytest_ltm.reporting._summary import rewritten, verdicts_csv, write_summary
from pytest_ltm.reporting._text import counted, one_line, score_text, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._result import RunResult, ScenarioResult
    from pytest_ltm.reporting._run_folder import Run

MOST = 12
"""So many items are listed where several are meant."""
_REASON = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which item of a run is meant; None and "" choose nothing."""

    item: str
    """A node id, or `scenario/example`."""
    agent: str = ""
    span: str = ""
    trial: str = ""

    def among(self, rows: Sequence[ScenarioResult]) -> list[ScenarioResult]:
        """Return the rows that are meant."""
        exact = [row for row in rows if row.nodeid == self.item]
        named = exact or [row for row in rows if self.item in (row.id, row.scenario)]
        return [row for row in named if self._fits(row)]

    def _fits(self, row: ScenarioResult) -> bool:
        wanted = ((self.agent, row.agent), (self.span, row.span_label), (self.trial, row.trial))
        return all(want in ("", have) for want, have in wanted)


def main(argv: Sequence[str]) -> int:
    """Amend one verdict and print what changed; return 0. LtmError if run or item cannot be found."""
    chosen = _parser().parse_args(argv)
    amendment = Amendment(score=chosen.score, reason=chosen.reason)
    run = read_run(find_run(chosen.run, Path(chosen.ltm_dir)))
    choice = Choice(item=chosen.item, agent=chosen.agent, span=chosen.span, trial=chosen.trial)
    before = chosen_row(run.result, choice)
    after = _amendments.amend(run.path, run.result, before.nodeid, amendment)
    amended = read_run(run.path)
    refresh(amended)
    lines = [one_line(before.nodeid), *_verdict_lines(before, after), *_total_lines(run, amended, after)]
    print("\n".join(lines))  # noqa: T201 - a command speaks
    return 0


def chosen_row(run: RunResult, choice: Choice) -> ScenarioResult:
    """Return the one row that is meant; ConfigurationError lists the candidates if there are none or several."""
    found = choice.among(run.scenarios)
    if not found:
        known = {name for row in run.scenarios for name in (row.nodeid, row.id)}
        raise ConfigurationError(
            f"run {run.run_id} has no item {choice.item!r}{_narrowed(choice)}.{did_you_mean(choice.item, known)} "
            "Name a node id, or scenario/example"
        )
    if len(found) > 1:
        listed = [f"  {one_line(row.nodeid)}" for row in found[:MOST]]
        listed += [f"  … and {len(found) - MOST:,} more"] * (len(found) > MOST)
        raise ConfigurationError(
            f"{choice.item!r}{_narrowed(choice)} means {len(found):,} items of run {run.run_id}. "
            "Choose with --agent, --span, --trial, or name one:\n" + "\n".join(listed)
        )
    return found[0]


def refresh(run: Run) -> None:
    """Write `summary.json` and `verdicts.csv` anew where the run has them, so that they tell the amended verdicts."""
    if run.summary:
        write_summary(run.path / "summary.json", rewritten(run.result, run.summary))
    verdicts = run.path / "verdicts.csv"
    if verdicts.exists():
        verdicts.write_text(verdicts_csv(run.result), encoding="utf-8", errors="backslashreplace")


def _narrowed(choice: Choice) -> str:
    words = [("--agent", choice.agent), ("--span", choice.span), ("--trial", choice.trial)]
    return "".join(f" {name}={value}" for name, value in words if value)


def _verdict_lines(before: ScenarioResult, after: ScenarioResult) -> list[str]:
    lines = [f"  before: {_told(before.score, before.reason)}", f"  now:    {_told(after.score, after.reason)}"]
    if before.automatic is not None:
        lines.append(f"  by the rules: {_told(before.automatic.score, before.automatic.reason)}")
    return lines


def _told(score: float | None, reason: str) -> str:
    return f"{'no score' if score is None else score_text(score)}: {shorten(one_line(reason), _REASON, mark='…')}"


def _total_lines(before: Run, after: Run, row: ScenarioResult) -> list[str]:
    """Return the total of the item's column, before and now."""
    totals = []
    for run in (before, after):
        (column,) = (c for c in columns(run.result) if (c.agent, c.span_label) == (row.agent, row.span_label))
        totals.append((f"{column.total:.2f} of {column.out_of}" if column.out_of else "none", column))
    (was, _), (now, column) = totals
    amended = f"{counted(column.amended, 'verdict')} of {column.examples:,} amended by hand"
    return [f"total of {one_line(column.label)}: {was} before, now {now} ({amended})"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm amend",
        description="Correct one verdict by hand. The automatic one is kept beside it, and every report says so.",
    )
    parser.add_argument("run", metavar="RUN", help=f"a run folder, a run id, or {LATEST!r}")
    parser.add_argument("item", metavar="ITEM", help="a node id, or scenario/example as in colours/0")
    parser.add_argument("--score", type=float, required=True, help="the share of full marks, 0 to 1")
    parser.add_argument("--reason", required=True, help="why the automatic verdict is wrong")
    parser.add_argument("--agent", default="", help="the agent's label, where several have such an item")
    parser.add_argument("--span", default="", help="the memory span's label")
    parser.add_argument("--trial", default="", help="the trial")
    parser.add_argument("--ltm-dir", default=".ltm", metavar="DIR", help="where run ids are looked up (default: .ltm)")
    return parser
