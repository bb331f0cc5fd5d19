"""Models by their specs: parsing, list prices, and connections; commands that act as models."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, cast

from pytest_ltm.api.journal import Price, read_price
from pytest_ltm.api.model import SPOKEN
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    Field,
    LtmError,
    lazy_pattern,
    sleep_interruptibly,
)
from pytest_ltm.providers.chat_model import (
    ENDPOINTS,
    ModelSpec,
    ServiceEndpoint,
    read_model_spec,
)
from pytest_ltm.providers.chat_responses import (
    ModelResponse,
    Reception,
    Used,
    received,
    response_of,
)
from pytest_ltm.providers.provider import check_ready
from pytest_ltm.providers.provider_registry import COMMAND, provider_names, provider_of
from pytest_ltm.providers.specs import Spec

if TYPE_CHECKING:
    from pytest_ltm.providers.completions import Completions, Message


# Maximum bytes of an answer.
LONGEST_ANSWER = 2**20
_LONGEST_ERROR = 300
_POLL = 0.02


class CommandModel:
    """A command as a model: started for each request, and killed with all its descendants."""

    lost: Used | None = None
    """Always None: a command reports no usage."""

    def __init__(
        self, model: ModelSpec, says: Callable[[str], bool] = SPOKEN.says_something
    ) -> None:
        self.model = model
        self._says = says

    def turn(self) -> AbstractContextManager[object]:
        """Return at once: a command needs no turn."""
        return nullcontext()

    def complete(self, messages: Sequence[Message], **_: Any) -> ModelResponse:
        """Return the command's output; AgentFault if it fails, or writes too much."""
        contents = []
        for message in messages:
            if message.get("content"):
                contents.append(str(message["content"]))
        prompt = "\n\n".join(contents)
        with (
            tempfile.TemporaryFile() as input_file,
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
        ):
            input_file.write(prompt.encode("utf-8", "backslashreplace"))
            input_file.seek(0)
            status = self._run(input_file, output, errors)
            output.seek(0)
            text = output.read(LONGEST_ANSWER + 1)
            errors.seek(0)
            words = errors.read(_LONGEST_ERROR).decode("utf-8", "replace").strip()
        long = len(text) > LONGEST_ANSWER
        if status or long:
            if long:
                failure = f"wrote more than {LONGEST_ANSWER:,} bytes"
            else:
                failure = f"ended with {status}"
            raise AgentFault(
                f"the command {self.model.name!r} {failure}{f': {received(words)}' if words else ''}"
            )
        reception = Reception(model=self.model, says=self._says)
        return response_of(
            reception, text.decode("utf-8", "replace").strip(), Used(), finish_reason=""
        )

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Used]:
        """Raise AgentError: a command cannot compute embeddings."""
        raise AgentError(
            f"the command {self.model.name!r} cannot embed {len(texts)} texts"
        )

    def close(self) -> None:
        """Do nothing."""

    def _run(self, input_file: Any, output: Any, errors: Any) -> int:
        process = subprocess.Popen(  # noqa: S603 - the command is the user's own
            split_command(self.model.name),
            stdin=input_file,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            while process.poll() is None:
                # in short steps, so that a time limit from outside can interrupt
                if os.fstat(output.fileno()).st_size > LONGEST_ANSWER:
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


# Year and month of the list prices.
LISTED = "2025-08"
_DATED = lazy_pattern(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)")


def known_endpoints() -> list[ServiceEndpoint]:
    """Return the endpoints known by name, and the default addresses of registered providers."""
    homes = [provider_of(kind).default_address for kind in provider_names()]
    return [*ENDPOINTS.values(), *homes]


def key_names() -> list[str]:
    """Return the environment variables that specs use implicitly: keys, then addresses."""
    keys = [endpoint.key_env for endpoint in known_endpoints()]
    addresses = [provider_of(kind).address_env for kind in provider_names()]
    return list(filter(None, dict.fromkeys([*keys, *addresses])))


def list_price(model: str, base_url: str) -> Price | None:
    """Return the list price in `LISTED` of a model at its maker's own endpoint; None if unknown."""
    for endpoint in known_endpoints():
        prices = endpoint.prices
        listed = prices.get(model) or prices.get(_DATED.sub("", model))
        if endpoint.base_url == base_url and listed:
            return read_price(listed)
    return None


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

    `parameters`: those of a file. `ready`: client and key must be available. Raises
    `error`, which names the model's `role`; DefinitionError with the place in a file.
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


def open_model(
    model: ModelSpec,
    *,
    rng: random.Random | None = None,
    says: Callable[[str], bool] = SPOKEN.says_something,
) -> Completions:
    """Return the connection to a model; AgentError if its client is not installed or its key is not set."""
    from pytest_ltm.providers.completions import Completions

    if model.provider == COMMAND:
        return cast("Completions", CommandModel(model, says))  # it has the same methods
    provider = provider_of(model.provider)
    return Completions(model, provider, rng=rng, says=says)
