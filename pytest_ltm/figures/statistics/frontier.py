"""Accuracy against the cost of an answer: Pareto-optimal points, and LongMemEval-V2's LAFS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import log
from typing import TypeAlias

CostPoint: TypeAlias = tuple[float, float]
"""The cost of an answer, and the accuracy."""

# The range of seconds over which LAFS averages.
BUDGETS = (1.0, 200.0)
# The frontier that LongMemEval-V2 measures submissions against, by tier: mean seconds
# of a query, and accuracy (Wu et al., 2026, the results of RAG, AgentRunbook-R,
# AgentRunbook-C and Codex).
PUBLISHED: Mapping[str, Sequence[CostPoint]] = {
    "small": ((0.2, 0.510), (26.9, 0.586), (108.3, 0.749), (177.2, 0.699)),
    "medium": ((0.3, 0.459), (25.8, 0.570), (139.9, 0.701), (185.8, 0.687)),
}


def pareto_frontier(points: Iterable[CostPoint]) -> list[CostPoint]:
    """Return the points that are more accurate than all others of at most their cost, cheapest first."""
    frontier: list[CostPoint] = []
    for cost, accuracy in sorted(points, key=lambda point: (point[0], -point[1])):
        if not frontier or accuracy > frontier[-1][1]:
            frontier.append((cost, accuracy))
    return frontier


def lafs(points: Iterable[CostPoint]) -> float:
    """Return the best accuracy within T seconds, averaged over the logarithm of T; 0 where nothing is that fast.

    Latency-accuracy frontier score (Wu et al., LongMemEval-V2, 2026).
    """
    least, longest = BUDGETS
    ends: list[float] = []
    accuracies: list[float] = []
    for seconds, accuracy in pareto_frontier(points):
        if seconds < longest:
            ends.append(max(seconds, least))
            accuracies.append(accuracy)
    ends.append(longest)
    areas: list[float] = []
    for accuracy, (start, end) in zip(accuracies, pairwise(ends), strict=True):
        areas.append(accuracy * log(end / start))
    return sum(areas) / log(longest / least)
