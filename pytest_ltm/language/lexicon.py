"""Word lists and patterns of a room, in its file `lexicon.txt`, read when they are first needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pytest_ltm.api.storage import made_later


class Lexicon:
    r"""The sections of a room's `lexicon.txt`: words between blanks, regular expressions, one a line, or rows.

    `{name}` in an expression stands for any of those of another section; an indented
    line continues the one above. What stands behind a section's name: `\b`, all of it
    is at the bounds of words; i, m, s, x, its flags. `# `: a comment.
    """

    def __init__(self, package: str) -> None:
        self._package = package

    @cache  # noqa: B019 - one for each room
    def _sections(self) -> dict[str, tuple[str, str, str]]:
        text = _COMMENT.sub(
            "", files(self._package).joinpath("lexicon.txt").read_text("utf-8")
        )
        parts = iter(_HEADER.split(text)[1:])
        return {
            name: (bounds or "", flags or "", body)
            for name, bounds, flags, body in zip(*[parts] * 4, strict=True)
        }

    @cache  # noqa: B019 - as above
    def words(self, section: str) -> frozenset[str]:
        """Return the words of a section."""
        return frozenset(self._sections()[section][2].split())

    @cache  # noqa: B019 - as above
    def table(self, section: str) -> Mapping[str, tuple[str, ...]]:
        """Return the rows of a section by what stands before their colon: `dawn: first light, cockcrow`."""
        rows = (
            row.partition(": ")
            for row in self._sections()[section][2].splitlines()
            if row
        )
        return {key: tuple(values.split(", ")) for key, _, values in rows}

    @cache  # noqa: B019 - as above
    def keys_by_word(self, section: str) -> Mapping[str, str]:
        """Return for each word in the rows of a section what stands before its row's colon."""
        rows = self.table(section).items()
        return {word: key for key, words in rows for word in words}

    def expression(self, section: str) -> re.Pattern[str]:
        """Return the pattern of a section for modules to import, compiled once one of its methods is asked for."""
        return made_later(lambda: self.compile_section(section, {}))

    def expressions(self, module: str, **parts: str) -> Expressions:
        """Return the patterns of the sections `[module ...]`; `parts`: expressions by name that only code can give."""
        return Expressions(
            self, module, {name.replace("_", " "): text for name, text in parts.items()}
        )

    def compile_section(
        self, section: str, parts: Mapping[str, str]
    ) -> re.Pattern[str]:
        """Return the pattern of a section; `parts`: expressions for names without a section."""

        def fill(name: str) -> str:
            text = "|".join(
                filter(None, self._sections()[name][2].replace("\n  ", "").split("\n"))
            )
            return _NAMED.sub(
                lambda match: f"(?:{parts.get(match[1]) or fill(match[1])})", text
            )

        bounds, flags, _ = self._sections()[section]
        text = f"{bounds}(?:{fill(section)}){bounds}" if bounds else fill(section)
        return re.compile(f"(?{flags}){text}" if flags else text)


class Expressions:
    """The patterns of one module as attributes; each is compiled when it is first used, for a run needs few."""

    def __init__(self, lexicon: Lexicon, module: str, parts: Mapping[str, str]) -> None:
        self._lexicon = lexicon
        self._module = module
        self._parts = parts

    def __getattr__(self, name: str) -> re.Pattern[str]:
        section = f"{self._module} {name.replace('_', ' ')}"
        pattern = self.__dict__[name] = self._lexicon.compile_section(
            section, self._parts
        )
        return pattern


_COMMENT = re.compile(r"^# .*\n", re.MULTILINE)
_HEADER = re.compile(r"^\[([a-z][a-z ]*)\](?: (\\b))?(?: ([imsx]+))?\n", re.MULTILINE)
_NAMED = re.compile(r"\{([a-z][a-z ]*)\}")
LEXICON = Lexicon(__package__)
