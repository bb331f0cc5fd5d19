"""What a person and a CI job read of an LTM run: header, outcome words, summary, exit status. Controller only."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm import _amendments
from pytest_ltm._clock import stopwatch
from pytest_ltm._disk import write_whole
from pytest_ltm._errors import DiskFault, LtmError
from pytest_ltm._journal import read
from pytest_ltm._result import ConversationResult, RunResult, lost_examples, read_results
from pytest_ltm._secrets import redacted
from pytest_ltm.plugin import _dataset, _judging, _options
from pytest_ltm.plugin._body import NOT_REACHED
from pytest_ltm.reporting._rescoring import rescored_details, rescored_sentence
from pytest_ltm.reporting._summary import summary_json, verdicts_csv, write_summary
from pytest_ltm.reporting._terminal import summary_lines
from pytest_ltm.reporting._text import counted, one_line, score_text, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ltm.plugin._gate import Gate
    from pytest_ltm.plugin._run import LtmRun

UNMEASURABLE = 75
"""The exit status (EX_TEMPFAIL) of a run in which agent, judge or budget took scores away, or nothing has one."""


class Report:
    """The readable side of an LTM run."""

    def __init__(self, run: LtmRun, gate: Gate) -> None:
        self._run, self._gate = run, gate
        self.result: RunResult | None = None
        """What the run came to, once it is over."""
        self._page = ""
        """What became of the report file; "" where none was asked for."""
        self._unreached = 0
        """Items that were not reached, of whatever verdict there was before."""
        self._began = stopwatch()

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Say what is about to be run, so that a newcomer understands it and anyone can repeat it."""
        settings = self._run.settings
        agents = ", ".join(
            agent.label if agent.label == agent.spec else f"{agent.label} ({agent.spec})" for agent in settings.agents
        )
        suite = settings.suite.name if settings.suite else "none"
        lines = [
            f"ltm: agents: {agents}",
            f"ltm: memory spans (tokens): {', '.join(settings.spans)}; suite: {suite}",
            f"ltm: seed: {settings.seed}; trials: {settings.trials}; time: {settings.time}; filler: {settings.filler}",
            f"ltm: tokenizer: {settings.tokenizer}; scoring: {settings.scoring}",
        ]
        if settings.judge != _judging.NONE:
            lines.append(f"ltm: judge: {settings.judge}; votes on a 'no': {settings.judge_votes}")
        if self._run.plays:
            lines.append(f"ltm: run folder: {self._run.folder.shown()}")
        if settings.shard is not None:
            lines.append(f"ltm: shard: {settings.shard.number} of {settings.shard.of}")
        if settings.dataset is not None:
            lines += _dataset.header(settings.dataset, config.get_verbosity())
        if settings.definitions is not None:
            lines.append(f"ltm: definitions: {settings.definitions.path}")
        if getattr(config.option, "reruns", None):
            lines.append("ltm: scenarios are never rerun: a second try would be another conversation")
        return [redacted(line) for line in [*lines, *self._gate.header()]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Find out before anything runs whether the report file can be written; UsageError if not."""
        files = {"--ltm-report": self._run.settings.report, "--ltm-summary": self._gate.options.summary}
        for flag, path in files.items():
            if self._run.plays and path:
                _check_writable(flag, path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Show a failure with some credit as PARTIAL, it stays a failure in every count; and what a gate lets pass."""
        if report.when != "call" or hasattr(report, "wasxfail"):
            return None
        score = getattr(report, "ltm_scored", None)
        if report.passed and score is not None:
            return "passed", ".", (f"SCORED {score_text(score)}", {"yellow": True})
        score = dict(report.user_properties).get("ltm_score")
        if report.failed and isinstance(score, (int, float)) and score > 0:
            return "failed", "p", f"PARTIAL {score:.2f}"
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count what was not reached."""
        told = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
        self._unreached += told.startswith(f"Skipped: {NOT_REACHED}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Make room for pytest's own line."""
        self._run.progress.clear()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the summary; say 75 instead of 0 or 1 where the result cannot be measured."""
        self._run.progress.clear()
        refused = session.exitstatus == pytest.ExitCode.USAGE_ERROR  # by a worker, where there are any
        if refused or not self._run.plays or not self._run.folder.path.is_dir():
            return
        if self._run.disk_is_gone and session.exitstatus == pytest.ExitCode.INTERRUPTED:  # by that, not by a person
            session.exitstatus = UNMEASURABLE
        result = self.result = self._read()
        if not result.conversations:
            return
        self._gate.finish(result, int(session.exitstatus))
        settings = self._run.settings
        summary = summary_json(
            result,
            pytest_ltm_version=version("pytest-ltm"),
            seed=settings.seed,
            plan=settings.described(),
            wall_seconds=round(stopwatch() - self._began, 3),
            agent_seconds=self._agent_seconds(),
            **self._gate.json(),
            **self._rescored(result),
        )
        try:
            table = verdicts_csv(result).encode("utf-8", "backslashreplace")
            write_whole(self._run.folder.path / "verdicts.csv", table)
            write_summary(self._run.folder.path / "summary.json", summary)
            self._page = self._write_page()
        except (DiskFault, OSError) as fault:  # the results are there, and the tables can still be shown
            self._page = one_line(str(fault))
        self._gate.write(result)
        session.exitstatus = self._gate.status(int(session.exitstatus))
        if session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED} and self._unmeasurable(result):
            session.exitstatus = UNMEASURABLE

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn from a worker why it has ended."""
        self._run.disk_is_gone |= "ltm_disk_is_gone" in getattr(node, "workeroutput", {})

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the tables."""
        if self.result is None or not self.result.conversations:
            return
        config = self._run.config
        if config.get_verbosity() >= 0:
            terminalreporter.section("long-term memory")
        for line in summary_lines(
            self.result,
            width=terminalreporter._tw.fullwidth,
            verbosity=config.get_verbosity(),
            color=terminalreporter.hasmarkup,
        ):
            terminalreporter.write_line(line)
        for line in _judging.said(self.result, self._run.folder.path):
            terminalreporter.write_line(line)
        if self._page:
            terminalreporter.write_line(self._page)
        self._gate.show(terminalreporter)
        if (self._run.disk_is_gone or self._unmeasurable(self.result)) and self._gate.verdict is None:
            why = "the disk did not take what must be kept" if self._run.disk_is_gone else self._why(self.result)
            for line in wrap(f"unmeasurable (exit status {UNMEASURABLE}): {why}", terminalreporter._tw.fullwidth, "  "):
                terminalreporter.write_line(line, yellow=True)

    def _unmeasurable(self, result: RunResult) -> bool:
        rows = result.scenarios
        lost = any(row.infrastructure for row in rows) or self._unreached > 0
        return lost or (bool(rows) and not any(row.scored for row in rows))

    def _why(self, result: RunResult) -> str:
        lost = max(sum(row.infrastructure for row in result.scenarios), self._unreached)
        if not lost:
            return "nothing has a score"
        return f"{lost_examples(lost, len(result.scenarios))}, not through memory"

    def _rescored(self, result: RunResult) -> dict[str, Any]:
        rescoring = self._run.config.pluginmanager.get_plugin("ltm-rescoring")
        if rescoring is None:
            return {}
        came_to = rescoring.compare(result)
        self._gate.told = [rescored_sentence(came_to), *rescored_details(came_to)]
        return {"rescored": came_to.to_json()}

    def _write_page(self) -> str:
        path, given = self._run.settings.report, _options.text(self._run.config, "ltm_report")
        if path is None:
            return ""
        from pytest_ltm.reporting.html import build_report  # noqa: PLC0415 - only where a report is written

        try:
            build_report([self._run.folder.path], path)
        except LtmError as error:
            return f"report: {one_line(str(error))}"
        return f"report: {one_line(given)}"

    def _read(self) -> RunResult:
        notices: list[str] = []
        found: list[ConversationResult] = []
        for path in sorted(self._run.folder.path.glob("*/results.json")):
            try:
                found.append(read_results(path))
            except LtmError as error:
                notices.append(str(error))
        amendments: dict[str, _amendments.Amendment] = {}
        try:
            amendments = _amendments.read(self._run.folder.path)
        except LtmError as error:
            notices.append(str(error))
        result = RunResult(
            run_id=self._run.folder.name,
            conversations=self._in_order(found),
            folder=self._run.folder.shown(),
            notices=(*self._legend(), *notices, *self._left_out(), *self._deaths(), *self._sent_again()),
        )
        return _amendments.apply(result, amendments)

    def _agent_seconds(self) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for path in self._run.folder.path.glob("*/timings.jsonl"):
            agent, span, *_ = path.parent.name.split("~")
            seconds = sum(event["seconds"] for event in read(path) if event["event"] == "reply")
            found[agent, span] = found.get((agent, span), 0.0) + seconds
        return found

    def _in_order(self, found: Sequence[ConversationResult]) -> tuple[ConversationResult, ...]:
        agents = [agent.label for agent in self._run.settings.agents]
        spans = list(self._run.settings.spans)
        return tuple(sorted(found, key=lambda c: (agents.index(c.agent), spans.index(c.span_label), c.trial)))

    def _deaths(self) -> list[str]:
        return list(getattr(self._run.config.pluginmanager.get_plugin("ltm-xdist"), "notices", ()))

    def _sent_again(self) -> list[str]:
        found: list[str] = []
        for path in sorted(self._run.folder.path.glob("*/timings.jsonl")):
            repeated = [event["exchange"] for event in read(path) if event["event"] == "retry"]
            if repeated:
                agent, span, *_ = path.parent.name.split("~")
                sent, tried = counted(len(set(repeated)), "message"), counted(len(repeated), "failed attempt")
                found.append(f"{agent} at {span}: {sent} sent again after {tried}: see 'retry' in timings.jsonl")
        return found

    def _legend(self) -> list[str]:
        """Return what a data set says to whoever reads its scores."""
        return list(getattr(self._run.settings.dataset, "legend", ()))

    def _left_out(self) -> list[str]:
        definitions = self._run.settings.definitions
        if definitions is None:
            return []
        unplayed = sorted(set(definitions.examples) - self._run.scenario_names)
        return [f"skipped: no scenario here plays the definitions of {', '.join(unplayed)}"] if unplayed else []


def _check_writable(flag: str, path: Path) -> None:
    is_new = not path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise pytest.UsageError(f"{flag}: cannot write {str(path)!r}: {error.strerror or error}") from error
