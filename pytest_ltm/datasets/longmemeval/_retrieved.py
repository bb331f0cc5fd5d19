"""From what an agent says that it retrieved to the published retrieval metrics."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval._retrieval import DEPTHS, retrieval, session_of, turns_as_sessions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm.datasets.longmemeval._retrieval import Retrieval

SHOWN = tuple(
    f"{level}_{name}_{k}" for level, k, name in product(("session", "turn"), (5, 10), ("recall_all", "ndcg_any"))
)
"""The figures that the paper's tables have (Wu et al., 2025, section 5): those that stand beside each score."""
UNMARKED = "unmarked:"
"""Stands in front of the ids of turns that hold no answer, of sessions that do."""


def figures(
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
    found: dict[str, float] = {}
    for k in DEPTHS:
        for level, metric in (("session", turns_as_sessions), ("turn", retrieval)):
            found |= _named(metric(ranked, wanted, gold, k), level, k)
    return found


def _named(found: Retrieval, level: str, k: int) -> dict[str, float]:
    return {f"{level}_{name}_{k}": value for name, value in asdict(found).items()}


def _is_users(name: str, user_turns: Mapping[str, Sequence[int]]) -> bool:
    """Return whether an id may be that of a user's turn: only those known to be the assistant's are not."""
    session, _, number = name.rpartition("_")
    if not session or not number.isdecimal():
        return True
    return int(number) in user_turns[session] if session in user_turns else int(number) % 2 == 1
