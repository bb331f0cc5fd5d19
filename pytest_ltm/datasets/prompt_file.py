"""A file with the words of a published protocol: what is asked, and what a judge is asked, used word for word.

A user writes it, or copies the texts of the authors into it; none are in the project.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from msgspec import Struct

from pytest_ltm.api.scenarios import JudgePrompt
from pytest_ltm.api.storage import DatasetError, Field, load_yaml, read_regular
from pytest_ltm.datasets.rows import faults_of_data

_FIELDS = ("opening", "question", "judge", "parameters")
_JUDGE_PARTS = frozenset({"question", "reference", "answer"})


class PromptFile(Struct, frozen=True, kw_only=True):
    """The texts of one file."""

    name: str
    sha256: str
    opening: str = ""
    """The message that begins a conversation; "": ours."""
    question: Mapping[str, str] = {}
    """How a question is put, by its kind; `default` for all others."""
    judge: Mapping[str, str] = {}
    """What a judge is asked, by kind of question; `default` for all others."""
    parameters: Mapping[str, Any] = {}
    """What a judge's model is given beside the text, such as temperature."""

    @property
    def note(self) -> str:
        """A sentence for reports."""
        return f"prompts of {self.name} (sha256:{self.sha256[:12]}), word for word"

    def ask(self, kind: str, **parts: str) -> str:
        """Return a question of a kind in the words of the file, "" where it has none."""
        return fill_verbatim(_text_of(self.question, kind), parts)

    def judge_prompt(self, kind: str) -> dict[str, Any]:
        """Return what a judge is asked about a kind of question, as a parameter of its definition; {}: not given."""
        text = _text_of(self.judge, kind)
        if not text:
            return {}
        prompt = {
            "sha256": self.sha256,
            "text": text,
            "parameters": dict(self.parameters),
        }
        return {"judge_prompt": prompt}


def _text_of(texts: Mapping[str, str], kind: str) -> str:
    return texts.get(kind) or texts.get("default", "")


def fill_verbatim(text: str, parts: Mapping[str, str]) -> str:
    """Return a text with its parts in the place of `{part}`; `{{` and `}}` are braces."""
    return text.format_map(parts)


def load_prompts(path: Path, kinds: Mapping[str, Collection[str]]) -> PromptFile:
    """Return the texts of a file; DatasetError for an unknown field, kind or part.

    `kinds`: the parts that a text may name beside `{question}`, by kind of question.
    """
    with faults_of_data():
        top = load_yaml(path)
        fields = top.mapping(_FIELDS)
        opening = fields["opening"].text() if "opening" in fields else ""
        if "question" in fields:
            question = _read_questions(fields["question"], kinds)
        else:
            question = {}
        judge = {}
        if "judge" in fields:
            for kind, item in fields["judge"].mapping(("default", *kinds)).items():
                _check_parts(item, _JUDGE_PARTS, needed="answer")
                judge[kind] = item.text()
        parameters = fields["parameters"].json() if "parameters" in fields else {}
        if not isinstance(parameters, dict):
            raise fields["parameters"].error("names and values, such as temperature: 0")
        if not (opening or question or judge):
            raise DatasetError(
                f"{path}: holds no prompt. Give it one of {', '.join(_FIELDS[:3])}"
            )
    digest = hashlib.sha256(read_regular(path)).hexdigest()
    return PromptFile(
        name=path.name,
        sha256=digest,
        opening=opening,
        question=question,
        judge=judge,
        parameters=parameters,
    )


def _read_questions(
    item: Field, kinds: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Return the texts by kind; one text alone is for all."""
    shared = frozenset.intersection(*map(frozenset, kinds.values()))
    is_one = isinstance(item.value, str)
    texts = {"default": item} if is_one else item.mapping(("default", *kinds))
    for kind, text in texts.items():
        parts = frozenset({"question", *kinds.get(kind, shared)})
        _check_parts(text, parts, needed="question")
    return {kind: text.text() for kind, text in texts.items()}


def _check_parts(item: Field, parts: frozenset[str], *, needed: str) -> None:
    """Raise DefinitionError for a part that nobody fills in, or without the one that is needed."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(item.text()) if name}
    except ValueError as error:
        raise item.fault(f"{error}. Write {{{{ and }}}} for braces.") from None
    for name in sorted(names - parts):
        raise item.fault(
            f"nobody fills in {{{name}}}: known are {', '.join(sorted(parts))}. Write {{{{ and }}}} for braces."
        )
    if needed not in names:
        raise item.fault(f"does not name {{{needed}}}.")


def verbatim_prompt(facts: Mapping[str, Any]) -> JudgePrompt | None:
    """Return the prompt that the parameters of a definition hold; None where they hold none."""
    if not (prompt := facts.get("judge_prompt")):
        return None
    return JudgePrompt(
        name=f"file-{prompt['sha256'][:12]}",
        version=1,
        text=prompt["text"],
        verbatim=True,
        parameters=prompt["parameters"],
    )
