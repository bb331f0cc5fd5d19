"""What is recorded of a judge's grades on known answers: `canaries.json`, and `check` events of the run's journals."""

from __future__ import annotations

import json
from math import comb
from typing import TYPE_CHECKING

from pytest_ltm._journal.codec import strip_checksum, whole_lines
from pytest_ltm._journal.cost import Tariff
from pytest_ltm._journal.events import JudgeChecked, decode_event
from pytest_ltm._journal.result import Precheck
from pytest_ltm._journal.timings import JudgeTime
from pytest_ltm._journal.timings import iter_timings as read_timings
from pytest_ltm._model.ltm_judge import parse_grade
from pytest_ltm._storage.disk import read_regular, write_whole
from pytest_ltm._storage.errors import LtmError
from pytest_ltm._storage.schema import from_record, json_text, to_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


FILE, JOURNAL, TIMINGS = "canaries.json", "canaries.jsonl", "canaries.timings.jsonl"
# The journal of checks that no conversation had a place for.
CHECKS = "judge-checks.jsonl"
# Of so few a judge that throws a coin misses fewer than MISSES in 6 of 1,000 runs.
LEAST_CHECKS = 17
_SHOWN = 4
_MISSES, _ERRORS, _STOPPED = 4, 0.03, 0.01
_CHECK, _JUDGE = b'{"event":"check"', b'{"event":"judge"'


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
    return len(asked), sum(tariff.charged_amounts(one)[1] for one in asked), sum(costs) if costs else None, guessed


def judge_prechecks(run: Path) -> list[Precheck]:
    """Return what they came to, if anybody was asked."""
    calls, tokens, usd, guessed = precheck_usage(run, Tariff())
    begun = Precheck(
        kind="canaries", of="", verdict="unfinished", calls=calls, tokens=tokens, cost_usd=usd, estimated=guessed
    )
    opening = [result for result in [read_precheck(run) or begun] if result.verdict != "unfinished" or calls]
    return opening + _checks_precheck(opening[0].of if opening else "", list(recorded_checks(run)))


# --- hidden checks


def most_misses(checks: int) -> int:
    """Return how many misses stop a run: four, or what a judge with 3 % errors has in fewer than 1 of 100 runs."""
    at_most = 0.0
    for misses in range(checks + 1):
        if misses >= _MISSES and 1 - at_most < _STOPPED:
            return misses
        at_most += comb(checks, misses) * _ERRORS**misses * (1 - _ERRORS) ** (checks - misses)
    return max(_MISSES, checks + 1)


def is_miss(check: JudgeChecked) -> bool:
    """Return whether a judge graded a known answer wrongly, or gave no grade."""
    return parse_grade(check.reply or "", ("yes", "no")) != ("yes" if check.passes else "no")


def recorded_checks(run: Path) -> Iterator[JudgeChecked]:
    """Yield the checks of a run that the judge replied to, of all conversations."""
    for path in (*sorted(run.glob("*/journal.jsonl")), run / CHECKS):
        for line in _lines_with(path, _CHECK):
            try:
                event = decode_event(strip_checksum(line), path.name)
            except LtmError:
                continue
            if isinstance(event, JudgeChecked) and event.reply is not None:
                yield event


def asks_judge(run: Path) -> bool:
    """Return whether any example of a run has asked the judge."""
    return any(next(_lines_with(path, _JUDGE), b"") for path in run.glob("*/journal.jsonl"))


def _lines_with(path: Path, begin: bytes) -> Iterator[bytes]:
    return (line for _, line in whole_lines(path) if line.startswith(begin)) if path.is_file() else iter(())


def _checks_precheck(judge: str, checks: Sequence[JudgeChecked]) -> list[Precheck]:
    if not checks:
        return []
    missed = [check for check in checks if is_miss(check)]
    why = f"the judge misjudged {len(missed)} of {len(checks)} answers with known grades"
    if missed:
        shown = "; ".join(
            f"to {one.question!r} it {'fails' if one.passes else 'passes'} {one.answer!r}" for one in missed[:_SHOWN]
        )
        why += f": {shown}" + f"; and {len(missed) - _SHOWN} more" * (len(missed) > _SHOWN)
    costs = [check.cost_usd for check in checks if check.cost_usd is not None]
    uses = [check.usage for check in checks if check.usage is not None]
    return [
        Precheck(
            kind="checks", of=judge, verdict="wrong" if len(missed) >= most_misses(len(checks)) else "right", why=why,
            calls=len(checks), tokens=sum(use.total for use in uses), cost_usd=sum(costs) if costs else None,
            estimated=any(use.estimated for use in uses),
        )
    ]  # fmt: skip
