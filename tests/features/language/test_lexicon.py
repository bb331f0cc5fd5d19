"""The data files of words and patterns: section names are unique, and each section is used."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from pytest_ltm import language

ROOT = Path(language.__file__).parents[1]
FILES = sorted(ROOT.rglob("lexicon.txt"))
# Looked up by the kind of a standing order.
_BY_KIND = {f"instructions {kind}" for kind in ("mentions", "tag", "brackets", "stars")}


MODULES = [module.read_text("utf-8") for module in ROOT.rglob("*.py")]


def attribute_sections(code: str) -> set[str]:
    """Return the sections that a module reads as attributes: `RE.denied` of `LEXICON.expressions("clauses")`."""
    modules = re.findall(r'LEXICON\.expressions\(\s*"([a-z ]+)"', code)
    return {
        f"{name} {attribute.replace('_', ' ')}"
        for name in modules
        for attribute in re.findall(r"\bRE\.(\w+)", code)
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_section_has_a_name_of_its_own_and_is_read(path: Path) -> None:
    text = path.read_text("utf-8")
    names = re.findall(r"^\[([a-z][a-z ]*)\](?: .*)?$", text, re.MULTILINE)
    code = text + "".join(MODULES)
    read = set[str]().union(*map(attribute_sections, MODULES), _BY_KIND)
    unread = [
        name
        for name in names
        if name not in read and not re.search(rf'"{name}"|\{{{name}\}}', code)
    ]
    assert [name for name, count in Counter(names).items() if count > 1] == []
    assert unread == []


def test_every_section_that_a_module_reads_is_there_and_compiles() -> None:
    lexicon = "\n".join(path.read_text("utf-8") for path in FILES)
    names = set(re.findall(r"^\[([a-z][a-z ]*)\](?: .*)?$", lexicon, re.MULTILINE))
    assert set[str]().union(*map(attribute_sections, MODULES)) - names == set()
    for module in (
        path
        for path in ROOT.rglob("*.py")
        if "LEXICON.expressions(" in path.read_text("utf-8")
    ):
        imported = import_module(
            ".".join(["pytest_ltm", *module.relative_to(ROOT).with_suffix("").parts])
        )
        for attribute in re.findall(r"\bRE\.(\w+)", module.read_text("utf-8")):
            assert isinstance(getattr(imported.RE, attribute), re.Pattern)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_a_data_file_is_plain_text(path: Path) -> None:
    assert path.read_text("utf-8").replace("\n", "").isprintable()
