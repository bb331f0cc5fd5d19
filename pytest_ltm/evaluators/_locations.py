"""Locations Directions: the directions told are followed on a grid and must end where the true ones end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._directions import UNIT, Leg, Point, read_legs, walk
from pytest_ltm.evaluators._json import values
from pytest_ltm.evaluators._rules import check_scoring, last, standing_in
from pytest_ltm.evaluators._words import snippet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_MOST_TELLINGS = 4


@dataclass(frozen=True, slots=True)
class LeadsTo:
    """Full marks if the directions in the last answer lead from the start of the route to its end.

    `route` holds (kilometres, direction, place) for each leg; the first begins at `start`. A leg without a distance, a
    direction between the four, or no directions at all earn 0. `v3.5`, `paper`: those rules have a model extract the
    directions, so the current rule stands in.
    """

    start: str
    route: tuple[tuple[float, str, str], ...]
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the directions lead to the end of the route, else 0."""
        verdict = self._current(last(answers))
        if self.scoring == "current":
            return verdict
        told = standing_in(verdict, self.scoring, "locations-directions")
        assert isinstance(told, Score)
        return told

    def _current(self, answer: str) -> Score:
        goal = self.route[-1][2] if self.route else self.start
        told = read_legs(answer, (self.start, *(leg[2] for leg in self.route)))
        told = told if any(leg.whole for leg in told) else _legs_of_json(answer) or told
        legs = first_telling(told, self.start, goal)
        value, reason = self._follow(legs)
        return Score(value, reason, rule="locations-directions/1", evidence=_told(legs) or snippet(answer))

    def _follow(self, legs: Sequence[Leg]) -> tuple[float, str]:
        if not legs:
            return 0.0, "tells no directions"
        lost = next((leg for leg in legs if not leg.whole), None)
        if lost is not None:
            return 0.0, f"a leg cannot be walked: {_told([lost])}"
        true_end: Point = walk([Leg(km, way.lower(), None, place) for km, way, place in self.route])
        end = walk(legs)
        if end == true_end:
            return 1.0, f"the directions lead to the right place, {_at(end)}"
        return 0.0, f"the directions lead {_at(end)}, not {_at(true_end)}"


def _legs_of_json(answer: str) -> list[Leg]:
    """Return the legs of the first JSON list of objects with a direction and a number."""
    for value in values(answer):
        entries = value if isinstance(value, list) else next((e for e in value.values() if isinstance(e, list)), [])
        if legs := [leg for entry in entries if isinstance(entry, dict) and (leg := _leg_of(entry)).whole]:
            return legs
    return []


def _leg_of(entry: Mapping[str, Any]) -> Leg:
    numbers = [value for value in entry.values() if isinstance(value, (int, float)) and not isinstance(value, bool)]
    ways = [value.lower() for value in entry.values() if isinstance(value, str) and value.lower() in UNIT]
    return Leg(numbers[0], ways[0]) if len(numbers) == len(ways) == 1 else Leg()


def first_telling(legs: Sequence[Leg], start: str, goal: str) -> list[Leg]:
    """Return the legs of the first telling of a route that arrives at the goal, else those of the last telling.

    A telling begins where a leg leaves the start; what has neither distance nor direction worth walking at the very
    end of a telling is dropped.
    """
    tellings: list[list[Leg]] = [[]]
    for leg in legs:
        if leg.origin == start and tellings[-1]:
            tellings.append([])
        tellings[-1].append(leg)
        if leg.goal == goal:
            return _once(_trimmed(tellings[-1]))
    return _once(_trimmed(tellings[-1]))


def _once(legs: list[Leg]) -> list[Leg]:
    """Return a route that is told several times in a row once."""
    moves = [(leg.km, leg.way) for leg in legs]
    for times in range(2, _MOST_TELLINGS + 1):
        size, rest = divmod(len(moves), times)
        if size > 1 and not rest and moves == moves[:size] * times:
            return legs[:size]
    return legs


def _trimmed(legs: Sequence[Leg]) -> list[Leg]:
    whole = [n for n, leg in enumerate(legs) if leg.whole]
    kept = legs[: whole[-1] + 1] if whole else []
    return [leg for leg in kept if leg.whole or leg.way is not None]


def _told(legs: Sequence[Leg]) -> str:
    parts = (
        f"{'?' if leg.km is None else f'{leg.km:g}'} km {leg.way or '?'} to {leg.goal or '?'}" for leg in legs[:20]
    )
    return "; ".join(parts)


def _at(point: Point) -> str:
    return f"({point[0]:g} km east, {point[1]:g} km north)"
