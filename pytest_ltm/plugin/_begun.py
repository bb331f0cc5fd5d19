"""Begun: the conversations of a run of which a journal was begun, and which of them nobody can go on with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._errors import LtmError
from pytest_ltm._recording import JOURNAL, Recording, read_recording
from pytest_ltm._resumable import cannot_go_on
from pytest_ltm.plugin._opened import checkpoints_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from typing_extensions import Self


@dataclass(frozen=True, slots=True)
class Begun:
    """What is recorded in a run's folder, by the names of its conversations' folders."""

    recordings: Mapping[str, Recording | None]
    """None where not even the header is whole, or the journal is damaged."""
    stuck: Mapping[str, str]
    """Why a conversation that has not come to its end cannot be gone on with, where it cannot."""

    @classmethod
    def of(cls, run: Path) -> Self:
        """Read a run's folder; with what is no journal of this version nobody can go on."""
        known = {path.parent.name: _read(path.parent) for path in sorted(run.glob(f"*/{JOURNAL}"))}
        recordings = {name: recording for name, (recording, _) in known.items()}
        return cls(recordings, {name: reason for name, (_, reason) in known.items() if reason})

    @property
    def complete(self) -> frozenset[str]:
        """Those that have come to their end."""
        return frozenset(name for name, one in self.recordings.items() if one is not None and one.complete)

    @property
    def exchanges(self) -> int:
        """How many are recorded in all."""
        return sum(one.exchanges for one in self.recordings.values() if one is not None)

    @property
    def heard(self) -> Mapping[str, Recording]:
        """Those of which an agent has heard something, complete ones among them."""
        known = {name: one for name, one in self.recordings.items() if one is not None}
        return {name: one for name, one in known.items() if one.heard or one.complete}

    def can_go_on(self, conversations: Iterable[str]) -> bool:
        """Return whether there is anything left to be said in these conversations, begun or not.

        The first three labels of a name stand for all conversations that have them.
        """
        over = {*self.stuck, *self.complete}
        unfinished = self.recordings.keys() - over
        short = {"~".join(name.split("~")[:_LABELS]) for name in over}
        return bool(unfinished) or any(name not in over and name not in short for name in conversations)

    def reasons(self) -> list[str]:
        """Return a sentence for each reason, with the conversations that it keeps from going on."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.stuck.items():
            by_reason.setdefault(reason, []).append(name)
        return [f"{_few(names)}: {reason}" for reason, names in by_reason.items()]


def _read(folder: Path) -> tuple[Recording | None, str]:
    """Return what a folder holds, and why nobody can go on with it, or ""."""
    recording = None
    try:
        recording = read_recording(folder / JOURNAL)
        return recording, "" if recording is None else cannot_go_on(recording, checkpoints_of(folder))
    except LtmError as error:
        return recording, str(error)


def _few(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + f" and {more:,} more" * (more > 0)


_SHOWN = 3
_LABELS = 3
