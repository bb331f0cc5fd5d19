"""The data files of words and patterns: each section has a name of its own, and somebody reads it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import pytest_ltm

ROOT = Path(pytest_ltm.__file__).parent
FILES = sorted(ROOT.rglob("lexicon.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_section_has_a_name_of_its_own_and_is_read(path: Path) -> None:
    text = path.read_text("utf-8")
    names = re.findall(r"^\[([a-z][a-z ]*)\]$", text, re.MULTILINE)
    code = text + "".join(module.read_text("utf-8") for module in ROOT.rglob("*.py"))
    unread = [name for name in names if not re.search(rf'"{name}"|\{{{name}\}}', code)]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert unread == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_data_file_is_plain_text(path: Path) -> None:
    assert path.read_text("utf-8").replace("\n", "").isprintable()
