"""Providers: the one registry of services that models are asked at, by the kind of their specs.

Agents, judges, simulated users, readers, embeddings and writers of data look here, and nowhere else.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast

from pytest_ltm._calls.chat_model import ModelSpec, read_model_spec
from pytest_ltm._calls.specs import Spec
from pytest_ltm._storage.errors import AgentError, LtmError
from pytest_ltm._storage.schema import Field

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._calls.chat_model import ServiceEndpoint
    from pytest_ltm._calls.chat_responses import ModelResponse, Used
    from pytest_ltm._calls.completions import Completions, Message


class Provider(Protocol):
    """How the models of one kind of service are asked."""

    @property
    def name(self) -> str:
        """The kind of its specs: `openai`."""

    @property
    def extra(self) -> str:
        """The extra of this package that brings the client."""

    @property
    def client(self) -> str:
        """The module of the official client."""

    @property
    def default_address(self) -> ServiceEndpoint:
        """Where its models are if a spec does not say."""

    @property
    def address_env(self) -> str:
        """The environment variable that may name another address in its place; "": none."""

    @property
    def takes_images(self) -> bool:
        """Whether a message may hold photos."""

    @property
    def gives_vectors(self) -> bool:
        """Whether it has models that make embeddings."""

    @property
    def model_prefixes(self) -> tuple[str, ...]:
        """How the names of its models begin."""

    @property
    def path(self) -> str:
        """Where requests go, below the address."""

    @property
    def lengths(self) -> tuple[str, ...]:
        """The names of the field that limits a reply: the usual one, and one for those who refuse that."""

    def connect(self, model: ModelSpec, library: Any, options: Mapping[str, Any]) -> Any:
        """Return a client, made with these options."""

    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the fields of every request beside model and messages."""

    def body(self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a request."""

    def read(self, answer: Mapping[str, Any], model: ModelSpec, *, tools: bool) -> ModelResponse:
        """Return what a body says; a fault if that is not an answer."""

    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return what a body says that it took."""

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body that the events of a stream come to; TransientFault for one that broke off."""


_CLASSES = {
    "openai": "openai_chat:OpenAi",
    "openai-responses": "openai_responses:OpenAiResponses",
    "anthropic": "anthropic_messages:Anthropic",
}
# The kinds of specs that name a model: what stands before the `:`.
KINDS = tuple(_CLASSES)
# The kind of a spec of a command, for all but agents, which have a protocol of their own there.
COMMAND = "cmd"
FORMS = (*(f"{kind}:MODEL" for kind in KINDS), f"{COMMAND}:COMMAND")


@cache
def provider_of(kind: str) -> Provider:
    """Return the provider of that kind, which must be one of KINDS."""
    module, _, name = _CLASSES[kind].partition(":")
    return cast("Provider", getattr(import_module(f"pytest_ltm._calls.{module}"), name)())


def names_model(text: str) -> bool:
    """Whether a spec names a model that can be asked: of a provider, or behind a command."""
    kind, colon, _ = text.partition(":")
    return bool(colon) and (kind in _CLASSES or kind == COMMAND)


def suggest_provider(name: str) -> str:
    """Return a sentence with the spec that somebody who named a model alone may have meant; "" if none is known."""
    if name in KINDS:
        return f" Did you mean '{name}:MODEL'?"
    for kind in KINDS:
        if name.lower().startswith(provider_of(kind).model_prefixes):
            return f" A model is named with its provider: '{kind}:{name}'."
    return ""


def read_model(
    text: str,
    *,
    role: str,
    parameters: Field | None = None,
    also: Iterable[str] = (),
    error: type[LtmError] = AgentError,
    ready: bool = False,
) -> tuple[ModelSpec, dict[str, Field]]:
    """Return the model that a spec names, and the fields named in `also`.

    `parameters`: those of a file. `ready`: it must be possible to ask it, so client and key have to be there. Raises
    `error`, which says what the model was to be (`role`); DefinitionError with the place in a file.
    """
    spec = Spec.parse(text, role=role)
    if spec.kind == COMMAND:
        return _read_command(text, role, error), {}
    fields = Field({}, f"{role} {spec.head!r}") if parameters is None else parameters
    provider = provider_of(spec.kind)
    try:
        model, others = read_model_spec(
            spec, fields, provider.default_address, address_env=provider.address_env, also=also
        )
        if ready:
            check_ready(model)
    except AgentError as fault:
        words = str(fault)
        where = f"{role} {spec.head!r}"
        raise error(words if words.startswith(where) else f"{where}: {words}") from fault
    return model, others


def _read_command(text: str, role: str, error: type[LtmError]) -> ModelSpec:
    from pytest_ltm._calls.command_model import split_command

    command = text.partition(":")[2].strip()
    try:
        split_command(command)
    except AgentError as fault:
        raise error(f"{role} {text!r}: {fault}") from None
    return ModelSpec(name=command, provider=COMMAND, base_url="", key_env="")


def check_ready(model: ModelSpec) -> None:
    """Raise the AgentError of a missing client or key before the run instead of in it."""
    if model.provider == COMMAND:
        return
    provider = provider_of(model.provider)
    if find_spec(provider.client) is None:
        raise AgentError(
            f"it needs the {provider.client!r} client, which is not installed: "
            f"pip install 'pytest-ltm[{provider.extra}]'"
        )
    model.key()


def open_model(model: ModelSpec, *, timeout: float | None = None, rng: random.Random | None = None) -> Completions:
    """Return the connection to a model; AgentError where its client is not installed or its key is not set."""
    from pytest_ltm._calls.command_model import CommandModel
    from pytest_ltm._calls.completions import Completions

    if model.provider == COMMAND:
        return cast("Completions", CommandModel(model))  # it has the same methods
    return Completions(model, provider_of(model.provider), timeout=timeout, rng=rng)
