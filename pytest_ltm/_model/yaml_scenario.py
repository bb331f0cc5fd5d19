"""Scenarios written as data, `*.ltm.yml`: read, checked and performed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pytest_ltm._language.words import has_phrase, plain_words, space_delimited
from pytest_ltm._model.definition import STEP_FIELDS, read_step, step_kind
from pytest_ltm._model.scenario import Ask, Definition, Say, Step, Wait
from pytest_ltm._storage.errors import did_you_mean
from pytest_ltm._storage.schema import Field, load_yaml, show_value

if TYPE_CHECKING:
    from pytest_ltm._model.handle import Ltm


# How the name of a scenario file ends; other YAML files are never touched.
SUFFIX = ".ltm.yml"


class YamlCheck(Struct, frozen=True):
    """One sentence about an answer that is true or not; words are compared, case-folded."""

    label: str
    """The sentence, as the report shows it."""
    kind: str
    """`contains`, `not_contains`, `equals` or `matches_any`."""
    texts: tuple[str, ...]
    """What the answer is compared with."""
    line: int
    """Its line in the file, from 1."""

    def passes(self, answer: str) -> bool:
        """Tell whether the sentence is true of an answer."""
        if self.kind == "equals":
            return any(plain_words(answer) == plain_words(text) for text in self.texts)
        phrases = [has_phrase(space_delimited(answer), text) for text in self.texts]
        return {"contains": all(phrases), "not_contains": not any(phrases), "matches_any": any(phrases)}[self.kind]


class YamlStep(Struct, frozen=True):
    """One step of a scenario file."""

    step: Step
    line: int
    """Its line in the file, from 1."""
    checks: tuple[YamlCheck, ...] = ()
    """What is expected of the answer, if the step is a question."""

    @property
    def answer(self) -> str:
        """An answer that passes the checks, for the control `oracle`."""
        needed = (text for check in self.checks if check.kind == "contains" for text in check.texts)
        enough = (check.texts[0] for check in self.checks if check.kind in {"equals", "matches_any"})
        return " ".join(dict.fromkeys((*enough, *needed)))


class YamlScenario(Struct, frozen=True, kw_only=True):
    """One scenario file."""

    name: str
    """What the file says, else its name without the ending."""
    path: str
    """The file."""
    description: str
    """What it tests, for people; "" where the file says nothing."""
    marker: Mapping[str, Any]
    """The keywords of the marker `ltm` that the file gives."""
    steps: tuple[YamlStep, ...]

    @property
    def definition(self) -> Definition:
        """All that decides its score, for the plan."""
        checks = [[{check.kind: list(check.texts)} for check in step.checks] for step in self.steps if step.checks]
        return Definition(steps=tuple(step.step for step in self.steps), expected=checks)


def load_yaml_scenario(path: str | Path) -> YamlScenario:
    """Return the scenario in a file; DefinitionError names file, line, field and what was expected."""
    top = load_yaml(path)
    values = top.read_fields(_FIELDS | MARKER, required=("steps",))
    steps, field, texts = values["steps"], top.child("steps"), list[str]()
    for i, item in enumerate(steps):
        if isinstance(item.step, Say):
            texts.append(item.step.text)
        elif isinstance(item.step, Ask):
            _check_question(field.child(i).child("ask"), item.step, texts)
    if not any(isinstance(item.step, Ask) for item in steps):
        raise field.fault("asks nothing, so there is nothing to score; add a step `ask:` with `expect:`.")
    if not any(item.checks for item in steps):
        raise field.fault("no question has an `expect:`, so there is nothing to score.")
    return YamlScenario(
        name=values.get("name") or re.sub(r"\W", "_", Path(path).name.removesuffix(SUFFIX), flags=re.ASCII),
        path=str(path),
        description=values.get("description", ""),
        marker={key: values[key] for key in MARKER if key in values},
        steps=steps,
    )


def play_yaml_scenario(scenario: YamlScenario, ltm: Ltm) -> None:
    """Perform the scenario: each expectation is one check."""
    for item in scenario.steps:
        step = item.step
        if isinstance(step, Say):
            ltm.say(step.text, user=step.user, tells=step.tells)
        elif isinstance(step, Wait):
            ltm.wait(span=step.span, tokens=step.tokens, time=step.time)
        else:
            answer = ltm.ask(step.text, about=step.about, answer=item.answer, user=step.user)
            for check in item.checks:
                ltm.check(check.label, check.passes(answer))


def _parse_step(field: Field) -> YamlStep:
    kind, line = step_kind(field, (*STEP_FIELDS, "expect")), field.line or 1
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
        raise fields[kind].error("texts with at least one letter or digit, because words are compared")
    label = fields["label"].text() if "label" in fields else f"{KINDS[kind]} {', '.join(map(repr, texts))}"
    return YamlCheck(label, kind, texts, field.line or 1)


def _check_question(field: Field, question: Ask, texts: list[str]) -> None:
    if not texts:
        raise field.fault("asks before anything was said: there is nothing to remember yet. Begin with `say:`.")
    for text in question.about:
        if text not in texts:
            cure = did_you_mean(text, texts)
            raise field.fault(f"`about` names a text that was not said before: {show_value(text)}.{cure}")


_QUESTION: Mapping[str, Callable[[Field], Any]] = {
    "ask": Field.text,
    "about": Field.texts,
    "user": Field.text,
    "expect": _parse_checks,
}
_FIELDS: dict[str, Callable[[Field], Any]] = {
    "name": Field.name,
    "description": Field.text,
    "steps": lambda field: tuple(map(_parse_step, field.items("steps"))),
}
# The marker's keywords that a file may give, and how each is read.
MARKER: dict[str, Callable[[Field], Any]] = {
    "examples": lambda field: field.whole(least=1),
    "span": Field.tokens,
    "skills": lambda field: ",".join(field.texts()),
    "threshold": lambda field: field.number(0, 1),
    "floor": lambda field: field.number(0, 1),
    "pass_k": lambda field: field.whole(least=1),
    "incompatible": lambda field: list(field.texts()),
    "requires": lambda field: list(field.texts()),
    "version": lambda field: str(field.value) if isinstance(field.value, int | float) else field.text(),
    "reset": Field.text,
}

# The kinds of checks, with the words that label them.
KINDS: Mapping[str, str] = {
    "contains": "contains",
    "not_contains": "does not contain",
    "equals": "equals",
    "matches_any": "contains one of",
}
