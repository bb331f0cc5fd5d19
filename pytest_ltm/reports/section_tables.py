"""Tables of a section, read from `tables` in its JSON, for the page and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from pytest_ltm.api.journal import Section
from pytest_ltm.api.storage import LtmError, from_record, to_record


class SectionTable(Struct, frozen=True):
    """A table of texts."""

    title: str
    columns: tuple[str, ...]
    """The headings."""
    rows: tuple[tuple[str, ...], ...]
    """The cells of each row, one per column."""


def section_with_tables(
    title: str, sentences: Iterable[str], tables: Iterable[SectionTable], **values: Any
) -> Section:
    """Return a section with tables; `values`: more JSON values for `summary.json`."""
    records = [to_record(table) for table in tables]
    return Section(
        title=title, sentences=tuple(sentences), json={"tables": records, **values}
    )


def section_tables(section: Section) -> list[SectionTable]:
    """Return the tables of a section; malformed ones are left out."""
    tables: list[SectionTable] = []
    records = section.json.get("tables")
    if not isinstance(records, list):
        return tables
    for record in records:
        try:
            table = from_record(SectionTable, record, "tables")
        except LtmError:
            continue
        if all(len(row) == len(table.columns) for row in table.rows):
            tables.append(table)
    return tables
