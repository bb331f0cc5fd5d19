"""Data sets: their options, and a file opened as a suite whose every question is an example with its history."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

from pytest_ltm._core.storage.choices import one_of
from pytest_ltm._core.storage.errors import ConfigurationError

if TYPE_CHECKING:
    from pytest_ltm._core.model.filler import PastExchange
    from pytest_ltm._core.model.plan import Questions
    from pytest_ltm._core.model.scenario import Definition
    from pytest_ltm._core.model.suite import Suite


T = TypeVar("T")
# The label of a data set's only memory span.
SPAN = "all"
# That span in tokens: longer than any history.
SPAN_TOKENS = 10**12
# In the folder of `--ltm-dir`: the positions of records in large files, and files
# derived from others. It may be deleted at any time.
INDEX_FOLDER = "data-index"


class DatasetOption(NamedTuple):
    """One parameter of a data set: `next_turns` of locomo is given as `--ltm-suite='locomo?next_turns=3'`."""

    name: str
    metavar: str
    help: str
    default: str = ""
    parse: Callable[[str], Any] = str
    """Parses a text, including the default; ConfigurationError, without the option's name."""
    is_path: bool = False
    """It names a file or folder, relative to the command line's folder or to the ini file."""


class Dataset(NamedTuple):
    """A data set that runs can play; creating one reads no files and imports nothing heavy."""

    name: str
    """The value of `--ltm-suite`, before its parameters."""
    metric: str
    """The published metric, in a few words."""
    fewer: str
    """The name of the option that limits the number of questions."""
    options: tuple[DatasetOption, ...]
    opener: Callable[[Path | None, Mapping[str, Any], int, Path | None], DatasetSuite]
    """Opens a path with the values of all options, a seed, and a folder for caching between runs."""
    questions: Questions = "together"
    """How questions about a history are asked by default; if `alone`, the opener's values include `questions`."""
    family: str = ""
    """The data set whose options it shares; "": its own."""
    protocols: Mapping[str, Mapping[str, str]] = {}
    """The options set by each value of `protocol`: texts by option, including `questions`; "": left out."""

    def open(
        self,
        path: Path | None,
        parameters: Mapping[str, str],
        *,
        seed: int,
        cache: Path | None = None,
        questions: Questions | None = None,
    ) -> DatasetSuite:
        """Return the suite; DatasetError for an unusable path, ConfigurationError for an option.

        `parameters`: texts by the option's name, without those left out. `cache`: a
        folder for caching the contents of files between runs. `questions`: how they are
        asked, if not by default.
        """
        if questions:
            self._check_protocol({**parameters, "questions": questions})
        if self.questions == "together":
            chosen = {}
        else:
            chosen = {"questions": questions or self.questions}
        return self.opener(path, self.read(parameters) | chosen, seed, cache)

    def read(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of all options; ConfigurationError names the invalid one."""
        fields = {}
        texts = {**self._check_protocol(parameters), **parameters}
        for option in self.options:
            try:
                fields[option.name] = option.parse(
                    texts.get(option.name) or option.default
                )
            except ConfigurationError as error:
                raise ConfigurationError(
                    f"{self.flag(option.name)}: {error}"
                ) from error
        return fields

    def _check_protocol(self, parameters: Mapping[str, str]) -> Mapping[str, str]:
        """Return the options set by the given protocol; ConfigurationError for an option that contradicts it."""
        protocol = parameters.get("protocol", "")
        settings = self.protocols.get(protocol, {})
        for name, text in settings.items():
            if parameters.get(name, text) != text:
                meaning = f"{name}={text}" if text else f"no {name}"
                raise ConfigurationError(
                    f"{self.flag(name)}={parameters[name]}: protocol={protocol} means {meaning}. "
                    "Leave one of the two out"
                )
        return settings

    def flag(self, option: str) -> str:
        """Return the name of a parameter in messages."""
        return f"--ltm-suite={self.name}?{option}"


class Definitions(Protocol):
    """A folder of definition files, which replace generated examples."""

    path: Path

    @property
    def examples(self) -> Mapping[str, Sequence[str]]:
        """The examples of each scenario that has files."""

    @property
    def span(self) -> int | None:
        """The memory span for which they were made, in tokens."""

    @property
    def is_published(self) -> bool:
        """Whether they belong to a published run."""

    def definition(self, scenario: str, example: str) -> Definition:
        """Return the definition in a file; DefinitionError if it is unusable."""


class ToldConversation(NamedTuple):
    """The told part of one conversation of a data set."""

    history: Sequence[PastExchange]
    """By date; told as far as the questions wait for it."""
    opening: str
    """The message that begins the conversation; "": none."""
    described: object
    """JSON values for the plan's fingerprint: the file, the part of it, and the form of telling."""


class KeptHistory(Generic[T]):
    """Creates the history of a thread on demand, and keeps only the last one."""

    def __init__(self, make: Callable[[str], T]) -> None:
        self._make = make
        self._last: tuple[str, T] | None = None

    def __call__(self, thread: str) -> T:
        """Releases the previous one before the next is created: two may exceed the memory."""
        if self._last is None or self._last[0] != thread:
            self._last = None  # release it first: two may exceed the memory
            self._last = thread, self._make(thread)
        return self._last[1]


def told_after(past: Sequence[PastExchange], evidence: AbstractSet[str]) -> int:
    """Return the number of exchanges after which all of the evidence has been told; all without evidence."""
    places = [
        number
        for number, past_exchange in enumerate(past, start=1)
        if not evidence.isdisjoint((past_exchange.id, *past_exchange.holds))
    ]
    return max(places, default=len(past))


class DatasetSuite(Protocol):
    """A data set that a run plays."""

    suite: Suite
    """Its entries are kinds of questions, so that results are separated by kind."""
    title: str
    """A line for the report's header."""
    notes: Sequence[str]
    """Warnings about the file, a sentence each."""
    legend: Sequence[str]
    """Explanations of its figures for readers of the report, a line each."""

    def places(self, entry: str) -> Sequence[tuple[str, str]]:
        """Return thread and example of every question of an entry, as labels of letters, digits, `_` and `.`."""
        ...

    def told(self, thread: str) -> ToldConversation:
        """Return the told part of a thread's conversation; created at its beginning and not cached."""
        ...

    def alone(self, thread: str) -> Mapping[str, str]:
        """Return the options, by name, that select the conversation of one thread."""
        ...

    def definition(self, entry: str, thread: str, example: str) -> Definition:
        """Return one question: its wait, its text and the expected answer."""
        ...


# --- Option parsers: each returns the value of a text, or raises ConfigurationError.


def split_comma_list(text: str) -> tuple[str, ...]:
    """Split a comma-separated list, without duplicates."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))


def some_of(*known: str) -> Callable[[str], tuple[str, ...]]:
    """Return the parser of a list of known words."""
    return lambda text: tuple(map(one_of(*known), split_comma_list(text)))


def number_of(noun: str) -> Callable[[str], int | None]:
    """Return the parser of a whole number of at least 1, or None for an empty text."""

    def read(text: str) -> int | None:
        if text and not (text.strip().isdecimal() and int(text)):
            raise ConfigurationError(f"expected a number of {noun}, got {text!r}")
        return int(text) if text else None

    return read


def parse_token_limit(text: str) -> int | None:
    """Parse a number of tokens; None for an empty text."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)\s*([km]?)\s*", text, re.IGNORECASE)
    if text and match is None:
        raise ConfigurationError(
            f"expected a number of tokens such as 2000, 8k or 1.5m, got {text!r}"
        )
    if match:
        return round(
            float(match[1]) * {"": 1, "k": 1_000, "m": 1_000_000}[match[2].lower()]
        )
    return None


def label_of(name: str) -> str:
    """Replace the characters of a name that a node id's label cannot contain."""
    return re.sub(r"[^A-Za-z0-9_.]", "_", name)
