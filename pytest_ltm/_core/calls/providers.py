"""Providers: the one registry of services that models are asked at, by the kind of their specs.

Agents, judges, simulated users, readers, embeddings and writers of data look here, and
nowhere else.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from pytest_ltm._core.calls.chat_model import (
    ENDPOINTS,
    ModelSpec,
    ServiceEndpoint,
    read_model_spec,
)
from pytest_ltm._core.calls.chat_responses import (
    ModelResponse,
    Reception,
    Used,
    received,
    response_of,
)
from pytest_ltm._core.calls.specs import Spec
from pytest_ltm._core.calls.transport import ClientGuard, HttpTransport, Transport
from pytest_ltm._core.model.transcript import SPOKEN
from pytest_ltm._core.storage.clock import sleep_interruptibly
from pytest_ltm._core.storage.errors import AgentError, AgentFault, LtmError
from pytest_ltm._core.storage.schema import Field

if TYPE_CHECKING:
    from pytest_ltm._core.calls.completions import Completions, Message


# The bytes of an answer that are read.
LONGEST_ANSWER = 2**20
_LONGEST_ERROR = 300
_POLL = 0.02


class CommandModel:
    """Asked one request at a time; the command is started for each, and ended with all that it started."""

    lost: Used | None = None
    """Nothing is reported, so nothing is known to be lost."""

    def __init__(
        self, model: ModelSpec, says: Callable[[str], bool] = SPOKEN.says_something
    ) -> None:
        self.model, self._says = model, says

    def turn(self) -> AbstractContextManager[object]:
        """Wait for nobody."""
        return nullcontext()

    def complete(self, messages: Sequence[Message], **_: Any) -> ModelResponse:
        """Return what the command writes to its output; AgentFault if it fails, or writes too much."""
        prompt = "\n\n".join(
            str(message["content"]) for message in messages if message.get("content")
        )
        with (
            tempfile.TemporaryFile() as asked,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            asked.write(prompt.encode("utf-8", "backslashreplace"))
            asked.seek(0)
            status = self._run(asked, output, errors)
            output.seek(0)
            text = output.read(LONGEST_ANSWER + 1)
            errors.seek(0)
            words = errors.read(_LONGEST_ERROR).decode("utf-8", "replace").strip()
        long = len(text) > LONGEST_ANSWER
        if status or long:
            what = (
                f"wrote more than {LONGEST_ANSWER:,} bytes"
                if long
                else f"ended with {status}"
            )
            raise AgentFault(
                f"the command {self.model.name!r} {what}{f': {received(words)}' if words else ''}"
            )
        reception = Reception(model=self.model, says=self._says)
        return response_of(
            reception,
            text.decode("utf-8", "replace").strip(),
            Used(),
            finish_reason="",
        )

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Used]:
        """Raise AgentError: a command gives no vectors."""
        raise AgentError(
            f"the command {self.model.name!r} gives no vectors for {len(texts)} texts"
        )

    def close(self) -> None:
        """Nothing is open."""

    def _run(self, asked: Any, said: Any, errors: Any) -> int:
        process = subprocess.Popen(  # noqa: S603 - the command is the user's own
            split_command(self.model.name),
            stdin=asked,
            stdout=said,
            stderr=errors,
            start_new_session=True,
        )
        try:
            while (
                process.poll() is None
            ):  # in short steps: a time limit from outside must be able to come through
                if os.fstat(said.fileno()).st_size > LONGEST_ANSWER:
                    break
                sleep_interruptibly(_POLL)
        finally:
            if process.poll() is None:
                with suppress(ProcessLookupError):
                    if os.name == "posix":
                        os.killpg(process.pid, signal.SIGKILL)
                    else:
                        process.kill()
        return process.wait()


def split_command(command: str) -> list[str]:
    """Return the words of a command; AgentError if there is no such program."""
    try:
        words = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise AgentError(f"{command!r} is not a command: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise AgentError(
            f"there is no program {words[0] if words else command!r}. Write it as in 'cmd:claude -p'"
        )
    return words


class Provider(Protocol):
    """How the models of one kind of service are asked: a base class, of which a kind says what differs."""

    name: ClassVar[str]
    """The kind of its specs: `openai`."""
    home: ClassVar[str]
    """The name of its own endpoint."""
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
        return {"Authorization": f"Bearer {model.key()}"} if model.key_env else {}

    def connect(self, model: ModelSpec, guard: ClientGuard) -> Transport:
        """Return what posts to the model's address; AgentError where the library is not installed."""
        check_ready(model, self)
        return HttpTransport(self.address(model), self.headers(model), guard)

    def parameters(self, model: ModelSpec) -> dict[str, Any]:
        """Return the fields of every request beside model and messages."""

    def body(
        self, model: ModelSpec, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the body of a request."""

    def read(self, answer: Mapping[str, Any], asked: Reception) -> ModelResponse:
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
# The kind of a spec of a command, for all but agents, which have a protocol of their
# own there.
COMMAND = "cmd"
FORMS = (*(f"{kind}:MODEL" for kind in KINDS), f"{COMMAND}:COMMAND")


@cache
def provider_of(kind: str) -> Provider:
    """Return the provider of that kind, which must be one of KINDS."""
    module, _, name = _CLASSES[kind].partition(":")
    return cast(
        "Provider", getattr(import_module(f"pytest_ltm._core.calls.{module}"), name)()
    )


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

    `parameters`: those of a file. `ready`: it must be possible to ask it, so client and
    key have to be there. Raises `error`, which says what the model was to be (`role`);
    DefinitionError with the place in a file.
    """
    spec = Spec.parse(text, role=role)
    if spec.kind == COMMAND:
        command = text.partition(":")[2].strip()
        try:
            split_command(command)
        except AgentError as fault:
            raise error(f"{role} {text!r}: {fault}") from None
        return ModelSpec(name=command, provider=COMMAND, base_url="", key_env=""), {}
    fields = Field({}, f"{role} {spec.head!r}") if parameters is None else parameters
    provider = provider_of(spec.kind)
    try:
        model, others = read_model_spec(spec, fields, provider, also)
        if ready:
            check_ready(model, provider)
    except AgentError as fault:
        words = str(fault)
        where = f"{role} {spec.head!r}"
        raise error(
            words if words.startswith(where) else f"{where}: {words}"
        ) from fault
    return model, others


def check_ready(model: ModelSpec, provider: Provider) -> None:
    """Raise the AgentError of a missing library or key before the run instead of in it."""
    if find_spec(provider.library) is None:
        raise AgentError(
            f"model {model.name!r} needs {provider.library!r}, which is not installed: "
            f"pip install 'pytest-ltm[{provider.extra}]'"
        )
    model.key()


def open_model(
    model: ModelSpec,
    *,
    timeout: float | None = None,
    rng: random.Random | None = None,
    says: Callable[[str], bool] = SPOKEN.says_something,
) -> Completions:
    """Return the connection to a model; AgentError where its client is not installed or its key is not set."""
    from pytest_ltm._core.calls.completions import Completions

    if model.provider == COMMAND:
        return cast("Completions", CommandModel(model, says))  # it has the same methods
    provider = provider_of(model.provider)
    return Completions(model, provider, timeout=timeout, rng=rng, says=says)
