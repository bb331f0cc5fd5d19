"""Word lists and patterns of a room, in its file `lexicon.txt`, read when they are first needed."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from pytest_ltm._language.patterns import made_later


class Lexicon:
    """The sections of a room's `lexicon.txt`: words between blanks, regular expressions, one a line, or rows.

    `{name}` in an expression stands for any of those of another section; an indented line continues the one above.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    @cache  # noqa: B019 - one for each room
    def _sections(self) -> dict[str, str]:
        text = files(self._package).joinpath("lexicon.txt").read_text("utf-8")
        names_and_bodies = iter(_HEADER.split(text)[1:])
        return dict(zip(names_and_bodies, names_and_bodies, strict=True))

    @cache  # noqa: B019 - as above
    def words(self, section: str) -> frozenset[str]:
        """Return the words of a section."""
        return frozenset(self._sections()[section].split())

    def table(self, section: str) -> dict[str, tuple[str, ...]]:
        """Return the rows of a section by what stands before their colon: `dawn: first light, cockcrow`."""
        rows = (row.partition(": ") for row in self._sections()[section].splitlines() if row)
        return {key: tuple(values.split(", ")) for key, _, values in rows}

    def expression(self, template: str, flags: int = 0) -> re.Pattern[str]:
        """Return a pattern in which `{name}` stands for any expression of that section."""
        return made_later(lambda: re.compile(self._filled(template), flags))

    def pattern(self, section: str, flags: int = 0) -> re.Pattern[str]:
        """Return a pattern for any expression of a section, at the bounds of words."""
        return self.expression(rf"\b{{{section}}}\b", flags)

    def _filled(self, template: str) -> str:
        return _NAMED.sub(lambda match: f"(?:{self._filled(self._joined(match[1]))})", template)

    def _joined(self, section: str) -> str:
        return "|".join(filter(None, self._sections()[section].replace("\n  ", "").split("\n")))


_HEADER = re.compile(r"^\[([a-z][a-z ]*)\]\n", re.MULTILINE)
_NAMED = re.compile(r"\{([a-z][a-z ]*)\}")
LEXICON = Lexicon(__package__)
