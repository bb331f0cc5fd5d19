"""Chat models behind an OpenAI-compatible endpoint: which one is meant, asking it, and sharing its limits."""

from __future__ import annotations

from pytest_ltm._providers.answers import ModelResponse, ToolCall, Used
from pytest_ltm._providers.completions import Completions, ContextOverflow, RequestRefused, sendable
from pytest_ltm._providers.limiter import share
from pytest_ltm._providers.model import PARAMETERS, ModelSpec, model

__all__ = [
    "PARAMETERS",
    "Completions",
    "ContextOverflow",
    "ModelResponse",
    "ModelSpec",
    "RequestRefused",
    "ToolCall",
    "Used",
    "model",
    "sendable",
    "share",
]
