"""ModelSpec: a model, its endpoint, and the parameters of every request."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, field

from pytest_ltm.api.storage import (
    AgentError,
    DefinitionError,
    Field,
    did_you_mean,
    lazy_pattern,
    load_packaged_yaml,
)

if TYPE_CHECKING:
    from pytest_ltm.providers.provider import Provider
    from pytest_ltm.providers.specs import Spec


class ServiceEndpoint(NamedTuple):
    """The address of a service."""

    base_url: str
    key_env: str = ""
    """The environment variable with the key, by the provider's own convention; "": it needs none."""
    prices: Mapping[str, str] = {}
    """List prices by model, in the form of `--ltm-price`."""


# By the name that can replace the address: `openai:MODEL@ollama`.
ENDPOINTS: Mapping[str, ServiceEndpoint] = {
    name: ServiceEndpoint(**where)
    for name, where in load_packaged_yaml(__file__, "endpoints.yml").items()
}


def key_env_of(base_url: str) -> str:
    """Return the key variable of a known host; "" for any other: no key is sent to an unknown host."""
    host = urlsplit(base_url).hostname
    for endpoint in ENDPOINTS.values():
        if urlsplit(endpoint.base_url).hostname == host:
            return endpoint.key_env
    return ""


# The parameters of the model itself in a spec's query or a file's `parameters`.
PARAMETERS = (
    "temperature",
    "max_tokens",
    "seed",
    "reasoning_effort",
    "key_env",
    "stream",
    "api-version",
    "ends",
    "extra",
)

_URL = lazy_pattern(r"@(?=https?://)", re.IGNORECASE)
_NAMED = lazy_pattern(r"(.+)@([a-z_]+)")
# A host, a port or a path after the `@`: an address without its scheme.
_BARE = lazy_pattern(
    r"(.+)@((?:localhost|\d+(?:\.\d+){3}|\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+|[\w.-]+(?=:\d+(?:/|$)))(?::\d+)?(?:/\S*)?)",
    re.IGNORECASE,
)
_LOOPBACK = lazy_pattern(r"localhost|127(?:\.\d+){3}|\[::1\]")
_VARIABLE = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_KEPT = frozenset({"model", "messages", "input", "stream", "n"})


class ModelSpec(Struct, frozen=True, kw_only=True):
    """A model at an endpoint; holds no key, only the name of the variable that does."""

    name: str
    provider: str = "openai"
    """The kind of its spec."""
    base_url: str = ENDPOINTS["openai"].base_url
    key_env: str = ENDPOINTS["openai"].key_env
    """The environment variable with the key; "": the endpoint needs none."""
    temperature: float | Literal["default"] | None = None
    """None: 0 if the model accepts it; "default": none is sent."""
    max_tokens: int | None = None
    """Maximum tokens of a reply, including thoughts; None: the endpoint's default."""
    seed: int | None = None
    reasoning_effort: str | None = None
    stream: bool = False
    """Whether the reply is streamed, which keeps slow connections open."""
    api_version: str | None = None
    """The API version of Azure, if the address names a deployment."""
    ends: str = ""
    """The finish reason that this server uses for `stop`."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Additional fields of the request's body."""

    def key(self) -> str:
        """Return the key, or a placeholder if none is needed; AgentError if the variable is not set."""
        if not self.key_env:
            return "none"
        key = os.environ.get(self.key_env, "").strip()
        if not key:
            raise AgentError(
                f"model {self.name!r} at {self.base_url} needs a key, and the environment variable {self.key_env} is "
                f"not set. Set it, or name another with key_env=NAME"
            )
        return key

    def about_key(self) -> str:
        """Return a sentence on the source of the key, for a refusal because of the key."""
        if self.key_env:
            return f"The key is that of the environment variable {self.key_env}; key_env=NAME names another."
        return (
            "No key was sent: an address gets one only where the agent says which environment variable holds it, "
            f"as in {self.provider}:{self.name}@{self.base_url}?key_env=NAME"
        )

    def configuration(self) -> dict[str, Any]:
        """Return, as JSON values, the settings that affect the answers."""
        values = {
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "reasoning_effort": self.reasoning_effort,
            "api_version": self.api_version,
            "ends": self.ends or None,
            "provider": None if self.provider == "openai" else self.provider,
            "extra": dict(self.extra) or None,
        }
        present = {name: value for name, value in values.items() if value is not None}
        return {"model": self.name, "endpoint": self.base_url, **present}


def read_model_spec(
    spec: Spec, parameters: Field, provider: Provider, also: Iterable[str]
) -> tuple[ModelSpec, dict[str, Field]]:
    """Return the model in `KIND:MODEL[@URL|@NAME][?parameter=value&...]`, and the fields named in `also`.

    `parameters` are those of a file; a query may add others. Raises AgentError, or
    DefinitionError with the place in the file.
    """
    name, where = _locate_model(spec, provider)
    names = [*also, *(parameter for parameter in PARAMETERS if parameter != "extra")]
    if "extra=" in spec.query:
        raise AgentError(
            f"{spec.role} {spec.head!r}: 'extra' is a mapping, which needs a YAML file."
        )
    fields = spec.merged(parameters, names, only_in_files=("extra",), texts=_TEXTS)
    present = {key: field for key, field in fields.items() if field.value is not None}
    try:
        values = {}
        for key, read in _READERS.items():
            if key in present:
                values[key.replace("-", "_")] = read(present[key])
    except DefinitionError as error:
        raise AgentError(str(error)) from None
    place = {"base_url": where.base_url, "key_env": where.key_env}
    model = ModelSpec(name=name, provider=spec.kind, **{**place, **values})
    return model, {key: value for key, value in fields.items() if key not in PARAMETERS}


def _locate_model(spec: Spec, provider: Provider) -> tuple[str, ServiceEndpoint]:
    """Return a model's name and endpoint.

    By default, the provider's variable has the address, or it is the provider's own.
    """
    name, *url = _URL.split(spec.argument, maxsplit=1)
    if url:
        base_url = _read_address(url[0], spec.kind)
        where = ServiceEndpoint(base_url, key_env_of(base_url))
    elif match := _NAMED.fullmatch(spec.argument):
        name = match[1]
        called = match[2]
        example = f"{match[1]}@http://localhost:8000/v1"
        if called == "localhost":
            raise AgentError(
                f"'localhost' is an address without its port. Write {spec.kind}:{example}"
            )
        if called not in ENDPOINTS:
            raise AgentError(
                f"no endpoint is called {called!r}.{did_you_mean(called, ENDPOINTS)} "
                f"Choose from {', '.join(ENDPOINTS)}; "
                f"any other is an address: {example}"
            )
        where = ENDPOINTS[called]
    elif match := _BARE.fullmatch(spec.argument):
        name = match[1]
        address = match[2]
        if not _LOOPBACK.match(address):
            raise AgentError(
                f"{address!r} is an address without its beginning. Write {spec.kind}:{name}@https://{address}"
            )
        where = ServiceEndpoint(_read_address(f"http://{address}", spec.kind))
    elif preferred := os.environ.get(provider.address_env, ""):
        base_url = _read_address(preferred, spec.kind)
        # Both variables are the user's own.
        where = ServiceEndpoint(
            base_url, key_env_of(base_url) or provider.default_address.key_env
        )
    else:
        where = provider.default_address
    if not name:
        raise AgentError(
            f"no model is named. Write {spec.kind}:MODEL, or {spec.kind}:MODEL@http://localhost:8000/v1"
        )
    return name, where


def _read_address(url: str, kind: str) -> str:
    if "@" in url:
        raise AgentError(
            "an address is written to files, so no key or password may stand in it. "
            "Name the environment variable that holds the key: key_env=NAME"
        )
    try:
        parts = urlsplit(url)
        valid = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise AgentError(
            f"{url!r} is not an address. Write it as in {kind}:MODEL@http://localhost:8000/v1"
        )
    return url.rstrip("/")


_TEXTS = frozenset(
    {"system", "reasoning_effort", "key_env", "tokenizer", "api-version", "ends"}
)


def _parse_variable(field: Field) -> str:
    name = field.value
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise field.fault(
            "expected the name of an environment variable (which holds the key; never the key itself)."
        )
    return name


def _parse_extra_body(field: Field) -> Mapping[str, Any]:
    if reserved := [value for key, value in field.mapping().items() if key in _KEPT]:
        raise reserved[0].fault("is set by the conversation.")
    return field.json_mapping()


_READERS: Mapping[str, Callable[[Field], Any]] = {
    "key_env": _parse_variable,
    "temperature": lambda it: (
        it.value if it.value == "default" else it.number(0, 5, "'default', or a number")
    ),
    "max_tokens": Field.tokens,
    "seed": Field.whole,
    "reasoning_effort": Field.text,
    "stream": Field.boolean,
    "api-version": Field.text,
    "ends": Field.text,
    "extra": _parse_extra_body,
}
