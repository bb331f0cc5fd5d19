"""Sentences on a run: how far each agent remembers, and what was checked before the first conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_ltm._core.journal.result import (
    ConversationResult,
    Precheck,
    RunResult,
    at_span,
    span_place,
)
from pytest_ltm._core.model.account import ACCOUNTS, Account
from pytest_ltm._core.model.agent import Mishap, add_mishaps
from pytest_ltm._core.storage.schema import fields_of
from pytest_ltm._core.storage.wording import join_words, one_line, pluralize
from pytest_ltm.figures.statistics.comparison import (
    ALPHA,
    Comparison,
    chance_here,
    trials_to_tell,
)
from pytest_ltm.figures.statistics.pairs import Pair
from pytest_ltm.figures.statistics.spans_reached import EffectiveSpan, effective_span
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.figures.text import exact_dollars, short_count
from pytest_ltm.gate.verdict import p_text


def spans_of(run: RunResult) -> dict[str, EffectiveSpan]:
    """Return the effective span of each agent that was tested isolated and at a memory span; by label."""
    agents = group_by(run.conversations, lambda held: held.agent)
    # one point is no curve: without either place there is nothing to keep, or nothing
    # to lose
    both = {
        agent: held
        for agent, held in agents.items()
        if len({each.span is None for each in held}) > 1
    }
    rows = {
        agent: [row for each in held for row in each.scenarios]
        for agent, held in both.items()
    }
    return {agent: effective_span(of) for agent, of in rows.items()}


def span_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each agent that was tested isolated and at a memory span."""
    return [
        f"{one_line(agent)}: {span_sentence(result)}"
        for agent, result in spans_of(run).items()
    ]


def mishap_sentences(conversations: Iterable[ConversationResult]) -> list[str]:
    """Return a sentence for all that went wrong within an agent at a span, but what never did."""
    totals: dict[tuple[str, str], dict[str, Mishap]] = {}
    for held in conversations:
        add_mishaps(totals.setdefault((held.agent, held.span_label), {}), held.mishaps)
    return [
        f"{at_span(one_line(agent), one_line(span))}: {one_line(mishap.what)}: "
        + (
            f"{mishap.times:,} of {mishap.of:,}"
            if mishap.of
            else pluralize(mishap.times, "time")
        )
        for (agent, span), total in totals.items()
        for mishap in total.values()
        if mishap.times
    ]


def account_sentences(conversations: Iterable[ConversationResult]) -> list[str]:
    """Return how many replies of an agent at a span were not whole, by account; nothing where all were."""
    totals: dict[tuple[str, str], Counter[Account]] = {}
    for held in conversations:
        total = totals.setdefault((held.agent, held.span_label), Counter())
        total.update(dict(held.accounts))
    return [
        f"{at_span(one_line(agent), one_line(span))}: {_count_by_account(total)}"
        for (agent, span), total in totals.items()
        if total
    ]


def _count_by_account(total: Counter[Account]) -> str:
    counts = [
        f"{total[name]:,} {name}"
        for name in ACCOUNTS
        if total[name] and name != "whole"
    ]
    return f"replies that were not whole: {', '.join(counts)}"


def span_sentence(result: EffectiveSpan) -> str:
    """Return between which spans an agent's effective one lies, and what the run kept at each."""
    if result.span is None:
        return f"effective memory span unknown: {result.reason}"
    shares = [
        "-" if point.kept is None else f"{point.kept:.0%}" for point in result.curve
    ]
    places = [one_line(span_place(point.label)) for point in result.curve]
    curve = ", ".join(
        f"{share} {place}" for share, place in zip(shares, places, strict=True)
    )
    known, short = "not known: more trials would narrow it", short_span(result)
    if result.low or not _reaches_last_span(result):
        known = f"{short} tokens"
    what = f"{result.level:.0%} interval of the span up to which it keeps {result.share:.0%} of its isolated score"
    return f"effective memory span {known} ({what}); this run kept {curve}"


def short_span(result: EffectiveSpan) -> str:
    """Return `2k to 8k`, `at most 8k`, `32k or more`, `unknown`: no point, which would often be wrong."""
    if (
        result.low is None
        or result.high is None
        or (_reaches_last_span(result) and not result.low)
    ):
        return "unknown"
    # The interval ends where the measurements end; what lies beyond was not played.
    if _reaches_last_span(result):
        return f"{_span_text(result.low)} or more"
    if not result.high:
        return f"less than {_span_text(result.curve[0].span)}"
    if result.low == result.high:
        return _span_text(result.low)
    most = _span_text(result.high)
    return f"{_span_text(result.low)} to {most}" if result.low else f"at most {most}"


def _reaches_last_span(result: EffectiveSpan) -> bool:
    return bool(result.curve) and result.high == result.curve[-1].span


def _span_text(number: int) -> str:
    return (
        f"{number // 1000}k" if number and number % 1000 == 0 else short_count(number)
    )


def spans_json(run: RunResult) -> list[dict[str, Any]]:
    """Return the effective spans as JSON values."""
    names, point_names = (
        ("low", "high", "at_least", "share", "level", "reason"),
        ("isolated", "score", "kept"),
    )
    return [
        {
            "agent": agent,
            "kept_in_run": result.span,
            **fields_of(result, *names),
            "curve": [
                {
                    "span_label": point.label,
                    **fields_of(point, "span", *point_names, "pairs"),
                }
                for point in result.curve
            ],
        }
        for agent, result in spans_of(run).items()
    ]


_FINDINGS = {
    "clean": "nothing leaks between conversations",
    "unfinished": "it was cut off",
}


def precheck_sentences(run: RunResult) -> list[str]:
    """Return a sentence for each agent that was probed, and one on the judge's canaries, with what they cost."""
    sentences = []
    for one in run.prechecks:
        who = (
            f"isolation probe of {one.of!r}"
            if one.kind == "probe"
            else f"judge's {one.kind}"
        )
        text = _FINDINGS.get(one.verdict) or one.why or "all were graded right"
        text = f"skipped: {one.why}" if one.verdict == "skipped" else text
        # Agents get messages, a judge gets calls: the words of the rest of the report.
        parts = [pluralize(one.calls, "message" if one.kind == "probe" else "call")]
        about = "~" * one.estimated
        parts += [f"{about}{pluralize(one.tokens, 'token')}"] * bool(one.tokens)
        parts += (
            [] if one.cost_usd is None else [f"{about}${exact_dollars(one.cost_usd)}"]
        )
        spent = f" ({', '.join(parts)})" * bool(one.calls)
        sentences.append(f"{who}: {text}{_rates_by_kind(one)}{spent}")
    return sentences


def _rates_by_kind(precheck: Precheck) -> str:
    """Return how many answers of each kind a judge misjudged; "" where it misjudged none."""
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
    """Return what the scores of a run rest on, in one sentence; "" if there is nothing to say.

    `places`: where each agent runs, as a clause after its label. `texts`: whether they
    were public; "": it is unknown.
    """
    agents = [
        f"{join_words(list(labels))} {'runs' if len(labels) == 1 else 'run'} {place}"
        for place, labels in group_by(places, places.__getitem__).items()
    ]
    checks = next((one for one in prechecks if one.kind == "checks"), None)
    judge = (
        checks.why.partition(": ")[0]
        if checks
        else "the judge was not checked during the run"
    )
    return "; ".join([*agents, *[texts] * bool(texts), *[judge] * has_judge])


# --- A comparison: what held on these texts, and what holds elsewhere.


HERE, ELSEWHERE = "On these texts", "On other texts and in other conversations"


class ComparisonText(NamedTuple):
    """What a comparison says."""

    short: str
    """A few words: `Yes`, `On these texts`, `Not shown`."""
    here: str
    """A sentence about the texts and conversations that both had."""
    elsewhere: str
    """A sentence about others, and what would settle it."""
    brief: str
    """Both probabilities, for a table."""

    @property
    def text(self) -> str:
        """Both sentences."""
        return f"{self.here} {self.elsewhere}".strip()


def comparison_text(
    one: str,
    other: str,
    pairs: Sequence[Pair],
    comparison: Comparison,
    *,
    looks: int = 1,
) -> ComparisonText:
    """Return what `one`, the later side of the pairs, is against `other`; `looks`: the number of comparisons shown.

    A claim takes a probability of at most 0.05, either way, shared among those shown.
    """
    if not pairs:
        none = f"{one} and {other} share no example that both have a score for."
        return ComparisonText("Unknown", none, "", "unknown")
    if comparison.is_identical:
        same = f"{HERE} {one} and {other} have equal scores in all {pluralize(comparison.pairs, 'example')}."
        return ComparisonText("No difference", same, "", "equal")
    alpha = ALPHA / max(1, looks)
    many = f", one of {looks} comparisons" if looks > 1 else ""
    difference = comparison.difference or 0.0
    p = chance_here(pairs, alpha=ALPHA)
    shown = p is not None and p <= alpha
    real = comparison.can_tell and comparison.p is not None and comparison.p <= alpha
    short = (
        "Yes"
        if real
        else "On these texts"
        if shown
        else "Too little to tell"
        if p is None
        else "Not shown"
    )
    level = comparison.pairs - comparison.better - comparison.worse
    of = pluralize(comparison.pairs, "example")
    counts = f"better in {comparison.better:,}, worse in {comparison.worse:,}, equal in {level:,} of {of}"
    how = (
        "too few scenarios to tell that from chance"
        if p is None
        else f"two-sided p {p_text(p)}{many}"
    )
    explained = "" if shown or p is None else ", which chance explains"
    word = "better" if difference > 0 else "worse"
    # More digits where two would show nothing.
    share = f"{abs(difference):.{2 if abs(difference) >= 0.005 else 4}f}"
    where = (
        f"{word} than {other} by {share} of full marks"
        if difference
        else f"level with {other}"
    )
    here = f"{HERE} {one} is {where}{explained}: {counts} ({how})."
    if comparison.can_tell and comparison.p is not None:
        count = pluralize(comparison.conversations, "conversation")
        ends = comparison.interval
        details = f"95% interval {ends.low:+.2f} … {ends.high:+.2f}; " if ends else ""
        details += f"two-sided p {p_text(comparison.p)}{many}; {count} each"
        claim = f"{word}, too" if real and shown else word if real else "not shown"
        elsewhere, beyond = (
            f"{ELSEWHERE}: {claim} ({details}).",
            f"elsewhere p {p_text(comparison.p)}",
        )
    else:
        elsewhere, beyond = (
            f"{ELSEWHERE}: unknown, as {comparison.reason.partition(';')[0]}.",
            "elsewhere unknown",
        )
    more = "" if real else f" {_what_would_settle(pairs, comparison.conversations)}"
    brief = f"here {'unknown' if p is None else f'p {p_text(p)}'}, {beyond}"
    return ComparisonText(short, here, elsewhere + more, brief)


def _what_would_settle(pairs: Sequence[Pair], held: int) -> str:
    needed = trials_to_tell(pairs)
    if needed is None:
        return "Only many more trials would tell so small a difference."
    more = "" if held == 1 else f" in place of {held}"
    examples = pluralize(needed * len(pairs) // held, "example")
    return (
        f"{needed} trials of each{more} (--ltm-trials={needed}) would mostly tell a difference as large: "
        f"it takes at least {examples} of each."
    )
