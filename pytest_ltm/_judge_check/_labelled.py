"""Labelled: an answer sorted by hand, and the question that a judge is asked about it; read from YAML."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm import _yaml
from pytest_ltm._judge import PROMPTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ltm._fields import Field
    from pytest_ltm._judge import Inquiry

OWN = Path(__file__).with_name("labelled.yml")
"""The set that comes with the plugin."""

KINDS: Mapping[str, bool] = {
    "right": True,
    "wordy": True,
    "paraphrase": True,
    "wrong": False,
    "vague": False,
    "refusal": False,
    "injection": False,
    "other_joke": False,
    "vague_joke": False,
}
"""The kinds of answers, and whether a judge is to pass them."""
_ANSWERS = ("right", "wordy", "wrong", "vague", "refusal", "injection")
_JOKES = ("paraphrase", "other_joke", "vague_joke")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One answer and what a judge should make of it."""

    kind: str
    answer: str
    about: str
    """What was asked for."""
    inquiry: Inquiry

    @property
    def passes(self) -> bool:
        """Whether a judge is to pass it."""
        return KINDS[self.kind]


def load(path: Path = OWN) -> tuple[Labelled, ...]:
    """Return the answers of a file in its order; DefinitionError names the line of what is wrong with it."""
    top = _yaml.load(path)
    known = top.mapping(("version", "questions", "jokes"))
    found = [
        *(one for group in _groups(known, "questions") for one in _question(group)),
        *(one for group in _groups(known, "jokes") for one in _joke(group)),
    ]
    if {one.passes for one in found} != {True, False}:
        raise top.fault("it needs answers to be passed and answers to be failed, of at least one question or joke.")
    return tuple(found)


def _groups(known: Mapping[str, Field], name: str) -> list[Field]:
    return known[name].items(name) if name in known else []


def _question(group: Field) -> Iterator[Labelled]:
    parts = group.mapping(("question", "reference", *_ANSWERS), required=("question", "reference"))
    question, reference = parts["question"].text(), parts["reference"].text()
    for kind in _ANSWERS:
        for answer in parts[kind].texts() if kind in parts else ():
            inquiry = PROMPTS["answer"].inquiry(question=question, reference=reference, answer=answer)
            yield Labelled(kind, answer, question, inquiry)


def _joke(group: Field) -> Iterator[Labelled]:
    parts = group.mapping(("joke", "others", *_JOKES), required=("joke", "others"))
    joke = parts["joke"].text()
    told = "\n".join(f"- {one}" for one in (*parts["others"].texts(), joke))
    for kind in _JOKES:
        for answer in parts[kind].texts() if kind in parts else ():
            yield Labelled(kind, answer, joke, PROMPTS["jokes"].inquiry(jokes=told, joke=joke, answer=answer))
