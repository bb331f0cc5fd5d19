"""Figure: a number or text about a column of the result, with everything that tables and files need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

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


UNITS: Mapping[str, Callable[[Any], str]] = {
    "count": short_count,
    "points": "{:.2f}".format,
    "share": format_percent,
    "tokens": lambda tokens: short_count(round(tokens)),
    "usd": format_dollars,
    "simulated": span_of_time,
    "seconds": "{:.2f}".format,
    "ratio": "{:.2f}".format,
    "boolean": str,
    "flag": str,
    "interval": lambda ends: f"{ends[0]:.0%} … {ends[1]:.0%}",
}
"""What formats a value of each unit for a table."""


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
        valued = (column for column in columns if self.value(column) is not None)
        return any(map(self.estimated, valued))

    def cells(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return the figure's text for each of the columns."""
        aside = self.spent_by_agent and has_mixed_costs(columns)
        texts = []
        for column in columns:
            value = self.value(column)
            if value is None:
                texts.append(self.without)
                continue
            text = self.text(column) if self.text else UNITS[self.unit](value)
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
    spending = [column for column in columns if column.cost_usd is not None]
    return len({column.is_hypothetical for column in spending}) > 1
