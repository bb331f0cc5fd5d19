"""Amendments: verdicts corrected by hand, kept with the automatic ones (Castillo-Bolado et al., 2024, appendix B).

They are in `amendments.json` of the run folder, separate from the results, so that
rescoring does not lose them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from pytest_ltm.api.journal import RunResult, ScenarioResult, outcome_of
from pytest_ltm.api.storage import (
    SPARSE,
    ConfigurationError,
    LtmError,
    did_you_mean,
    from_record,
    json_text,
    read_regular,
    to_record,
    write_whole,
)

FILE = "amendments.json"
LOCK = ".amendments.lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A verdict amended by a reviewer."""

    score: float
    """The share of full marks, 0 to 1."""
    reason: str
    """Why the automatic verdict is wrong; never empty."""
    by: tuple[str, ...] = field(default=(), metadata={SPARSE: True})
    """The reviewers behind it; empty if the verdict was amended directly."""

    def __post_init__(self) -> None:
        if not 0 <= self.score <= 1:
            raise ConfigurationError(
                f"a score lies between 0 and 1, not {self.score!r}"
            )
        if not self.reason.strip():
            raise ConfigurationError(
                "an amended verdict needs a reason, because readers of the total will ask for it"
            )


def read_amendments(run_folder: Path) -> dict[str, Amendment]:
    """Return the amendments of a run by node id; empty if there are none."""
    path = run_folder / FILE
    if not path.exists():
        return {}
    try:
        record = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise LtmError(f"{path}: cannot be read: {error}") from error
    if not isinstance(record, dict):
        raise LtmError(f"{path}: expected an object of node ids, not {record!r}")
    amendments = {}
    for nodeid, entry in record.items():
        amendments[nodeid] = from_record(Amendment, entry, f"{path}: {nodeid}")
    return amendments


def amend_verdict(
    run_folder: Path, run: RunResult, nodeid: str, amendment: Amendment
) -> ScenarioResult:
    """Write the amendment and return the amended result; ConfigurationError if the run has no such item.

    A later amendment of the same item replaces an earlier one; the automatic verdict is
    kept.
    """
    rows = {row.nodeid: row for row in run.scenarios}
    if nodeid not in rows:
        raise ConfigurationError(
            f"run {run.run_id} has no item {nodeid!r}.{did_you_mean(nodeid, rows)}"
        )
    write_amendment(run_folder, nodeid, amendment)
    return amend_result(rows[nodeid], amendment)


def write_amendment(run_folder: Path, nodeid: str, amendment: Amendment | None) -> None:
    """Replace the amendment of a node id; None removes it.

    Safe for several processes at once. LtmError if the file cannot be read or written.
    """
    from filelock import FileLock

    with FileLock(str(run_folder / LOCK)):
        amendments = read_amendments(run_folder)
        amendments.pop(nodeid, None)
        if amendment is not None:
            amendments[nodeid] = amendment
        write_whole(run_folder / FILE, amendments_text(amendments).encode())


def amendments_text(amendments: Mapping[str, Amendment]) -> str:
    """Return the text of a run's amendments, sorted by node id."""
    return json_text(
        {nodeid: to_record(entry) for nodeid, entry in sorted(amendments.items())}
    )


def apply_amendments(run: RunResult, amendments: Mapping[str, Amendment]) -> RunResult:
    """Return the run with amended verdicts in place of the automatic ones, which each row keeps."""
    conversations = []
    for conversation in run.conversations:
        rows = []
        for row in conversation.scenarios:
            amendment = amendments.get(row.nodeid)
            rows.append(amend_result(row, amendment) if amendment else row)
        conversations.append(replace(conversation, scenarios=tuple(rows)))
    return structs.replace(run, conversations=tuple(conversations))


def amend_result(row: ScenarioResult, amendment: Amendment) -> ScenarioResult:
    """Return the row with the amended verdict."""
    return replace(
        row,
        score=amendment.score,
        reason=f"amended by hand: {amendment.reason}",
        cause="",
        outcome=outcome_of(amendment.score, row.threshold),
        upper=None,
        automatic=row.automatic or row.verdict,
    )
