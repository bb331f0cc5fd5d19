"""The contents and problems of a run folder, and what can be done with it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from pytest_ltm.api.engine import Checkpoints
from pytest_ltm.api.journal import (
    CHECKPOINTS,
    JOURNAL,
    RESULTS,
    ConversationName,
    read_results,
    run_file,
)
from pytest_ltm.api.storage import (
    OWNER,
    LtmError,
    describe_error,
    lock_holder,
    lock_owner,
    pluralize,
)
from pytest_ltm.commands import PROGRAM
from pytest_ltm.commands.diagnosis_text import fit_lines, problem_lines, size_text
from pytest_ltm.commands.environment import installed_version
from pytest_ltm.records import amendments
from pytest_ltm.records.recording import Recording, cannot_go_on, read_recording

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDiagnosis:
    """The contents of one conversation's folder."""

    name: str
    state: str
    """One of complete, in progress, interrupted, agent gone, empty or damaged."""
    exchanges: int = 0
    tokens: int = 0
    """Tokens of all messages and replies."""
    ended: int = 0
    """Number of examples that ended."""
    examples: int = 0
    """Number of planned examples."""
    torn: int = 0
    """Bytes of an incomplete last line."""
    lock: str = ""
    held: bool = False
    """Whether a process is writing it."""
    checkpoints: tuple[int, ...] = ()
    size: int = 0
    resume: str = ""
    """Why it cannot be resumed; "" if it can, or need not be."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Something that can be done with a run, or the reason why not."""

    what: str
    command: str = ""
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The contents of a run folder."""

    run: str
    path: str
    conversations: tuple[ConversationDiagnosis, ...]
    size: int
    lock: str = ""
    amended: int = 0
    rescored: str = ""
    """The original run, if this one was made by rescoring it."""
    started: Mapping[str, Any] = field(default_factory=dict)
    """Agents, spans, seed and other settings of the run's start."""
    versions: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Recorded and installed versions, by name."""
    ways: tuple[Way, ...] = ()
    problems: tuple[str, ...] = ()


def diagnose_run(folder: Path, ltm_dir: Path) -> Diagnosis:
    """Diagnose a run folder with any contents."""
    problems: list[str] = []
    run = _try_reading(run_file.read_run_file, folder, problems)
    amended = _try_reading(amendments.read_amendments, folder, problems)
    conversations = tuple(map(diagnose_conversation, _conversation_folders(folder)))
    for conversation in conversations:
        problems += [f"{conversation.name}: {text}" for text in conversation.problems]
    settings: Mapping[str, Any] = {}
    started: Mapping[str, Any] = {}
    versions: dict[str, tuple[str, str]] = {}
    if run:
        settings = run.settings
        started = {**settings, "paths": list(run.paths)}
        for name, recorded in run.versions.items():
            versions[name] = (str(recorded), installed_version(name))
    return Diagnosis(
        run=folder.name,
        path=str(folder),
        conversations=conversations,
        size=size_of(folder),
        lock=lock_state(folder)[0],
        amended=len(amended or {}),
        rescored=str(settings.get("rescored") or ""),
        started=started,
        versions=versions,
        ways=tuple(_ways_out(folder, ltm_dir, run, conversations)),
        problems=tuple(problems),
    )


def is_resumable(folder: Path, ltm_dir: Path) -> bool:
    """Return whether parts of a run are left to play, and its agents can be restored."""
    ways = diagnose_run(folder, ltm_dir).ways
    return any(way.what == "resume" and way.command for way in ways)


def _try_reading(
    read: Callable[[Path], T], folder: Path, problems: list[str]
) -> T | None:
    """Return what `read` returns; on failure None, after adding a sentence to `problems`."""
    try:
        return read(folder)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        problems.append(_problem_text(error))
    return None


def _problem_text(error: Exception) -> str:
    """Return an error as a sentence of a diagnosis; our own errors are unchanged."""
    if isinstance(error, LtmError):
        return str(error)
    return describe_error(error)


def _conversation_folders(run: Path) -> list[Path]:
    """Return the folders of conversations; empty if the run is unreadable."""
    folders = []
    with suppress(OSError):
        for path in sorted(run.iterdir()):
            is_conversation = (
                ConversationName.of_folder(path.name) or (path / JOURNAL).exists()
            )
            if is_conversation and path.is_dir() and not path.is_symlink():
                folders.append(path)
    return folders


# --- One recorded conversation


def diagnose_conversation(folder: Path) -> ConversationDiagnosis:
    """Diagnose a conversation's folder with any contents."""
    lock, is_held = lock_state(folder)
    diagnosis = ConversationDiagnosis(
        name=folder.name, state="empty", lock=lock, held=is_held, size=size_of(folder)
    )
    try:
        return _examine_conversation(folder, diagnosis)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        problem = _problem_text(error)
        return replace(diagnosis, state="damaged", problems=(problem,), resume=problem)


def _examine_conversation(
    folder: Path, diagnosis: ConversationDiagnosis
) -> ConversationDiagnosis:
    path = folder / JOURNAL
    recording = read_recording(path)
    if recording is None and not path.exists():
        return diagnosis
    if recording is None:
        problem = (
            f"{folder.name} has no journal with a complete first line: nothing was said"
        )
        return replace(diagnosis, problems=(problem,))
    record = recording.record
    exchanges = [*record.transcript, *record.unanswered.values()]
    tokens = 0
    for exchange in exchanges:
        tokens += exchange.message_tokens + exchange.reply_tokens
    planned = recording.header.plan.get("examples")
    checkpoints = folder / CHECKPOINTS
    return replace(
        diagnosis,
        state=_conversation_state(recording, is_held=diagnosis.held),
        exchanges=recording.exchanges,
        tokens=tokens,
        ended=sum(example.end is not None for example in record.examples.values()),
        examples=len(planned) if isinstance(planned, list) else 0,
        torn=recording.torn,
        checkpoints=_checkpoint_numbers(checkpoints),
        resume=cannot_go_on(recording, Checkpoints(checkpoints)),
        problems=tuple(_result_problems(folder)),
    )


def _conversation_state(recording: Recording, *, is_held: bool) -> str:
    if recording.complete:
        return "complete"
    if is_held:
        return "in progress"
    if recording.record.ended_early:
        return "agent gone"
    return "interrupted"


def _checkpoint_numbers(folder: Path) -> tuple[int, ...]:
    """Return the exchanges at which an agent's state was saved."""
    stems = [path.stem for path in folder.glob("*.bin")]
    return tuple(sorted(int(stem) for stem in stems if stem.isdecimal()))


def _result_problems(folder: Path) -> Iterator[str]:
    """Yield why the results next to a journal are unreadable."""
    path = folder / RESULTS
    if not path.exists():
        return
    try:
        read_results(path)
    except LtmError as error:
        yield f"{error}. The journal has all that is needed: score the run again"


def lock_state(folder: Path) -> tuple[str, bool]:
    """Return the state of a folder's lock ("" if unremarkable), and whether it is held."""
    try:
        holder = lock_holder(folder)
    except OSError as error:
        return f"unknown: {error.strerror or error}", False
    if holder:
        return f"held by {holder}", True
    # Leftovers of a dead owner are irrelevant.
    if (folder / OWNER).exists():
        return f"free (its last owner, {lock_owner(folder)}, has died)", False
    return "", False


def size_of(folder: Path) -> int:
    """Return the total size of the files below a folder in bytes, without following links."""
    total = 0
    with suppress(OSError):
        for path in folder.iterdir():
            if not path.is_symlink():
                total += size_of(path) if path.is_dir() else path.lstat().st_size
    return total


# --- What can be done with a run


def _ways_out(
    folder: Path,
    ltm_dir: Path,
    run: run_file.RunFile | None,
    diagnoses: Sequence[ConversationDiagnosis],
) -> list[Way]:
    # In other folders, a run ID alone is ambiguous.
    is_at_home = folder.resolve().parent == (ltm_dir / "runs").resolve()
    path = folder.name if is_at_home else str(folder)
    name = shlex.quote(path)
    spoken: list[ConversationDiagnosis] = []
    has_results = False
    for diagnosis in diagnoses:
        if diagnosis.exchanges or diagnosis.state == "complete":
            spoken.append(diagnosis)
        if (folder / diagnosis.name / RESULTS).is_file():
            has_results = True
    no_start = "" if run else f"no {run_file.FILE} says how it was started"
    no_words = "" if spoken else "nothing is recorded"
    no_results = "" if has_results else "it has no results yet"
    no_resume = no_start or _why_not_resumable(diagnoses, run.settings if run else {})
    # A replay has one agent, which must be named if there are several.
    agents = sorted({name.agent for name in _conversation_names(spoken)})
    replayed = f"replay:{path}/{agents[0]}" if len(agents) > 1 else f"replay:{path}"
    ways = [
        ("resume", f"pytest --ltm-resume={name}", no_resume),
        ("score again", f"pytest --ltm-rescore={name}", no_start or no_words),
        ("replay", f"pytest --ltm-agent={shlex.quote(replayed)} ...", no_words),
        ("report", f"{PROGRAM} report {name} -o report.html", no_results),
        ("merge with others", f"{PROGRAM} merge {name} OTHER -o NEW", no_results),
    ]
    possible: list[Way] = []
    for what, command, why_not in ways:
        shown = "" if why_not else command
        possible.append(Way(what=what, command=shown, why_not=why_not))
    return possible


def _why_not_resumable(
    diagnoses: Sequence[ConversationDiagnosis], settings: Mapping[str, Any]
) -> str:
    """Return why no part of a run can be resumed; "" if one can."""
    if settings.get("rescored"):
        return f"it was made by scoring run {settings['rescored']} again: do that again"
    locks = [f"{item.name}: {item.lock}" for item in diagnoses if item.held]
    reasons = [f"{item.name}: {item.resume}" for item in diagnoses if item.resume]
    resumable = [item for item in diagnoses if not item.resume]
    is_unfinished = any(item.state != "complete" for item in resumable)
    if locks:
        return "; ".join([*locks, *reasons])
    if is_unfinished or _has_conversations_to_begin(diagnoses, settings):
        return ""
    return "; ".join(reasons)


def _has_conversations_to_begin(
    diagnoses: Sequence[ConversationDiagnosis], settings: Mapping[str, Any]
) -> bool:
    """Return whether conversations of a run have no folder yet; for a shard, their number is unknown."""
    agents = settings.get("agents")
    spans = settings.get("spans")
    trials = settings.get("trials")
    if settings.get("shard") or type(trials) is not int:
        return False
    if not isinstance(agents, dict) or not isinstance(spans, dict):
        return False
    begun_names = {name.planned_name for name in _conversation_names(diagnoses)}
    return len(begun_names) < len(agents) * len(spans) * trials


def _conversation_names(
    diagnoses: Iterable[ConversationDiagnosis],
) -> list[ConversationName]:
    names = []
    for diagnosis in diagnoses:
        name = ConversationName.of_folder(diagnosis.name)
        if name:
            names.append(name)
    return names


# --- As lines for a terminal

_MOST_CONVERSATIONS = 40
# The displayed settings of a run's start.
_STARTED = (
    "agents",
    "spans",
    "suite",
    "seed",
    "examples",
    "trials",
    "scoring",
    "judge",
    "time",
    "shard",
    "paths",
)


def run_lines(diagnosis: Diagnosis, width: int) -> list[str]:
    """Return the contents of a run folder as lines for a terminal."""
    lines = [f"run {diagnosis.run} ({size_text(diagnosis.size)}): {diagnosis.path}"]
    lines += _started_lines(diagnosis)
    if diagnosis.amended:
        lines.append(f"  {pluralize(diagnosis.amended, 'amended verdict')}")
    if diagnosis.lock:
        lines.append(f"  lock: {diagnosis.lock}")
    lines.append(f"{pluralize(len(diagnosis.conversations), 'conversation')}:")
    for conversation in diagnosis.conversations[:_MOST_CONVERSATIONS]:
        lines += [f"  {line}" for line in _conversation_lines(conversation)]
    more = len(diagnosis.conversations) - _MOST_CONVERSATIONS
    if more > 0:
        lines.append(f"  … and {more:,} more: --json lists all")
    lines.append("what can be done:")
    for way in diagnosis.ways:
        lines.append(f"  {way.what}: {way.command or 'no: ' + way.why_not}")
    return fit_lines([*lines, *problem_lines(diagnosis.problems)], width)


def _started_lines(diagnosis: Diagnosis) -> list[str]:
    """Return how a run was started, and the versions involved."""
    lines = []
    if diagnosis.rescored:
        lines.append(f"  scored again from run {diagnosis.rescored}")
    for name, setting in diagnosis.started.items():
        text = _setting_text(setting)
        if name in _STARTED and text:
            lines.append(f"  {name}: {text}")
    for name, (recorded, installed) in diagnosis.versions.items():
        line = f"  made with {name} {recorded}"
        if recorded != installed:
            line += f"; installed: {installed or 'none'}"
        lines.append(line)
    return lines


def _setting_text(setting: object) -> str:
    """Return a setting of a run's start, or "" if it was not set."""
    if setting is None:
        return ""
    if isinstance(setting, dict):
        names = []
        for name, spec in setting.items():
            names.append(name if str(name) == str(spec) else f"{name} ({spec})")
        return ", ".join(map(str, names))
    if isinstance(setting, list):
        return ", ".join(map(str, setting))
    return str(setting)


def _conversation_lines(diagnosis: ConversationDiagnosis) -> list[str]:
    first = f"{diagnosis.name}: {diagnosis.state}"
    if diagnosis.exchanges:
        exchanges = pluralize(diagnosis.exchanges, "exchange")
        examples = pluralize(diagnosis.examples, "example")
        first += f", {exchanges}, {diagnosis.tokens:,} tokens, {diagnosis.ended} of {examples} ended"
    lines = [f"{first} ({size_text(diagnosis.size)})"]
    if diagnosis.torn:
        lines.append(
            f"  an incomplete last line of {diagnosis.torn:,} bytes is ignored"
        )
    if diagnosis.checkpoints:
        lines.append(f"  checkpoints: {', '.join(map(str, diagnosis.checkpoints))}")
    if diagnosis.resume:
        lines.append(f"  cannot be resumed: {diagnosis.resume}")
    if diagnosis.lock:
        lines.append(f"  lock: {diagnosis.lock}")
    return lines
