"""Word lists and patterns of a room, in its file `lexicon.txt`, read when they are first needed."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from pytest_ltm._language.patterns import made_later


class Lexicon:
    """The sections of a room's `lexicon.txt`: words between blanks, or regular expressions, one a line.

    `{name}` in an expression stands for any of those of another section.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    @cache  # noqa: B019 - one for each room
    def _sections(self) -> dict[str, str]:
        text = files(self._package).joinpath("lexicon.txt").read_text("utf-8")
        return {name: body for name, _, body in (part.partition("]\n") for part in text.split("\n[")[1:])}

    @cache  # noqa: B019 - as above
    def words(self, section: str) -> frozenset[str]:
        """Return the words of a section."""
        return frozenset(self._sections()[section].split())

    def alternatives(self, section: str) -> str:
        """Return the expressions of a section as alternatives in one group."""
        body = "|".join(filter(None, self._sections()[section].split("\n")))
        return f"(?:{_NAMED.sub(lambda match: self.alternatives(match[1]), body)})"

    def pattern(self, section: str, flags: int = 0) -> re.Pattern[str]:
        """Return a pattern for any expression of a section, at the bounds of words."""
        return made_later(lambda: re.compile(rf"\b{self.alternatives(section)}\b", flags))


_NAMED = re.compile(r"\{([a-z][a-z ]*)\}")
LEXICON = Lexicon(__package__)
