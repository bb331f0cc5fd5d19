"""A question of LongMemEval, asked at its date after the sessions have been told."""

from __future__ import annotations

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.longmemeval import LongMemEvalAnswer


@pytest.mark.ltm(version="1")
def test_question(ltm: Ltm) -> None:
    """Answers a question about its user's earlier sessions."""
    ltm.score(LongMemEvalAnswer(ltm.definition)(ltm.play(ltm.definition)))
