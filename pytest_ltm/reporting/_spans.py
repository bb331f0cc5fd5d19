"""How far each agent remembers: the effective memory span, and what is left of the isolated score at each span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm._statistics import effective_span
from pytest_ltm.reporting._text import amount, one_line

if TYPE_CHECKING:
    from pytest_ltm._result import RunResult
    from pytest_ltm._statistics import EffectiveSpan, SpanPoint


def spans_of(run: RunResult) -> dict[str, EffectiveSpan]:
    """Return the effective span of each agent that was tested isolated and at a memory span; by label."""
    tested: dict[str, set[bool]] = {}
    for held in run.conversations:
        tested.setdefault(held.agent, set()).add(held.span is None)
    both = [agent for agent, kinds in tested.items() if len(kinds) > 1]
    return {agent: effective_span([row for row in run.scenarios if row.agent == agent]) for agent in both}


def span_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each agent that was tested isolated and at a memory span."""
    return [f"{one_line(agent)}: {span_sentence(found)}" for agent, found in spans_of(run).items()]


def span_sentence(found: EffectiveSpan) -> str:
    """Return how far an agent remembers, how sure that is, and what it keeps at each span."""
    if found.span is None:
        return f"effective memory span unknown: {found.reason}"
    curve = ", ".join(f"{_kept(point)} at {one_line(point.label)}" for point in found.curve)
    head = f"effective memory span {short_span(found)}"
    sure = ""
    if found.low is not None and found.high is not None:
        most = "more than was measured" if found.high == found.curve[-1].span else _tokens(found.high)
        sure = f" ({found.level:.0%} interval: {_tokens(found.low)} to {most})"
    return f"{head} tokens{sure}: up to there it keeps {found.share:.0%} of its isolated score; {curve}"


def short_span(found: EffectiveSpan) -> str:
    """Return `4k`, `32k or more`, `unknown`."""
    if found.span is None:
        return "unknown"
    return f"{_tokens(found.span)}{' or more' if found.at_least else ''}"


def _kept(point: SpanPoint) -> str:
    return "-" if point.kept is None else f"{point.kept:.0%}"


def _tokens(number: int) -> str:
    return f"{number // 1000}k" if number and number % 1000 == 0 else amount(number)


def spans_json(run: RunResult) -> list[dict[str, Any]]:
    """Return the effective spans as JSON values."""
    return [
        {
            "agent": agent,
            "span": found.span,
            "low": found.low,
            "high": found.high,
            "at_least": found.at_least,
            "share": found.share,
            "level": found.level,
            "reason": found.reason,
            "curve": [
                {
                    "span_label": point.label,
                    "span": point.span,
                    "isolated": point.isolated,
                    "score": point.score,
                    "kept": point.kept,
                    "pairs": point.pairs,
                }
                for point in found.curve
            ],
        }
        for agent, found in spans_of(run).items()
    ]
