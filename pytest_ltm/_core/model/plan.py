"""Plan: all inputs of a conversation; its fingerprint decides what may be compared."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, get_args

from msgspec import Struct, ValidationError, convert

from pytest_ltm._core.model.scenario import Definition, read_definition, to_json
from pytest_ltm._core.model.transcript import COUNTS, DEFAULT_COUNT, RAW, Count, Reading
from pytest_ltm._core.storage.errors import (
    AgentError,
    ConfigurationError,
    DefinitionError,
    ScenarioError,
)
from pytest_ltm._core.storage.schema import SPARSE, Field, show_value, to_record
from pytest_ltm._core.storage.secrets import (
    is_secret_name,
    redact_secrets,
    redacted_data,
)

# The version of the plan's JSON form.
FORMAT = 2
Questions = Literal["alone", "together"]
# How questions about one history are asked: each from the state after the history, or
# one after another.
QUESTIONS: tuple[Questions, ...] = get_args(Questions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedExample:
    """One planned example of a scenario."""

    scenario: str
    """The scenario's name, such as `colours`."""
    example: str
    """The example's name within its scenario: its number, or a file's stem."""
    definition: Definition | None = None
    """Its data; None for a scenario that is played by plain code."""
    version: str = ""
    """The version declared by the scenario."""
    span: int | None = None
    """Its own memory span, in tokens; None: the conversation's."""
    skills: tuple[str, ...] = ()
    """The memory skills that it needs, as letters."""
    threshold: float = 1.0
    """The lowest score that passes, 0 to 1."""
    incompatible: tuple[str, ...] = ()
    """Names of scenarios that must not overlap with it, sorted."""
    requires: tuple[str, ...] = ()
    """Names of the agent's capabilities that it needs, sorted."""
    reset: str = ""
    """The message sent after it has ended; "": none."""
    together: bool = False
    """Whether it may overlap with other examples of its scenario."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", float(self.threshold))
        object.__setattr__(self, "incompatible", tuple(sorted(set(self.incompatible))))
        object.__setattr__(self, "requires", tuple(sorted(set(self.requires))))

    @property
    def key(self) -> str:
        """The example's name in a conversation: `colours/0`."""
        return f"{self.scenario}/{self.example}"

    @property
    def number(self) -> int | str:
        """The example's number as its body sees it, from 0, or the stem of a definition file."""
        if self.example.isdecimal():
            return int(self.example)
        return self.example

    def to_json(self, *, compared: bool = False) -> dict[str, Any]:
        """Return JSON values, one for each field; `compared`: without parts that affect neither agent nor score."""
        definition = (
            compared_definition(self.definition)
            if compared
            else self.definition and to_json(self.definition)
        )
        record = {}
        for f in fields(self):
            if f.name == "definition":
                record[f.name] = definition
            else:
                record[f.name] = to_record(getattr(self, f.name))
        return record


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that determines one conversation, except the agent."""

    examples: tuple[PlannedExample, ...]
    """Sorted by scenario and example, regardless of the order given; no duplicate keys."""
    seed: int | str
    """The source of all random numbers of the run; a digest if it is secret."""
    trial: int
    """The number of the conversation, from 0, among those with the same examples."""
    span: int | None
    """The memory span in tokens; None: isolated."""
    tokenizer: str
    """The name of the encoding that counts spans and gaps."""
    filler: object
    """The inputs of the filler, as JSON values."""
    scoring: str
    """The scoring rules: `current`, `v3.5` or `paper`."""
    judge: str
    """The judge's spec with its prompt version; `none` without a judge."""
    judge_votes: int
    """The number of votes of the judge about one answer."""
    time: str
    """How time passes: `simulated`, `jump`, `signal` or `sleep`."""
    opening: str
    """The message that begins the conversation; "": none."""
    history: object = None
    """The inputs of the told history, as JSON values; None: there is none."""
    count: Count = DEFAULT_COUNT
    """How many tokens of the agent's replies count towards waits and spans."""
    sessions: str = field(default="", metadata={SPARSE: True})
    """When the agent's sessions end, as in `--ltm-sessions`; "": it has one."""
    compact: str = field(default="", metadata={SPARSE: True})
    """When the agent compacts, as in `--ltm-compact`; "": only if a scenario requests it."""
    reading: Reading = field(default=RAW, metadata={SPARSE: True})
    """How the agent's replies are read."""
    questions: Questions = field(default="together", metadata={SPARSE: True})
    """Whether each question is asked alone after the history, or they follow one another."""
    format: int = FORMAT
    """The version of the plan's JSON form."""

    def __post_init__(self) -> None:
        examples = sorted(
            self.examples,
            key=lambda example: (
                example.scenario,
                natural_sort_key(example.example),
                example.example,
            ),
        )
        for first, second in pairwise(examples):
            if first.key == second.key:
                raise ScenarioError(
                    f"two examples are called {first.key!r}; give one scenario another name"
                )
        object.__setattr__(self, "examples", tuple(examples))

    def to_json(self, *, compared: bool = False) -> dict[str, Any]:
        """Return JSON values, one for each field; `compared`: without parts that affect neither agent nor score."""
        # Examples first, then the fields in order: equal plans are written with equal
        # bytes.
        data: dict[str, Any] = {
            "examples": [
                example.to_json(compared=compared) for example in self.examples
            ]
        }
        # Fields added after the first plans are written only with non-default values:
        # old fingerprints stay valid.
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name in ("filler", "history"):
                data[f.name] = Field(value, "plan", f.name).json()
            elif f.name != "examples" and not (
                SPARSE in f.metadata and (not value or value == f.default)
            ):
                data[f.name] = to_record(value)
        return data

    @classmethod
    def from_json(cls, data: object, *, where: str = "plan.json") -> Plan:
        """Read a plan written by `to_json`; DefinitionError names the file and the invalid field."""
        needed = [f.name for f in fields(cls) if SPARSE not in f.metadata]
        return cls(**Field(data, where).read_fields(_PLAN, required=needed))

    @cached_property
    def fingerprint(self) -> str:
        """`sha256:...` over the canonical JSON form: equal for equal plans, in any process."""
        return _json_digest(self.to_json(compared=True))


def plan_differences(
    first: Plan,
    second: Plan,
    *,
    names: tuple[str, str] = ("in one", "in the other"),
    plans: tuple[str, str] = ("the first plan", "the second plan"),
) -> list[str]:
    """Return a sentence for each difference; none exactly if the fingerprints are equal.

    `names`: the phrases for the values of the two; `plans`: the names of the two in
    sentences.
    """
    theirs = second.to_json()
    sentences = []
    for name, value in first.to_json().items():
        if name != "examples" and not _same_json(value, theirs[name]):
            sentences.append(
                f"The plan's {name} is {show_value(value)} {names[0]} and {show_value(theirs[name])} {names[1]}."
            )
    ours = {example.key: example.to_json(compared=True) for example in first.examples}
    theirs = {
        example.key: example.to_json(compared=True) for example in second.examples
    }
    sentences += [f"{key} is only in {plans[0]}." for key in ours if key not in theirs]
    sentences += [f"{key} is only in {plans[1]}." for key in theirs if key not in ours]
    for key in sorted(ours.keys() & theirs.keys()):
        other = theirs[key]
        for name, value in ours[key].items():
            if not _same_json(value, other[name]):
                difference = _first_difference(value, other[name], names)
                sentences.append(f"{key} has another {name}: {difference}.")
    return sentences


def compared_definition(definition: Definition | None) -> dict[str, Any] | None:
    """Return a definition's JSON values without parts that affect neither agent nor score."""
    data = None if definition is None else to_json(definition)
    for step in data["steps"] if data else ():
        # It is only used to measure how a memory handles the step.
        step.pop("tells", None)
    return data


def source_version(source: str) -> str:
    """Return the version of a scenario without a declared one: a hash of the test's source."""
    return f"{_OF_SOURCE}{hashlib.sha256(source.encode()).hexdigest()[:12]}"


def is_of_source(version: object) -> bool:
    """Return whether a version comes from `source_version`, a hash without meaning to a reader."""
    return isinstance(version, str) and version.startswith(_OF_SOURCE)


_OF_SOURCE = "source:"


def definition_rng(seed: int, trial: int, scenario: str, example: str) -> random.Random:
    """Return the random generator of one example: the same in any run, whatever else runs."""
    # As a list: names that concatenate equally, `a/b` of `c` and `a` of `b/c`, do not
    # share random numbers.
    return random.Random(json.dumps([seed, trial, scenario, example]))


def body_rng(seed: int, trial: int, example: PlannedExample) -> random.Random:
    """Return the random generator of an example's body, `ltm.random`, independent of its definition's."""
    return definition_rng(seed, trial, f"{example.scenario}:body", example.example)


def user_seed(seed: int, trial: int, example: str) -> int:
    """Return the seed for the models of an example's simulated users."""
    return definition_rng(seed, trial, "simulated user", example).getrandbits(31)


def agent_fingerprint(spec: str, configuration: Mapping[str, Any] | None) -> str:
    """Return `sha256:...` over the agent's configuration, or its spec without one, both without secrets.

    Raises AgentError if the configuration contains anything but JSON values.
    """
    if configuration is None:
        return _json_digest({"spec": redact_secrets(spec)})
    try:
        plain_configuration = Field(
            configuration, f"agent {spec!r}", "configuration"
        ).json()
    except DefinitionError as error:
        raise AgentError(str(error)) from None
    return _json_digest(
        {"configuration": redacted_data(plain_configuration, is_secret_name)}
    )


def natural_sort_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts `2` before `10`, also within names."""
    # Triples, so that a number is never compared with a text.
    key = []
    for part in re.findall(r"[0-9]+|[^0-9]+", name):
        if part[0] in "0123456789":
            key.append((0, int(part), ""))
        else:
            key.append((1, 0, part))
    return key


def _read_format(item: Field) -> int:
    if item.whole() != FORMAT:
        raise item.error(
            f"the format {FORMAT}", " Another version of pytest-ltm wrote it."
        )
    return FORMAT


def _read_reading(item: Field) -> Reading:
    try:
        return convert(item.value, Reading)
    except ValidationError:
        raise item.error("thoughts, tags and version") from None


def _read_span(item: Field) -> int | None:
    return None if item.value is None else item.whole(least=1)


# The parsers of the fields of a planned example and of a plan.
_EXAMPLE: Mapping[str, Callable[[Field], Any]] = {
    "scenario": Field.text,
    "example": Field.text,
    "definition": lambda item: None if item.value is None else read_definition(item),
    "version": Field.text_or_empty,
    "span": _read_span,
    "skills": Field.texts,
    "threshold": lambda item: item.number(0, 1),
    "incompatible": Field.texts,
    "requires": Field.texts,
    "reset": Field.text_or_empty,
    "together": Field.boolean,
}
_PLAN: Mapping[str, Callable[[Field], Any]] = {
    # First of all: in another format, the rest has a different meaning.
    "format": _read_format,
    "examples": lambda item: tuple(
        PlannedExample(**example.read_fields(_EXAMPLE, required=_EXAMPLE))
        for example in item.items("examples")
    ),
    "seed": lambda item: (
        item.value if isinstance(item.value, str) else item.whole(least=None)
    ),
    "trial": Field.whole,
    "span": _read_span,
    "tokenizer": Field.text_or_empty,
    "filler": Field.json,
    "scoring": Field.text_or_empty,
    "judge": Field.text_or_empty,
    "judge_votes": Field.whole,
    "time": Field.text_or_empty,
    "opening": Field.text_or_empty,
    "history": Field.json,
    "count": lambda item: item.choice(COUNTS),
    "sessions": Field.text,
    "compact": Field.text,
    "reading": _read_reading,
    "questions": lambda item: item.choice(QUESTIONS),
}


def _first_difference(
    first: Any, second: Any, names: tuple[str, str], path: str = ""
) -> str:
    """Return the first place at which two JSON values differ, with both values."""
    if (
        isinstance(first, dict)
        and isinstance(second, dict)
        and first.keys() == second.keys()
    ):
        key = next(key for key in first if not _same_json(first[key], second[key]))
        return _first_difference(
            first[key], second[key], names, f"{path}.{key}" if path else key
        )
    if (
        isinstance(first, list)
        and isinstance(second, list)
        and len(first) == len(second)
    ):
        index = next(
            i for i in range(len(first)) if not _same_json(first[i], second[i])
        )
        return _first_difference(first[index], second[index], names, f"{path}[{index}]")
    return f"{path + ' is ' if path else ''}{show_value(first)} {names[0]} and {show_value(second)} {names[1]}"


def _same_json(first: object, second: object) -> bool:
    # As texts: in Python 1 == True, but in a plan they differ.
    return _canonical_json(first) == _canonical_json(second)


def _canonical_json(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _json_digest(data: object) -> str:
    return f"sha256:{hashlib.sha256(_canonical_json(data).encode()).hexdigest()}"


# --- Seed: the source of a run's random numbers: a public number, one drawn for the
# run, or a secret.

FRESH = "fresh"
_VARIABLE = "env:"
# A shorter secret could be found from its digest, which is public.
_SHORTEST = 16
# Enough bits that a seed cannot be found by trying which one creates the told
# sentences.
_DRAWN_BITS = 128
# Larger integers are texts in files: not every JSON reader keeps all their digits.
_LARGEST_NUMBER = 2**53


class Seed(Struct, frozen=True, kw_only=True):
    """The seed of a run, and its source."""

    value: int
    source: str = ""
    """`fresh` if it was drawn for the run, `env:NAME` for a secret; "" for a given number."""
    digest: str = ""
    """Recorded in place of a secret."""

    def __str__(self) -> str:
        if self.source:
            return f"{self.recorded} ({self.source})"
        return str(self.value)

    @property
    def recorded(self) -> int | str:
        """The form shown in files and on screens: equal for equal seeds."""
        if self.digest:
            return self.digest
        if abs(self.value) <= _LARGEST_NUMBER:
            return self.value
        return str(self.value)

    @property
    def option(self) -> str:
        """The value of `--ltm-seed` that reproduces this seed."""
        if self.source == FRESH:
            return f"{FRESH}:{self.value}"
        return self.source or str(self.value)

    @property
    def publicity(self) -> str:
        """Whether an agent can have learned the texts made from it, as a clause."""
        if self.digest:
            return "the seed is a secret"
        if self.source == FRESH:
            return "the seed was drawn for this run"
        return f"the texts of seed {self.value} are public" + (
            " (--ltm-seed=env:NAME: a secret one)" if not self.value else ""
        )

    @property
    def variable(self) -> str:
        """The environment variable with the secret; "" if there is none."""
        if self.digest:
            return self.source.removeprefix(_VARIABLE)
        return ""


def parse_seed(text: str) -> Seed:
    """Parse a seed: `N`, `fresh`, `fresh:N` (drawn earlier) or `env:NAME`.

    Raises ConfigurationError for any other text, and for a variable that is not set or
    too short to be a secret.
    """
    if text == FRESH:
        return Seed(value=secrets.randbits(_DRAWN_BITS), source=FRESH)
    if text.startswith(_VARIABLE):
        return _read_secret(text.removeprefix(_VARIABLE))
    try:
        value = int(text.removeprefix(f"{FRESH}:"))
    except ValueError:
        raise ConfigurationError(
            f"{text!r} is not a whole number, 'fresh' or 'env:NAME'"
        ) from None
    return Seed(value=value, source=FRESH if text.startswith(FRESH) else "")


def _read_secret(name: str) -> Seed:
    text = os.environ.get(name, "").strip()
    if not text:
        raise ConfigurationError(
            f"the environment variable {name!r} is not set. Let it hold 16 random characters or more"
        )
    if len(text) < _SHORTEST:
        raise ConfigurationError(
            f"{name!r} holds {len(text)} characters, which can be guessed from the digest that files show. "
            f"Use {_SHORTEST} random characters or more, such as those of: openssl rand -hex 16"
        )
    # Different prefixes, so that the digest reveals nothing about the value from which
    # texts are made.
    value, digest = (
        hashlib.sha256(f"pytest-ltm {use} {text}".encode()).hexdigest()
        for use in ("seed", "digest")
    )
    return Seed(
        value=int(value, 16) >> (256 - _DRAWN_BITS),
        source=f"{_VARIABLE}{name}",
        digest=f"sha256:{digest[:16]}",
    )
