"""Scoring a run again: what keeps it from being done is told before anything is; what moved is told at the end."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm import _amendments
from pytest_ltm._errors import LtmError
from pytest_ltm._locks import holder
from pytest_ltm._recording import JOURNAL
from pytest_ltm._rescore._moves import Rescored, compared
from pytest_ltm._rescore._plans import plan_differences, setting_differences
from pytest_ltm._rescore._record import recorded_plan
from pytest_ltm._rescore._retelling import KEEPS
from pytest_ltm._rescore._rows import recorded_rows
from pytest_ltm._run_file import read_run_file
from pytest_ltm._tokens import counter
from pytest_ltm.plugin._again import RESCORE, identity
from pytest_ltm.plugin._items import LTM_ITEM
from pytest_ltm.plugin._planning import filler_for, plan_today
from pytest_ltm.plugin._retold import folder_of
from pytest_ltm.plugin._run import grouped
from pytest_ltm.reporting._rescoring import rescored_lines
from pytest_ltm.reporting._text import wrap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ltm._plan import Plan
    from pytest_ltm._result import RunResult, ScenarioResult
    from pytest_ltm.plugin._items import LtmItem
    from pytest_ltm.plugin._run import LtmRun


class Rescoring:
    """Refuses what would not be the same run, and tells what moved."""

    def __init__(self, run: LtmRun, source: Path) -> None:
        self._run, self._source = run, source
        self._holder = ""
        """Who is still writing it."""
        self.came_to: Rescored | None = None
        """What it has come to, once the run is over."""

    def pytest_report_header(self) -> str:
        """Say what is done."""
        there = sum(1 for _ in self._source.glob(f"*/{JOURNAL}"))
        several = f"{there} recorded conversation{'s' * (there != 1)}"
        writing = f", still being written by {self._holder}" if self._holder else ""
        return f"ltm: scored again: run {self._source.name}, {several}{writing}; no agent is made or asked"

    def pytest_sessionstart(self) -> None:
        """Check the options; take over what people have said of its verdicts."""
        if not self._run.plays or self._run.is_worker:
            return
        try:
            recorded = read_run_file(self._source).settings
            nothing = [] if any(self._source.glob(f"*/{JOURNAL}")) else ["It holds no recorded conversation."]
            self._refuse(nothing or setting_differences(recorded, identity(self._run.settings)))
            with contextlib.suppress(OSError):  # a folder that may only be read
                self._holder = holder(self._source)
            if _amendments.read(self._source):
                shutil.copyfile(self._source / _amendments.FILE, self._run.folder.path / _amendments.FILE)
        except (LtmError, OSError) as error:
            raise pytest.UsageError(f"{RESCORE}: {error}") from error

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check each plan once it is known which examples are selected."""
        yield
        if self._run.plays:
            groups = grouped(item.stash[LTM_ITEM] for item in items).values()
            self._refuse([problem for group in groups for problem in self._problems(group)])

    def compare(self, result: RunResult) -> Rescored:
        """Return what moved; `result`: what the run has come to, amended."""
        after = [row for row in result.scenarios if row.cause != "not reached"]
        before = list(_rows_of(self._source))
        kept = {
            f"{held.agent}-{held.span_label}-{held.trial} {notice.partition(' ')[0]}": notice.partition(": ")[2]
            for held in result.conversations
            for notice in held.notices
            if f" {KEEPS}" in notice
        }
        places = {(row.agent, row.span_label, row.trial) for row in after}
        plans = {place: self._plans("~".join(place)) for place in places}
        self.came_to = compared(self._source.name, before, after, plans=plans, kept=kept)
        return self.came_to

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print what moved."""
        if self.came_to is None:
            return
        width = max(terminalreporter._tw.fullwidth, 40)
        for line in rescored_lines(self.came_to, width):
            terminalreporter.write_line(line)
        if self._holder:
            later = f"run {self._source.name} was still being written: score it again when it has ended"
            for line in wrap(later, width, "  "):
                terminalreporter.write_line(line, yellow=True)

    def _plans(self, name: str) -> tuple[Plan, ...]:
        found = (_plan_in(folder / name / JOURNAL) for folder in (self._source, self._run.folder.path))
        return tuple(plan for plan in found if plan is not None)

    def _problems(self, group: list[LtmItem]) -> list[str]:
        folder = folder_of(self._source, group[0])
        try:
            recorded = recorded_plan(folder / JOURNAL)
        except LtmError as error:
            return [f"{folder.name}: {error}"]
        if recorded is None:
            return []
        settings = self._run.settings
        filler = filler_for(self._run.config, settings, group[0].place.trial, counter(settings.tokenizer))
        found = plan_differences(recorded, plan_today(group, settings, filler)[0])
        return [f"{folder.name}: {' '.join(found)}"] if found else []

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            self._run.plays = False  # nothing is shown
            if not self._run.is_worker:
                shutil.rmtree(self._run.folder.path, ignore_errors=True)
            raise pytest.UsageError(
                f"{RESCORE}: run {self._source.name} cannot be scored again like this:\n  "
                + "\n  ".join(problems)
                + "\nWhat may change is how it is scored: evaluators, --ltm-scoring, --ltm-judge"
            )


def _rows_of(run: Path) -> Iterator[ScenarioResult]:
    for path in sorted(run.glob(f"*/{JOURNAL}")):
        yield from recorded_rows(path.parent)


def _plan_in(path: Path) -> Plan | None:
    try:
        return recorded_plan(path)
    except LtmError:
        return None
