"""`compare A B [C...]`: what moved from A to each of the others, and whether rules hold."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_ltm._results.change_report import (
    change_lines,
    changes_json,
    gate_json,
    github_annotations,
    rule_lines,
    verdict_lines,
)
from pytest_ltm._results.gate import rules as _rules
from pytest_ltm._results.gate.changes import Changes, CompareHints, GateSide, changes, one_agent
from pytest_ltm._results.gate.verdict import FAILED, STATUS, GateVerdict, judge
from pytest_ltm._results.run_loading import find
from pytest_ltm.reporting.markdown import add_to_step_summary, comparison_markdown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from pytest_ltm._results.gate.rules import Rule


WIDTH = 80
WAYS = CompareHints(common="--plans=overlapping", choose_agent="Name one as in RUN@AGENT")


def run(given: Namespace) -> int:
    """Compare and print; return 0, with rules 1 if one is broken or 75 if something cannot be measured.

    LtmError if a side cannot be found or read, or if two may not be compared.
    """
    rules = [*map(_rules.against, given.compare_fail), *map(_rules.under, given.fail_under)]
    sides = [find(text, given.baselines, given.ltm_dir)[0] for text in (given.before, *given.after)]
    before = one_agent(sides[0], how=WAYS.choose_agent)
    found = _compared(before, sides[1:], rules, common=given.plans == "overlapping")
    print(_shown(found, rules, given))
    for side, moved, verdict in found:
        problem = add_to_step_summary(comparison_markdown(side.result, moved, verdict))
        lines = [*([problem] if problem else []), *(github_annotations(verdict) if verdict else [])]
        print("\n".join(lines), end="\n" * bool(lines), file=sys.stderr)
    statuses = {STATUS[verdict.state] for _, _, verdict in found if verdict is not None}
    return FAILED if FAILED in statuses else max(statuses, default=0)


_Found = tuple[GateSide, Changes, "GateVerdict | None"]


def _compared(before: GateSide, sides: Sequence[GateSide], rules: Sequence[Rule], *, common: bool) -> list[_Found]:
    """Return what moved to each side and how the rules fare; what is said of chance minds that there are several."""
    found = [changes(before, side, WAYS, common=common) for side in sides]
    looks = sum(moved.looks for moved in found)
    shared = [structs.replace(moved, looks=looks) for moved in found]
    return [
        (side, moved, judge(side.result, rules, moved) if rules else None)
        for side, moved in zip(sides, shared, strict=True)
    ]


def _shown(found: Sequence[_Found], rules: Sequence[Rule], given: Namespace) -> str:
    if given.json:
        values = [changes_json(moved) | {"gate": verdict and gate_json(verdict)} for _, moved, verdict in found]
        return json.dumps(values, indent=1)
    if given.markdown:
        return "\n".join(comparison_markdown(side.result, moved, verdict) for side, moved, verdict in found)
    lines: list[str] = ["rules:", *rule_lines(rules, WIDTH), ""] if rules else []
    for side, moved, verdict in found:
        lines += [f"{side.name} against {moved.before}", *change_lines(moved, WIDTH)]
        lines += ["", *verdict_lines(verdict, WIDTH)] if verdict else []
        lines += [""] if side is not found[-1][0] else []
    return "\n".join(lines)
