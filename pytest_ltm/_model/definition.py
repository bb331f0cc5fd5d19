"""Definition files: the generated data of one example as readable, editable JSON, and back."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._model.scenario import Ask, Definition, Say, Step, Wait
from pytest_ltm._storage.disk import read_regular
from pytest_ltm._storage.errors import DefinitionError
from pytest_ltm._storage.schema import Field, indented_json, show_value
from pytest_ltm._storage.secrets import dump_json_redacted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


# The fields of a definition file; only `steps` must be there.
FIELDS = ("steps", "expected", "parameters", "replies")
# The fields that a step may have: exactly one of the first three.
STEP_FIELDS = ("say", "ask", "wait", "about", "user", "alone", "images", "tells")


def to_json(definition: Definition) -> dict[str, Any]:
    """Return the definition as JSON values; DefinitionError if it holds anything that is none."""
    data: dict[str, Any] = {"steps": [_step_to_json(step) for step in definition.steps]}
    data["expected"] = Field(definition.expected, "definition", "expected").json()
    data["parameters"] = Field(dict(definition.parameters), "definition", "parameters").json()
    if definition.replies:
        data["replies"] = list(definition.replies)
    return data


def from_json(data: object, *, where: str) -> Definition:
    """Return the definition that `to_json` (or a person) wrote; `where` names the file in errors."""
    return read_definition(Field(data, where))


def read_definition(top: Field) -> Definition:
    """Return the definition that stands at a place in a file."""
    fields = top.mapping(FIELDS, required=("steps",))
    steps = tuple(read_step(step) for step in fields["steps"].items("steps"))
    expected = fields["expected"].json() if "expected" in fields else None
    parameters: dict[str, Any] = {}
    if "parameters" in fields:
        fields["parameters"].mapping()
        parameters = fields["parameters"].json()
    given = fields["replies"].items("texts") if "replies" in fields else ()
    replies = tuple("" if reply.value == "" else reply.text() for reply in given)
    return Definition(steps=steps, expected=expected, parameters=parameters, replies=replies)


def read_step(step: Field) -> Step:
    """Return the say, ask or wait that stands at a place in a file."""
    kind = step_kind(step)
    if kind == "wait":
        return read_wait(step.mapping((kind,))[kind])
    fields = step.mapping(
        ("ask", "about", "user", "alone", "images", "tells") if kind == "ask" else (kind, "user", "tells")
    )
    user = fields["user"].text() if "user" in fields else ""
    if kind == "say":
        return Say(fields["say"].text(), user=user, tells=read_tells(fields))
    return Ask(
        fields["ask"].text(),
        fields["about"].texts() if "about" in fields else (),
        user=user,
        alone=fields["alone"].boolean() if "alone" in fields else None,
        images=fields["images"].texts() if "images" in fields else (),
        tells={about: one.texts() for about, one in fields["tells"].mapping().items()} if "tells" in fields else {},
    )


def read_tells(fields: Mapping[str, Field]) -> dict[str, str | None]:
    """Return the values that a step tells, by what they are about; null withdraws one."""
    told = fields["tells"].mapping() if "tells" in fields else {}
    return {subject: None if value.value is None else value.text() for subject, value in told.items()}


def step_kind(step: Field, known: Iterable[str] = STEP_FIELDS) -> str:
    """Return which of `say`, `ask` and `wait` a step is: exactly one of them."""
    kinds = [name for name in step.mapping(known) if name in ("say", "ask", "wait")]
    if len(kinds) != 1:
        raise step.error("one step with exactly one of say, ask and wait")
    return kinds[0]


def read_wait(wait: Field) -> Wait:
    """Return the wait that stands at a place in a file; without conditions it only lets others speak."""
    fields = wait.mapping(("span", "tokens", "time", "history"))
    share = "a share of the memory span"
    return Wait(
        span=fields["span"].number(0, 1, share) if "span" in fields else 0.0,
        tokens=fields["tokens"].whole() if "tokens" in fields else 0,
        time=fields["time"].duration() if "time" in fields else timedelta(0),
        history=fields["history"].whole() if "history" in fields else 0,
    )


def write_definition(path: str | Path, definition: Definition) -> None:
    """Write a definition file: UTF-8, two spaces of indent, equal definitions give equal bytes."""
    Path(path).write_bytes(format_json(to_json(definition)).encode())


def format_json(data: Mapping[str, Any]) -> str:
    """Return JSON for people, without secrets: in the order given, two spaces of indent, a newline at the end."""
    return dump_json_redacted(data, lambda given: indented_json(given, indent=2)) + "\n"


def read_definition_file(path: str | Path) -> Definition:
    """Return the definition in a file of our own format; DefinitionError names what is wrong with it."""
    return read_definition(read_json(path))


def read_json(path: str | Path) -> Field:
    """Return the content of a strict JSON file: no NaN, no infinity, no name twice in one mapping."""
    where = str(path)
    try:
        text = read_regular(Path(path)).decode("utf-8-sig")
    except OSError as error:
        raise DefinitionError(f"{where}: cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError as error:
        raise DefinitionError(f"{where}: not UTF-8 (at byte {error.start}).") from None
    try:
        data = json.loads(
            text, parse_constant=_not_finite, parse_float=parse_finite_number, object_pairs_hook=reject_duplicate_keys
        )
    except json.JSONDecodeError as error:
        raise DefinitionError(f"{where}:{error.lineno}: not JSON: {error.msg} (column {error.colno}).") from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DefinitionError(f"{where}: not usable JSON: {reason}.") from None
    return Field(data, where)


def time_to_json(time: timedelta) -> str:
    """Return a duration as people write it, `2d 3h 5m 0.5s`, exact to the microsecond."""
    hours, rest = divmod(time - timedelta(time.days), timedelta(hours=1))
    minutes, rest = divmod(rest, timedelta(minutes=1))
    seconds = f"{rest.seconds}.{rest.microseconds:06}".rstrip("0").rstrip(".")
    parts = {"d": str(time.days), "h": str(hours), "m": str(minutes), "s": seconds}
    return " ".join(f"{number}{unit}" for unit, number in parts.items() if number != "0") or "0s"


def _step_to_json(step: Step) -> dict[str, Any]:
    if isinstance(step, (Say, Ask)):
        text = {"say": step.text} if isinstance(step, Say) else {"ask": step.text}
        about = {"about": list(step.about)} if isinstance(step, Ask) and step.about else {}
        more: dict[str, Any] = {"user": step.user} if step.user else {}
        if isinstance(step, Ask):
            more |= {"alone": step.alone} if step.alone is not None else {}
            more |= {"images": list(step.images)} if step.images else {}
        if isinstance(step, Say) and step.tells:
            # a word of another language is a str with its forms, which JSON has no place for
            more["tells"] = {str(about): value if value is None else str(value) for about, value in step.tells.items()}
        elif isinstance(step, Ask) and step.tells:
            more["tells"] = {str(about): list(map(str, values)) for about, values in step.tells.items()}
        return {**text, **about, **more}
    if isinstance(step, Wait):
        data: dict[str, Any] = {}
        if step.span:
            data["span"] = float(step.span)
        if step.tokens:
            data["tokens"] = step.tokens
        if step.time:
            data["time"] = time_to_json(step.time)
        if step.history:
            data["history"] = step.history
        return {"wait": data}
    raise DefinitionError(f"definition: steps: expected Say, Ask or Wait, got {show_value(step)}.")


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
