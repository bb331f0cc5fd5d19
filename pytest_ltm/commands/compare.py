"""`compare A B [C...]`: what changed from A to each of the others, and whether rules hold."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import structs

from pytest_ltm.api.journal import FAILED
from pytest_ltm.api.storage import one_line, redact_secrets
from pytest_ltm.commands.arguments import (
    add_baselines,
    add_flags,
    add_ltm_dir,
    add_option,
    add_plans,
)
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.figures.statistics.paired_comparison import COLLAPSES
from pytest_ltm.gate import change_report
from pytest_ltm.gate import gate_rules as _rules
from pytest_ltm.gate.changes import (
    Changes,
    CompareHints,
    GateSide,
    compare_sides,
    one_agent,
)
from pytest_ltm.gate.gate_markdown import comparison_markdown
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.sides import AGENT, find_side
from pytest_ltm.gate.verdict import STATUS, GateVerdict, decide_gate
from pytest_ltm.reports.run_markdown import add_to_step_summary
from pytest_ltm.reports.verification import DIFFERS, discrepancy_sentences

WIDTH = 80
WAYS = CompareHints(
    common="--plans=overlapping", choose_agent="Name one as in RUN@AGENT"
)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sides, the rules and the format."""
    parser.add_argument(
        "before", metavar="A", help="the baseline; it must have exactly one agent"
    )
    parser.add_argument(
        "after", nargs="+", metavar="B", help="each is compared with A, agent by agent"
    )
    rule = "exit status 1 if this rule is broken (repeatable):"
    fail = f"{rule} how far a metric may move: mean:5%%, p:0.05, cost:10%%"
    add_option(parser, "--compare-fail", "RULE", fail, [])
    add_option(
        parser,
        "--fail-under",
        "RULE",
        f"{rule} the minimum: 0.8, scenario:colours.mean:0.5",
        [],
    )
    add_plans(parser)
    add_option(
        parser,
        "--compare-collapses",
        "SHARE",
        "share of its conversations in which either side may earn nothing without being worse (default: %(default)s)",
        f"{COLLAPSES}",
    )
    blind = "a rule that the loss of nine tenths of everything would not break is not measurable (default), or passes"
    parser.add_argument(
        "--compare-blind", choices=["refuse", "allow"], default="refuse", help=blind
    )
    form = parser.add_mutually_exclusive_group()
    add_flags(form, markdown="print Markdown, as for a step summary", json="print JSON")
    add_baselines(parser)
    add_ltm_dir(parser)


# A later side, its changes, and the verdict of the rules.
_Compared: TypeAlias = tuple[GateSide, Changes, GateVerdict | None]


def compare_results(arguments: Namespace) -> int:
    """Compare results of equal plans, paired by scenario, example, span and trial.

    Each of A, B is a baseline's name, a baseline file, a run folder, a run ID or 'latest'; X@AGENT selects one of
    several agents. With rules, the exit status is 1 if one is broken, and 75 if something cannot be measured.
    """
    rules = [
        *map(_rules.parse_change_rule, arguments.compare_fail),
        *map(_rules.parse_limit_rule, arguments.fail_under),
    ]
    found: list[tuple[GateSide, str]] = []
    for text in (arguments.before, *arguments.after):
        found.append(find_side(text, arguments.baselines, arguments.ltm_dir))
    _print_discrepancies(found)
    sides = [side for side, _ in found]
    changes = _changes_of(sides, arguments)
    # each further comparison is another chance of a false positive
    looks = sum(moved.looks for moved in changes)
    shared = [structs.replace(moved, looks=looks) for moved in changes]
    allow_blind = arguments.compare_blind == "allow"
    result: list[_Compared] = []
    for side, moved in zip(sides[1:], shared, strict=True):
        verdict = None
        if rules:
            verdict = decide_gate(side.result, rules, moved, allow_blind=allow_blind)
        result.append((side, moved, verdict))
    if arguments.json:
        print(json.dumps(list(map(_compared_json, result)), indent=1))
    elif arguments.markdown:
        print("\n".join(map(_compared_markdown, result)))
    else:
        print("\n".join(_text_lines(rules, result)))
    for compared in result:
        verdict = compared[2]
        problem = add_to_step_summary(_compared_markdown(compared))
        # on stderr, because stdout may be piped into a file
        if problem:
            print(problem, file=sys.stderr)
        for line in change_report.github_annotations(verdict) if verdict else ():
            print(line, file=sys.stderr)
    verdicts = [verdict for _, _, verdict in result if verdict is not None]
    statuses = {STATUS[verdict.state] for verdict in verdicts}
    # a broken rule takes precedence over what could not be measured
    return FAILED if FAILED in statuses else max(statuses, default=0)


def _print_discrepancies(sides: Iterable[tuple[GateSide, str]]) -> None:
    """Print where the scores of runs do not follow from their records."""
    # Two sides may be agents of one run.
    sentences: dict[Path, list[str]] = {}
    for side, path in sides:
        folder = Path(path if Path(path).exists() else path.rpartition(AGENT)[0])
        if folder.is_dir() and folder not in sentences:
            sentences[folder] = list(discrepancy_sentences(read_run(folder)))
        for text in sentences.get(folder, ()):
            line = redact_secrets(f"{side.name} {DIFFERS}: {text}")
            print(one_line(line), file=sys.stderr)


def _changes_of(sides: Sequence[GateSide], arguments: Namespace) -> list[Changes]:
    """Return the changes from the first side to each of the others."""
    baseline = one_agent(sides[0], how=WAYS.choose_agent)
    changes: list[Changes] = []
    for side in sides[1:]:
        moved = compare_sides(
            baseline,
            side,
            WAYS,
            common=arguments.plans == "overlapping",
            collapses=_rules.parse_collapses(arguments.compare_collapses),
        )
        changes.append(moved)
    return changes


def _compared_json(compared: _Compared) -> dict[str, Any]:
    _, moved, verdict = compared
    gate = verdict and change_report.gate_json(verdict)
    return change_report.changes_json(moved) | {"gate": gate}


def _compared_markdown(compared: _Compared) -> str:
    side, moved, verdict = compared
    return comparison_markdown(side.result, moved, verdict)


def _text_lines(rules: Sequence[Rule], compared: Sequence[_Compared]) -> Iterator[str]:
    """Yield the rules, and the changes of each later side."""
    if rules:
        yield from ["rules:", *change_report.rule_lines(rules, WIDTH), ""]
    for number, (side, moved, verdict) in enumerate(compared):
        if number:
            yield ""
        yield f"{side.name} against {moved.before}"
        yield from change_report.change_lines(moved, WIDTH)
        if verdict:
            yield from ["", *change_report.verdict_lines(verdict, WIDTH)]
