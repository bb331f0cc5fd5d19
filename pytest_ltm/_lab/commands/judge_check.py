"""`judge-check --ltm-judge SPEC`: measures a judge on answers sorted by hand; can fail a CI job."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.arguments import add_json
from pytest_ltm._lab.judge_check import (
    BUNDLED_LABELS,
    DEFAULTS,
    KINDS,
    NAMES,
    JudgeCheckReport,
    Rate,
    judge_all,
    load_labelled,
    parse_limits,
)
from pytest_ltm._model.judge_prompts import PROMPTS
from pytest_ltm._results.text import clip_text, one_line
from pytest_ltm._storage.errors import ConfigurationError
from pytest_ltm.judges._judge_registry import judge_session

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Sequence


FAILED = 1
# The exit status (EX_TEMPFAIL) where the judge failed: nothing can be said about its judgement.
UNMEASURABLE = 75
_WIDTH = 58


def add_arguments(parser: ArgumentParser) -> None:
    """Add the judge, the answers and the limits."""
    parser.add_argument("--ltm-judge", dest="judge", metavar="SPEC", help="the judge, as in a run")
    votes = "votes that confirm a 'no' (default: 1)"
    parser.add_argument("--ltm-judge-votes", type=int, default=1, dest="votes", metavar="N", help=votes)
    limit = (
        f"exit status 1 if a rate is above it, or kappa below (default: {', '.join(DEFAULTS)}); repeatable. "
        f"Names: {', '.join(NAMES)}"
    )
    parser.add_argument("--limit", action="append", default=[], metavar="NAME:NUMBER", help=limit)
    parser.add_argument("--items", type=Path, metavar="FILE.yml", help="your own labelled answers")
    timeout = "time limit for one call; 0: none (default: 300)"
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help=timeout)
    for flag, text in (
        ("--list", "print every answer that was judged wrongly"),
        ("--prompts", "print the prompts without asking the judge"),
    ):
        parser.add_argument(flag, action="store_true", help=text)
    add_json(parser)


def run(given: Namespace) -> int:
    """Measure a judge on hand-labelled answers.

    Exit status 1 if a limit is broken, 75 if the judge failed.
    """
    if given.prompts:
        for prompt in PROMPTS.values():
            print(f"=== {prompt.id}\n{prompt.fill_prompt(**{name: f'({name})' for name in prompt.parts})}\n")
        return 0
    kept = parse_limits(given.limit)
    judge_check_report = _measure_judge(given)
    breaches = [breach for breach in (limit.breach(judge_check_report) for limit in kept) if breach]
    if given.json:
        print(
            json.dumps({"judge": given.judge, "votes": given.votes, **as_json(judge_check_report, breaches)}, indent=1)
        )
    else:
        confirmed = f", a 'no' is confirmed by a majority of {given.votes} votes" if given.votes > 1 else ""
        print(f"judge {given.judge}: {len(judge_check_report.rows)} labelled answers{confirmed}")
        print(
            "\n".join(
                [*rate_table(judge_check_report), *(["", *judge_misses(judge_check_report)] if given.list else [])]
            )
        )
        for breach in breaches:
            print(f"breach: {breach}")
    failed = [row for row in judge_check_report.rows if row.failed]
    if failed:
        print(
            f"unmeasurable (exit status {UNMEASURABLE}): {len(failed)} of {len(judge_check_report.rows)} calls failed: "
            f"{failed[0].reason}"
        )
        return UNMEASURABLE
    return FAILED if breaches else 0


def _measure_judge(given: Namespace) -> JudgeCheckReport:
    if given.judge is None:
        raise ConfigurationError("which judge? Give --ltm-judge SPEC, such as openai:MODEL or rules")
    if given.votes < 1 or given.votes % 2 == 0:
        raise ConfigurationError(f"--ltm-judge-votes: an odd number, not {given.votes}")
    with judge_session(given.judge, timeout=given.timeout or None) as ask:
        return judge_all(load_labelled(given.items or BUNDLED_LABELS), ask, votes=given.votes)


def rate_table(judge_check_report: JudgeCheckReport) -> Iterator[str]:
    """Yield the lines of the table and of the totals."""
    yield f"{'answers':<14}{'should':<8}{'judged':>6}{'wrongly':>9}   {'rate':>6}  95% interval"
    for kind, rate in judge_check_report.errors_by_kind.items():
        yield _rate_line(kind.replace("_", " "), "pass" if KINDS[kind] else "fail", rate)
    yield ""
    yield _rate_line("false pass", "", judge_check_report.false_pass)
    yield _rate_line("false fail", "", judge_check_report.false_fail)
    yield _rate_line("unscored", "", judge_check_report.unscored)
    kappa = judge_check_report.kappa
    if kappa.value is None or kappa.interval is None:
        yield f"Cohen's kappa: none ({kappa.reason})"
    else:
        yield f"Cohen's kappa: {kappa.value:.2f} ({kappa.interval.low:.2f} to {kappa.interval.high:.2f})"


def _rate_line(name: str, should: str, rate: Rate) -> str:
    if rate.value is None:
        return f"{name:<14}{should:<8}{0:>6}{'-':>9}   {'-':>6}"
    low, high = rate.interval.low, rate.interval.high
    return f"{name:<14}{should:<8}{rate.of:>6}{rate.count:>9}   {rate.value:>6.1%}  {low:.1%} to {high:.1%}"


def judge_misses(judge_check_report: JudgeCheckReport) -> Iterator[str]:
    """Yield what the judge got wrong, or could not tell, three lines each."""
    for row in judge_check_report.rows:
        if row.contradicts_label or row.passed is None:
            said = {True: "passed", False: "failed", None: "unscored"}[row.passed]
            texts = [clip_text(one_line(text), _WIDTH) for text in (row.item.answer, row.item.about, row.reason)]
            yield f"{said} ({row.item.kind.replace('_', ' ')}): {texts[0]}"
            yield f"    asked: {texts[1]}"
            yield f"    judge: {texts[2]}"


def as_json(found: JudgeCheckReport, breaches: Sequence[str]) -> dict[str, Any]:
    """Return all of it as JSON values."""
    kappa = found.kappa
    return {
        "items": len(found.rows),
        "false_pass": _rate_json(found.false_pass),
        "false_fail": _rate_json(found.false_fail),
        "unscored": _rate_json(found.unscored),
        "kappa": {"value": kappa.value, "interval": kappa.interval and [kappa.interval.low, kappa.interval.high]},
        "kinds": {
            kind: {"should_pass": KINDS[kind], "wrong": _rate_json(rate)} for kind, rate in found.errors_by_kind.items()
        },
        "breaches": list(breaches),
    }


def _rate_json(rate: Rate) -> dict[str, Any]:
    return {"count": rate.count, "of": rate.of, "rate": rate.value, "interval": [rate.interval.low, rate.interval.high]}
