"""A question of LoCoMo, asked about the conversation that has been told."""

from __future__ import annotations

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.locomo.answer import LocomoAnswer


@pytest.mark.ltm(version="2")
def test_question(ltm: Ltm) -> None:
    """Answers a question about a long conversation of two people."""
    judged = LocomoAnswer(ltm.definition)
    (answer,) = ltm.play(ltm.definition, answers=[judged.full_marks])
    for name, value in judged.metrics(
        answer, ltm.retrieved, ltm.judge, raw=ltm.raw_reply
    ).items():
        ltm.metric(name, value)
    ltm.score(judged([answer], ltm.raw_reply, ltm.judge))
