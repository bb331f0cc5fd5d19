"""Resuming: which conversations of a run have begun, what must be equal, and what is said when a run ends early."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from pytest_ltm._core.engine import recording_folder as _recording
from pytest_ltm._core.journal.prechecks import PROBE_FILE
from pytest_ltm._core.journal.result import ConversationName, read_results
from pytest_ltm._core.journal.run_file import conversations_in, read_run_file
from pytest_ltm._core.session.items import LTM_ITEM, items_by_conversation
from pytest_ltm._core.session.options import name_option_in_errors
from pytest_ltm._core.session.planning import plan_for
from pytest_ltm._core.session.resume_command_line import resume_identity
from pytest_ltm._core.session.session import LtmRun
from pytest_ltm._core.session.signals import resume_command
from pytest_ltm._core.storage.errors import AgentError, LtmError
from pytest_ltm._core.storage.wording import one_line, pluralize
from pytest_ltm.figures.text import wrap_text
from pytest_ltm.modes.live import AgentFactory, read_resumable
from pytest_ltm.reports.run_report import Report

if TYPE_CHECKING:
    from typing_extensions import Self


class Begun(Struct, frozen=True):
    """What is recorded in a run's folder, by conversation."""

    recordings: Mapping[ConversationName, _recording.Recording | None]
    """None where not even the header is whole, or the journal is damaged."""
    stuck: Mapping[ConversationName, str]
    """Why an unfinished conversation cannot be resumed, by its name."""

    @classmethod
    def read_begun_run(cls, run: Path) -> Self:
        """Read a run's folder; only journals of this version can be resumed."""
        recordings: dict[ConversationName, _recording.Recording | None] = {}
        stuck: dict[ConversationName, str] = {}
        for name, path in conversations_in(run, _recording.JOURNAL).items():
            recordings[name], why = read_resumable(path.parent)
            if why:
                stuck[name] = why
        return cls(recordings, stuck)

    @property
    def complete(self) -> frozenset[ConversationName]:
        """Those that are complete."""
        return frozenset(
            name
            for name, one in self.recordings.items()
            if one is not None and one.complete
        )

    @property
    def lost(self) -> int:
        """How many messages at the end of conversations were lost to passing faults."""
        return sum(one.lost for one in self.recordings.values() if one is not None)

    @property
    def exchanges(self) -> int:
        """How many are recorded in all."""
        return sum(one.exchanges for one in self.recordings.values() if one is not None)

    @property
    def heard_conversations(self) -> Mapping[ConversationName, _recording.Recording]:
        """Those of which an agent has heard something, complete ones among them."""
        known = {name: one for name, one in self.recordings.items() if one is not None}
        return {name: one for name, one in known.items() if one.heard or one.complete}

    def can_go_on(self, conversations: Iterable[ConversationName]) -> bool:
        """Return whether there is anything left to be said in these conversations, begun or not.

        A name without a variant stands for those of all variants.
        """
        over = {*self.stuck, *self.complete}
        unfinished = self.recordings.keys() - over
        short = {name.whole for name in over}
        return bool(unfinished) or any(
            name not in over and name not in short for name in conversations
        )

    def refusal_reasons(self) -> list[str]:
        """Return a sentence for each reason, with the conversations that it keeps from going on."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.stuck.items():
            by_reason.setdefault(reason, []).append(name.folder)
        return [
            f"{', '.join(names[:3])}{f' and {len(names) - 3:,} more' * (len(names) > 3)}: {reason}"
            for reason, names in by_reason.items()
        ]


# --- Going on with a run: what must be equal is checked before anything is sent.


class ResumeGuard:
    """Refuses to resume a run that would not be the same run; there is no force."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._begun = Begun({}, {})

    def pytest_report_header(self) -> list[str]:
        """Report what is resumed, and what a kill or a crash left incomplete."""
        begun = self._begun
        stuck = f", {len(begun.stuck)} cannot be resumed" if begun.stuck else ""
        torn = {
            name.folder: one.torn
            for name, one in begun.heard_conversations.items()
            if one.torn
        }
        resumed = (
            f"ltm: resumed: {len(begun.complete)} of {len(begun.recordings)} started conversations are "
            f"complete{stuck}; {begun.exchanges:,} recorded exchanges are not repeated"
        )
        if begun.lost:
            lost = pluralize(begun.lost, "message")
            resumed += f"; {lost} lost to passing faults will be sent again"
        left_out = [
            f"ltm: {name}: an incomplete last line of {size:,} bytes is ignored"
            for name, size in torn.items()
        ]
        return [resumed, *left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Check options and agents, also those whose conversations are complete, as far as they can be made."""
        if self._run.plays:
            self._begun = Begun.read_begun_run(self._run.folder.path)
            if not self._run.is_worker:
                recorded = name_option_in_errors(
                    "--ltm-resume", lambda: read_run_file(self._run.folder.path)
                )
                now = resume_identity(self._run.settings)
                self._refuse(_recording.value_changes(recorded.settings, now))
                self._refuse(self._agents())
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check each plan once it is known which examples are selected, and whether anything is left to be said."""
        yield
        if self._run.plays:
            groups = items_by_conversation(item.stash[LTM_ITEM] for item in items)
            heard, problems = self._begun.heard_conversations, []
            for name in (name for name in groups if name in heard):
                plan = plan_for(groups[name], self._run.settings).plan
                if texts := _recording.recording_differences(heard[name], plan):
                    problems.append(f"{name.folder}: {' '.join(texts)}")
            self._refuse(problems)
            if not self._begun.can_go_on(groups):
                self._refuse(self._begun.refusal_reasons())

    def _agents(self) -> list[str]:
        by_label: dict[str, dict[ConversationName, _recording.Recording]] = {}
        for name, recording in self._begun.heard_conversations.items():
            if name not in self._begun.stuck:
                by_label.setdefault(name.agent, {})[name] = recording
        problems = {}
        for label, held in by_label.items():
            if label not in self._run.sources:
                continue
            folder = self._run.folder.path / next(iter(held)).folder
            supply = AgentFactory(
                self._run.sources[label],
                self._run.settings,
                folder,
                label=label,
                trial=0,
            )
            try:
                problems[label] = supply.differences(held.values())
            except AgentError as error:
                # A complete one is only reported again, which needs neither a key nor a
                # server.
                problems[label] = (
                    [] if self._begun.complete >= held.keys() else [str(error)]
                )
            except LtmError as error:
                problems[label] = [str(error)]
        return [
            f"{label}: {' '.join(problems[label])}"
            for label in problems
            if problems[label]
        ]

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            self._run.plays = False  # nothing is written, nothing is shown
            folder = self._run.folder
            raise pytest.UsageError(
                f"--ltm-resume: run {folder.name} cannot be resumed:\n  "
                + "\n  ".join(problems)
                + "\n"
                "The record is unchanged. Start a new run, or restore the original setup. Other ways "
                f"out: ltm doctor {shlex.quote(folder.shown())}"
            )


# --- Where a run ended early: what is done, and the command that resumes it.


PAID_TOKENS, PAID_SECONDS = 1_000, 3
"""What may be said, and how long agents may take, before it is worth telling how a run is resumed."""


class Unfinished:
    """Reports at the end what is done of a run that ended early, and the command that resumes it."""

    def __init__(self, run: LtmRun, report: Report) -> None:
        self._run, self._report = run, report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print it below the tables."""
        yield
        result, folder, write_line = (
            self._report.result,
            self._run.folder.path,
            terminalreporter.write_line,
        )
        cut_off = (
            bool(self._run.ended_by) or self._run.disk_is_gone
        )  # nobody at the terminal wanted that
        was_asked = any(folder.glob(f"*/{_recording.JOURNAL}")) or (
            cut_off and (folder / PROBE_FILE).exists()
        )
        if not self._run.plays or result is None or not was_asked:
            return  # refused before anything was said: there is nothing to resume
        # The faults that made an agent count as gone are undone when the run is
        # resumed.
        done = [
            row
            for each in result.conversations
            for row in each.scenarios
            if row.cause != "not reached"
            and not (row.cause == "agent" and each.ended == "agent gone")
        ]
        total = max(self._run.expected(), len(result.scenarios))
        if len(done) >= total and all(
            each.ended == "complete" for each in result.conversations
        ):
            if any(row.cause == "agent" for row in done):
                self._offer_asking_again(write_line)
            return
        tokens = sum(each.tokens for each in result.conversations)
        if not tokens and not cut_off:
            return
        spending = [each for each in result.conversations if not each.hypothetical]
        costs = [each.cost_usd for each in spending if each.cost_usd is not None]
        spent = f", ${sum(costs):.4f}" if costs else ""
        share = f"{len(done)} of {total} examples are done"
        write_line(
            f"ended early: {share}, {tokens:,} tokens were said{spent}", yellow=True
        )
        took = self._report.agent_seconds
        # An agent said that it used anything, or was a person, whose time is dear.
        paid = any(
            each.cost_usd
            or each.input_tokens
            or each.agent_spec.partition(":")[0] == "human"
            for each in spending
        )
        if cut_off or paid or tokens > PAID_TOKENS or took > PAID_SECONDS:
            for line in self._how(self._run.config.get_terminal_writer().fullwidth):
                write_line(line)

    def _offer_asking_again(self, write_line: Callable[..., object]) -> None:
        """Print how messages lost to passing faults are sent again, if there are any."""
        lost = Begun.read_begun_run(self._run.folder.path).lost
        if lost:
            messages = pluralize(lost, "message")
            command = resume_command(self._run)
            write_line(f"send {messages} lost to passing faults again: {command}")

    def _how(self, width: int) -> Iterator[str]:
        begun = Begun.read_begun_run(self._run.folder.path)
        # a signal may come when all is said and not yet written down: resuming does so
        can = begun.can_go_on(self._run.conversations()) or (
            bool(self._run.ended_by) and not begun.stuck
        )
        if can:
            result, larger = self._report.result, self._run.costs.larger_budget()
            spent = result is not None and any(
                each.ended == "budget spent" for each in result.conversations
            )
            more = f" {larger}" if spent and larger else ""
            yield f"resume with{' a larger budget' * spent}: {resume_command(self._run)}{more}"
            results = self._run.folder.path.glob(f"*/{_recording.RESULTS}")
            without = (
                path
                for path in results
                if not path.with_name(_recording.JOURNAL).exists()
            )
            far = [path.parent.name for path in without if read_results(path).exchanges]
            # Their journals are on other machines, with which they could go on.
            some = (
                f"{far[0]} is"
                if len(far) == 1
                else f"{pluralize(len(far), 'conversation')} are"
            )
            copy = (
                f"first copy the folders of conversations played on another machine into {self._run.folder.shown()}: "
                f"{some} without a journal here and would start over"
            )
            yield from wrap_text(copy, width, "  ") if far else ()
        if begun.stuck:
            yield (
                "it cannot be resumed:"
                if not can
                else "these conversations cannot be resumed:"
            )
        for reason in begun.refusal_reasons():
            yield from wrap_text(f"  {one_line(reason)}", width, "      ")
