"""Every prompt for a judge, by name, read from `judge_prompts.yml` beside this module."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pytest_ltm._model.judge_request import JudgePrompt
from pytest_ltm._storage import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


FILE = "judge_prompts.yml"


def _read_prompts() -> Iterator[JudgePrompt]:
    top = schema.Field(schema.load_packaged_yaml(__file__, FILE), FILE).mapping(("passages", "prompts"))
    passages = {name: passage.text() for name, passage in top["passages"].mapping().items()}
    for name, fields in top["prompts"].mapping().items():
        parts = fields.mapping(("version", "text", "grades", "fail", "quoted", "thinks"), required=("version", "text"))
        text = re.sub(r"\[(\w+)\]", lambda result: passages[result[1]], parts["text"].text())
        others: dict[str, Any] = {part: parts[part].texts() for part in ("grades", "quoted") if part in parts}
        others |= {part: parts[part].text() for part in ("fail", "thinks") if part in parts}
        yield JudgePrompt(name, parts["version"].whole(least=1), text, **others)


# `answer` and `statement` are what `ltm_judge.grade` and `ltm_judge.ask` use; the others belong to scenarios.
PROMPTS: Mapping[str, JudgePrompt] = {prompt.name: prompt for prompt in _read_prompts()}
