"""The judge's checks by known grades, canaries and hidden ones, and their outcome."""

# Annotations are evaluated here, because they define how each field is read.

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import comb
from pathlib import Path

from pytest_ltm.api.journal import (
    CheckRate,
    JudgeChecked,
    JudgeTime,
    Precheck,
    Tariff,
    decode_event,
    iter_timings,
    strip_checksum,
    whole_lines,
)
from pytest_ltm.api.model import Unscored
from pytest_ltm.api.scenarios import parse_grade
from pytest_ltm.api.storage import (
    LtmError,
    from_record,
    json_text,
    read_regular,
    to_record,
    write_whole,
)
from pytest_ltm.records import CANARIES, CANARY_JOURNAL, CANARY_TIMINGS, JUDGE_CHECKS
from pytest_ltm.records.probe_record import PrecheckUsage, unfinished_precheck

FILE = CANARIES
JOURNAL = CANARY_JOURNAL
TIMINGS = CANARY_TIMINGS
# The journal of checks outside of conversations.
CHECKS = JUDGE_CHECKS
# The minimum number of checks of each kind: of four, a judge that misjudges 80 % of a
# kind misses one in 998 of 1,000 runs.
_LEAST = 4
PASSING_CHECKS: Mapping[str, int] = dict.fromkeys(("right", "long"), _LEAST)
FAILING_CHECKS: Mapping[str, int] = dict.fromkeys(
    (
        "other",
        "topic",
        "former",
        "person",
        "unasked",
        "half",
        "vague",
        "refusal",
        "injection",
    ),
    _LEAST,
)
LEAST_CHECKS = sum(PASSING_CHECKS.values()) + sum(FAILING_CHECKS.values())
# The number of checks of a kind after one was missed.
MISSED_CHECKS = 10
_SHOWN = 4
# A judge with 3 % errors stops at most one run in 100: half of that by all kinds
# together, half by any of them.
_ERRORS = 0.03
_STOPPED = 0.005
# The number of misses of a kind from which it is named, although the run continues.
_NAMED = 2
_CHECK = b'{"event":"check"'
_JUDGE = b'{"event":"judge"'


def read_precheck(run: Path) -> Precheck | None:
    """Return the outcome of a run's canaries; None if it is undecided, or the file cannot be read."""
    try:
        return from_record(Precheck, json.loads(read_regular(run / FILE)), FILE)
    except (OSError, ValueError, LtmError):
        return None


def write_precheck(run: Path, came_to: Precheck) -> None:
    """Write it; DiskFault if it cannot be written."""
    write_whole(run / FILE, json_text(to_record(came_to)).encode())


def precheck_usage(run: Path, tariff: Tariff) -> PrecheckUsage:
    """Return the usage of the questions to the judge."""
    paid_calls = []
    for timing in iter_timings(run / TIMINGS, JudgeTime):
        if not timing.remembered:
            paid_calls.append(timing)
    costs = [usd for call in paid_calls if (usd := tariff.cost(call)) is not None]
    return PrecheckUsage(
        calls=len(paid_calls),
        tokens=sum(tariff.charged_amounts(call)[1] for call in paid_calls),
        usd=sum(costs) if costs else None,
        guessed=any(map(tariff.estimates, paid_calls)),
    )


def judge_prechecks(run: Path) -> list[Precheck]:
    """Return their outcome, if any were asked."""
    usage = precheck_usage(run, Tariff())
    canaries = read_precheck(run) or unfinished_precheck("canaries", "", usage)
    checks = list(recorded_checks(run))
    if canaries.verdict == "unfinished" and not usage.calls:
        return _checks_precheck("", checks)
    return [canaries, *_checks_precheck(canaries.of, checks)]


# --- hidden checks


def most_misses(checks: int, stopped: float = _STOPPED) -> int:
    """Return the misses that stop a run: a judge with 3 % errors reaches them in fewer than `stopped` of all runs."""
    at_most = 0.0
    for misses in range(checks + 1):
        if 1 - at_most < stopped:
            return misses
        at_most += (
            comb(checks, misses) * _ERRORS**misses * (1 - _ERRORS) ** (checks - misses)
        )
    return checks + 1


def wanted_checks(checks: Sequence[JudgeChecked]) -> list[str]:
    """Return the kinds of checks that a run still needs, repeated as needed; more after a miss."""
    rates = {rate.kind: rate for rate in check_rates(checks)}
    kinds: list[str] = []
    for kind, least in {**FAILING_CHECKS, **PASSING_CHECKS}.items():
        rate = rates.get(kind, CheckRate(kind=kind))
        needed = MISSED_CHECKS if rate.missed else least
        kinds += [kind] * (needed - rate.asked)
    return kinds


def check_rates(checks: Iterable[JudgeChecked]) -> list[CheckRate]:
    """Return the number of misjudged checks of each kind, sorted by kind."""
    asked: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for check in checks:
        kind = check.kind or ("right" if check.passes else "wrong")
        asked[kind] += 1
        missed[kind] += is_miss(check)
    rates = []
    for kind, count in sorted(asked.items()):
        rates.append(CheckRate(kind=kind, asked=count, missed=missed[kind]))
    return rates


def exceeds_limits(rates: Sequence[CheckRate]) -> bool:
    """Return whether a judge makes too many errors for its verdicts: in all checks, or in one kind."""
    asked = sum(rate.asked for rate in rates)
    missed = sum(rate.missed for rate in rates)
    if missed >= most_misses(asked):
        return True
    for rate in rates:
        if rate.missed >= most_misses(rate.asked, _STOPPED / len(rates)):
            return True
    return False


def is_miss(check: JudgeChecked) -> bool:
    """Return whether a judge graded a known answer wrongly, or gave no grade."""
    right_grade = "yes" if check.passes else "no"
    return _read_grade(check.reply or "") != right_grade


@lru_cache(maxsize=1024)
def _read_grade(reply: str) -> str | Unscored:
    """Return the grade in a reply; cached, because a run counts its misses several times."""
    return parse_grade(reply, ("yes", "no"))


def recorded_checks(run: Path) -> Iterator[JudgeChecked]:
    """Yield the checks of a run with a reply of the judge, from all conversations."""
    for path in (*sorted(run.glob("*/journal.jsonl")), run / CHECKS):
        yield from checks_in(path)


def checks_in(path: Path) -> Iterator[JudgeChecked]:
    """Yield the checks of one journal with a reply of the judge."""
    for line in _lines_with(path, _CHECK):
        try:
            event = decode_event(strip_checksum(line), path.name)
        except LtmError:
            continue
        if isinstance(event, JudgeChecked) and event.reply is not None:
            yield event


def asks_judge(run: Path) -> bool:
    """Return whether an example of a run has asked the judge."""
    for path in run.glob("*/journal.jsonl"):
        if next(_lines_with(path, _JUDGE), b""):
            return True
    return False


def _lines_with(path: Path, begin: bytes) -> Iterator[bytes]:
    if path.is_file():
        return (line for _, line in whole_lines(path) if line.startswith(begin))
    return iter(())


def _checks_precheck(judge: str, checks: Sequence[JudgeChecked]) -> list[Precheck]:
    if not checks:
        return []
    rates = check_rates(checks)
    missed = [check for check in checks if is_miss(check)]
    why = (
        f"the judge misjudged {len(missed)} of {len(checks)} answers with known grades"
    )
    if missed:
        kinds = []
        for rate in rates:
            if rate.missed >= _NAMED:
                kinds.append(f"{rate.missed} of {rate.asked} {rate.kind!r}")
        if kinds:
            why += f", {' and '.join(kinds)} ones"
        examples = []
        for check in missed[:_SHOWN]:
            verb = "fails" if check.passes else "passes"
            examples.append(f"to {check.question!r} it {verb} {check.answer!r}")
        if len(missed) > _SHOWN:
            examples.append(f"and {len(missed) - _SHOWN} more")
        why += f": {'; '.join(examples)}"
    costs = [check.cost_usd for check in checks if check.cost_usd is not None]
    uses = [check.usage for check in checks if check.usage is not None]
    return [
        Precheck(
            kind="checks",
            of=judge,
            verdict="wrong" if exceeds_limits(rates) else "right",
            why=why,
            rates=tuple(rates),
            calls=len(checks),
            tokens=sum(use.total for use in uses),
            cost_usd=sum(costs) if costs else None,
            estimated=any(use.estimated for use in uses),
        )
    ]
