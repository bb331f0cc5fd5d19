"""Going on with a run: what must be equal is checked before anything is sent; where one ended early, how to go on."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._errors import LtmError
from pytest_ltm._recording import JOURNAL, Recording, read_recording
from pytest_ltm._resumable import cannot_go_on, plan_differences
from pytest_ltm._run_file import read_run_file
from pytest_ltm._tokens import counter
from pytest_ltm.plugin import _again
from pytest_ltm.plugin._items import LTM_ITEM
from pytest_ltm.plugin._opened import Supply, checkpoints_of
from pytest_ltm.plugin._planning import filler_for, plan_for
from pytest_ltm.plugin._run import conversation_key, grouped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_ltm._plan import Plan
    from pytest_ltm._result import ConversationResult, ScenarioResult
    from pytest_ltm.plugin._items import LtmItem
    from pytest_ltm.plugin._report import Report
    from pytest_ltm.plugin._run import LtmRun


class Resume:
    """Refuses to go on with a run that would not be the same run; there is no force."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run

    def pytest_report_header(self) -> str:
        """Say what is gone on with."""
        begun = [_recording(path.parent) for path in self._run.folder.path.glob(f"*/{JOURNAL}")]
        complete = sum(recording is not None and recording.complete for recording in begun)
        known = sum(recording.exchanges for recording in begun if recording is not None)
        return (
            f"ltm: resumed: {complete} of {len(begun)} conversations that were begun are complete; "
            f"{known:,} recorded exchanges are not said again"
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Check options, agents and what they must be put back from; a conversation that is complete needs nothing."""
        if self._run.plays and not self._run.is_worker:
            self._check_settings()
            unfinished = dict(_unfinished(self._run))
            problems = [problem for folder, found in unfinished.items() for problem in _problems(folder, found)]
            _refuse(self._run, problems or self._agents(unfinished))
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check each plan once it is known which examples are selected."""
        yield
        if self._run.plays:
            groups = grouped(item.stash[LTM_ITEM] for item in items).values()
            _refuse(self._run, [problem for group in groups for problem in self._plan_problems(group)])

    def _check_settings(self) -> None:
        folder = self._run.folder.path
        try:
            found = _again.differences(read_run_file(folder), self._run.settings)
        except LtmError as error:
            raise pytest.UsageError(f"--ltm-resume: {error}") from error
        _refuse(self._run, found)

    def _agents(self, unfinished: Mapping[Path, Recording]) -> list[str]:
        by_agent = {folder.name.partition("~")[0]: (folder, found) for folder, found in unfinished.items()}
        problems = []
        for label, (folder, recording) in by_agent.items():
            source = self._run.sources.get(label)
            if source is not None and (source.owned or source.serves_many):
                supply = Supply(source, self._run.settings, folder, label=label, trial=0)
                try:
                    supply.make_as(recording).close()
                except LtmError as error:
                    problems.append(f"{label}: {error}")
        return problems

    def _plan_problems(self, group: list[LtmItem]) -> list[str]:
        folder = self._run.folder.conversation(conversation_key(group[0]))
        recording = _recording(folder)
        if recording is None or not (recording.heard or recording.complete):
            return []
        found = plan_differences(recording, self._plan(group))
        return [f"{folder.name}: {' '.join(found)}"] if found else []

    def _plan(self, group: list[LtmItem]) -> Plan:
        settings = self._run.settings
        filler = filler_for(self._run.config, settings, group[0].place.trial, counter(settings.tokenizer))
        return plan_for(group, settings, filler)[0]


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
        for line in self._how():
            terminalreporter.write_line(line)

    def _how(self) -> list[str]:
        unfinished = _unfinished(self._run)
        reasons = [reason for folder, recording in unfinished for reason in _problems(folder, recording)]
        if reasons:
            return ["it cannot be resumed:", *reasons]
        result, larger = self._report.result, self._run.costs.larger()
        spent = result is not None and any(each.ended == "budget spent" for each in result.conversations)
        more = f" {larger}" if spent and larger else ""
        return [f"go on with{' a larger budget' * spent}: {command(self._run)}{more}"]


def command(run: LtmRun) -> str:
    """Return the command that goes on with a run."""
    given = run.config.getoption("ltm_dir") is not None
    terminal = ["-s"] if run.config.getoption("capture") == "no" else []  # a person needs it again
    return shlex.join(["pytest", *terminal, f"--ltm-resume={run.folder.shown() if given else run.folder.name}"])


def _unfinished(run: LtmRun) -> Iterator[tuple[Path, Recording]]:
    """Yield the conversations of which an agent has heard something that it must know in order to go on."""
    for path in sorted(run.folder.path.glob(f"*/{JOURNAL}")):
        recording = _recording(path.parent)
        if recording is not None and recording.heard and not recording.complete:
            yield path.parent, recording


def _problems(folder: Path, recording: Recording) -> list[str]:
    try:
        reason = cannot_go_on(recording, checkpoints_of(folder))
    except LtmError as error:
        reason = str(error)
    return [f"{folder.name}: {reason}"] if reason else []


def _recording(folder: Path) -> Recording | None:
    try:
        return read_recording(folder / JOURNAL)
    except LtmError as error:
        raise pytest.UsageError(f"--ltm-resume: {error}") from error


def _refuse(run: LtmRun, problems: list[str]) -> None:
    if problems:
        run.plays = False  # nothing is written, nothing is shown
        raise pytest.UsageError(
            f"--ltm-resume: run {run.folder.name} cannot be resumed:\n  " + "\n  ".join(problems) + "\n"
            "What was recorded stays as it is. Start a new run, or put things back to how they were"
        )


def _open(row: ScenarioResult, held: ConversationResult) -> bool:
    """Return whether an example is played when the run goes on."""
    return row.cause == "not reached" or (row.cause == "agent" and held.ended == "agent gone")
