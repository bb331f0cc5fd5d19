"""Opening the folder of a conversation: begun where nothing is recorded, gone on with where something is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from pytest_ltm import _definition
from pytest_ltm._channel import recorded_time
from pytest_ltm._checkpoints import Checkpoints
from pytest_ltm._disk import write_whole
from pytest_ltm._errors import ConversationOver, DefinitionError, DiskFault, LtmError, told
from pytest_ltm._journal import FORMAT, Journal, Timings
from pytest_ltm._locks import FolderLock
from pytest_ltm._plan import agent_fingerprint, definition_rng
from pytest_ltm._recording import CHECKPOINTS, JOURNAL, TIMINGS, Recording, cut_back, read_recording
from pytest_ltm._records import json_text
from pytest_ltm._resumable import AgentRecord, agent_differences, cannot_go_on, known, plan_differences
from pytest_ltm._seat import Seat
from pytest_ltm._secrets import redacted, redacted_configuration
from pytest_ltm.agents._retry import Retries
from pytest_ltm.agents._speaker import Speaker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_ltm._clock import Clock
    from pytest_ltm._plan import Plan
    from pytest_ltm.agents._adapt import AgentSource
    from pytest_ltm.agents._protocols import Agent
    from pytest_ltm.agents._retry import Failed
    from pytest_ltm.plugin._settings import Settings

FATAL = (KeyboardInterrupt, pytest.exit.Exception)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A conversation's folder, ready to be played in."""

    journal: Journal
    timings: Timings
    seat: Seat
    agent_fingerprint: str
    lock: FolderLock
    gone: str = ""
    """Why nothing can be played."""
    untouched: bool = False
    """The folder stays as it is: it is another's, or cannot be read."""


class Supply:
    """Makes the agents of one conversation, and what talks to them."""

    def __init__(self, source: AgentSource, settings: Settings, folder: Path, *, label: str, trial: int) -> None:
        self._source, self._settings, self._folder, self._label = source, settings, folder, label
        self._rng = definition_rng(settings.seed, trial, "retries", label)
        self.retried: Callable[[Failed], object] = lambda _: None
        """Is told of each attempt to send a message that is followed by another."""
        self.told: AgentRecord | None = None
        """What the agent that was made last says of itself."""

    def make(self) -> Speaker:
        """Make the next agent; AgentError if it cannot be made."""
        return self._spoken_to(self._source.make(fatal=FATAL, folder=self._folder))

    def _spoken_to(self, agent: Agent) -> Speaker:
        source, settings = self._source, self._settings
        speaker = Speaker(
            agent,
            timeout=None if source.unlimited else settings.reply_timeout,
            fatal=FATAL,
            name=self._label,
            owned=source.owned,
            retries=Retries(most=settings.retries, rng=self._rng) if settings.retries else None,
            retried=lambda failed: self.retried(failed),  # noqa: PLW0108 - who is told is known later
        )
        configuration = source.configuration(agent, fatal=FATAL)
        self.told = AgentRecord(
            fingerprint=agent_fingerprint(source.spec, configuration),
            spec=redacted(source.spec),
            configuration=None if configuration is None else redacted_configuration(configuration),
            powers=tuple(sorted(speaker.powers)),
            max_message_tokens=speaker.max_message_tokens,
        )
        return speaker

    def differences(self, recordings: Iterable[Recording]) -> list[str]:
        """Return a sentence for each difference between the recorded agents and one that is made to be looked at.

        AgentError if it cannot be made.
        """
        speaker = self._spoken_to(self._source.sample(fatal=FATAL, folder=self._folder))
        speaker.close()
        return list(dict.fromkeys(found for each in recordings for found in agent_differences(each, self.record)))

    def make_as(self, recording: Recording) -> Speaker:
        """Make an agent that goes on with a recording; ConversationOver, with the differences, if it is another."""
        speaker = self.make()
        found = agent_differences(recording, self.record)
        if found:
            speaker.close()
            raise ConversationOver(f"the agent is not the recorded one. {' '.join(found)}")
        return speaker

    @property
    def record(self) -> AgentRecord:
        """What the agent says of itself, or of one that could not be made what can be said without it."""
        spec = self._source.spec
        unmade = AgentRecord(
            fingerprint=agent_fingerprint(spec, None), spec=redacted(spec), configuration=None, powers=(),
            max_message_tokens=0,
        )  # fmt: skip
        return self.told or unmade


def open_folder(folder: Path, plan: Plan, supply: Supply, clock: Clock) -> Opened:
    """Return the conversation's folder, locked; what keeps it from being played is a reason, not an error."""
    lock = FolderLock(folder)
    try:
        folder.mkdir(exist_ok=True)
        lock.acquire()
        recording = read_recording(folder / JOURNAL)
        if recording is None or not (recording.complete or recording.heard):
            return _begin(folder, plan, supply, clock, lock)
        return _go_on(folder, plan, supply, clock, lock, recording)
    except DiskFault:
        lock.release()
        raise
    except (LtmError, OSError) as error:
        lock.release()
        reason = str(error) if isinstance(error, LtmError) else told(error)
        return Opened(
            journal=Journal(), timings=Timings(), seat=Seat(supply.make), agent_fingerprint=supply.record.fingerprint,
            lock=lock, gone=reason, untouched=True,
        )  # fmt: skip


def checkpoints_of(folder: Path) -> Checkpoints:
    """Return the checkpoints in a conversation's folder."""
    return Checkpoints(folder / CHECKPOINTS)


def _begin(folder: Path, plan: Plan, supply: Supply, clock: Clock, lock: FolderLock) -> Opened:
    cut_back(folder, None)
    write_plan(folder, plan)
    seat, gone = Seat(supply.make, checkpoints=checkpoints_of(folder)), ""
    try:
        seat.ready(())
    except ConversationOver as over:
        gone = str(over)
    journal, timings = Journal.resuming(folder / JOURNAL), Timings.resuming(folder / TIMINGS)
    journal.write(
        "header",
        format=FORMAT,
        plan=plan.to_json(),
        plan_fingerprint=plan.fingerprint,
        agent_fingerprint=supply.record.fingerprint,
        now=clock.now.isoformat(),
        agent=supply.record.to_json(),
    )
    return Opened(
        journal=journal, timings=timings, seat=seat, agent_fingerprint=supply.record.fingerprint, lock=lock, gone=gone
    )


def _go_on(folder: Path, plan: Plan, supply: Supply, clock: Clock, lock: FolderLock, recording: Recording) -> Opened:
    checkpoints = checkpoints_of(folder)
    problems, stuck = plan_differences(recording, plan), cannot_go_on(recording, checkpoints)
    if problems:
        raise ConversationOver(f"the recorded conversation cannot be resumed: {' '.join(problems)}")
    cut_back(folder, recording)
    journal = Journal.resuming(folder / JOURNAL)
    header = {name: value for name, value in recording.header.items() if name != "event"}
    journal.write("header", **header)
    if clock.real:
        clock.follow(recorded_time(header.get("now")))
    make = (lambda: _nobody(stuck)) if stuck else (lambda: supply.make_as(recording))
    seat = Seat(make, known=known(recording), checkpoints=checkpoints)
    return Opened(
        journal=journal,
        timings=Timings() if recording.complete else Timings.resuming(folder / TIMINGS),
        seat=seat,
        agent_fingerprint=str(header.get("agent_fingerprint")),
        lock=lock,
    )


def _nobody(reason: str) -> Speaker:
    """Stand in for an agent that nobody can put back: what is recorded is told to its end, and no further."""
    raise ConversationOver(reason)


def write_plan(folder: Path, plan: Plan) -> None:
    """Write a plan, and its definitions so that they can be played."""
    write_whole(folder / "plan.json", json_text(plan.to_json()).encode())
    definitions = folder / "definitions"
    for example in plan.examples:
        if example.definition is not None:
            path = definitions / example.scenario / f"{example.example}.def.json"
            if not path.resolve().is_relative_to(definitions.resolve()):
                raise DefinitionError(f"the scenario {example.scenario!r} cannot be the name of a folder")
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, _definition.dump(_definition.to_json(example.definition)).encode())
    if plan.span is not None and definitions.is_dir():  # played again, they have their span by default
        write_whole(definitions / "config.yml", f"memory_span: {plan.span}\n".encode())
