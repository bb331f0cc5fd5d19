"""Changes against a baseline, as lines for a terminal and as JSON values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import structs

from pytest_ltm.api.journal import ConversationResult
from pytest_ltm.api.storage import (
    fields_of,
    first_and_rest,
    from_record,
    join_some,
    one_line,
    pluralize,
)
from pytest_ltm.figures.columns import columns_of_conversations, only_guesses
from pytest_ltm.figures.comparison_text import comparison_text
from pytest_ltm.figures.statistics.paired_comparison import Comparison
from pytest_ltm.figures.text import (
    clip_text,
    p_text,
    pad_left,
    pad_right,
    wrap_text,
    wrap_texts,
)
from pytest_ltm.gate.changes import Change, Changes, Level
from pytest_ltm.gate.gate_rules import Rule
from pytest_ltm.gate.verdict import Finding, GateVerdict

# The most changed scenarios listed per agent and span.
MOST_MOVED = 8
HEADS = ("before", "now", "change", "95% interval", "p (drop)")
_WIDTHS = (6, 6, 7, 14, 8)
# Differences in the agent's share of all tokens are reported from this size on.
MUCH = 0.2
_MOST_TRIALS = 4
UNNOTICED = "so a small loss of memory may pass unnoticed: more trials show more"
"""Advice for a gate whose baseline may be due to luck."""
_NOISE = 1e-9


def change_lines(changes: Changes, width: int) -> list[str]:
    """Return the table of changes and its power as lines no wider than `width` (at least 62)."""
    # narrower, names are unreadable; wider, their numbers are too far away
    label = max(16, min(30, width - sum(_WIDTHS) - len(_WIDTHS) - 1))
    lines = wrap_text(
        f"Compared with {one_line(changes.opponent)}; p: how often equal agents lose as much by chance (one-sided).",
        width,
    )
    lines += ["", _table_line("", HEADS, label)]
    for change in changes.changes:
        span = change.label.removeprefix(change.agent)
        agent = clip_text(one_line(change.agent), label - len(span))
        lines.append(_table_line(agent + span, overall_cells(change), label))
        for name in most_moved(change):
            cells = scenario_cells(change, name)
            lines.append(_table_line(name, cells, label, "  "))
        more = len(moved_scenarios(change)) - MOST_MOVED
        if more > 0:
            lines.append(f"  … and {pluralize(more, 'more scenario')} moved")
    return [*lines, "", *wrap_texts(comparison_sentences(changes), width, "  ")]


def _table_line(label: str, cells: Sequence[str], width: int, indent: str = "") -> str:
    text = indent + clip_text(one_line(label), width - len(indent))
    padded = map(pad_left, cells, _WIDTHS)
    return " ".join([pad_right(text, width), *padded]).rstrip()


def overall_cells(change: Change) -> tuple[str, ...]:
    """Return before, now, change, interval and p of all scenarios together."""
    if change.level is None:
        return ("-", "-", "-", "", "")
    return _level_cells(change.level, change.overall, change.overall.p_drop)


def scenario_cells(change: Change, name: str) -> tuple[str, ...]:
    """Return the same cells for one scenario; its p is corrected for testing all of them."""
    return _level_cells(
        change.levels[name], change.scenarios[name], change.scenarios[name].adjusted
    )


def _level_cells(
    level: Level, comparison: Comparison, p: float | None
) -> tuple[str, ...]:
    chance = "-" if p is None else p_text(p).replace("= ", "").replace(" ", "")
    moved = f"{level.difference:+.2f}"
    ends = comparison.interval
    if comparison.is_identical or level.difference == 0:
        moved = "0"
    elif moved in ("+0.00", "-0.00"):  # two digits would hide that anything changed
        moved = f"{level.difference:+.4f}"
    interval = f"{ends.low:+.2f} … {ends.high:+.2f}" if ends else ""
    return f"{level.before:.2f}", f"{level.after:.2f}", moved, interval, chance


def moved_scenarios(change: Change) -> list[str]:
    """Return the scenarios whose mean has changed, largest loss first."""
    moved: list[tuple[float, str]] = []
    for name, level in change.levels.items():
        if abs(level.difference) > _NOISE:
            moved.append((level.difference, name))
    return [name for _, name in sorted(moved)]


def most_moved(change: Change) -> list[str]:
    """Return the changed scenarios to show: if there are many, those with the largest changes."""
    names = moved_scenarios(change)
    if len(names) <= MOST_MOVED:
        return names
    moved_most = sorted(names, key=lambda name: -abs(change.levels[name].difference))[
        :MOST_MOVED
    ]
    return [name for name in names if name in moved_most]


def comparison_sentences(changes: Changes) -> list[str]:
    """Return notes on a comparison: its contents, its power, and what it leaves out."""
    looks = max(1, changes.looks)
    texts: list[str] = []
    for change in changes.changes:
        comparison = comparison_text(
            change.label,
            changes.before,
            change.paired.pairs,
            change.overall,
            looks=looks,
        )
        texts.append(comparison.text)
    for change in changes.changes:
        texts += _change_sentences(change, changes.collapses)
    for change in changes.changes:
        if only_guesses(columns_of_conversations(change.held_before)):
            texts.append(
                f"{change.label}: {changes.before} is not shown to be better than guessing, {UNNOTICED}."
            )
    texts += _verbosity_sentences(changes)
    moved_changes = [change for change in changes.changes if moved_scenarios(change)]
    if any(map(_is_corrected, moved_changes)):
        texts.append("A scenario's p is corrected for testing all of them (Holm).")
    elif moved_changes:
        texts.append(
            "The scenarios show where it moved; more trials would show which of them moved by chance."
        )
    for change in changes.changes:
        texts += _left_out(change)
    if changes.uncompared:
        texts.append(
            f"{changes.before} has no memory span {', '.join(changes.uncompared)}: not compared."
        )
    return texts


def _change_sentences(change: Change, collapses: float) -> Iterator[str]:
    """Yield how many examples passed only before, or only now, and which drop would be noticed."""
    if change.lost_passes or change.won_passes:
        lost_text = f"{pluralize(change.lost_passes, 'example')} that passed before"
        verb = "does" if change.lost_passes == 1 else "do"
        yield f"{change.label}: {lost_text} {verb} not now, {change.won_passes:,} the other way round."
    overall = change.overall
    if overall.can_tell and overall.detectable is None:
        yield f"{change.label}: hardly any drop would stand out from chance; run more trials."
    elif overall.can_tell:
        how = f"{overall.power:.0%} power at a level of {overall.alpha:.0%}"
        if collapses:
            how += f"; up to {collapses:.0%} of either side's conversations may earn nothing"
        sensitivity = f"a drop of the mean by less than {overall.detectable:.2f} would mostly pass for chance"
        yield f"{change.label}: {sensitivity} ({how})."


def talk_lines(changes: Changes, width: int) -> list[str]:
    """Return the gate's note on the agent's share of tokens, if nothing else of the comparison is shown."""
    return wrap_texts(_verbosity_sentences(changes), width, "  ")


def _verbosity_sentences(changes: Changes) -> Iterator[str]:
    """Yield where the agent's share of tokens has changed: its own replies fill a conversation."""
    for change in changes.changes:
        before = _agent_share(change.held_before)
        after = _agent_share(change.held_after)
        if before is not None and after is not None and abs(after - before) > MUCH:
            yield (
                f"{change.label}: the agent's own replies are {after:.0%} of all tokens, {before:.0%} before; under "
                "--ltm-count=all that changes how far back its memory must reach."
            )


def _agent_share(conversations: Sequence[ConversationResult]) -> float | None:
    tokens = sum(conversation.tokens for conversation in conversations)
    if tokens:
        return sum(conversation.reply_tokens for conversation in conversations) / tokens
    return None


def _left_out(change: Change) -> Iterable[str]:
    paired = change.paired
    unscored = paired.unscored_before + paired.unscored_after + paired.unscored_both
    if unscored:
        examples = pluralize(unscored, "example")
        yield f"{change.label}: {examples} without a score before or now, left out of these means."
    if change.only_before or change.only_after:
        alone = ", ".join(first_and_rest(change.alone, _MOST_TRIALS, "and {:,} more"))
        trials = f" (trials of one side only: {alone})" if alone else ""
        lone = f"{pluralize(change.only_before, 'example')} of the earlier and {change.only_after:,} of the later side"
        yield f"{change.label}: not compared: {lone}{trials}."
    if change.partial:
        yield f"{change.label}: what was said in between differs; only the examples equal in both are compared."


def changes_json(changes: Changes) -> dict[str, Any]:
    """Return the comparison as JSON values."""
    names = ("before", "before_agent", "after", "uncompared", "collapses")
    return {
        **fields_of(changes, *names),
        "changes": [_change_json(change) for change in changes.changes],
    }


def _is_corrected(change: Change) -> bool:
    comparisons = change.scenarios.values()
    return any(comparison.adjusted is not None for comparison in comparisons)


def _change_json(change: Change) -> dict[str, Any]:
    paired = change.paired
    scenarios: dict[str, dict[str, Any]] = {}
    for name, level in change.levels.items():
        comparison = _comparison_json(change.scenarios[name])
        scenarios[name] = fields_of(level, "before", "after") | comparison
    return {
        **fields_of(change, "agent", "span_label"),
        "before": change.level and change.level.before,
        "after": change.level and change.level.after,
        **_comparison_json(change.overall),
        **fields_of(change, "lost_passes", "won_passes"),
        "p_mcnemar": change.mcnemar,
        "without_score": {
            "before": paired.unscored_before,
            "after": paired.unscored_after,
            "both": paired.unscored_both,
        },
        **fields_of(change, "only_before", "only_after", "partial"),
        "scenarios": scenarios,
    }


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "difference": comparison.difference,
        "interval": comparison.interval
        and [comparison.interval.low, comparison.interval.high],
        **fields_of(comparison, "p", "p_drop"),
        "p_holm": comparison.adjusted,
        **fields_of(comparison, "detectable", "pairs", "better", "worse", "reason"),
    }


# --- The output of a gate: the verdict in one line, the findings behind it, annotations
# for GitHub, JSON values.

_PLACES = 3
MORE = "  … and {:,} more"
# The most breaches, or rules that cannot be evaluated, to list.
MOST_LISTED = 12


def name_verdict(verdict: GateVerdict) -> str:
    """Return the verdict in a few words: passed, regressed, failed or could not be measured."""
    if verdict.state == "passed":
        return "passed"
    if verdict.state == "unmeasurable":
        return "could not be measured"
    is_drop = any(finding.moved for finding in verdict.breaches)
    return "regressed" if is_drop else "failed"


def verdict_line(verdict: GateVerdict) -> str:
    """Return the verdict in one sentence: passed, regressed or failed (where), could not be measured (why)."""
    broken = verdict.breaches
    if verdict.state == "passed":
        places = {(finding.agent, finding.span_label) for finding in verdict.findings}
        if len(places) == 1:
            where = "one agent at one memory span"
        else:
            where = f"{len(places):,} agents and memory spans"
        counts = (
            f"{pluralize(_count_rules(verdict.findings), 'rule')}, each for {where}"
        )
        return f"gate: passed ({counts if places else 'no example ended in an error'})"
    if verdict.state == "failed":
        reasons = join_some(
            list(dict.fromkeys(finding.place for finding in broken)), _PLACES
        )
        return (
            f"gate: {name_verdict(verdict)}: {reasons}, "
            f"{pluralize(_count_rules(broken), 'rule')} broken"
        )
    reason = (
        verdict.lost
        or f"{pluralize(_count_rules(verdict.unknown), 'rule')} cannot be evaluated"
    )
    return f"gate: {name_verdict(verdict)}: {reason}"


def _count_rules(findings: Iterable[Finding]) -> int:
    return len({finding.rule for finding in findings})


def verdict_lines(verdict: GateVerdict, width: int) -> list[str]:
    """Return the verdict followed by each breach and each rule that cannot be evaluated."""
    status = f" (exit status {verdict.status})" if verdict.status else ""
    lines = wrap_text(one_line(verdict_line(verdict) + status), width, "  ")
    result = [f"  - {text}" for text in verdict_details(verdict)]
    return lines + wrap_texts(first_and_rest(result, MOST_LISTED, MORE), width, "    ")


def verdict_details(verdict: GateVerdict) -> list[str]:
    """Return a sentence for each breach and each rule that cannot be evaluated.

    If the whole run cannot be measured, breaches are omitted: the losses may explain them. If it passed, the power of
    each rule about a change is included.
    """
    result = () if verdict.lost else (*verdict.breaches, *verdict.unknown)
    if verdict.state == "passed":
        result = tuple(finding for finding in verdict.findings if finding.moved)
    return [one_line(finding.text) for finding in result]


def rule_lines(rules: Sequence[Rule], width: int) -> list[str]:
    """Return the gate's rules, a sentence each."""
    return wrap_texts(
        (f"  {one_line(rule.text)}: {one_line(rule.sentence)}" for rule in rules),
        width,
        "    ",
    )


def github_annotations(verdict: GateVerdict) -> list[str]:
    """Return GitHub workflow commands if in a GitHub job: an error per breach, a warning if it is unmeasurable."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return []
    if verdict.state == "unmeasurable":
        texts = [verdict_line(verdict), *verdict_details(verdict)]
        title = "long-term memory: not measurable"
        return [_workflow_command("warning", title, ". ".join(texts))]
    commands: list[str] = []
    for finding in verdict.breaches:
        title = f"long-term memory: {finding.rule}"
        commands.append(_workflow_command("error", title, finding.text))
    return commands


def _workflow_command(kind: str, title: str, text: str) -> str:
    """Return a workflow command whose values can neither end it nor begin another.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    message = _escape_command(one_line(text))
    heading = _escape_command(one_line(title))
    heading = heading.replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={heading}::{message}"


def _escape_command(text: str) -> str:
    # % first, or the escapes of the others would be escaped again
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


def gate_from_json(recorded: object, where: str) -> GateVerdict | None:
    """Return the verdict that `gate_json` wrote, or None if there is none; LtmError if it is unreadable."""
    if not isinstance(recorded, dict):
        return None
    # the record does not mark findings about changes, but the sentence reveals whether
    # there is one
    regressed = "regressed" in str(recorded.get("sentence"))
    findings = from_record(tuple[Finding, ...], recorded.get("findings", []), where)
    marked: list[Finding] = []
    for finding in findings:
        moved = regressed and finding.state == "failed"
        marked.append(structs.replace(finding, moved=moved))
    return GateVerdict(findings=tuple(marked), lost=str(recorded.get("lost", "")))
