"""A run folder on disk: results with amendments, summary, journals; and what it is compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct, structs

from pytest_ltm._core.journal import amendments as _amendments
from pytest_ltm._core.journal import events, prechecks
from pytest_ltm._core.journal.fold import ConversationRecord
from pytest_ltm._core.journal.result import (
    CallDurations,
    ConversationResult,
    Pace,
    Precheck,
    RunResult,
    read_results,
    why_unmeasured,
)
from pytest_ltm._core.journal.run_file import LATEST, find_run, newest_first
from pytest_ltm._core.storage.disk import read_regular, write_output
from pytest_ltm._core.storage.errors import ConfigurationError, LtmError, did_you_mean
from pytest_ltm._core.storage.schema import from_record
from pytest_ltm.figures.text import text_of
from pytest_ltm.gate.baseline import baseline_text, check_name, load_baseline
from pytest_ltm.gate.changes import GateSide, one_agent
from pytest_ltm.gate.plan_facts import PlanFacts, facts_of

_RESULTS = "*/results.json"


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
        held = tuple(
            ConversationFolder(result=each, path=Path())
            for each in result.conversations
        )
        return cls(
            path=Path(), result=result, conversations=held, summary=summary or {}
        )

    @property
    def amended(self) -> int:
        """How many of its verdicts a person has amended."""
        return sum(row.automatic is not None for row in self.result.scenarios)

    @property
    def automatic(self) -> RunResult:
        """Return the result before anybody amended it: what claims are made from."""
        recorded = tuple(each.recorded or each.result for each in self.conversations)
        return structs.replace(self.result, conversations=recorded)


def read_run(path: Path, results: ResultsInFolder | None = None) -> LoadedRun:
    """Return what stands in a run folder; results that cannot be read become notices.

    `results`: what `results_in` has returned for it. Raises LtmError if nothing can be
    read there.
    """
    summary = _read_json_object(path / "summary.json")
    conversation_folders, notices = results or results_in(path)
    if not conversation_folders:
        why = (
            f": {notices[0]}"
            if notices
            else "; a run folder has a results.json for each conversation"
        )
        raise LtmError(f"{path}: no results to report{why}")
    plan, noted = summary.get("plan"), summary.get("notices")
    noted = noted if isinstance(noted, list) else []
    named = list(plan.get("agents") or ()) if isinstance(plan, dict) else []
    # Merged and edited runs may hold agents that no plan names: those come last.
    agents = [
        *named,
        *sorted({each.result.agent for each in conversation_folders} - set(named)),
    ]

    def place(folder: ConversationFolder) -> tuple[int, float, str, int, str]:
        result, trial = folder.result, folder.result.name.planned_name.trial
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
        conversations=tuple(each.result for each in conversation_folders),
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
        structs.replace(each, result=held)
        for held, each in zip(amended.conversations, conversation_folders, strict=True)
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
    for file in sorted(path.glob(_RESULTS)):
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
    return (*prechecks.probe_prechecks(path), *prechecks.judge_prechecks(path))


def _read_json_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_regular(path))
    except (
        OSError,
        ValueError,
        RecursionError,
    ):  # a damaged summary costs names and notices, never the report
        return {}
    return value if isinstance(value, dict) else {}


def _read_paces(columns: object) -> tuple[Pace, ...]:
    """Return how long agents took, as the results of a summary say."""
    rows = (
        [row for row in columns if isinstance(row, dict)]
        if isinstance(columns, list)
        else []
    )
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


# --- Finding what a run is compared with: a baseline by its name, a baseline file, or a
# run folder; and keeping one.

# Stands before the agent's label where a run or a file holds several: `latest@mybot`.
AGENT = "@"


def find_side(
    text: str,
    baselines: Path,
    ltm_dir: Path,
    base: Path = Path(),
    *,
    measured: bool = False,
) -> tuple[GateSide, str]:
    """Return the side that a person means, and its path: a baseline's name, a file, a run folder, a run id or `latest`.

    `TEXT@AGENT` means one agent of several; `base` is what a path is relative to;
    `measured`: `latest` is the last run that could be measured. Raises
    ConfigurationError if there is none, LtmError if it cannot be read.
    """
    rest, _, agent = text.rpartition(AGENT)
    # A name may hold an @ of its own, so the whole text is tried before its part in
    # front of the @.
    if path := _locate_run(text, baselines, ltm_dir, base, measured=measured):
        return _load_side(path, text), str(path.resolve())
    if path := _locate_run(rest, baselines, ltm_dir, base, measured=measured):
        return one_agent(
            _load_side(path, rest), agent
        ), f"{path.resolve()}{AGENT}{agent}"
    runs = ltm_dir / "runs"
    names = sorted(path.stem for path in baselines.glob("*.json"))
    known = [*names, *(path.name for path in newest_first(ltm_dir))]
    there = (
        f"Baselines: {', '.join(names)}"
        if names
        else "There are no baselines yet (--ltm-save=NAME makes one)"
    )
    raise ConfigurationError(
        f"there is no baseline, file or run {text!r}.{did_you_mean(text, known)} {there}. "
        f"Name one of them, a file, a run folder, a run id below {str(runs)!r}, or {LATEST!r}"
    )


def _locate_run(
    text: str, baselines: Path, ltm_dir: Path, base: Path, *, measured: bool
) -> Path | None:
    if not text:
        return None
    kept, path = baselines / f"{text}.json", base / text
    # A baseline's name wins over a file of that name in the working directory.
    if "/" not in text and "\\" not in text and kept.is_file():
        return kept
    if path.is_file():
        return path
    if text == LATEST:
        return _latest_run(ltm_dir, measured=measured)
    try:
        return find_run(str(path) if path.is_dir() else text, ltm_dir)
    except ConfigurationError:
        return None


def _latest_run(ltm_dir: Path, *, measured: bool) -> Path:
    latest = find_run(LATEST, ltm_dir)
    # a run that was refused before it began leaves an empty folder
    result = [
        each for each in (latest, *newest_first(ltm_dir)) if any(each.glob(_RESULTS))
    ]
    if not measured:
        return result[0] if result else latest
    for run in result:
        held = tuple(each.result for each in results_in(run)[0])
        over = all(
            (path.parent / "results.json").is_file()
            for path in run.glob("*/journal.jsonl")
        )
        is_whole = over and all(each.ended == "complete" for each in held)
        # what was lost on the way says nothing of the agent
        if is_whole and not why_unmeasured(
            RunResult(run_id=run.name, conversations=held)
        ):
            return run
    raise ConfigurationError(
        f"no run in {str(ltm_dir / 'runs')!r} was measured to its end"
    )


def _load_side(path: Path, text: str) -> GateSide:
    if path.is_dir():
        return side_of_run(path)
    return load_baseline(path, f"baseline {text!r}" if path.stem == text else "")


def side_of_run(path: Path) -> GateSide:
    """Return a run folder as a side."""
    run = read_run(path)

    def facts(held: ConversationResult, plan: Mapping[str, Any] | None) -> PlanFacts:
        return facts_of(
            plan,
            span_label=held.span_label,
            trial=held.trial,
            fingerprint=held.plan_fingerprint,
        )

    plans = tuple(
        facts(folder.result, folder.plan() or None) for folder in run.conversations
    )
    return GateSide(name=f"run {run.result.run_id}", result=run.result, plans=plans)


def save_baseline(side: GateSide, name: str, baselines: Path, version: str) -> str:
    """Write the baseline of a side with one agent; return a sentence that says what became of it.

    Raises ConfigurationError for a name that no baseline can have, LtmError if it
    cannot be written.
    """
    path = baselines / f"{check_name(name)}.json"
    text = baseline_text(side, version).encode()
    try:
        before = read_regular(path) if path.exists() else None
    except OSError as error:
        raise LtmError(f"{path}: cannot be read ({error.strerror or error})") from error
    write_output(path, text)
    # Whether anything changed is what decides about a commit.
    if before is None:
        return f"baseline saved: {path}"
    return f"baseline {'unchanged' if before == text else 'overwritten'}: {path}"
