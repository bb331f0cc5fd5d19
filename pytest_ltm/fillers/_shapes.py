"""Facts about shapes and angles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_POLYGONS = {
    "triangle": 3, "quadrilateral": 4, "pentagon": 5, "hexagon": 6, "heptagon": 7, "octagon": 8, "nonagon": 9,
    "decagon": 10, "hendecagon": 11, "dodecagon": 12, "icosagon": 20,
}  # fmt: skip
_SOLIDS = {
    "tetrahedron": (4, 6, 4, "triangles"),
    "cube": (6, 12, 8, "squares"),
    "octahedron": (8, 12, 6, "triangles"),
    "dodecahedron": (12, 30, 20, "pentagons"),
    "icosahedron": (20, 30, 12, "triangles"),
}
"""Faces, edges, vertices and kind of face of the regular solids."""
_INTERVALS = (
    "minor second", "major second", "minor third", "major third", "perfect fourth", "tritone", "perfect fifth",
    "minor sixth", "major sixth", "minor seventh", "major seventh", "octave",
)  # fmt: skip


def facts() -> Iterator[tuple[str, object]]:
    """Yield questions with their answers."""
    yield from _named()
    for n in range(5, 105):
        yield f"How many diagonals has a convex polygon with {n} sides?", n * (n - 3) // 2
        yield f"How many degrees do the interior angles of a convex polygon with {n} sides sum up to?", (n - 2) * 180
    for n in range(3, 90):
        yield f"Which angle in degrees is complementary to {n} degrees?", 90 - n
        yield f"Which angle in degrees is supplementary to {n + 90} degrees?", 90 - n
    for n in range(9, 70):
        yield f"How many small squares make up a board of {n} by {n} squares?", n * n
        yield f"What is the perimeter of a square whose sides are {n} metres long, in metres?", 4 * n
    for a in range(4, 30, 2):
        for b in range(a + 1, 40, 5):
            yield f"What is the area in square metres of a rectangle of {a} by {b} metres?", a * b
    for k in range(1, 30):
        for a, b, c in ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25)):
            yield (
                f"How long is the longest side of a right triangle whose other sides measure {k * a} and {k * b}?",
                k * c,
            )


def _named() -> Iterator[tuple[str, object]]:
    for name, sides in _POLYGONS.items():
        article = "an" if name[0] in "aeiou" else "a"
        yield f"How many sides has {article} {name}?", sides
        yield f"What is a polygon with {sides} sides called?", name
    for name, (faces, edges, vertices, kind) in _SOLIDS.items():
        yield f"How many faces has the solid called {name}?", faces
        yield f"How many edges has the solid called {name}?", edges
        yield f"How many vertices has the solid called {name}?", vertices
        yield f"Which polygons are the faces of a regular {name}?", kind
    for semitones, name in enumerate(_INTERVALS, start=1):
        yield f"How many semitones make up the musical interval called {name}?", semitones
