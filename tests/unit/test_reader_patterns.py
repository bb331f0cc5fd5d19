"""The reader's patterns: all that its modules name are in the file, and all in the file are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_ltm.agents import reader
from pytest_ltm.agents.reader.notes import _PATTERNS, Patterns

FOLDER = Path(str(reader.__file__)).parent


@pytest.mark.parametrize("section", _PATTERNS)
def test_a_section_holds_what_its_module_names_and_nothing_else(section: str) -> None:
    code = (FOLDER / f"{section}.py").read_text(encoding="utf-8")
    named = set(re.findall(r"_RE\.(?!compile_group)(\w+)|_RE\[\"(\w+)\"\]", code))
    assert {one or other for one, other in named} == {name for name in _PATTERNS[section] if not name.isupper()}


def test_a_word_in_capitals_stands_for_a_part_and_any_other_for_itself() -> None:
    patterns = Patterns("codes", COLOUR=["red", "green"])
    assert patterns.compile_group("a COLOUR TV").pattern == "a red|green TV"


def test_the_lines_of_a_pattern_are_joined() -> None:
    assert Patterns("codes").compile_group("one|\ntwo", "(?i)").fullmatch("TWO")
