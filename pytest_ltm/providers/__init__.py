"""Models behind a network or a command: choosing one, sending requests, and sharing its limits.

A package adds a provider by the hook `pytest_ltm_providers` and a class derived from
`Provider`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.providers.chat_model import PARAMETERS, ModelSpec, ServiceEndpoint
    from pytest_ltm.providers.chat_responses import (
        ModelResponse,
        Reception,
        ToolCall,
        Used,
        no_answer,
        response_of,
    )
    from pytest_ltm.providers.completions import Completions, ContextOverflow, Message
    from pytest_ltm.providers.models import (
        LISTED,
        key_names,
        list_price,
        open_model,
        read_model,
    )
    from pytest_ltm.providers.provider import Provider
    from pytest_ltm.providers.provider_registry import (
        PROVIDERS,
        model_forms,
        names_model,
        provider_names,
        provider_of,
        suggest_provider,
    )
    from pytest_ltm.providers.refusal import RequestRefused
    from pytest_ltm.providers.shared_limits import share_limits

__all__ = [
    "LISTED",
    "PARAMETERS",
    "PROVIDERS",
    "Completions",
    "ContextOverflow",
    "Message",
    "ModelResponse",
    "ModelSpec",
    "Provider",
    "Reception",
    "RequestRefused",
    "ServiceEndpoint",
    "ToolCall",
    "Used",
    "key_names",
    "list_price",
    "model_forms",
    "names_model",
    "no_answer",
    "open_model",
    "provider_names",
    "provider_of",
    "read_model",
    "response_of",
    "share_limits",
    "suggest_provider",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm.providers",
    {
        "chat_model": "PARAMETERS ModelSpec ServiceEndpoint",
        "chat_responses": "ModelResponse Reception ToolCall Used no_answer response_of",
        "completions": "Completions ContextOverflow Message",
        "models": "LISTED key_names list_price open_model read_model",
        "provider": "Provider",
        "refusal": "RequestRefused",
        "provider_registry": "PROVIDERS model_forms names_model provider_names provider_of suggest_provider",
        "shared_limits": "share_limits",
    },
)
