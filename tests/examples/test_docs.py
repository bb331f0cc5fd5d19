from __future__ import annotations

from pathlib import Path

import pytest
import refresh_pages
from _commands import ROOT, comparable, run
from _pages import blocks

PLAYED_AT_NIGHT = pytest.mark.nightly(
    "commands as a reader types them: each page has its turn within days", every=4
)
NEEDED = {"docs/plots.md": "matplotlib"}
"""Packages from extras that a page's commands need."""


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@PLAYED_AT_NIGHT
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page_id(page)) for page in refresh_pages.played_pages()],
)
def test_a_reader_who_types_along_sees_what_the_page_shows(
    page: Path, tmp_path: Path
) -> None:
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
                assert missing(shown, output.lines) is None, (
                    f"$ {command}\n" + "\n".join(output.lines)
                )
                told = (
                    {75}
                    if "exit status 75" in "".join(shown)
                    else {4}
                    if "ERROR:" in "".join(shown)
                    else {0, 1}
                )
                assert output.status in told, f"$ {command}\n" + "\n".join(output.lines)


def missing(shown: list[str], lines: tuple[str, ...]) -> str | None:
    """Return the first line of a page that the output lacks, in order; `...` stands for any lines."""
    rest = iter(lines)
    for line in map(comparable, shown):
        if line not in {"...", "…"} and line not in rest:
            return line
    return None


@PLAYED_AT_NIGHT
def test_the_first_command_of_the_readme_prints_what_the_readme_shows() -> None:
    printed = refresh_pages.printed_parts(refresh_pages.first_command())
    assert printed == refresh_pages.shown_parts(), (
        "run python tests/examples/refresh_pages.py README.md"
    )
