"""Adapters for library memories are short, pinned, and earn their cards where the library is installed."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from _commands import ROOT, run

from benchmarks.library_stores import (
    FIGURES,
    RECIPES,
    STORES,
    is_installed,
    suite_row,
    table_row,
)
from pytest_ltm.lifecycle.cards.card import read_card

ADAPTERS = sorted(path.name for path in RECIPES.glob("*_store.py"))
PINS = dict(
    line.split("==") for line in (ROOT / ".ci" / "stores.txt").read_text().split()
)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def lines_of_code(text: str) -> int:
    """Return the number of lines that are neither blank nor part of an import or a docstring."""
    spared: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_docstring(node):
            first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
            spared.update(range(first, last + 1))
    rows = enumerate(text.splitlines(), 1)
    return sum(bool(row.strip()) and number not in spared for number, row in rows)


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_has_at_most_25_lines_of_code_and_is_listed(name: str) -> None:
    assert lines_of_code((RECIPES / name).read_text(encoding="utf-8")) <= 25
    assert f"`{name}`" in (RECIPES / "README.md").read_text(encoding="utf-8")


def test_every_store_of_the_table_is_pinned_and_names_its_package() -> None:
    for package, store in STORES.items():
        assert package in PINS
        module = store.partition(":")[0]
        text = (RECIPES / f"{module}.py").read_text(encoding="utf-8")
        assert f'"{package}"' in text


@pytest.mark.nightly("starts real libraries", every=1)
@pytest.mark.parametrize("package", STORES)
def test_a_library_keeps_finds_and_separates_what_it_is_told(
    package: str, tmp_path: Path
) -> None:
    store = STORES[package]
    if not is_installed(package):
        pytest.skip(f"{package} is not installed")
    folder = shutil.copytree(RECIPES, tmp_path / "recipe")
    run(f"ltm check-memory store:{store} -o card.json", folder)
    figures = read_card(folder / "card.json").rows[0].figures
    for name in ("kept", "updated", "found@10"):
        rate = figures[name]
        assert rate is not None
        assert rate[0] == rate[1] > 0, name
    for name in ("deleted_served", "crossed"):
        assert figures[name] is None or figures[name][0] == 0, name  # type: ignore[index]


EXTRACTED = "llama_index_facts"


def test_a_librarys_own_extraction_holds_by_the_recording_beside_its_card() -> None:
    done = run(f"ltm verify {EXTRACTED}.card.json", RECIPES)
    assert done.status == 0
    assert f"106 calls recomputed from {EXTRACTED}.jsonl" in "\n".join(done.lines)


def test_a_librarys_own_extraction_is_replayed_to_the_same_card(tmp_path: Path) -> None:
    pytest.importorskip(
        "llama_index.llms.openai_like", reason="its client is not installed"
    )
    folder = shutil.copytree(RECIPES, tmp_path / "recipe")
    store = f"store:{EXTRACTED}_store:LlamaIndexFacts"
    done = run(
        f"ltm check-memory {store} --replay {EXTRACTED}.jsonl --against {EXTRACTED}.card.json",
        folder,
    )
    assert done.status == 0


def test_a_row_of_the_table_has_what_the_commands_wrote(tmp_path: Path) -> None:
    (tmp_path / "notes.py").write_text(
        "class Notes:\n"
        "    def __init__(self):\n"
        "        self.kept = []\n"
        "    def add(self, text, *, role, at, session, user):\n"
        "        self.kept.append((user, text))\n"
        "    def search(self, query, *, k, user):\n"
        "        return [text for owner, text in self.kept if owner == user][-k:]\n"
    )
    run("ltm check-memory store:notes:Notes -o card.json", tmp_path)
    run(
        "pytest --ltm-suite=lifecycle --ltm-agent=store:notes:Notes --ltm-dir=life -k 'limit or deleted or sessions'",
        tmp_path,
    )
    cells = [cell.strip() for cell in table_row("notes", tmp_path).split("|")]
    assert cells[1] == "notes"
    assert cells[2 + FIGURES.index("deleted_served")] == "-"
    assert cells[-3:-1] == ["2, 0, 1", ""]
    assert suite_row("notes", tmp_path) == "| notes | none | - | - |"
