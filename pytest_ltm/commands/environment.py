"""The packages and settings on this machine, and their problems."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import run_file
from pytest_ltm.api.model import token_counter
from pytest_ltm.api.storage import describe_error, is_secret_name, load_packaged_yaml
from pytest_ltm.commands.diagnosis_text import fit_lines, problem_lines
from pytest_ltm.providers import key_names

# Required distributions, those of extras, and notes on third-party plugins.
DISTRIBUTIONS: Mapping[str, Any] = load_packaged_yaml(__file__, "doctor.yml")
ENCODINGS = ("cl100k_base", "o200k_base")
_MOST_RUNS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The installed packages and settings."""

    python: str
    platform: str
    pytest_ltm: str
    packages: Mapping[str, str]
    """Versions of required packages; "" if missing."""
    extras: Mapping[str, str]
    """Versions of the packages in extras; "" if not installed."""
    plugins: tuple[str, ...]
    """Other installed pytest plugins."""
    notes: tuple[str, ...]
    """A sentence for each plugin that affects how items are run."""
    encodings: Mapping[str, bool]
    """Whether each tokenizer works without a network."""
    keys: Mapping[str, bool]
    """Whether variables are set: those of known endpoints, and those named like secrets. Never their values."""
    ltm_dir: str
    writable: str
    """Why the folder for runs is not writable, or ""."""
    runs: tuple[str, ...]
    """The latest runs, newest first."""
    cut_short: tuple[str, ...]
    """Those runs whose process was killed."""
    problems: tuple[str, ...]


def diagnose_environment(ltm_dir: Path) -> Environment:
    """Collect what is installed and set."""
    packages = {name: installed_version(name) for name in DISTRIBUTIONS["needed"]}
    encodings = {name: _why_no_tokens(name) for name in ENCODINGS}
    unwritable = _why_unwritable(ltm_dir)
    latest = run_file.newest_first(ltm_dir)[:_MOST_RUNS]
    notes: list[str] = []
    for name, note in DISTRIBUTIONS["noted"].items():
        if installed_version(name):
            notes.append(f"{name}: {note}")
    return Environment(
        python=sys.version.split()[0],
        platform=platform.platform(),
        pytest_ltm=installed_version("pytest-ltm"),
        packages=packages,
        extras={name: installed_version(name) for name in DISTRIBUTIONS["extras"]},
        plugins=tuple(sorted(set(_iter_plugins()))),
        notes=tuple(notes),
        encodings={name: not problem for name, problem in encodings.items()},
        keys=_keys_set(),
        ltm_dir=str(ltm_dir),
        writable=unwritable,
        runs=tuple(path.name for path in latest),
        cut_short=tuple(path.name for path in latest if run_file.cut_short(path)),
        problems=tuple(_iter_problems(packages, encodings, ltm_dir, unwritable)),
    )


def installed_version(name: str) -> str:
    """Return a distribution's version, or "" if it is not installed."""
    try:
        return version(name)
    except (PackageNotFoundError, ValueError):
        return ""


def _iter_plugins() -> Iterator[str]:
    """Yield names and versions of other pytest plugins."""
    for point in entry_points(group="pytest11"):
        distribution = point.dist
        if distribution and distribution.name != "pytest-ltm":
            yield f"{distribution.name} {distribution.version}"


def _keys_set() -> Mapping[str, bool]:
    """Return whether each variable that may contain a key is set."""
    secret_names = sorted(filter(is_secret_name, os.environ))
    return {name: bool(os.environ.get(name)) for name in (*key_names(), *secret_names)}


def _why_no_tokens(encoding: str) -> str:
    """Return why a tokenizer does not work, or ""."""
    try:
        token_counter(encoding).count("one two three")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        return describe_error(error)
    return ""


def _why_unwritable(ltm_dir: Path) -> str:
    """Return why the folder for runs cannot be written or created, or ""."""
    folder = ltm_dir.absolute()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()  # leaves no file
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _iter_problems(
    packages: Mapping[str, str],
    encodings: Mapping[str, str],
    ltm_dir: Path,
    unwritable: str,
) -> Iterator[str]:
    for name, installed in packages.items():
        if not installed:
            yield f"{name} is missing: pip install {name}"
    for name, problem in encodings.items():
        if problem:
            yield f"the tokenizer {name} does not work: {problem}"
    if unwritable:
        yield f"{ltm_dir} cannot be written: {unwritable}"


def environment_lines(environment: Environment, width: int) -> list[str]:
    """Return the packages and settings as lines for a terminal."""
    packages: list[str] = []
    for name, installed in environment.packages.items():
        packages.append(f"{name} {installed or 'missing'}")
    working = [name for name, works in environment.encodings.items() if works]
    keys = [name for name, is_set in environment.keys.items() if is_set]
    lines = [
        f"pytest-ltm {environment.pytest_ltm}, Python {environment.python}, {environment.platform}",
        f"needed: {', '.join(packages)}",
        "extras:",
    ]
    for name, installed in environment.extras.items():
        purpose = DISTRIBUTIONS["extras"][name]
        lines.append(f"  {name} {installed or '-'} ({purpose})")
    lines.append(f"other plugins: {', '.join(environment.plugins) or 'none'}")
    lines += [f"  {note}" for note in environment.notes]
    lines.append(f"tokenizers without a network: {', '.join(working) or 'none'}")
    lines.append(f"keys that are set (names only): {', '.join(keys) or 'none'}")
    can_write = "" if environment.writable else ", can be written"
    lines.append(f"runs: {environment.ltm_dir}{can_write}")
    if environment.runs:
        lines.append(f"latest: {', '.join(environment.runs)}")
    for name in environment.cut_short:
        lines.append(
            f"{name} has no {run_file.SUMMARY}: its process ended in the middle; "
            f"pytest --ltm-resume={name}"
        )
    return fit_lines([*lines, *problem_lines(environment.problems)], width)
