"""The messages, questions and expected replies of the built-in suites, obtained without pytest."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.scenarios import PlannedExample, built_in, definition_rng
from pytest_ltm.testing import run_conversation


class SuiteText(NamedTuple):
    """A message of a scenario, and the correct reply."""

    kind: str
    message: str
    reply: str
    scenario: str


def said(suite: str, seed: int) -> Iterator[SuiteText]:
    """Yield the messages and questions of a suite, except those about books, with a perfect agent's replies."""
    for entry in built_in(suite).entries:
        if entry.scenario == "chapter_break":
            continue
        test = getattr(
            import_module(f"pytest_ltm.scenarios.{entry.scenario}"),
            f"test_{entry.scenario}",
        )
        [marker] = [mark.kwargs for mark in test.pytestmark if mark.name == "ltm"]
        definition = marker["generate"](
            definition_rng(seed, 0, entry.name, "0"), dict(entry.parameters)
        )
        example = PlannedExample(
            scenario=entry.name, example="0", definition=definition
        )
        played = run_conversation(
            {entry.name: test},
            find_agent("oracle").make(),
            examples=[example],
            span=None,
        )
        for exchange in played.transcript:
            if exchange.kind in {"say", "ask"}:
                yield SuiteText(
                    exchange.kind, exchange.message, exchange.reply, entry.scenario
                )
