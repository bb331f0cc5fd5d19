"""Column list: the columns of all exported tables, described by their docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from pytest_ltm.reports.exports import result_rows


def column_lines() -> Iterator[str]:
    """Yield each table with a line per column of its own, starting with the columns that all tables share."""
    tree = ast.parse(inspect.getsource(result_rows))
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    yield "every table"
    yield from _described_fields(nodes[result_rows.PlacedRow.__name__])
    for table, kind in result_rows.TABLES.items():
        yield table
        yield from _described_fields(nodes[kind.__name__])


def _described_fields(node: ast.ClassDef) -> Iterator[str]:
    for field, words in zip(node.body[1::2], node.body[2::2], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(words, ast.Expr):
            yield f"  {ast.unparse(field.target):<20}  {ast.literal_eval(words.value)}"
