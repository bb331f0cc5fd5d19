"""Locations: the answer tells how far, and in which direction, one place lies from another."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm._score import Score, Scoring
from pytest_ltm.evaluators._directions import Leg, read_legs
from pytest_ltm.evaluators._rules import check_scoring, last, standing_in
from pytest_ltm.evaluators._words import joined, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_CONCLUDES = (
    "answer", "as the crow flies", "direct", "directly", "final", "finally", "hence", "in total", "net", "overall",
    "so", "straight", "therefore", "thus",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LiesAt:
    """Full marks if the last answer concludes with the right distance and direction.

    The conclusion is the last sentence with one distance and one direction that names both places or has a word
    such as "therefore"; without such a sentence the only one with a distance and a direction, or else the last. An
    answer that only tells the way leg by leg earns 0. `v3.5`, `paper`: those rules ask a model, so the current
    rule stands in.
    """

    km: float
    direction: str
    """`north`, `south`, `east` or `west`."""
    places: tuple[str, str] = ("", "")
    """Where one stands, and what is looked for."""
    scoring: Scoring = "current"

    def __post_init__(self) -> None:
        check_scoring(self.scoring)

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the conclusion is right, else 0."""
        verdict = self._current(last(answers))
        if self.scoring == "current":
            return verdict
        told = standing_in(verdict, self.scoring, "locations")
        assert isinstance(told, Score)
        return told

    def _current(self, answer: str) -> Score:
        sentence, legs = self._conclusion(answer)
        wanted = f"{self.km:g} km {self.direction}"
        if not legs:
            return Score(0.0, "tells no distance with a direction", rule="locations/1", evidence=snippet(answer))
        told = " and ".join(f"{'?' if leg.km is None else f'{leg.km:g}'} km {leg.way or '?'}" for leg in legs[:5])
        right = len(legs) == 1 and legs[0].km == self.km and legs[0].way == self.direction
        reason = f"concludes with {told}" + ("" if right else f", not {wanted}")
        return Score(float(right), reason, rule="locations/1", evidence=snippet(sentence))

    def _conclusion(self, answer: str) -> tuple[str, list[Leg]]:
        """Return the sentence that counts and the legs in it."""
        places = tuple(place for place in self.places if place)
        told = [
            (sentence, legs)
            for sentence in _SENTENCE_END.split(answer)
            if _may_tell(sentence)
            and (legs := [leg for leg in read_legs(sentence, places) if leg.km is not None and leg.way is not None])
        ]
        single = [(sentence, legs) for sentence, legs in told if len(legs) == 1]
        best = [found for found in single if self._concludes(found[0], places)]
        return (best or told or [("", [])])[-1]

    def _concludes(self, sentence: str, places: Sequence[str]) -> bool:
        said = joined(sentence)
        both = len(places) > 1 and all(joined(place) in said for place in places)
        return both or any(joined(word) in said for word in _CONCLUDES)


def _may_tell(sentence: str) -> bool:
    """Tell cheaply whether a sentence may hold a distance: only texts of this letter are worth reading closely."""
    return "k" in sentence or "K" in sentence or not sentence.isascii()
