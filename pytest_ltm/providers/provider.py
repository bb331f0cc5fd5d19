"""Provider: the protocol of one kind of model service; derive from it to add one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from pytest_ltm.api.storage import AgentError, AgentFault
from pytest_ltm.providers.chat_model import ENDPOINTS, ModelSpec, ServiceEndpoint
from pytest_ltm.providers.chat_responses import ModelResponse, Reception, Used
from pytest_ltm.providers.transport import ClientGuard, HttpTransport, Transport

if TYPE_CHECKING:
    from pytest_ltm.providers.completions import Message


class Provider(ABC):
    """Base class for the protocol of one kind of model service."""

    name: ClassVar[str]
    """The kind of its specs: `openai`."""
    home: ClassVar[str] = ""
    """The name of its own endpoint in endpoints.yml; "": `default_address` returns it."""
    library: ClassVar[str] = "httpx2"
    """The module that sends its requests."""
    extra: ClassVar[str] = "http"
    """The extra that installs the module."""
    path: ClassVar[str]
    """The path of requests, below the address."""
    streams: ClassVar[Mapping[str, Any]] = {}
    """Fields that make a stream report its usage, too."""
    lengths: ClassVar[tuple[str, ...]]
    """The names of the field that limits a reply: the usual one, and one for servers that refuse it."""
    address_env: ClassVar[str] = ""
    """The environment variable that may override the address; "": none."""
    takes_images: ClassVar[bool] = False
    """Whether a message may contain images."""
    gives_vectors: ClassVar[bool] = False
    """Whether it has embedding models."""
    model_prefixes: ClassVar[tuple[str, ...]] = ()
    """The prefixes of its models' names."""
    missing_hint: ClassVar[str] = ""
    """What to add to the error if the address does not exist."""

    @property
    def default_address(self) -> ServiceEndpoint:
        """The address of its models unless a spec has one."""
        return ENDPOINTS[self.home]

    def address(self, model: ModelSpec) -> str:
        """Return the base address of its paths."""
        return model.base_url

    def headers(self, model: ModelSpec) -> dict[str, str]:
        """Return the headers of every request, including the key."""
        if model.key_env:
            return {"Authorization": f"Bearer {model.key()}"}
        return {}

    def connect(self, model: ModelSpec, guard: ClientGuard) -> Transport:
        """Return a transport to the model's address; AgentError if the library is not installed."""
        check_ready(model, self)
        return HttpTransport(self.address(model), self.headers(model), guard)

    @abstractmethod
    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the constant fields of every request."""

    @abstractmethod
    def body(
        self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""

    @abstractmethod
    def read(self, answer: Mapping[str, Any], asked: Reception) -> ModelResponse:
        """Return the response in a body; raises a fault if it is not an answer."""

    @abstractmethod
    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return the usage in a body."""

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body assembled from the events of a stream; TransientFault if the stream broke off."""
        raise AgentFault(f"{self.name}: a stream of {len(events)} events is not read")


class RequestFields(Struct, frozen=True):
    """The fields of a chat request, with those separated that each API writes differently."""

    rest: dict[str, Any]
    """The fields that every API accepts unchanged."""
    form: Mapping[str, Any] | None
    """The JSON schema of the answer: `name`, `schema`, `strict`."""
    functions: Sequence[Mapping[str, Any]]
    """The tools that the model may call: `name`, `parameters`, optionally `description`."""


def split_fields(fields: Mapping[str, Any]) -> RequestFields:
    """Split the fields of a chat completion.

    For an API without a seed, and with its own form of schemas and tools.
    """
    plain_fields = dict(fields)
    for name in ("response_format", "tools", "seed"):
        plain_fields.pop(name, None)
    form = fields.get("response_format", {}).get("json_schema")
    functions = [tool["function"] for tool in fields.get("tools", ())]
    return RequestFields(plain_fields, form, functions)


def drop_unset(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value; "default" omits a field, so that the server decides."""
    present = {}
    for name, value in values.items():
        if value not in (None, "default"):
            present[name] = value
    return present


def check_ready(model: ModelSpec, provider: Provider) -> None:
    """Raise AgentError for a missing library or key before the run, not during it."""
    if find_spec(provider.library) is None:
        raise AgentError(
            f"model {model.name!r} needs {provider.library!r}, which is not installed: "
            f"pip install 'pytest-ltm[{provider.extra}]'"
        )
    model.key()
