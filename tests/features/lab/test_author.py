"""A model that writes data for a data set: its prompts, retries, and counts."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_ltm.api.calls import Retries
from pytest_ltm.api.storage import AgentFault, TransientFault
from pytest_ltm.lab.author import AskedModel, complete_prompt


class Completions:
    """A model client that fails before it answers."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.asked: list[Any] = []

    def complete(self, messages: Any) -> Any:
        self.asked.append(messages)
        if self.faults:
            raise self.faults.pop(0)
        return SimpleNamespace(text="Hi.", used=SimpleNamespace(input=3, output=2))


def written(completions: Completions, model: AskedModel) -> str:
    waits: list[float] = []
    retries = Retries(most=3, rng=Random(0), sleep=waits.append)
    text = complete_prompt(completions, model, "Write.", retries)
    assert len(waits) == len(completions.asked) - 1
    return text


def test_a_fault_that_passes_is_asked_again_and_the_answer_is_counted_once() -> None:
    completions = Completions(TransientFault("busy"), TransientFault("busy"))
    model = AskedModel("openai:m", str)
    assert written(completions, model) == "Hi."
    assert completions.asked == [[{"role": "user", "content": "Write."}]] * 3
    assert model.tokens == {"input": 3, "output": 2}


def test_a_fault_that_stays_is_final_at_once() -> None:
    completions = Completions(AgentFault("no such model"))
    with pytest.raises(AgentFault, match="no such model"):
        written(completions, AskedModel("openai:m", str))
    assert len(completions.asked) == 1
