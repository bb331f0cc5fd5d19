"""A model that writes data for a data set: resolving it, calling it, and retrying unusable answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from random import Random
from string import Template
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from msgspec import Meta, ValidationError, convert

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.calls import Retries
from pytest_ltm.api.storage import (
    AgentError,
    AgentFault,
    DatasetError,
    DottedPath,
    describe_error,
)
from pytest_ltm.providers import (
    model_forms,
    names_model,
    open_model,
    read_model,
    suggest_provider,
)

# Maps a prompt to a text.
Model: TypeAlias = Callable[[str], str]
_Read = TypeVar("_Read")


class AskedModel:
    """Calls a model with prompts, and counts calls and tokens."""

    def __init__(self, name: str, answer: Callable[[str], str]) -> None:
        self._name = name
        self._answer = answer
        self.calls = 0
        self.characters = 0
        self.tokens: dict[str, int] = {}
        """As counted by the provider; empty if it does not report them."""

    def __call__(self, prompt: str) -> str:
        """Return the model's text; DatasetError if it returns none."""
        self.calls += 1
        try:
            text = self._answer(prompt)
        except DatasetError:
            raise
        except (AgentFault, AgentError) as error:
            raise DatasetError(
                f"--model {self._name}: {error}. What is complete is kept: run it again"
            ) from error
        except Exception as error:
            problem = f"raised {describe_error(error)}. What is complete is kept"
            raise DatasetError(f"--model {self._name}: {problem}") from error
        if not isinstance(text, str):
            raise DatasetError(
                f"--model {self._name}: must return a text, returned {text!r:.80}"
            )
        self.characters += len(prompt) + len(text)
        return text

    @property
    def cost(self) -> str:
        """The usage in one sentence."""
        counts = [f"{count} {name} tokens" for name, count in self.tokens.items()]
        used = ", ".join(counts)
        return f"{self._name}: {self.calls} calls, {used or f'{self.characters} characters'}"


_AGENTS = ("http:", "https:", "cmd:")
_FILES = (".yml", ".yaml")
_SECONDS = 300.0
_MORE = 3
AUTHORS = "who answers prompts: openai:MODEL[@URL], pkg.mod:function, cmd:COMMAND, http://URL or an agent's YAML file"


def _retries() -> Retries:
    return Retries(most=_MORE, rng=Random())


@contextmanager
def author_session(spec: str) -> Iterator[AskedModel]:
    """Yield the model of a spec; for an agent, each prompt gets a new one. DatasetError for an unknown spec."""
    if spec.startswith(_AGENTS) or spec.endswith(_FILES):
        try:
            source = find_agent(spec)
        except AgentError as error:
            raise DatasetError(f"--model {spec}: {error}") from error

        def ask(prompt: str) -> str:
            # a new agent per prompt, which must not remember the previous one
            caller = AgentCaller(
                source.make(),
                timeout=_SECONDS,
                name=source.spec,
                owned=source.owned,
                retries=_retries(),
            )
            with closing(caller):
                return caller.ask(prompt).text

        yield AskedModel(spec, ask)
        return
    if not names_model(spec):
        hint = suggest_provider(spec) or f" Known are also {', '.join(model_forms())}"
        function = DottedPath(
            spec, what="--model", error=DatasetError, hint=hint
        ).resolve()
        if not callable(function):
            raise DatasetError(
                f"--model {spec}: is not a function from a prompt to a text, but {function!r:.80}"
            )
        yield AskedModel(spec, cast("Callable[[str], str]", function))
        return
    chosen, _ = read_model(spec, role="--model", error=DatasetError, ready=True)
    completions = open_model(chosen)
    model = AskedModel(
        spec, lambda prompt: complete_prompt(completions, model, prompt, _retries())
    )
    try:
        yield model
    finally:
        completions.close()


def complete_prompt(
    completions: Any, model: AskedModel, prompt: str, retries: Retries
) -> str:
    """Return a model's text, retrying transient faults; add the tokens used to the model's count."""
    ask = partial(completions.complete, [{"role": "user", "content": prompt}])
    answer = retries.run(ask, anew=True, failed=lambda _: None, ready=lambda: None)
    for name, count in (("input", answer.used.input), ("output", answer.used.output)):
        if count is not None:
            model.tokens[name] = model.tokens.get(name, 0) + count
    return str(answer.text)


# --- Parsing the model's text: JSON of the requested form, or a retry with an
# explanation.

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


def parse_json_answer(text: str) -> Any:
    """Return the only JSON value in the text, bare or in a fenced block."""
    fenced = _FENCED.findall(text)
    try:
        return json.loads(fenced[-1] if fenced else text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not one JSON value: {error}.") from error


def prompt_of(templates: Mapping[str, str], step: str, **parts: object) -> str:
    """Return the prompt of a step; parts other than texts are inserted as JSON."""
    json_parts = {}
    for name, part in parts.items():
        if not isinstance(part, str):
            json_parts[name] = json.dumps(part, ensure_ascii=False)
    return Template(templates[step]).substitute(parts | json_parts, json=_JSON)


_TRIES = 3
_JSON = "Answer with one JSON value and nothing else. It has this form: "
_AGAIN = "\n\nYour last answer began:\n{answer}\nIt cannot be used: {wrong}\nAnswer again, with all of it."
_SHOWN = 600


def written_by(
    model: Model, prompt: str, read: Callable[[Any], _Read], task: str
) -> _Read:
    """Return the model's text as parsed by `read`; a ValueError of `read` is explained to the model.

    Raises DatasetError if it is still unusable after some tries.
    """
    question = prompt
    wrong = ""
    for _ in range(_TRIES):
        text = model(question)
        try:
            return read(parse_json_answer(text))
        except ValueError as error:
            wrong = str(error)
            question = prompt + _AGAIN.format(answer=text[:_SHOWN], wrong=wrong)
    raise DatasetError(
        f"{task}: no usable answer in {_TRIES} tries. The last one: {wrong} What is complete is kept"
    )


def require(holds: bool, wrong: str) -> None:
    """Raise ValueError with the message unless the condition holds."""
    if not holds:
        raise ValueError(wrong)


# A text that is not blank.
Text: TypeAlias = Annotated[str, Meta(pattern=r"\S")]


def read_as(value: Any, kind: type[_Read]) -> _Read:
    """Return a JSON value as a type; ValueError with the place and the expected type."""
    try:
        return convert(value, kind)
    except ValidationError as error:
        raise ValueError(f"{error}.") from None
