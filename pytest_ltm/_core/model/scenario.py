"""The requests of a scenario (Say, Ask, Wait ...); Definition, one generated example; and both as files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from pytest_ltm._core.model.score import Score, Unscored
from pytest_ltm._core.model.tools import Call
from pytest_ltm._core.model.transcript import Exchange, Kind
from pytest_ltm._core.model.words import has_phrase, plain_words, space_delimited
from pytest_ltm._core.storage.disk import read_regular
from pytest_ltm._core.storage.errors import DefinitionError, ScenarioError, did_you_mean
from pytest_ltm._core.storage.schema import Field, indented_json, load_yaml, show_value
from pytest_ltm._core.storage.secrets import dump_json_redacted

if TYPE_CHECKING:
    from pytest_ltm._core.model.handle import Ltm


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the agent something; its reply earns no credit. ScenarioError if the text is empty."""

    text: str
    """The message."""
    user: str = field(default="", kw_only=True)
    """The sender's id, for an agent that SeparatesUsers; "": no particular sender."""
    tells: Mapping[str, str | None] = field(
        default_factory=dict, kw_only=True, hash=False
    )
    """The values that it tells, by subject, to measure how a memory handles them: a later value replaces
    an earlier one, None withdraws it. Neither agent nor score depends on it, so it is
    in no fingerprint."""

    def __post_init__(self) -> None:
        _need_text(self.text)
        for text in (*self.tells, *self.tells.values()):
            if not isinstance(text, (str, NoneType)):
                raise ScenarioError(
                    f"tells={self.tells!r}: a mapping of texts to texts, or to None for what is withdrawn"
                )


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the agent something for credit. ScenarioError if a text is empty."""

    text: str
    """The question."""
    about: Sequence[str] = ()
    """The texts of the says that the question depends on; empty: all earlier ones."""
    answer: str | None = field(default=None, kw_only=True)
    """An answer for full marks, seen only by the control `oracle`; "": any reply will do, None: unknown."""
    user: str = field(default="", kw_only=True)
    """The sender's id, for an agent that SeparatesUsers; "": no particular sender."""
    alone: bool | None = field(default=None, kw_only=True)
    """Whether the state before it is restored afterwards; None: as the run's settings say."""
    images: Sequence[str] = field(default=(), kw_only=True)
    """Files shown with it to an agent that AcceptsImages."""
    calls: Sequence[Call] = field(default=(), kw_only=True, hash=False)
    """The tool calls before the answer that earn full marks, seen only by the control `oracle`."""
    tells: Mapping[str, Sequence[str]] = field(
        default_factory=dict, kw_only=True, hash=False
    )
    """The values among which the reply chooses, by subject; otherwise like `tells` of a Say."""

    def __post_init__(self) -> None:
        for text in (self.text, *self.about, *self.tells):
            _need_text(text)
        for values in self.tells.values():
            for value in values:
                _need_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Let the conversation continue before the scenario's next step, until all conditions are met.

    Raises ScenarioError for negative values and for more than the memory span.

    >>> from datetime import timedelta
    >>> Wait(span=0.5, time=timedelta(hours=3))
    Wait(span=0.5, tokens=0, time=datetime.timedelta(seconds=10800), history=0)
    """

    span: float = 0.0
    """Until this share of the memory span has passed since the scenario's own start, 0 to 1."""
    tokens: int = 0
    """Until this many tokens have passed from now."""
    time: timedelta = timedelta(0)
    """Until this much time has passed from now."""
    history: int = 0
    """Until this many exchanges of the conversation's history have been told, from its beginning."""

    def __post_init__(self) -> None:
        fields = {"tokens": self.tokens, "span": self.span, "history": self.history}
        for name, value in fields.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ScenarioError(
                    f"cannot wait {name}={value!r}: that is a number, as in span=0.9 for 90 % of the memory span, "
                    "tokens=500, or time='3h'"
                )
        fields["time"] = self.time.total_seconds()
        # Written this way, it also refuses NaN.
        back = [f"{name}={value}" for name, value in fields.items() if not value >= 0]
        if back:
            raise ScenarioError(f"cannot wait backwards: {', '.join(back)}")
        if self.span > 1:
            raise ScenarioError(
                f"cannot wait beyond the memory span: span={self.span!r} (1.0 is all of it)"
            )


# Sees every exchange since the scenario's last one, by any speaker; None means "not
# yet".
Watcher: TypeAlias = Callable[[Sequence[Exchange]], "Score | Unscored | None"]


@dataclass(frozen=True, slots=True)
class Watch:
    """Watch later exchanges of any speaker until the watcher returns a verdict."""

    watcher: Watcher
    """Called with every exchange since the scenario's last one; returns a verdict, or None for "not yet"."""
    replies: int | None = None
    """The number of replies that it counts, including the one to the scenario's last message; None: until the end."""
    answers: Mapping[int, str] | Callable[[datetime], str] | None = None
    """Answers for full marks, by the reply's number or time, for the control `oracle`; None: unknown."""

    def __post_init__(self) -> None:
        replies: object = self.replies
        if replies is None:
            return
        if not isinstance(replies, int) or replies < 1:
            raise ScenarioError(
                f"a watcher counts at least one reply, not {self.replies!r}"
            )


@dataclass(frozen=True, slots=True)
class NewSession:
    """Begin a new session: the next message goes to a newly created agent with only its own memory."""


@dataclass(frozen=True, slots=True)
class Compact:
    """Make the agent replace its context by a shorter one."""

    text: str = "Compact your context."
    """The message shown in the record; it is not sent to the agent."""


Step: TypeAlias = "Say | Ask | Wait"
Request: TypeAlias = "Say | Ask | Wait | Watch | NewSession | Compact"


def kind_of_request(request: Say | Ask | Compact) -> Kind:
    """Return the kind of exchange that a request leads to."""
    kinds: dict[type, Kind] = {Say: "say", Ask: "ask", Compact: "compact"}
    return kinds[type(request)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """The generated data of one example: its steps, in order, and the expected answers.

    >>> colour = Definition(
    ...     steps=(Say("My favourite colour is ochre."), Wait(span=0.9), Ask("What is my favourite colour?")),
    ...     expected="ochre",
    ...     replies=("It is ochre.",),
    ... )
    >>> [question.text for question in colour.questions]
    ['What is my favourite colour?']
    """

    steps: tuple[Step, ...]
    """The scenario's messages, questions and waits, in order."""
    expected: Any = None
    """The data for the evaluator to compare with; any JSON value, in the scenario's own form."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that the example was generated from, and other data for its evaluator; JSON values."""
    replies: tuple[str, ...] = ()
    """Answers for full marks, one for each question, seen only by the control `oracle`; empty: unknown."""

    @property
    def questions(self) -> tuple[Ask, ...]:
        """The steps asked for credit, in order."""
        return tuple(step for step in self.steps if isinstance(step, Ask))


# The default share of the span before the last message.
LAST = 0.9


def spread(messages: Sequence[Say | Ask], last: float = LAST) -> tuple[Step, ...]:
    """Spread n messages over a share of the span: after message i, a wait until i/(n-1) of it; none after the last.

    By default the share is 90 %, as published (Castillo-Bolado et al., 2024, section
    3.3 and appendix C).

    Args:
        messages: The messages in order.
        last: The share of the span after which the last message comes.

    Returns:
        The messages with the waits between them: 2n - 1 steps.

    >>> [step.span if isinstance(step, Wait) else step.text for step in spread([Say("a"), Say("b"), Ask("c")])]
    ['a', 0.45, 'b', 0.9, 'c']
    """
    steps: list[Step] = []
    for i, message in enumerate(messages, start=1):
        steps.append(message)
        if i < len(messages):
            steps.append(Wait(span=last * i / (len(messages) - 1)))
    return tuple(steps)


def _need_text(text: object) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ScenarioError(f"a message is a non-empty text, not {text!r}")


# --- Scenarios as files: the generated data of one example in JSON, and whole scenarios
# in `*.ltm.yml`.

# The fields that a step may have: exactly one of the first three.
STEP_FIELDS = ("say", "ask", "wait", "about", "user", "alone", "images", "tells")


def to_json(definition: Definition) -> dict[str, Any]:
    """Return the definition as JSON values; DefinitionError if it contains anything else."""
    data: dict[str, Any] = {"steps": [_step_to_json(step) for step in definition.steps]}
    data["expected"] = Field(definition.expected, "definition", "expected").json()
    data["parameters"] = Field(
        dict(definition.parameters), "definition", "parameters"
    ).json()
    return data | ({"replies": list(definition.replies)} if definition.replies else {})


def from_json(data: object, *, where: str) -> Definition:
    """Read a definition written by `to_json` or by hand; `where` names the file in errors."""
    return read_definition(Field(data, where))


def read_definition(top: Field) -> Definition:
    """Read the definition at a place in a file."""
    return Definition(**top.read_fields(_FIELDS, required=("steps",)))


def read_step(step: Field, kind: str) -> Step:
    """Read the say, ask or wait at a place in a file."""
    if kind == "wait":
        return Wait(**step.mapping((kind,))[kind].read_fields(_WAIT))
    values = step.read_fields(_SAY if kind == "say" else _ASK)
    return (Say if kind == "say" else Ask)(values.pop(kind), **values)


# The fields of a definition file, of its steps and of a wait, and their parsers.
_SAY: Mapping[str, Callable[[Field], Any]] = {
    "say": Field.text,
    "user": Field.text,
    "tells": lambda field: {
        subject: None if value.value is None else value.text()
        for subject, value in field.mapping().items()
    },
}
_ASK: Mapping[str, Callable[[Field], Any]] = {
    "ask": Field.text,
    "about": Field.texts,
    "user": Field.text,
    "alone": Field.boolean,
    "images": Field.texts,
    "tells": lambda field: {
        subject: values.texts() for subject, values in field.mapping().items()
    },
}
_WAIT: Mapping[str, Callable[[Field], Any]] = {
    "span": lambda field: field.number(0, 1, "a share of the memory span"),
    "tokens": Field.whole,
    "time": Field.duration,
    "history": Field.whole,
}
_FIELDS: Mapping[str, Callable[[Field], Any]] = {
    "steps": lambda field: tuple(
        read_step(step, step_kind(step)) for step in field.items("steps")
    ),
    "expected": Field.json,
    "parameters": Field.json_mapping,
    "replies": lambda field: tuple(
        reply.text_or_empty("a non-empty text") for reply in field.items("texts")
    ),
}


def step_kind(step: Field, known: Collection[str] = STEP_FIELDS) -> str:
    """Return the kind of a step, which must be exactly one of `say`, `ask` and `wait`."""
    kinds = [name for name in step.mapping(known) if name in ("say", "ask", "wait")]
    if len(kinds) != 1:
        raise step.error("one step with exactly one of say, ask and wait")
    return kinds[0]


def write_definition(path: str | Path, definition: Definition) -> None:
    """Write a definition file: UTF-8, two spaces of indent, equal bytes for equal definitions."""
    Path(path).write_bytes(format_json(to_json(definition)).encode())


def format_json(data: Mapping[str, Any]) -> str:
    """Return readable JSON without secrets: in the given order, two spaces of indent, a newline at the end."""
    return dump_json_redacted(data, lambda value: indented_json(value, indent=2)) + "\n"


def read_json(path: str | Path) -> Field:
    """Read a strict JSON file: no NaN, no infinity, no duplicate names in a mapping."""
    where = str(path)
    try:
        text = read_regular(Path(path)).decode("utf-8-sig")
    except OSError as error:
        raise DefinitionError(
            f"{where}: cannot be read: {error.strerror or error}."
        ) from None
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{where}: not UTF-8 (at byte {error.start}).") from None
    try:
        # Python by default accepts NaN, and keeps the last of two equal names.
        data = json.loads(
            text,
            parse_constant=_not_finite,
            parse_float=parse_finite_number,
            object_pairs_hook=reject_duplicate_keys,
        )
    except json.JSONDecodeError as error:
        raise DefinitionError(
            f"{where}:{error.lineno}: not JSON: {error.msg} (column {error.colno})."
        ) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, RecursionError):
            reason = "nested too deeply"
        else:
            reason = str(error)
        raise DefinitionError(f"{where}: not usable JSON: {reason}.") from None
    return Field(data, where)


def time_to_json(time: timedelta) -> str:
    """Return a duration in readable form, `2d 3h 5m 0.5s`, exact to the microsecond."""
    hours, remainder = divmod(time - timedelta(time.days), timedelta(hours=1))
    minutes, remainder = divmod(remainder, timedelta(minutes=1))
    seconds = f"{remainder.seconds}.{remainder.microseconds:06}".rstrip("0").rstrip(".")
    parts = {"d": str(time.days), "h": str(hours), "m": str(minutes), "s": seconds}
    return (
        " ".join(f"{number}{unit}" for unit, number in parts.items() if number != "0")
        or "0s"
    )


def _step_to_json(step: Step) -> dict[str, Any]:
    match step:
        case Wait():
            time = step.time and time_to_json(step.time)
            wait = {
                "span": float(step.span),
                "tokens": step.tokens,
                "time": time,
                "history": step.history,
            }
            return {"wait": {name: value for name, value in wait.items() if value}}
        case Say():
            # A word of another language is a str with its forms, which JSON cannot
            # express.
            tells: Any = {
                str(subject): value if value is None else str(value)
                for subject, value in step.tells.items()
            }
            data = {"say": step.text, "user": step.user, "tells": tells}
        case Ask():
            tells = {
                str(subject): list(map(str, values))
                for subject, values in step.tells.items()
            }
            data = {
                "ask": step.text,
                "about": list(step.about),
                "user": step.user,
                "alone": step.alone,
            }
            data |= {"images": list(step.images), "tells": tells}
        case _:
            raise DefinitionError(
                f"definition: steps: expected Say, Ask or Wait, got {show_value(step)}."
            )
    # Empty values are left out, but `alone: false` is meaningful.
    return {name: value for name, value in data.items() if value or value is False}


def _not_finite(name: str) -> object:
    raise ValueError(f"{name} is not a JSON number")


def parse_finite_number(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {show_value(digits)} is too large")
    return number


def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {show_value(twice)} appears twice in one mapping")
    return data


# --- Scenarios written as data, `*.ltm.yml`: read, checked and performed.


class YamlCheck(Struct, frozen=True):
    """A sentence about an answer that is true or false; words are compared case-folded."""

    label: str
    """The sentence, as the report shows it."""
    kind: str
    """`contains`, `not_contains`, `equals` or `matches_any`."""
    texts: tuple[str, ...]
    """The texts to compare the answer with."""
    line: int
    """Its line in the file, from 1."""

    def passes(self, answer: str) -> bool:
        """Return whether the sentence is true of an answer."""
        if self.kind == "equals":
            return any(plain_words(answer) == plain_words(text) for text in self.texts)
        phrases = [has_phrase(space_delimited(answer), text) for text in self.texts]
        return {
            "contains": all(phrases),
            "not_contains": not any(phrases),
            "matches_any": any(phrases),
        }[self.kind]


class YamlStep(Struct, frozen=True):
    """One step of a scenario file."""

    step: Step
    line: int
    """Its line in the file, from 1."""
    checks: tuple[YamlCheck, ...] = ()
    """The expectations on the answer, if the step is a question."""

    @property
    def answer(self) -> str:
        """An answer that passes the checks, for the control `oracle`."""
        enough = []
        needed: list[str] = []
        for check in self.checks:
            if check.kind == "contains":
                needed += check.texts
            elif check.kind in {"equals", "matches_any"}:
                enough.append(check.texts[0])
        return " ".join(dict.fromkeys(enough + needed))


class YamlScenario(Struct, frozen=True, kw_only=True):
    """One scenario file."""

    name: str
    """The name given in the file, else the file's name without its extension."""
    path: str
    """The file."""
    description: str
    """A description of the test; "" if the file has none."""
    marker: Mapping[str, Any]
    """The keywords of the marker `ltm` given in the file."""
    steps: tuple[YamlStep, ...]

    @property
    def definition(self) -> Definition:
        """Everything that decides its score, for the plan."""
        expected = []
        for step in self.steps:
            checks = [{check.kind: list(check.texts)} for check in step.checks]
            if checks:
                expected.append(checks)
        steps = tuple(step.step for step in self.steps)
        return Definition(steps=steps, expected=expected)


def load_yaml_scenario(path: str | Path) -> YamlScenario:
    """Read a scenario file; DefinitionError names file, line, field and the expected form."""
    top = load_yaml(path)
    values = top.read_fields(_SCENARIO | MARKER, required=("steps",))
    steps = values["steps"]
    field = top.child("steps")
    texts = list[str]()
    for i, item in enumerate(steps):
        if isinstance(item.step, Say):
            texts.append(item.step.text)
        elif isinstance(item.step, Ask):
            _check_question(field.child(i).child("ask"), item.step, texts)
    if not any(isinstance(item.step, Ask) for item in steps):
        raise field.fault(
            "asks nothing, so there is nothing to score; add a step `ask:` with `expect:`."
        )
    if not any(item.checks for item in steps):
        raise field.fault("no question has an `expect:`, so there is nothing to score.")
    return YamlScenario(
        name=values.get("name")
        or re.sub(
            r"\W", "_", re.sub(r"\.ltm\.ya?ml$", "", Path(path).name), flags=re.ASCII
        ),
        path=str(path),
        description=values.get("description", ""),
        marker={key: values[key] for key in MARKER if key in values},
        steps=steps,
    )


def play_yaml_scenario(scenario: YamlScenario, ltm: Ltm) -> None:
    """Perform the scenario, with each expectation as one check."""
    for item in scenario.steps:
        step = item.step
        if isinstance(step, Say):
            ltm.say(step.text, user=step.user, tells=step.tells)
        elif isinstance(step, Wait):
            ltm.wait(span=step.span, tokens=step.tokens, time=step.time)
        else:
            answer = ltm.ask(
                step.text, about=step.about, answer=item.answer, user=step.user
            )
            for check in item.checks:
                ltm.check(check.label, check.passes(answer))


def _parse_step(field: Field) -> YamlStep:
    kind = step_kind(field, (*STEP_FIELDS, "expect"))
    line = field.line or 1
    if kind != "ask":
        return YamlStep(read_step(field, kind), line)
    values = field.read_fields(_QUESTION)
    checks = values.pop("expect", ())
    return YamlStep(Ask(values.pop("ask"), **values), line, checks)


def _parse_checks(field: Field) -> tuple[YamlCheck, ...]:
    items = [field] if isinstance(field.value, Mapping) else field.items("checks")
    if not items:
        raise field.error(f"at least one check: {', '.join(KINDS)}")
    return tuple(map(_parse_check, items))


def _parse_check(field: Field) -> YamlCheck:
    fields = field.mapping(("label", *KINDS))
    kinds = [kind for kind in KINDS if kind in fields]
    if len(kinds) != 1:
        raise field.error(f"a check with exactly one of {', '.join(KINDS)}")
    [kind] = kinds
    texts = fields[kind].texts()
    if not texts or not all(map(plain_words, texts)):
        raise fields[kind].error(
            "texts with at least one letter or digit, because words are compared"
        )
    if "label" in fields:
        label = fields["label"].text()
    else:
        label = f"{KINDS[kind]} {', '.join(map(repr, texts))}"
    return YamlCheck(label, kind, texts, field.line or 1)


def _check_question(field: Field, question: Ask, texts: list[str]) -> None:
    if not texts:
        raise field.fault(
            "asks before anything was said: there is nothing to remember yet. Begin with `say:`."
        )
    for text in question.about:
        if text not in texts:
            cure = did_you_mean(text, texts)
            raise field.fault(
                f"`about` names a text that was not said before: {show_value(text)}.{cure}"
            )


_QUESTION: Mapping[str, Callable[[Field], Any]] = {
    "ask": Field.text,
    "about": Field.texts,
    "user": Field.text,
    "expect": _parse_checks,
}
_SCENARIO: dict[str, Callable[[Field], Any]] = {
    "name": Field.name,
    "description": Field.text,
    "steps": lambda field: tuple(map(_parse_step, field.items("steps"))),
}
# The marker's keywords that a file may give, and their parsers.
MARKER: dict[str, Callable[[Field], Any]] = {
    "examples": lambda field: field.whole(least=1),
    "span": Field.tokens,
    "skills": lambda field: ",".join(field.texts()),
    "threshold": lambda field: field.number(0, 1),
    "floor": lambda field: field.number(0, 1),
    "pass_k": lambda field: field.whole(least=1),
    "incompatible": lambda field: list(field.texts()),
    "requires": lambda field: list(field.texts()),
    "version": lambda field: (
        str(field.value) if isinstance(field.value, int | float) else field.text()
    ),
    "reset": Field.text,
}

# The kinds of checks, with the words for their labels.
KINDS: Mapping[str, str] = {
    "contains": "contains",
    "not_contains": "does not contain",
    "equals": "equals",
    "matches_any": "contains one of",
}
