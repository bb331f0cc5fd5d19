"""LongMemEval's retrieval metrics, exactly as the published evaluation defines them, and the standard nDCG beside them.

Source: Wu et al., ICLR 2025, section 5.1, and the published evaluation. Its discount is unusual: the first two ranks
count in full, and from the second on rank i is divided by log2(i); nothing to find makes recall_all 1 and the
other two 0.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence


DEPTHS = (1, 3, 5, 10, 30, 50)
"""The published values of k."""


@dataclass(frozen=True, slots=True)
class RetrievalMetrics:
    """What the k best of a ranking hold of what should be found; each 0 to 1."""

    recall_any: float
    """1 if at least one is found."""
    recall_all: float
    """1 if all are found; also where there is nothing to find."""
    ndcg_any: float
    """With the published discount."""
    ndcg: float
    """With the standard discount, log2(rank + 1)."""


def retrieval_scores(ranked: Sequence[str], corpus: Sequence[str], gold: Collection[str], k: int) -> RetrievalMetrics:
    """Return the metrics of the `k` best.

    `ranked`: ids, best first; `corpus`: all ids there are, one for each entry (an id may occur more than once);
    `gold`: the ids that should be found.
    """
    none = set(ranked[:k])
    hits = [doc in gold for doc in ranked[:k]]
    ideal = sorted((doc in gold for doc in corpus), reverse=True)[:k]
    return RetrievalMetrics(
        recall_any=float(any(doc in none for doc in gold)),
        recall_all=float(all(doc in none for doc in gold)),
        ndcg_any=_gain_share(hits, ideal, lambda rank: 1.0 if rank == 1 else math.log2(rank)),
        ndcg=_gain_share(hits, ideal, lambda rank: math.log2(rank + 1)),
    )


def turns_as_sessions(ranked: Sequence[str], corpus: Sequence[str], gold: Collection[str], k: int) -> RetrievalMetrics:
    """Return the metrics over sessions of a ranking of turns: k widens until k sessions have been seen.

    A turn's id is its session's with `_<turn>` at the end.
    """
    sessions = [session_of(turn) for turn in ranked]
    depth = k
    while depth <= len(sessions) and len(set(sessions[:depth])) < k:
        depth += 1
    return retrieval_scores(sessions, [session_of(turn) for turn in corpus], {session_of(turn) for turn in gold}, depth)


def session_of(turn: str) -> str:
    """Return the id of the session that a turn belongs to."""
    return turn.rpartition("_")[0] or turn


def _gain_share(hits: Sequence[bool], ideal: Sequence[bool], discount: Callable[[int], float]) -> float:
    result, best = (sum(hit / discount(rank) for rank, hit in enumerate(each, start=1)) for each in (hits, ideal))
    return result / best if best else 0.0


# --- From what an agent says that it retrieved to the published retrieval metrics.

SHOWN = tuple(
    f"{level}_{name}_{k}" for level, k, name in product(("session", "turn"), (5, 10), ("recall_all", "ndcg_any"))
)
"""The figures that the paper's tables have (Wu et al., 2025, section 5): those that stand beside each score."""
UNMARKED = "unmarked:"
"""Stands in front of the ids of turns that hold no answer, of sessions that do."""


def retrieval_figures(
    retrieved: Iterable[str], wanted: Sequence[str], user_turns: Mapping[str, Sequence[int]]
) -> dict[str, float]:
    """Return the metrics at all published depths by name, such as `turn_recall_any_5`; each 0 to 1.

    `retrieved`: what an agent says, best first: ids `<session>_<turn>` of the history; anything else counts as a wrong
    one. `wanted`: the user's turns that hold the answer; other turns of their sessions count as those of a session
    that holds none, as published. Only the user's turns are ranked, as published; `user_turns`
    has their numbers for sessions in which these are not the odd ones.
    """
    gold = frozenset(wanted)
    sessions = frozenset(map(session_of, wanted))
    users = [name for name in dict.fromkeys(retrieved) if _is_users(name, user_turns)]
    ranked = [name if name in gold or session_of(name) not in sessions else f"{UNMARKED}{name}" for name in users]
    return {
        f"{level}_{name}_{k}": value
        for k in DEPTHS
        for level, metric in (("session", turns_as_sessions), ("turn", retrieval_scores))
        for name, value in asdict(metric(ranked, wanted, gold, k)).items()
    }


def _is_users(name: str, user_turns: Mapping[str, Sequence[int]]) -> bool:
    """Return whether an id may be that of a user's turn: only those known to be the assistant's are not."""
    session, _, number = name.rpartition("_")
    if not session or not number.isdecimal():
        return True
    return int(number) in user_turns[session] if session in user_turns else int(number) % 2 == 1
