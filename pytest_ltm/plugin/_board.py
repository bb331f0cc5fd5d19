"""Board: lines below whatever pytest writes, which rewrite themselves; on a terminal only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

ERASE = "\x1b[J"
"""From the cursor to the end of the screen."""


class Board:
    """A block of lines below the cursor.

    pytest's writer stays where pytest believes it to be, also in the middle of a line of dots: the block is drawn
    below and the cursor put back, and the first thing that anybody writes takes the block away.
    """

    def __init__(self, writer: Any) -> None:
        self._writer, self._file = writer, writer._file
        self._shown = False
        writer._file = _Watched(writer._file, self.clear)

    @property
    def width(self) -> int:
        """Columns that a line may have."""
        return int(self._writer.fullwidth) - 1

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, each at most `width` columns, in place of those shown."""
        if not lines:
            self.clear()
            return
        column = min(self._writer.width_of_current_line, self.width)
        erase = ERASE if self._shown else ""
        block = "".join(f"\n{line}" for line in lines)
        self._file.write(f"{erase}{block}\x1b[{len(lines)}A\r" + (f"\x1b[{column}C" if column else ""))
        self._file.flush()
        self._shown = True

    def clear(self) -> None:
        """Take the lines away."""
        if self._shown:
            self._shown = False
            self._file.write(ERASE)
            self._file.flush()


class _Watched:
    """A file that says when something is about to be written to it."""

    def __init__(self, file: Any, before: Any) -> None:
        self._file, self._before = file, before

    def write(self, text: str) -> Any:
        self._before()
        return self._file.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)
