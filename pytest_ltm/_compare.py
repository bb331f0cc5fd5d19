"""`python -m pytest_ltm compare A B [C...]`: what moved from A to each of the others, and whether rules hold."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._gate import _rules
from pytest_ltm._gate._baseline import FOLDER
from pytest_ltm._gate._changes import Changes, changes
from pytest_ltm._gate._refusal import Ways
from pytest_ltm._gate._side import Side, one_agent
from pytest_ltm._gate._verdict import BREACHED, STATUS, Verdict, judge
from pytest_ltm._secrets import redacted
from pytest_ltm.reporting._baselines import find
from pytest_ltm.reporting._changes import change_lines, changes_json
from pytest_ltm.reporting._gate import gate_json, github_annotations, rule_lines, verdict_lines
from pytest_ltm.reporting._markdown import add_to_step_summary, comparison_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._gate._rules import Rule

WIDTH = 80
PLANS = ("equal", "overlapping")
WAYS = Ways(common="--plans=overlapping", choose_agent="Name one as in RUN@AGENT")


def main(argv: Sequence[str]) -> int:
    """Compare and print; return 0, with rules 1 if one is broken or 75 if something cannot be measured.

    LtmError if a side cannot be found or read, or if two may not be compared.
    """
    chosen = _parser().parse_args(argv)
    rules = [*map(_rules.against, chosen.compare_fail), *map(_rules.under, chosen.fail_under)]
    sides = [find(text, Path(chosen.baselines), Path(chosen.ltm_dir))[0] for text in (chosen.before, *chosen.after)]
    before = one_agent(sides[0], how=WAYS.choose_agent)
    found = _compared(before, sides[1:], rules, common=chosen.plans == "overlapping")
    print(_shown(found, rules, chosen))  # noqa: T201 - a command speaks
    for side, moved, verdict in found:
        problem = add_to_step_summary(redacted(comparison_markdown(side.result, moved, verdict)))
        lines = [*([problem] if problem else []), *(github_annotations(verdict) if verdict else [])]
        print("\n".join(map(redacted, lines)), end="\n" * bool(lines), file=sys.stderr)  # noqa: T201 - beside the JSON
    statuses = {STATUS[verdict.state] for _, _, verdict in found if verdict is not None}
    return BREACHED if BREACHED in statuses else max(statuses, default=0)


_Found = tuple[Side, Changes, "Verdict | None"]


def _compared(before: Side, sides: Sequence[Side], rules: Sequence[Rule], *, common: bool) -> list[_Found]:
    """Return what moved to each side and how the rules fare; what is said of chance minds that there are several."""
    found = [changes(before, side, WAYS, common=common) for side in sides]
    looks = sum(moved.looks for moved in found)
    shared = [replace(moved, looks=looks) for moved in found]
    return [
        (side, moved, judge(side.result, rules, moved) if rules else None)
        for side, moved in zip(sides, shared, strict=True)
    ]


def _shown(found: Sequence[_Found], rules: Sequence[Rule], chosen: Any) -> str:
    if chosen.json:
        values = [changes_json(moved) | {"gate": verdict and gate_json(verdict)} for _, moved, verdict in found]
        return json.dumps(values, indent=1)
    if chosen.markdown:
        return "\n".join(comparison_markdown(side.result, moved, verdict) for side, moved, verdict in found)
    lines: list[str] = ["rules:", *rule_lines(rules, WIDTH), ""] if rules else []
    for side, moved, verdict in found:
        lines += [f"{side.name} against {moved.before}", *change_lines(moved, WIDTH)]
        lines += ["", *verdict_lines(verdict, WIDTH)] if verdict else []
        lines += [""] if side is not found[-1][0] else []
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pytest_ltm compare",
        description="Compare results of equal plans: examples are paired by scenario, example, span and trial. Each "
        "of A, B, C is a baseline's name, a baseline file, a run folder, a run id or 'latest'; X@AGENT takes one "
        "agent of several.",
    )
    parser.add_argument("before", metavar="A", help="what the others are compared with: one agent")
    parser.add_argument("after", metavar="B", nargs="+", help="each is compared with A, agent by agent")
    parser.add_argument(
        "--compare-fail", "--fail", action="append", default=[], metavar="RULE",
        help="exit status 1 if it is broken: how far a metric may move, as in mean:5%%, p:0.05, cost:10%%",
    )  # fmt: skip
    parser.add_argument(
        "--fail-under", action="append", default=[], metavar="RULE",
        help="exit status 1 if it is broken: where a metric must lie, as in 0.8, scenario:colours.mean:0.5",
    )  # fmt: skip
    parser.add_argument(
        "--plans", choices=PLANS, default=PLANS[0],
        help="what may be compared: equal plans only (the default), or the examples that are equal in both",
    )  # fmt: skip
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--markdown", action="store_true", help="print Markdown, as for a step summary")
    how.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--baselines", default=FOLDER, metavar="DIR", help=f"where baselines are (default: {FOLDER})")
    parser.add_argument("--ltm-dir", default=".ltm", metavar="DIR", help="where run ids are looked up (default: .ltm)")
    return parser
