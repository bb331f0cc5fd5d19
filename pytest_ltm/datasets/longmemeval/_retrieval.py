"""LongMemEval's retrieval metrics, exactly as the published evaluation defines them, and the standard nDCG beside them.

Source: Wu et al., ICLR 2025, section 5.1, and the published evaluation. Its discount is unusual: the first two ranks
count in full, and from the second on rank i is divided by log2(i); nothing to find makes recall_all 1 and the
other two 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

DEPTHS = (1, 3, 5, 10, 30, 50)
"""The published values of k."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What the k best of a ranking hold of what should be found; each 0 to 1."""

    recall_any: float
    """1 if at least one is found."""
    recall_all: float
    """1 if all are found; also where there is nothing to find."""
    ndcg_any: float
    """With the published discount."""
    ndcg: float
    """With the standard discount, log2(rank + 1)."""


def retrieval(ranked: Sequence[str], corpus: Sequence[str], gold: Collection[str], k: int) -> Retrieval:
    """Return the metrics of the `k` best.

    `ranked`: ids, best first; `corpus`: all ids there are, one for each entry (an id may occur more than once);
    `gold`: the ids that should be found.
    """
    found = set(ranked[:k])
    hits = [doc in gold for doc in ranked[:k]]
    ideal = sorted((doc in gold for doc in corpus), reverse=True)[:k]
    return Retrieval(
        recall_any=float(any(doc in found for doc in gold)),
        recall_all=float(all(doc in found for doc in gold)),
        ndcg_any=_share(hits, ideal, _published_discount),
        ndcg=_share(hits, ideal, _standard_discount),
    )


def turns_as_sessions(ranked: Sequence[str], corpus: Sequence[str], gold: Collection[str], k: int) -> Retrieval:
    """Return the metrics over sessions of a ranking of turns: k widens until k sessions have been seen.

    A turn's id is its session's with `_<turn>` at the end.
    """
    sessions = [session_of(turn) for turn in ranked]
    depth = k
    while depth <= len(sessions) and len(set(sessions[:depth])) < k:
        depth += 1
    return retrieval(sessions, [session_of(turn) for turn in corpus], {session_of(turn) for turn in gold}, depth)


def session_of(turn: str) -> str:
    """Return the id of the session that a turn belongs to."""
    return turn.rpartition("_")[0] or turn


def _share(hits: Sequence[bool], ideal: Sequence[bool], discount: Callable[[int], float]) -> float:
    best = _gain(ideal, discount)
    return _gain(hits, discount) / best if best else 0.0


def _gain(hits: Sequence[bool], discount: Callable[[int], float]) -> float:
    return sum(hit / discount(rank) for rank, hit in enumerate(hits, start=1))


def _published_discount(rank: int) -> float:
    return 1.0 if rank == 1 else math.log2(rank)


def _standard_discount(rank: int) -> float:
    return math.log2(rank + 1)
