"""`run.json`: how a run was started, so that the same can be started again; written before the first message."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pytest_ltm._disk import write_whole
from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm._fields import shown
from pytest_ltm._records import json_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FILE = "run.json"
FORMAT = "pytest-ltm run 1"
LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """How a run was started."""

    run: str
    """The run's id."""
    options: Mapping[str, Any]
    """Options of the command line by their names within pytest (`ltm_span`): texts, lists of texts, or true."""
    paths: tuple[str, ...]
    """What the command line named to be run."""
    folder: str
    """Where it was started, relative to the root folder."""
    settings: Mapping[str, Any]
    """What options and ini file came to; equal for runs that can be gone on with, JSON values."""
    versions: Mapping[str, str]
    """Of what took part."""


def write_run_file(folder: Path, run: RunFile) -> None:
    """Write it into a run folder."""
    record = {
        "format": FORMAT, "run": run.run, "options": dict(run.options), "paths": list(run.paths),
        "folder": run.folder, "settings": dict(run.settings), "versions": dict(run.versions),
    }  # fmt: skip
    write_whole(folder / FILE, json_text(record).encode(), lasting=True)


def read_run_file(folder: Path) -> RunFile:
    """Return what `write_run_file` wrote; ConfigurationError says what is wrong with it, and where."""
    path = folder / FILE
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise ConfigurationError(
            f"{folder}: there is no {FILE} that says how it was started. What was merged or imported has none: name a "
            "run that it was made of"
        ) from error
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: no JSON: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ConfigurationError(f"{path}: not the file of a run that this version can go on with")
    for name, kind in _KINDS.items():
        if not isinstance(record.get(name), kind):
            raise ConfigurationError(f"{path}: {name} is {shown(record.get(name))}, not a {kind.__name__}")
    if not all(_is_given(value) for value in record["options"].values()) or not _are_texts(record["paths"]):
        raise ConfigurationError(f"{path}: options and paths are texts")
    return RunFile(**{**{name: record[name] for name in _KINDS}, "paths": tuple(record["paths"])})


def find_run(ltm_dir: Path, said: str, base: Path) -> Path:
    """Return the run folder that `latest`, a run's id or a path (relative to `base`) names.

    ConfigurationError if there is none, with what runs there are.
    """
    runs = ltm_dir / "runs"
    if said == LATEST:
        said = _latest(ltm_dir)
    elif (base / said / FILE).is_file():
        return (base / said).resolve()
    if said in _names(runs):
        return (runs / said).resolve()
    known = [path.name for path in newest_first(ltm_dir)]
    if not known:
        raise ConfigurationError(f"there is no run {said!r}: there are no runs in {runs}")
    few = ", ".join([LATEST, *known[:_FEW]]) + (" ..." if len(known) > _FEW else "")
    raise ConfigurationError(f"there is no run {said!r} in {runs}.{did_you_mean(said, [LATEST, *known])} Runs: {few}")


def newest_first(ltm_dir: Path) -> list[Path]:
    """Return the folders of runs, the one that was begun last first; none where they cannot be read."""
    try:
        return sorted((path for path in (ltm_dir / "runs").iterdir() if path.is_dir()), key=_begun, reverse=True)
    except OSError:
        return []


def _begun(run: Path) -> tuple[float, float, str]:
    """Return when a run was begun: what its id says, which copying keeps, else when it was written."""
    with contextlib.suppress(OSError):
        written = (run / FILE if (run / FILE).is_file() else run).stat().st_mtime
        try:
            said = datetime.strptime(run.name[:_STAMP], "%Y%m%d-%H%M%S").replace(tzinfo=timezone.utc).timestamp()
        except ValueError:  # a name of somebody's own
            said = float(int(written))
        return said, written, run.name
    return 0.0, 0.0, run.name


_STAMP = len("20260105-101500")
_FEW = 5
_KINDS = {"run": str, "options": dict, "paths": list, "folder": str, "settings": dict, "versions": dict}


def _latest(ltm_dir: Path) -> str:
    try:
        return (ltm_dir / LATEST).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        raise ConfigurationError(f"there is no latest run in {ltm_dir}") from None


def _names(runs: Path) -> set[str]:
    return {path.name for path in runs.iterdir() if path.is_dir()} if runs.is_dir() else set()


def _is_given(value: object) -> bool:
    return value is True or isinstance(value, str) or (isinstance(value, list) and _are_texts(value))


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)
