"""`review RUN`: the verdicts that deserve a look, and what reviewers have found so far."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_ltm._core.journal.run_file import find_run
from pytest_ltm._core.storage.disk import write_output
from pytest_ltm.commands.arguments import (
    add_baselines,
    add_json,
    add_option,
    add_run,
    positive_integer,
)
from pytest_ltm.figures.text import (
    clip_text,
    format_percent,
    one_line,
    pluralize,
    verdict_text,
)
from pytest_ltm.gate.run_loading import find_side
from pytest_ltm.web.review import decisions
from pytest_ltm.web.review.decisions import Opinions
from pytest_ltm.web.review.findings import (
    ErrorRateEstimate,
    ReviewerAgreement,
    estimate_error_rates,
    judge_rows,
    reviewer_agreements,
    verdict_rows,
)
from pytest_ltm.web.review.queue import KINDS, MEANING, Cases, read_cases

_WIDTH = 100


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, how much of it is shown, and the files to write."""
    before = "a baseline or a run: verdicts that moved much against it are listed, too"
    add_option(parser, "--compare", "BASELINE", before)
    add_option(
        parser,
        "--sample",
        "N",
        "size of the random sample (default: 100)",
        100,
        type=positive_integer,
    )
    add_option(
        parser,
        "--most",
        "N",
        "number of verdicts to list (default: 10)",
        10,
        type=positive_integer,
    )
    for flag, metavar, use in (
        ("--rows", "FILE.jsonl", "verdict-check"),
        ("--judge-rows", "FILE.yml", "judge-check"),
    ):
        add_option(
            parser,
            flag,
            metavar,
            f"write reviewed answers as labels for {use}",
            None,
            type=Path,
        )
    add_json(parser)
    add_baselines(parser)
    add_run(parser)


def review_run(given: Namespace) -> int:
    """List the verdicts that deserve a look, with reasons, those that are most often wrong first.

    Then what reviewers found: their agreement, and the share of wrong verdicts in a
    random sample. Verdicts are changed on the page of ltm serve, or with ltm amend.
    """
    path = find_run(given.run, given.ltm_dir)
    before = (
        find_side(given.compare, given.baselines, given.ltm_dir)[0]
        if given.compare
        else None
    )
    cases = read_cases(path, before)
    opinions = decisions.Opinions(decisions.read_decisions(path))
    drawn = estimate_error_rates(cases.drawn_cases[: given.sample], opinions)
    pairs = reviewer_agreements(opinions)
    if given.json:
        print(json.dumps(_as_json(cases, opinions, pairs, drawn), indent=1))
    else:
        print(
            "\n".join(
                [
                    *_queue_lines(cases, opinions, given.most),
                    *_opinion_lines(pairs, drawn),
                ]
            )
        )
    if given.rows:
        text = verdict_rows(cases, opinions)
        write_output(given.rows, text.encode())
        print(
            f"{given.rows}: {pluralize(text.count(chr(10)), 'labelled answer')} for ltm verdict-check"
        )
    if given.judge_rows:
        text, left_out = judge_rows(cases, opinions)
        write_output(given.judge_rows, text.encode())
        without = f" ({pluralize(left_out, 'answer')} left out: not one question, no expected text, or partly right)"
        print(f"{given.judge_rows}: for ltm judge-check{without if left_out else ''}")
    return 0


def _queue_lines(cases: Cases, opinions: Opinions, most: int) -> Iterator[str]:
    """Yield how many verdicts deserve a look and why, and the first of those at which nobody has looked."""
    yield f"{pluralize(len(cases.cases), 'verdict')} of run {cases.run_id}, {len(cases.queue):,} deserve a look"
    for kind in KINDS:
        of_kind = sum(any(why.kind == kind for why in case.why) for case in cases.queue)
        if of_kind:
            yield f"  {of_kind:>6,}  {kind}: {MEANING[kind]}"
    left = [case for case in cases.queue if not opinions.opinions_on(case.row.nodeid)]
    for case in left[:most]:
        score = verdict_text(case.row, "none")
        yield clip_text(f"{score:>5}  {one_line(case.row.nodeid)}", _WIDTH)
        yield from (
            clip_text(f"       {why.kind}: {one_line(why.text)}", _WIDTH)
            for why in case.why
        )
    if len(left) > most:
        yield f"       … and {len(left) - most:,} more"
    yield from (f"note: {one_line(notice)}" for notice in cases.notices)


def _opinion_lines(
    pairs: list[ReviewerAgreement], drawn: ErrorRateEstimate
) -> Iterator[str]:
    """Yield how far reviewers agree, and what the random sample says."""
    for pair in pairs:
        result, who = pair.kappa, " and ".join(pair.reviewers)
        if result.value is None or result.interval is None:
            yield f"{who}: no kappa ({result.reason})"
        else:
            kappa = f"{result.value:.2f} ({result.interval.low:.2f} to {result.interval.high:.2f})"
            yield f"{who}: Cohen's kappa {kappa} over {pluralize(result.cases, 'answer')} that both graded"
    if not drawn.reviewed:
        return
    rate, low, high = map(
        format_percent, (drawn.rate, drawn.interval.low, drawn.interval.high)
    )
    wrong = f"{drawn.wrong} of {pluralize(drawn.reviewed, 'verdict')} wrong, {rate} ({low} to {high})"
    yield f"random sample: {wrong}; {drawn.too_much} gave too much, {drawn.too_little} too little"
    rest = {
        "not looked at": drawn.open,
        "unsure": drawn.unsure,
        "skipped": drawn.skipped,
        "disputed": drawn.disputed,
    }
    missing = ", ".join(f"{count} {name}" for name, count in rest.items() if count)
    if missing:
        yield f"  of {drawn.asked} drawn: {missing}"


def _as_json(
    cases: Cases,
    opinions: Opinions,
    pairs: list[ReviewerAgreement],
    drawn: ErrorRateEstimate,
) -> dict[str, Any]:
    return {
        "run": cases.run_id,
        "verdicts": len(cases.cases),
        "queue": [
            {
                "nodeid": case.row.nodeid,
                "score": case.row.score,
                "why": [{"kind": why.kind, "text": why.text} for why in case.why],
                "decided_by": sorted(opinions.opinions_on(case.row.nodeid)),
                "credit": opinions.credit(case.row.nodeid),
            }
            for case in cases.queue
        ],
        "agreement": [
            {
                "reviewers": list(pair.reviewers),
                "kappa": pair.kappa.value,
                "answers": pair.kappa.cases,
                "interval": pair.kappa.interval
                and [pair.kappa.interval.low, pair.kappa.interval.high],
            }
            for pair in pairs
        ],
        "sample": {
            **{name: getattr(drawn, name) for name in drawn.__struct_fields__},
            "wrong": drawn.wrong,
            "rate": drawn.rate,
            "interval": [drawn.interval.low, drawn.interval.high],
        },
    }
