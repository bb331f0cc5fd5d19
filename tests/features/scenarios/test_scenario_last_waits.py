"""The time of each scenario's last question is drawn per example, so that the questions do not come all at once."""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pytest_ltm.scenarios import _parameters

from pytest_ltm import Definition, Step, Wait
from pytest_ltm.api.scenarios import suite as _suite

LOW, HIGH = _parameters.LAST_WAITS
PATIENT = [name for name in _suite.scenario_names() if name != "chapter_break"]
"""The scenarios with waits; a book is read out without any."""


def _generate(name: str) -> Callable[..., Definition]:
    made: Callable[..., Definition] = getattr(
        importlib.import_module(f"pytest_ltm.scenarios.{name}"), name
    )
    return made


def _waits(name: str, definition: Definition) -> list[float]:
    """Return the shares of the span at which a definition continues; restaurant keeps its last one as a parameter."""
    found = [step.span for step in definition.steps if isinstance(step, Wait)]
    return (
        [*found, definition.parameters["last_wait"]] if name == "restaurant" else found
    )


def _without_waits(definition: Definition) -> tuple[tuple[Step, ...], object]:
    return tuple(
        replace(step, span=0.0) if isinstance(step, Wait) else step
        for step in definition.steps
    ), (definition.expected)


@pytest.mark.slow
@pytest.mark.parametrize("name", PATIENT)
def test_the_last_question_comes_between_80_and_90_percent_of_the_span(
    name: str,
) -> None:
    last = {
        round(_waits(name, _generate(name)(random.Random(seed), {}))[-1], 9)
        for seed in range(40)
    }
    assert LOW <= min(last) < LOW + 0.02
    assert HIGH - 0.02 < max(last) <= HIGH
    assert (LOW, HIGH) == (0.8, 0.9)


@pytest.mark.parametrize("name", PATIENT)
def test_texts_are_the_same_for_any_last_wait_and_all_waits_are_stretched_alike(
    name: str,
) -> None:
    drawn, published = (
        _generate(name)(random.Random(3), given) for given in ({}, {"last_wait": 0.9})
    )
    assert _without_waits(drawn) == _without_waits(published)
    factor = _waits(name, drawn)[-1] / 0.9
    assert _waits(name, drawn) == pytest.approx(
        [wait * factor for wait in _waits(name, published)]
    )
    assert _waits(name, published)[-1] == pytest.approx(0.9)


@pytest.mark.parametrize("share", [0, -0.1, 1.01, "0.9", True, float("nan")])
def test_a_last_wait_that_is_no_share_of_the_span_is_refused(share: Any) -> None:
    with pytest.raises(
        ValueError, match="last_wait is a share of the span above 0 and up to 1, not"
    ):
        _parameters.last_wait(random.Random(0), {"last_wait": share})
