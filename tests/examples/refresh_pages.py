"""Write what the pages show anew after a change of texts or scores: `python tests/examples/refresh_pages.py [PAGE …]`.

Without a page, README and all pages that show commands. What is written is to be read:
the sentences around it may name the figures that changed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from difflib import SequenceMatcher
from pathlib import Path

# as pytest does by pyproject.toml
sys.path.append(str(Path(__file__).parents[1] / "samples"))

from _commands import ROOT, Output, comparable, run
from _pages import blocks

README = ROOT / "README.md"
FAILURE = "test_colours[window_8k-32k-0-1]"
WIDE = 100
"""Columns: in 80 the two agents get a table each."""


def first_command() -> Output:
    """Run the part of the README's first command that is pytest's, in the project's folder, with all failures shown."""
    commands = [block.text for block in blocks(README) if block.language == "sh"]
    arguments = re.findall(r"pytest (--ltm.+)", "".join(commands))[0]
    with tempfile.TemporaryDirectory() as folder:
        words = f"{arguments} --tb=short --ltm-dir='{folder}/ltm' -p no:cacheprovider"
        return run(f"pytest {words}", ROOT, columns=WIDE)


def printed_parts(output: Output) -> list[str]:
    """Return what the README shows, as it was printed: the table to its accuracy, a sentence, and one failure."""
    lines = [line.rstrip() for line in output.printed]
    table = (
        next(i for i, line in enumerate(lines) if line.startswith("memory span")) - 1
    )
    failure = (
        next(
            i
            for i, line in enumerate(lines)
            if FAILURE in line and line.startswith("_")
        )
        + 1
    )
    sentence = next(i for i, line in enumerate(lines) if line.startswith("window_8k: "))
    return [
        _until(lines[table:], "accuracy", 1),
        _until(lines[sentence:], "=", 0),
        _until(lines[failure:], "  again:", 0),
    ]


def shown_parts() -> list[str]:
    """Return the same parts as the README shows them, after the command; before it are those of `ltm try`."""
    shown = blocks(README)
    command = next(
        i
        for i, block in enumerate(shown)
        if block.language == "sh" and "pytest --ltm" in block.text
    )
    return [block.text for block in shown[command:] if block.language == "text"]


def _until(lines: list[str], beginning: str, more: int) -> str:
    end = next(i for i, line in enumerate(lines) if line.startswith(beginning)) + more
    return "".join(f"{line}\n" for line in lines[:end])


def played_pages() -> list[Path]:
    """Return the pages with commands or files that a reader types in."""
    pages = [
        README,
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted(ROOT.glob("conftest_examples/**/*.md")),
    ]
    pages = [
        page
        for page in pages
        if any(block.file or block.language == "console" for block in blocks(page))
    ]
    return [page for page in pages if page.parent.parent.name != "conftest_examples"]


def refresh_page(page: Path) -> None:
    """Play a page's commands in an empty folder and write, for each shown line, the printed one most like it."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for block in blocks(page):
            if block.file:
                file = Path(folder, block.file)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(block.text, encoding="utf-8")
            if block.language == "console":
                anew = block.text
                for command, shown in block.commands():
                    for old, new in align_lines(
                        shown, run(command, Path(folder)).printed
                    ):
                        anew = anew.replace(f"{old}\n", f"{new}\n", 1)
                text = text.replace(block.text, anew, 1)
    page.write_text(text, encoding="utf-8")


def align_lines(shown: list[str], printed: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pair shown lines, if one of them is not printed, with the printed lines most like them, in order."""
    shown = [line for line in shown if comparable(line) not in {"...", "…"}]
    best: list[list[tuple[float, int | None]]] = [[(0.0, None)] * (len(printed) + 1)]
    for row, old in enumerate(shown):
        best.append([(0.0, None)])
        for column, new in enumerate(printed):
            paired = best[row][column][0] + _likeness(old, new)
            skipped = best[-1][column][0]
            best[-1].append(
                (paired, column)
                if paired > max(skipped, best[row][column + 1][0])
                else (skipped, None)
            )
    pairs, column = [], len(printed)
    for row in range(len(shown), 0, -1):
        while column and best[row][column][1] is None:
            column -= 1
        if column:
            pairs.append((shown[row - 1], printed[column - 1].rstrip()))
        column = max(column - 1, 0)
    if all(comparable(old) == comparable(new) for old, new in pairs):
        return []
    # Tables of other figures have other widths, so lines that say the same are taken as
    # well; run IDs stay.
    stays = [
        comparable(old) == comparable(new) and ("RUN-ID" in comparable(old))
        for old, new in pairs
    ]
    return [
        pair
        for pair, same in zip(reversed(pairs), reversed(stays), strict=True)
        if not same
    ]


def _likeness(shown: str, printed: str) -> float:
    """Return how alike two lines are: 2 the same, at most 1 nearly, negative if they are about different things."""
    if comparable(shown) == comparable(printed):
        return 2.0
    words = SequenceMatcher(
        None, comparable(shown).split(), comparable(printed).split()
    )
    return words.ratio() - 0.4 if words.quick_ratio() > 0.4 else -1.0


def refresh_readme() -> None:
    """Write the README's table and failure anew."""
    text = README.read_text(encoding="utf-8")
    for shown, printed in zip(
        shown_parts(), printed_parts(first_command()), strict=True
    ):
        text = text.replace(shown, printed)
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    chosen = [Path(word).resolve() for word in sys.argv[1:]] or played_pages()
    if README in chosen:
        refresh_readme()
    for page in chosen:
        refresh_page(page)
