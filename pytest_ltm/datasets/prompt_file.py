"""A file with the wordings of a published protocol, for questions and for a judge, used verbatim.

A user writes it, copies the authors' texts into it, or points to the authors' code; the project contains none.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Collection, Mapping
from pathlib import Path
from string import Formatter
from typing import Any

from msgspec import Struct

from pytest_ltm.api.model import token_counter
from pytest_ltm.api.scenarios import JudgePrompt
from pytest_ltm.api.storage import DatasetError, Field, load_yaml, read_regular
from pytest_ltm.datasets.prompt_code import read_code_prompts, split_at_history
from pytest_ltm.datasets.rows import faults_of_data

_FIELDS = ("opening", "question", "judge", "parameters", "limit")
_TOKENS = "cl100k_base"
_JUDGE_PARTS = frozenset({"question", "reference", "answer"})


class PromptFile(Struct, frozen=True, kw_only=True):
    """The texts of one file."""

    name: str
    sha256: str
    opening: str = ""
    """The message that opens a conversation; "" for ours."""
    question: Mapping[str, str] = {}
    """The wording of questions by kind; `default` for all others."""
    judge: Mapping[str, str] = {}
    """The judge's prompts by kind of question; `default` for all others."""
    parameters: Mapping[str, Any] = {}
    """Parameters of the judge's model, such as temperature."""
    limit: int = 0
    """The tokens of an answer that are scored, as an output limit would cut it; 0 for all."""

    @property
    def note(self) -> str:
        """A sentence for reports."""
        return f"prompts of {self.name} (sha256:{self.sha256[:12]}), word for word"

    def ask(self, kind: str, **parts: str) -> str:
        """Return a question of a kind in the wording of the file, or "" if it has none."""
        return fill_verbatim(_text_of(self.question, kind), parts)

    def facts_of(self, kind: str) -> dict[str, Any]:
        """Return the parameters of a definition: the judge's prompt for this kind of question, and the limit."""
        facts: dict[str, Any] = {}
        if self.limit:
            facts["answer_limit"] = self.limit
        if text := _text_of(self.judge, kind):
            facts["judge_prompt"] = {
                "sha256": self.sha256,
                "text": text,
                "parameters": dict(self.parameters),
            }
        return facts


def _text_of(texts: Mapping[str, str], kind: str) -> str:
    return texts.get(kind) or texts.get("default", "")


def fill_verbatim(text: str, parts: Mapping[str, str]) -> str:
    """Replace each `{part}` of a text; `{{` and `}}` are braces."""
    return text.format_map(parts)


def load_prompts(path: Path, kinds: Mapping[str, Collection[str]]) -> PromptFile:
    """Load the texts of a file, or of the Python in a folder; DatasetError for an unknown field, kind or part.

    `kinds`: the parts that a text may use in addition to `{question}`, by kind of question.
    """
    if path.suffix == ".py" or path.is_dir():
        return _load_from_code(path, kinds)
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
        limit = fields["limit"].value if "limit" in fields else 0
        if type(limit) is not int or limit < 0:
            raise fields["limit"].error("a number of tokens")
        if not (opening or question or judge or limit):
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
        limit=limit,
    )


def _load_from_code(path: Path, kinds: Mapping[str, Collection[str]]) -> PromptFile:
    """Load the texts that code fills in; text in front of a question becomes the opening."""
    code = read_code_prompts(path, kinds)
    shared = _shared_parts(kinds)
    judge = {}
    question = {}
    openings = []
    for kind in ("default", *kinds):
        judge[kind] = code.text_of(kind, needs="answer", may=_JUDGE_PARTS)
        names = frozenset(kinds.get(kind, shared))
        text = code.text_of(kind, needs="question", may={"history", *names})
        opening, question[kind] = split_at_history(text)
        openings.append(opening)
    # A common text has no place for parts specific to one kind, such as choices.
    default = question.pop("default")
    for kind, parts in kinds.items():
        if frozenset(parts) == shared:
            question[kind] = question[kind] or default
    texts: dict[str, Any] = {
        "opening": openings[0],
        "question": {kind: text for kind, text in question.items() if text},
        "judge": {kind: text for kind, text in judge.items() if text},
        "parameters": dict(code.parameters),
        "limit": code.limit,
    }
    if not (texts["question"] or texts["judge"]):
        places = ", ".join(prompt.place for prompt in code.prompts[:5])
        raise DatasetError(
            f"{path}: the values inserted into its texts are unknown ({places}). Copy the texts into your own file"
        )
    digest = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()
    return PromptFile(name=path.name, sha256=digest, **texts)


def _shared_parts(kinds: Mapping[str, Collection[str]]) -> frozenset[str]:
    return frozenset.intersection(*map(frozenset, kinds.values()))


def _read_questions(
    item: Field, kinds: Mapping[str, Collection[str]]
) -> dict[str, str]:
    """Return the texts by kind; a single text applies to all kinds."""
    shared = _shared_parts(kinds)
    is_one = isinstance(item.value, str)
    texts = {"default": item} if is_one else item.mapping(("default", *kinds))
    for kind, text in texts.items():
        parts = frozenset({"question", *kinds.get(kind, shared)})
        _check_parts(text, parts, needed="question")
    return {kind: text.text() for kind, text in texts.items()}


def _check_parts(item: Field, parts: frozenset[str], *, needed: str) -> None:
    """Raise DefinitionError for an unknown part, or if the needed one is missing."""
    try:
        names = {name for _, name, _, _ in Formatter().parse(item.text()) if name}
    except ValueError as error:
        raise item.fault(f"{error}. Write {{{{ and }}}} for braces.") from None
    for name in sorted(names - parts):
        raise item.fault(
            f"unknown placeholder {{{name}}}. Choose from {', '.join(sorted(parts))}. Write {{{{ and }}}} for braces."
        )
    if needed not in names:
        raise item.fault(f"does not name {{{needed}}}.")


def limited_answer(facts: Mapping[str, Any], answer: str) -> str:
    """Return an answer cut to the token limit in a definition's parameters."""
    limit = facts.get("answer_limit")
    count = token_counter(_TOKENS).count
    if not limit or count(answer) <= limit:
        return answer
    ends = range(len(answer))
    return answer[: bisect_right(ends, limit, key=lambda end: count(answer[:end])) - 1]


def verbatim_prompt(facts: Mapping[str, Any]) -> JudgePrompt | None:
    """Return the prompt in a definition's parameters, or None if there is none."""
    if not (prompt := facts.get("judge_prompt")):
        return None
    return JudgePrompt(
        name=f"file-{prompt['sha256'][:12]}",
        version=1,
        text=prompt["text"],
        verbatim=True,
        parameters=prompt["parameters"],
    )
