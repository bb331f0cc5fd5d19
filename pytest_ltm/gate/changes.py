"""Changes against a baseline: rows paired by scenario, example, span and trial, never by agent label."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from math import fsum
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct, field, structs

from pytest_ltm.api.journal import (
    ConversationResult,
    RunResult,
    ScenarioResult,
    at_span,
)
from pytest_ltm.api.scenarios import natural_sort_key
from pytest_ltm.api.storage import ConfigurationError, did_you_mean, first_and_rest
from pytest_ltm.figures.statistics.counts import mcnemar_probability
from pytest_ltm.figures.statistics.paired_comparison import (
    COLLAPSES,
    Comparison,
    compare_runs,
    compare_scenarios,
)
from pytest_ltm.figures.statistics.pairs import Pair, Paired, pair_rows, pass_pairs
from pytest_ltm.figures.statistics.totals import group_by
from pytest_ltm.gate.plan_facts import (
    PlanFacts,
    Unequal,
    equal_examples,
    equal_places,
    unequal_plans,
)


class GateSide(Struct, frozen=True, kw_only=True):
    """Results with the plans that they came from."""

    name: str
    """The name in sentences: `baseline 'main'`, `run 20260105-101500-3f2a`, `this run`."""
    result: RunResult
    plans: tuple[PlanFacts, ...]
    """One per conversation; equal plans of several agents may be given once."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The labels of its agents, in the order of the run."""
        agents = [conversation.agent for conversation in self.result.conversations]
        return tuple(dict.fromkeys(agents))

    @property
    def spans(self) -> tuple[str, ...]:
        """The labels of its memory spans, shortest first, beginning with `isolated`."""
        spans: dict[str, int] = {}
        for conversation in self.result.conversations:
            spans[conversation.span_label] = conversation.span or 0
        return tuple(
            sorted(spans, key=lambda label: (spans[label], natural_sort_key(label)))
        )

    def side_of_agent(self, agent: str) -> tuple[ConversationResult, ...]:
        """Return the conversations of one agent."""
        conversations: list[ConversationResult] = []
        for conversation in self.result.conversations:
            if conversation.agent == agent:
                conversations.append(conversation)
        return tuple(conversations)


def one_agent(side: GateSide, agent: str = "", how: str = "") -> GateSide:
    """Return the side with one agent only: the named one, else the only one.

    ConfigurationError if there is no such agent, or if none is named and the side has several; `how` says how to name
    one.
    """
    agents = side.agents
    if agent and agent not in agents:
        agent_list = f"it has {', '.join(agents)}.{did_you_mean(agent, agents)}"
        raise ConfigurationError(f"{side.name} has no agent {agent!r}: {agent_list}")
    if not agent and len(agents) > 1:
        raise ConfigurationError(
            f"{side.name} has several agents: {', '.join(agents)}. {how}".rstrip()
        )
    chosen = agent or (agents[0] if agents else "")
    result = structs.replace(side.result, conversations=side.side_of_agent(chosen))
    return structs.replace(side, result=result)


# --- Why two sides are not comparable, as a text: the differences, and ways to compare
# them anyway.

_MOST = 8
_MOST_TRIALS = 4


class CompareHints(Struct, frozen=True, kw_only=True):
    """The ways out offered to a user, as options of pytest or of a command."""

    common: str
    """Compares the examples that are equal in both."""
    choose_agent: str
    """Names one agent of several."""
    settings: bool = False
    """Whether the later side is yet to be played, so that options can change its plan."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Node ids of the functions of scenarios that can be deselected, by scenario."""


def refusal_text(unequal: Unequal, before: str, ways: CompareHints) -> str:
    """Return the text of a refusal to compare, with the ways out."""
    spans = ", ".join(dict.fromkeys(span for span, _ in unequal.places))
    lines = [
        f"{before} has another plan (memory spans that differ: {spans}); 'there' is {before}:"
    ]
    lines += first_and_rest(
        [f"  - {sentence}" for sentence in unequal.sentences],
        _MOST,
        "  … and {:,} more",
    )
    # Offer only what can still change: a finished run has its plan.
    cures = []
    if ways.settings and unequal.options:
        cures.append(f"for the same plan: {' '.join(unequal.options)}")
    deselected: list[str] = []
    for name in unequal.added:
        if name in ways.nodes:
            deselected.append(f"--deselect={ways.nodes[name]}")
    if ways.settings and deselected and not unequal.removed and not unequal.changed:
        cures.append(f"for the same plan: {' '.join(deselected)}")
    if ways.settings and unequal.removed and not unequal.added and not unequal.options:
        cures.append(
            "for the same plan: leave out what selects fewer scenarios (-k, -m, paths, --lf)"
        )
    if unequal.same:
        count = f"{unequal.same:,} of {unequal.of:,} examples"
        cures.append(
            f"{ways.common} compares the {count} that are equal in both, whatever is said around them"
        )
    cures.append(f"or make {before} again with its original agent")
    return "\n".join([*lines, *(f"  {cure}" for cure in cures)])


class Level(Struct, frozen=True, kw_only=True):
    """A mean score before and now, over the same examples."""

    before: float
    after: float

    @classmethod
    def mean_level(cls, parts: Collection[Pair | Level]) -> Level:
        """Return the mean of pairs or of other levels; `parts` must not be empty."""
        before = fsum(part.before for part in parts)
        after = fsum(part.after for part in parts)
        return cls(before=before / len(parts), after=after / len(parts))

    @property
    def difference(self) -> float:
        """Now minus before; negative for a loss."""
        return self.after - self.before


class Change(Struct, frozen=True, kw_only=True):
    """One agent at one memory span against the baseline."""

    agent: str
    span_label: str
    before: tuple[ScenarioResult, ...]
    """The examples that both sides have, scored or not, sorted."""
    after: tuple[ScenarioResult, ...]
    """The same examples in the later run, in the same order."""
    held_before: tuple[ConversationResult, ...]
    held_after: tuple[ConversationResult, ...]
    paired: Paired
    """The examples scored in both, and the number of the others."""
    only_before: int
    """Number of examples of the baseline at this span that are not compared."""
    only_after: int
    """Number of examples of the later run that are not compared."""
    overall: Comparison
    scenarios: Mapping[str, Comparison]
    """By name, with Holm's correction for testing all of them."""
    level: Level | None
    """The mean over scenarios of the mean over their pairs; None without pairs."""
    levels: Mapping[str, Level]
    """By scenario."""
    lost_passes: int
    """Number of pairs that passed before and do not now."""
    won_passes: int
    """Number of pairs that did not pass before and do now."""
    alone: tuple[str, ...]
    """Trials that only one of the two sides has."""
    partial: bool
    """Whether the plans differ, so that only the equal examples are compared."""

    @property
    def label(self) -> str:
        """The name of the change, such as `mybot at 32k`."""
        return at_span(self.agent, self.span_label)

    @property
    def mcnemar(self) -> float:
        """The exact two-sided p-value of these lost and won passes, if examples are independent."""
        return mcnemar_probability(self.lost_passes, self.won_passes)

    @property
    def is_identical(self) -> bool:
        """Whether every pair has the same score before and now."""
        return self.overall.is_identical


class Changes(Struct, frozen=True, kw_only=True):
    """All changes of a later side against an earlier one."""

    before: str
    """The name of the earlier side."""
    before_agent: str
    after: str
    changes: tuple[Change, ...]
    """By agent and memory span, in the order of the later side."""
    uncompared: tuple[str, ...] = ()
    """Memory spans that the earlier side lacks."""
    collapses: float = COLLAPSES
    """The share of its conversations in which either side may earn nothing without being worse."""
    looks: int = 0
    """Number of agents and spans compared together, over all later sides: they share a significance level."""

    @property
    def opponent(self) -> str:
        """The earlier side as named in headings, with its agent."""
        is_named = self.before.startswith(f"{self.before_agent} of ")
        if not self.before_agent or is_named:
            return self.before
        return f"{self.before} (agent {self.before_agent})"

    def changes_of_agent(self, agent: str, span_label: str) -> Change | None:
        """Return the change of one agent at one span."""
        for change in self.changes:
            if (change.agent, change.span_label) == (agent, span_label):
                return change
        return None


def compare_sides(
    before: GateSide,
    after: GateSide,
    ways: CompareHints,
    *,
    common: bool = False,
    collapses: float = COLLAPSES,
) -> Changes:
    """Return the changes from one side, which has one agent, to the other.

    Raises ConfigurationError with the differences and the `ways` out if their plans differ; with `common`, equal
    examples are compared anyway, whatever surrounds them. `collapses`: the share of its conversations in which either
    side may earn nothing without being worse.
    """
    # First, because a refusal about plans would confuse users who forgot to name an
    # agent.
    earlier = one_agent(before, how=ways.choose_agent)
    check_comparable(before, after, ways, common=common)
    part = _Part.of(before, after)
    spans = [span for span in after.spans if span in before.spans]
    changes = []
    for agent, span in product(after.agents, spans):
        conversations = after.side_of_agent(agent)
        change = _make_change(earlier, conversations, span, part, collapses)
        # A span may be in both sides without a common trial, so there is nothing to
        # pair.
        if change is not None:
            changes.append(change)
    return Changes(
        before=before.name,
        before_agent=earlier.agents[0] if earlier.agents else "",
        after=after.name,
        changes=tuple(changes),
        uncompared=tuple(span for span in after.spans if span not in before.spans),
        looks=len(changes),
        collapses=collapses,
    )


def check_comparable(
    before: GateSide, after: GateSide, ways: CompareHints, *, common: bool
) -> None:
    """Raise ConfigurationError unless the two may be compared."""
    places = {plan.place for plan in after.plans}
    if places.isdisjoint(plan.place for plan in before.plans):
        raise ConfigurationError(
            f"nothing to compare: {_describe_places(before)}, {_describe_places(after)}"
        )
    differing = unequal_plans(before.plans, after.plans)
    if differing and not (common and any(_Part.of(before, after))):
        raise ConfigurationError(refusal_text(differing, before.name, ways))


def _describe_places(side: GateSide) -> str:
    """Return the memory spans and trials of a side, as a clause."""
    spans = dict.fromkeys(plan.span_label for plan in side.plans)
    trials = dict.fromkeys(plan.trial for plan in side.plans)
    trial_list = ", ".join(list(trials)[:_MOST_TRIALS]) or "none"
    if len(trials) > _MOST_TRIALS:
        trial_list += " …"
    span_list = ", ".join(spans) or "of nothing"
    return f"{side.name} has the memory spans {span_list} (trials {trial_list})"


class _Part(NamedTuple):
    """The comparable parts of two sides."""

    places: set[tuple[str, str]]
    """Span and trial of the conversations with equal plans."""
    examples: set[tuple[str, str, str]]
    """Span, trial and name of the equal examples in other conversations."""

    @classmethod
    def of(cls, before: GateSide, after: GateSide) -> _Part:
        return cls(
            equal_places(before.plans, after.plans),
            equal_examples(before.plans, after.plans),
        )

    def has(self, row: ScenarioResult) -> bool:
        place = (row.span_label, row.trial)
        return place in self.places or (*place, row.id) in self.examples


def _make_change(
    before: GateSide,
    conversations: Sequence[ConversationResult],
    span: str,
    part: _Part,
    collapses: float,
) -> Change | None:
    at_span_before = _conversations_at(span, before.result.conversations)
    at_span_after = _conversations_at(span, conversations)
    trials_before = {conversation.trial for conversation in at_span_before}
    trials_after = {conversation.trial for conversation in at_span_after}
    shared = trials_before & trials_after
    if not shared:
        return None
    held_before = _with_trials(at_span_before, shared)
    held_after = _with_trials(at_span_after, shared)
    rows_before = _rows_by_place(held_before, part)
    rows_after = _rows_by_place(held_after, part)
    # Sorted, so that neither the order of a run nor xdist changes a resampled interval.
    keys = sorted(rows_before.keys() & rows_after.keys())
    earlier = tuple(rows_before[key] for key in keys)
    later = tuple(rows_after[key] for key in keys)
    pairs = pair_rows(earlier, later)
    passed = pass_pairs(earlier, later).pairs
    by_scenario = group_by(pairs.pairs, attrgetter("scenario"))
    levels = {name: Level.mean_level(group) for name, group in by_scenario.items()}
    return Change(
        agent=conversations[0].agent,
        span_label=span,
        before=earlier,
        after=later,
        held_before=tuple(held_before),
        held_after=tuple(held_after),
        paired=pairs,
        only_before=_count_rows(at_span_before) - len(keys),
        only_after=_count_rows(at_span_after) - len(keys),
        alone=tuple(sorted(trials_before ^ trials_after, key=natural_sort_key)),
        overall=compare_runs(pairs.pairs, collapses=collapses),
        scenarios=compare_scenarios(pairs.pairs, collapses=collapses),
        level=Level.mean_level(levels.values()) if levels else None,
        levels=levels,
        lost_passes=sum(pair.gain < 0 for pair in passed),
        won_passes=sum(pair.gain > 0 for pair in passed),
        partial=not {(span, trial) for trial in shared} <= part.places,
    )


def _with_trials(
    conversations: Iterable[ConversationResult], trials: Collection[str]
) -> list[ConversationResult]:
    return [
        conversation for conversation in conversations if conversation.trial in trials
    ]


def _conversations_at(
    span: str, conversations: Iterable[ConversationResult]
) -> list[ConversationResult]:
    """Return the conversations at a memory span, by trial."""
    at_span: list[ConversationResult] = []
    for conversation in conversations:
        if conversation.span_label == span:
            at_span.append(conversation)
    # then by their texts: `1` and `01` are equal in natural order
    return sorted(
        at_span,
        key=lambda conversation: (
            natural_sort_key(conversation.trial),
            conversation.trial,
        ),
    )


def _count_rows(conversations: Iterable[ConversationResult]) -> int:
    return sum(len(conversation.scenarios) for conversation in conversations)


def _rows_by_place(
    conversations: Sequence[ConversationResult], part: _Part
) -> dict[tuple[str, str, str], ScenarioResult]:
    rows = {}
    for conversation in conversations:
        for row in conversation.scenarios:
            if part.has(row):
                rows[row.scenario, row.example, row.trial] = row
    return rows
