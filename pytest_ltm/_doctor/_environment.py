"""What is installed and set where the command runs; an optional part that is not there is no problem."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import tempfile
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import told
from pytest_ltm._providers._known import ENDPOINTS
from pytest_ltm._run_file import newest_first
from pytest_ltm._secrets import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRAS = {
    "pytest-xdist": "xdist: many workers (-n)",
    "pytest-html": "html: rows in pytest-html's report",
    "openai": "openai: agents and judges openai:MODEL",
    "httpx2": "http: agents http://...",
    "time-machine": "time: --ltm-time=jump",
}
"""What an extra brings, and what for."""
NEEDED = ("pytest", "pluggy", "greenlet", "filelock", "tiktoken", "faker", "pyyaml", "jinja2", "tenacity")
NOTED = {
    "pytest-rerunfailures": "scenarios are never rerun: a second try would be another conversation",
    "pytest-timeout": "its timer is off for scenarios: --ltm-reply-timeout limits each reply",
    "pytest-randomly": "the order of scenarios within a conversation stays that of the plan",
    "pytest-forked": "items of one conversation need one process: do not use --forked",
    "pytest-parallel": "runs items in threads, which no conversation survives: use pytest-xdist",
    "pytest-run-parallel": "runs items in threads, which no conversation survives: leave it out of LTM runs",
}
"""Plugins that change how items are run, and what that means here."""
KEYS = (
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    *sorted({known.key_env for known in ENDPOINTS.values()} - {"OPENAI_API_KEY", ""}),
)
"""Variables that an endpoint known by name looks at."""
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
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)


def environment(ltm_dir: Path) -> Environment:
    """Return what is installed and set here."""
    packages = {name: _version(name) for name in NEEDED}
    writable = _writable(ltm_dir)
    encodings = {name: _counts(name) for name in ENCODINGS}
    missing = [f"{name} is missing: pip install {name}" for name, found in packages.items() if not found]
    broken = [f"the tokenizer {name} does not work: {why}" for name, why in encodings.items() if why]
    return Environment(
        python=sys.version.split()[0],
        platform=platform.platform(),
        pytest_ltm=_version("pytest-ltm"),
        packages=packages,
        extras={name: _version(name) for name in EXTRAS},
        plugins=_plugins(),
        notes=tuple(f"{name}: {note}" for name, note in NOTED.items() if _version(name)),
        encodings={name: not why for name, why in encodings.items()},
        keys={name: bool(os.environ.get(name)) for name in (*KEYS, *sorted(filter(is_secret_name, os.environ)))},
        ltm_dir=str(ltm_dir),
        writable=writable,
        runs=latest_runs(ltm_dir),
        problems=(*missing, *broken, *([f"{ltm_dir} cannot be written: {writable}"] if writable else [])),
    )


def latest_runs(ltm_dir: Path) -> tuple[str, ...]:
    """Return the ids of the newest runs."""
    return tuple(path.name for path in newest_first(ltm_dir)[:_LATEST])


def _version(name: str) -> str:
    try:
        return version(name)
    except (PackageNotFoundError, ValueError):
        return ""


def _plugins() -> tuple[str, ...]:
    found = {
        f"{point.dist.name} {point.dist.version}"
        for point in entry_points(group="pytest11")
        if point.dist is not None and point.dist.name != "pytest-ltm"
    }
    return tuple(sorted(found))


def _counts(name: str) -> str:
    """Return why a tokenizer cannot count, "" if it can."""
    if importlib.util.find_spec("tiktoken") is None:
        return "tiktoken is missing"
    from pytest_ltm._tokens import counter  # noqa: PLC0415 - nothing is imported before it is used

    try:
        counter(name).count("one two three")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told
        return told(error)
    return ""


def _writable(ltm_dir: Path) -> str:
    """Return why nothing can be written where runs are, "" if it can; nothing is left there."""
    there = next((path for path in (ltm_dir, *ltm_dir.absolute().parents) if path.is_dir()), Path())
    try:
        with tempfile.TemporaryFile(dir=there):
            return ""
    except OSError as error:
        return error.strerror or str(error)
