"""`run.json`: how a run was started, so that it can be started again; the folders of runs and the tested commit."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from pytest_ltm._core.journal.result import ConversationName
from pytest_ltm._core.model.judge_spec import fold_judge_options
from pytest_ltm._core.model.suite_spec import fold_recorded_options
from pytest_ltm._core.storage.disk import (
    open_text,
    read_regular,
    read_text,
    write_whole,
)
from pytest_ltm._core.storage.errors import ConfigurationError, did_you_mean
from pytest_ltm._core.storage.locks import lock_holder
from pytest_ltm._core.storage.schema import json_text, show_value, to_record

FILE = "run.json"
# The file that a run writes at its very end.
SUMMARY = "summary.json"
FORMAT = "pytest-ltm run 1"
# A merged run has this file instead: how each of its parts was started.
PARTS = "parts.json"
LATEST = "latest"
# The files in the folder of a conversation, and the folder of the agent's saved states.
JOURNAL = "journal.jsonl"
TIMINGS = "timings.jsonl"
RESULTS = "results.json"
CHECKPOINTS = "checkpoints"


class RunFile(Struct, frozen=True, kw_only=True):
    """How a run was started."""

    run: str
    """The run's id."""
    options: Mapping[str, Any]
    """Command line options by their names within pytest (`ltm_span`): texts, lists of texts, or true."""
    paths: tuple[str, ...]
    """The paths on the command line."""
    folder: str
    """The folder where it was started, relative to the root folder."""
    settings: Mapping[str, Any]
    """The settings from options and ini file, as JSON values; equal for runs that can be resumed."""
    versions: Mapping[str, str]
    """The versions of the packages involved."""
    source: SourceRevision | None = None
    """The commit that is tested; None if it is unknown."""


@cache
def own_version() -> str:
    """Return the version of pytest-ltm, with a source digest if the code may be of any commit.

    A package from an index is determined by its version. Everything else was installed
    from a folder, a repository or a file, as its metadata show; or it is not installed,
    and has no list of its files.
    """
    version = metadata.version("pytest-ltm")
    # A checkout may have metadata of its own in addition to those of the installed
    # package.
    for distribution in metadata.Distribution.discover(name="pytest-ltm"):
        names = {path.name for path in distribution.files or ()}
        if "RECORD" not in names or "direct_url.json" in names:
            return f"{version}+{source_digest()[:8]}"
    return version


@cache
def source_digest() -> str:
    """Return a sha256 over the package's own source, by the names of its files."""
    package = Path(__file__).parents[2]
    contents: dict[str, bytes] = {}
    for folder, _, names in os.walk(package):
        inside = Path(folder).relative_to(package).as_posix()
        for name in names:
            if name.endswith((".py", ".yml")):
                contents[f"{inside}/{name}"] = read_regular(Path(folder, name))
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(name.encode() + b"\0" + contents[name] + b"\0")
    return digest.hexdigest()


def write_run_file(folder: Path, run: RunFile) -> None:
    """Write `run.json` into a run folder."""
    record = {"format": FORMAT, **to_record(run)}
    if run.source is None:
        del record["source"]
    else:
        # Without unknown fields.
        record["source"] = msgspec.to_builtins(run.source)
    # Nothing could be resumed without it, so it must survive a loss of power.
    write_whole(folder / FILE, json_text(record).encode(), lasting=True)


def _is_texts(value: object) -> bool:
    texts = value if isinstance(value, list) else [value]
    return value is True or all(isinstance(text, str) for text in texts)


def read_run_file(folder: Path) -> RunFile:
    """Read `run.json`; ConfigurationError with the problem and its place."""
    path = folder / FILE
    try:
        record = json.loads(read_regular(path))
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{folder}: no {FILE} says how it was started. Merged and imported runs have none: name one of the "
            "original runs"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not JSON: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ConfigurationError(f"{path}: not a run file that this version can resume")
    for name, kind in _KINDS.items():
        if not isinstance(record.get(name), kind):
            raise ConfigurationError(
                f"{path}: {name} is {show_value(record.get(name))}, not a {kind.__name__}"
            )
    values = [record["paths"], *record["options"].values()]
    if not all(map(_is_texts, values)):
        raise ConfigurationError(f"{path}: options and paths must be texts")
    fields = {name: record[name] for name in _KINDS}
    fields["paths"] = tuple(record["paths"])
    options = fold_recorded_options(record["options"], record["settings"].get("suite"))
    fields["options"] = fold_judge_options(options, record["settings"].get("judge"))
    return RunFile(**fields, source=source_of(folder))


def run_parts(run: Path, conversations: Iterable[str]) -> list[dict[str, Any]]:
    """Return the content of `run.json` with the folders of its conversations; for a merged run, of each part.

    Empty if it is unknown how the run was started.
    """
    for name in (FILE, PARTS):
        with contextlib.suppress(
            OSError, ValueError, RecursionError, KeyError, TypeError
        ):
            record = json.loads(read_regular(run / name))
            if name == FILE:
                parts = [{"run": record, "conversations": [*conversations]}]
            else:
                parts = record["parts"]
            folders = {*conversations}
            reduced_parts = [
                part
                | {"conversations": sorted(folders.intersection(part["conversations"]))}
                for part in parts
            ]
            return [
                part
                for part in reduced_parts
                if part["conversations"] and isinstance(part["run"], dict)
            ]
    return []


class _Tested(Struct):
    source: SourceRevision | None = None


def source_of(folder: Path) -> SourceRevision | None:
    """Return the commit that a run tested; None if it is unknown or cannot be read."""
    try:
        return msgspec.json.decode(read_regular(folder / FILE), type=_Tested).source
    except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
        return None


def conversations_in(run: Path, file: str) -> dict[ConversationName, Path]:
    """Return the files of this name in a run's conversation folders, in the order of the folders' names."""
    pairs = (
        (ConversationName.of_folder(path.parent.name), path)
        for path in sorted(run.glob(f"*/{file}"))
    )
    return {name: path for name, path in pairs if name is not None}


def find_run(text: str, ltm_dir: Path, base: Path = Path()) -> Path:
    """Find the run folder named by `latest`, a run's id or a path (relative to `base`).

    ConfigurationError, with the existing runs, if there is none.
    """
    runs = ltm_dir / "runs"
    name = text
    if text == LATEST:
        try:
            name = read_regular(ltm_dir / LATEST).decode().strip()
        except (OSError, ValueError):
            raise ConfigurationError(
                f"there is no latest run in {ltm_dir}{_latest_above(ltm_dir)}"
            ) from None
    if runs.is_dir() and name in {
        path.name for path in runs.iterdir() if path.is_dir()
    }:
        return runs / name
    if text not in {"", LATEST} and os.path.isdir(base / text):  # noqa: PTH112 - a path object refuses a long name
        return base / text
    run_names = [path.name for path in newest_first(ltm_dir)]
    if not run_names:
        raise ConfigurationError(
            f"there is no run {name!r}: there are no runs in {runs}"
        )
    few = ", ".join([LATEST, *run_names[:_FEW]]) + (
        " ..." if len(run_names) > _FEW else ""
    )
    raise ConfigurationError(
        f"there is no run {name!r} in {runs}.{did_you_mean(name, [LATEST, *run_names])} Runs: {few}"
    )


def _latest_above(ltm_dir: Path) -> str:
    """Return a hint at the latest run of the nearest folder above that has one."""
    for parent in ltm_dir.absolute().parent.parents:
        folder = parent / ltm_dir.name
        if (folder / LATEST).is_file():
            return f". There is one in {folder}: name it with --ltm-dir"
    return ""


def newest_first(ltm_dir: Path) -> list[Path]:
    """Return the folders of runs, newest first; empty if they cannot be read."""
    return folders_by_age(ltm_dir / "runs")


def folders_by_age(folder: Path) -> list[Path]:
    """Return the subfolders of a folder, newest first; without unfinished ones, whose names begin with a dot."""
    try:
        paths = (
            path
            for path in folder.iterdir()
            if path.is_dir() and not path.name.startswith(".")
        )
        return sorted(paths, key=_run_sort_key, reverse=True)
    except OSError:
        return []


def cut_short(run: Path) -> bool:
    """Return whether a run's process ended after the first message and before its summary was written."""
    if (
        (run / SUMMARY).exists()
        or not (run / FILE).is_file()
        or not any(run.glob("*/journal.jsonl"))
    ):
        return False
    with contextlib.suppress(OSError):
        return not lock_holder(run)  # it may still be running
    return False


def _run_sort_key(run: Path) -> tuple[float, float, str]:
    """Return the sort key of a run: the time in its id, which copying preserves, else the time of writing."""
    with contextlib.suppress(OSError):
        written = (run / FILE if (run / FILE).is_file() else run).stat().st_mtime
        moment = _time_in_run_id(run)
        return moment.timestamp() if moment else float(int(written)), written, run.name
    return 0.0, 0.0, run.name


def run_start_time(run: Path) -> datetime | None:
    """Return when a run began, to the second; None if unknown."""
    if moment := _time_in_run_id(run):
        return moment
    with contextlib.suppress(OSError, ValueError, OverflowError):
        if run.is_dir():
            return datetime.fromtimestamp(int(_run_sort_key(run)[1]), timezone.utc)
        return None
    return None


def _time_in_run_id(run: Path) -> datetime | None:
    try:
        return datetime.strptime(run.name[:_STAMP], "%Y%m%d-%H%M%S").replace(
            tzinfo=timezone.utc
        )
    except ValueError:  # a name chosen by the user
        return None


_STAMP = len("20260105-101500")
_FEW = 5
_KINDS = {
    "run": str,
    "options": dict,
    "paths": list,
    "folder": str,
    "settings": dict,
    "versions": dict,
}


# --- The commit that is tested, read from the files of `.git` and from a CI job's
# environment: git itself is never run.


class SourceRevision(Struct, frozen=True, omit_defaults=True):
    """The version of the code that was tested; authors and other repository data are not kept."""

    commit: str = ""
    """The hash of the commit that was checked out, without uncommitted changes."""
    branch: str = ""


_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# The maximum number of bytes of `packed-refs` to read.
_MOST = 1_000_000
# The maximum length of a branch's name.
_LONGEST = 200
# By CI system: the variable with the commit, and the variables with its branch, of
# which the first one set counts.
_CI = (
    ("GITHUB_SHA", ("GITHUB_HEAD_REF", "GITHUB_REF_NAME")),
    ("CI_COMMIT_SHA", ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME")),
    ("BUILD_SOURCEVERSION", ("BUILD_SOURCEBRANCHNAME",)),
    ("CIRCLE_SHA1", ("CIRCLE_BRANCH",)),
    ("GIT_COMMIT", ("GIT_BRANCH",)),
)


def source_revision(
    folder: Path, environment: Mapping[str, str] = os.environ
) -> SourceRevision | None:
    """Return the revision checked out in a folder; None if unknown. Never raises.

    The CI job's environment supplies the branch, because CI checks out a bare commit,
    and supplies both if the code was copied without its repository.
    """
    result = _checked_out(folder)
    if result and result.branch:
        return result
    for variable, branches in _CI:
        commit = environment.get(variable, "")
        if _HASH.fullmatch(commit) and (result is None or result.commit == commit):
            branch = next(
                (name for variable in branches if (name := environment.get(variable))),
                "",
            )
            return SourceRevision(commit, branch[:_LONGEST])
    return result


def _checked_out(folder: Path) -> SourceRevision | None:
    try:
        git = next(
            path / ".git"
            for path in (folder, *folder.parents)
            if (path / ".git").exists()
        )
        if git.is_file():  # a worktree or a submodule
            git = git.parent / read_text(git).removeprefix("gitdir:").strip()
        head = read_text(git / "HEAD").strip()
        if not head.startswith("ref:"):
            if _HASH.fullmatch(head):
                return SourceRevision(head)
            return None
        ref = head.removeprefix("ref:").strip()
        if (git / "commondir").exists():
            common = git / _read_text(git / "commondir")
        else:
            common = git
        commit = (
            _read_text(git / ref)
            or _read_text(common / ref)
            or _packed_ref(common / "packed-refs", ref)
        )
    except (StopIteration, OSError, ValueError):
        return None
    if _HASH.fullmatch(commit):
        return SourceRevision(commit, ref.removeprefix("refs/heads/")[:_LONGEST])
    return None


def _read_text(path: Path) -> str:
    try:
        return read_regular(path).decode().strip()
    except (OSError, ValueError):
        return ""


def _packed_ref(path: Path, ref: str) -> str:
    with open_text(path) as file:
        lines = map(str.split, file.read(_MOST).splitlines())
        return next((words[0] for words in lines if words[1:] == [ref]), "")
