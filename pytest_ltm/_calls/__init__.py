"""Chat models behind an OpenAI-compatible endpoint: which one is meant, asking it, and sharing its limits."""

from __future__ import annotations

from pytest_ltm._calls.chat_model import PARAMETERS, ModelSpec, model
from pytest_ltm._calls.chat_responses import ModelResponse, ToolCall, Used
from pytest_ltm._calls.completions import Completions, ContextOverflow, RequestRefused, sendable
from pytest_ltm._calls.limiter import share

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
