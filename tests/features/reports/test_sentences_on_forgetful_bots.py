"""The sentence on bots without memory, after actual conversations: it never says that they remember."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from run_folders import held, played
from scenario_runs import conversation, generated, values

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.journal import ConversationResult, RunResult
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.figures.columns import result_columns
from pytest_ltm.reports.agent_sentences import run_sentences

SEEDS = 20
SPANS = (400, 800, 1_600)
PARTS = {
    entry.name: entry
    for entry in built_in("standard").entries
    if entry.least_span is None  # the entries left out need 16k tokens
}


class OneMessage:
    """Remembers the previous message only."""

    def __init__(self) -> None:
        self._before = ""

    def reply(self, message: str) -> str:
        """Return the previous message."""
        before = self._before
        self._before = message
        return before


class Constant:
    """Gives a constant reply."""

    def reply(self, _: str) -> str:
        """Return the same sentence for every message."""
        return "I put it in the red box, in the kitchen."


BOTS: dict[str, Callable[[], Any]] = {
    "echo": find_agent("echo").make,
    "silent": find_agent("silent").make,
    "OneMessage": OneMessage,
    "Constant": Constant,
    "full": find_agent("full").make,
}


def body(scenario: str) -> Any:
    module = importlib.import_module(f"pytest_ltm.scenarios.{scenario}")
    return getattr(module, f"test_{scenario}")


BODIES = {name: body(entry.scenario) for name, entry in PARTS.items()}


def talks(name: str, seed: int) -> Iterator[ConversationResult]:
    """Play a bot with one example of each scenario of `standard`, at each span."""
    definitions = {}
    for part, entry in PARTS.items():
        generate = BODIES[part].pytestmark[0].kwargs["generate"]
        definitions[part] = generated(generate, 1, seed, **entry.parameters)
    for span in SPANS:
        talk = conversation(BODIES, definitions, BOTS[name](), span=span, seed=seed)
        rows = []
        for key, score in values(talk).items():
            part = key.partition("/")[0]
            row = played(
                part,
                score,
                agent=name,
                span=span,
                span_label=f"{span}",
                floor=BODIES[part].pytestmark[0].kwargs.get("floor", 0.0),
                nodeid=f"{span}-{key}",
            )
            rows.append(row)
        yield held(rows, agent_spec=f"bots:{name}")


def sentence_on(name: str, seed: int) -> str:
    """Return the report's sentence on a bot."""
    run = RunResult(run_id="run", conversations=tuple(talks(name, seed)))
    [sentence] = run_sentences(result_columns(run), None)
    return sentence


@pytest.mark.parametrize("name", ["echo", "silent", "OneMessage", "Constant"])
def test_a_bot_without_a_memory_is_never_said_to_remember(name: str) -> None:
    for seed in range(SEEDS):
        sentence = sentence_on(name, seed)
        claim = sentence.replace("not shown to be above guessing", "")
        assert not re.search(r"remembers|keeps|above guessing", claim), sentence
        assert "guessing" in sentence, sentence


def test_who_keeps_everything_is_said_to_remember() -> None:
    assert "remembers to 1600 tokens or more" in sentence_on("full", seed=0)
