"""Figure: a number or text about a column of the result, with everything that tables and files need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from pytest_ltm.figures.text import (
    NOTHING,
    format_dollars,
    format_percent,
    short_count,
    span_of_time,
)

if TYPE_CHECKING:
    from pytest_ltm.figures.columns import Column

# The tables that show a figure; `trials`: the terminal if there are several, `verbose`:
# the terminal with `-v`.
Report: TypeAlias = Literal["terminal", "trials", "verbose", "markdown", "html"]
Missing: TypeAlias = Literal["never", "null", "absent"]


class Unit(NamedTuple):
    """The kind of value of a figure."""

    schema: Mapping[str, Any]
    """The JSON Schema of the value."""
    text: Callable[[Any], str] = str
    """Formats the value for a table."""


NUMBER: dict[str, Any] = {"type": "number"}
UNITS = {
    "count": Unit({"type": "integer"}, short_count),
    "points": Unit(NUMBER, "{:.2f}".format),
    "share": Unit(NUMBER | {"minimum": 0, "maximum": 1}, format_percent),
    "tokens": Unit(NUMBER, lambda tokens: short_count(round(tokens))),
    "usd": Unit(NUMBER, format_dollars),
    "simulated": Unit(NUMBER, span_of_time),
    "seconds": Unit(NUMBER, "{:.2f}".format),
    "ratio": Unit(NUMBER | {"minimum": 0}, "{:.2f}".format),
    "boolean": Unit({"type": "boolean"}),
    "flag": Unit({"const": True}),
    "interval": Unit(
        {"$ref": "#/$defs/interval"}, lambda ends: f"{ends[0]:.0%} … {ends[1]:.0%}"
    ),
}


def never(_: Column) -> bool:
    """Return False for any column."""
    return False


class Figure(Struct, frozen=True):
    """One figure of a column."""

    name: str
    """The figure's path in `summary.json`, such as `judge.cost_usd`."""
    unit: str
    value: Callable[[Column], Any]
    """Computes the value: None if it is unknown or meaningless."""
    label: str | Callable[[Sequence[Column]], str] = ""
    """Heading of the row or column in tables; "" leaves the figure out of them."""
    missing: Missing = "never"
    """How `summary.json` represents a missing value; for a group's first member, a missing group."""
    reports: str = "terminal markdown html"
    """Words of `Report`: the tables that show the figure."""
    text: Callable[[Column], str] | None = None
    """Formats a cell that shows more than the value."""
    without: str = NOTHING
    """The text of a cell without a value."""
    shown: Callable[[Column], bool] = lambda _: True
    """Tables show the figure if this holds for any column, and any has a value, or a text without one."""
    estimated: Callable[[Column], bool] = never
    """Whether the value is partly an estimate, shown with `~`."""
    spent_by_agent: bool = False
    """Whether the value may be hypothetical: shown in parentheses next to really spent dollars."""
    order: Callable[[Column], float | None] | None = None
    """Sort key in tables, if not the value."""
    definition: str = ""
    """The meaning in one sentence; "" if it is in figures.yml."""

    @property
    def group(self) -> str:
        """The name of the object in `summary.json` that contains the figure, else the figure's own name."""
        return self.name.partition(".")[0]

    def heading(self, columns: Sequence[Column]) -> str:
        """Return the figure's heading in a table of these columns."""
        if isinstance(self.label, str):
            return self.label
        return self.label(columns)

    def has_estimate(self, columns: Sequence[Column]) -> bool:
        """Return whether the figure's value is partly an estimate for any of the columns."""
        return any(
            self.estimated(column) and self.value(column) is not None
            for column in columns
        )

    def cells(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the figure's text for each of the columns."""
        aside = self.spent_by_agent and has_mixed_costs(columns)
        texts = []
        for column in columns:
            value = self.value(column)
            if value is None:
                texts.append(self.without)
                continue
            text = self.text(column) if self.text else UNITS[self.unit].text(value)
            if self.estimated(column):
                text = f"~{text}"
            if aside and column.is_hypothetical:
                text = f"({text})"
            texts.append(text)
        return tuple(texts)


def has_mixed_costs(columns: Sequence[Column]) -> bool:
    """Return whether only some of the dollars are hypothetical."""
    # A hypothetical cost needs a mark only next to a real one: alone, the heading says
    # that it is hypothetical.
    kinds = {
        column.is_hypothetical for column in columns if column.cost_usd is not None
    }
    return len(kinds) > 1
