"""Sentences on a run: how far each agent remembers, and what was checked before the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_ltm.api.journal import (
    ConversationResult,
    Precheck,
    RunResult,
    at_span,
    span_place,
)
from pytest_ltm.api.model import ACCOUNTS, Account, Mishap, add_mishaps
from pytest_ltm.api.storage import fields_of, join_words, lazy, one_line, pluralize
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import NOTHING, exact_dollars, short_count

if TYPE_CHECKING:
    from pytest_ltm.figures.statistics.spans_reached import EffectiveSpan

# Only agents that were also tested isolated have an effective span.
_effective_span = lazy("pytest_ltm.figures.statistics.spans_reached:effective_span")


def spans_of(run: RunResult) -> dict[str, EffectiveSpan]:
    """Return by label the effective span of each agent tested both isolated and at a memory span."""
    agents = group_by(run.conversations, lambda conversations: conversations.agent)
    spans = {}
    for agent, conversations in agents.items():
        # A curve needs both ends: an isolated score to keep, and a span at which to
        # lose some of it.
        if len({conversation.span is None for conversation in conversations}) > 1:
            rows = [conversation.scenarios for conversation in conversations]
            spans[agent] = _effective_span(chain.from_iterable(rows))
    return spans


def span_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each agent tested both isolated and at a memory span."""
    sentences: list[str] = []
    for agent, result in spans_of(run).items():
        sentences.append(f"{one_line(agent)}: {span_sentence(result)}")
    return sentences


def mishap_sentences(conversations: Iterable[ConversationResult]) -> list[str]:
    """Return a sentence per agent and span on the mishaps that occurred."""
    totals: dict[tuple[str, str], dict[str, Mishap]] = {}
    for conversation in conversations:
        add_mishaps(
            totals.setdefault((conversation.agent, conversation.span_label), {}),
            conversation.mishaps,
        )
    sentences = []
    for (agent, span), total in totals.items():
        place = at_span(one_line(agent), one_line(span))
        for mishap in total.values():
            if mishap.of:
                count = f"{mishap.times:,} of {mishap.of:,}"
            else:
                count = pluralize(mishap.times, "time")
            if mishap.times:
                sentences.append(f"{place}: {one_line(mishap.what)}: {count}")
    return sentences


def account_sentences(conversations: Iterable[ConversationResult]) -> list[str]:
    """Return a sentence per agent and span on incomplete replies, by account; empty if all were complete."""
    totals: dict[tuple[str, str], Counter[Account]] = {}
    for conversation in conversations:
        total = totals.setdefault(
            (conversation.agent, conversation.span_label), Counter()
        )
        total.update(dict(conversation.accounts))
    sentences: list[str] = []
    for (agent, span), total in totals.items():
        if total:
            label = at_span(one_line(agent), one_line(span))
            sentences.append(f"{label}: {_count_by_account(total)}")
    return sentences


def _count_by_account(total: Counter[Account]) -> str:
    counts: list[str] = []
    for name in ACCOUNTS:
        if total[name] and name != "whole":
            counts.append(f"{total[name]:,} {name}")
    return f"replies that were not whole: {', '.join(counts)}"


def span_sentence(result: EffectiveSpan) -> str:
    """Return the bounds of an agent's effective span, and the share kept at each span."""
    if result.span is None:
        return f"effective memory span unknown: {result.reason}"
    points = []
    for point in result.curve:
        share = NOTHING if point.kept is None else f"{point.kept:.0%}"
        points.append(f"{share} {one_line(span_place(point.label))}")
    finding = "not known: more trials would narrow it"
    if result.low or not _reaches_last_span(result):
        finding = f"{short_span(result)} tokens"
    meaning = f"{result.level:.0%} interval of the span up to which it keeps {result.share:.0%} of its isolated score"
    return f"effective memory span {finding} ({meaning}); this run kept {', '.join(points)}"


def short_span(result: EffectiveSpan) -> str:
    """Return a range such as `2k to 8k`, `at most 8k`, `32k or more` or `unknown`: a point would often be wrong."""
    if (
        result.low is None
        or result.high is None
        or (_reaches_last_span(result) and not result.low)
    ):
        return "unknown"
    # The interval ends at the largest measured span; larger ones were not played.
    if _reaches_last_span(result):
        return f"{_span_text(result.low)} or more"
    if not result.high:
        return f"less than {_span_text(result.curve[0].span)}"
    if result.low == result.high:
        return _span_text(result.low)
    upper = _span_text(result.high)
    if result.low:
        return f"{_span_text(result.low)} to {upper}"
    return f"at most {upper}"


def _reaches_last_span(result: EffectiveSpan) -> bool:
    return bool(result.curve) and result.high == result.curve[-1].span


def _span_text(number: int) -> str:
    if number and number % 1000 == 0:
        return f"{number // 1000}k"
    return short_count(number)


def spans_json(run: RunResult) -> list[dict[str, Any]]:
    """Return the effective spans as JSON values."""
    names = ("low", "high", "at_least", "share", "level", "reason")
    point_names = ("span", "isolated", "score", "kept", "pairs")
    records = []
    for agent, result in spans_of(run).items():
        curve: list[dict[str, Any]] = []
        for point in result.curve:
            fields = fields_of(point, *point_names)
            curve.append({"span_label": point.label, **fields})
        fields = fields_of(result, *names)
        records.append(
            {"agent": agent, "kept_in_run": result.span, **fields, "curve": curve}
        )
    return records


_FINDINGS = {
    "clean": "nothing leaks between conversations",
    "leaks": "it leaks between conversations",
    "unfinished": "it was cut off",
}


def precheck_sentences(run: RunResult) -> list[str]:
    """Return a sentence per probed agent, and one on the judge's canaries, with their costs."""
    sentences = []
    for precheck in run.prechecks:
        # Agents get messages and a judge gets calls, as in the rest of the report.
        if precheck.kind == "probe":
            title = f"isolation probe of {precheck.of!r}"
            parts = [pluralize(precheck.calls, "message")]
        else:
            title = f"judge's {precheck.kind}"
            parts = [pluralize(precheck.calls, "call")]
        if precheck.verdict == "skipped":
            text = f"skipped: {precheck.why}"
        else:
            finding = _FINDINGS.get(precheck.verdict)
            text = finding or precheck.why or "all were graded right"
        sign = "~" if precheck.estimated else ""
        if precheck.tokens:
            parts.append(f"{sign}{pluralize(precheck.tokens, 'token')}")
        if precheck.cost_usd is not None:
            parts.append(f"{sign}${exact_dollars(precheck.cost_usd)}")
        spent = f" ({', '.join(parts)})" if precheck.calls else ""
        sentences.append(f"{title}: {text}{_rates_by_kind(precheck)}{spent}")
    return sentences


def _rates_by_kind(precheck: Precheck) -> str:
    """Return how many answers of each kind a judge misjudged; "" if none."""
    if not any(rate.missed for rate in precheck.rates):
        return ""
    rates = [f"{rate.kind} {rate.missed} of {rate.asked}" for rate in precheck.rates]
    return f"; by kind: {', '.join(rates)}"


def trust_sentence(
    places: Mapping[str, str],
    texts: str,
    *,
    has_judge: bool,
    prechecks: Iterable[Precheck],
) -> str:
    """Return in one sentence what the scores of a run depend on; "" if there is nothing to say.

    `places`: where each agent runs, as a clause after its label. `texts`: whether the texts were public; "" if unknown.
    """
    parts = []
    for place, labels in group_by(places, places.__getitem__).items():
        verb = "runs" if len(labels) == 1 else "run"
        parts.append(f"{join_words(labels)} {verb} {place}")
    if texts:
        parts.append(texts)
    if has_judge:
        judge = "the judge was not checked during the run"
        for precheck in prechecks:
            if precheck.kind == "checks":
                judge = precheck.why.partition(": ")[0]
                break
        parts.append(judge)
    return "; ".join(parts)
