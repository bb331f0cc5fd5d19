"""A single package encodes and decodes journals and timings; no other code looks into their lines."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pytest_ltm

PACKAGE = Path(pytest_ltm.__file__).parent
MODULES = [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "benchmarks").glob("*.py")]
OTHERS = {
    *(
        path
        for room in ("datasets", "lab")
        for path in (PACKAGE / room / "locomo").rglob("*.py")
    ),
    PACKAGE / "modes" / "span_receiver.py",
}
"""LoCoMo's data has its own events, and so have Mem0's results."""
ROOM = {
    PACKAGE / "_core" / "journal" / name
    for name in ("codec.py", "events.py", "timings.py")
}


def looks_into_lines(tree: ast.AST) -> list[int]:
    """Return where a module reads or writes the key that every line has: "event"."""
    found = []
    for node in ast.walk(tree):
        keys: list[ast.expr | None] = []
        if isinstance(node, ast.Subscript):
            keys = [node.slice]
        elif isinstance(node, ast.Dict):
            keys = node.keys
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in {"get", "pop"}
        ):
            keys = list(node.args[:1])
        found += [
            key.lineno
            for key in keys
            if isinstance(key, ast.Constant) and key.value == "event"
        ]
    return found


def test_who_looks_into_a_line_is_found() -> None:
    tree = ast.parse(
        'a["event"]\na.get("event")\n{"event": 1}\nevent["x"]\na.get("x", "event")\n'
    )
    assert looks_into_lines(tree) == [1, 2, 3]


@pytest.mark.slow
def test_only_the_codec_looks_into_the_lines_of_a_journal() -> None:
    lines = [
        f"{path.relative_to(PACKAGE.parent)}:{line}"
        for path in sorted({*MODULES} - ROOM - OTHERS)
        for line in looks_into_lines(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert lines == [], "ask the codec of the journal for an event"


def test_the_room_is_where_lines_are_looked_into() -> None:
    assert all(path.is_file() for path in ROOM)
    assert any(
        looks_into_lines(ast.parse(path.read_text(encoding="utf-8"))) for path in ROOM
    )
