"""Finding what a run is compared with: a baseline by its name, a baseline file, or a run folder; and keeping one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, LtmError, did_you_mean
from pytest_ltm._gate._baseline import LATEST, check_name, dump
from pytest_ltm._gate._baseline_reading import load
from pytest_ltm._gate._facts import facts_of
from pytest_ltm._gate._side import Side, one_agent
from pytest_ltm._run_file import newest_first
from pytest_ltm.reporting._run_folder import find_run, read_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_ltm._gate._facts import PlanFacts
    from pytest_ltm.reporting._run_folder import ConversationFolder

AGENT = "@"
"""Stands before the agent's label where a run or a file holds several: `latest@mybot`."""

_RESULTS = "*/results.json"


def find(text: str, baselines: Path, ltm_dir: Path, base: Path = Path()) -> tuple[Side, str]:
    """Return the side that a person means, and its path: a baseline's name, a file, a run folder, a run id or `latest`.

    `TEXT@AGENT` means one agent of several; `base` is what a path is relative to. Raises ConfigurationError if there is
    none, LtmError if it cannot be read.
    """
    path = _located(text, baselines, ltm_dir, base)
    if path is not None:
        return _side(path, text), str(path.resolve())
    rest, _, agent = text.rpartition(AGENT)
    path = _located(rest, baselines, ltm_dir, base)
    if path is None:
        raise ConfigurationError(_unknown(text, baselines, ltm_dir))
    return one_agent(_side(path, rest), agent), f"{path.resolve()}{AGENT}{agent}"


def _located(text: str, baselines: Path, ltm_dir: Path, base: Path) -> Path | None:
    kept = baselines / f"{text}.json"
    if text and "/" not in text and "\\" not in text and kept.is_file():
        return kept
    path = base / text
    if text and path.is_file():
        return path
    if text == LATEST:
        return _latest(ltm_dir)
    try:
        return find_run(str(path) if path.is_dir() else text, ltm_dir) if text else None
    except ConfigurationError:
        return None


def _latest(ltm_dir: Path) -> Path:
    """Return the last run that has results: one that was refused before it began leaves an empty folder."""
    latest = find_run(LATEST, ltm_dir)
    if any(latest.glob(_RESULTS)):
        return latest
    return next((path for path in newest_first(ltm_dir) if any(path.glob(_RESULTS))), latest)


def _side(path: Path, text: str) -> Side:
    if path.is_dir():
        return side_of_run(path)
    return load(path, f"baseline {text!r}" if path.stem == text else "")


def _unknown(text: str, baselines: Path, ltm_dir: Path) -> str:
    runs = ltm_dir / "runs"
    names = sorted(path.stem for path in baselines.glob("*.json")) if baselines.is_dir() else []
    known = [*names, *(sorted(path.name for path in runs.iterdir()) if runs.is_dir() else [])]
    there = f"Baselines: {', '.join(names)}" if names else "There are no baselines yet (--ltm-save=NAME makes one)"
    return (
        f"there is no baseline, file or run {text!r}.{did_you_mean(text, known)} {there}. "
        f"Name one of them, a file, a run folder, a run id below {str(runs)!r}, or {LATEST!r}"
    )


def side_of_run(path: Path) -> Side:
    """Return a run folder as a side."""
    run = read_run(path)
    return Side(name=f"run {run.result.run_id}", result=run.result, plans=tuple(_plans(run.conversations)))


def _plans(folders: Iterable[ConversationFolder]) -> Iterable[PlanFacts]:
    for folder in folders:
        held = folder.result
        yield facts_of(
            folder.plan() or None,
            span_label=held.span_label,
            trial=held.trial,
            fingerprint=held.plan_fingerprint,
        )


def save(side: Side, name: str, baselines: Path, version: str) -> str:
    """Write the baseline of a side with one agent; return a sentence that says what became of it.

    Raises ConfigurationError for a name that no baseline can have, LtmError if it cannot be written.
    """
    path = baselines / f"{check_name(name)}.json"
    text = dump(side, version).encode()
    try:
        before = path.read_bytes() if path.exists() else None
        baselines.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    except OSError as error:
        raise LtmError(f"{path}: cannot be written ({error.strerror or error})") from error
    if before is None:
        return f"baseline saved: {path}"
    return f"baseline {'unchanged' if before == text else 'overwritten'}: {path}"
