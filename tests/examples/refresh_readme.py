"""Write the README's table and failure anew after a change of the suite: `python tests/examples/refresh_readme.py`."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "samples"))  # as pytest does by pyproject.toml

from _commands import ROOT, Output, run
from _pages import blocks

README = ROOT / "README.md"
FAILURE = "test_colours[window_8k-32k-0-1]"
WIDE = 100
"""Columns: in 80 the two agents get a table each."""


def first_command() -> Output:
    """Run the part of the README's first command that is pytest's, in the project's folder, with all failures shown."""
    setup = next(block.text for block in blocks(README) if block.language == "sh")
    [arguments] = re.findall(r"pytest (--ltm.+)", setup)
    with tempfile.TemporaryDirectory() as folder:
        words = f"{arguments} --tb=short --ltm-dir='{folder}/ltm' -p no:cacheprovider"
        return run(f"pytest {words}", ROOT, columns=WIDE)


def printed_parts(output: Output) -> list[str]:
    """Return the table from the agents' names to the accuracy, and one failure, as they were printed."""
    lines = [line.rstrip() for line in output.printed]
    table = next(i for i, line in enumerate(lines) if line.startswith("memory span")) - 1
    failure = next(i for i, line in enumerate(lines) if FAILURE in line and line.startswith("_")) + 1
    return [_until(lines[table:], "accuracy", 1), _until(lines[failure:], "  again:", 0)]


def shown_parts() -> list[str]:
    """Return the same two parts as the README shows them."""
    return [block.text for block in blocks(README) if block.language == "text"]


def _until(lines: list[str], beginning: str, more: int) -> str:
    end = next(i for i, line in enumerate(lines) if line.startswith(beginning)) + more
    return "".join(f"{line}\n" for line in lines[:end])


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    for shown, printed in zip(shown_parts(), printed_parts(first_command()), strict=True):
        text = text.replace(shown, printed)
    README.write_text(text, encoding="utf-8")
