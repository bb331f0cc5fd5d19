"""Pages have all that there is, and nothing that is not: links, options, capabilities, keywords, commands, modules."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from all_options import all_options

from pytest_ltm._core.session import items as _items
from pytest_ltm.agents import CAPABILITIES
from pytest_ltm.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [
    *(
        ROOT / f"{name}.md"
        for name in ("README", "CHANGELOG", "CONTRIBUTING", "AGENTS")
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(ROOT.glob("conftest_examples/**/*.md")),
]


def test_links_lead_somewhere() -> None:
    lost = []
    for page in PAGES:
        text = re.sub(
            r"^```.*?^```$",
            "",
            page.read_text(encoding="utf-8"),
            flags=re.MULTILINE | re.DOTALL,
        )
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            found = page.parent / path if path else page
            if not found.exists() or (anchor and anchor not in anchors(found)):
                lost.append(f"{page.relative_to(ROOT)} links to {target}")
    assert lost == [], "links that lead nowhere"


@cache
def anchors(page: Path) -> set[str]:
    headings = re.findall(
        r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return {
        re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
        for heading in headings
    }


def test_the_page_of_options_has_every_option_with_its_default() -> None:
    rows = table_rows(ROOT / "docs" / "options.md")
    options = all_options()
    for option in options:
        if not option.has_twin:
            continue
        [row] = [row for row in rows if row[0].startswith(f"`{option.flag}=")]
        assert row[1] == (f"`{option.default}`" if option.default else "-"), option.flag
    documented = {
        flag for row in rows for flag in re.findall(r"^`(--ltm[\w-]*)", row[0])
    }
    assert documented == {option.flag for option in options}
    plain = {option.flag for option in options if not option.has_twin}
    assert options_without_twin() == plain - {"--ltm-agent-process"}


def options_without_twin() -> set[str]:
    """Return the options that have no ini value according to the page."""
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    [sentence] = re.findall(
        r"^Every option except (.+?) can be", text, re.MULTILINE | re.DOTALL
    )
    return set(re.findall(r"--ltm[\w-]*", sentence))


def test_the_page_of_agents_has_every_capability() -> None:
    rows = table_rows(ROOT / "docs" / "agents.md")
    assert set(CAPABILITIES) <= {row[0].strip("`") for row in rows}


def test_the_page_of_scenarios_has_every_keyword_of_the_marker() -> None:
    rows = table_rows(ROOT / "docs" / "writing-scenarios.md")
    assert set(_items.KEYWORDS) <= {row[0].strip("`") for row in rows}


def test_the_commands_are_documented() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert all(f"`{name}" in text for name in COMMANDS)


def table_rows(page: Path) -> list[list[str]]:
    lines = page.read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line.startswith("|")
    ]


def test_the_page_of_architecture_is_short_and_names_only_modules_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len([line for line in text.splitlines() if not line.startswith("|")]) <= 70
    named = set(re.findall(r"`((?:[a-z]+/)*_?[a-z_]+\.py|(?:[a-z]+/)+)`", text))
    assert named
    for name in named:
        homes = [ROOT / "pytest_ltm" / name, ROOT / name]
        assert any(home.exists() for home in homes), name


def test_the_page_of_architecture_tells_about_every_module() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    modules = {path.name for path in (ROOT / "pytest_ltm").glob("*.py")} - {
        "__init__.py",
        "__main__.py",
    }
    folders = {
        f"{path.name}/"
        for path in (ROOT / "pytest_ltm").iterdir()
        if (path / "__init__.py").exists()
    }
    missing = [name for name in sorted(modules | folders) if f"`{name}`" not in text]
    assert missing == [], "give each a row in docs/architecture.md"


MOST_WORDS, MOST_WORDS_OF_A_PAGE = 60_000, 2_500
"""Limits on what a newcomer has to look through."""


def test_the_pages_are_no_more_than_somebody_reads() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
    counts = {page: len(page.read_text(encoding="utf-8").split()) for page in pages}
    words = sum(counts.values())
    assert words <= MOST_WORDS, "take as many words away elsewhere"
    long = [name for name in counts if counts[name] > MOST_WORDS_OF_A_PAGE]
    assert long == [], "pages that are too long to be read"
