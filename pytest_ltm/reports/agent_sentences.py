"""One sentence per agent: how far it remembers, what it forgets first, how it compares with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeVar

from pytest_ltm.api.journal import RunResult, span_place
from pytest_ltm.api.storage import join_words, lazy, one_line, pluralize
from pytest_ltm.figures.columns import Column, columns_with_memory, guessing_test
from pytest_ltm.figures.sentences import short_span
from pytest_ltm.figures.statistics.pairs import ScoredRow, as_scored_row, pair_rows
from pytest_ltm.figures.statistics.totals import FULL_MARKS, group_by
from pytest_ltm.figures.text import format_percent, p_text

# Needed only for runs with several agents, and with an isolated score.
_count_changes = lazy("pytest_ltm.figures.statistics.paired_comparison:count_changes")
_effective_span = lazy("pytest_ltm.figures.statistics.spans_reached:effective_span")


class Placed(Protocol):
    """One agent at one memory span."""

    @property
    def agent(self) -> str:
        """The agent's label, distinct from those of other runs."""

    @property
    def column(self) -> Column:
        """The agent's results at this span."""


P = TypeVar("P", bound=Placed)


class AgentAtSpan(NamedTuple):
    """One agent at one memory span."""

    agent: str
    column: Column


class AgentSentence(NamedTuple):
    """The sentence on one agent."""

    agent: str
    short: str
    """How much the agent remembers, in a few words."""
    text: str
    """What it forgets first, how it compares with another agent, how much has no score; may be empty."""

    @property
    def sentence(self) -> str:
        """The whole sentence."""
        return f"{self.agent}: {'; '.join(filter(None, (self.short, self.text)))}"


def agent_sentences_for(
    sides: Iterable[Placed], standings: Mapping[str, str] | None = None
) -> list[AgentSentence]:
    """Return a sentence on each agent under test, best at the largest memory span first.

    Bundled agents count as under test only if there are no others; controls never do.

    Args:
        sides: Agents at memory spans, in any order.
        standings: By agent, how it compares with a baseline: "better than main by 0.20";
            others stand beside the best other agent.
    """
    all_sides = list(sides)
    ranked = rank_at_largest_span(all_sides)
    order = {side.agent: place for place, side in enumerate(ranked)}
    tested = agents_under_test(all_sides)
    by_agent = group_by(all_sides, lambda side: side.agent)
    agent_sentences = []
    for agent in sorted(by_agent, key=lambda agent: order.get(agent, len(order))):
        if agent not in tested:
            continue
        agent_sides = by_agent[agent]
        parts = [
            _losses_sentence(agent_sides),
            _lead_phrase(_scored_columns(agent_sides)),
        ]
        rivals = [side for side in ranked if side.agent != agent]
        if standings and agent in standings:
            parts.append(standings[agent])
        elif agent in order and rivals:
            parts.append(_beside_other(ranked[order[agent]], rivals[0]))
        missing = sum(side.column.unscored_examples for side in agent_sides)
        if missing:
            parts.append(f"{pluralize(missing, 'example')} without a score")
        text = "; ".join(filter(None, parts))
        agent_sentences.append(
            AgentSentence(agent, _retention_sentence(agent_sides), text)
        )
    return agent_sentences


def agents_under_test(sides: Iterable[Placed]) -> frozenset[str]:
    """Return the labels of the agents under test."""
    free = [side for side in sides if not side.column.control]
    user_sides = [side for side in free if not side.column.is_bundled]
    return frozenset(side.agent for side in user_sides or free)


def rank_sides(sides: Sequence[P]) -> list[P]:
    """Return the sides that have a score, best accuracy first, without controls.

    Bundled agents are left out as well, unless there are no others: users do not ask whether `full` is better. Sides
    that were hardly measured come last: those with scores in less than half of the scenarios that another side has
    scores in, and those that lost most of their examples.
    """
    # An agent without any score is not ranked, so it must not exclude bundled agents
    # from the ranking either.
    names = agents_under_test(side for side in sides if side.column.out_of)
    scored = [side for side in sides if side.agent in names and side.column.out_of]
    full = max((side.column.out_of for side in scored), default=0)

    def hardly(side: Placed) -> bool:
        return 2 * side.column.out_of < full or 2 * side.column.unscored_examples > len(
            side.column.rows
        )

    return sorted(
        scored,
        key=lambda side: (hardly(side), -(side.column.accuracy_lower_bound or 0.0)),
    )


def rank_at_largest_span(sides: Sequence[P]) -> list[P]:
    """Rank the sides at the largest memory span, where agents differ most."""
    last = largest_span_label(sides)
    return rank_sides([side for side in sides if side.column.span_label == last])


def largest_span_label(sides: Iterable[Placed]) -> str:
    """Return the label of the largest memory span in tokens, or `isolated` if there is no other."""
    columns = [side.column for side in sides]
    if columns:
        return max(columns, key=lambda column: column.span or 0).span_label
    return ""


def _retention_sentence(sides: Sequence[Placed]) -> str:
    """Return how far an agent remembers, relative to its isolated score if known, else to its best span."""
    columns = _scored_columns(sides)
    if not columns:
        return "nothing has a score"
    remembering = columns_with_memory(columns)
    if not remembering:
        return _guessing_phrase(columns)
    # Only an isolated score separates what an agent forgets from what it cannot do at
    # all.
    if len({side.column.span is None for side in sides}) > 1:
        rows = chain.from_iterable(side.column.rows for side in sides)
        result = _effective_span(rows)
        if result.span is not None and (span := short_span(result)) != "unknown":
            return _reach_text(
                span, f"{result.share:.0%} of its isolated score", result.curve[0].label
            )
    return _reached_phrase(columns, remembering)


def _reached_phrase(columns: Sequence[Column], remembering: Sequence[Column]) -> str:
    """Return how far an agent remembers; `remembering` are the columns with a score above guessing."""
    if len(columns) == 1:
        # A single span does not show how memory fades with distance.
        return _placed_share(columns[0])
    best = max(map(_lead, remembering))
    # An agent remembers up to the span where it keeps this share of its best lead over
    # guessing.
    reached = 0
    for place, column in enumerate(columns):
        if column in remembering and _lead(column) >= 0.5 * best:
            reached = place
    last = columns[reached]
    beyond_columns = columns[reached + 1 :]
    if max(guessing_test(column).share for column in remembering) < _REMEMBERS:
        return (
            f"remembers little: {join_words([_share_at(column) for column in columns])}"
        )
    if not beyond_columns:
        return f"remembers to {last.span_label} tokens or more ({_share_with_interval(last)})"
    beyond = _share_at(beyond_columns[0])
    return f"remembers to about {last.span_label} tokens ({_share_with_interval(last)}, {beyond})"


_REMEMBERS = 0.3
"""Below this share of full marks an agent does not count as remembering."""


def _guessing_phrase(columns: Sequence[Column]) -> str:
    """Return the phrase for an agent that shows no memory in any column."""
    best = max(columns, key=_lead)
    floor = f"{best.floor / best.out_of:.0%} by guessing" if best.floor else ""
    if _lead(best) <= 0 and not best.is_open:
        where = f"{best.share} {_place_phrase(best)}".rstrip()
        return f"no better than guessing ({', '.join(filter(None, [where, floor]))})"
    return f"{_placed_share(best)}, not shown to be above guessing{f' ({floor})' if floor else ''}"


def _lead_phrase(columns: Sequence[Column]) -> str:
    """Return the lead over guessing, or "" if guessing earns nothing or no column beats it."""
    leads = [_lead(column) for column in columns_with_memory(columns) if column.floor]
    return f"{max(leads):.2f} above guessing" if leads else ""


def _lead(column: Column) -> float:
    return guessing_test(column).lead


def _share_at(column: Column) -> str:
    return f"{column.share} at {column.span_label}"


def _scored_columns(sides: Sequence[Placed]) -> list[Column]:
    """Return the columns with scores, shortest span first; isolated ones only if there are no others."""
    scored = [side.column for side in sides if side.column.out_of]
    return (
        sorted(
            (column for column in scored if column.span is not None),
            key=lambda column: column.span or 0,
        )
        or scored
    )


def _reach_text(span: str, share: str, first: str) -> str:
    """Return how far that share is kept; `span` is formatted as by `short_span`."""
    if span.startswith("less than"):
        return f"keeps less than {share} at {first} already"
    if " to " in span:
        return f"keeps {share} up to a span of {span} tokens"
    least = span.removeprefix("at most ")
    more = span.removesuffix(" or more")
    if least != span:
        return f"keeps {share} up to {least} tokens at most"
    return f"keeps {share} up to {more} tokens" + (" or more" if more != span else "")


def _share_with_interval(column: Column) -> str:
    inside = column.interval
    if inside:
        return f"{column.share} [{format_percent(inside.low)} to {format_percent(inside.high)}]"
    return column.share


def _placed_share(column: Column) -> str:
    return f"{_share_with_interval(column)} {_place_phrase(column)}".rstrip()


def _place_phrase(column: Column) -> str:
    if column.span is None:
        return f"in {column.span_label} examples"
    return span_place(column.span_label)


_FIRST = 2


def _losses_sentence(sides: Sequence[Placed]) -> str:
    """Return the scenarios that drop first as spans grow; with a single span, those that earn least."""
    columns = _scored_columns(sides)
    losses = [forgotten_scenarios(column) for column in columns]
    if not any(losses):
        return "full marks everywhere" if columns else ""
    if len(columns) == 1:
        return f"weakest in {_name_some(losses[0])}"
    # Compared with the shortest span: a scenario that was weak there was not lost to
    # distance.
    means: dict[str, float] = {}
    for name, cell in columns[0].cells.items():
        if cell.mean is not None:
            means[name] = cell.mean
    for weak_scenarios in losses[1:]:
        fallen: list[tuple[str, float]] = []
        for name, mean in weak_scenarios:
            if means.get(name, 0.0) - mean > 1 - FULL_MARKS:
                fallen.append((name, mean - means[name]))
        if fallen:
            return f"loses {_name_some(sorted(fallen, key=lambda pair: (pair[1], pair[0])))} first"
    return ""


def _name_some(scenarios: Sequence[tuple[str, float]]) -> str:
    names = join_words([name for name, _ in scenarios[:_FIRST]])
    if len(scenarios) > _FIRST:
        return f"{names} (of {len(scenarios)})"
    return names


def baseline_standings(compared: Mapping[str, Any]) -> dict[str, str]:
    """Return by agent how it compares with the baseline in `summary.json` at the largest span."""
    baseline = compared.get("before", "before")
    standings = {}
    # Changes start at the shortest span, so the last one kept per agent is the largest.
    for change in compared.get("changes", ()):
        difference = change.get("difference")
        if not change.get("pairs") or difference is None:
            continue
        place = span_place(change["span_label"])
        p = "" if change.get("p") is None else f" (two-sided p {p_text(change['p'])})"
        word = "better" if difference > 0 else "worse"
        standings[change["agent"]] = (
            f"{word} than {baseline} by {abs(difference):.2f} {place}{p}"
            if difference
            else f"as good as {baseline} {place}"
        ).strip()
    return standings


def next_step(run: RunResult) -> str:
    """Return the command that shows what was forgotten, or "" if nothing was."""
    if any(row.outcome == "failed" for row in run.scenarios):
        return "ltm show --failed"
    return ""


def run_sentences(
    columns: Sequence[Column], compared: Mapping[str, Any] | None
) -> list[str]:
    """Return a sentence on each agent of a run; `compared` is the comparison with a baseline, if any."""
    sides = [AgentAtSpan(one_line(column.agent), column) for column in columns]
    sentences = agent_sentences_for(sides, baseline_standings(compared or {}))
    return [one_line(sentence.sentence) for sentence in sentences]


def forgotten_scenarios(column: Column) -> list[tuple[str, float]]:
    """Return the scenarios below full marks with their mean scores, worst first."""
    losses: list[tuple[str, float]] = []
    for name, cell in column.cells.items():
        if cell.mean is not None and cell.mean < FULL_MARKS:
            losses.append((name, cell.mean))
    return sorted(losses, key=lambda pair: (pair[1], pair[0]))


def rows_without_span(side: Placed) -> list[ScoredRow]:
    """Return the rows of a side without span labels: sides at 2k and at 32k got the same examples."""
    return [as_scored_row(row, span_label="") for row in side.column.rows]


def _beside_other(side: Placed, rival: Placed) -> str:
    pairs = pair_rows(rows_without_span(rival), rows_without_span(side)).pairs
    if not pairs:
        return ""
    better, worse = _count_changes(pairs)
    examples = pluralize(len(pairs), "example")
    if not better and not worse:
        return f"equal to {rival.agent} in all {examples}"
    of = f"of {examples} {_place_phrase(side.column)}"
    if not better or not worse:
        word = "better" if better else "worse"
        return f"{word} than {rival.agent} in {better or worse:,} {of}"
    return f"better than {rival.agent} in {better:,}, worse in {worse:,} {of}"
