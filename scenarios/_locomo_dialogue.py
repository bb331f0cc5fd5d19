"""The next turn of a LoCoMo conversation, asked for when the turn before has been told."""

from __future__ import annotations

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.locomo.tasks import NextTurn


@pytest.mark.ltm(version="1")
def test_next_turn(ltm: Ltm) -> None:
    """Says what one of two people says next."""
    (answer,) = ltm.play(ltm.definition, answers=[ltm.definition.expected["said"]])
    turn = NextTurn(ltm.definition, answer)
    for name, value in turn.metrics.items():
        ltm.metric(name, value)
    ltm.score(turn.score)
