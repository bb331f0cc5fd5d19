"""Questions that the conversation does not answer, though something in it looks as if it did.

Either they ask the right thing of the wrong speaker, or they ask about something of the same kind that nobody ever
mentioned. The evidence is what misleads.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo.generate import _texts

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from pytest_ltm.datasets.locomo.generate._asked import Asked, Heard

_TRIES = 5


def adversarial(heard: Heard, answerable: Sequence[Asked], rng: random.Random) -> Iterator[Asked]:
    """Yield what becomes unanswerable by a change of the speaker or of the theme."""
    for one in answerable:
        changed = _of_the_other(heard, one) if rng.random() < 0.6 else _of_nothing(heard, one, rng)  # noqa: PLR2004
        if changed is not None:
            yield replace(changed, category=Category.ADVERSARIAL)


def _of_the_other(heard: Heard, one: Asked) -> Asked | None:
    other = heard.other(one.filling["who"])
    theme = one.filling.get("theme")
    if theme and heard.mentioned(theme, by=other):
        return None
    return replace(one, filling={**one.filling, "who": other})


def _of_nothing(heard: Heard, one: Asked, rng: random.Random) -> Asked | None:
    pool = heard.pools.get(one.filling.get("theme", ""), "")
    for _ in range(_TRIES if pool else 0):
        theme = _texts.drawn(pool, rng)
        if not heard.mentioned(theme):
            return replace(one, filling={**one.filling, "theme": theme})
    return None
