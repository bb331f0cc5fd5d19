"""The providers of chat models that ship with pytest-ltm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytest_ltm.api import hookimpl, lazy

_PROVIDERS = "pytest_ltm.providers"


@hookimpl(tryfirst=True)
def pytest_ltm_providers(register: Callable[[str, Callable[[], Any]], None]) -> None:
    """Register OpenAI's two protocols, which most other services speak too, and Anthropic's."""
    register("openai", lazy(f"{_PROVIDERS}.openai_chat:OpenAi"))
    register("openai-responses", lazy(f"{_PROVIDERS}.openai_responses:OpenAiResponses"))
    register("anthropic", lazy(f"{_PROVIDERS}.anthropic_messages:Anthropic"))
