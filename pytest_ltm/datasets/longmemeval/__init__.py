"""LongMemEval: "Benchmarking Chat Assistants on Long-Term Interactive Memory" (Wu et al., ICLR 2025)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.datasets.longmemeval.evaluation import LongMemEvalAnswer

__all__ = ("LongMemEvalAnswer",)

__getattr__, __dir__ = lazy_exports(__name__, {"evaluation": "LongMemEvalAnswer"})
