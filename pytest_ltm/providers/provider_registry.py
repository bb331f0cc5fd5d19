"""Providers: the only registry of model services, by the kind of their specs.

Used by agents, judges, simulated users, readers, embeddings and generators of data. A
provider is created, and its module imported, on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from pytest_ltm.api.features import Registry
from pytest_ltm.api.storage import ConfigurationError, describe_error

if TYPE_CHECKING:
    from pytest_ltm.providers.provider import Provider

# The kind of a command's spec, except for agents, which have their own protocol for
# commands.
COMMAND = "cmd"
# Factories of providers, by the kind of a spec, which is the part before the `:`.
PROVIDERS: Registry[Callable[[], Provider]] = Registry(
    "pytest_ltm_providers", "a provider", lambda name, make: (name, make)
)


def provider_names() -> tuple[str, ...]:
    """Return the kinds of specs that name a model, in order of registration."""
    return tuple(PROVIDERS.entries())


def model_forms() -> tuple[str, ...]:
    """Return the forms of specs that name a model, one per kind."""
    kinds = [f"{kind}:MODEL" for kind in provider_names()]
    return (*kinds, f"{COMMAND}:COMMAND")


def provider_of(kind: str) -> Provider:
    """Return the provider of a registered kind; ConfigurationError if its package cannot create it."""
    return _make_provider(kind, PROVIDERS.entries()[kind])


@cache
def _make_provider(kind: str, make: Callable[[], Provider]) -> Provider:
    try:
        provider = make()
    except Exception as error:  # from another package's code
        raise ConfigurationError(
            f"the provider {kind!r} cannot be made: {describe_error(error)}"
        ) from error
    from pytest_ltm.providers.provider import Provider

    if not isinstance(provider, Provider):
        raise ConfigurationError(
            f"the provider {kind!r} is a {type(provider).__name__}: derive its class "
            "from pytest_ltm.providers.Provider"
        )
    return provider


def names_model(text: str) -> bool:
    """Return whether a spec names a model, of a provider or behind a command."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and (kind == COMMAND or kind in PROVIDERS.entries())


def suggest_provider(name: str) -> str:
    """Return a hint with the likely spec for a bare model or provider name; "" if unknown."""
    if name in PROVIDERS.entries():
        return f" Did you mean '{name}:MODEL'?"
    for kind in provider_names():
        if name.lower().startswith(provider_of(kind).model_prefixes):
            return f" A model is named with its provider: '{kind}:{name}'."
    return ""
