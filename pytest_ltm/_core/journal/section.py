"""Section: a feature's addition to the reports of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import asdict

from pytest_ltm._core.calls.airlock import class_name, exact_items
from pytest_ltm._core.storage.errors import LtmError
from pytest_ltm._core.storage.schema import from_record

# The fields of `summary.json` that sections without a title may fill.
FIELDS = ("gate", "comparison", "rescored")


class ScreenLine(NamedTuple):
    """A line for the terminal."""

    text: str
    color: str = ""
    """A color name of pytest's terminal: "red"; "": plain."""


class Curve(Struct, frozen=True):
    """A line in a figure of the page: shares, 0 to 1, at points of an axis."""

    name: str
    axis: str
    """The name of the axis; curves of the same axis share one figure."""
    points: tuple[tuple[str, float], ...]
    """Each point with its share, in the order of the axis."""


class Section(Struct, frozen=True, kw_only=True):
    """A feature's addition to the reports of a run: terminal, `summary.json`, page and Markdown.

    With a title, it is a section of its own in every report. Without one, its parts
    join the report's existing sections.
    """

    title: str = ""
    """Its heading."""
    sentences: Sequence[str] = ()
    """Its sentences, in plain text."""
    json: Mapping[str, Any] = field(default_factory=dict)
    """JSON values for `summary.json`: of the section, or fields of the file if it has no title."""
    curves: tuple[Curve, ...] = ()
    """Curves that the page draws below its sentences, if an axis has two points."""
    screen: tuple[ScreenLine, ...] = ()
    """Lines that the terminal shows below all tables."""
    verdict: str = ""
    """The heading of the Markdown summary, if it decides about the run: `passed`."""
    lead: tuple[str, ...] = ()
    """Paragraphs above the tables of the Markdown summary, in Markdown."""
    details: tuple[str, ...] = ()
    """Paragraphs below its first table, in Markdown."""
    notes: tuple[str, ...] = ()
    """Sentences among the notes of the Markdown summary."""

    def __post_init__(self) -> None:
        if isinstance(self.sentences, str):
            raise TypeError("sentences: a list of strings, not one string")
        # Validated here, so that the error names the feature responsible.
        json.dumps(dict(self.json))
        unknown = sorted(self.json.keys() - FIELDS)
        if unknown and not self.title:
            raise ValueError(
                f"summary.json has no field {unknown[0]!r}. Give the section a title"
            )

    def to_record(self) -> dict[str, Any]:
        """Return the entry of a titled section in `summary.json`."""
        curves = [asdict(curve) for curve in self.curves]
        return {
            "title": self.title,
            "sentences": list(self.sentences),
            "json": dict(self.json),
            **({"curves": curves} if curves else {}),
        }


def sections_of(summary: Mapping[str, Any]) -> list[Section]:
    """Return the titled sections of a `summary.json`; unreadable ones are skipped."""
    records = summary.get("sections")
    sections = []
    for record in records if isinstance(records, list) else ():
        with suppress(LtmError):
            sections.append(from_record(Section, record, "sections"))
    return sections


def as_sections(answer: object) -> tuple[Section, ...]:
    """Return the sections of a hook that may return one or several; TypeError for anything else."""
    answers = exact_items(answer)
    if answers is None:
        answers = [answer]
    for section in answers:
        if type(section) is not Section:
            what = repr(section) if type(section) is str else class_name(section)
            raise TypeError(f"{what:.60}, which is not a Section")
    return tuple(answers)
