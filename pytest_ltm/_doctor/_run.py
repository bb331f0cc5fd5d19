"""One run folder: its conversations, how it was started, and what can be done with it by which command."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from pytest_ltm import _amendments
from pytest_ltm._doctor._conversations import Conversation, conversation, size_of
from pytest_ltm._doctor._locks import lock_state
from pytest_ltm._errors import LtmError, told
from pytest_ltm._recording import JOURNAL, RESULTS
from pytest_ltm._run_file import FILE, RunFile, read_run_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROGRAM = "python -m pytest_ltm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What can be done with a run, or why it cannot."""

    what: str
    command: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a run folder holds."""

    run: str
    path: str
    conversations: tuple[Conversation, ...]
    size: int
    lock: str = ""
    amended: int = 0
    rescored: str = ""
    """The run that was scored again, where this one was made by that."""
    started: Mapping[str, Any] = field(default_factory=dict)
    """Agents, spans, seed and so on, as the run was started."""
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """What it was made with, and what is installed, by name."""
    ways: tuple[Way, ...] = ()
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def diagnose(folder: Path, ltm_dir: Path) -> Diagnosis:
    """Return what a run folder holds, whatever it holds."""
    problems: list[str] = []
    run = _guarded(lambda: read_run_file(folder), problems)
    amendments = _guarded(lambda: _amendments.read(folder), problems)
    found = tuple(conversation(path) for path in _folders(folder))
    settings = run.settings if run else {}
    return Diagnosis(
        run=folder.name,
        path=str(folder),
        conversations=found,
        size=size_of(folder),
        lock=lock_state(folder),
        amended=len(amendments or {}),
        rescored=str(settings.get("rescored") or ""),
        started={**settings, "paths": list(run.paths)} if run else {},
        versions=_versions(run),
        ways=tuple(_ways(folder, ltm_dir, run, found, settings)),
        problems=(*problems, *(f"{each.name}: {problem}" for each in found for problem in each.problems)),
    )


def _folders(run: Path) -> list[Path]:
    try:
        return sorted(path for path in run.iterdir() if path.is_dir() and not path.is_symlink() and _is_held(path))
    except OSError:
        return []


def _is_held(path: Path) -> bool:
    return "~" in path.name or (path / JOURNAL).exists()


def _guarded(read: Any, problems: list[str]) -> Any:
    try:
        return read()
    except LtmError as error:
        problems.append(str(error))
    except Exception as error:  # noqa: BLE001 - a damaged folder may be anything
        problems.append(told(error))
    return None


def _versions(run: RunFile | None) -> dict[str, tuple[str, str]]:
    return {name: (str(then), _installed(name)) for name, then in (run.versions if run else {}).items()}


def _installed(name: str) -> str:
    try:
        return version(name)
    except (PackageNotFoundError, ValueError):
        return ""


def _ways(
    folder: Path, ltm_dir: Path, run: RunFile | None, found: tuple[Conversation, ...], settings: Mapping[str, Any]
) -> list[Way]:
    name = shlex.quote(folder.name if _is_known(folder, ltm_dir) else str(folder))
    spoken = [each for each in found if each.exchanges or each.state == "complete"]
    no_start = "" if run else f"there is no {FILE} that says how it was started"
    nothing = "" if spoken else "nothing is recorded"
    some = "" if any((folder / each.name / RESULTS).is_file() for each in found) else "it has no results yet"
    labels = sorted({each.name.partition("~")[0] for each in spoken})
    replayed = f"replay:{name}/{labels[0]}" if len(labels) > 1 else f"replay:{name}"
    return [
        _way("resume", f"pytest --ltm-resume={name}", no_start or _not_resumable(found, settings)),
        _way("score again", f"pytest --ltm-rescore={name}", no_start or nothing),
        _way("replay", f"pytest --ltm-agent={replayed} ...", nothing),
        _way("report", f"{PROGRAM} report {name} -o report.html", some),
        _way("merge with others", f"{PROGRAM} merge {name} OTHER -o NEW", some),
    ]


def _way(what: str, command: str, why_not: str) -> Way:
    return Way(what=what, why_not=why_not) if why_not else Way(what=what, command=command)


def _not_resumable(found: tuple[Conversation, ...], settings: Mapping[str, Any]) -> str:
    if settings.get("rescored"):
        return f"it was made by scoring run {settings['rescored']} again: do that again"
    reasons = [f"{each.name}: {each.resume}" for each in found if each.resume]
    held = [f"{each.name}: {each.lock}" for each in found if each.lock.startswith("held")]
    left = any(not each.resume and each.state != "complete" for each in found) or _some_not_begun(found, settings)
    return "; ".join([*held, *reasons]) if held or not left else ""


def _some_not_begun(found: tuple[Conversation, ...], settings: Mapping[str, Any]) -> bool:
    """Return whether the run has conversations that have no folder yet; a shard does not tell."""
    agents, spans, trials = (settings.get(name) for name in ("agents", "spans", "trials"))
    if settings.get("shard") or not (isinstance(agents, dict) and isinstance(spans, dict) and type(trials) is int):
        return False
    places = [each.name.split("~") for each in found]
    begun = {(*place[:2], place[2].partition(".")[0]) for place in places if len(place) > 2}  # noqa: PLR2004 - 3 labels
    return len(begun) < len(agents) * len(spans) * trials


def _is_known(folder: Path, ltm_dir: Path) -> bool:
    try:
        return folder.resolve().parent == (ltm_dir / "runs").resolve()
    except OSError:
        return False
