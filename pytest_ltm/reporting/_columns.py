"""Columns of the result: what one agent did at one memory span, over all trials and examples."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._statistics import (
    Spread,
    accuracy,
    filler_share,
    ltm_reach,
    mean,
    scores_by_scenario,
    spread_by_draws,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_ltm._result import ConversationResult, RunResult, ScenarioResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One scenario in one column."""

    scores: tuple[float, ...]
    examples: int
    """Scored or not, over all trials."""

    @property
    def mean(self) -> float | None:
        """The mean score; None if no example has one."""
        return mean(self.scores)

    @property
    def missing(self) -> int:
        """Examples without a score."""
        return self.examples - len(self.scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One agent at one memory span."""

    agent: str
    span_label: str
    span: int | None
    cells: Mapping[str, Cell]
    """By scenario, sorted by name; also those without any score."""
    total: float
    """Sum over scenarios of the mean over examples."""
    out_of: int
    """Scenarios with a score: the total's maximum."""
    spread: Spread | None
    accuracy: float | None
    reach: float | None
    """The "LTM score (paper)" in tokens."""
    tokens: int
    filler_share: float | None
    exchanges: int
    simulated_seconds: float
    """Of the conversations' own time, added up."""
    overruns: int
    cost_usd: float | None
    """Of the conversations that tell it; None if none does."""
    conversations: int

    @property
    def label(self) -> str:
        """`window_8k at 32k`."""
        return f"{self.agent} at {self.span_label}"

    @property
    def examples(self) -> int:
        """Examples that were to be played."""
        return sum(cell.examples for cell in self.cells.values())

    @property
    def missing(self) -> int:
        """Examples without a score."""
        return sum(cell.missing for cell in self.cells.values())


def columns(run: RunResult) -> tuple[Column, ...]:
    """Return a column for each agent and span, the spans of an agent together, in the order of the run."""
    held: dict[str, dict[str, list[ConversationResult]]] = {}
    for conversation in run.conversations:
        held.setdefault(conversation.agent, {}).setdefault(conversation.span_label, []).append(conversation)
    return tuple(_column(each) for spans in held.values() for each in spans.values())


def _column(held: Sequence[ConversationResult]) -> Column:
    rows = [row for conversation in held for row in conversation.scenarios]
    scores = scores_by_scenario(rows)
    tokens = sum(each.tokens for each in held)
    costs = [each.cost_usd for each in held if each.cost_usd is not None]
    return Column(
        agent=held[0].agent,
        span_label=held[0].span_label,
        span=held[0].span,
        cells=_cells(rows, scores),
        total=total(scores),
        out_of=len(scores),
        spread=spread_by_draws(scores, random.Random(0)),
        accuracy=accuracy(scores),
        reach=ltm_reach(rows),
        tokens=tokens,
        filler_share=filler_share(sum(each.filler_tokens for each in held), tokens),
        exchanges=sum(each.exchanges for each in held),
        simulated_seconds=sum(each.simulated_seconds for each in held),
        overruns=sum(row.overrun for row in rows),
        cost_usd=sum(costs) if costs else None,
        conversations=len(held),
    )


def _cells(rows: Sequence[ScenarioResult], scores: Mapping[str, tuple[float, ...]]) -> dict[str, Cell]:
    examples: dict[str, int] = {}
    for row in rows:
        examples[row.scenario] = examples.get(row.scenario, 0) + 1
    return {name: Cell(scores=scores.get(name, ()), examples=examples[name]) for name in sorted(examples)}
