"""Replies labelled by hand before rules for them existed, and the verdicts of an evaluator on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LABELLED = Path(__file__).parents[1] / "labelled"
ENOUGH = 40


def disagreements(
    suite: str, half: str, scenario: str, evaluator: Callable[..., Any]
) -> list[str]:
    """Return ids of a scenario's labelled replies with a different score; fail if the scenario has few replies."""
    lines = (
        (LABELLED / f"{suite}.{half}.jsonl").read_text(encoding="utf-8").splitlines()
    )
    rows = [row for row in map(json.loads, lines) if row["scenario"] == scenario]
    assert len(rows) >= ENOUGH
    return [
        row["id"]
        for row in rows
        if _value(evaluator, row) != pytest.approx(row["credit"], abs=1e-3)
    ]


def _value(evaluator: Callable[..., Any], row: dict[str, Any]) -> float | None:
    """Return an evaluator's score of a row, or None if it gives none."""
    args = {name: _tuples(value) for name, value in row["args"].items()}
    verdict = evaluator(**args)(row["answers"])
    return getattr(verdict, "value", None)


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
