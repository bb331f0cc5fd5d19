"""`judge-check --ltm-judge SPEC`: measures a judge on answers sorted by hand; can fail a CI job."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._judge import PROMPTS
from pytest_ltm._judge_check import _show
from pytest_ltm._judge_check._labelled import OWN, load
from pytest_ltm._judge_check._limits import NAMES, Limit
from pytest_ltm._judge_check._measure import judge_all
from pytest_ltm._secrets import redacted
from pytest_ltm.agents._retry import Retries
from pytest_ltm.judges._call import JudgeCall
from pytest_ltm.judges._specs import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._judge import Inquiry
    from pytest_ltm._judge_check._measure import Judged

RETRIES = 4
BREACHED = 1
UNMEASURABLE = 75
"""The exit status (EX_TEMPFAIL) where the judge failed: nothing can be said about its judgement."""


def main(argv: Sequence[str]) -> int:
    """Measure a judge and print what was found; return 0, 1 if a limit is broken, 75 if the judge failed."""
    chosen = _parser().parse_args(list(argv))
    if chosen.prompts:
        print("\n".join(_show.prompts(list(PROMPTS.values()))))
        return 0
    limits = [Limit.read(text) for text in chosen.limit]
    rows = _rows(chosen)
    breaches = [breach for breach in (limit.breach(rows) for limit in limits) if breach]
    failed = [row for row in rows if row.failed]
    if chosen.json:
        print(
            json.dumps(
                {"judge": redacted(chosen.judge), "votes": chosen.votes, **_show.as_json(rows, breaches)}, indent=1
            )
        )
    else:
        _print(chosen.judge, rows, breaches, chosen.votes, every_miss=chosen.list)
    if failed:
        print(
            f"unmeasurable (exit status {UNMEASURABLE}): {len(failed)} of {len(rows)} calls failed: {failed[0].reason}"
        )
        return UNMEASURABLE
    return BREACHED if breaches else 0


def _rows(chosen: argparse.Namespace) -> list[Judged]:
    if chosen.judge is None:
        raise ConfigurationError("which judge? Give --ltm-judge SPEC, such as openai:MODEL or rules")
    if chosen.votes < 1 or chosen.votes % 2 == 0:
        raise ConfigurationError(f"--ltm-judge-votes: an odd number, not {chosen.votes}")
    judge = find(chosen.judge, base=Path.cwd())
    if judge is None:
        raise ConfigurationError("--ltm-judge=none judges nothing")
    items = load(chosen.items)
    retries = Retries(most=RETRIES, rng=Random())
    call = JudgeCall(judge.judge, timeout=chosen.timeout or None, retries=retries)

    def ask(inquiry: Inquiry) -> str:
        return call(inquiry).text

    try:
        return judge_all(items, ask, votes=chosen.votes)
    finally:
        call.close()


def _print(judge: str, rows: Sequence[Judged], breaches: Sequence[str], votes: int, *, every_miss: bool) -> None:
    confirmed = f", a 'no' is confirmed by a majority of {votes} votes" if votes > 1 else ""
    print(f"judge {redacted(judge)}: {len(rows)} labelled answers{confirmed}")
    print("\n".join(_show.table(rows)))
    if every_miss:
        print("\n".join(["", *_show.misses(rows)]))
    for breach in breaches:
        print(f"breach: {breach}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pytest_ltm judge-check", description=__doc__)
    parser.add_argument("--ltm-judge", dest="judge", metavar="SPEC", help="the judge, as in a run")
    parser.add_argument("--ltm-judge-votes", dest="votes", type=int, default=1, metavar="N", help="default 1")
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME:NUMBER",
        help=f"exit status 1 if a rate is above it, or kappa below; repeatable; {', '.join(NAMES)}",
    )  # fmt: skip
    parser.add_argument("--items", type=Path, default=OWN, metavar="FILE.yml", help="your own labelled answers")
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS", help="for one call; 0: none")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.add_argument("--list", action="store_true", help="print every answer that was judged wrongly")
    parser.add_argument("--prompts", action="store_true", help="print the prompts, and ask nobody")
    return parser
