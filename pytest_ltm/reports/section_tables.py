"""Tables of a section: what stands under `tables` in its JSON, as the page and Markdown show it."""

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
    """Each as long as the columns."""


def section_tables(section: Section) -> list[SectionTable]:
    """Return the tables of a section; what cannot be read of them is left out."""
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
