"""The benchmark `cache`: its bound equals the best of all ways to cut."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from benchmarks.cached_prompts import (
    Conversation,
    Question,
    _possible_starts,
    _shown,
    best_share,
    shown_by_history,
)


def drawn(rng: Random) -> Conversation:
    exchanges = [rng.randint(10, 60) for _ in range(rng.randint(3, 6))]
    behinds = sorted(rng.sample(range(len(exchanges) + 1), 3))
    questions = [Question(behind, rng.randint(5, 20)) for behind in behinds]
    return Conversation(exchanges, questions)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("least", [0.0, 0.5])
def test_no_way_to_cut_has_a_larger_share(seed: int, least: float) -> None:
    conversation = drawn(Random(seed))
    upto = [sum(conversation.exchanges[:end]) for end in range(9)]
    choices = [
        _possible_starts(upto, question, 120, least)
        for question in conversation.questions
    ]
    shares = [
        _shown(conversation, starts).share
        for starts in product(*choices)
        if list(starts) == sorted(starts)
    ]
    best = best_share(conversation, 120, least=least)
    assert best == pytest.approx(max(shares))
    if not least:
        assert shown_by_history(conversation, 120) <= best + 1e-9
