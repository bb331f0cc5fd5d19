"""Tables of a section, read from `tables` in its JSON, for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from pytest_ltm.api.journal import Section
from pytest_ltm.api.storage import LtmError, from_record


class SectionTable(Struct, frozen=True):
    """A table of texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The rows, each as long as the columns."""


def section_tables(section: Section) -> list[SectionTable]:
    """Return the tables of a section; malformed ones are left out."""
    return list(_read_tables(section))


def _read_tables(section: Section) -> Iterator[SectionTable]:
    records = section.json.get("tables")
    for record in records if isinstance(records, list) else ():
        try:
            table = from_record(SectionTable, record, "tables")
        except LtmError:
            continue
        if all(len(row) == len(table.columns) for row in table.rows):
            yield table
