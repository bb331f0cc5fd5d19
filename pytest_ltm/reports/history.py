"""Brief data on past runs and baselines from their `summary.json`, fast enough for a thousand runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from itertools import chain
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct, field, structs

from pytest_ltm.api.features import find_agent_kind
from pytest_ltm.api.journal import (
    FILE,
    SUMMARY,
    RunResult,
    SourceRevision,
    folders_by_age,
    run_start_time,
    source_of,
)
from pytest_ltm.api.storage import (
    LtmError,
    fields_of,
    lock_holder,
    one_line,
    pluralize,
    read_regular,
)
from pytest_ltm.figures.run_loading import results_in
from pytest_ltm.figures.statistics.counts import Interval
from pytest_ltm.figures.statistics.guessing import compare_with_guessing
from pytest_ltm.figures.statistics.pairs import ScoredRow
from pytest_ltm.figures.statistics.pass_rates import score_interval
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import NOTHING
from pytest_ltm.reports.summary import FORMAT, summary_json

State: TypeAlias = Literal["finished", "interrupted", "in progress", "empty", "damaged"]


class HistoricalScore(Struct, frozen=True, kw_only=True):
    """The score of one agent at one memory span."""

    agent: str
    span_label: str
    span: int | None
    low: float | None
    """The total, with 0 for each example whose score is open; None if nothing has a score."""
    high: float | None
    """The total, with 1 for each example whose score is open."""
    full: int
    """The maximum of `low` and `high`."""
    plan: str
    """Digest of the plans of all its conversations: only results with equal digests are comparable."""
    own: bool
    """Whether the agent is neither a control nor a yardstick of this package."""
    complete: bool
    """Whether every conversation was finished."""
    lost: int
    """Number of examples lost to failures of agent, judge, user or budget."""
    rows: tuple[ScoredRow, ...]
    cost_usd: float | None = None
    """The cost of the agent's replies; None if it is not reported."""
    shows_memory: bool = True
    """Whether the total is significantly better than guessing."""

    @property
    def points(self) -> str:
        """The total, such as `2.79`, `2.00 to 4.00` or `-`."""
        if self.low is None or self.high is None:
            return NOTHING
        if self.low < self.high:
            return f"{self.low:.2f} to {self.high:.2f}"
        return f"{self.low:.2f}"

    @property
    def share(self) -> float | None:
        """The total as a share of full marks, with open scores as 0."""
        if self.low is None:
            return None
        return min(self.low / self.full, 1.0)

    @property
    def unmeasured(self) -> str:
        """Why the total does not measure memory, or "" if it does."""
        if self.low is None:
            return "nothing has a score"
        if self.lost:
            return f"{self.lost:,} of {pluralize(len(self.rows), 'example')} lost"
        return "" if self.complete else "interrupted"

    @property
    def interval(self) -> Interval | None:
        """The confidence interval of the share; None with only one conversation."""
        if self.share is None:
            return None
        return score_interval(self.rows, self.share)


class Past(Struct, frozen=True, kw_only=True):
    """One past run, whatever its folder contains."""

    name: str
    path: Path
    at: datetime | None
    """When the run began."""
    state: State
    why: str = ""
    """What is wrong with the folder, or how the run ended."""
    standings: tuple[HistoricalScore, ...] = ()
    """The scores, in the order of the run's table."""
    gate: str = ""
    """One of passed, regressed, failed and unmeasurable; "" without a gate."""
    notes: tuple[str, ...] = ()
    """Notes such as being a shard or a rescoring of another run."""
    source: SourceRevision | None = None
    """The commit under test."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The labels of its agents."""
        return tuple(dict.fromkeys(standing.agent for standing in self.standings))

    @property
    def spans(self) -> tuple[str, ...]:
        """The labels of its memory spans, shortest first, isolated last."""
        lengths: dict[str, float] = {}
        for standing in self.standings:
            lengths[standing.span_label] = standing.span or inf
        return tuple(sorted(lengths, key=lambda label: (lengths[label], label)))


def run_folders(folder: Path) -> list[Path]:
    """Return the runs of a project or its `.ltm`, newest first, or the folder itself if it is a run."""
    for within in (folder / "runs", folder / ".ltm" / "runs"):
        if within.is_dir():
            return folders_by_age(within)
    if _is_run(folder):
        return [folder]
    return list(filter(_is_run, folders_by_age(folder)))


def _is_run(folder: Path) -> bool:
    try:
        names = (FILE, SUMMARY, "*/results.json", "*/journal.jsonl")
        return any(chain.from_iterable(map(folder.glob, names)))
    except OSError:
        return False


def read_past(path: Path) -> Past:
    """Return a brief summary of a run folder; never raises, whatever the folder contains."""
    damaged = Past(name=path.name, path=path, at=run_start_time(path), state="damaged")
    try:
        past = structs.replace(damaged, source=source_of(path))
        summary = _read_summary(path)
        if summary is None:
            return _read_unfinished(past)
        past = structs.replace(past, standings=_make_standings(summary))
    except (LtmError, OSError, RecursionError) as error:
        return structs.replace(
            damaged, why=one_line(_error_without_folder(error, path))
        )
    ends = {conversation.ended for conversation in summary.conversations}
    state: State = "finished"
    if not ends <= {"complete"}:
        state = "in progress" if _is_written(path) else "interrupted"
    gate = summary.gate.state if summary.gate else ""
    if summary.gate and summary.gate.sentence.startswith("gate: regressed"):
        gate = "regressed"
    notes = []
    shard = summary.plan.get("shard")
    if shard:
        notes.append(f"shard {shard}")
    rescored = summary.plan.get("rescored")
    if rescored:
        notes.append(f"run {rescored} scored again")
    return structs.replace(
        past,
        state=state,
        why=next((end for end in ends if end != "interrupted"), ""),
        gate=gate,
        notes=tuple(notes),
    )


def _read_unfinished(past: Past) -> Past:
    """Return a run without a summary: one in progress, cut short, or never begun."""
    path = past.path
    folders, notices = results_in(path)
    conversations = tuple(folder.result for folder in folders)
    result = RunResult(run_id=path.name, conversations=conversations)
    has_begun = bool(folders) or any(path.glob("*/journal.jsonl"))
    # A killed process holds no lock, which distinguishes its run from one in progress.
    state: State = "empty"
    if _is_written(path):
        state = "in progress"
    elif has_begun:
        state = "interrupted"
    elif notices:
        state = "damaged"
    why = ""
    if notices:
        why = one_line(_error_without_folder(LtmError(notices[0]), path))
    standings = result_standings(result, complete=False)
    return structs.replace(past, state=state, why=why, standings=standings)


def _is_written(path: Path) -> bool:
    try:
        return bool(lock_holder(path))
    except OSError:  # on a read-only disk, so no run is being written
        return False


def _error_without_folder(error: Exception, path: Path) -> str:
    """Return the error message without the folder, which is shown next to it."""
    text = (
        (error.strerror if isinstance(error, OSError) else None)
        or str(error)
        or type(error).__name__
    )
    return text.replace(f"{path}/", "").replace(f"{path}\\", "")


def result_standings(
    result: RunResult, *, complete: bool = True
) -> tuple[HistoricalScore, ...]:
    """Return each agent's score at each span in a result; `complete`: it is that of a whole run."""
    # The detour through JSON gives it the same form as any other summary.
    fields = summary_json(result, pytest_ltm_version="", seed=0, plan={})
    return _make_standings(msgspec.convert(fields, _Summary), complete=complete)


# --- The parts of a summary that are decoded; the rest is skipped without creating
# objects.


class _Bounds(Struct):
    low: float
    high: float
    full: int

    def __post_init__(self) -> None:
        # The file may have been edited by hand, and a chart of 200 % would hide the
        # mistake.
        if not 0 <= self.low <= self.high <= self.full + 1e-6 or not self.full:
            raise ValueError(
                f"no total can be {self.low!r} to {self.high!r} of {self.full!r}"
            )


class _Draws(Struct):
    examples: int
    floor: float = 0.0


class _Result(Struct):
    agent: str
    span_label: str
    span: int | None
    bounds: _Bounds | None
    cost_usd: float | None = None
    scenarios: dict[str, _Draws] = {}


class _Example(Struct):
    outcome: str
    cause: str
    scenario: str = field(name="ltm_scenario")
    example: str = field(name="ltm_example")
    trial: str = field(name="ltm_trial")
    score: Annotated[float, Meta(ge=0, le=1)] | None = field(
        default=None, name="ltm_score"
    )


class _Conversation(Struct):
    agent: str
    agent_spec: str
    span_label: str
    plan_fingerprint: str
    ended: str
    examples: list[_Example]


class _Gate(Struct):
    state: str
    sentence: str


class _Summary(Struct):
    format: str
    results: list[_Result]
    conversations: list[_Conversation]
    gate: _Gate | None = None
    plan: dict[str, Any] = {}


class _Format(Struct):
    format: str = ""


def _read_summary(path: Path) -> _Summary | None:
    """Return the summary of a run, or None if it has none; LtmError if it cannot be read."""
    try:
        text = read_regular(path / SUMMARY)
    except FileNotFoundError:
        return None
    try:
        # Check the format first: an older file would fail on some field with an
        # unhelpful error.
        kind = msgspec.json.decode(text, type=_Format).format
        if kind != FORMAT:
            raise LtmError(
                f"{SUMMARY}: format {kind!r}, expected {FORMAT!r}: another version wrote it"
            )
        return msgspec.json.decode(text, type=_Summary)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise LtmError(f"{SUMMARY}: {error}") from error


_CAUSES_OF_LOSS = frozenset({"agent", "evaluator", "judge", "user", "not reached"})


def _make_standings(
    summary: _Summary, *, complete: bool = True
) -> tuple[HistoricalScore, ...]:
    places = group_by(
        summary.conversations,
        lambda conversations: (conversations.agent, conversations.span_label),
    )
    standings = []
    for result in summary.results:
        conversations = places.get((result.agent, result.span_label), [])
        rows = list(
            chain.from_iterable(conversation.examples for conversation in conversations)
        )
        low = high = None
        full = 0
        if result.bounds:
            low = result.bounds.low
            high = result.bounds.high
            full = result.bounds.full
        guessing = compare_with_guessing(
            (low or 0.0) / (full or 1), result.scenarios.values()
        )
        scored_rows: list[ScoredRow] = []
        for row in rows:
            scored_row = ScoredRow(
                span_label=result.span_label,
                scenario=row.scenario,
                example=row.example,
                trial=row.trial,
                score=row.score,
            )
            scored_rows.append(scored_row)
        lost = [row for row in rows if row.cause in _CAUSES_OF_LOSS]
        standing = HistoricalScore(
            **fields_of(result, "agent", "span_label", "span", "cost_usd"),
            low=low,
            high=high,
            full=full,
            shows_memory=guessing.shows_memory(),
            plan=plan_of(item.plan_fingerprint for item in conversations),
            own=not any(_is_bundled(item.agent_spec) for item in conversations),
            complete=complete
            and all(item.ended == "complete" for item in conversations),
            lost=len(lost),
            rows=tuple(scored_rows),
        )
        standings.append(standing)
    return tuple(standings)


def _is_bundled(agent_spec: str) -> bool:
    """Return whether an agent is a bundled control or yardstick, and so not under test."""
    kind = find_agent_kind(agent_spec)
    return kind is not None and (kind.control or kind.yardstick)


def plan_of(fingerprints: Iterable[str]) -> str:
    """Return a digest of the plans of several conversations, independent of their order."""
    return hashlib.sha256(json.dumps(sorted(fingerprints)).encode()).hexdigest()[:12]
