"""Unfinished: reports how much of a run that ended early is done, and the command that resumes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.api.journal import (
    JOURNAL,
    RESULTS,
    ConversationResult,
    ScenarioResult,
    read_results,
)
from pytest_ltm.api.session import LtmRun
from pytest_ltm.api.storage import one_line, pluralize
from pytest_ltm.figures.columns import known_sum
from pytest_ltm.figures.text import wrap_text
from pytest_ltm.modes.signals import resume_command
from pytest_ltm.records.probe_record import PROBE_FILE
from pytest_ltm.reports.run_report import Report

if TYPE_CHECKING:
    from pytest_ltm.modes.resume import Begun

PAID_TOKENS, PAID_SECONDS = 1_000, 3
"""The resume command is shown above this number of tokens, or of seconds taken by agents."""


def _rows_done(conversations: Iterable[ConversationResult]) -> list[ScenarioResult]:
    """Return the results of the examples that resuming would not play again."""
    rows_done: list[ScenarioResult] = []
    for conversation in conversations:
        causes = {"not reached"}
        # The faults that made an agent count as gone are undone when the run is
        # resumed.
        if conversation.ended == "agent gone":
            causes.add("agent")
        for row in conversation.scenarios:
            if row.cause not in causes:
                rows_done.append(row)
    return rows_done


def _was_paid(conversation: ConversationResult) -> bool:
    """Return whether an agent reported some usage, or was a person, whose time is valuable."""
    if conversation.cost_usd or conversation.input_tokens:
        return True
    return conversation.agent_spec.partition(":")[0] == "human"


class Unfinished:
    """Reports at the end how much of a run that ended early is done, and the command that resumes it."""

    def __init__(self, run: LtmRun, report: Report) -> None:
        self._run = run
        self._report = report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Print the report below the tables."""
        yield
        result = self._report.result
        folder = self._run.folder.path
        write_line = terminalreporter.write_line
        # The user at the terminal did not want that.
        cut_off = bool(self._run.ended_by) or self._run.disk_is_gone
        was_asked = any(folder.glob(f"*/{JOURNAL}")) or (
            cut_off and (folder / PROBE_FILE).exists()
        )
        if not self._run.plays or result is None or not was_asked:
            return  # refused before anything was sent: there is nothing to resume
        rows_done = _rows_done(result.conversations)
        total = max(self._run.items.expected(self._run.config), len(result.scenarios))
        ends = {conversation.ended for conversation in result.conversations}
        if len(rows_done) >= total and ends <= {"complete"}:
            if any(row.cause == "agent" for row in rows_done):
                self._offer_asking_again(write_line)
            return
        tokens = sum(conversation.tokens for conversation in result.conversations)
        if not tokens and not cut_off:
            return
        # Controls only estimate what a model would cost.
        spending = []
        for conversation in result.conversations:
            if not conversation.hypothetical:
                spending.append(conversation)
        cost = known_sum(conversation.cost_usd for conversation in spending)
        paid = any(map(_was_paid, spending))
        spent = "" if cost is None else f", ${cost:.4f}"
        share = f"{len(rows_done)} of {total} examples are done"
        write_line(f"ended early: {share}, {tokens:,} tokens sent{spent}", yellow=True)
        took = self._report.agent_seconds
        if cut_off or paid or tokens > PAID_TOKENS or took > PAID_SECONDS:
            for line in self._how(self._run.config.get_terminal_writer().fullwidth):
                write_line(line)

    def _offer_asking_again(self, write_line: Callable[..., object]) -> None:
        """Print how messages lost to transient faults are sent again, if there are any."""
        lost_messages = _read_begun(self._run).lost
        if lost_messages:
            messages = pluralize(lost_messages, "message")
            command = resume_command(self._run)
            write_line(f"send {messages} lost to passing faults again: {command}")

    def _how(self, width: int) -> Iterator[str]:
        begun_run = _read_begun(self._run)
        # A signal may arrive after everything is played and before it is written:
        # resuming writes it.
        can = begun_run.can_go_on(self._run.conversations()) or (
            bool(self._run.ended_by) and not begun_run.stuck
        )
        if can:
            result = self._report.result
            larger = self._run.costs.larger_budget()
            conversations = result.conversations if result is not None else ()
            ends = {conversation.ended for conversation in conversations}
            spent = "budget spent" in ends
            more = f" {larger}" if spent and larger else ""
            yield f"resume with{' a larger budget' * spent}: {resume_command(self._run)}{more}"
            far = []
            for path in self._run.folder.path.glob(f"*/{RESULTS}"):
                has_journal = path.with_name(JOURNAL).exists()
                if not has_journal and read_results(path).exchanges:
                    far.append(path.parent.name)
            if far:
                # Their journals are on other machines, where they could be resumed.
                if len(far) == 1:
                    count_text = f"{far[0]} is"
                else:
                    count_text = f"{pluralize(len(far), 'conversation')} are"
                copy = "first copy the folders of conversations played on another machine into"
                loss = "without a journal here and would start over"
                folder = self._run.folder.shown()
                text = f"{copy} {folder}: {count_text} {loss}"
                yield from wrap_text(text, width, "  ")
        if begun_run.stuck and can:
            yield "these conversations cannot be resumed:"
        elif begun_run.stuck:
            yield "it cannot be resumed:"
        for reason in begun_run.refusal_reasons():
            yield from wrap_text(f"  {one_line(reason)}", width, "      ")


def _read_begun(run: LtmRun) -> Begun:
    from pytest_ltm.modes.resume import Begun

    return Begun.read_begun_run(run.folder.path)
