"""Published results, whatever files they came in, and how a branch's corrections are laid over another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MAIN = "main"
"""The branch that others correct."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The verdict before it was corrected, as far as it was published."""

    score: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Where a result belongs: told by its fields, or by its path."""

    benchmark: str
    agent: str
    dataset: str
    example: str
    repetition: int = 0
    ref: str = MAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One published result."""

    ref: str
    """The branch or version that it was published in."""
    benchmark: str
    agent: str
    dataset: str
    example: str
    """With the repetition behind it, where it is not the first."""
    score: float
    """The share of full marks, 0 to 1."""
    span: int | None
    """Tokens from its start to its end, as measured."""
    manual: bool = False
    """Corrected by hand."""
    before: Before | None = None
    """The verdict of the rules, where it was published beside the corrected one."""
    reason: str = ""
    code: str = ""
    """The version of the code that scored it, where known."""
    log: tuple[str, ...] = ()
    """Its transcript, `Test (time): …` and `Agent (time): …`; empty where none is published."""
    questions: tuple[str, ...] = ()
    responses: tuple[str, ...] = ()
    script: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the result, whatever the branch."""
        return self.benchmark, self.agent, self.dataset, self.example


def merged(rows: Iterable[Row]) -> list[Row]:
    """Return one row for each result: scores of other branches replace those of `main`, transcripts are kept.

    The order is that of the keys, so that the order of the files changes nothing.
    """
    found: dict[tuple[str, str, str, str], Row] = {}
    for row in sorted(rows, key=lambda row: (*row.key, row.ref != MAIN, row.ref, bool(row.log))):
        found[row.key] = _laid_over(row, found[row.key]) if row.key in found else row
    return list(found.values())


def _laid_over(row: Row, below: Row) -> Row:
    before = row.before
    if row.manual and before is None and below.score != row.score and not below.manual:
        before = Before(score=below.score, reason=below.reason)
    if row.log or not below.log:
        return replace(row, before=before)
    same = below.score == row.score
    return replace(
        row,
        before=before,
        reason=row.reason or (below.reason if same else ""),
        code=row.code or (below.code if same else ""),
        log=below.log,
        questions=below.questions,
        responses=below.responses,
        script=below.script,
    )


def row_of(record: Mapping[str, Any], names: Names, where: str) -> Row:
    """Return a result from the fields that all layouts have; DatasetError names `where` and the field."""
    full = _number(record, "max_score", where)
    span = record.get("tokens")
    return Row(
        ref=names.ref,
        benchmark=names.benchmark,
        agent=names.agent,
        dataset=names.dataset,
        example=names.example + (f".{names.repetition}" if names.repetition else ""),
        score=_share(_number(record, "score", where), full, where),
        span=span if isinstance(span, int) else None,
        manual=bool(record.get("manual")) or _before(record, full, where) is not None,
        before=_before(record, full, where),
        reason="; ".join(_texts(record.get("reasoning"))),
        code=str((record.get("orig_eval") or {}).get("code") or ""),
        log=_texts(record.get("task_log")),
        questions=_texts(record.get("questions")),
        responses=_texts(record.get("responses", record.get("actual_responses"))),
        script=_texts(record.get("script")),
    )


def _before(record: Mapping[str, Any], full: float, where: str) -> Before | None:
    auto = record.get("auto") or record
    if auto.get("auto_score") is None:
        return None
    score = _share(_number(auto, "auto_score", where), full, where)
    return Before(score=score, reason="; ".join(_texts(auto.get("auto_reasoning"))))


def _number(record: Mapping[str, Any], name: str, where: str) -> float:
    value = record.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise DatasetError(f"{where}: no number {name!r} (fields: {', '.join(sorted(record))})")
    return float(value)


def _share(score: float, full: float, where: str) -> float:
    if not (full > 0 and 0 <= score <= full):
        raise DatasetError(f"{where}: a score of {score!r} out of {full!r}")
    return score / full


def _texts(value: object) -> tuple[str, ...]:
    parts: Sequence[object] = value if isinstance(value, list) else [] if value is None else [value]
    return tuple("" if part is None else str(part) for part in parts)
