"""A question of LoCoMo, asked about the conversation that has been told."""

from __future__ import annotations

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.locomo import LocomoAnswer


@pytest.mark.ltm(version="2")
def test_question(ltm: Ltm) -> None:
    """Answers a question about a long conversation of two people."""
    (answer,) = ltm.play(ltm.definition)
    judged = LocomoAnswer(ltm.definition)
    for name, value in judged.measures(answer, ltm.retrieved, ltm.judge).items():
        ltm.measure(name, value)
    ltm.score(judged([answer]))
