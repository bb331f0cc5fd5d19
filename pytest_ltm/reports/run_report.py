"""The output of an LTM run: header, outcome words, summary, exit status. Controller only."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec import structs

from pytest_ltm.api.calls import exact_scalar, shown
from pytest_ltm.api.internals import say_body_in_junit
from pytest_ltm.api.journal import (
    DECIDED,
    JOURNAL,
    SUMMARY,
    TIMINGS,
    UNMEASURABLE,
    ConversationName,
    ConversationResult,
    RunResult,
    Section,
    as_sections,
    at_span,
    conversations_in,
    cut_short,
    lost_examples,
    misjudged_checks,
    newest_first,
    own_version,
    why_unmeasured,
)
from pytest_ltm.api.journal import timings as _timings
from pytest_ltm.api.session import LtmRun, agents_traceback, is_in_body, is_unreached
from pytest_ltm.api.session import dataset as _dataset
from pytest_ltm.api.session import options as _options
from pytest_ltm.api.storage import (
    DiskFault,
    LtmError,
    escape_unprintable,
    first_and_rest,
    for_screen,
    one_line,
    pluralize,
    refuse_named_pipe,
    stopwatch_seconds,
)
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.figures.run_loading import (
    ResultsInFolder,
    prechecks_in,
    read_run,
    results_in,
    suite_of,
)
from pytest_ltm.figures.sentences import (
    account_sentences,
    mishap_sentences,
    trust_sentence,
)
from pytest_ltm.figures.statistics.totals import agent_paces
from pytest_ltm.figures.text import score_text, wrap_text, wrap_texts
from pytest_ltm.records import amendments as _amendments
from pytest_ltm.reports import terminal as _terminal
from pytest_ltm.reports.agent_sentences import next_step, run_sentences
from pytest_ltm.reports.summary import summary_json, write_summary, write_verdicts
from pytest_ltm.reports.summary_page import SummaryPage


class Report:
    """Presents an LTM run."""

    def __init__(self, run: LtmRun) -> None:
        option_value = partial(_options.option_value, run.config)
        self._run = run
        self.file: Path | None = option_value("ltm_report")
        """The report file to write."""
        self._summary_page = SummaryPage(option_value("ltm_summary"))
        self.sections: tuple[Section, ...] = ()
        """Sections that features add to the reports; set when the run is over."""
        self.result: RunResult | None = None
        """The result of the run; set when the run is over."""
        self._problems: list[str] = []
        """Why the Markdown summary could not be written."""
        self._page = ""
        """The outcome of writing the report file; "" if none was requested."""
        self._unreached = 0
        """Number of items that were not reached, whatever their earlier verdict."""
        self._reported: set[str] = set()
        """The node ids of items that pytest received any report about."""
        self._unplayed = ""
        """How many items were not played in a session that nobody stopped, as after `pytest.exit` in an agent."""
        self._tracebacks: dict[str, None] = {}
        """Tracebacks of agents that could not be created, each once, in order."""
        self._began = stopwatch_seconds()
        self._results: ResultsInFolder | None = None
        """The results in the run's folder; set when the run is over."""
        self._timed: dict[ConversationName, list[_timings.Timing]] = {}
        """The timings of each conversation."""
        self._noted = False

    @property
    def section_fields(self) -> dict[str, Any]:
        """The fields that sections add to `summary.json`."""
        fields: dict[str, Any] = {}
        records = [section.to_record() for section in self.sections if section.title]
        for section in self.sections:
            if not section.title:
                fields |= section.json
        return {**fields, "sections": records} if records else fields

    def pytest_report_header(self, config: pytest.Config) -> list[str]:
        """Describe the run that is about to start, so that newcomers understand it and anyone can repeat it."""
        run = self._run
        settings = self._run.settings
        option = config.option
        suite = settings.suite.title if settings.suite else "none"
        lines = [
            *self._agents_header(),
            f"ltm: memory spans (tokens): {', '.join(settings.spans)}; suite: {suite}",
            f"ltm: {'; '.join(self._settings_header(config))}",
        ]
        if settings.suite and settings.suite.lines:
            # settings that take effect, and those that are overridden
            parts = []
            for name, line in settings.suite.lines.items():
                takes_effect = _options.set_by_suite(config, settings.suite, name)
                note = "" if takes_effect else ", but the command line wins"
                parts.append(f"{name} (line {line}{note})")
            lines.append(
                f"ltm: set by {Path(settings.suite.path).name}: {', '.join(parts)}"
            )
        votes = f"votes on a 'no': {settings.judge.votes}"
        if not settings.judge.is_none:
            lines.append(f"ltm: judge: {settings.judge.judge}; {votes}")
        lines += [
            *[f"ltm: run folder: {run.folder.shown()}"] * run.plays,
            *self._warnings(),
        ]
        if settings.shard is not None:
            lines.append(f"ltm: shard: {settings.shard.number} of {settings.shard.of}")
        if settings.dataset is not None:
            lines += _dataset.dataset_header(settings.dataset, config.get_verbosity())
        if settings.definitions is not None:
            lines.append(f"ltm: definitions: {settings.definitions.path}")
        rerun_options = ("reruns", "retries", "force_flaky")
        if any(getattr(option, name, None) for name in rerun_options):
            lines.append(
                "ltm: scenarios are never rerun: a second try would be another conversation"
            )
        if config.pluginmanager.hasplugin("repeat") and getattr(option, "count", 1) > 1:
            lines.append(
                "ltm: --count repeats scenarios within a conversation; --ltm-trials=N repeats conversations"
            )
        if config.pluginmanager.hasplugin("pytest-split") and getattr(
            option, "splits", None
        ):
            lines.append(
                "ltm: --splits takes scenarios out of conversations; --ltm-shard=I/N keeps them whole"
            )
        return lines

    def _settings_header(self, config: pytest.Config) -> Iterator[str]:
        """Yield the settings that repeat the run; with `-v` also those at their defaults."""
        settings = self._run.settings
        rows = _options.option_table(config).rows
        yield f"seed: {settings.seed}"
        for name in ("trials", "time", "filler", "tokenizer", "scoring"):
            value = str(getattr(settings, name))
            if config.get_verbosity() > 0 or value != rows[f"ltm_{name}"].default:
                yield f"{name}: {value}"
        if settings.sessions:
            yield f"sessions: {settings.sessions}"

    def _agents_header(self) -> list[str]:
        sources = self._run.sources.items()
        agents = self._run.settings.agents
        names = []
        for agent in agents:
            is_same = agent.label == agent.spec
            names.append(agent.label if is_same else f"{agent.label} ({agent.spec})")
        apart = ", ".join(label for label, source in sources if source.apart)
        can = "can read the run folder: keep --ltm-dir where its user cannot"
        hidden = any("cannot read" in source.place for _, source in sources)
        reach = "cannot read the run folder" if hidden else can
        lines = [f"ltm: agents: {', '.join(names)}"]
        for label, source in sources:
            if source.calls:
                lines.append(f"ltm: {label} replies by {source.calls}()")
        if apart:
            lines.append(f"ltm: {apart} {reach}")
        return lines

    def _warnings(self) -> list[str]:
        """Return warnings to show before the run."""
        paths = newest_first(self._run.settings.ltm_dir)
        last = next((run for run in paths if run.name != self._run.folder.name), None)
        if last is None or not cut_short(last):
            return []
        advice = f"See ltm doctor {last.name}"
        return [
            f"ltm: the run before, {last.name}, has no {SUMMARY}: its process ended in the middle. {advice}"
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Check before anything runs that the report files can be written; UsageError if not.

        Under -q, where there is no header, show the warnings here.
        """
        files = {"--ltm-report": self.file, "--ltm-summary": self._summary_page.path}
        for flag, path in files.items():
            if self._run.plays and path:
                is_new = not path.exists()
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    refuse_named_pipe(path)
                    with path.open("ab"):
                        pass
                    if is_new:
                        path.unlink()
                except OSError as error:
                    raise pytest.UsageError(
                        f"{flag}: cannot write {str(path)!r}: {error.strerror or error}"
                    ) from error
        terminal: Any = self._run.config.pluginmanager.get_plugin("terminalreporter")
        verbosity = 1 if terminal is None else self._run.config.get_verbosity()
        if verbosity == 0:
            terminal.showfspath = False  # the examples of all files take turns: each would begin another line
        for line in self._warnings() if self._run.plays and verbosity < 0 else ():
            terminal.write_line(line, yellow=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Any:
        """Show failures with some credit as PARTIAL (they still count as failures), and mark what a gate lets pass."""
        if report.when != "call" or hasattr(report, "wasxfail"):
            return None
        score = getattr(report, "ltm_scored", None)
        if report.passed and score is not None:
            return "passed", ".", (f"SCORED {score_text(score)}", {"yellow": True})
        score = dict(report.user_properties).get("ltm_score")
        is_xpass = str(report.longrepr).startswith("[XPASS(strict)]")
        if (
            report.failed
            and isinstance(score, (int, float))
            and score > 0
            and not is_xpass
        ):
            return "failed", "p", f"PARTIAL {score:.2f}"
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count unreached items, and keep the errors of agents that could not be created."""
        if is_in_body(report):
            say_body_in_junit(self._run.config, report)
        self._unreached += is_unreached(report)
        self._reported.add(report.nodeid)
        if agents_traceback(report):
            self._tracebacks[agents_traceback(report)] = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        """Clear the progress lines for pytest's own; record that this run was not refused and begins."""
        self._run.progress.clear()
        if self._run.plays and not self._noted:
            self._noted = True
            self._note_timing(
                _timings.Began(after=round(stopwatch_seconds() - self._began, 3))
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the summary; exit with 75 instead of 0 or 1 if the result cannot be measured."""
        self._run.progress.clear()
        # with workers, one of them has refused
        refused = session.exitstatus == pytest.ExitCode.USAGE_ERROR
        if refused or not self._run.plays:
            return
        by_a_person = not (self._run.disk_is_gone or self._run.ended_by)
        if not by_a_person and session.exitstatus == pytest.ExitCode.INTERRUPTED:
            session.exitstatus = UNMEASURABLE
        if session.exitstatus in DECIDED and not (
            session.shouldfail or session.shouldstop
        ):
            planned = self._run.items.expected(self._run.config)
            missing = max(planned - len(self._reported), 0)
            self._unplayed = (
                f"{missing:,} of {pluralize(planned, 'example')} never ended"
                if missing
                else ""
            )
        if is_gone := not self._run.folder.path.is_dir():
            self._unplayed = f"{self._run.folder.shown()} was deleted: there are no results, and nothing to resume"
        is_over = session.exitstatus in {*DECIDED, UNMEASURABLE}
        if self._unplayed and is_over:
            session.exitstatus = UNMEASURABLE
        if is_gone:
            return
        canaries = self._run.config.pluginmanager.get_plugin("ltm-canaries")
        if is_over and canaries:
            canaries.complete_checks()
        result = self.result = self._read()
        if not result.conversations:
            return
        status = int(session.exitstatus)
        result = self.result = self._add_sections(result, status)
        self._write(result)
        sentences = self._agent_sentences(result)
        self._problems = self._summary_page.write(result, sentences, self.sections)
        statuses = self._run.hooks.ask_all(
            "pytest_ltm_exit_status", _exact_status, result=result, status=status
        )
        session.exitstatus = next(statuses, status)
        if session.exitstatus in DECIDED and self._lost(result):
            session.exitstatus = UNMEASURABLE

    def _add_sections(self, result: RunResult, status: int) -> RunResult:
        """Collect the sections of features; return the result with a notice for each feature that failed."""
        hooks = self._run.hooks
        hooks.is_over = True
        former_faults = len(hooks.faults)
        answers = hooks.ask_all(
            "pytest_ltm_report_sections", result=result, status=status
        )
        sections = list[Section]()
        wrong = list[str]()
        for answer in answers:
            try:
                sections += as_sections(answer)
            except TypeError as error:
                wrong.append(f"the hook pytest_ltm_report_sections returns {error}")
        self.sections = tuple(sections)
        notices = (*result.notices, *hooks.faults[former_faults:], *wrong)
        return structs.replace(result, notices=notices)

    def _agent_sentences(self, result: RunResult) -> list[str]:
        """Return the sentence on each agent, and the suggested next command."""
        compared = self.section_fields.get("comparison")
        remarks = run_sentences(result_columns(result), compared)
        step = next_step(result)
        if remarks and step:
            remarks[-1] += f". Next: {step}"
        return remarks

    def _write(self, result: RunResult) -> None:
        """Write the verdicts, the summary and the report file; all other reports are derived from these."""
        settings = self._run.settings
        folder = self._run.folder.path
        self._note_timing(
            _timings.Ended(seconds=round(stopwatch_seconds() - self._began, 3))
        )
        # including resumed conversations
        parts, _ = _timings.load_all_timings(folder / TIMINGS)
        entries = chain.from_iterable(self._timed.values())
        moments = [timing.at for timing in entries if timing.at is not None]
        summary = summary_json(
            result,
            pytest_ltm_version=own_version(),
            seed=settings.seed.recorded,
            plan=settings.describe_settings(),
            wall_seconds=round(_timings.wall_seconds(parts, moments), 3),
            added=self.section_fields,
        )
        try:
            write_verdicts(folder, result)
            write_summary(folder / SUMMARY, summary)
            del summary  # as large as the results, and the page needs the memory
            if self.file is not None:
                from pytest_ltm.reports.html import build_report

                page = _options.option_text(self._run.config, "ltm_report")
                try:
                    build_report([read_run(folder, self._results)], self.file)
                except LtmError as error:
                    page = str(error)
                self._page = f"report: {one_line(page)}"
        except (DiskFault, OSError) as fault:
            # the results are complete, and the tables can still be shown
            self._page = one_line(str(fault))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Record why a worker has ended."""
        output = getattr(node, "workeroutput", {})
        self._run.disk_is_gone |= "ltm_disk_is_gone" in output
        self._run.ended_by = self._run.ended_by or output.get("ltm_ended_by", "")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: Any, exitstatus: int
    ) -> Generator[None, None, None]:
        """Print the tables below all other output, so that the result comes last."""
        yield
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
            terminalreporter.write_line(
                "ltm: nothing to play: no selected test takes the fixture 'ltm', and an LTM run leaves out all others"
            )
        if self.result is not None and self.result.conversations:
            config = self._run.config
            for traceback in self._tracebacks if config.option.tbstyle != "no" else ():
                terminalreporter.write_sep(
                    "_", "ERROR in the agent", red=True, bold=True
                )
                terminalreporter.write_line(escape_unprintable(traceback))
            # Sections with a verdict give the reason themselves.
            is_told = any(section.verdict for section in self.sections)
            reason = "" if is_told else self._why_unmeasurable(self.result)
            if self._summary_page.shown:
                page = for_screen(self._summary_page.shown)
                terminalreporter.write_line("\n".join(filter(None, [page, self._page])))
            else:
                self._show_tables(self.result, terminalreporter, told_below=reason)
            if reason:
                text = f"unmeasurable (exit status {UNMEASURABLE}): {reason}"
                for line in wrap_text(
                    text, config.get_terminal_writer().fullwidth, "  "
                ):
                    terminalreporter.write_line(line, yellow=True)
        elif self._unplayed:
            terminalreporter.write_line(
                f"unmeasurable (exit status {UNMEASURABLE}): {self._unplayed}",
                yellow=True,
            )

    def _why_unmeasurable(self, result: RunResult) -> str:
        """Return why the result cannot be measured; under -q with the reason that is else below the table."""
        cause = "records could not be written to disk" if self._run.disk_is_gone else ""
        cause = (
            cause
            or (self._run.ended_by and f"ended by {self._run.ended_by}")
            or self._unplayed
            or self._lost(result)
        )
        brief = self._run.config.get_verbosity() < 0 and not misjudged_checks(result)
        reason = _terminal.first_reason(result, cause) if brief else ""
        if not cause or not reason or reason.endswith(cause):
            return cause
        return f"{cause}; the first: {reason}"

    def _show_tables(
        self, result: RunResult, terminalreporter: Any, *, told_below: str
    ) -> None:
        width = self._run.config.get_terminal_writer().fullwidth
        verbosity = self._run.config.get_verbosity()
        notes = list[str]()
        judged = list[str]()
        if any(row.judge_calls for row in result.scenarios):
            remembered = []
            for path in self._run.folder.path.glob(f"*/{TIMINGS}"):
                for timing in _timings.iter_timings(path, _timings.JudgeTime):
                    if timing.remembered:
                        remembered.append(timing.cost_usd)
            judged = _terminal.judge_lines(result, remembered)
        if verbosity >= 0:
            terminalreporter.write_sep("=", "long-term memory")
        else:  # otherwise they are below the table
            sentences = [
                *self._alone(result.conversations),
                *mishap_sentences(result.conversations),
                *account_sentences(result.conversations),
            ]
            notes = [f"note: {sentence}" for sentence in sentences]
        for line in (
            *_terminal.summary_lines(
                result,
                width=width,
                verbosity=verbosity,
                color=terminalreporter.hasmarkup,
                told_below=told_below,
            ),
            *wrap_texts(notes, width, "      "),
            *judged,
            *_terminal.user_lines(result),
            *filter(None, [self._page]),
        ):
            terminalreporter.write_line(line)
        self._show_sections(terminalreporter, width)
        if verbosity >= 0:
            for line in wrap_texts(self._agent_sentences(result), width, "  "):
                terminalreporter.write_line(line, bold=True)

    def _show_sections(self, terminalreporter: Any, width: int) -> None:
        for line in wrap_texts(self._problems, width, "  "):
            terminalreporter.write_line(line)
        for section in self.sections:
            for line in _terminal.section_lines(section, width):
                terminalreporter.write_line(line)
            for line, color in section.screen:
                terminalreporter.write_line(line, **({color: True} if color else {}))

    def _lost(self, result: RunResult) -> str:
        """Return why the result cannot be measured: scores lost to anything but memory, or no score at all."""
        rows = result.scenarios
        if self._unreached > sum(row.infrastructure for row in rows):
            return f"{lost_examples(self._unreached, len(rows))}, not memory"
        return why_unmeasured(result) if rows else ""

    def _read(self) -> RunResult:
        self._results = results_in(self._run.folder.path)
        matching = self._results[0]
        notices = [*self._results[1]]
        amendments: dict[str, _amendments.Amendment] = {}
        try:
            amendments = _amendments.read_amendments(self._run.folder.path)
        except LtmError as error:
            notices.append(str(error))
        settings = self._run.settings
        # the data set's own note to readers of its scores
        legend = getattr(settings.dataset, "legend", ())
        deaths = getattr(
            self._run.config.pluginmanager.get_plugin("ltm-xdist"), "notices", ()
        )
        unplayed = settings.definitions and sorted(
            set(settings.definitions.examples) - self._run.items.scenario_names
        )
        if unplayed:
            left_out = [
                f"skipped: no scenario here plays the definitions of {', '.join(unplayed)}"
            ]
        else:
            left_out = []
        agents = [agent.label for agent in settings.agents]
        spans = list(settings.spans)
        conversations = [folder.result for folder in matching]
        conversations.sort(
            key=lambda conversation: (
                agents.index(conversation.agent),
                spans.index(conversation.span_label),
                conversation.trial,
            )
        )
        timed = self._read_timings()
        prechecks = prechecks_in(self._run.folder.path)
        entries: dict[tuple[str, str], list[_timings.Timing]] = defaultdict(list)
        for name, conversation in self._timed.items():
            entries[name.agent, name.span] += conversation
        is_generated = settings.definitions is None and settings.dataset is None
        rows = chain.from_iterable(
            conversation.scenarios for conversation in conversations
        )
        places: dict[str, str] = {}
        for label, source in self._run.sources.items():
            if source.place:
                places[label] = source.place
        trust = trust_sentence(
            places,
            settings.seed.publicity if is_generated and settings.suite else "",
            has_judge=any(row.judge_calls for row in rows),
            prechecks=prechecks,
        )
        all_notices = [
            *legend,
            *notices,
            *left_out,
            *settings.scenarios_left_out(),
            *deaths,
            *self._run.notices,
            *self._alone(conversations),
            *timed,
            *mishap_sentences(conversations),
            *account_sentences(conversations),
        ]
        run = self._run.folder
        suite = suite_of(settings.describe_settings())
        result = RunResult(
            run_id=run.name,
            conversations=tuple(conversations),
            folder=run.shown(),
            notices=tuple(all_notices),
            paces=agent_paces(entries),
            prechecks=prechecks,
            suite=suite,
            trust=trust,
        )
        return _amendments.apply_amendments(result, amendments)

    def _alone(self, conversations: Sequence[ConversationResult]) -> list[str]:
        """Return a sentence if conversations were played without all the scenarios that belong to them."""
        # isolated examples belong to no other
        together: set[str] = set()
        for conversation in conversations:
            if conversation.span is not None:
                together.add(conversation.name.folder)
        missing = {
            place: count
            for place, count in self._run.items.deselected.items()
            if place[0] in together
        }
        if not missing:
            return []
        # other plugins may have shuffled what was deselected
        scenarios = sorted({scenario for _, scenario in missing})
        few = ", ".join(first_and_rest(scenarios, _NAMED, "{:,} more"))
        total = sum(missing.values())
        many = f"{pluralize(total, 'example')} of these conversations {'was' if total == 1 else 'were'}"
        explanation = "deselected (-k, -m or a plugin) and not played"
        return [
            f"{many} {explanation}: {few}, so these scores do not compare with a full run"
        ]

    def _note_timing(self, timing: _timings.Began | _timings.Ended) -> None:
        with (
            suppress(DiskFault, OSError),
            closing(
                _timings.Timings.resuming(self._run.folder.path / TIMINGS)
            ) as timings,
        ):
            timings.write(timing)

    @property
    def agent_seconds(self) -> float:
        """Seconds that the agents took for their replies."""
        seconds = 0.0
        for pace in self.result.paces if self.result else ():
            if pace.asking is not None:
                seconds += pace.asking.total
        return seconds

    def _read_timings(self) -> list[str]:
        """Read the timings; return reading problems and retries, on which only seconds depend."""
        run = self._run.folder.path
        # otherwise the run ended before any
        problems = [_timings.load_all_timings(run / TIMINGS)[1]] if self._noted else []
        retries = []
        for name, path in conversations_in(run, JOURNAL).items():
            self._timed[name], problem = _timings.load_all_timings(
                path.with_name(TIMINGS)
            )
            problems.append(problem)
            attempts = Counter[int]()
            for timing in self._timed[name]:
                if isinstance(timing, _timings.Retry):
                    attempts[timing.exchange] += 1
            if attempts:
                retries.append(
                    f"{at_span(name.agent, name.span)}: {pluralize(len(attempts), 'message')} sent again after "
                    f"{pluralize(attempts.total(), 'failed attempt')}: see 'retry' in {TIMINGS}"
                )
        few = first_and_rest(list(filter(None, problems)), _NAMED, "{:,} more")
        return [
            *(f"{problem}: seconds are summed over the rest" for problem in few),
            *retries,
        ]


_NAMED = 3


# --- Above pytest's summary: many failures as one line per scenario; the right title
# for an error in a body.

# Up to this many failures are shown in pytest's way; beyond it each scenario has a
# line.
LISTED = 20
_AUTO, _LISTING = "auto", "fE"
"""The default values of `--tb` and `-r`."""


class Brevity:
    """Replaces many failures by a line per scenario, unless -v, -r or --tb ask for them."""

    def __init__(self, report: Report) -> None:
        self._report = report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(
        self, terminalreporter: Any, config: pytest.Config
    ) -> Generator[None, None, None]:
        """Make pytest omit excessive output, and locate errors."""
        option = config.option
        reporter = terminalreporter
        failed = len(reporter.stats.get("failed", ()))
        listing = reporter.reportchars
        titles: dict[str, str] = {}
        for report in reporter.stats.get("error", ()):
            if is_in_body(report):
                title = f"ERROR at setup of {report.head_line}"
                titles[title] = f"ERROR in {report.head_line}"
        write_sep = reporter.write_sep

        def titled(
            sep: str, title: str | None = None, *arguments: Any, **markup: Any
        ) -> None:
            write_sep(sep, titles.get(title or "", title), *arguments, **markup)

        shadows: dict[str, Any] = {"write_sep": titled}
        brief = (
            failed > LISTED
            and config.get_verbosity() <= 0
            and "A" not in option.reportchars
        )
        if brief and option.tbstyle == _AUTO:
            shadows["summary_failures"] = lambda: None
        if brief and option.reportchars == _LISTING:
            reporter.reportchars = listing.replace("f", "")
        vars(reporter).update(shadows)
        try:
            yield
        finally:
            reporter.reportchars = listing
            for name in shadows:
                delattr(reporter, name)
        if brief and self._report.result is not None and option.reportchars == _LISTING:
            for line in _terminal.failing_lines(
                self._report.result, config.get_terminal_writer().fullwidth
            ):
                reporter.write_line(line)
            advice = ", --tb=short shows them" if option.tbstyle == _AUTO else ""
            reporter.write_line(
                f"{pluralize(failed, 'failure')}: -rf lists them{advice}"
            )


# --- `--ltm-live`: the live view of this run, served by a process of its own that ends
# with the run.


class LiveServer:
    """The server process and the line with its link. Its failures do not affect the run."""

    PATIENCE = 30.0
    """Seconds in which the server must report its address."""
    GRACE = 10.0
    """Seconds in which the server must end after the run."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._process: subprocess.Popen[bytes] | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> None:
        """Start the server and print its link, or why there is none."""
        run = self._run
        words = [
            "serve",
            "--port=0",
            f"--live={run.folder.path.name}",
            f"--ltm-dir={run.settings.ltm_dir}",
        ]
        command = [sys.executable, "-m", "pytest_ltm", *words]
        reply = b""
        with suppress(OSError):
            # its stderr would run into the dots; Ctrl-C is meant for the run, which
            # ends the server
            pipes: Any = {
                "stdin": subprocess.PIPE,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.STDOUT,
            }
            self._process = subprocess.Popen(command, **pipes, start_new_session=True)  # noqa: S603 - our own command
            stdout = self._process.stdout
            chunks = list[bytes]()
            reader = Thread(
                target=lambda: chunks.append(stdout.readline() if stdout else b""),
                daemon=True,
            )
            reader.start()
            reader.join(self.PATIENCE)
            if not chunks:  # the process ended, so reading ends
                self._process.kill()
                reader.join()
            reply = chunks[0]
        link = reply.decode("utf-8", "replace").strip()
        if link.startswith("http"):
            text = f"ltm: live at {link}"
        else:
            text = f"ltm: no live view: {link or 'it did not start'}"
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(text)

    def pytest_unconfigure(self) -> None:
        """Notify the server that the run is over, and wait until it has notified its pages."""
        process = self._process
        if process is None:
            return
        with suppress(OSError, subprocess.TimeoutExpired):
            process.communicate(timeout=self.GRACE)  # closes its standard input
        if process.poll() is None:
            process.kill()
            process.communicate()


def _exact_status(answer: object) -> int:
    status = exact_scalar(answer)
    if type(status) is not int:
        raise TypeError(f"it returned {shown(answer)}, not a number")
    return status
