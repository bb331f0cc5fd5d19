"""Endpoints with a name of their own, and which environment variable holds the key of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping


class Endpoint(NamedTuple):
    """Where an OpenAI-compatible service is."""

    base_url: str
    key_env: str
    """The environment variable with the key, by the provider's own convention; "": it needs none."""


ENDPOINTS: Mapping[str, Endpoint] = {
    "openai": Endpoint("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Endpoint("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "deepseek": Endpoint("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "google": Endpoint("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "groq": Endpoint("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Endpoint("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "openrouter": Endpoint("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "together": Endpoint("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "ollama": Endpoint("http://localhost:11434/v1", ""),
    "vllm": Endpoint("http://localhost:8000/v1", ""),
}
"""By the name that may stand for the address: `openai:MODEL@ollama`."""


def key_env_of(base_url: str) -> str:
    """Return the variable that holds the key of a known host; "" for any other: no key is sent to a stranger."""
    host = urlsplit(base_url).hostname
    return next((known.key_env for known in ENDPOINTS.values() if urlsplit(known.base_url).hostname == host), "")
