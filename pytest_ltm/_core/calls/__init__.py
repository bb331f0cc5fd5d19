"""Models that are asked over a network or by a command: which one is meant, asking it, and sharing its limits."""

from __future__ import annotations

from pytest_ltm._core.calls.chat_model import PARAMETERS, ModelSpec
from pytest_ltm._core.calls.chat_responses import (
    ModelResponse,
    ToolCall,
    Used,
    escape_surrogates,
)
from pytest_ltm._core.calls.completions import (
    Completions,
    ContextOverflow,
    RequestRefused,
)
from pytest_ltm._core.calls.limiter import share_limits
from pytest_ltm._core.calls.providers import (
    FORMS,
    KINDS,
    names_model,
    open_model,
    provider_of,
    read_model,
    suggest_provider,
)
from pytest_ltm._core.calls.specs import Spec

__all__ = [
    "FORMS",
    "KINDS",
    "PARAMETERS",
    "Completions",
    "ContextOverflow",
    "ModelResponse",
    "ModelSpec",
    "RequestRefused",
    "Spec",
    "ToolCall",
    "Used",
    "escape_surrogates",
    "names_model",
    "open_model",
    "provider_of",
    "read_model",
    "share_limits",
    "suggest_provider",
]
