"""`review RUN`: the verdicts that deserve a look, and what reviewers have found so far."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._cli.arguments import add_baselines, add_json, add_run, positive
from pytest_ltm._journal.run_file import find_run
from pytest_ltm._results.run_loading import find
from pytest_ltm._results.text import clip, counted, one_line, percent, verdict_text
from pytest_ltm._storage.disk import write_whole
from pytest_ltm.web.review import decisions
from pytest_ltm.web.review.findings import agreements, estimate, judge_rows, verdict_rows
from pytest_ltm.web.review.queue import KINDS, MEANING, read_cases

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from pytest_ltm.web.review.decisions import Opinions
    from pytest_ltm.web.review.findings import ErrorRateEstimate, ReviewerAgreement
    from pytest_ltm.web.review.queue import Cases


_WIDTH = 100


def add_arguments(parser: ArgumentParser) -> None:
    """Add the run, how much of it is shown, and the files to write."""
    before = "a baseline or a run: verdicts that moved much against it are listed, too"
    parser.add_argument("--compare", default="", metavar="BASELINE", help=before)
    for flag, default, text in (
        ("--sample", 100, "size of the random sample"), ("--most", 10, "number of verdicts to list")
    ):  # fmt: skip
        parser.add_argument(flag, type=positive, default=default, metavar="N", help=f"{text} (default: {default})")
    for flag, metavar, use in (("--rows", "FILE.jsonl", "verdict-check"), ("--judge-rows", "FILE.yml", "judge-check")):
        parser.add_argument(flag, type=Path, metavar=metavar, help=f"write reviewed answers as labels for {use}")
    add_json(parser)
    add_baselines(parser)
    add_run(parser)


def review_run(given: Namespace) -> int:
    """List the verdicts that deserve a look, with reasons, those first that are most often wrong.

    Also what reviewers found: their agreement, and the share of wrong verdicts in a random sample. Verdicts are changed
    on the page of ltm serve, or with ltm amend.
    """
    path = find_run(given.run, given.ltm_dir)
    before = find(given.compare, given.baselines, given.ltm_dir)[0] if given.compare else None
    cases = read_cases(path, before)
    opinions = decisions.Opinions(decisions.read(path))
    drawn = estimate(cases.drawn[: given.sample], opinions)
    pairs = agreements(opinions)
    if given.json:
        print(json.dumps(_as_json(cases, opinions, pairs, drawn), indent=1))
    else:
        print("\n".join([*_queued(cases, opinions, given.most), *_pairs(pairs), *_drawn(drawn)]))
    for sentence in _written(given, cases, opinions):
        print(sentence)
    return 0


def _queued(cases: Cases, opinions: Opinions, most: int) -> Iterator[str]:
    """Yield how many verdicts deserve a look and why, and the first of those at which nobody has looked."""
    yield f"{counted(len(cases.cases), 'verdict')} of run {cases.run_id}, {len(cases.queue):,} deserve a look"
    for kind in KINDS:
        of_kind = sum(any(why.kind == kind for why in case.why) for case in cases.queue)
        if of_kind:
            yield f"  {of_kind:>6,}  {kind}: {MEANING[kind]}"
    left = [case for case in cases.queue if not opinions.of(case.row.nodeid)]
    for case in left[:most]:
        score = verdict_text(case.row, "none")
        yield clip(f"{score:>5}  {one_line(case.row.nodeid)}", _WIDTH)
        yield from (clip(f"       {why.kind}: {one_line(why.text)}", _WIDTH) for why in case.why)
    if len(left) > most:
        yield f"       … and {len(left) - most:,} more"
    yield from (f"note: {one_line(notice)}" for notice in cases.notices)


def _pairs(pairs: list[ReviewerAgreement]) -> Iterator[str]:
    for pair in pairs:
        found, who = pair.kappa, " and ".join(pair.reviewers)
        if found.value is None or found.interval is None:
            yield f"{who}: no kappa ({found.reason})"
        else:
            kappa = f"{found.value:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f})"
            yield f"{who}: Cohen's kappa {kappa} over {counted(found.cases, 'answer')} that both graded"


def _drawn(drawn: ErrorRateEstimate) -> Iterator[str]:
    """Yield what the random sample says."""
    if not drawn.reviewed:
        return
    low, high = percent(drawn.interval.low), percent(drawn.interval.high)
    yield (
        f"random sample: {drawn.wrong} of {counted(drawn.reviewed, 'verdict')} wrong, {percent(drawn.rate)} ({low} to "
        f"{high}); {drawn.too_much} gave too much, {drawn.too_little} too little"
    )
    rest = {"not looked at": drawn.open, "unsure": drawn.unsure, "skipped": drawn.skipped, "disputed": drawn.disputed}
    missing = ", ".join(f"{count} {name}" for name, count in rest.items() if count)
    if missing:
        yield f"  of {drawn.asked} drawn: {missing}"


def _written(given: Namespace, cases: Cases, opinions: Opinions) -> Iterator[str]:
    """Write the files that are asked for and yield a sentence on each."""
    if given.rows:
        text = verdict_rows(cases, opinions)
        write_whole(given.rows, text.encode())
        yield f"{given.rows}: {counted(text.count(chr(10)), 'labelled answer')} for ltm verdict-check"
    if given.judge_rows:
        text, left_out = judge_rows(cases, opinions)
        write_whole(given.judge_rows, text.encode())
        without = f" ({counted(left_out, 'answer')} left out: not one question, no expected text, or partly right)"
        yield f"{given.judge_rows}: for ltm judge-check{without if left_out else ''}"


def _as_json(
    cases: Cases, opinions: Opinions, pairs: list[ReviewerAgreement], drawn: ErrorRateEstimate
) -> dict[str, Any]:
    return {
        "run": cases.run_id,
        "verdicts": len(cases.cases),
        "queue": [
            {
                "nodeid": case.row.nodeid,
                "score": case.row.score,
                "why": [{"kind": why.kind, "text": why.text} for why in case.why],
                "decided_by": sorted(opinions.of(case.row.nodeid)),
                "credit": opinions.credit(case.row.nodeid),
            }
            for case in cases.queue
        ],
        "agreement": [
            {
                "reviewers": list(pair.reviewers),
                "kappa": pair.kappa.value,
                "interval": pair.kappa.interval and [pair.kappa.interval.low, pair.kappa.interval.high],
                "answers": pair.kappa.cases,
            }
            for pair in pairs
        ],
        "sample": {
            **{name: getattr(drawn, name) for name in drawn.__struct_fields__},
            "wrong": drawn.wrong, "rate": drawn.rate, "interval": [drawn.interval.low, drawn.interval.high],
        },
    }  # fmt: skip
