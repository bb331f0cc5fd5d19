"""A question about logs of one's own, asked after the sessions have been told."""

from __future__ import annotations

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.logs.log_verdict import LogsAnswer


@pytest.mark.ltm(version="1")
def test_question(ltm: Ltm) -> None:
    """Answers a question about earlier sessions."""
    judged = LogsAnswer(ltm.definition, ltm.judge)
    (answer,) = ltm.play(ltm.definition, answers=[judged.full_marks])
    ltm.score(judged([answer]))
    for name, value in judged.metrics(answer, ltm.retrieved).items():
        ltm.metric(name, value)
