"""Plan: all inputs of a conversation; its fingerprint decides what may be compared."""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import ValidationError, convert

from pytest_ltm._model.definition import read_definition, to_json
from pytest_ltm._model.transcript import COUNTS, RAW, Reading
from pytest_ltm._storage.errors import AgentError, DefinitionError, ScenarioError
from pytest_ltm._storage.schema import Field, show_value, to_record
from pytest_ltm._storage.secrets import redact_secrets, redacted_configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._model.scenario import Definition
    from pytest_ltm._model.transcript import Count


# The version of the plan's JSON form.
FORMAT = 2
Questions = Literal["alone", "together"]
# How the questions on one history are asked: each of the state after the history, or one after another.
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
    """The version that the scenario says it has."""
    span: int | None = None
    """The memory span that is its own, in tokens; None: the conversation's."""
    skills: tuple[str, ...] = ()
    """The memory skills that it needs, as letters."""
    threshold: float = 1.0
    """The least score that passes, 0 to 1."""
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
        """Which example its body sees: a number from 0, or the stem of a definition file."""
        return int(self.example) if self.example.isdecimal() else self.example

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, one for each field."""
        data = {f.name: _plain_json_value(getattr(self, f.name)) for f in fields(self)}
        return data | {"definition": None if self.definition is None else to_json(self.definition)}

    def compared_json(self) -> dict[str, Any]:
        """Return the same without what neither agent nor score depends on."""
        data = self.to_json()
        _drop_told_facts(data["definition"])
        return data


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that decides what happens in one conversation, except the agent."""

    examples: tuple[PlannedExample, ...]
    """Sorted by scenario and example, whatever the order they are given in; no key twice."""
    seed: int | str
    """Where all chance of the run comes from; of a secret its digest."""
    trial: int
    """The number of the conversation, from 0, among those with the same examples."""
    span: int | None
    """The memory span in tokens; None: isolated."""
    tokenizer: str
    """The name of the encoding that counts spans and gaps."""
    filler: object
    """What the filler's exchanges depend on, JSON values."""
    scoring: str
    """The rules of scoring: `current`, `v3.5` or `paper`."""
    judge: str
    """The judge's spec with its prompt version; `none` without a judge."""
    judge_votes: int
    """How often the judge is asked about one answer."""
    time: str
    """How time passes: `simulated`, `jump`, `signal` or `sleep`."""
    opening: str
    """The message that begins the conversation; "": none."""
    history: object = None
    """What the history that is told depends on, JSON values; None: there is none."""
    count: Count = "capped"
    """How many tokens of the agent's replies count towards waits and spans."""
    sessions: str = ""
    """When the agent's sessions are over, as `--ltm-sessions` says it; "": it has one. Then it is not in the JSON."""
    reading: Reading = RAW
    """What is read of the agent's replies; raw, it is not in the JSON."""
    questions: Questions = "together"
    """Whether each question is asked of what was told alone, or they follow one another; then it is not in the JSON."""
    format: int = FORMAT
    """The version of the plan's JSON form."""

    def __post_init__(self) -> None:
        examples = tuple(sorted(self.examples, key=_example_order))
        for one, other in pairwise(examples):
            if one.key == other.key:
                raise ScenarioError(f"two examples are called {one.key!r}; give one scenario another name")
        object.__setattr__(self, "examples", examples)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, one for each field."""
        data = {f.name: _plain_json_value(getattr(self, f.name)) for f in fields(self)}
        data["filler"] = Field(self.filler, "plan", "filler").json()
        data["history"] = Field(self.history, "plan", "history").json()
        if not self.sessions:
            del data["sessions"]
        data["reading"] = to_record(self.reading)
        if self.reading == RAW:
            del data["reading"]
        if self.questions == "together":
            del data["questions"]
        return data | {"examples": [example.to_json() for example in self.examples]}

    @classmethod
    def from_json(cls, data: object, *, where: str = "plan.json") -> Plan:
        """Return the plan that `to_json` wrote; DefinitionError names file and field of what is wrong."""
        top = Field(data, where)
        names = [f.name for f in fields(cls)]
        known = top.mapping(names, required=[name for name in names if name not in _OPTIONAL])
        if known["format"].whole() != FORMAT:
            raise known["format"].error(f"the format {FORMAT}", " Another version of pytest-ltm wrote it.")
        examples = tuple(_example_from_json(example) for example in known["examples"].items("examples"))
        numbers = {name: known[name].whole(least=_LEAST[name]) for name in _LEAST}
        texts = {name: _text_or_empty(known[name]) for name in _TEXTS}
        if known["count"].value not in COUNTS:
            raise known["count"].error(f"one of {', '.join(COUNTS)}")
        parts = {name: known[name].json() for name in ("filler", "history")}
        parts["count"] = known["count"].value
        parts["seed"] = known["seed"].value if isinstance(known["seed"].value, str) else known["seed"].whole(least=None)
        parts["sessions"] = known["sessions"].text() if "sessions" in known else ""
        parts["reading"] = _reading(known["reading"]) if "reading" in known else RAW
        parts["questions"] = "together"
        if "questions" in known:
            if known["questions"].value not in QUESTIONS:
                raise known["questions"].error(f"one of {', '.join(QUESTIONS)}")
            parts["questions"] = known["questions"].value
        return cls(examples=examples, span=_span_or_none(known["span"]), **parts, **numbers, **texts)  # type: ignore[arg-type]

    @cached_property
    def fingerprint(self) -> str:
        """`sha256:...` over the canonical JSON form: equal for equal plans, in any process."""
        data = self.to_json()
        for example in data["examples"]:
            _drop_told_facts(example["definition"])
        return _json_digest(data)


def plan_differences(
    one: Plan,
    other: Plan,
    *,
    names: tuple[str, str] = ("in one", "in the other"),
    plans: tuple[str, str] = ("the first plan", "the second plan"),
) -> list[str]:
    """Return a sentence for each difference; none exactly if the fingerprints are equal.

    `names`: what is said of a value of either; `plans`: what the sentences call the two.
    """
    first, second = one.to_json(), other.to_json()
    sentences = [
        f"The plan's {name} is {show_value(first[name])} {names[0]} and {show_value(second[name])} {names[1]}."
        for name in first
        if name != "examples" and not _same_json(first[name], second[name])
    ]
    ours = {example.key: example.compared_json() for example in one.examples}
    theirs = {example.key: example.compared_json() for example in other.examples}
    sentences += [f"{key} is only in {plans[0]}." for key in ours if key not in theirs]
    sentences += [f"{key} is only in {plans[1]}." for key in theirs if key not in ours]
    for key in sorted(ours.keys() & theirs.keys()):
        sentences += _example_differences(key, ours[key], theirs[key], names)
    return sentences


def compared_definition(definition: Definition | None) -> dict[str, Any] | None:
    """Return a definition's JSON values without what neither agent nor score depends on."""
    data = None if definition is None else to_json(definition)
    _drop_told_facts(data)
    return data


def _drop_told_facts(definition: dict[str, Any] | None) -> None:
    for step in definition["steps"] if definition else ():
        step.pop("tells", None)


def source_version(source: str) -> str:
    """Return the version of a scenario that is given none: it changes with the test's source."""
    return f"{_OF_SOURCE}{hashlib.sha256(source.encode()).hexdigest()[:12]}"


def is_of_source(version: object) -> bool:
    """Return whether a version is one of `source_version`, a hash that means nothing to a reader."""
    return isinstance(version, str) and version.startswith(_OF_SOURCE)


_OF_SOURCE = "source:"


def definition_rng(seed: int, trial: int, scenario: str, example: str) -> random.Random:
    """Return the chance that one example is generated from: the same in any run, whatever else runs."""
    return random.Random(json.dumps([seed, trial, scenario, example]))


def body_rng(seed: int, trial: int, example: PlannedExample) -> random.Random:
    """Return the chance of an example's body, `ltm.random`: other numbers than those of its definition."""
    return definition_rng(seed, trial, f"{example.scenario}:body", example.example)


def user_seed(seed: int, trial: int, example: str) -> int:
    """Return the seed that the models of an example's simulated users are given."""
    return definition_rng(seed, trial, "simulated user", example).getrandbits(31)


def agent_fingerprint(spec: str, configuration: Mapping[str, Any] | None) -> str:
    """Return `sha256:...` over the agent's configuration or, where it reports none, its spec, both without secrets.

    Raises AgentError if the configuration holds anything but JSON values.
    """
    if configuration is None:
        return _json_digest({"spec": redact_secrets(spec)})
    try:
        known = Field(configuration, f"agent {spec!r}", "configuration").json()
    except DefinitionError as error:
        raise AgentError(str(error)) from None
    return _json_digest({"configuration": redacted_configuration(known)})


_LEAST = {"trial": 0, "judge_votes": 0}
_OPTIONAL = frozenset({"sessions", "reading", "questions"})
_TEXTS = ("tokenizer", "scoring", "judge", "time", "opening")


def _example_order(example: PlannedExample) -> tuple[str, list[tuple[int, int, str]], str]:
    return example.scenario, natural_sort_key(example.example), example.example


def natural_sort_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sorting key under which `2` comes before `10`, also within names."""
    parts = re.findall(r"[0-9]+|[^0-9]+", name)
    return [(0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts]


def _example_from_json(item: Field) -> PlannedExample:
    names = [f.name for f in fields(PlannedExample)]
    known = item.mapping(names, required=names)
    definition = known["definition"]
    return PlannedExample(
        scenario=known["scenario"].text(),
        example=known["example"].text(),
        definition=None if definition.value is None else read_definition(definition),
        version=_text_or_empty(known["version"]),
        span=_span_or_none(known["span"]),
        skills=known["skills"].texts(),
        threshold=known["threshold"].number(0, 1),
        incompatible=known["incompatible"].texts(),
        requires=known["requires"].texts(),
        reset=_text_or_empty(known["reset"]),
        together=known["together"].boolean(),
    )


def _reading(item: Field) -> Reading:
    try:
        return convert(item.value, Reading)
    except ValidationError:
        raise item.error("thoughts, tags and version") from None


def _text_or_empty(item: Field) -> str:
    return "" if item.value == "" else item.text("a text")


def _span_or_none(item: Field) -> int | None:
    return None if item.value is None else item.whole(least=1)


def _plain_json_value(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _example_differences(key: str, one: dict[str, Any], other: dict[str, Any], names: tuple[str, str]) -> list[str]:
    changed = [name for name in one if not _same_json(one[name], other[name])]
    return [f"{key} has another {name}: {_first_difference(one[name], other[name], names)}." for name in changed]


def _first_difference(one: Any, other: Any, names: tuple[str, str], path: str = "") -> str:
    """Return the first place in two JSON values at which they differ, with what stands there."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        key = next(key for key in one if not _same_json(one[key], other[key]))
        return _first_difference(one[key], other[key], names, f"{path}.{key}" if path else key)
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        index = next(i for i in range(len(one)) if not _same_json(one[i], other[i]))
        return _first_difference(one[index], other[index], names, f"{path}[{index}]")
    return f"{path + ' is ' if path else ''}{show_value(one)} {names[0]} and {show_value(other)} {names[1]}"


def _same_json(one: object, other: object) -> bool:
    return _canonical_json(one) == _canonical_json(other)


def _canonical_json(data: object) -> str:
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _json_digest(data: object) -> str:
    return f"sha256:{hashlib.sha256(_canonical_json(data).encode()).hexdigest()}"
