"""`doctor [RUN]`: what a run folder holds, what is wrong with it and what can be done with it; what is installed.

Whatever a folder holds, it is told, and nothing is changed but by `--repair`.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import shutil
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, entry_points, version
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_ltm._core.engine.port import Checkpoints
from pytest_ltm._core.engine.recording_folder import (
    CHECKPOINTS,
    JOURNAL,
    RESULTS,
    cannot_go_on,
    read_recording,
)
from pytest_ltm._core.journal import events, run_file
from pytest_ltm._core.journal.codec import find_damages, flip_bit_back
from pytest_ltm._core.journal.result import ConversationName, read_results
from pytest_ltm._core.model.tokens import token_counter
from pytest_ltm._core.storage.disk import read_regular, write_whole
from pytest_ltm._core.storage.errors import LtmError, describe_error
from pytest_ltm._core.storage.locks import OWNER, FolderLock, lock_holder, lock_owner
from pytest_ltm._core.storage.schema import load_packaged_yaml
from pytest_ltm._core.storage.secrets import is_secret_name, redact_secrets
from pytest_ltm._core.storage.wording import one_line, pluralize
from pytest_ltm.commands import PROGRAM
from pytest_ltm.commands.arguments import RUN, add_flags, add_json, add_ltm_dir
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.text import pad_right, wrap_text
from pytest_ltm.providers import key_names
from pytest_ltm.records import amendments as _amendments
from pytest_ltm.records import judge_checks
from pytest_ltm.reports.verification import find_discrepancies

if TYPE_CHECKING:
    T = TypeVar("T")


# The exit status where something is wrong or damaged, and after a repair that lost
# something.
PROBLEMS = 1
_LEAST = 60


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, and what is done with its journals."""
    parser.add_argument("run", nargs="?", metavar="RUN", help=RUN)
    action = parser.add_mutually_exclusive_group()
    add_flags(
        action,
        verify="check every line of RUN's journals against its checksum, and print the last checksums",
        repair="restore flipped bits in RUN's journals, and cut a journal before other damage; damaged files are kept",
    )
    add_json(parser)
    add_ltm_dir(parser)


def show_diagnosis(arguments: Namespace) -> int:
    """Show what a run folder contains, what is wrong with it and what can be done with it.

    Without RUN, show what is installed and set here. Only --repair changes anything.
    Exit status 1 if something is wrong.
    """
    if arguments.verify or arguments.repair:
        run = _find_folder(arguments.run or run_file.LATEST, arguments.ltm_dir)
        return (
            repair_journals(run)
            if arguments.repair
            else verify_journals(run, as_json=arguments.json)
        )
    width = max(shutil.get_terminal_size().columns, _LEAST)
    found: Environment | Diagnosis
    if arguments.run is None:
        found = diagnose_environment(arguments.ltm_dir)
        lines = environment_lines(found, width)
    else:
        found = diagnose_run(
            _find_folder(arguments.run, arguments.ltm_dir), arguments.ltm_dir
        )
        lines = run_lines(found, width)
    print(
        redact_secrets(
            json.dumps(asdict(found), indent=1) if arguments.json else "\n".join(lines)
        )
    )
    return PROBLEMS if found.problems else 0


def _find_folder(text: str, ltm_dir: Path) -> Path:
    is_conversation = (Path(text) / JOURNAL).is_file()
    return (
        Path(text).parent
        if is_conversation
        else run_file.find_run(text, ltm_dir).resolve()
    )


# --- what is installed and set

# What is needed, what extras bring, and what plugins of others mean here.
KNOWN: Mapping[str, Any] = load_packaged_yaml(__file__, "doctor.yml")
ENCODINGS = ("cl100k_base", "o200k_base")
_LATEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What is there."""

    python: str
    platform: str
    pytest_ltm: str
    packages: Mapping[str, str]
    """Versions of what is needed; "": it is missing."""
    extras: Mapping[str, str]
    """Versions of what extras bring; "": it is not installed."""
    plugins: tuple[str, ...]
    """Other installed plugins of pytest."""
    notes: tuple[str, ...]
    """A sentence for each plugin that changes how items are run."""
    encodings: Mapping[str, bool]
    """Whether a tokenizer works without a network."""
    keys: Mapping[str, bool]
    """Whether a variable is set: those of known endpoints, and all that are named like secrets. Never their values."""
    ltm_dir: str
    writable: str
    """"" or why the folder for runs cannot be written."""
    runs: tuple[str, ...]
    """The latest runs, newest first."""
    cut_short: tuple[str, ...]
    """Those of them whose process ended in the middle."""
    problems: tuple[str, ...]


def diagnose_environment(ltm_dir: Path) -> Environment:
    """Return what is installed and set here."""
    packages = {name: _installed_version(name) for name in KNOWN["needed"]}
    latest = run_file.newest_first(ltm_dir)[:_LATEST]
    existing = next(
        (path for path in (ltm_dir, *ltm_dir.absolute().parents) if path.is_dir()),
        Path(),
    )
    writable, encodings = "", dict.fromkeys(ENCODINGS, "")
    try:
        tempfile.TemporaryFile(dir=existing).close()  # nothing is left there
    except OSError as error:
        writable = error.strerror or str(error)
    for name in ENCODINGS:
        try:
            token_counter(name).count("one two three")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            encodings[name] = describe_error(error)
    problems = [
        f"{name} is missing: pip install {name}"
        for name, result in packages.items()
        if not result
    ]
    problems += [
        f"the tokenizer {name} does not work: {why}"
        for name, why in encodings.items()
        if why
    ]
    problems += [f"{ltm_dir} cannot be written: {writable}"] * bool(writable)
    points = (point.dist for point in entry_points(group="pytest11"))
    return Environment(
        python=sys.version.split()[0],
        platform=platform.platform(),
        pytest_ltm=_installed_version("pytest-ltm"),
        packages=packages,
        extras={name: _installed_version(name) for name in KNOWN["extras"]},
        plugins=tuple(
            sorted(
                {
                    f"{dist.name} {dist.version}"
                    for dist in points
                    if dist and dist.name != "pytest-ltm"
                }
            )
        ),
        notes=tuple(
            f"{name}: {note}"
            for name, note in KNOWN["noted"].items()
            if _installed_version(name)
        ),
        encodings={name: not why for name, why in encodings.items()},
        keys={
            name: bool(os.environ.get(name))
            for name in (*key_names(), *sorted(filter(is_secret_name, os.environ)))
        },
        ltm_dir=str(ltm_dir),
        writable=writable,
        runs=tuple(path.name for path in latest),
        cut_short=tuple(path.name for path in latest if run_file.cut_short(path)),
        problems=tuple(problems),
    )


def _installed_version(name: str) -> str:
    """Return a distribution's version, "" if it is not there."""
    try:
        return version(name)
    except (PackageNotFoundError, ValueError):
        return ""


# --- one recorded conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDiagnosis:
    """What the folder of one conversation holds."""

    name: str
    state: str
    """complete, in progress, interrupted, agent gone, empty or damaged."""
    exchanges: int = 0
    tokens: int = 0
    """Of all that was said."""
    ended: int = 0
    """Examples that ended."""
    examples: int = 0
    """Of the plan."""
    torn: int = 0
    """Bytes of a last line that is not whole."""
    lock: str = ""
    held: bool = False
    """Somebody is writing it."""
    checkpoints: tuple[int, ...] = ()
    size: int = 0
    resume: str = ""
    """Why it cannot be resumed; "": it can be, or need not."""
    problems: tuple[str, ...] = ()


def diagnose_conversation(folder: Path) -> ConversationDiagnosis:
    """Return what a folder holds, whatever it holds."""
    lock, held = lock_state(folder)
    diagnosis = ConversationDiagnosis(
        name=folder.name, state="empty", lock=lock, held=held, size=size_of(folder)
    )
    try:
        return _examine_conversation(folder, diagnosis)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        problem = describe_problem(error)
        return replace(diagnosis, state="damaged", problems=(problem,), resume=problem)


def _examine_conversation(
    folder: Path, diagnosis: ConversationDiagnosis
) -> ConversationDiagnosis:
    path = folder / JOURNAL
    recording = read_recording(path)
    if recording is None:
        gone = (
            f"{folder.name} has no journal with a complete first line: nothing was said"
        )
        return replace(diagnosis, problems=(gone,) * path.exists())
    record, checkpoints = recording.record, folder / CHECKPOINTS
    said = [*record.transcript, *record.unanswered.values()]
    planned = recording.header.plan.get("examples")
    problems: list[str] = []
    if (folder / RESULTS).exists():
        try:
            read_results(folder / RESULTS)
        except LtmError as error:
            problems.append(
                f"{error}. The journal has all that is needed: score the run again"
            )
    return replace(
        diagnosis,
        state=(
            "complete"
            if recording.complete
            else "in progress"
            if diagnosis.held
            else "agent gone"
            if record.ended_early
            else "interrupted"
        ),
        exchanges=recording.exchanges,
        tokens=sum(each.message_tokens + each.reply_tokens for each in said),
        ended=sum(example.end is not None for example in record.examples.values()),
        examples=len(planned) if isinstance(planned, list) else 0,
        torn=recording.torn,
        checkpoints=tuple(
            sorted(
                int(each.stem)
                for each in checkpoints.glob("*.bin")
                if each.stem.isdecimal()
            )
        ),
        resume=cannot_go_on(recording, Checkpoints(checkpoints)),
        problems=tuple(problems),
    )


def lock_state(folder: Path) -> tuple[str, bool]:
    """Return what is known of a folder's lock ("": there is nothing to say), and whether somebody holds it."""
    try:
        held = lock_holder(folder)
    except OSError as error:
        return f"unknown: {error.strerror or error}", False
    if held:
        return f"held by {held}", True
    # What is left of a dead owner means nothing.
    return f"free (its last owner, {lock_owner(folder)}, has died)" if (
        folder / OWNER
    ).exists() else "", False


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder; links are not followed."""
    total = 0
    with suppress(OSError):
        for path in folder.iterdir():
            if not path.is_symlink():
                total += size_of(path) if path.is_dir() else path.lstat().st_size
    return total


def _try_reading(
    read: Callable[[Path], T], folder: Path, problems: list[str]
) -> T | None:
    """Return what is read of a folder; None, and a sentence more in `problems`, if it cannot be."""
    try:
        return read(folder)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        problems.append(describe_problem(error))
    return None


def describe_problem(error: Exception) -> str:
    """Return an error as a sentence of a diagnosis: our own as they are."""
    return str(error) if isinstance(error, LtmError) else describe_error(error)


# --- one run folder


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
    conversations: tuple[ConversationDiagnosis, ...]
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


def diagnose_run(folder: Path, ltm_dir: Path) -> Diagnosis:
    """Return what a run folder holds, whatever it holds."""
    problems: list[str] = []
    run = _try_reading(run_file.read_run_file, folder, problems)
    amended = _try_reading(_amendments.read_amendments, folder, problems)
    folders: list[Path] = []
    with suppress(
        OSError
    ):  # of a folder that cannot be looked into, the rest is still told
        folders = sorted(
            path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()
        )
    held = (
        path
        for path in folders
        if ConversationName.of_folder(path.name) or (path / JOURNAL).exists()
    )
    result = tuple(map(diagnose_conversation, held))
    settings = run.settings if run else {}
    return Diagnosis(
        run=folder.name,
        path=str(folder),
        conversations=result,
        size=size_of(folder),
        lock=lock_state(folder)[0],
        amended=len(amended or {}),
        rescored=str(settings.get("rescored") or ""),
        started={**settings, "paths": list(run.paths)} if run else {},
        versions={
            name: (str(then), _installed_version(name))
            for name, then in (run.versions if run else {}).items()
        },
        ways=tuple(_ways_out(folder, ltm_dir, run, result)),
        problems=(
            *problems,
            *(
                f"{each.name}: {problem}"
                for each in result
                for problem in each.problems
            ),
        ),
    )


def is_resumable(folder: Path, ltm_dir: Path) -> bool:
    """Return whether there is something left of a run to play, and its agents can be put back."""
    return any(
        way.command
        for way in diagnose_run(folder, ltm_dir).ways
        if way.what == "resume"
    )


def _ways_out(
    folder: Path,
    ltm_dir: Path,
    run: run_file.RunFile | None,
    diagnoses: Sequence[ConversationDiagnosis],
) -> list[Way]:
    # elsewhere a run ID alone leads nowhere
    known = folder.resolve().parent == (ltm_dir / "runs").resolve()
    path = folder.name if known else str(folder)
    name = shlex.quote(path)
    spoken = [
        diagnosis
        for diagnosis in diagnoses
        if diagnosis.exchanges or diagnosis.state == "complete"
    ]
    no_start = "" if run else f"no {run_file.FILE} says how it was started"
    nothing = "" if spoken else "nothing is recorded"
    some = (
        ""
        if any((folder / diagnosis.name / RESULTS).is_file() for diagnosis in diagnoses)
        else "it has no results yet"
    )
    # a replay is of one agent, which must be named if there are several
    labels = sorted({name.agent for name in _conversation_names(spoken)})
    replayed = f"replay:{path}/{labels[0]}" if len(labels) > 1 else f"replay:{path}"
    not_resumable = no_start or _not_resumable(diagnoses, run.settings if run else {})
    ways = [
        ("resume", f"pytest --ltm-resume={name}", not_resumable),
        ("score again", f"pytest --ltm-rescore={name}", no_start or nothing),
        ("replay", f"pytest --ltm-agent={shlex.quote(replayed)} ...", nothing),
        ("report", f"{PROGRAM} report {name} -o report.html", some),
        ("merge with others", f"{PROGRAM} merge {name} OTHER -o NEW", some),
    ]
    return [
        Way(what=what, command="" if why_not else command, why_not=why_not)
        for what, command, why_not in ways
    ]


def _not_resumable(
    diagnoses: Sequence[ConversationDiagnosis], settings: Mapping[str, Any]
) -> str:
    if settings.get("rescored"):
        return f"it was made by scoring run {settings['rescored']} again: do that again"
    reasons = [
        f"{diagnosis.name}: {diagnosis.resume}"
        for diagnosis in diagnoses
        if diagnosis.resume
    ]
    held = [
        f"{diagnosis.name}: {diagnosis.lock}"
        for diagnosis in diagnoses
        if diagnosis.held
    ]
    left = any(
        not diagnosis.resume and diagnosis.state != "complete"
        for diagnosis in diagnoses
    )
    # Conversations that were not begun have no folder; of a shard nobody knows how many
    # it has.
    agents, spans, trials = (
        settings.get(name) for name in ("agents", "spans", "trials")
    )
    if (
        not settings.get("shard")
        and isinstance(agents, dict)
        and isinstance(spans, dict)
        and type(trials) is int
    ):
        begun = {name.planned_name for name in _conversation_names(diagnoses)}
        left = left or len(begun) < len(agents) * len(spans) * trials
    return "; ".join([*held, *reasons]) if held or not left else ""


def _conversation_names(
    diagnoses: Iterable[ConversationDiagnosis],
) -> list[ConversationName]:
    return [
        name
        for diagnosis in diagnoses
        if (name := ConversationName.of_folder(diagnosis.name))
    ]


# --- as lines for a terminal

_FEW = 40
# What of a run's start is shown.
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
    """Return what a run folder holds."""
    lines = [f"run {diagnosis.run} ({_size_text(diagnosis.size)}): {diagnosis.path}"]
    lines += [f"  scored again from run {diagnosis.rescored}"] * bool(
        diagnosis.rescored
    )
    for name, value in diagnosis.started.items():
        values = value if isinstance(value, list) else [value]
        if isinstance(value, dict):
            values = [
                key if str(key) == str(one) else f"{key} ({one})"
                for key, one in value.items()
            ]
        if name in _STARTED and value is not None and values:
            lines.append(f"  {name}: {', '.join(map(str, values))}")
    for name, (then, now) in diagnosis.versions.items():
        same = "" if then == now else f"; installed: {now or 'none'}"
        lines.append(f"  made with {name} {then}{same}")
    lines += [f"  {pluralize(diagnosis.amended, 'amended verdict')}"] * bool(
        diagnosis.amended
    )
    lines += [f"  lock: {diagnosis.lock}"] * bool(diagnosis.lock)
    lines += [pluralize(len(diagnosis.conversations), "conversation") + ":"]
    lines += [
        f"  {line}"
        for conversation in diagnosis.conversations[:_FEW]
        for line in _conversation_lines(conversation)
    ]
    more = len(diagnosis.conversations) - _FEW
    lines += [f"  … and {more:,} more: --json lists all"] * (more > 0)
    lines += ["what can be done:"]
    lines += [
        f"  {way.what}: {way.command or 'no: ' + way.why_not}" for way in diagnosis.ways
    ]
    return _fitting_lines([*lines, *_problem_lines(diagnosis.problems)], width)


def environment_lines(environment: Environment, width: int) -> list[str]:
    """Return what is installed and set."""
    working = [name for name, works in environment.encodings.items() if works]
    keys = [name for name, there in environment.keys.items() if there]
    lines = [
        f"pytest-ltm {environment.pytest_ltm}, Python {environment.python}, {environment.platform}",
        "needed: "
        + ", ".join(
            f"{name} {one or 'missing'}" for name, one in environment.packages.items()
        ),
        "extras:",
        *(
            f"  {name} {one or '-'} ({KNOWN['extras'][name]})"
            for name, one in environment.extras.items()
        ),
        "other plugins: " + (", ".join(environment.plugins) or "none"),
        *(f"  {note}" for note in environment.notes),
        "tokenizers without a network: " + (", ".join(working) or "none"),
        "keys that are set (names only): " + (", ".join(keys) or "none"),
        f"runs: {environment.ltm_dir}{'' if environment.writable else ', can be written'}",
        *["latest: " + ", ".join(environment.runs)] * bool(environment.runs),
    ]
    unfinished = f"has no {run_file.SUMMARY}: its process ended in the middle; pytest --ltm-resume="
    lines += [f"{name} {unfinished}{name}" for name in environment.cut_short]
    return _fitting_lines([*lines, *_problem_lines(environment.problems)], width)


def _conversation_lines(diagnosis: ConversationDiagnosis) -> list[str]:
    what = f"{diagnosis.name}: {diagnosis.state}"
    if diagnosis.exchanges:
        done = f"{diagnosis.ended} of {pluralize(diagnosis.examples, 'example')} ended"
        what += f", {pluralize(diagnosis.exchanges, 'exchange')}, {diagnosis.tokens:,} tokens, {done}"
    lines = [f"{what} ({_size_text(diagnosis.size)})"]
    lines += [
        f"  an incomplete last line of {diagnosis.torn:,} bytes is ignored"
    ] * bool(diagnosis.torn)
    lines += [f"  checkpoints: {', '.join(map(str, diagnosis.checkpoints))}"] * bool(
        diagnosis.checkpoints
    )
    lines += [f"  cannot be resumed: {diagnosis.resume}"] * bool(diagnosis.resume)
    return lines + [f"  lock: {diagnosis.lock}"] * bool(diagnosis.lock)


def _problem_lines(problems: Sequence[str]) -> list[str]:
    return (
        ["what is wrong:", *(f"  - {problem}" for problem in problems)]
        if problems
        else ["nothing is wrong"]
    )


def _size_text(size: int) -> str:
    return (
        f"{size} B"
        if size < 1e3
        else f"{size / 1e3:.0f} kB"
        if size < 1e6
        else f"{size / 1e6:.1f} MB"
    )


def _fitting_lines(lines: Iterable[str], width: int) -> list[str]:
    fitted = []
    for line in lines:
        indent = pad_right("", len(line) - len(line.lstrip()))
        fitted += [
            indent + each
            for each in wrap_text(one_line(line), width - len(indent), "    ")
        ]
    return fitted


# --- whether journals are as they were written, and what can be put right

_MOST = 20  # more damaged lines of one journal help nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One journal; or, as a run's folder, what does not follow from its journals."""

    file: str
    lines: int
    torn: int
    """Bytes of a last line that is not whole."""
    head: str
    """Its last checksum, "" where it is damaged."""
    problems: tuple[str, ...]

    @classmethod
    def of_journal(cls, path: Path) -> Checked:
        """Return what is wrong with a journal, and its last checksum."""
        data = read_regular(path)
        result = list(islice(find_damages(data), _MOST + 1))
        problems = [
            f"{path}, line {damage.line}: {damage.what}" for damage in result[:_MOST]
        ]
        problems += [f"{path}: and more"] * (len(result) > _MOST)
        return cls(
            file=str(path),
            lines=data.count(b"\n"),
            torn=len(data) - data.rfind(b"\n") - 1,
            head="" if result else events.last_checksum(path),
            problems=tuple(problems),
        )


def verify_journals(run: Path, *, as_json: bool) -> int:
    """Print the last checksums of a run's journals, or what is damaged there or does not follow from them; then 1."""
    checks = list(map(Checked.of_journal, _journal_paths(run)))
    damaged = any(check.problems for check in checks)
    try:
        found = find_discrepancies(read_run(run))
        differs = [
            f"{run / each.place}: {each.what}"
            for each in found
            if not each.unfinished and not each.line
        ]
    except LtmError as error:  # a run that has just begun has no results
        differs = [] if checks else [str(error)]
    if as_json:
        beside = Checked(
            file=str(run), lines=0, torn=0, head="", problems=tuple(differs)
        )
        lines = [
            json.dumps(
                [asdict(each) for each in [*checks, *[beside] * bool(differs)]],
                indent=1,
            )
        ]
    else:
        lines = []
        for check in checks:
            whole = f"{check.file}: {pluralize(check.lines, 'line')}, whole; last checksum {check.head}"
            lines += check.problems or [whole]
            lines += [
                f"  an incomplete last line of {check.torn:,} bytes is ignored"
            ] * bool(check.torn)
        lines += differs
        if damaged:
            command = f"ltm doctor --repair {shlex.quote(str(run))}"
            lines.append(
                "what can be done: restore a copy of the file; or have flipped bits put back, and a journal cut before "
                f"any other damage so that the run can be resumed from there, keeping the damaged file: {command}"
            )
    print(redact_secrets("\n".join(lines)))
    return PROBLEMS if damaged or differs else 0


def repair_journals(run: Path) -> int:
    """Put back what can be, cut journals before what cannot, and say so; 1 if something was cut, else 0.

    The damaged files are kept beside the journals. Raises LtmError if somebody is
    writing them, or the disk refuses.
    """
    cut = False
    for path in _journal_paths(run):
        if next(find_damages(read_regular(path)), None) is None:
            continue
        # whoever writes the journal would go on at an end that is no longer there
        lock = FolderLock(path.parent)
        lock.acquire()
        try:
            # it may have grown until the lock was ours
            data = repaired = read_regular(path)
            lines = []
            for damage in find_damages(data):
                if damage.flipped is None:
                    lost = repaired.count(b"\n", damage.start)
                    lines.append(
                        f"line {damage.line}: {damage.what}. Cut before it: {pluralize(lost, 'line')} less"
                    )
                    repaired = repaired[: damage.start]
                    break
                repaired = flip_bit_back(repaired, damage)
                lines.append(f"line {damage.line}: {damage.what}. Put back")
            copies = (
                path.with_name(f"{path.name}.damaged{number}")
                for number in chain([""], count(2))
            )
            kept = next(copy for copy in copies if not copy.exists())
            # the copy must be safe before the original changes
            write_whole(kept, data, lasting=True)
            write_whole(path, repaired, lasting=True)
        finally:
            lock.release()
        cut |= len(repaired) < len(data)
        print(
            "\n".join(
                [
                    f"{path}:",
                    *(f"  {line}" for line in lines),
                    f"  the damaged file: {kept}",
                ]
            )
        )
    return PROBLEMS if cut else 0


def _journal_paths(run: Path) -> list[Path]:
    result = [*sorted(run.glob(f"*/{JOURNAL}")), run / judge_checks.JOURNAL]
    return [path for path in result if path.is_file()]
