"""Tables as CSV, JSON Lines and Parquet: a file each."""

from __future__ import annotations

import csv
import io
import json
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from pytest_ltm._storage.disk import write_output
from pytest_ltm._storage.sanitize import csv_cell
from pytest_ltm._storage.schema import escape_json_text
from pytest_ltm.reporting.exports.output import ExportTarget, import_library
from pytest_ltm.reporting.exports.result_rows import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_ltm.reporting.exports.loaded import Results, ResultTable
    from pytest_ltm.reporting.exports.result_rows import PlacedRow


def outputs(results: Results, to: Path, kind: str, only: str = "") -> Sequence[ExportTarget]:
    """Return a file for each table in the folder `to`, or the file `to` for the table that `only` names.

    `kind`: csv, jsonl or parquet. LtmError where the library for it is absent.
    """
    # Before anything is written: a missing library must not leave half an export.
    if kind == "parquet":
        import_library("pyarrow.parquet", extra="parquet", user="--to parquet")
    write = _WRITERS[kind]
    return [
        ExportTarget(to if only else to / f"{name}.{kind}", partial(write, table=getattr(results, name)))
        for name in ([only] if only else TABLES)
    ]


def _write_csv(path: Path, table: ResultTable[PlacedRow]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    for record in table.records():
        writer.writerow([csv_cell(_time_as_text(value)) for value in record.values()])
    write_output(path, text.getvalue().encode())


def _write_jsonl(path: Path, table: ResultTable[PlacedRow]) -> None:
    lines = (json.dumps(record, ensure_ascii=False, default=_time_as_text) for record in table.records())
    write_output(path, "".join(f"{escape_json_text(line)}\n" for line in lines).encode())


def _write_parquet(path: Path, table: ResultTable[PlacedRow]) -> None:
    arrow, parquet = (
        import_library("pyarrow", extra="parquet", user=""),
        import_library("pyarrow.parquet", extra="parquet", user=""),
    )
    types = {
        str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_(),
        datetime: arrow.timestamp("us", tz="UTC"),
    }  # fmt: skip
    schema = arrow.schema([(name, types[kind]) for name, kind in table.columns.items()])
    parquet.write_table(arrow.Table.from_pylist(table.records(), schema=schema), path)


_WRITERS = {"csv": _write_csv, "jsonl": _write_jsonl, "parquet": _write_parquet}


def _time_as_text(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value
