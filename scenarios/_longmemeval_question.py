"""A question of LongMemEval, asked at its date after the sessions have been told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.longmemeval.evaluation import LongMemEvalAnswer

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.ltm(version="2")
def test_question(ltm: Ltm, record_property: Callable[[str, object], None]) -> None:
    """Answers a question about its user's earlier sessions."""
    judged = LongMemEvalAnswer(ltm.definition, ltm.judge)
    for note in judged.notes:
        record_property("ltm_note", note)
    verdict = judged(ltm.play(ltm.definition, answers=[str(ltm.definition.expected)]))
    for name, value in judged.metrics(verdict, ltm.retrieved).items():
        ltm.metric(name, value)
    ltm.score(verdict)
