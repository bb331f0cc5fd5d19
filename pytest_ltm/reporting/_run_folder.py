"""A run folder as it stands on disk: results with amendments, summary, and the journal of each conversation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm import _amendments, _journal
from pytest_ltm._errors import ConfigurationError, LtmError, did_you_mean
from pytest_ltm._result import ConversationResult, RunResult, read_results
from pytest_ltm.reporting._journal_log import Log, log_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

LATEST = "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFolder:
    """One conversation of a run: its result, and where the rest of it stands."""

    result: ConversationResult
    """With the amended verdicts in place of the automatic ones."""
    path: Path

    def log(self) -> Log | None:
        """Return what was said, from the journal; None where there is none or it cannot be read."""
        path = self.path / "journal.jsonl"
        if not path.is_file():
            return None
        try:
            return log_of(_journal.read(path))
        except (OSError, LtmError, KeyError, TypeError, ValueError):
            return None

    def plan(self) -> Mapping[str, Any]:
        """Return the plan's JSON values; empty where there is none or it cannot be read."""
        return _object(self.path / "plan.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run."""

    path: Path
    result: RunResult
    """With the amended verdicts in place of the automatic ones."""
    conversations: tuple[ConversationFolder, ...]
    """In the order of the result's."""
    summary: Mapping[str, Any]
    """What `summary.json` says; empty where there is none."""


def read_run(path: Path) -> Run:
    """Return what stands in a run folder; results that cannot be read become notices.

    Raises LtmError if nothing can be read there.
    """
    summary = _object(path / "summary.json")
    found, notices = _results(path)
    if not found:
        why = f": {notices[0]}" if notices else "; a run folder has a results.json for each conversation"
        raise LtmError(f"{path}: no results to report{why}")
    found = _in_order(found, summary)
    name = path.resolve().name
    result = RunResult(
        run_id=name,
        conversations=tuple(each.result for each in found),
        folder=str(path),
        notices=tuple(notices + [text for text in _texts(summary.get("notices")) if text not in notices]),
    )
    amended = _amendments.apply(result, _amendments.read(path))
    conversations = tuple(
        ConversationFolder(result=held, path=each.path) for held, each in zip(amended.conversations, found, strict=True)
    )
    return Run(path=path, result=amended, conversations=conversations, summary=summary)


def find_run(text: str, ltm_dir: Path) -> Path:
    """Return the folder that a person means: a path, a run id below `ltm_dir`, or `latest`.

    Raises ConfigurationError if there is none.
    """
    runs = ltm_dir / "runs"
    if text == LATEST:
        return _latest(ltm_dir)
    if "/" not in text and "\\" not in text and (runs / text).is_dir() and text not in {"", ".", ".."}:
        return runs / text
    path = Path(text)
    if path.is_dir():
        return path
    known = sorted(each.name for each in runs.iterdir()) if runs.is_dir() else []
    raise ConfigurationError(
        f"there is no run {text!r}.{did_you_mean(text, known)} Name a run folder, a run id below {str(runs)!r}, "
        f"or {LATEST!r}"
    )


def _latest(ltm_dir: Path) -> Path:
    file = ltm_dir / LATEST
    try:
        name = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        raise ConfigurationError(f"there is no latest run: {str(file)!r} cannot be read. Name a run folder") from None
    path = ltm_dir / "runs" / Path(name).name
    if not path.is_dir():
        raise ConfigurationError(f"the latest run, {name!r}, is not below {str(ltm_dir / 'runs')!r} any more")
    return path


def _results(path: Path) -> tuple[list[ConversationFolder], list[str]]:
    found: list[ConversationFolder] = []
    notices: list[str] = []
    for file in sorted(path.glob("*/results.json")):
        try:
            found.append(ConversationFolder(result=read_results(file), path=file.parent))
        except LtmError as error:
            notices.append(str(error))
    return found, notices


def _in_order(found: Sequence[ConversationFolder], summary: Mapping[str, Any]) -> list[ConversationFolder]:
    """Return agents in the order of the run, their spans from the shortest to the longest."""
    plan = summary.get("plan")
    named = list(plan.get("agents") or ()) if isinstance(plan, dict) else []
    agents = [*named, *sorted({each.result.agent for each in found} - set(named))]
    return sorted(found, key=lambda each: (agents.index(each.result.agent), *_place(each.result)))


def _place(result: ConversationResult) -> tuple[float, str, int, str]:
    span = float("inf") if result.span is None else result.span
    trial = result.trial.partition(".")[0]
    return span, result.span_label, int(trial) if trial.isdecimal() else 0, result.trial


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> Iterable[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
