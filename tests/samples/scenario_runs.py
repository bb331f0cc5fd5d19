"""Helpers for tests of built-in scenarios: whole conversations in memory, and the published definitions."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from benchmark_data import GOODAI, lines_of

from pytest_ltm import Definition
from pytest_ltm.api.model import Score, Unscored
from pytest_ltm.api.scenarios import PlannedExample
from pytest_ltm.api.storage import Field
from pytest_ltm.datasets.published import from_published
from pytest_ltm.testing import Played, run_conversation


def generated(
    generate: Any, number: int = 3, seed: int = 0, **parameters: Any
) -> list[Definition]:
    """Return the generated definitions of `number` examples."""
    return [
        generate(random.Random(f"{seed} {generate.__name__} {i}"), parameters)
        for i in range(number)
    ]


def conversation(
    bodies: Mapping[str, Any],
    definitions: Mapping[str, Sequence[Definition]],
    agent: object,
    **options: Any,
) -> Played:
    """Play all definitions in one conversation, with the resets and rivals that the bodies' markers name."""
    examples = [
        PlannedExample(
            scenario=name,
            example=str(i),
            definition=definition,
            reset=bodies[name].pytestmark[0].kwargs.get("reset", ""),
            incompatible=tuple(
                bodies[name].pytestmark[0].kwargs.get("incompatible", ())
            ),
        )
        for name in sorted(definitions)
        for i, definition in enumerate(definitions[name])
    ]
    return run_conversation(bodies, agent, examples=examples, **options)


def values(played: Played) -> dict[str, float]:
    """Return the score of each example, with 0 for verdicts that rules leave open; fail if an example has none."""
    scores = {}
    for key, ending in played.endings.items():
        open_ = (
            isinstance(ending.verdict, Unscored) and ending.verdict.cause == "undecided"
        )
        assert open_ or isinstance(ending.verdict, Score), (key, ending)
        scores[key] = ending.verdict.value if isinstance(ending.verdict, Score) else 0.0
    return scores


def scores(
    body: Any, definitions: Sequence[Definition], agent: Any, *, span: int | None
) -> list[float]:
    """Return the scores of one scenario's examples in one conversation, or with an agent each if there is no span."""
    if span is not None:
        return list(
            values(
                conversation({"it": body}, {"it": definitions}, agent(), span=span)
            ).values()
        )
    each = [
        conversation({"it": body}, {"it": [definition]}, agent(), span=None)
        for definition in definitions
    ]
    return [value for played in each for value in values(played).values()]


def published(folder: str, scenario: str) -> list[Definition]:
    """Return the distinct published definitions of a data set, from version 2 on."""
    found: dict[str, Definition] = {}
    for row in lines_of(GOODAI / "definitions.jsonl.gz"):
        if row["path"].split("/")[-2] == folder and "waits" in row:
            fields = {
                key: row[key]
                for key in ("script", "is_question", "waits", "expected_responses")
            }
            found[json.dumps(fields)] = from_published(
                Field(fields, row["path"]), scenario
            )
    return list(found.values())
