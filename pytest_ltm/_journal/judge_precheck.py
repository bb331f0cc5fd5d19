"""`canaries.json`: whether the judge graded the canaries right; beside it what it said, and what that took."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_ltm._journal.cost import Tariff
from pytest_ltm._journal.result import Precheck
from pytest_ltm._journal.timings import JudgeTime
from pytest_ltm._journal.timings import iter_timings as read_timings
from pytest_ltm._storage.disk import read_regular, write_whole
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.schema import from_record, json_text, to_record

if TYPE_CHECKING:
    from pathlib import Path


FILE, JOURNAL, TIMINGS = "canaries.json", "canaries.jsonl", "canaries.timings.jsonl"


def read_precheck(run: Path) -> Precheck | None:
    """Return what the canaries of a run came to; None where that is not decided, or the file cannot be read."""
    try:
        return from_record(Precheck, json.loads(read_regular(run / FILE)), FILE)
    except (OSError, ValueError, LtmError):
        return None


def write_precheck(run: Path, came_to: Precheck) -> None:
    """Keep it; DiskFault if it cannot be kept."""
    write_whole(run / FILE, json_text(to_record(came_to)).encode())


def precheck_usage(run: Path, tariff: Tariff) -> tuple[int, int, float | None, bool]:
    """Return the calls of the judge, their tokens and dollars (None: unknown), and whether any of that is a guess."""
    asked = [one for one in read_timings(run / TIMINGS, JudgeTime) if not one.remembered]
    costs = [usd for one in asked if (usd := tariff.cost(one)) is not None]
    guessed = any(map(tariff.estimates, asked))
    return len(asked), sum(tariff.spent(one)[1] for one in asked), sum(costs) if costs else None, guessed


def judge_prechecks(run: Path) -> list[Precheck]:
    """Return what they came to, if anybody was asked."""
    calls, tokens, usd, guessed = precheck_usage(run, Tariff())
    begun = Precheck(
        kind="canaries", of="", verdict="unfinished", calls=calls, tokens=tokens, cost_usd=usd, estimated=guessed
    )
    return [result for result in [read_precheck(run) or begun] if result.verdict != "unfinished" or calls]
