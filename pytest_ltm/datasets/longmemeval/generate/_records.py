"""Questions as records of the published schema, with their evidence as the only sessions."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets.longmemeval._schema import ABSTENTION, written
from pytest_ltm.datasets.longmemeval.generate._questions import questions
from pytest_ltm.datasets.longmemeval.generate._sessions import session
from pytest_ltm.datasets.longmemeval.generate._texts import themes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_ltm.datasets.longmemeval.generate._needle import Needle

EVIDENCE_TOKENS = (500, 1800)
"""A session that holds evidence is about so long."""


def records(count: int, seed: int, counts: Callable[[str], int]) -> Iterator[dict[str, Any]]:
    """Yield so many records, with nothing but their evidence; the first of them for a smaller count."""
    for number, needle in enumerate(questions(count, seed)):
        yield record(needle, f"{seed} {number}", counts)


def record(needle: Needle, seed: str, counts: Callable[[str], int]) -> dict[str, Any]:
    """Return the record of a question; `seed` decides its id and what its sessions say beside the evidence."""
    rng = Random(f"longmemeval record {seed}")
    name = f"{rng.getrandbits(32):08x}{ABSTENTION if needle.abstains else ''}"
    told = sorted(needle.told, key=lambda one: one.at)
    names = [f"answer_{name}_{number}" for number in range(1, len(told) + 1)]
    sessions = [
        session(rng, themes()[one.theme], counts, tokens=rng.randint(*EVIDENCE_TOKENS), aside=one.aside) for one in told
    ]
    return {
        "question_id": name,
        "question_type": needle.type,
        "question": needle.question,
        "answer": needle.answer,
        "question_date": written(needle.asked),
        "haystack_dates": [written(one.at) for one in told],
        "haystack_session_ids": names,
        "haystack_sessions": sessions,
        "answer_session_ids": names,
    }
