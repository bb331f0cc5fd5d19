"""Providers: the one registry of services that models are asked at, by the kind of their specs.

Agents, judges, simulated users, readers, embeddings and writers of data look here, and
nowhere else. A provider is made, and its module imported, when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from pytest_ltm.api.features import Registry
from pytest_ltm.api.storage import ConfigurationError, describe_error

if TYPE_CHECKING:
    from pytest_ltm.providers.provider import Provider

# The kind of a spec of a command, for all but agents, which have a protocol of their
# own there.
COMMAND = "cmd"
# By the kind of a spec, that is what stands before the `:`, what makes its provider.
PROVIDERS: Registry[Callable[[], Provider]] = Registry(
    "pytest_ltm_providers", "a provider", lambda name, make: (name, make)
)


def provider_names() -> tuple[str, ...]:
    """Return the kinds of the specs that name a model, in the order in which they are registered."""
    return tuple(PROVIDERS.entries())


def model_forms() -> tuple[str, ...]:
    """Return how a model is named, a form for each kind of spec."""
    kinds = [f"{kind}:MODEL" for kind in provider_names()]
    return (*kinds, f"{COMMAND}:COMMAND")


def provider_of(kind: str) -> Provider:
    """Return the provider of a registered kind; ConfigurationError if its package cannot make one."""
    return _make_provider(kind, PROVIDERS.entries()[kind])


@cache
def _make_provider(kind: str, make: Callable[[], Provider]) -> Provider:
    try:
        provider = make()
    except Exception as error:  # of a package of somebody else
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
    """Whether a spec names a model that can be asked: of a provider, or behind a command."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and (kind == COMMAND or kind in PROVIDERS.entries())


def suggest_provider(name: str) -> str:
    """Return a sentence with the spec that somebody who named a model alone may have meant; "" if none is known."""
    if name in PROVIDERS.entries():
        return f" Did you mean '{name}:MODEL'?"
    for kind in provider_names():
        if name.lower().startswith(provider_of(kind).model_prefixes):
            return f" A model is named with its provider: '{kind}:{name}'."
    return ""
