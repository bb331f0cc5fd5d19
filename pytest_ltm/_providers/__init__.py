"""Chat models behind an OpenAI-compatible endpoint: which one is meant, asking it, and sharing its limits."""

from __future__ import annotations

from pytest_ltm._providers.answers import Answer, ToolCall, Used
from pytest_ltm._providers.completions import Completions, ContextOverflow, Refused, sendable
from pytest_ltm._providers.limiter import share
from pytest_ltm._providers.model import PARAMETERS, Model, model

__all__ = [
    "PARAMETERS", "Answer", "Completions", "ContextOverflow", "Model", "Refused", "ToolCall", "Used", "model",
    "sendable", "share",
]  # fmt: skip
