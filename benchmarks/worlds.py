"""Simulated agents with known true scores, to test the gate's statistics on.

A score is derived from a normal variable. Parts of it are shared by a scenario's
examples in one conversation, by a whole conversation, and by both runs of the same
example. It is cut into no, partial and full credit.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from math import erf, sqrt

from pytest_ltm.figures.statistics.pairs import Pair, ScoredRow

EXAMPLES = 3
_STEPS = 4_000


@dataclass(frozen=True, slots=True)
class Marks:
    """The distribution of a scenario's scores."""

    none: float
    """The share of examples without credit."""
    full: float
    """The share of examples with full marks."""
    checks: int = 1
    """Partial credit is a share of this many checks, each share equally likely."""

    def score(self, place: float) -> float:
        """Return the score at a quantile, 0 to 1."""
        if place < self.none:
            return 0.0
        if place >= 1 - self.full:
            return 1.0
        within = (place - self.none) / (1 - self.none - self.full)
        return (1 + int(within * (self.checks - 1))) / self.checks

    @property
    def mean(self) -> float:
        """The mean score."""
        return _mean(self)


@cache
def _mean(marks: Marks) -> float:
    return sum(marks.score((step + 0.5) / _STEPS) for step in range(_STEPS)) / _STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Scenarios, and the correlation of their examples: shares of the variance, at most 1 together."""

    name: str
    scenarios: tuple[Marks, ...]
    example: float = 0.3
    """Examples are equally hard in both runs."""
    scenario: float = 0.0
    """The examples of a scenario in one conversation resemble each other."""
    conversation: float = 0.0
    """A whole conversation goes well or badly."""
    wrecked: float = 0.0
    """The share of conversations (not of the variance) that earn nothing at all."""
    wrecks: tuple[bool, bool] = (True, True)
    """Which runs are affected, earlier and later; an unaffected one forgets as many answers, independently."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The later agent's forgetting: an answer that would have scored earns nothing."""

    share: float = 0.0
    scenarios: int | None = None
    """Only in this many scenarios, the last ones; None: in all."""

    def of(self, world: World, place: int) -> float:
        """Return the forgotten share in the scenario at a position."""
        hit = self.scenarios is None or place >= len(world.scenarios) - self.scenarios
        return self.share if hit else 0.0

    def true(self, world: World) -> float:
        """Return the true difference, later minus earlier, of the mean over scenarios."""
        held = 1 - world.wrecked
        lost = [
            held * self.of(world, place) * marks.mean
            for place, marks in enumerate(world.scenarios)
        ]
        return -sum(lost) / len(lost)


MIXED = (
    Marks(0.0, 1.0),
    Marks(0.02, 0.95, 3),
    Marks(0.6, 0.2, 5),
    Marks(0.0, 0.97, 3),
    Marks(0.9, 0.1),
    Marks(0.0, 1.0),
    Marks(0.3, 0.7),
    Marks(0.2, 0.3, 3),
    Marks(0.5, 0.5),
    Marks(0.05, 0.6, 20),
    Marks(0.1, 0.8, 3),
)
"""Eleven typical scenarios: some that all pass, some that almost none do, some with partial credit."""

WORLDS = (
    World(name="independent", scenarios=MIXED),
    World(name="scenarios alike", scenarios=MIXED, scenario=0.5),
    World(
        name="passes and fails, alike", scenarios=(Marks(0.4, 0.6),) * 11, scenario=0.4
    ),
    World(
        name="near full marks, alike",
        scenarios=(Marks(0.03, 0.95, 3),) * 11,
        scenario=0.4,
    ),
    World(
        name="partial credit, alike", scenarios=(Marks(0.1, 0.2, 5),) * 11, scenario=0.4
    ),
)
_EVEN = (Marks(0.4, 0.6),) * 11


def moody(sd: float, scenarios: tuple[Marks, ...] = MIXED, kind: str = "") -> World:
    """Return a world in which whole conversations go well or badly, with a standard deviation of `sd`.

    The rest has a standard deviation of 1, so the conversation's share of the variance
    is 0.2 at 0.5, a half at 1, and 0.8 at 2.
    """
    rest = 1 / (1 + sd**2)
    share = 0.2 * rest
    name = f"{kind}conversation sd {sd:g}"
    return World(
        name=name,
        scenarios=scenarios,
        example=share,
        scenario=share,
        conversation=1 - rest,
    )


TROUBLED, MOODY = moody(1), moody(1, _EVEN, "passes and fails, ")
"""Worlds in which one conversation says little, and statistics that assume independent scenarios are wrong; in the
second, all scenarios are affected equally.
"""
WRECKED = World(
    name="1 in 20 conversations earns nothing",
    scenarios=WORLDS[3].scenarios,
    scenario=0.4,
    wrecked=0.05,
)
"""The same, but rare and complete."""
CRASHES = tuple(
    World(
        name=f"{which} crashes in 12 %, the other is steady",
        scenarios=MIXED,
        scenario=0.4,
        wrecked=0.12,
        wrecks=who,
    )
    for which, who in (
        ("the later run", (False, True)),
        ("the earlier run", (True, False)),
    )
)
"""Equal means and unequal shapes, in both directions."""
EMPTIED = replace(
    CRASHES[1],
    name="the earlier run earns nothing in 30 %, the other is steady",
    wrecked=0.3,
)
"""As many collapses as `--ltm-compare-collapses` assumes."""
HARD = (
    *CRASHES,
    EMPTIED,
    moody(0.5),
    TROUBLED,
    moody(2),
    MOODY,
    moody(2, _EVEN, "passes and fails, "),
    WRECKED,
)


def pairs(
    world: World,
    trials: int,
    drop: Drop,
    chance: random.Random,
    lost: float = 0.0,
    befell: list[float] | None = None,
) -> list[Pair]:
    """Return two runs; `lost` is the share of the later run's replies lost to infrastructure.

    To `befell` is appended, per trial, the random effect on the later conversation as a
    whole minus that on the earlier one.
    """
    common, alike, whole = (
        sqrt(world.example),
        sqrt(world.scenario),
        sqrt(world.conversation),
    )
    own = sqrt(1 - world.example - world.scenario - world.conversation)
    normal, uniform = chance.gauss, chance.random
    found = []
    for trial in range(trials):
        moods = [whole * normal(0, 1) for _ in range(2)]
        wrecks = [
            bool(world.wrecked) and befalls and uniform() < world.wrecked
            for befalls in world.wrecks
        ]
        if befell is not None:
            befell.append(moods[1] - moods[0] + wrecks[0] - wrecks[1])
        for place, marks in enumerate(world.scenarios):
            shared = [mood + alike * normal(0, 1) for mood in moods]
            forgotten = drop.of(world, place)
            for example in range(EXAMPLES):
                hard = common * normal(0, 1)
                before, after = (
                    0.0
                    if wreck
                    else marks.score(_place(hard + part + own * normal(0, 1)))
                    for wreck, part in zip(wrecks, shared, strict=True)
                )
                if not all(world.wrecks) and uniform() < world.wrecked:
                    before, after = before * world.wrecks[0], after * world.wrecks[1]
                if forgotten and uniform() < forgotten:
                    after = 0.0
                if lost and uniform() < lost:
                    continue
                found.append(
                    Pair(
                        scenario=f"scenario_{place:02}",
                        example=str(example),
                        span_label="2k",
                        trial=str(trial),
                        before=before,
                        after=after,
                    )
                )
    return found


def remembered(
    world: World, trials: int, kept: dict[int, float], chance: random.Random
) -> Iterator[ScoredRow]:
    """Yield the rows of one agent, isolated and at spans (in tokens) at which it keeps a share of its answers."""
    common, alike, whole = (
        sqrt(world.example),
        sqrt(world.scenario),
        sqrt(world.conversation),
    )
    own = sqrt(1 - world.example - world.scenario - world.conversation)
    normal = chance.gauss
    for trial in range(trials):
        moods = {span: whole * normal(0, 1) for span in kept}
        for place, marks in enumerate(world.scenarios):
            shared = {span: moods[span] + alike * normal(0, 1) for span in kept}
            for example in range(EXAMPLES):
                hard = common * normal(0, 1)
                score = marks.score(
                    _place(hard + sqrt(1 - world.example) * normal(0, 1))
                )
                thread = place * EXAMPLES + example
                yield _row(place, example, "isolated", None, f"{trial}.{thread}", score)
                for span, share in kept.items():
                    score = marks.score(
                        _place(hard + shared[span] + own * normal(0, 1))
                    )
                    score = score if chance.random() < share else 0.0
                    yield _row(place, example, f"{span}", span, str(trial), score)


def _row(
    place: int, example: int, label: str, span: int | None, trial: str, score: float
) -> ScoredRow:
    return ScoredRow(
        scenario=f"scenario_{place:02}",
        example=str(example),
        span_label=label,
        span=span,
        trial=trial,
        score=score,
    )


def _place(normal: float) -> float:
    return (1 + erf(normal / sqrt(2))) / 2
