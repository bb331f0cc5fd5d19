"""What changed against a baseline: rows paired by scenario, example, span and trial, never by the agent's label."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError
from pytest_ltm._gate._facts import equal_examples, equal_places, unequal
from pytest_ltm._gate._refusal import Ways, refusal
from pytest_ltm._gate._side import Side, one_agent
from pytest_ltm._plan import natural
from pytest_ltm._statistics import Comparison, Pair, Paired, compare, compare_scenarios, mcnemar, paired, passes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._result import ConversationResult, ScenarioResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A mean score before and now, over the same examples."""

    before: float
    after: float

    @property
    def difference(self) -> float:
        """What is more now; below 0: less."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One agent at one memory span against the baseline."""

    agent: str
    span_label: str
    before: tuple[ScenarioResult, ...]
    """The examples that both have, scored or not, sorted."""
    after: tuple[ScenarioResult, ...]
    """The same examples in the later run, in the same order."""
    held_before: tuple[ConversationResult, ...]
    held_after: tuple[ConversationResult, ...]
    paired: Paired
    """Those of them that have a score in both, and how many do not."""
    only_before: int
    """Examples of the baseline at this span that are not compared."""
    only_after: int
    """Examples of the later run that are not compared."""
    overall: Comparison
    scenarios: Mapping[str, Comparison]
    """By name, with Holm's correction for looking at all of them."""
    level: Level | None
    """The mean over scenarios of the mean over their pairs; None without any pair."""
    levels: Mapping[str, Level]
    """By scenario."""
    lost_passes: int
    """Pairs that passed before and do not now."""
    won_passes: int
    """Pairs that did not pass before and do now."""
    alone: tuple[str, ...]
    """Trials that only one of the two has."""
    partial: bool
    """The conversations are not the same: only the examples that are equal in both are compared."""

    @property
    def label(self) -> str:
        """`mybot at 32k`."""
        return f"{self.agent} at {self.span_label}"

    @property
    def mcnemar(self) -> float:
        """The exact two-sided chance of so many lost and won passes, examples taken for independent."""
        return mcnemar(self.lost_passes, self.won_passes)

    @property
    def identical(self) -> bool:
        """Whether every pair has the same score before and now."""
        return self.overall.identical


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything that a later side has against an earlier one."""

    before: str
    """The name of the earlier side."""
    before_agent: str
    after: str
    changes: tuple[Change, ...]
    """By agent and memory span, in the order of the later side."""
    uncompared: tuple[str, ...] = ()
    """Memory spans that the earlier side does not have."""
    looks: int = 0
    """So many agents and spans, also of other later sides, are looked at together: they share a limit of chance."""

    def of(self, agent: str, span_label: str) -> Change | None:
        """Return the change of one agent at one span."""
        found = (each for each in self.changes if (each.agent, each.span_label) == (agent, span_label))
        return next(found, None)


def changes(before: Side, after: Side, ways: Ways, *, common: bool = False) -> Changes:
    """Return what changed from one side, which has one agent, to the other.

    Raises ConfigurationError if their plans differ, saying in what and which of the `ways` out there are; with
    `common` the examples that are equal in both are compared all the same, whatever was said around them.
    """
    earlier = one_agent(before, how=ways.choose_agent)
    check(before, after, ways, common=common)
    part = _Part.of(before, after)
    found = [
        _change(earlier, after.of(agent), span, part)
        for agent in after.agents
        for span in after.spans
        if span in before.spans
    ]
    moved = tuple(change for change in found if change is not None)
    return Changes(
        before=before.name,
        before_agent=earlier.agents[0] if earlier.agents else "",
        after=after.name,
        changes=moved,
        uncompared=tuple(span for span in after.spans if span not in before.spans),
        looks=len(moved),
    )


def check(before: Side, after: Side, ways: Ways, *, common: bool) -> None:
    """Raise ConfigurationError unless the two may be compared."""
    mine = {plan.place for plan in after.plans}
    if not mine & {plan.place for plan in before.plans}:
        raise ConfigurationError(_nothing_shared(before, after))
    differing = unequal(before.plans, after.plans)
    if differing is None:
        return
    part = _Part.of(before, after)
    if not common or not (part.places or part.examples):
        raise ConfigurationError(refusal(differing, before.name, ways))


def _nothing_shared(before: Side, after: Side) -> str:
    def said(side: Side) -> str:
        spans = dict.fromkeys(plan.span_label for plan in side.plans)
        trials = dict.fromkeys(plan.trial for plan in side.plans)
        few = ", ".join(list(trials)[:4]) + (" …" if len(trials) > 4 else "")  # noqa: PLR2004 - enough to see
        return f"{side.name} has the memory spans {', '.join(spans) or 'of nothing'} (trials {few or 'none'})"

    return f"nothing to compare: {said(before)}, {said(after)}"


@dataclass(frozen=True, slots=True)
class _Part:
    """What of two sides may be compared."""

    places: frozenset[tuple[str, str]]
    """Span and trial of the conversations with equal plans."""
    examples: frozenset[tuple[str, str, str]]
    """Span, trial and name of the equal examples of other conversations."""

    @classmethod
    def of(cls, before: Side, after: Side) -> _Part:
        return cls(
            frozenset(equal_places(before.plans, after.plans)), frozenset(equal_examples(before.plans, after.plans))
        )

    def has(self, row: ScenarioResult) -> bool:
        place = (row.span_label, row.trial)
        return place in self.places or (*place, row.id) in self.examples


def _change(before: Side, held: Sequence[ConversationResult], span: str, part: _Part) -> Change | None:
    now = [each for each in held if each.span_label == span]
    then = [each for each in before.result.conversations if each.span_label == span]
    shared = {each.trial for each in now} & {each.trial for each in then}
    if not shared:
        return None
    alone = {each.trial for each in (*now, *then)} - shared
    all_before, all_after = (sum(len(each.scenarios) for each in held_) for held_ in (then, now))
    now, then = _at(now, shared), _at(then, shared)
    ours, theirs = _rows(now, part), _rows(then, part)
    keys = sorted(ours.keys() & theirs.keys())
    earlier, later = tuple(theirs[key] for key in keys), tuple(ours[key] for key in keys)
    pairs = paired(earlier, later)
    passed = passes(earlier, later).pairs
    return Change(
        agent=held[0].agent,
        span_label=span,
        before=earlier,
        after=later,
        held_before=tuple(then),
        held_after=tuple(now),
        paired=pairs,
        only_before=all_before - len(keys),
        only_after=all_after - len(keys),
        alone=tuple(sorted(alone, key=natural)),
        overall=compare(pairs.pairs),
        scenarios=compare_scenarios(pairs.pairs),
        level=_level(pairs),
        levels=_levels(pairs),
        lost_passes=sum(pair.gain < 0 for pair in passed),
        won_passes=sum(pair.gain > 0 for pair in passed),
        partial=not {(span, trial) for trial in shared} <= part.places,
    )


def _at(held: Sequence[ConversationResult], trials: set[str]) -> list[ConversationResult]:
    return sorted((each for each in held if each.trial in trials), key=lambda each: (natural(each.trial), each.trial))


def _rows(held: Sequence[ConversationResult], part: _Part) -> dict[tuple[str, str, str], ScenarioResult]:
    rows = (row for each in held for row in each.scenarios if part.has(row))
    return {(row.scenario, row.example, row.trial): row for row in rows}


def _level(pairs: Paired) -> Level | None:
    levels = _levels(pairs).values()
    if not levels:
        return None
    return Level(before=_mean([one.before for one in levels]), after=_mean([one.after for one in levels]))


def _levels(pairs: Paired) -> dict[str, Level]:
    scores: dict[str, list[Pair]] = {}
    for pair in pairs.pairs:
        scores.setdefault(pair.scenario, []).append(pair)
    return {
        name: Level(before=_mean([one.before for one in found]), after=_mean([one.after for one in found]))
        for name, found in scores.items()
    }


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)
