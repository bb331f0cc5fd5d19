"""What changed against a baseline, as lines for a terminal and as JSON values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm.reporting._text import clip, counted, left, one_line, right, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_ltm._gate._changes import Change, Changes
    from pytest_ltm._statistics import Comparison

MOST = 8
"""So many scenarios that moved are listed for each agent and span."""
MOVED = 0.005
"""A scenario that moved by less is not listed where others moved more."""
_HEAD = ("before", "now", "change", "95 % interval", "p (drop)")
_WIDTHS = (6, 6, 7, 14, 8)
_TINY = 0.001
_MOST_TRIALS = 4
_NOISE = 1e-9


def change_lines(found: Changes, width: int) -> list[str]:
    """Return what the terminal says, no line wider than `width` (at least 62): a table, and what it could have seen."""
    label = max(16, min(30, width - sum(_WIDTHS) - len(_WIDTHS) - 1))
    lines = wrap(f"Compared with {_who(found)}; p: how often equal agents lose as much by chance.", width)
    lines += ["", _line("", _HEAD, label)]
    for change in found.changes:
        lines.append(_line(change.label, overall_cells(change), label))
        lines += [_line(name, scenario_cells(change, name), label, "  ") for name in listed(change)]
        more = len(movers(change)) - MOST
        lines += [f"  … and {counted(more, 'more scenario')} moved"] * (more > 0)
    lines.append("")
    for sentence in sentences(found):
        lines += wrap(sentence, width, "  ")
    return lines


def _who(found: Changes) -> str:
    agent = f" (agent {one_line(found.before_agent)})" if found.before_agent else ""
    return f"{one_line(found.before)}{agent}"


def _line(label: str, cells: Sequence[str], width: int, indent: str = "") -> str:
    shown = left(indent + clip(one_line(label), width - len(indent)), width)
    return (shown + "".join(f" {right(cell, size)}" for cell, size in zip(cells, _WIDTHS, strict=True))).rstrip()


def overall_cells(change: Change) -> tuple[str, ...]:
    """Return before, now, change, interval and p of all scenarios together."""
    if change.level is None:
        return ("-", "-", "-", "", "")
    p = change.overall.p_drop
    return (
        f"{change.level.before:.2f}",
        f"{change.level.after:.2f}",
        _signed(change.level.difference, same=change.identical),
        _interval(change.overall),
        "-" if p is None else chance(p),
    )


def scenario_cells(change: Change, name: str) -> tuple[str, ...]:
    """Return the same of one scenario; its p is corrected for looking at all of them."""
    level, comparison = change.levels[name], change.scenarios[name]
    return (
        f"{level.before:.2f}",
        f"{level.after:.2f}",
        _signed(level.difference, same=comparison.identical),
        _interval(comparison) if comparison.can_tell else "",
        "-" if comparison.adjusted is None else chance(comparison.adjusted),
    )


def _signed(difference: float, *, same: bool) -> str:
    if same or difference == 0:
        return "0"
    text = f"{difference:+.2f}"
    return f"{difference:+.4f}" if text in ("+0.00", "-0.00") else text


def _interval(comparison: Comparison) -> str:
    if comparison.interval is None:
        return ""
    return f"{comparison.interval.low:+.2f} … {comparison.interval.high:+.2f}"


def chance(p: float) -> str:
    """Return `<0.001` or three decimals."""
    return "<0.001" if p < _TINY else f"{p:.3f}"


def movers(change: Change) -> list[str]:
    """Return the scenarios whose mean is another now, what lost most first."""
    moved = [(level.difference, name) for name, level in change.levels.items() if abs(level.difference) > _NOISE]
    return [name for _, name in sorted(moved)]


def listed(change: Change) -> list[str]:
    """Return those that are shown: where there are many, the ones that moved most."""
    names = movers(change)
    if len(names) <= MOST:
        return names
    kept = sorted(names, key=lambda name: -abs(change.levels[name].difference))[:MOST]
    return [name for name in names if name in kept]


def sentences(found: Changes) -> list[str]:
    """Return what a reader must know of the comparison: what is in it, what it could have seen, what it leaves out."""
    told = [change for change in found.changes if change.identical or change.overall.can_tell]
    said = [_outcome(change, found.before, max(1, found.looks)) for change in told]
    said += [sentence for change in found.changes for sentence in [*_passes(change), *_detectable(change)]]
    said += [*_alone(found), *_of_scenarios(found)]
    said += [sentence for change in found.changes for sentence in _left_out(change)]
    if found.uncompared:
        said.append(f"{found.before} has no memory span {', '.join(found.uncompared)}: not compared.")
    return said


def _alone(found: Changes) -> list[str]:
    """Return what p and interval suppose where each run is a single conversation."""
    if not any(change.overall.conversations == 1 and change.overall.can_tell for change in found.changes):
        return []
    shown = "One conversation does not show what befalls all of it"
    supposed = "p and interval suppose that this scatters as much as what befalls one scenario"
    return [f"{shown}: {supposed}. With more trials it is measured, and smaller drops are seen."]


def _of_scenarios(found: Changes) -> list[str]:
    """Return what the lines of single scenarios say, and what they do not."""
    shown = [change for change in found.changes if movers(change)]
    if any(one.adjusted is not None for change in shown for one in change.scenarios.values()):
        return ["p of a scenario is corrected for looking at all of them (Holm)."]
    if shown:
        return ["The scenarios show where it moved; whether one of them moved by chance takes more trials to tell."]
    return []


def _outcome(change: Change, before: str, looks: int) -> str:
    """Return which of the two is better, or that nobody can tell, with all that it rests on."""
    if change.identical:
        examples = counted(len(change.paired.pairs), "example")
        return f"{change.label}: every one of {examples} has exactly the score it had."
    overall = change.overall
    lost, gained = overall.p_drop or 0.0, overall.p_gain or 0.0
    significant = min(lost, gained) <= overall.alpha / looks
    word = ("worse" if lost < gained else "better") if significant else ""
    verdict = f"is {word} than {before}" if word else f"cannot be told from {before} by more than chance explains"
    where = f"95 % interval {_interval(overall)}; " if overall.interval else ""
    many = f", one of {looks} looks" if looks > 1 else ""
    rests = f"{counted(overall.pairs, 'example')} in {counted(overall.conversations, 'conversation')} each"
    p = f"one-sided p {_equals(min(lost, gained))}{many}"
    return f"{change.label} {verdict}: {_signed(overall.difference or 0.0, same=False)} ({where}{p}; {rests})."


def _passes(change: Change) -> list[str]:
    if not (change.lost_passes or change.won_passes):
        return []
    lost = (
        f"{counted(change.lost_passes, 'example')} that passed before {'does' if change.lost_passes == 1 else 'do'} not"
    )
    how = f"McNemar's exact p {_equals(change.mcnemar)}, examples taken for independent"
    return [f"{change.label}: {lost} now, {change.won_passes:,} the other way round ({how})."]


def _equals(p: float) -> str:
    return "< 0.001" if p < _TINY else f"= {p:.3f}"


def _detectable(change: Change) -> list[str]:
    found = change.overall
    if found.reason:
        return [f"{change.label}: whether it dropped cannot be told: {found.reason}."]
    if found.detectable is None:
        return [f"{change.label}: hardly any drop would stand out from chance: take more trials."]
    how = f"{found.power:.0%} power at a level of {found.alpha:.0%}"
    seen = f"a drop of the mean by less than {found.detectable:.2f} would mostly pass for chance"
    return [f"{change.label}: {seen} ({how})."]


def _left_out(change: Change) -> Iterable[str]:
    paired = change.paired
    lost = paired.unscored_before + paired.unscored_after + paired.unscored_both
    if lost:
        yield f"{change.label}: {counted(lost, 'example')} without a score before or now, in no mean here."
    if change.only_before or change.only_after:
        trials = f" (trials that only one has: {_few(change.alone)})" if change.alone else ""
        lone = f"{counted(change.only_before, 'example')} of the earlier and {change.only_after:,} of the later side"
        yield f"{change.label}: not compared: {lone}{trials}."
    if change.partial:
        yield f"{change.label}: other things were said in between; only the examples equal in both are compared."


def _few(trials: Sequence[str]) -> str:
    more = [f"and {len(trials) - _MOST_TRIALS} more"] if len(trials) > _MOST_TRIALS else []
    return ", ".join([*trials[:_MOST_TRIALS], *more])


def changes_json(found: Changes) -> dict[str, Any]:
    """Return the comparison as JSON values."""
    return {
        "before": found.before,
        "before_agent": found.before_agent,
        "after": found.after,
        "uncompared": list(found.uncompared),
        "changes": [_change_json(change) for change in found.changes],
    }


def _change_json(change: Change) -> dict[str, Any]:
    return {
        "agent": change.agent,
        "span_label": change.span_label,
        "before": change.level and change.level.before,
        "after": change.level and change.level.after,
        **_comparison_json(change.overall),
        "lost_passes": change.lost_passes,
        "won_passes": change.won_passes,
        "p_mcnemar": change.mcnemar,
        "without_score": {
            "before": change.paired.unscored_before,
            "after": change.paired.unscored_after,
            "both": change.paired.unscored_both,
        },
        "only_before": change.only_before,
        "only_after": change.only_after,
        "partial": change.partial,
        "scenarios": {
            name: {"before": level.before, "after": level.after, **_comparison_json(change.scenarios[name])}
            for name, level in change.levels.items()
        },
    }


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {
        "difference": found.difference,
        "interval": found.interval and [found.interval.low, found.interval.high],
        "p": found.p,
        "p_drop": found.p_drop,
        "p_holm": found.adjusted,
        "detectable": found.detectable,
        "pairs": found.pairs,
        "better": found.better,
        "worse": found.worse,
        "reason": found.reason,
    }
