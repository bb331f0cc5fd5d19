"""The matrix of suite lifecycle in `lifecycle-summary.json`, in the HTML report and in Markdown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from schemas import summary_schema

STORES = """
class Mixed:
    def __init__(self):
        self.kept = []

    def add(self, text, *, role, at, session, user):
        self.kept.append(text)

    def search(self, query, *, k, user):
        asked = set(query.lower().split())
        return sorted(self.kept, key=lambda text: -len(asked & set(text.lower().split())))[:k]
"""
SECTIONS = """
from pytest_ltm.api import Section


def pytest_ltm_report_sections():
    tables = [
        {"title": "Shelves", "columns": ["shelf", "books"], "rows": [["upper", "<b>7</b>"]]},
        {"title": "Torn", "columns": ["shelf"], "rows": [["upper", "too many"]]},
    ]
    return Section(title="Library", json={"tables": tables})
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """Return the folder of a run of the suite with all its reports."""
    pytester.makepyfile(mixed_stores=STORES)
    pytester.makeconftest(SECTIONS)
    result = pytester.runpytest(
        "--ltm-suite=lifecycle?facts=20",
        "--ltm-agent=mixed=store:mixed_stores:Mixed",
        "--ltm-report=life.html",
        "--ltm-summary=life.md",
        "-k",
        "apart or limit or derived",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["report: *life.html"])
    return pytester.path


def read_summary(folder: Path) -> dict[str, Any]:
    text = (folder / ".ltm" / "lifecycle-summary.json").read_text(encoding="utf-8")
    summary: dict[str, Any] = json.loads(text)
    return summary


def test_the_summary_keeps_its_schema_and_has_every_cell(folder: Path) -> None:
    summary = read_summary(folder)
    Draft202012Validator(summary_schema()).validate(summary)
    assert summary["plan"] == {
        "suite": "lifecycle",
        "facts": 20,
        "pace": "settle",
        "agents": {"mixed": "store:mixed_stores:Mixed"},
    }
    titles = [section["title"] for section in summary["sections"]]
    assert sorted(titles) == ["Library", "The life of a memory: mixed"]
    matrix = summary["sections"][titles.index("The life of a memory: mixed")]["json"]
    tests = {test["test"]: test["cells"] for test in matrix["tests"]}
    assert list(tests) == ["limit", "derived", "apart"]
    look, state, evidence = tests["apart"][1]
    assert (look, state) == ("another who told nothing", "fails")
    assert "had told" in evidence


def test_a_cell_that_is_none_breaks_the_schema(folder: Path) -> None:
    summary = read_summary(folder)
    validator = Draft202012Validator(summary_schema())
    for section in summary["sections"]:
        for test in section["json"].get("tests", []):
            test["cells"] = [["at once", "perhaps", ""]]
    assert not validator.is_valid(summary)


def test_page_and_markdown_have_the_matrix_the_evidence_and_sections_of_others(
    folder: Path,
) -> None:
    for name in ("life.html", "life.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "The life of a memory: mixed" in text
        assert "another who told nothing" in text
        assert "no delete()" in text
        assert "had told" in text
        assert "Shelves" in text
        assert "&lt;b&gt;7&lt;/b&gt;" in text
        assert "Torn" not in text
        assert "%" not in text.partition("<style>")[0]


def test_without_the_options_nothing_but_json_is_written(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(mixed_stores=STORES)
    pytester.runpytest(
        "--ltm-suite=lifecycle",
        "--ltm-agent=store:mixed_stores:Mixed",
        "-k",
        "limit",
    )
    names = sorted(path.name for path in (pytester.path / ".ltm").iterdir())
    assert names == [".gitignore", "lifecycle-summary.json", "lifecycle.json"]
    assert not list(pytester.path.glob("*.html"))
