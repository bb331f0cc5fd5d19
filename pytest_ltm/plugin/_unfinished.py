"""Where a run ended early: what is done of it, and the command that goes on."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._recording import JOURNAL, RESULTS
from pytest_ltm._result import read_results
from pytest_ltm.plugin._begun import Begun
from pytest_ltm.reporting._text import counted, one_line, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm._result import ConversationResult, ScenarioResult
    from pytest_ltm.plugin._report import Report
    from pytest_ltm.plugin._run import LtmRun


class Unfinished:
    """Tells at the end what is done of a run that ended early, and the command that goes on."""

    def __init__(self, run: LtmRun, report: Report) -> None:
        self._run, self._report = run, report

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print it."""
        result = self._report.result
        if not self._run.plays or result is None or not any(self._run.folder.path.glob(f"*/{JOURNAL}")):
            return  # refused before anything was said: there is nothing to go on with
        # The faults by which an agent was gone are taken back when the run goes on.
        done = [row for each in result.conversations for row in each.scenarios if not _open(row, each)]
        total = max(self._run.expected(), len(result.scenarios))
        if len(done) >= total and all(each.ended == "complete" for each in result.conversations):
            return
        tokens = sum(each.tokens for each in result.conversations)
        spending = [each for each in result.conversations if not each.hypothetical]
        costs = [each.cost_usd for each in spending if each.cost_usd is not None]
        spent = f", ${sum(costs):.4f}" if costs else ""
        terminalreporter.write_line(
            f"ended early: {len(done)} of {total} examples are done, {tokens:,} tokens were said{spent}", yellow=True
        )
        for line in self._how(terminalreporter._tw.fullwidth):
            terminalreporter.write_line(line)

    def _how(self, width: int) -> Iterator[str]:
        begun = Begun.of(self._run.folder.path)
        can = begun.can_go_on(self._run.conversations())
        if can:
            result, larger = self._report.result, self._run.costs.larger()
            spent = result is not None and any(each.ended == "budget spent" for each in result.conversations)
            yield f"go on with{' a larger budget' * spent}: {command(self._run)}{f' {larger}' * bool(spent and larger)}"
            elsewhere = self._elsewhere()
            yield from wrap(elsewhere, width, "  ") if elsewhere else ()
        if begun.stuck:
            yield "it cannot be resumed:" if not can else "these conversations cannot be gone on with:"
        for reason in begun.reasons():
            yield from wrap(f"  {one_line(reason)}", width, "      ")

    def _elsewhere(self) -> str:
        """Return what to do about conversations whose journals are on other machines; "" if there are none."""
        folders = [path.parent for path in self._run.folder.path.glob(f"*/{RESULTS}")]
        far = [each for each in folders if not (each / JOURNAL).exists() and read_results(each / RESULTS).exchanges]
        if not far:
            return ""
        some = f"{far[0].name} is" if len(far) == 1 else f"{counted(len(far), 'conversation')} are"
        return (
            f"before that, copy the folder of what was played on another machine into {self._run.folder.shown()}: "
            f"{some} without a journal here, and would be held from the beginning"
        )


def command(run: LtmRun) -> str:
    """Return the command that goes on with a run."""
    by_path = run.folder.moved or run.config.getoption("ltm_dir") is not None
    terminal = ["-s"] if run.config.getoption("capture") == "no" else []  # a person needs it again
    return shlex.join(["pytest", *terminal, f"--ltm-resume={run.folder.shown() if by_path else run.folder.name}"])


def _open(row: ScenarioResult, held: ConversationResult) -> bool:
    """Return whether an example is played when the run goes on."""
    return row.cause == "not reached" or (row.cause == "agent" and held.ended == "agent gone")
