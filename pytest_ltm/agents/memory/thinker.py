"""Thinker: runs the reasoning tasks of a memory system. One method: typed task in, typed result out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, structs

from pytest_ltm.agents.chat_agent import SILENCE
from pytest_ltm.agents.memory.extracts import NOTES, read_extract
from pytest_ltm.agents.memory.prompts import PROMPTS, Prompts, load_role_prompts
from pytest_ltm.agents.memory.reading import (
    MemoryHit,
    NoteReading,
    Utterance,
    time_since,
)
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.reader.reader import VERSION, make_reader
from pytest_ltm.agents.sources import current_reading
from pytest_ltm.agents.unbuilt import FRAME
from pytest_ltm.api.model import RAW, Reading, Usage, usage_of
from pytest_ltm.api.storage import AgentError, AgentFault, Field, did_you_mean
from pytest_ltm.providers import (
    PARAMETERS,
    ModelResponse,
    ModelSpec,
    model_forms,
    names_model,
    open_model,
    read_model,
    suggest_provider,
)
from pytest_ltm.providers.completions import Message

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
_FILE_OF_PROMPTS = "prompts"
READER_PARAMETERS = (*PARAMETERS, _FILE_OF_PROMPTS)
"""The parameters of a thinking model: those of chat models, and a file with prompts."""


class Task(Protocol[R_co]):
    """A reasoning task: a role, and all the data that it needs."""

    @property
    def role(self) -> str:
        """The name under which its calls are counted."""
        ...

    def prompt(self) -> list[Message]:
        """Return the messages for a model."""
        ...

    def result(self, answer: ModelResponse) -> R_co:
        """Return the result in a model's answer; ValueError if it cannot be parsed."""
        ...

    def by_rules(self) -> R_co:
        """Return the result by rules, from the task's data alone."""
        ...


_READING = NoteReading()


class Replying(Struct, frozen=True, kw_only=True):
    """The reply to a message, from the shown notes and recent messages alone."""

    message: str
    now: datetime | None = None
    notes: tuple[MemoryHit, ...] = ()
    """In the order in which they are shown."""
    recent: tuple[Utterance, ...] = ()
    """The latest utterances, oldest first, without the message itself."""
    about: str = ""
    """What a notebook says about the user; "" if nothing."""
    reading: NoteReading = _READING
    role: str = "reply"
    prompts: Prompts = PROMPTS

    def prompt(self) -> list[Message]:
        """Return the notes as a system message, the recent messages, and the message with its time."""
        words = self.prompts["reply"]
        parts = [words["system"]]
        if self.about:
            parts.append(words["about"].format(about=self.about))
        if self.notes:
            parts.append(
                words["notes"].format(
                    notes=self.reading.format_notes(self.notes, self.now)
                )
            )
            if self._takes_notes:
                parts.append(words["con"])
        recent = []
        for utterance in self.recent:
            role = utterance.role or "user"
            recent.append({"role": role, "content": self._aged(utterance)})
        message = Utterance("user", self.message, self.now)
        question = {"role": "user", "content": self._aged(message)}
        return [{"role": "system", "content": "\n\n".join(parts)}, *recent, question]

    def _aged(self, utterance: Utterance) -> str:
        if not (
            self.reading.age and utterance.role == "user" and utterance.at is not None
        ):
            return utterance.text or SILENCE
        dated = utterance.at == self.now or self.reading.age == "date"
        if dated:
            when = utterance.at.isoformat(" ", "minutes")
        else:
            when = time_since(utterance, self.now)
        return f"[{when}] {utterance.text}"

    @property
    def _takes_notes(self) -> bool:
        return self.reading.notes == "con" and bool(self.notes)

    def result(self, answer: ModelResponse) -> str:
        """Return the text itself; if notes come first, the part after the last `Answer:`, if any."""
        _, mark, last = answer.text.rpartition(self.prompts["reply"]["answer"])
        if self._takes_notes and mark and last.strip():
            return last.strip()
        return answer.text

    def by_rules(self) -> str:
        """Return the reply of the embedded reader after the notebook, the notes and the recent messages."""
        # A new reader: it knows what the prompt would show, and nothing else.
        reader = make_reader("full")()
        statements = _known_statements(self.about)
        utterances = [Utterance("user", line) for line in statements]
        for note in self.notes:
            utterances += note.utterances
        utterances += self.recent
        # Pairs each message with the reply that follows it, as the reader accepts
        # exchanges; a reply without a message gets an empty one.
        result: list[tuple[Utterance, str]] = []
        answered = True
        for utterance in utterances:
            if utterance.role != "assistant":
                result.append((utterance, ""))
                answered = utterance.role != "user"
            elif answered:
                result.append((Utterance("", "", utterance.at), utterance.text))
            else:
                result[-1] = (result[-1][0], utterance.text)
                answered = True
        for message, reply in result:
            if self.reading.age and message.at is not None:
                reader.tell_time(message.at)
            reader.accept(message.text, reply)
        if self.reading.age and self.now is not None:
            reader.tell_time(self.now)
        return reader.reply(self.message)


def _known_statements(about: str) -> list[str]:
    """Return the statements in a notebook: one per line with its date, or the texts of a JSON object."""
    try:
        data = json.loads(about)
    except ValueError:
        return [f"{row.date} {row.line}".strip() for row in read_extract(about)]
    if not isinstance(data, dict):
        return []
    statements = []
    for field, value in data.items():
        notes = value if isinstance(value, list) else [value]
        # The field of a list names the speaker or the subject of its notes.
        is_named = isinstance(value, list) and field != NOTES
        head = f"{field}: " if is_named else ""
        statements += [f"{head}{note}" for note in notes if isinstance(note, str)]
    return statements


class TaskResult(Struct, Generic[R], frozen=True):
    """The result of a task, and its usage."""

    result: R
    usage: Usage
    """The tokens used; for rules, those that a model would have used."""
    understood: bool = True
    """False if a model's answer could not be parsed, so that rules replaced it."""
    finish_reason: str = ""
    """The finish reason of the model's answer, as reported by its provider."""
    thoughts: str = ""
    """The model's thoughts, which no later prompt shows."""


class Thinker(Protocol):
    """Runs tasks; close it at the end."""

    free: bool
    """Whether it costs nothing: its usage is what a model would have used."""
    prompts: Prompts
    """The prompts for a model."""

    def think(self, task: Task[R]) -> TaskResult[R]:
        """Return the result of the task."""
        ...

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn, and hold it."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """Return, as JSON values, the settings that affect the results."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class Rules:
    """Runs tasks by rules: deterministic, without key and network."""

    free = True
    prompts = PROMPTS

    def think(self, task: Task[R]) -> TaskResult[R]:
        """Return the result by rules."""
        result = task.by_rules()
        tokens = count_tokens(result) if isinstance(result, str) else 0
        return TaskResult(
            result,
            Usage(input_tokens=prompt_tokens(task.prompt()), output_tokens=tokens),
        )

    def turn(self) -> AbstractContextManager[object]:
        """Return at once: rules need no turn."""
        return nullcontext()

    def configuration(self) -> Mapping[str, Any]:
        """Return the version of the rules."""
        return {"thinker": "rules", "reader": VERSION}

    def close(self) -> None:
        """Do nothing."""


class Chats:
    """Runs tasks with a chat model, one request each; rules replace answers that cannot be parsed."""

    free = False

    def __init__(
        self, chosen: ModelSpec, reading: Reading = RAW, prompts: Prompts = PROMPTS
    ) -> None:
        """`reading`: the part of an answer that counts; the rest are thoughts."""
        self.prompts = prompts
        self._model = chosen
        self._reading = reading
        self._completions = open_model(chosen, says=reading.says_something)

    def think(self, task: Task[R]) -> TaskResult[R]:
        """Return the model's result; a fault of the model carries its usage."""
        task = structs.replace(task, prompts=self.prompts)  # type: ignore[type-var]
        messages = task.prompt()
        more = {"tools": list(task.tools)} if hasattr(task, "tools") else {}
        try:
            answer = self._completions.complete(messages, **more)
        except AgentFault as fault:
            lost = self._completions.lost
            if lost is not None:
                fault.usage = usage_of(lost, prompt=prompt_tokens(messages), reply=0)
            raise
        used = usage_of(
            answer.used, prompt=prompt_tokens(messages), reply=count_tokens(answer.text)
        )
        speech = self._reading(answer.text)
        if speech != answer.text:
            answer = structs.replace(
                answer, text=speech, thoughts=answer.thoughts or answer.text
            )
        thoughts = answer.thoughts
        try:
            result = task.result(answer)
            is_understood = True
        except (ValueError, OverflowError):  # no JSON, or an impossible date
            result = task.by_rules()
            is_understood = False
        if is_understood and task.role == "reply" and result != answer.text:
            # the text also has its notes
            thoughts = f"{thoughts}\n\n{answer.text}".strip()
        # an answer with tool calls ended well, whatever its finish reason
        reason = "" if answer.calls else answer.finish_reason
        return TaskResult(result, used, is_understood, reason, thoughts)

    def turn(self) -> AbstractContextManager[object]:
        """Wait for a turn at the endpoint."""
        return self._completions.turn()

    def configuration(self) -> Mapping[str, Any]:
        """Return the model, and the version of the prompts or the hash of their file; no secrets."""
        return {
            "thinker": "model",
            "prompts": self.prompts.record,
            **self._model.configuration(),
        }

    def close(self) -> None:
        """Close the connections."""
        self._completions.close()


def prompt_tokens(messages: Sequence[Message]) -> int:
    """Return the tokens of a prompt, including the overhead of each message."""
    tokens = 0
    for message in messages:
        tokens += count_tokens(message["content"]) + FRAME
        if "tool_calls" in message:
            tokens += count_tokens(json.dumps(message["tool_calls"]))
    return tokens


def make_thinker(
    spec: str, parameters: Field, *, role: str = "reader", ready: bool = False
) -> tuple[Callable[[], Thinker], ModelSpec | None]:
    """Return a factory of thinkers, and their model.

    `spec`: `rules`, which need no model (None), or a model such as `openai:MODEL[@URL]`.

    `parameters` may contain those of a model, and a file of `prompts`. `ready`: client
    and key must be available.
    Raises AgentError for an unknown spec or an invalid model; DefinitionError with the
    place in the file.
    """
    if names_model(spec):
        prompts, model_parameters = _split_prompts(parameters)
        chosen, _ = read_model(
            spec, role=role, parameters=model_parameters, ready=ready
        )
        reading = current_reading()
        return lambda: Chats(chosen, reading, prompts), chosen
    if spec != "rules":
        forms = ["rules", *model_forms()]
        hint = suggest_provider(spec) or did_you_mean(spec.partition(":")[0], forms)
        raise AgentError(
            f"{spec!r} is not a reader.{hint} Write {' or '.join(map(repr, forms))}"
        )
    for name, field in parameters.mapping().items():
        if name in READER_PARAMETERS:
            raise field.fault("is a parameter of a model, and rules read here.")
    return Rules, None


def _split_prompts(parameters: Field) -> tuple[Prompts, Field]:
    """Return the chosen prompts, and the other parameters."""
    fields = parameters.mapping()
    values = {name: fields[name].value for name in fields if name != _FILE_OF_PROMPTS}
    if _FILE_OF_PROMPTS in fields:
        prompts = load_role_prompts(Path(fields[_FILE_OF_PROMPTS].text("a file")))
    else:
        prompts = PROMPTS
    return prompts, structs.replace(parameters, value=values)
