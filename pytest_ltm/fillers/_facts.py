"""All built-in facts: computed, or known with certainty; nothing that a scenario talks about."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from pytest_ltm.fillers import _calendar, _elements, _letters, _measures, _numbers, _shapes, _world
from pytest_ltm.fillers._quiz import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = (_numbers, _shapes, _measures, _calendar, _letters, _elements, _world)


def facts() -> Iterator[Fact]:
    """Yield every fact once, in a fixed order."""
    for question, answer in chain.from_iterable(field.facts() for field in _FIELDS):
        yield Fact(question, str(answer))
