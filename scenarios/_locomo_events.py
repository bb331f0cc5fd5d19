"""A summary of what happened in a speaker's life in some sessions of LoCoMo, asked when these have been told."""

from __future__ import annotations

import pytest

from pytest_ltm import Ltm
from pytest_ltm.datasets.locomo.tasks import EventSummary


@pytest.mark.ltm(version="1")
def test_events(ltm: Ltm) -> None:
    """Sums up what happened in the life of one of two people."""
    (answer,) = ltm.play(ltm.definition, answers=["\n".join(ltm.definition.expected)])
    summary = EventSummary(ltm.definition, answer, ltm.judge)
    for name, value in summary.metrics.items():
        ltm.metric(name, value)
    ltm.score(summary.score)
