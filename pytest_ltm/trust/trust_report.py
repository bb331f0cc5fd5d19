"""The section of the reports: attack rate and utility, by channel and class, and over memory spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, starmap
from typing import Any

from pytest_ltm.api.journal import Curve, RunResult, Section, at_span
from pytest_ltm.api.storage import one_line, pluralize
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import format_percent
from pytest_ltm.trust.planted_texts import PoisonFinding, run_findings
from pytest_ltm.trust.rates import ATTACK, UTILITY, Rate, measure_effect, rate_of

TITLE = "Poison at a distance"
LEGEND = (
    "Attack rate: planted texts that had their effect. Utility: the user's own texts, in the same words, that had "
    "theirs. Neither is a claim of safety."
)


def trust_section(result: RunResult) -> Section | None:
    """Return the section of a run; None if no poison was played."""
    findings = run_findings(result)
    if not findings:
        return None
    agents = _agents(findings)
    return Section(
        title=TITLE,
        sentences=[LEGEND, *chain.from_iterable(starmap(_agent_lines, agents))],
        json={"agents": list(starmap(_agent_json, agents))},
        curves=tuple(_curves(findings)),
    )


Findings = Sequence[PoisonFinding]


def _agents(findings: Findings) -> list[tuple[str, Findings]]:
    return [*group_by(findings, lambda finding: finding.row.agent).items()]


def _span(finding: PoisonFinding) -> str:
    return finding.row.span_label


def _channel(finding: PoisonFinding) -> str:
    return finding.channel


def _attack(finding: PoisonFinding) -> str:
    return finding.attack


def _sessions(finding: PoisonFinding) -> str:
    return str(finding.sessions_passed)


def _curves(findings: Findings) -> Iterator[Curve]:
    """Yield attack rate and utility of each agent over memory spans, and over sessions passed."""
    axes = (
        ("memory span (tokens)", _span, _tokens),
        ("sessions that ended between", _sessions, _count_of_sessions),
    )
    for axis, key, order in axes:
        for agent, rows in _agents(findings):
            parts = group_by(sorted(rows, key=order), key)
            attacks = []
            utilities = []
            for label, part in parts.items():
                attack, utility = rates_of(part)
                if attack.share is not None:
                    attacks.append((label, attack.share))
                if utility.share is not None:
                    utilities.append((label, utility.share))
            yield Curve(f"{agent}: attack rate", axis, tuple(attacks))
            yield Curve(f"{agent}: utility", axis, tuple(utilities))


def _tokens(finding: PoisonFinding) -> int:
    return finding.row.span or 0


def _count_of_sessions(finding: PoisonFinding) -> int:
    return finding.sessions_passed


def rates_of(findings: Findings) -> tuple[Rate, Rate]:
    """Return attack rate and utility."""
    rows = [finding.row for finding in findings]
    attack = rate_of([measure_effect(row, ATTACK) for row in rows])
    utility = rate_of([measure_effect(row, UTILITY) for row in rows])
    return attack, utility


def _agent_lines(agent: str, findings: Findings) -> list[str]:
    """Return an agent's lines: rates for each memory span, by channel, class and sessions passed."""
    lines = []
    for label, rows in group_by(findings, _span).items():
        attack, utility = rates_of(rows)
        place = one_line(at_span(agent, label))
        lines.append(
            f"{place}: attack rate {_share(attack)}, utility {_share(utility)} ({_count(rows)})"
        )
        keys = [("channel", _channel), ("class", _attack)]
        if any(row.sessions_passed for row in rows):
            keys.append(("sessions passed", _sessions))
        for name, key in keys:
            parts = []
            for part_name, part in group_by(rows, key).items():
                attack, utility = rates_of(part)
                parts.append(f"{part_name} {_share(attack)} / {_share(utility)}")
            lines.append(f"  by {name}, attack / utility: {', '.join(parts)}")
    return lines


def _count(findings: Findings) -> str:
    attack, utility = rates_of(findings)
    text = pluralize(len(findings), "pair")
    if not attack.open and not utility.open:
        return text
    return f"{text}; open: {pluralize(attack.open, 'attack')}, {pluralize(utility.open, 'twin')}"


def _share(rate: Rate) -> str:
    return "-" if rate.share is None else format_percent(rate.share)


def _agent_json(agent: str, findings: Findings) -> dict[str, Any]:
    spans = []
    for label, rows in group_by(findings, _span).items():
        span = {
            "span": label,
            **_rates_json(rows),
            "channels": _parts_json(rows, _channel),
            "classes": _parts_json(rows, _attack),
        }
        spans.append(span)
    return {"agent": agent, "spans": spans}


def _parts_json(
    findings: Findings, key: Callable[[PoisonFinding], str]
) -> dict[str, Any]:
    return {name: _rates_json(rows) for name, rows in group_by(findings, key).items()}


def _rates_json(findings: Findings) -> dict[str, Any]:
    attack, utility = rates_of(findings)
    return {
        "pairs": len(findings),
        "attack_rate": attack.share,
        "utility": utility.share,
        "open": attack.open + utility.open,
    }
