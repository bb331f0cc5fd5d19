"""What judge-check prints: a table by kind of answer, the totals, the answers judged wrongly; or JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm._judge_check._labelled import KINDS
from pytest_ltm._judge_check._measure import Rate, false_fails, false_passes, kappa_of, unscored, wrong_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._judge import Prompt
    from pytest_ltm._judge_check._measure import Judged

_WIDTH = 58


def table(rows: Sequence[Judged]) -> Iterator[str]:
    """Yield the lines of the table and of the totals."""
    yield f"{'answers':<14}{'should':<8}{'judged':>6}{'wrongly':>9}   {'rate':>6}  95 % interval"
    for kind, passes in KINDS.items():
        if any(row.item.kind == kind for row in rows):
            yield _line(kind.replace("_", " "), "pass" if passes else "fail", wrong_of(rows, kind))
    yield ""
    yield _line("false pass", "", false_passes(rows))
    yield _line("false fail", "", false_fails(rows))
    yield _line("unscored", "", unscored(rows))
    found = kappa_of(rows)
    if found.value is None or found.interval is None:
        yield f"Cohen's kappa: none ({found.reason})"
    else:
        yield f"Cohen's kappa: {found.value:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f})"


def _line(name: str, should: str, rate: Rate) -> str:
    if rate.value is None:
        return f"{name:<14}{should:<8}{0:>6}{'-':>9}   {'-':>6}"
    low, high = rate.interval.low, rate.interval.high
    return f"{name:<14}{should:<8}{rate.of:>6}{rate.count:>9}   {rate.value:>6.1%}  {low:.1%} to {high:.1%}"


def misses(rows: Sequence[Judged]) -> Iterator[str]:
    """Yield what the judge got wrong, or could not tell, two lines each."""
    for row in rows:
        if row.wrong or row.passed is None:
            said = {True: "passed", False: "failed", None: "unscored"}[row.passed]
            yield f"{said} ({row.item.kind.replace('_', ' ')}): {_short(row.item.answer)}"
            yield f"    asked: {_short(row.item.about)}"
            yield f"    judge: {_short(row.reason)}"


def prompts(found: Sequence[Prompt]) -> Iterator[str]:
    """Yield every prompt as it would be filled in, its name and version above it."""
    for prompt in found:
        parts = {name: f"({name})" for name in prompt.parts}
        yield f"=== {prompt.id}"
        yield prompt.fill(**parts)
        yield ""


def as_json(rows: Sequence[Judged], breaches: Sequence[str]) -> dict[str, Any]:
    """Return all of it as JSON values."""
    found = kappa_of(rows)
    return {
        "items": len(rows),
        "false_pass": _rate(false_passes(rows)),
        "false_fail": _rate(false_fails(rows)),
        "unscored": _rate(unscored(rows)),
        "kappa": {
            "value": found.value,
            "interval": None if found.interval is None else [found.interval.low, found.interval.high],
        },
        "kinds": {
            kind: {"should_pass": passes, "wrong": _rate(wrong_of(rows, kind))}
            for kind, passes in KINDS.items()
            if any(row.item.kind == kind for row in rows)
        },
        "breaches": list(breaches),
    }


def _rate(rate: Rate) -> dict[str, Any]:
    return {"count": rate.count, "of": rate.of, "rate": rate.value, "interval": [rate.interval.low, rate.interval.high]}


def _short(text: str) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
    return "".join(sign if sign.isprintable() else "?" for sign in shown)
