"""Questions of all five categories, their golds and evidence, out of what was said: the event graph is not looked at.

Maharana et al. (2024), section 4.1, defines the categories. The graph answers the same questions in `_solver.py`, by
another way, so that the one checks the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo.generate._adversarial import adversarial
from pytest_ltm.datasets.locomo.generate._asked import Asked, Heard
from pytest_ltm.datasets.locomo.generate._several import causes, collected
from pytest_ltm.datasets.locomo.generate._single import open_domain, single_hop, temporal

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence

    from pytest_ltm.datasets.locomo.generate._graph import World
    from pytest_ltm.datasets.locomo.generate._talk import Said

SHARES = {
    Category.MULTI_HOP: 0.14,
    Category.TEMPORAL: 0.16,
    Category.OPEN_DOMAIN: 0.05,
    Category.SINGLE_HOP: 0.42,
    Category.ADVERSARIAL: 0.23,
}
"""Of the categories, as in the published file."""


@dataclass(slots=True)
class _Choice:
    """Questions are taken in random order; no text twice."""

    rng: random.Random
    texts: set[str]

    def take(self, candidates: Iterable[Asked], count: int) -> list[Asked]:
        found: dict[str, Asked] = {}
        for one in candidates:
            if one.text not in self.texts:
                found.setdefault(one.text, one)
        chosen = self.rng.sample(list(found.values()), min(count, len(found)))
        self.texts.update(one.text for one in chosen)
        return chosen


def questions(world: World, turns: Sequence[Said], count: int, rng: random.Random) -> list[Asked]:
    """Return at most `count` questions, each category by its share: fewer where not enough was said for one."""
    heard = Heard(world.speakers, {n: at.date() for n, at in enumerate(world.dates, start=1)}, turns)
    choice = _Choice(rng, set())
    wanted = _counts(count)
    found = choice.take(collected(heard), wanted[Category.MULTI_HOP])
    found += choice.take(causes(heard), wanted[Category.MULTI_HOP] - len(found))
    plain = {
        Category.TEMPORAL: temporal(heard),
        Category.OPEN_DOMAIN: open_domain(heard),
        Category.SINGLE_HOP: single_hop(heard),
    }
    found += [one for category, ones in plain.items() for one in choice.take(ones, wanted[category])]
    trapped = [*plain[Category.SINGLE_HOP], *plain[Category.TEMPORAL]]
    return found + choice.take(adversarial(heard, trapped, rng), wanted[Category.ADVERSARIAL])


def _counts(count: int) -> dict[Category, int]:
    """Return how many of each: rounded shares, one of each at least where the count allows, the rest single-hop."""
    found = {category: max(round(count * share), 1) for category, share in SHARES.items()}
    found[Category.SINGLE_HOP] += count - sum(found.values())
    if found[Category.SINGLE_HOP] >= 0:
        return found
    return {category: int(number <= count) for number, category in enumerate(Category, start=1)}
