"""Pieces of advice on one theme, and the shapes in which replies give them: points, plans, questions, examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._texts import frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from pytest_ltm.datasets.longmemeval.generate._texts import Aspect, Theme

    Count = Callable[[str], int]
    Shape = Callable[[Random, "Advice", int, Count], list[str]]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing to do, and why."""

    aspect: str
    do: str
    reason: str


class Advice:
    """The pieces of a theme in a random order; each thing to do comes once before any comes again."""

    def __init__(self, rng: Random, theme: Theme) -> None:
        self._rng, self._theme = rng, theme
        self._left: list[tuple[Aspect, str]] = []

    def about(self, aspect: Aspect) -> None:
        """Put what is left about an aspect in front."""
        self._fill()
        self._left.sort(key=lambda one: one[0] is aspect)

    def next(self) -> Piece:
        """Return the next piece."""
        self._fill()
        aspect, do = self._left.pop()
        return Piece(aspect.name, do, self._rng.choice(aspect.reasons))

    def _fill(self) -> None:
        if not self._left:
            pieces = [(aspect, do) for aspect in self._theme.aspects for do in aspect.do]
            self._left = self._rng.sample(pieces, len(pieces))


def points(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return points with a name each, sometimes with a list of them at the end."""
    listed: list[str] = []
    lines: list[str] = []
    wants_list = rng.random() < _LISTED
    for line, piece in _fitting(rng, advice, room * 2 // 3 if wants_list else room, count, "points"):
        lines.append(f"- {line}")
        listed.append(upper_first(piece.do))
    if not (wants_list and lines):
        return lines
    steps = ["", rng.choice(frames()["lists"]), *(f"{number}. {do}." for number, do in enumerate(listed, start=1))]
    return lines + (steps if count("\n".join([*lines, *steps])) < room else [])


def plan(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return what to do week by week."""
    lines = [rng.choice(frames()["plans"])]
    room -= count(f"{lines[0]}\n")
    for week in range(1, rng.randint(4, 8)):
        piece = advice.next()
        line = f"- Week {week}: {piece.do}, because {piece.reason}."
        room -= count(f"{line}\n")
        if room < 0:
            break
        lines.append(line)
    return lines if len(lines) > 1 else []


def questions(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return questions with their answers."""
    return [line for line, _ in _fitting(rng, advice, room, count, "questions")]


def examples(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return paragraphs."""
    found = [line for line, _ in _fitting(rng, advice, room, count, "examples")]
    return [part for line in found for part in (line, "")][:-1]


SHAPES: tuple[Shape, ...] = (points, plan, questions, examples)
_LISTED = 0.3
"""The share of lists of points that end in a list of steps."""


def _fitting(rng: Random, advice: Advice, room: int, count: Count, frame: str) -> Iterator[tuple[str, Piece]]:
    """Yield pieces in a frame until the room is used up."""
    while True:
        piece = advice.next()
        line = _framed(rng, advice, piece, frame)
        room -= count(f"- {line}\n\n")
        if room < 0:
            return
        yield line, piece


def _framed(rng: Random, advice: Advice, piece: Piece, frame: str) -> str:
    chosen = rng.choice(frames()[frame])
    return chosen.format(
        Aspect=piece.aspect,
        aspect=f'"{piece.aspect}"',
        do=piece.do,
        Do=upper_first(piece.do),
        do2=advice.next().do if "{do2}" in chosen else "",
        tail=rng.choice(frames()["tails"]),
        minutes=rng.choice((10, 15, 20, 30, 45)),
        weeks=rng.choice((3, 4, 5, 6)),
        **{"for": piece.reason, "For": upper_first(piece.reason)},
    ).rstrip()


def upper_first(text: str) -> str:
    """Return the text with a capital at its beginning."""
    return text[:1].upper() + text[1:]
