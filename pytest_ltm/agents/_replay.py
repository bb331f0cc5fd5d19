"""Replaying recorded replies: of our own runs strictly, of published master logs as near as their texts allow."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import AgentError, AgentFault
from pytest_ltm._rescore._record import as_recorded
from pytest_ltm.agents._adapt import AgentSource
from pytest_ltm.agents._master_log import MasterLogReplay
from pytest_ltm.agents._recordings import Recordings, find_recordings
from pytest_ltm.agents._tape import Tape, nearest, read_tape, unrecorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from pytest_ltm.agents._protocols import Reply

WAY_OUT = "What is said has changed since: put it back, or record it again with the agent itself"


OTHER_FILLER = (
    "How much filler is needed depends on all that is said: replay the whole conversation as it was, or record it "
    "again with the agent itself"
)


class JournalReplay:
    """Gives the replies that one of our journals holds; a message that it does not hold is a fault with a diff."""

    def __init__(self, tape: Tape, digest: str = "") -> None:
        self._tape, self._digest = tape, digest
        self._speaker = ""
        self._taken = 0
        """A bit for each recorded message that was said."""
        self._shown: tuple[str, ...] = ()
        self.max_message_tokens = tape.max_message_tokens or _MOST

    def ltm_announce(self, speaker: str) -> None:
        """Know which example speaks next (private to the engine: no agent under test is ever told)."""
        self._speaker = speaker

    def reply(self, message: str) -> Reply:
        """Return the recorded reply; AgentFault if there is none (left), and where a fault is recorded."""
        said = as_recorded(message)
        place = self._tape.place(self._speaker, said, self._taken)
        if place is None:
            raise AgentFault(self._why_not(said))
        self._taken |= 1 << place
        given, self._shown = self._tape.reply(place)
        return given

    def save(self) -> bytes:
        """Return which messages were said."""
        return f"{self._taken:x}".encode()

    def load(self, state: bytes) -> None:
        """Go back to that."""
        self._taken = int(state, 16)

    def configuration(self) -> Mapping[str, Any]:
        """Return what is replayed."""
        return {"replayed": self._tape.fingerprint, "journal": self._digest}

    def _why_not(self, said: str) -> str:
        who = f" of {self._speaker}" if self._speaker else ""
        if self._tape.knows(self._speaker, said):
            return f"the recording holds no further reply to {said[:_SHOWN]!r}{who}. {WAY_OUT}"
        diff = unrecorded(self._tape.messages, self._speaker, said)
        if not self._speaker and nearest(self._tape.messages, "", said) in self._tape.fillers:
            return f"the recording does not hold this filler. {diff}\n{OTHER_FILLER}"
        return f"the recording does not hold this message{who}. {diff}\n{WAY_OUT}"


_MOST, _SHOWN = 4096, 200


class _Accepts:
    def accept(self, message: str, reply: str) -> None:
        """Take filler or history in; nothing to remember."""


class _Tells:
    def tell_time(self, now: datetime) -> None:
        """Take no notice."""


class _Shows:
    _shown: tuple[str, ...]

    def retrieved(self) -> Sequence[str]:
        """Return what was retrieved for the last reply."""
        return self._shown


class _Resets:
    _taken: int

    def reset(self) -> None:
        """Begin the recording again."""
        self._taken = 0


_POWERS = {"AcceptsHistory": _Accepts, "TimeAware": _Tells, "ShowsRetrieval": _Shows, "Resettable": _Resets}


@cache
def _kind(powers: frozenset[str]) -> type[JournalReplay]:
    """Return the class of replays that have the powers of the recorded agent that matter to a conversation."""
    more = tuple(power for name, power in _POWERS.items() if name in powers)
    return type("JournalReplay", (*more, JournalReplay), {}) if more else JournalReplay


def replay(path: Path) -> JournalReplay | MasterLogReplay:
    """Return an agent that replays a file; AgentError if it cannot be read."""
    first = _first_event(path)
    if "type" in first:
        return MasterLogReplay(_master_events(path))
    tape, digest = read_tape(path)
    if not tape.messages:
        raise AgentError(f"nothing is recorded in {path}")
    return _kind(tape.powers)(tape, digest)


def make_replay(argument: str, *, ltm_dir: Path | None = None) -> Callable[[], JournalReplay | MasterLogReplay]:
    """Return what makes an agent that replays the only recording that `argument` names."""
    found = find_recordings(argument, ltm_dir)
    return lambda: replay(found.only)


def replay_source(argument: str, *, ltm_dir: Path | None = None) -> AgentSource:
    """Return the source of the agents of `replay:ARGUMENT`; AgentError if there is no such recording.

    Each conversation is given the recording of the same memory span and trial.
    """
    found: Recordings = find_recordings(argument, ltm_dir)
    found.check()
    return AgentSource(
        lambda: replay(found.only),
        spec=f"replay:{argument}",
        owned=True,
        given=JournalReplay,
        at=lambda folder: replay(found.at(folder.name)),
    )


def _first_event(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            line = file.readline()
        found = json.loads(line) if line.strip() else None
    except OSError as error:
        raise AgentError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{path}: not a journal of JSON lines: {error}") from error
    if found is None:
        raise AgentError(f"nothing is recorded in {path}")
    if not isinstance(found, dict):
        raise AgentError(f"{path}: not a journal of JSON lines: its first line is no object")
    return found


def _master_events(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines: a text may hold U+2028
        return [event for event in map(json.loads, filter(None, lines)) if isinstance(event, dict)]
    except OSError as error:
        raise AgentError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"{path}: not a log of JSON lines: {error}") from error
