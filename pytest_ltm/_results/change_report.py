"""What changed against a baseline, as lines for a terminal and as JSON values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import structs

from pytest_ltm._language.lists import few, shortened
from pytest_ltm._results.gate.verdict import Finding, GateVerdict, p_text
from pytest_ltm._results.sentences import told
from pytest_ltm._results.text import clip, counted, left, one_line, right, wrap
from pytest_ltm._storage.schema import fields_of, from_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._journal.result import ConversationResult
    from pytest_ltm._results.gate.changes import Change, Changes, Level
    from pytest_ltm._results.gate.rules import Rule
    from pytest_ltm._results.statistics.comparison import Comparison


MOST_MOVED = 8
"""How many scenarios that moved are listed for each agent and span."""
HEADS = ("before", "now", "change", "95 % interval", "p (drop)")
_WIDTHS = (6, 6, 7, 14, 8)
MUCH = 0.2
"""By so much the agent's share of all tokens may differ before a comparison says so."""
_MOST_TRIALS = 4
_NOISE = 1e-9


def change_lines(found: Changes, width: int) -> list[str]:
    """Return what the terminal says, no line wider than `width` (at least 62): a table, and what it could have seen."""
    label = max(16, min(30, width - sum(_WIDTHS) - len(_WIDTHS) - 1))
    agent = f" (agent {one_line(found.before_agent)})" if found.before_agent else ""
    who = f"{one_line(found.before)}{agent}"
    lines = wrap(f"Compared with {who}; p: how often equal agents lose as much by chance.", width)
    lines += ["", _line("", HEADS, label)]
    for change in found.changes:
        lines.append(_line(change.label, overall_cells(change), label))
        lines += [_line(name, scenario_cells(change, name), label, "  ") for name in most_moved(change)]
        more = len(movers(change)) - MOST_MOVED
        lines += [f"  … and {counted(more, 'more scenario')} moved"] * (more > 0)
    return [*lines, "", *(line for sentence in sentences(found) for line in wrap(sentence, width, "  "))]


def _line(label: str, cells: Sequence[str], width: int, indent: str = "") -> str:
    shown = left(indent + clip(one_line(label), width - len(indent)), width)
    return (shown + "".join(f" {right(cell, size)}" for cell, size in zip(cells, _WIDTHS, strict=True))).rstrip()


def overall_cells(change: Change) -> tuple[str, ...]:
    """Return before, now, change, interval and p of all scenarios together."""
    return _cells(change.level, change.overall, change.overall.p_drop) if change.level else ("-", "-", "-", "", "")


def scenario_cells(change: Change, name: str) -> tuple[str, ...]:
    """Return the same of one scenario; its p is corrected for looking at all of them."""
    return _cells(change.levels[name], change.scenarios[name], change.scenarios[name].adjusted)


def _cells(level: Level, found: Comparison, p: float | None) -> tuple[str, ...]:
    chance = "-" if p is None else p_text(p).replace("= ", "").replace(" ", "")
    moved = _signed(level.difference, same=found.identical)
    return f"{level.before:.2f}", f"{level.after:.2f}", moved, _interval(found), chance


def _signed(difference: float, *, same: bool) -> str:
    if same or difference == 0:
        return "0"
    text = f"{difference:+.2f}"
    return f"{difference:+.4f}" if text in ("+0.00", "-0.00") else text


def _interval(comparison: Comparison) -> str:
    if comparison.interval is None:
        return ""
    return f"{comparison.interval.low:+.2f} … {comparison.interval.high:+.2f}"


def movers(change: Change) -> list[str]:
    """Return the scenarios whose mean is another now, what lost most first."""
    moved = [(level.difference, name) for name, level in change.levels.items() if abs(level.difference) > _NOISE]
    return [name for _, name in sorted(moved)]


def most_moved(change: Change) -> list[str]:
    """Return those that are shown: where there are many, the ones that moved most."""
    names = movers(change)
    if len(names) <= MOST_MOVED:
        return names
    kept = sorted(names, key=lambda name: -abs(change.levels[name].difference))[:MOST_MOVED]
    return [name for name in names if name in kept]


def sentences(found: Changes) -> list[str]:
    """Return what a reader must know of the comparison: what is in it, what it could have seen, what it leaves out."""
    looks = max(1, found.looks)
    said = [
        told(change.label, found.before, change.paired.pairs, change.overall, looks=looks).text
        for change in found.changes
    ]
    said += [sentence for change in found.changes for sentence in [*_passes(change), *_detectable(change)]]
    said += [sentence for change in found.changes for sentence in _talk(change)]
    shown = [change for change in found.changes if movers(change)]
    if any(one.adjusted is not None for change in shown for one in change.scenarios.values()):
        said.append("A scenario's p is corrected for testing all of them (Holm).")
    elif shown:
        said.append("The scenarios show where it moved; more trials would show which of them moved by chance.")
    said += [sentence for change in found.changes for sentence in _left_out(change)]
    if found.uncompared:
        said.append(f"{found.before} has no memory span {', '.join(found.uncompared)}: not compared.")
    return said


def _passes(change: Change) -> list[str]:
    if not (change.lost_passes or change.won_passes):
        return []
    lost = (
        f"{counted(change.lost_passes, 'example')} that passed before {'does' if change.lost_passes == 1 else 'do'} not"
    )
    return [f"{change.label}: {lost} now, {change.won_passes:,} the other way round."]


def _detectable(change: Change) -> Iterable[str]:
    found = change.overall
    if found.can_tell and found.detectable is None:
        yield f"{change.label}: hardly any drop would stand out from chance; run more trials."
    elif found.can_tell:
        how = f"{found.power:.0%} power at a level of {found.alpha:.0%}"
        seen = f"a drop of the mean by less than {found.detectable:.2f} would mostly pass for chance"
        yield f"{change.label}: {seen} ({how})."


def talk_lines(found: Changes, width: int) -> list[str]:
    """Return what a gate says of the agent's own share of the tokens where nothing else of the comparison is shown."""
    return [line for change in found.changes for text in _talk(change) for line in wrap(text, width, "  ")]


def _talk(change: Change) -> Iterable[str]:
    """Return a sentence if the agent's share of the tokens is another now: what it says itself fills a conversation."""
    before, after = _agent_share(change.held_before), _agent_share(change.held_after)
    if before is not None and after is not None and abs(after - before) > MUCH:
        yield (
            f"{change.label}: the agent's own replies are {after:.0%} of all tokens, {before:.0%} before; under "
            "--ltm-count=all that changes how far back its memory must reach."
        )


def _agent_share(held: Sequence[ConversationResult]) -> float | None:
    tokens = sum(each.tokens for each in held)
    return sum(each.reply_tokens for each in held) / tokens if tokens else None


def _left_out(change: Change) -> Iterable[str]:
    paired = change.paired
    lost = paired.unscored_before + paired.unscored_after + paired.unscored_both
    if lost:
        yield f"{change.label}: {counted(lost, 'example')} without a score before or now, left out of these means."
    if change.only_before or change.only_after:
        alone = ", ".join(shortened(change.alone, _MOST_TRIALS, "and {:,} more"))
        trials = f" (trials of one side only: {alone})" if alone else ""
        lone = f"{counted(change.only_before, 'example')} of the earlier and {change.only_after:,} of the later side"
        yield f"{change.label}: not compared: {lone}{trials}."
    if change.partial:
        yield f"{change.label}: what was said in between differs; only the examples equal in both are compared."


def changes_json(found: Changes) -> dict[str, Any]:
    """Return the comparison as JSON values."""
    said = fields_of(found, "before", "before_agent", "after", "uncompared")
    return said | {"changes": [_change_json(change) for change in found.changes]}


def _change_json(change: Change) -> dict[str, Any]:
    paired = change.paired
    return {
        **fields_of(change, "agent", "span_label"),
        "before": change.level and change.level.before,
        "after": change.level and change.level.after,
        **_comparison_json(change.overall),
        **fields_of(change, "lost_passes", "won_passes"),
        "p_mcnemar": change.mcnemar,
        "without_score": {place: getattr(paired, f"unscored_{place}") for place in ("before", "after", "both")},
        **fields_of(change, "only_before", "only_after", "partial"),
        "scenarios": {
            name: fields_of(level, "before", "after") | _comparison_json(change.scenarios[name])
            for name, level in change.levels.items()
        },
    }


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {
        "difference": found.difference,
        "interval": found.interval and [found.interval.low, found.interval.high],
        **fields_of(found, "p", "p_drop"),
        "p_holm": found.adjusted,
        **fields_of(found, "detectable", "pairs", "better", "worse", "reason"),
    }


# --- What a gate says: the verdict in one line, what is behind it, annotations for GitHub, JSON values.

_PLACES = 3
MORE = "  … and {:,} more"
MOST_LISTED = 12
"""How many breaches, or rules that cannot be evaluated, are listed."""


def verdict_line(verdict: GateVerdict) -> str:
    """Return the verdict in one sentence: passed, regressed or failed (where), could not be measured (why)."""
    broken = verdict.breaches
    if verdict.state == "passed":
        return f"gate: passed ({_counts(verdict.findings)})"
    if verdict.state == "failed":
        word = "regressed" if any(finding.moved for finding in broken) else "failed"
        places = few(list(dict.fromkeys(finding.place for finding in broken)), _PLACES)
        return f"gate: {word}: {places}, {counted(_rules(broken), 'rule')} broken"
    why = verdict.lost or f"{counted(_rules(verdict.unknown), 'rule')} cannot be evaluated"
    return f"gate: could not be measured: {why}"


def _rules(findings: Iterable[Finding]) -> int:
    return len({finding.rule for finding in findings})


def verdict_lines(verdict: GateVerdict, width: int) -> list[str]:
    """Return the verdict and, below it, each breach and each rule that cannot be evaluated."""
    status = f" (exit status {verdict.status})" if verdict.status else ""
    lines = wrap(one_line(verdict_line(verdict) + status), width, "  ")
    found = [f"  - {text}" for text in details(verdict)]
    return lines + [line for text in shortened(found, MOST_LISTED, MORE) for line in wrap(text, width, "    ")]


def details(verdict: GateVerdict) -> list[str]:
    """Return a sentence for each breach and each rule that cannot be evaluated.

    If the whole run cannot be measured, no breach is listed: the losses may explain it.
    """
    found = () if verdict.lost else (*verdict.breaches, *verdict.unknown)
    return [one_line(finding.text) for finding in found]


def _counts(findings: Sequence[Finding]) -> str:
    if not findings:
        return "no example ended in an error"
    places = len({(finding.agent, finding.span_label) for finding in findings})
    where = "one agent at one memory span" if places == 1 else f"{places:,} agents and memory spans"
    return f"{counted(_rules(findings), 'rule')}, each for {where}"


def rule_lines(rules: Sequence[Rule], width: int) -> list[str]:
    """Return what must hold, a sentence a rule."""
    return [
        line for rule in rules for line in wrap(f"  {one_line(rule.text)}: {one_line(rule.sentence)}", width, "    ")
    ]


def github_annotations(verdict: GateVerdict) -> list[str]:
    """Return GitHub workflow commands, in a job there: an error for each breach, a warning if it cannot be measured."""
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


def gate_json(verdict: GateVerdict) -> dict[str, Any]:
    """Return the verdict as JSON values."""
    names = ("rule", "agent", "span_label", "state", "sentence")
    return {
        "state": verdict.state,
        "sentence": verdict_line(verdict),
        "exit_status": verdict.status,
        "lost": verdict.lost,
        "findings": [fields_of(finding, *names) for finding in verdict.findings],
    }


def gate_from_json(said: object, where: str) -> GateVerdict | None:
    """Return the verdict that `gate_json` wrote, None if there is none; LtmError if it cannot be read."""
    if not isinstance(said, dict):
        return None
    regressed = "regressed" in str(said.get("sentence"))
    findings = from_record(tuple[Finding, ...], said.get("findings", []), where)
    return GateVerdict(
        findings=tuple(structs.replace(one, moved=regressed and one.state == "failed") for one in findings),
        lost=str(said.get("lost", "")),
    )
