"""LongMemEval: "Benchmarking Chat Assistants on Long-Term Interactive Memory" (Wu et al., ICLR 2025)."""

from __future__ import annotations

from pytest_ltm.datasets.longmemeval._answer import LongMemEvalAnswer

__all__ = ["LongMemEvalAnswer"]
