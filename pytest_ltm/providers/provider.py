"""Provider: how the models of one kind of service are asked; derive from it to add one."""

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
    """How the models of one kind of service are asked: a base class, of which a kind says what differs."""

    name: ClassVar[str]
    """The kind of its specs: `openai`."""
    home: ClassVar[str] = ""
    """The name of its own endpoint in endpoints.yml; "": `default_address` says it."""
    library: ClassVar[str] = "httpx2"
    """The module that its requests go through."""
    extra: ClassVar[str] = "http"
    """The extra that brings it."""
    path: ClassVar[str]
    """Where requests go, below the address."""
    streams: ClassVar[Mapping[str, Any]] = {}
    """Fields with which a stream also counts its tokens."""
    lengths: ClassVar[tuple[str, ...]]
    """The names of the field that limits a reply: the usual one, and one for those who refuse that."""
    address_env: ClassVar[str] = ""
    """The environment variable that may name another address in its place; "": none."""
    takes_images: ClassVar[bool] = False
    """Whether a message may hold photos."""
    gives_vectors: ClassVar[bool] = False
    """Whether it has models that make embeddings."""
    model_prefixes: ClassVar[tuple[str, ...]] = ()
    """How the names of its models begin."""
    missing_hint: ClassVar[str] = ""
    """What to add where nothing is found at the address."""

    @property
    def default_address(self) -> ServiceEndpoint:
        """Where its models are if a spec does not say."""
        return ENDPOINTS[self.home]

    def address(self, model: ModelSpec) -> str:
        """Return the address below which its paths are."""
        return model.base_url

    def headers(self, model: ModelSpec) -> dict[str, str]:
        """Return the headers of every request, the key among them."""
        if model.key_env:
            return {"Authorization": f"Bearer {model.key()}"}
        return {}

    def connect(self, model: ModelSpec, guard: ClientGuard) -> Transport:
        """Return what posts to the model's address; AgentError where the library is not installed."""
        check_ready(model, self)
        return HttpTransport(self.address(model), self.headers(model), guard)

    @abstractmethod
    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the fields of every request beside model and messages."""

    @abstractmethod
    def body(
        self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""

    @abstractmethod
    def read(self, answer: Mapping[str, Any], asked: Reception) -> ModelResponse:
        """Return what a body says; a fault if that is not an answer."""

    @abstractmethod
    def used(self, answer: Mapping[str, Any]) -> Used:
        """Return what a body says that it took."""

    def assemble(self, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the body that the events of a stream make up; TransientFault for one that broke off."""
        raise AgentFault(f"{self.name}: a stream of {len(events)} events is not read")


class RequestFields(Struct, frozen=True):
    """The fields of a chat request, apart from those that each API writes in its own way."""

    rest: dict[str, Any]
    """What every API takes as it is."""
    form: Mapping[str, Any] | None
    """The JSON schema of the answer: `name`, `schema`, `strict`."""
    functions: Sequence[Mapping[str, Any]]
    """The tools that the model may call: `name`, `parameters`, maybe `description`."""


def split_fields(fields: Mapping[str, Any]) -> RequestFields:
    """Return the fields of a chat completion, for an API that has no seed and other words for forms and tools."""
    rest = {
        name: value
        for name, value in fields.items()
        if name not in {"response_format", "tools", "seed"}
    }
    form = fields.get("response_format", {}).get("json_schema")
    functions = [tool["function"] for tool in fields.get("tools", ())]
    return RequestFields(rest, form, functions)


def drop_unset(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value; "default" leaves a field out, so that the server decides."""
    return {
        name: value for name, value in values.items() if value not in (None, "default")
    }


def check_ready(model: ModelSpec, provider: Provider) -> None:
    """Raise the AgentError of a missing library or key before the run instead of in it."""
    if find_spec(provider.library) is None:
        raise AgentError(
            f"model {model.name!r} needs {provider.library!r}, which is not installed: "
            f"pip install 'pytest-ltm[{provider.extra}]'"
        )
    model.key()
