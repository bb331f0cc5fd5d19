"""A run folder on disk: results with amendments, summary and journals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, structs

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


class ConversationFolder(Struct, frozen=True, kw_only=True):
    """One conversation of a run: its result, and where the rest of it stands."""

    result: ConversationResult
    """With the amended verdicts in place of the automatic ones."""
    path: Path
    recorded: ConversationResult | None = None
    """As its `results.json` has it; None where it was not read from there."""

    def record(self) -> ConversationRecord | None:
        """Return what was said, from the journal; None where there is none or it cannot be read."""
        try:
            return ConversationRecord.read_record(self.path / "journal.jsonl")
        except LtmError:
            return None

    def damage(self) -> str:
        """Return what is wrong with the journal, and what can be done; "" where it is whole or there is none."""
        path = self.path / "journal.jsonl"
        try:
            if path.is_file():
                events.last_checksum(path)
        except LtmError as error:
            return str(error)
        return ""

    def plan(self) -> Mapping[str, Any]:
        """Return the plan's JSON values; empty where there is none or it cannot be read."""
        return _read_json_object(self.path / "plan.json")


class LoadedRun(Struct, frozen=True, kw_only=True):
    """One run."""

    path: Path
    result: RunResult
    """With the amended verdicts in place of the automatic ones."""
    conversations: tuple[ConversationFolder, ...]
    """In the order of the result's."""
    summary: Mapping[str, Any]
    """What `summary.json` says; empty where there is none."""

    @classmethod
    def from_results(
        cls, result: RunResult, summary: Mapping[str, Any] | None = None
    ) -> LoadedRun:
        """Return a run of which its result is known, and some of what its `summary.json` will say."""
        folders = tuple(
            ConversationFolder(result=conversation, path=Path())
            for conversation in result.conversations
        )
        return cls(
            path=Path(), result=result, conversations=folders, summary=summary or {}
        )

    @property
    def amended(self) -> int:
        """How many of its verdicts a person has amended."""
        return sum(row.automatic is not None for row in self.result.scenarios)

    @property
    def automatic(self) -> RunResult:
        """Return the result before anybody amended it: what claims are made from."""
        recorded = tuple(
            conversation.recorded or conversation.result
            for conversation in self.conversations
        )
        return structs.replace(self.result, conversations=recorded)


def read_run(path: Path, results: ResultsInFolder | None = None) -> LoadedRun:
    """Return what stands in a run folder; results that cannot be read become notices.

    `results`: what `results_in` has returned for it. Raises LtmError if nothing can be
    read there.
    """
    summary = _read_json_object(path / "summary.json")
    conversation_folders, notices = results or results_in(path)
    if not conversation_folders:
        if notices:
            reason = f": {notices[0]}"
        else:
            reason = "; a run folder has a results.json for each conversation"
        raise LtmError(f"{path}: no results to report{reason}")
    plan = summary.get("plan")
    noted = summary.get("notices")
    noted = noted if isinstance(noted, list) else []
    planned = list(plan.get("agents") or ()) if isinstance(plan, dict) else []
    # Merged and edited runs may hold agents that no plan names: those come last.
    agents = [
        *planned,
        *sorted(
            {
                conversation_folder.result.agent
                for conversation_folder in conversation_folders
            }
            - set(planned)
        ),
    ]

    def place(folder: ConversationFolder) -> tuple[int, float, str, int, str]:
        result = folder.result
        trial = folder.result.name.planned_name.trial
        number = int(trial) if trial.isdecimal() else 0
        return (
            agents.index(result.agent),
            result.span or inf,
            result.span_label,
            number,
            result.trial,
        )

    conversation_folders = sorted(conversation_folders, key=place)
    result = RunResult(
        run_id=path.resolve().name,
        conversations=tuple(
            conversation_folder.result for conversation_folder in conversation_folders
        ),
        folder=str(path),
        notices=tuple(
            notices
            + [text for text in noted if isinstance(text, str) and text not in notices]
        ),
        suite=suite_of(summary.get("plan")),
        trust=text_of(summary.get("trust", "")),
        paces=_read_paces(summary.get("results")),
        prechecks=prechecks_in(path)
        or from_record(tuple[Precheck, ...], summary.get("prechecks", []), str(path)),
    )
    amended = _amendments.apply_amendments(result, _amendments.read_amendments(path))
    conversations = tuple(
        structs.replace(each, result=amended_result)
        for amended_result, each in zip(
            amended.conversations, conversation_folders, strict=True
        )
    )
    return LoadedRun(
        path=path, result=amended, conversations=conversations, summary=summary
    )


ResultsInFolder: TypeAlias = tuple[list[ConversationFolder], list[str]]


def results_in(path: Path) -> ResultsInFolder:
    """Return the conversations of a run folder, without amendments, and why others of them cannot be read."""
    conversation_folders: list[ConversationFolder] = []
    notices: list[str] = []
    # One damaged conversation must not hide the others: it becomes a notice.
    for file in sorted(path.glob(RESULTS)):
        try:
            result = read_results(file)
            conversation_folders.append(
                ConversationFolder(result=result, path=file.parent, recorded=result)
            )
        except LtmError as error:
            notices.append(str(error))
    return conversation_folders, notices


def suite_of(plan: object) -> str:
    """Return the suite's name and version as tables show it; "" where files of definitions were played, or none is."""
    plan_fields = plan if isinstance(plan, dict) else {}
    if not plan_fields.get("suite") or plan_fields.get("definitions"):
        return ""
    return " ".join(
        str(plan_fields[name])
        for name in ("suite", "suite_version")
        if plan_fields.get(name) is not None
    )


def prechecks_in(path: Path) -> tuple[Precheck, ...]:
    """Return what agents and judge of a run folder were asked before the first conversation."""
    prechecks = probe_record.probe_prechecks(path)
    judge_files = (CANARIES, CANARY_JOURNAL, CANARY_TIMINGS, JUDGE_CHECKS)
    if not any((path / name).exists() for name in judge_files):
        return tuple(prechecks)
    from pytest_ltm.records.judge_checks import judge_prechecks

    return (*prechecks, *judge_prechecks(path))


def _read_json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_regular(path))
    except (
        OSError,
        ValueError,
        RecursionError,
    ):
        # a damaged summary costs names and notices, never the report
        return {}
    return value if isinstance(value, dict) else {}


def _read_paces(columns: object) -> tuple[Pace, ...]:
    """Return how long agents took, as the results of a summary say."""
    if isinstance(columns, list):
        rows = [row for row in columns if isinstance(row, dict)]
    else:
        rows = []
    return tuple(
        Pace(
            agent=row["agent"],
            span_label=row["span_label"],
            asking=CallDurations(
                total=row["agent_seconds"], **row.get("reply_seconds", {})
            ),
            **{
                name: None
                if f"{name}_seconds" not in row
                else CallDurations(total=0.0, **row[f"{name}_seconds"])
                for name in ("storing", "settling")
            },
        )
        for row in rows
        if row.get("agent_seconds") is not None
    )
