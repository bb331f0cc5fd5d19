"""LoCoMo: "Evaluating Very Long-Term Conversational Memory of LLM Agents" (Maharana et al., 2024)."""

from __future__ import annotations

from pytest_ltm.datasets.locomo._answer import LocomoAnswer
from pytest_ltm.datasets.locomo._verdict import verdict

__all__ = ["LocomoAnswer", "verdict"]
