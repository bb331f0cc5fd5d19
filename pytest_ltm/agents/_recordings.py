"""Recordings: which journal `replay:ARGUMENT` names, and which of a run's journals belongs to a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._errors import AgentError, ConfigurationError, did_you_mean
from pytest_ltm._recording import JOURNAL
from pytest_ltm._run_file import LATEST, find_run

if TYPE_CHECKING:
    from collections.abc import Iterable

LTM_DIR = ".ltm"
_FEW = 6


@dataclass(frozen=True, slots=True)
class Recordings:
    """The recorded conversations that an argument names."""

    argument: str
    where: Path
    by_place: dict[str, Path]
    """Journals by memory span and trial, as in the names of their folders (`32k~0`); one file alone by ""."""

    @property
    def only(self) -> Path:
        """The one journal; AgentError if there are several."""
        if len(self.by_place) > 1:
            raise AgentError(f"agent 'replay:{self.argument}' holds several conversations: {_some(self.by_place)}")
        return next(iter(self.by_place.values()))

    def at(self, conversation: str) -> Path:
        """Return the journal for the conversation in a folder of this name; AgentError if there is none."""
        if "" in self.by_place:
            return self.by_place[""]
        place = conversation.partition("~")[2]
        if place not in self.by_place:
            raise AgentError(
                f"agent 'replay:{self.argument}': {self.where} holds no conversation at {place!r}. It holds "
                f"{_some(self.by_place)}. Run the same memory spans and trials, or record again with the agent itself"
            )
        return self.by_place[place]

    def check(self) -> None:
        """Raise AgentError for a file that cannot be opened."""
        for path in self.by_place.values():
            try:
                with path.open("rb"):
                    pass
            except OSError as error:
                raise AgentError(f"agent 'replay:{self.argument}': {path}: cannot be read: {error.strerror}") from error


def find_recordings(argument: str, ltm_dir: Path | None = None) -> Recordings:
    """Return what a journal, the folder of a conversation or run, a run's id or `latest` names; AgentError if nothing.

    A run of several agents is followed by `/LABEL` of the one that is wanted.
    """
    if not argument:
        raise AgentError("agent 'replay:': say what is replayed: a run's id, its folder, 'latest', or a journal")
    path = Path(argument)
    if path.is_file():
        return Recordings(argument, path, {"": path})
    if (path / JOURNAL).is_file():
        return Recordings(argument, path, {"": path / JOURNAL})
    runs = ltm_dir or Path(LTM_DIR)
    said, slash, label = argument.rpartition("/")
    if not path.is_dir() and slash and (any(Path(said).glob(f"*/{JOURNAL}")) or _is_run(said, runs)):
        return _of_run(argument, _folder(argument, said, runs), label)
    return _of_run(argument, _folder(argument, argument, runs), None)


def resolved(spec: str, ltm_dir: Path) -> str:
    """Return a spec with the id of the latest run in place of `latest`: soon it is another one."""
    kind, _, argument = spec.partition(":")
    said, slash, label = argument.partition("/")
    if (kind, said) != ("replay", LATEST) or Path(argument).exists():
        return spec
    return f"{kind}:{_folder(argument, said, ltm_dir).name}{slash}{label}"


def _is_run(said: str, runs: Path) -> bool:
    return said == LATEST or (Path(said).name == said and (runs / "runs" / said).is_dir())


def _folder(argument: str, said: str, ltm_dir: Path) -> Path:
    if Path(said).is_dir():
        return Path(said)
    try:
        return find_run(ltm_dir, said, Path())
    except ConfigurationError as error:
        raise AgentError(f"agent 'replay:{argument}': cannot be read: it is no file, and {error}") from error


def _of_run(argument: str, run: Path, label: str | None) -> Recordings:
    found = {path.parent.name: path for path in sorted(run.glob(f"*/{JOURNAL}")) if "~" in path.parent.name}
    labels = sorted({name.partition("~")[0] for name in found})
    if not labels:
        raise AgentError(f"agent 'replay:{argument}': {run} holds no recorded conversation")
    if label is None and len(labels) > 1:
        raise AgentError(
            f"agent 'replay:{argument}': {run} holds the replies of several agents: {', '.join(labels)}. "
            f"Say which, as in replay:{argument}/{labels[0]}"
        )
    wanted = labels[0] if label is None else label
    if wanted not in labels:
        hint = did_you_mean(wanted, labels)
        raise AgentError(f"agent 'replay:{argument}': {run} has no agent {wanted!r}.{hint} It has {', '.join(labels)}")
    own = {name: path for name, path in found.items() if name.partition("~")[0] == wanted}
    return Recordings(argument, run, {name.partition("~")[2]: path for name, path in own.items()})


def _some(places: Iterable[str]) -> str:
    names = sorted(places)
    return ", ".join(names[:_FEW]) + (f" and {len(names) - _FEW} more" if len(names) > _FEW else "")
