"""A sentence on each agent under test: how far it remembers, what it loses first, how it stands beside the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from pytest_ltm._journal.result import span_place
from pytest_ltm._language.lists import join_words
from pytest_ltm._results.sentences import short_span
from pytest_ltm._results.statistics.comparison import compare_runs
from pytest_ltm._results.statistics.pairs import as_scored_row, pair_rows
from pytest_ltm._results.statistics.spans_reached import effective_span
from pytest_ltm._results.statistics.totals import FULL_MARKS, group_by
from pytest_ltm._results.text import format_percent, pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._results.columns import Column


class Placed(Protocol):
    """One agent at one memory span."""

    @property
    def agent(self) -> str:
        """Its label, told apart from those of other runs."""

    @property
    def column(self) -> Column:
        """What it did there."""


P = TypeVar("P", bound=Placed)


class AgentAtSpan(NamedTuple):
    """One agent at one memory span."""

    agent: str
    column: Column


class AgentSentence(NamedTuple):
    """What is said of one agent."""

    agent: str
    short: str
    """A few words: how much it remembers."""
    text: str
    """What it loses first, how it stands beside another, and how many of its examples have no score; may be empty."""

    @property
    def sentence(self) -> str:
        """All of it."""
        return f"{self.agent}: {'; '.join(filter(None, (self.short, self.text)))}"


def agent_sentences_for(sides: Iterable[Placed], before: Mapping[str, str] | None = None) -> list[AgentSentence]:
    """Return what is said of each agent under test, best at the largest memory span first.

    Agents of this package are under test only where there are no others, and controls never.

    Args:
        sides: Agents at memory spans, in any order.
        before: By agent, how it stands beside a baseline: "30 better, 0 worse than main"; others stand beside the best
            other agent.
    """
    known = list(sides)
    last = largest_span_label(known)
    ranked = rank_sides([side for side in known if side.column.span_label == last])
    order = {side.agent: place for place, side in enumerate(ranked)}
    by_agent = group_by([side for side in known if side.agent in agents_under_test(known)], lambda side: side.agent)
    agent_sentences = []
    for agent, of in sorted(by_agent.items(), key=lambda each: order.get(each[0], len(order))):
        there = next((side for side in ranked if side.agent == agent), None)
        others = [side for side in ranked if side.agent != agent]
        beside = (before or {}).get(agent, "") or (_beside_other(there, others[0]) if there and others else "")
        missing = sum(side.column.missing for side in of)
        parts = [_losses_sentence(of), beside, f"{pluralize(missing, 'example')} without a score" * bool(missing)]
        agent_sentences.append(AgentSentence(agent, _retention_sentence(of), "; ".join(filter(None, parts))))
    return agent_sentences


def agents_under_test(sides: Iterable[Placed]) -> frozenset[str]:
    """Return the agents that the runs are about."""
    free = [side for side in sides if not side.column.control]
    own = [side for side in free if not side.column.yardstick]
    return frozenset(side.agent for side in own or free)


def rank_sides(sides: Sequence[P]) -> list[P]:
    """Return the sides that have a score, best accuracy first, without controls.

    Nor are agents of this package among them, unless there are no others: nobody asks whether `full` is better.
    Those with a score in less than half of the scenarios that another has one in come last, as do those whose examples
    are mostly lost: they were hardly measured.
    """
    # An agent without any score is in no ranking, so it must not keep bundled agents out of it either.
    names = agents_under_test(side for side in sides if side.column.out_of)
    scored = [side for side in sides if side.agent in names and side.column.out_of]
    most = max((side.column.out_of for side in scored), default=0)

    def hardly(side: Placed) -> bool:
        return 2 * side.column.out_of < most or 2 * side.column.missing > len(side.column.rows)

    return sorted(scored, key=lambda side: (hardly(side), -(side.column.least or 0.0)))


def largest_span_label(sides: Iterable[Placed]) -> str:
    """Return the label of the largest memory span in tokens; `isolated` where there is no other."""
    columns = [side.column for side in sides]
    return max(columns, key=lambda column: column.span or 0).span_label if columns else ""


def _retention_sentence(sides: Sequence[Placed]) -> str:
    """Return how far it remembers: beside its isolated score where that is known, else beside its own best span."""
    if len({side.column.span is None for side in sides}) > 1:
        result = effective_span([row for side in sides for row in side.column.rows])
        if result.span is not None and (span := short_span(result)) != "unknown":
            return _reach_text(span, f"{result.share:.0%} of its isolated score", result.curve[0].label)
    scored = [side.column for side in sides if side.column.out_of]
    if not scored:
        return "nothing has a score"
    in_tokens = sorted((one for one in scored if one.span is not None), key=lambda one: one.span or 0) or scored
    last, best = in_tokens[-1], max(in_tokens, key=lambda one: one.least or 0.0)
    text = f"{_share_with_interval(last)} {_place_phrase(last)}"
    if len(in_tokens) == 1 or (best.least or 0.0) - (last.least or 0.0) < 1 - FULL_MARKS:
        return f"{text}, no less than at shorter spans" if len(in_tokens) > 1 else text
    return f"{text}, {best.share} at its best span, {best.span_label}"


def _reach_text(span: str, share: str, first: str) -> str:
    """Return how far that share is kept; `span`: as `short_span` has it."""
    if span.startswith("less than"):
        return f"keeps less than {share} at {first} already"
    if " to " in span:
        return f"keeps {share} up to a span of {span} tokens"
    least, more = span.removeprefix("at most "), span.removesuffix(" or more")
    if least != span:
        return f"keeps {share} up to {least} tokens at most"
    return f"keeps {share} up to {more} tokens" + " or more" * (more != span)


def _share_with_interval(column: Column) -> str:
    inside = column.interval
    return f"{column.share} [{format_percent(inside.low)} to {format_percent(inside.high)}]" if inside else column.share


def _place_phrase(column: Column) -> str:
    return f"in {column.span_label} examples" if column.span is None else span_place(column.span_label)


_FIRST = 2


def _losses_sentence(sides: Sequence[Placed]) -> str:
    """Return the scenarios that fall below full marks at the shortest span, most of it first."""
    columns = sorted((side.column for side in sides if side.column.out_of), key=lambda column: column.span or 0)
    for column in columns:
        lost = forgotten_scenarios(column)
        if lost:
            names = join_words([name for name, _ in lost[:_FIRST]])
            more = f" (of {len(lost)})" if len(lost) > _FIRST else ""
            return f"loses {names} first{more}" if len(columns) > 1 else f"loses most in {names}{more}"
    return "full marks everywhere" if columns else ""


def forgotten_scenarios(column: Column) -> list[tuple[str, float]]:
    """Return the scenarios without full marks and their mean scores, the worst first."""
    means = [(name, cell.mean) for name, cell in column.cells.items()]
    lost = [(name, mean) for name, mean in means if mean is not None and mean < FULL_MARKS]
    return sorted(lost, key=lambda each: (each[1], each[0]))


def _beside_other(one: Placed, other: Placed) -> str:
    pairs = pair_rows(*([as_scored_row(row, span_label="") for row in side.column.rows] for side in (other, one))).pairs
    if not pairs:
        return ""
    comparison = compare_runs(pairs)
    if comparison.identical:
        return f"equal to {other.agent} in all {pluralize(comparison.pairs, 'example')}"
    return f"{comparison.better:,} better, {comparison.worse:,} worse than {other.agent} {_place_phrase(one.column)}"
