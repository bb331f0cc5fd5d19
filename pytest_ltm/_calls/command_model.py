"""CommandModel: a model behind a command that reads a prompt and writes an answer, as `claude -p` does."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from pytest_ltm._calls.chat_responses import ModelResponse, Used, received
from pytest_ltm._storage.clock import sleep_interruptibly
from pytest_ltm._storage.errors import AgentError, AgentFault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from pytest_ltm._calls.chat_model import ModelSpec
    from pytest_ltm._calls.completions import Message


# The bytes of an answer that are read.
LONGEST_ANSWER = 2**20
_LONGEST_ERROR = 300
_POLL = 0.02


class CommandModel:
    """Asked one request at a time; the command is started for each, and ended with all that it started."""

    lost: Used | None = None
    """Nothing is reported, so nothing is known to be lost."""

    def __init__(self, model: ModelSpec) -> None:
        self.model = model

    def turn(self) -> AbstractContextManager[object]:
        """Wait for nobody."""
        return nullcontext()

    def complete(self, messages: Sequence[Message], **_: Any) -> ModelResponse:
        """Return what the command writes to its output; AgentFault if it fails, or writes too much."""
        prompt = "\n\n".join(str(message["content"]) for message in messages if message.get("content"))
        with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
            asked.write(prompt.encode("utf-8", "backslashreplace"))
            asked.seek(0)
            status = self._run(asked, said, errors)
            said.seek(0)
            text = said.read(LONGEST_ANSWER + 1)
            errors.seek(0)
            words = errors.read(_LONGEST_ERROR).decode("utf-8", "replace").strip()
        long = len(text) > LONGEST_ANSWER
        if status or long:
            what = f"wrote more than {LONGEST_ANSWER:,} bytes" if long else f"ended with {status}"
            raise AgentFault(f"the command {self.model.name!r} {what}{f': {received(words)}' if words else ''}")
        return ModelResponse(received(text.decode("utf-8", "replace").strip()), Used())

    def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], Used]:
        """Raise AgentError: a command gives no vectors."""
        raise AgentError(f"the command {self.model.name!r} gives no vectors for {len(texts)} texts")

    def close(self) -> None:
        """Nothing is open."""

    def _run(self, asked: Any, said: Any, errors: Any) -> int:
        process = subprocess.Popen(  # noqa: S603 - the command is the user's own
            split_command(self.model.name), stdin=asked, stdout=said, stderr=errors, start_new_session=True
        )
        try:
            while process.poll() is None:  # in short steps: a time limit from outside must be able to come through
                if os.fstat(said.fileno()).st_size > LONGEST_ANSWER:
                    break
                sleep_interruptibly(_POLL)
        finally:
            if process.poll() is None:
                _end_group(process)
        return process.wait()


def split_command(command: str) -> list[str]:
    """Return the words of a command; AgentError if there is no such program."""
    try:
        words = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise AgentError(f"{command!r} is not a command: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise AgentError(f"there is no program {words[0] if words else command!r}. Write it as in 'cmd:claude -p'")
    return words


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
