"""Lines that rewrite themselves, on an emulated terminal with just the features they use."""

from __future__ import annotations

import re
from typing import Any

from pytest_ltm.reports.progress import Board


class Screen:
    """A terminal: the rows on the screen after all output."""

    def __init__(self) -> None:
        self.rows, self.row, self.column = [""], 0, 0

    def write(self, text: str) -> int:
        for part in re.findall(r"\x1b\[\d*[A-Z]|[\n\r]|[^\n\r\x1b]+", text):
            self._act(part)
        return len(text)

    def _act(self, part: str) -> None:
        number = int(re.sub(r"\D", "", part) or 1)
        if part == "\n":
            self.row, self.column = self.row + 1, 0
            self.rows += [""] * (self.row - len(self.rows) + 1)
        elif part == "\r":
            self.column = 0
        elif part.endswith("A") and part[0] == "\x1b":
            self.row -= number
        elif part.endswith("C") and part[0] == "\x1b":
            self.column += number
        elif part == "\x1b[J":
            self.rows[self.row :] = [self.rows[self.row][: self.column]]
        else:
            line = self.rows[self.row].ljust(self.column)
            self.rows[self.row] = (
                line[: self.column] + part + line[self.column + len(part) :]
            )
            self.column += len(part)

    def flush(self) -> None:
        pass

    @property
    def shown(self) -> list[str]:
        return [row.rstrip() for row in self.rows]


class Writer:
    """The part of pytest's terminal writer that a board uses."""

    def __init__(self) -> None:
        self.screen = Screen()
        self._file: Any = self.screen
        self.fullwidth = 40
        self.width_of_current_line = 0

    def write(self, text: str) -> None:
        self.width_of_current_line = len(
            (" " * self.width_of_current_line + text).rpartition("\n")[2]
        )
        self._file.write(text)


def test_lines_stand_below_what_pytest_has_written_and_pytest_goes_on_where_it_was() -> (
    None
):
    writer = Writer()
    board = Board(writer)
    writer.write("tests ..")

    board.draw(["a: 1 of 3", "b: 2 of 3"])
    assert writer.screen.shown == ["tests ..", "a: 1 of 3", "b: 2 of 3"]
    writer.write("F")

    assert writer.screen.shown == ["tests ..F"]


def test_fewer_lines_leave_nothing_of_those_before() -> None:
    writer = Writer()
    board = Board(writer)

    board.draw(["a: 1 of 3", "b: 2 of 3"])
    board.draw(["b: 3"])

    assert writer.screen.shown == ["", "b: 3"]


def test_nothing_is_left_at_the_end() -> None:
    writer = Writer()
    board = Board(writer)
    writer.write("...\n")

    board.draw(["a: 1 of 3"])
    board.draw([])
    writer.write("3 passed\n")
    board.clear()

    assert writer.screen.shown == ["...", "3 passed", ""]


def test_whole_lines_of_pytest_take_the_place_of_the_board() -> None:
    writer = Writer()
    board = Board(writer)

    for number in range(3):
        board.draw([f"a: {number} of 3", "b: 0 of 3"])
        writer.write(f"test {number} PASSED\n")
    board.draw(["a: 3 of 3"])

    assert writer.screen.shown == [
        "test 0 PASSED",
        "test 1 PASSED",
        "test 2 PASSED",
        "",
        "a: 3 of 3",
    ]
