"""The gate of an LTM run: what can be known is checked before anything is said, the verdict decides the exit status."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._errors import LtmError
from pytest_ltm._gate._changes import Changes, changes
from pytest_ltm._gate._side import Side
from pytest_ltm._gate._verdict import BREACHED, Verdict, judge
from pytest_ltm._result import lost_examples
from pytest_ltm._secrets import redacted
from pytest_ltm.plugin._gate_checks import check_items, check_plans
from pytest_ltm.plugin._gate_options import WAYS, GateOptions
from pytest_ltm.plugin._items import LTM_ITEM
from pytest_ltm.reporting._baselines import save, side_of_run
from pytest_ltm.reporting._changes import change_lines, changes_json
from pytest_ltm.reporting._gate import gate_json, github_annotations, verdict_line, verdict_lines
from pytest_ltm.reporting._markdown import add_to_step_summary, run_markdown
from pytest_ltm.reporting._text import one_line, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_ltm._result import RunResult
    from pytest_ltm.plugin._run import LtmRun

DECIDED = frozenset({int(pytest.ExitCode.OK), int(pytest.ExitCode.TESTS_FAILED)})
"""The exit statuses that a gate replaces; any other says that the session did not come to its end."""
_COLORS = {"held": {"green": True}, "breached": {"red": True}, "unmeasurable": {"yellow": True}}


class Gate:
    """The gate of one run, in this process; workers only learn whether there is one."""

    def __init__(self, run: LtmRun, options: GateOptions) -> None:
        self._run, self.options = run, options
        self.verdict: Verdict | None = None
        """What the gate says once the run is over; None without a gate."""
        self.changes: Changes | None = None
        """What moved against the baseline; None where there is none."""
        self.told: list[str] = []
        """More for the Markdown summary, a sentence each."""
        self._notes: list[str] = []
        self._failed: list[str] = []

    # --- before the run

    def header(self) -> list[str]:
        """Return what must hold, for the header of the session."""
        options = self.options
        lines = [f"ltm: compared with: {options.before.name}"] if options.before else []
        return lines + [f"ltm: gate: {rule.sentence}" for rule in options.rules]

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check what the items decide; in a worker here, where xdist's controller is told of it."""
        yield
        if self._run.is_worker:
            self._look(items)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Check what the items decide, after all plugins have selected among them."""
        if not self._run.is_worker:
            self._look(session.items)

    def _look(self, items: Iterable[pytest.Item]) -> None:
        known = [item.stash[LTM_ITEM] for item in items]
        whole = self._run.settings.shard is None
        self._run.gated = bool(self.options.rules) or (whole and any(one.marks.pass_k for one in known))
        if known:
            check_items(known, self.options, self._run.settings)
            check_plans(known, self.options, self._run)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed although under a gate no score makes a test fail: errors in teardown, strict xfails."""
        if report.failed and report.when != "setup":
            self._failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember what could not be collected."""
        if report.failed:
            self._failed.append(report.nodeid)

    # --- after it

    def finish(self, result: RunResult, status: int) -> None:
        """Compare, judge, keep the baseline and write the summaries; `status`: the session's exit status so far."""
        unequal = self._compare(result)
        gated = bool(self.options.rules) or any(row.pass_k is not None for row in result.scenarios)
        whole = self._run.settings.shard is None
        if gated and whole and status in DECIDED:
            cut = any(held.ended == "interrupted" for held in result.conversations)
            lost = unequal or ("the run did not come to its end" if cut else "")
            self.verdict = judge(result, self.options.rules, self.changes, lost_too=lost)
        elif gated and whole:
            self._notes.append(f"gate: not decided: pytest ended with exit status {status}")
        elif gated:
            self._notes.append("gate: not decided: a shard is not the whole run. Merge, then compare")
        self._save(result, status)

    def _compare(self, result: RunResult) -> str:
        """Return why the run cannot be compared; "" if it can, or need not be."""
        if self.options.before is None:
            return ""
        try:
            plans = side_of_run(self._run.folder.path).plans
            side = Side(name="this run", result=result, plans=plans)
            self.changes = changes(self.options.before, side, WAYS, common=self.options.overlapping)
        except LtmError as error:
            self._notes.append(one_line(f"not compared: {error}"))
            return one_line(f"it cannot be compared: {str(error).splitlines()[0]}").rstrip(":")
        return ""

    def _save(self, result: RunResult, status: int) -> None:
        if not self.options.save:
            return
        why = self._unfit(result, status)
        if why:
            self._notes.append(f"baseline {self.options.save!r} not saved: {why}")
            return
        try:
            side = replace(side_of_run(self._run.folder.path), result=result)
            said = save(side, self.options.save, self.options.baselines, version("pytest-ltm"))
        except LtmError as error:
            said = one_line(str(error))
        self._notes.append(said.replace(str(self._run.config.rootpath) + os.sep, ""))

    def _unfit(self, result: RunResult, status: int) -> str:
        """Return why the run is no baseline for others; "" if it is."""
        gone = sum(row.infrastructure for row in result.scenarios)
        if gone:
            return lost_examples(gone, len(result.scenarios))
        if status not in DECIDED or any(held.ended != "complete" for held in result.conversations):
            return "the run did not come to its end"
        if not any(row.scored for row in result.scenarios):
            return "nothing has a score"
        return "" if self.verdict is None or self.verdict.state == "held" else verdict_line(self.verdict)

    def status(self, before: int) -> int:
        """Return the exit status, from the one that the session would have; only 0 and 1 are replaced."""
        if self.verdict is None or before not in DECIDED:
            return before
        return BREACHED if self.verdict.state == "held" and self._failed else self.verdict.status

    def json(self) -> dict[str, Any]:
        """Return what `summary.json` has of gate and comparison."""
        return {
            "gate": None if self.verdict is None else gate_json(self.verdict),
            "comparison": None if self.changes is None else changes_json(self.changes),
        }

    def write(self, result: RunResult) -> None:
        """Write the Markdown summary, and add it to the step summary of a CI job."""
        said = run_markdown(
            result,
            verdict=self.verdict,
            changes=self.changes,
            rules=self.options.rules,
            notes=[*self.told, *self._notes],
        )
        text = redacted(said)
        if self.options.summary:
            try:
                self.options.summary.write_bytes(text.encode("utf-8", "backslashreplace"))
            except OSError as error:
                self._notes.append(f"--ltm-summary: cannot be written: {error.strerror or error}")
        problem = add_to_step_summary(text)
        self._notes += [problem] * bool(problem)

    def show(self, reporter: Any) -> None:
        """Print what moved, and the verdict; the last line of a gate is what to look at first."""
        width = max(reporter._tw.fullwidth, 40)
        if self.changes is not None and self._run.config.get_verbosity() >= 0:
            reporter.write_line("")
            for line in [*change_lines(self.changes, width), ""]:
                reporter.write_line(line)
        for note in self._notes:
            for line in wrap(note, width, "  "):
                reporter.write_line(line)
        if self.verdict is None:
            return
        for number, line in enumerate(verdict_lines(self.verdict, width)):
            reporter.write_line(line, **(_COLORS[self.verdict.state] if not number else {}))
        if self.verdict.state == "held" and self._failed:
            reporter.write_line(
                f"  but {one_line(self._failed[0])} failed otherwise (exit status {BREACHED})", red=True
            )
        for line in github_annotations(self.verdict):
            reporter.write_line(redacted(line))
