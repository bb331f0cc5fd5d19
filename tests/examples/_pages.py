"""Fenced blocks of Markdown pages: commands with their outputs, and files with their contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """One fenced block. A word after the language names the file that the block shows."""

    language: str
    file: str
    text: str

    def commands(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each `$ command` of a console block with the lines that are shown below it."""
        for part in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command, [line for line in shown if line.strip()]


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found = []
    for match in _FENCE.finditer(page.read_text(encoding="utf-8")):
        language, _, file = match["info"].strip().partition(" ")
        found.append(Block(language, file, match["text"]))
    return found
