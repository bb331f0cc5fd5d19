"""The reader's patterns: those named in its modules and those in the file are the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_ltm.agents import reader
from pytest_ltm.agents.reader.notes import Patterns
from pytest_ltm.api.storage import load_packaged_yaml

FOLDER = Path(str(reader.__file__)).parent
SECTIONS = load_packaged_yaml(str(reader.__file__), "patterns.yml")


MODULES = [path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")]


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_holds_what_its_module_names_and_nothing_else(section: str) -> None:
    made = re.compile(rf'(\w+) = Patterns\(\s*"{section}"')
    ((code, name),) = [
        (code, match[1]) for code in MODULES if (match := made.search(code))
    ]
    named = re.findall(rf"\b{name}\.(?!compile_group)(\w+)|\b{name}\[\"(\w+)\"\]", code)
    assert {one or other for one, other in named} == {
        key for key in SECTIONS[section] if not key.isupper()
    }


def test_a_word_in_capitals_stands_for_a_part_and_any_other_for_itself() -> None:
    patterns = Patterns("codes", COLOUR=["red", "green"])
    assert patterns.compile_group("a COLOUR TV").pattern == "a red|green TV"


def test_the_lines_of_a_pattern_are_joined() -> None:
    assert Patterns("codes").compile_group("one|\ntwo", "(?i)").fullmatch("TWO")
