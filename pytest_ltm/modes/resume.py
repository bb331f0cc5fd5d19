"""Resuming: the begun conversations of a run, and the checks before it continues."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec import Struct

from pytest_ltm.api.journal import (
    JOURNAL,
    ConversationName,
    conversations_in,
    read_run_file,
)
from pytest_ltm.api.session import (
    LTM_ITEM,
    LtmRun,
    items_by_conversation,
    name_option_in_errors,
    plan_for,
    resume_identity,
)
from pytest_ltm.api.storage import AgentError, LtmError, pluralize
from pytest_ltm.modes.live import AgentFactory, read_resumable
from pytest_ltm.records import recording as _recording

if TYPE_CHECKING:
    from typing_extensions import Self


class Begun(Struct, frozen=True):
    """The recordings in a run's folder, by conversation."""

    recordings: Mapping[ConversationName, _recording.Recording | None]
    """None if not even the header is whole, or the journal is damaged."""
    stuck: Mapping[ConversationName, str]
    """Why an unfinished conversation cannot be resumed, by its name."""

    @classmethod
    def read_begun_run(cls, run: Path) -> Self:
        """Read a run's folder; only journals of this version can be resumed."""
        recordings: dict[ConversationName, _recording.Recording | None] = {}
        stuck: dict[ConversationName, str] = {}
        for name, path in conversations_in(run, JOURNAL).items():
            recordings[name], obstacle = read_resumable(path.parent)
            if obstacle:
                stuck[name] = obstacle
        return cls(recordings, stuck)

    @property
    def complete(self) -> frozenset[ConversationName]:
        """The complete conversations."""
        readable = self._readable.items()
        return frozenset(name for name, recording in readable if recording.complete)

    @property
    def _readable(self) -> dict[ConversationName, _recording.Recording]:
        return {
            name: recording
            for name, recording in self.recordings.items()
            if recording is not None
        }

    @property
    def lost(self) -> int:
        """The number of messages at the ends of conversations that were lost to transient faults."""
        return sum(recording.lost for recording in self._readable.values())

    @property
    def exchanges(self) -> int:
        """The total number of recorded exchanges."""
        return sum(recording.exchanges for recording in self._readable.values())

    @property
    def heard_conversations(self) -> Mapping[ConversationName, _recording.Recording]:
        """The conversations in which an agent has heard something, including complete ones."""
        return {
            name: recording
            for name, recording in self._readable.items()
            if recording.heard or recording.complete
        }

    def can_go_on(self, conversations: Iterable[ConversationName]) -> bool:
        """Return whether anything remains to be played in these conversations, begun or not.

        A name without a variant represents all its variants.
        """
        over = {*self.stuck, *self.complete}
        unfinished = self.recordings.keys() - over
        short = {name.whole for name in over}
        return bool(unfinished) or not short.union(over).issuperset(conversations)

    def refusal_reasons(self) -> list[str]:
        """Return a sentence for each reason, with the conversations that it prevents from continuing."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.stuck.items():
            by_reason.setdefault(reason, []).append(name.folder)
        sentences = []
        for reason, names in by_reason.items():
            places = ", ".join(names[:3])
            if len(names) > 3:
                places += f" and {len(names) - 3:,} more"
            sentences.append(f"{places}: {reason}")
        return sentences


# --- Resuming a run: equality of settings is checked before anything is sent.


class ResumeGuard:
    """Refuses to resume a run that would not be the same run; this cannot be forced."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._begun = Begun({}, {})

    def pytest_report_header(self) -> list[str]:
        """Report what is resumed, and what a kill or a crash left incomplete."""
        begun_run = self._begun
        stuck = f", {len(begun_run.stuck)} cannot be resumed" if begun_run.stuck else ""
        resumed = (
            f"ltm: resumed: {len(begun_run.complete)} of {len(begun_run.recordings)} started conversations are "
            f"complete{stuck}; {begun_run.exchanges:,} recorded exchanges are not repeated"
        )
        if begun_run.lost:
            lost_messages = pluralize(begun_run.lost, "message")
            resumed += f"; {lost_messages} lost to passing faults will be sent again"
        lines = [resumed]
        for name, recording in begun_run.heard_conversations.items():
            if recording.torn:
                lines.append(
                    f"ltm: {name.folder}: an incomplete last line of {recording.torn:,} bytes is ignored"
                )
        return lines

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Check options and agents, even those with complete conversations, as far as they can be created."""
        if self._run.plays:
            self._begun = Begun.read_begun_run(self._run.folder.path)
            if not self._run.is_worker:
                recorded = name_option_in_errors(
                    "--ltm-resume", lambda: read_run_file(self._run.folder.path)
                )
                identity = resume_identity(self._run.settings)
                self._refuse(_recording.value_changes(recorded.settings, identity))
                self._refuse(self._agents())
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check each plan once it is known which examples are selected, and whether anything remains to be played."""
        yield
        if self._run.plays:
            groups = items_by_conversation(item.stash[LTM_ITEM] for item in items)
            recordings = self._begun.heard_conversations
            problems = []
            for name in (name for name in groups if name in recordings):
                plan = plan_for(groups[name], self._run.settings).plan
                if texts := _recording.recording_differences(recordings[name], plan):
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
        for label, recordings in by_label.items():
            if label not in self._run.sources:
                continue
            folder = self._run.folder.path / next(iter(recordings)).folder
            supply = AgentFactory(
                self._run.sources[label],
                self._run.settings,
                folder,
                label=label,
                trial=0,
            )
            try:
                problems[label] = supply.differences(recordings.values())
            except AgentError as error:
                # A complete conversation is only reported again, which needs neither a
                # key nor a server.
                if self._begun.complete >= recordings.keys():
                    problems[label] = []
                else:
                    problems[label] = [str(error)]
            except LtmError as error:
                problems[label] = [str(error)]
        lines: list[str] = []
        for label, sentences in problems.items():
            if sentences:
                lines.append(f"{label}: {' '.join(sentences)}")
        return lines

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            self._run.plays = False  # nothing is written or shown
            folder = self._run.folder
            raise pytest.UsageError(
                f"--ltm-resume: run {folder.name} cannot be resumed:\n  "
                + "\n  ".join(problems)
                + "\n"
                "The record is unchanged. Start a new run, or restore the original setup. Other ways "
                f"out: ltm doctor {shlex.quote(folder.shown())}"
            )
