"""Figure: a number or text about a column of the result, with all that tables and files need of it."""

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

# Where tables have a figure; `trials`: in the terminal if there are several, `verbose`:
# with `-v`.
Report: TypeAlias = Literal["terminal", "trials", "verbose", "markdown", "html"]
Missing: TypeAlias = Literal["never", "null", "absent"]


class Unit(NamedTuple):
    """What kind of value a figure has."""

    schema: Mapping[str, Any]
    """The JSON Schema of the value."""
    text: Callable[[Any], str] = str
    """Writes it in a table."""


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
    """Its path in `summary.json`: `judge.cost_usd`."""
    unit: str
    value: Callable[[Column], Any]
    """Computes it: None where it is unknown, or makes no sense."""
    label: str | Callable[[Sequence[Column]], str] = ""
    """Heads its row or column in tables; "": they do not have it."""
    missing: Missing = "never"
    """How `summary.json` shows that there is no value. Of the first member of a group: that there is no group."""
    reports: str = "terminal markdown html"
    """Words of `Report`: the tables that have it."""
    text: Callable[[Column], str] | None = None
    """Writes what stands in a cell, where that is more than the value."""
    without: str = NOTHING
    """What stands in a cell where there is no value."""
    shown: Callable[[Column], bool] = lambda _: True
    """Tables have it if this is true of any column, and any has a value, or something to say without."""
    estimated: Callable[[Column], bool] = never
    """Whether the value is in part an estimate: shown as `~`."""
    spent_by_agent: bool = False
    """It may be hypothetical: shown in parentheses, where other columns' dollars were really spent."""
    order: Callable[[Column], float | None] | None = None
    """What tables are sorted by, if not the value."""
    definition: str = ""
    """What it means, a sentence; "": figures.yml says it."""

    @property
    def group(self) -> str:
        """The name of the object in `summary.json` that has it, else its own."""
        return self.name.partition(".")[0]

    def heading(self, columns: Sequence[Column]) -> str:
        """Return what heads it in a table of these columns."""
        if isinstance(self.label, str):
            return self.label
        return self.label(columns)

    def has_estimate(self, columns: Sequence[Column]) -> bool:
        """Return whether its value for any of the columns is in part an estimate."""
        return any(
            self.estimated(column) and self.value(column) is not None
            for column in columns
        )

    def cells(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return how it is written for each of the columns."""
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
    # Only beside real costs does a hypothetical one need a mark: alone, the heading
    # says that it would cost as much.
    kinds = {
        column.is_hypothetical for column in columns if column.cost_usd is not None
    }
    return len(kinds) > 1
