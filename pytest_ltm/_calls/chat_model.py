"""Model: which model at which endpoint, and the parameters that go with every request."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct, field

from pytest_ltm._storage.errors import AgentError, DefinitionError, did_you_mean
from pytest_ltm._storage.schema import Field, number_or_text, packaged
from pytest_ltm._text.patterns import later

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


class ServiceEndpoint(NamedTuple):
    """Where an OpenAI-compatible service is."""

    base_url: str
    key_env: str
    """The environment variable with the key, by the provider's own convention; "": it needs none."""


ENDPOINTS: Mapping[str, ServiceEndpoint] = {
    name: ServiceEndpoint(*where) for name, where in packaged(__file__, "endpoints.yml").items()
}
"""By the name that may stand for the address: `openai:MODEL@ollama`."""


def key_env_of(base_url: str) -> str:
    """Return the variable that holds the key of a known host; "" for any other: no key is sent to a stranger."""
    host = urlsplit(base_url).hostname
    return next((known.key_env for known in ENDPOINTS.values() if urlsplit(known.base_url).hostname == host), "")


PARAMETERS = ("temperature", "max_tokens", "seed", "reasoning_effort", "key_env", "extra")
"""What a spec's query, or a file's `parameters`, may say of the model itself."""

_URL = later(r"@(?=https?://)", re.IGNORECASE)
_NAMED = later(r"(.+)@([a-z_]+)")
_VARIABLE = later(r"[A-Za-z_][A-Za-z0-9_]*")
_KEPT = frozenset({"model", "messages", "stream", "n"})


class ModelSpec(Struct, frozen=True, kw_only=True):
    """A chat model at an OpenAI-compatible endpoint; holds no key, only the name of the variable that does."""

    name: str
    base_url: str = ENDPOINTS["openai"].base_url
    key_env: str = ENDPOINTS["openai"].key_env
    """The environment variable with the key; "": the endpoint needs none."""
    temperature: float | Literal["default"] | None = None
    """None: 0 where the model takes it; "default": none is sent."""
    max_tokens: int | None = None
    """Tokens of the longest reply, thinking included; None: what the endpoint thinks right."""
    seed: int | None = None
    reasoning_effort: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the request's body."""

    def key(self) -> str:
        """Return the key, or a word that stands for none; AgentError if the variable is not set."""
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
        """Return a sentence on where the key comes from, for a refusal that is about it."""
        if self.key_env:
            return f"The key is that of the environment variable {self.key_env}; key_env=NAME names another."
        return (
            "No key was sent: an address gets one only where the agent says which environment variable holds it, "
            f"as in openai:{self.name}@{self.base_url}?key_env=NAME"
        )

    def configuration(self) -> dict[str, Any]:
        """Return as JSON values what its answers depend on."""
        given = {name: getattr(self, name) for name in PARAMETERS if name not in {"key_env", "extra"}}
        given["extra"] = dict(self.extra) or None
        said = {name: value for name, value in given.items() if value is not None}
        return {"model": self.name, "endpoint": self.base_url, **said}


def model(argument: str, parameters: Field, *, also: Iterable[str] = ()) -> tuple[ModelSpec, dict[str, Field]]:
    """Return the model that `MODEL[@URL|@NAME][?parameter=value&...]` means, and the fields named in `also`.

    `parameters` are those of a file; a query may add others. Raises AgentError, or DefinitionError with the place in
    the file.
    """
    head, _, query = argument.partition("?")
    name, base_url, key_env = _whose(head.strip())
    known = [*also, *PARAMETERS]
    fields = parameters.mapping(known=known)
    for key, value in _asked(query, head, known).items():
        if key in fields:
            raise fields[key].fault(f"is also in the spec {head!r}. Say it once.")
        fields[key] = value
    try:
        made = _model(name, base_url, key_env, fields)
    except DefinitionError as error:
        raise AgentError(str(error)) from None
    return made, {key: value for key, value in fields.items() if key not in PARAMETERS}


def _model(name: str, base_url: str, key_env: str, fields: Mapping[str, Field]) -> ModelSpec:
    said = {key: field for key, field in fields.items() if field.value is not None}
    given = {key: read(said[key]) for key, read in _READERS.items() if key in said}
    return ModelSpec(name=name, base_url=base_url, **{"key_env": key_env, **given})


def _whose(head: str) -> tuple[str, str, str]:
    """Return name, base URL and the variable with the key."""
    name, *url = _URL.split(head, maxsplit=1)
    if url:
        base_url = _address(url[0])
        key_env = key_env_of(base_url)
    elif found := _NAMED.fullmatch(head):
        name, where = found[1], found[2]
        if where not in ENDPOINTS:
            hint = did_you_mean(where, ENDPOINTS)
            raise AgentError(
                f"no endpoint is called {where!r}.{hint} There are {', '.join(ENDPOINTS)}; "
                f"any other is an address: {name}@http://localhost:8000/v1"
            )
        base_url, key_env = ENDPOINTS[where]
    else:
        base_url = _address(os.environ.get("OPENAI_BASE_URL") or ENDPOINTS["openai"].base_url)
        key_env = key_env_of(base_url) or "OPENAI_API_KEY"  # both variables are the user's own, for one another
    if not name:
        raise AgentError("no model is named. Write openai:MODEL, or openai:MODEL@http://localhost:8000/v1")
    return name, base_url, key_env


def _address(url: str) -> str:
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
        raise AgentError(f"{url!r} is not an address. Write it as in openai:MODEL@http://localhost:8000/v1")
    return url.rstrip("/")


def _asked(query: str, head: str, known: list[str]) -> dict[str, Field]:
    """Return the parameters of a spec's query; values are never shown, as one might be a key by mistake."""
    fields: dict[str, Field] = {}
    where = f"agent 'openai:{head}'"
    for key, value in parse_qsl(query, keep_blank_values=True):
        if key not in known:
            hint = did_you_mean(key, known)
            keys = " A key never stands in a spec: key_env=NAME names the environment variable." * ("key" in key)
            raise AgentError(f"{where}: unknown parameter {key!r}.{hint}{keys} There are {', '.join(known)}.")
        if key in fields:
            raise AgentError(f"{where}: {key!r} is said twice.")
        if key == "extra":
            raise AgentError(f"{where}: 'extra' is a mapping, which needs a YAML file.")
        fields[key] = Field(number_or_text(value) if key not in _TEXTS else value, where, key)
    return fields


_TEXTS = frozenset({"system", "reasoning_effort", "key_env", "tokenizer"})


def _temperature(given: Field) -> float | Literal["default"]:
    return "default" if given.value == "default" else given.number(0, 5, "'default', or a number")


def _variable(given: Field) -> str:
    name = given.value
    if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
        raise given.fault("expected the name of an environment variable (which holds the key; never the key itself).")
    return name


def _extra(given: Field) -> Mapping[str, Any]:
    for key, value in given.mapping().items():
        if key in _KEPT:
            raise value.fault("is set by the conversation.")
    extra: Mapping[str, Any] = given.json()
    return extra


_READERS: Mapping[str, Callable[[Field], Any]] = {
    "key_env": _variable, "temperature": _temperature, "max_tokens": Field.tokens, "seed": Field.whole,
    "reasoning_effort": Field.text, "extra": _extra,
}  # fmt: skip
