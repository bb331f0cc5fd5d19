"""Questions that need several turns: lists over storylines, causes, and what has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo.generate import _texts
from pytest_ltm.datasets.locomo.generate._asked import Asked, filling
from pytest_ltm.datasets.locomo.generate._talk import CAUSE, HAPPENED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm.datasets.locomo.generate._asked import Heard, Told

LED_TO = "What had {{who}} done that led to this: {{who}} {did}?"
_LONGEST = 8
"""So many parts has the longest list that is asked for."""


def collected(heard: Heard) -> list[Asked]:
    """Return the questions for lists of things, and for what has changed."""
    return [*_lists(heard), *_changes(heard)]


def _lists(heard: Heard) -> Iterator[Asked]:
    for line in _texts.lines().values():
        for who in heard.speakers:
            begun = [one for one in heard.happened() if one.event.who == who and one.kind.key == f"{line.name}/0"]
            if 1 < len(begun) <= _LONGEST:
                yield _asked(line.listing, begun, [one.event.roles["theme"] for one in begun])


def causes(heard: Heard) -> Iterator[Asked]:
    """Yield the questions for what an event came of."""
    for (event, what), told in heard.facts.items():
        if what == CAUSE:
            cause = heard.facts[told.event.causes[0], HAPPENED]
            both = [cause, heard.facts[event, HAPPENED]]
            yield _asked(LED_TO.format(did=told.kind.did), both, [told.value])


def _changes(heard: Heard) -> Iterator[Asked]:
    for habit in _texts.habits():
        stages = [one for one in heard.happened() if one.kind in {habit.first, habit.change}]
        if len(stages) > 1:
            values = [one.value for one in stages]
            yield _asked(habit.now, stages, values[-1:])
            yield _asked(habit.all, stages, values)


def _asked(pattern: str, told: list[Told], gold: list[str]) -> Asked:
    return Asked(
        category=Category.MULTI_HOP,
        pattern=pattern,
        filling=filling(told[0].event),
        gold=", ".join(gold),
        evidence=tuple(dict.fromkeys(one.turn.id for one in told)),
    )
