from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import refresh_readme
from _commands import ROOT, comparable, run
from _pages import blocks

from pytest_ltm._cli import COMMANDS
from pytest_ltm._model import suite as _suite
from pytest_ltm.agents import CAPABILITIES
from pytest_ltm.plugin import items as _items
from pytest_ltm.plugin import options as _options

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("conftest_examples/**/*.md"))]
PLAYED = [page for page in PAGES if any(block.file or block.language == "console" for block in blocks(page))]
PLAYED = [page for page in PLAYED if page.parent.parent.name != "conftest_examples"]


READ_FIRST = {"README", "tutorial", "writing-scenarios"}
PLAYED_AT_NIGHT = pytest.mark.nightly("commands as a reader types them: each page has its turn within days", every=4)
NEEDED = {"docs/plots.md": "matplotlib"}
"""What a page's commands take that only an extra brings."""


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page_id(page), marks=[PLAYED_AT_NIGHT] * (page.stem not in READ_FIRST)) for page in PLAYED],
)
def test_a_reader_who_types_along_sees_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    if needed := NEEDED.get(page_id(page)):
        pytest.importorskip(needed, reason=f"its commands need {needed}")
    for block in blocks(page):
        if block.file:
            file = tmp_path / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        if block.language == "console":
            for command, shown in block.commands():
                output = run(command, tmp_path)
                assert missing(shown, output.lines) is None, f"$ {command}\n" + "\n".join(output.lines)
                told = {75} if "exit status 75" in "".join(shown) else {4} if "ERROR:" in "".join(shown) else {0, 1}
                assert output.status in told, f"$ {command}\n" + "\n".join(output.lines)


def missing(shown: list[str], lines: tuple[str, ...]) -> str | None:
    """Return the first line of a page that the output does not have, in order; `...` stands for any lines."""
    rest = iter(lines)
    for line in map(comparable, shown):
        if line not in {"...", "…"} and line not in rest:
            return line
    return None


def test_the_first_command_of_the_readme_prints_what_the_readme_shows() -> None:
    printed = refresh_readme.printed_parts(refresh_readme.first_command())
    assert printed == refresh_readme.shown_parts(), "run python tests/examples/refresh_readme.py"


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        found = page.parent / path if path else page
        assert found.exists(), f"{page_id(page)} links to {target}"
        if anchor:
            assert anchor in anchors(found), f"{page_id(page)} links to {target}"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_the_page_of_options_has_every_option_with_its_default(pytestconfig: pytest.Config) -> None:
    rows = table_rows(ROOT / "docs" / "options.md")
    options = _options.table(pytestconfig).rows.values()
    for option in options:
        [row] = [row for row in rows if row[0].startswith(f"`{option.flag}=")]
        assert row[1] == (f"`{option.default}`" if option.default else "-"), option.flag
        assert f"`{option.dest}`" in row[2]
    documented = {flag for row in rows for flag in re.findall(r"^`(--ltm[\w-]*)", row[0])}
    assert documented == {option.flag for option in options} | {
        "--ltm-agent",
        "--ltm-agent-process",
        "--ltm",
        "--ltm-dry-run",
        "--ltm-isolated",
        "--ltm-live",
        "--ltm-no-probe",
        "--ltm-rescore",
        "--ltm-resume",
        "--ltm-save",
    }


def test_every_built_in_scenario_has_a_row_or_a_page() -> None:
    folder = ROOT / "docs" / "scenarios"
    text = (folder / "index.md").read_text(encoding="utf-8")
    lost = [
        name for name in _suite.scenario_names() if f"`{name}`" not in text and not (folder / f"{name}.md").exists()
    ]
    assert lost == [], "give each a row in docs/scenarios/index.md"


def test_the_page_of_agents_has_every_capability() -> None:
    rows = table_rows(ROOT / "docs" / "agents.md")
    assert set(CAPABILITIES) <= {row[0].strip("`") for row in rows}


def test_the_page_of_scenarios_has_every_keyword_of_the_marker() -> None:
    rows = table_rows(ROOT / "docs" / "writing-scenarios.md")
    assert set(_items.KEYWORDS) <= {row[0].strip("`") for row in rows}


def test_the_commands_are_documented() -> None:
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert all(f"`{name}" in text for name in COMMANDS)


def table_rows(page: Path) -> list[list[str]]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]


def test_the_page_of_architecture_is_short_and_names_only_modules_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    named = set(re.findall(r"`((?:[a-z]+/)*_?[a-z_]+\.py|(?:[a-z]+/)+)`", text))
    assert named
    for name in named:
        homes = [ROOT / "pytest_ltm" / name, ROOT / name]
        assert any(home.exists() for home in homes), name


def test_the_page_of_architecture_tells_about_every_module() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = {path.name for path in (ROOT / "pytest_ltm").glob("*.py")} - {"__init__.py", "__main__.py"}
    folders = {f"{path.name}/" for path in (ROOT / "pytest_ltm").iterdir() if (path / "__init__.py").exists()}
    assert [name for name in sorted(modules | folders) if f"`{name}`" not in text] == []
