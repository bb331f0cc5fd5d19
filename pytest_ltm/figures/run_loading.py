"""Reads a run folder: results with amendments, summary and journals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, ValidationError, convert, structs

from pytest_ltm.api.journal import (
    CallDurations,
    ConversationRecord,
    ConversationResult,
    Pace,
    Precheck,
    RunResult,
    events,
    read_results,
)
from pytest_ltm.api.storage import LtmError, from_record, read_regular
from pytest_ltm.figures.text import text_of
from pytest_ltm.records import (
    CANARIES,
    CANARY_JOURNAL,
    CANARY_TIMINGS,
    JUDGE_CHECKS,
    probe_record,
)
from pytest_ltm.records import amendments as _amendments

# The results of conversations, below a run folder.
RESULTS = "*/results.json"


class _Durations(CallDurations, frozen=True, kw_only=True):
    total: float = 0.0
    """A summary has no total over single calls."""


class _Times(Struct, frozen=True):
    """The timing fields of a summary's column."""

    agent: str
    span_label: str
    agent_seconds: float | None = None
    reply_seconds: _Durations = _Durations()
    storing_seconds: _Durations | None = None
    settling_seconds: _Durations | None = None

    def pace(self, total: float) -> Pace:
        return Pace(
            agent=self.agent,
            span_label=self.span_label,
            asking=CallDurations(
                total=total,
                median=self.reply_seconds.median,
                p95=self.reply_seconds.p95,
            ),
            storing=self.storing_seconds,
            settling=self.settling_seconds,
        )


class ConversationFolder(Struct, frozen=True, kw_only=True):
    """One conversation of a run: its result, and its folder for everything else."""

    result: ConversationResult
    """The result, with amended verdicts in place of the automatic ones."""
    path: Path
    recorded: ConversationResult | None = None
    """The result in its `results.json`; None if it was not read from there."""

    def record(self) -> ConversationRecord | None:
        """Return the record read from the journal; None if it is missing or unreadable."""
        try:
            return ConversationRecord.read_record(self.path / "journal.jsonl")
        except LtmError:
            return None

    def damage(self) -> str:
        """Return the journal's damage and its remedy; "" if it is intact or missing."""
        path = self.path / "journal.jsonl"
        try:
            if path.is_file():
                events.last_checksum(path)
        except LtmError as error:
            return str(error)
        return ""

    def plan(self) -> Mapping[str, Any]:
        """Return the plan's JSON values; empty if it is missing or unreadable."""
        return _read_json_object(self.path / "plan.json")


class LoadedRun(Struct, frozen=True, kw_only=True):
    """A run read from its folder."""

    path: Path
    result: RunResult
    """The result, with amended verdicts in place of the automatic ones."""
    conversations: tuple[ConversationFolder, ...]
    """The conversations, in the order of the result's."""
    summary: Mapping[str, Any]
    """The contents of `summary.json`; empty if there is none."""

    @classmethod
    def from_results(
        cls, result: RunResult, summary: Mapping[str, Any] | None = None
    ) -> LoadedRun:
        """Return a run made of a result and some fields of its future `summary.json`."""
        folders: list[ConversationFolder] = []
        for conversation in result.conversations:
            folders.append(ConversationFolder(result=conversation, path=Path()))
        return cls(
            path=Path(),
            result=result,
            conversations=tuple(folders),
            summary=summary or {},
        )

    @property
    def amended(self) -> int:
        """Number of verdicts that a person has amended."""
        return sum(row.automatic is not None for row in self.result.scenarios)

    def conversations_of(
        self, agent: str, span_label: str
    ) -> tuple[ConversationFolder, ...]:
        """Return the conversations of one agent at one memory span."""
        folders: list[ConversationFolder] = []
        for folder in self.conversations:
            result = folder.result
            if result.agent == agent and result.span_label == span_label:
                folders.append(folder)
        return tuple(folders)

    @property
    def automatic(self) -> RunResult:
        """Return the result before amendments, on which claims are based."""
        recorded = [folder.recorded or folder.result for folder in self.conversations]
        return structs.replace(self.result, conversations=tuple(recorded))


def read_run(path: Path, results: ResultsInFolder | None = None) -> LoadedRun:
    """Read a run folder; unreadable results become notices.

    `results`: the value of `results_in` for this folder. Raises LtmError if nothing can be read.
    """
    summary = _read_json_object(path / "summary.json")
    folders, notices = results or results_in(path)
    if not folders:
        if notices:
            reason = f": {notices[0]}"
        else:
            reason = "; a run folder has a results.json for each conversation"
        raise LtmError(f"{path}: no results to report{reason}")
    plan = summary.get("plan")
    recorded_notices = summary.get("notices")
    if not isinstance(recorded_notices, list):
        recorded_notices = []
    planned = list(plan.get("agents") or ()) if isinstance(plan, dict) else []
    # Merged and edited runs may contain agents that no plan names: those come last.
    unplanned = {folder.result.agent for folder in folders}.difference(planned)
    agents = [*planned, *sorted(unplanned)]

    def place(folder: ConversationFolder) -> tuple[int, float, str, int, str]:
        result = folder.result
        trial = result.name.planned_name.trial
        number = int(trial) if trial.isdecimal() else 0
        return (
            agents.index(result.agent),
            result.span or inf,
            result.span_label,
            number,
            result.trial,
        )

    folders = sorted(folders, key=place)
    further_notices: list[str] = []
    for text in recorded_notices:
        if isinstance(text, str) and text not in notices:
            further_notices.append(text)
    result = RunResult(
        run_id=path.resolve().name,
        conversations=tuple(folder.result for folder in folders),
        folder=str(path),
        notices=(*notices, *further_notices),
        suite=suite_of(plan),
        trust=text_of(summary.get("trust", "")),
        paces=_read_paces(summary.get("results")),
        prechecks=prechecks_in(path)
        or from_record(tuple[Precheck, ...], summary.get("prechecks", []), str(path)),
    )
    amended = _amendments.apply_amendments(result, _amendments.read_amendments(path))
    conversations: list[ConversationFolder] = []
    for folder, amended_result in zip(folders, amended.conversations, strict=True):
        conversations.append(structs.replace(folder, result=amended_result))
    return LoadedRun(
        path=path,
        result=amended,
        conversations=tuple(conversations),
        summary=summary,
    )


ResultsInFolder: TypeAlias = tuple[list[ConversationFolder], list[str]]


def results_in(path: Path) -> ResultsInFolder:
    """Return the conversations of a run folder, unamended, and why others are unreadable."""
    folders: dict[object, ConversationFolder] = {}
    notices: list[str] = []
    # One damaged conversation must not hide the others, so it becomes a notice.
    for file in sorted(path.glob(RESULTS)):
        try:
            result = read_results(file)
        except LtmError as error:
            notices.append(str(error))
            continue
        folder = ConversationFolder(result=result, path=file.parent, recorded=result)
        rows = frozenset((row.scenario, row.example) for row in result.scenarios)
        # isolated tests have conversations of the same name, with other rows
        key = (result.name, rows) if rows else file
        other = folders.setdefault(key, folder)
        if other is not folder:
            notices.append(_repeat_notice(folder, other))
    return list(folders.values()), notices


def _repeat_notice(folder: ConversationFolder, other: ConversationFolder) -> str:
    return (
        f"{other.path.name} and {folder.path.name} hold the same conversation, which"
        " is counted once: remove one of the two folders"
    )


def suite_of(plan: object) -> str:
    """Return the suite's name and version as tables show it; "" if files of definitions were played, or none."""
    if not isinstance(plan, dict) or not plan.get("suite") or plan.get("definitions"):
        return ""
    suite = str(plan["suite"])
    version = plan.get("suite_version")
    return suite if version is None else f"{suite} {version}"


def prechecks_in(path: Path) -> tuple[Precheck, ...]:
    """Return the probes and judge checks made before a run folder's first conversation."""
    prechecks = probe_record.probe_prechecks(path)
    judge_files = (CANARIES, CANARY_JOURNAL, CANARY_TIMINGS, JUDGE_CHECKS)
    if not any((path / name).exists() for name in judge_files):
        return tuple(prechecks)
    from pytest_ltm.records.judge_checks import judge_prechecks

    return (*prechecks, *judge_prechecks(path))


def _read_json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError):
        # a damaged summary costs names and notices, but never the report
        value = None
    return value if isinstance(value, dict) else {}


def _read_paces(columns: object) -> tuple[Pace, ...]:
    """Return the agents' paces from the columns of a summary, skipping malformed ones."""
    paces = []
    for column in columns if isinstance(columns, list) else ():
        with suppress(ValidationError):
            times = convert(column, _Times)
            if times.agent_seconds is not None:
                paces.append(times.pace(times.agent_seconds))
    return tuple(paces)
