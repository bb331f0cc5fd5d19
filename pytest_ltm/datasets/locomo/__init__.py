"""LoCoMo: "Evaluating Very Long-Term Conversational Memory of LLM Agents" (Maharana et al., 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.datasets.locomo.answer import LocomoAnswer
    from pytest_ltm.datasets.locomo.strict import strict_verdict
    from pytest_ltm.datasets.locomo.tasks import EventSummary, NextTurn

__all__ = ("EventSummary", "LocomoAnswer", "NextTurn", "strict_verdict")

__getattr__, __dir__ = lazy_exports(
    __name__, {"answer": "LocomoAnswer", "tasks": "EventSummary NextTurn", "strict": "strict_verdict"}
)
