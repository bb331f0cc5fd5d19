"""Sentences on a run: how far each agent remembers, and what was checked before the first conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm._journal.result import span_place
from pytest_ltm._results.statistics.spans_reached import effective_span
from pytest_ltm._results.statistics.totals import grouped
from pytest_ltm._results.text import amount, counted, exact, one_line
from pytest_ltm._storage.schema import fields_of

if TYPE_CHECKING:
    from pytest_ltm._journal.result import Precheck, RunResult
    from pytest_ltm._results.statistics.spans_reached import EffectiveSpan, SpanPoint


def spans_of(run: RunResult) -> dict[str, EffectiveSpan]:
    """Return the effective span of each agent that was tested isolated and at a memory span; by label."""
    agents = grouped(run.conversations, lambda held: held.agent)
    both = {agent: held for agent, held in agents.items() if len({each.span is None for each in held}) > 1}
    rows = {agent: [row for each in held for row in each.scenarios] for agent, held in both.items()}
    return {agent: effective_span(of) for agent, of in rows.items()}


def span_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each agent that was tested isolated and at a memory span."""
    return [f"{one_line(agent)}: {span_sentence(found)}" for agent, found in spans_of(run).items()]


def span_sentence(found: EffectiveSpan) -> str:
    """Return between which spans an agent's effective one lies, and what the run kept at each."""
    if found.span is None:
        return f"effective memory span unknown: {found.reason}"
    curve = ", ".join(f"{_kept(point)} {one_line(span_place(point.label))}" for point in found.curve)
    known = (
        f"{short_span(found)} tokens" if found.low or not _beyond(found) else "not known: more trials would narrow it"
    )
    what = f"{found.level:.0%} interval of the span up to which it keeps {found.share:.0%} of its isolated score"
    return f"effective memory span {known} ({what}); this run kept {curve}"


def short_span(found: EffectiveSpan) -> str:
    """Return `2k to 8k`, `at most 8k`, `32k or more`, `unknown`: no point, which would often be wrong."""
    if found.low is None or found.high is None or (_beyond(found) and not found.low):
        return "unknown"
    if _beyond(found):
        return f"{_tokens(found.low)} or more"
    if not found.high:
        return f"less than {_tokens(found.curve[0].span)}"
    if found.low == found.high:
        return _tokens(found.low)
    return f"{_tokens(found.low)} to {_tokens(found.high)}" if found.low else f"at most {_tokens(found.high)}"


def _beyond(found: EffectiveSpan) -> bool:
    return bool(found.curve) and found.high == found.curve[-1].span


def _kept(point: SpanPoint) -> str:
    return "-" if point.kept is None else f"{point.kept:.0%}"


def _tokens(number: int) -> str:
    return f"{number // 1000}k" if number and number % 1000 == 0 else amount(number)


def spans_json(run: RunResult) -> list[dict[str, Any]]:
    """Return the effective spans as JSON values."""
    names, point_names = ("low", "high", "at_least", "share", "level", "reason"), ("isolated", "score", "kept")
    return [
        {
            "agent": agent,
            "kept_in_run": found.span,
            **fields_of(found, *names),
            "curve": [
                {"span_label": point.label, **fields_of(point, "span", *point_names, "pairs")} for point in found.curve
            ],
        }
        for agent, found in spans_of(run).items()
    ]


_FINDINGS = {
    "clean": "nothing leaks between conversations", "right": "all were graded right",
    "unfinished": "it was cut off",
}  # fmt: skip


def precheck_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each agent that was probed, and one on the judge's canaries, with what they cost."""
    return [_precheck_sentence(one) for one in run.prechecks]


def _precheck_sentence(one: Precheck) -> str:
    who = f"isolation probe of {one.of!r}" if one.kind == "probe" else "judge's canaries"
    found = f"skipped: {one.why}" if one.verdict == "skipped" else _FINDINGS.get(one.verdict, one.why)
    parts = [counted(one.calls, "message" if one.kind == "probe" else "call")]
    about = "~" * one.estimated
    parts += [f"{about}{counted(one.tokens, 'token')}"] * bool(one.tokens)
    parts += [] if one.cost_usd is None else [f"{about}${exact(one.cost_usd)}"]
    return f"{who}: {found}" + f" ({', '.join(parts)})" * bool(one.calls)
