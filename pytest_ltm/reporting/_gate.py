"""What a gate says: the verdict in one line, what is behind it, annotations for GitHub, JSON values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from pytest_ltm.reporting._text import counted, one_line, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._gate._rules import Rule
    from pytest_ltm._gate._verdict import Finding, Verdict

_PLACES = 3
MOST = 12
"""So many breaches, or rules that cannot be told, are listed."""


def verdict_line(verdict: Verdict) -> str:
    """Return the verdict in one sentence: held, regressed or breached (where), could not be measured (why)."""
    if verdict.state == "held":
        return f"gate: held ({_counts(verdict)})"
    if verdict.state == "breached":
        word = "regressed" if any(finding.moved for finding in verdict.breaches) else "breached"
        return f"gate: {word}: {_where(verdict.breaches)}"
    return f"gate: could not be measured: {verdict.lost or _unknown(verdict)}"


def verdict_lines(verdict: Verdict, width: int) -> list[str]:
    """Return the verdict and, below it, each breach and each rule that nobody can tell of."""
    status = f" (exit status {verdict.status})" if verdict.status else ""
    lines = wrap(one_line(verdict_line(verdict) + status), width, "  ")
    found = details(verdict)
    for text in found[:MOST]:
        lines += wrap(f"  - {text}", width, "    ")
    if len(found) > MOST:
        lines.append(f"  … and {len(found) - MOST:,} more")
    return lines


def details(verdict: Verdict) -> list[str]:
    """Return a sentence for each breach and each rule that nobody can tell of.

    Where the whole run says too little no breach is told: what was lost may be behind it.
    """
    if verdict.lost:
        return []
    found = [*verdict.breaches, *verdict.unknown]
    return [one_line(finding.text) for finding in found]


def _counts(verdict: Verdict) -> str:
    rules = len(dict.fromkeys(finding.rule for finding in verdict.findings))
    places = len({(finding.agent, finding.span_label) for finding in verdict.findings})
    if not rules:
        return "no example ended in an error"
    return f"{counted(rules, 'rule')}, each for {_places_word(places)}"


def _places_word(places: int) -> str:
    return "one agent at one memory span" if places == 1 else f"{places:,} agents and memory spans"


def _where(findings: Sequence[Finding]) -> str:
    places = list(dict.fromkeys(_place(finding) for finding in findings))
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    rules = len({finding.rule for finding in findings})
    return f"{', '.join(places[:_PLACES])}{more}, {counted(rules, 'rule')} broken"


def _place(finding: Finding) -> str:
    return f"{finding.agent} at {finding.span_label}" if finding.span_label else finding.agent


def _unknown(verdict: Verdict) -> str:
    rules = dict.fromkeys(finding.rule for finding in verdict.unknown)
    return f"{counted(len(rules), 'rule')} cannot be evaluated"


def rule_lines(rules: Sequence[Rule], width: int) -> list[str]:
    """Return what must hold, a sentence a rule."""
    return [
        line for rule in rules for line in wrap(f"  {one_line(rule.text)}: {one_line(rule.sentence)}", width, "    ")
    ]


def github_annotations(verdict: Verdict) -> list[str]:
    """Return GitHub workflow commands, in a job there: an error for each breach, a warning if nobody can tell."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return []
    if verdict.state == "unmeasurable":
        texts = [verdict_line(verdict), *details(verdict)]
        return [_command("warning", "long-term memory: not measurable", ". ".join(texts))]
    return [_command("error", f"long-term memory: {finding.rule}", finding.text) for finding in verdict.breaches]


def _command(kind: str, title: str, text: str) -> str:
    """Return a workflow command; its values cannot end it or begin another.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    message = _escaped(one_line(text))
    return f"::{kind} title={_escaped(one_line(title)).replace(':', '%3A').replace(',', '%2C')}::{message}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def gate_json(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as JSON values."""
    return {
        "state": verdict.state,
        "exit_status": verdict.status,
        "lost": verdict.lost,
        "findings": [
            {
                "rule": finding.rule,
                "agent": finding.agent,
                "span_label": finding.span_label,
                "state": finding.state,
                "sentence": finding.sentence,
            }
            for finding in verdict.findings
        ],
    }
