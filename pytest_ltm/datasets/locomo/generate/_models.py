"""Whoever writes in the model mode: a chat model, or any function from a prompt to a text."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_ltm._dotted import DottedPath
from pytest_ltm._errors import AgentError, AgentFault, DatasetError, TransientFault, told
from pytest_ltm._fields import Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TRIES = 4


class AskedModel:
    """Gives a text for a prompt, and keeps count of what that took."""

    def __init__(self, name: str, answer: Callable[[str], str]) -> None:
        self._name, self._answer = name, answer
        self.calls = 0
        self.characters = 0
        self.tokens: dict[str, int] = {}
        """As the provider counts them; empty where it does not say."""

    def __call__(self, prompt: str) -> str:
        """Return the model's text; DatasetError if it has none."""
        self.calls += 1
        try:
            text = self._answer(prompt)
        except DatasetError:
            raise
        except (AgentFault, AgentError) as error:
            raise DatasetError(f"--model {self._name}: {error}. What is complete is kept: run it again") from error
        except Exception as error:
            raise DatasetError(f"--model {self._name}: raised {told(error)}. What is complete is kept") from error
        if not isinstance(text, str):
            raise DatasetError(f"--model {self._name}: must return a text, returned {text!r:.80}")
        self.characters += len(prompt) + len(text)
        return text

    @property
    def cost(self) -> str:
        """What it took, in a sentence."""
        used = ", ".join(f"{count} {name} tokens" for name, count in self.tokens.items())
        return f"{self._name}: {self.calls} calls, {used or f'{self.characters} characters'}"


@contextmanager
def asked_model(spec: str) -> Iterator[AskedModel]:
    """Yield what the spec means: `openai:MODEL[@URL][?key=value]`, or a dotted path; DatasetError if nothing."""
    kind, _, argument = spec.partition(":")
    if kind != "openai":
        yield AskedModel(spec, _function(spec))
        return
    from pytest_ltm._providers import Completions, model  # noqa: PLC0415 - only who asks a model pays for it

    try:
        chosen, _ = model(argument, Field({}, f"--model {spec}"))
        completions = Completions(chosen)
    except AgentError as error:
        raise DatasetError(f"--model {spec}: {error}") from error
    asked = AskedModel(spec, lambda prompt: _completed(completions, asked, prompt))
    try:
        yield asked
    finally:
        completions.close()


def _function(spec: str) -> Callable[[str], str]:
    hint = " Known is also openai:MODEL[@URL]"
    found: Any = DottedPath(spec, what="--model", error=DatasetError, hint=hint).resolve()
    if not callable(found):
        raise DatasetError(f"--model {spec}: is no function from a prompt to a text, but {found!r:.80}")
    answer: Callable[[str], str] = found
    return answer


def _completed(completions: Any, asked: AskedModel, prompt: str) -> str:
    """Ask once, and some more times where the fault may pass."""
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential  # noqa: PLC0415

    retrying = Retrying(
        stop=stop_after_attempt(_TRIES),
        wait=wait_random_exponential(multiplier=0.3, max=20),
        retry=retry_if_exception(_may_pass),
        reraise=True,
    )
    answer = retrying(completions.complete, [{"role": "user", "content": prompt}])
    if answer.used:
        for name, count in (("input", answer.used.input), ("output", answer.used.output)):
            asked.tokens[name] = asked.tokens.get(name, 0) + count
    return str(answer.text)


def _may_pass(error: BaseException) -> bool:
    status = getattr(error, "status_code", 0)
    return isinstance(error, TransientFault) or status in {408, 409, 425, 429} or status >= 500  # noqa: PLR2004
