"""LoCoMo: "Evaluating Very Long-Term Conversational Memory of LLM Agents" (Maharana et al., 2024)."""

from __future__ import annotations

from pytest_ltm.datasets.locomo._answer import LocomoAnswer
from pytest_ltm.datasets.locomo._event_score import EventSummary
from pytest_ltm.datasets.locomo._next_turn import NextTurn
from pytest_ltm.datasets.locomo._verdict import verdict

__all__ = ["EventSummary", "LocomoAnswer", "NextTurn", "verdict"]
