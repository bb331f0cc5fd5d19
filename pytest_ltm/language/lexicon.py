"""Word lists and patterns of a package, in its file `lexicon.txt`, read on first use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from pytest_ltm.api.storage import made_later


class Lexicon:
    r"""The sections of a package's `lexicon.txt`: words separated by spaces, regular expressions one per line, or rows.

    `{name}` in an expression stands for any expression of that section; an indented
    line continues the previous one. After a section's name, `\b` puts word boundaries
    around the whole, and i, m, s, x are its flags. `# ` begins a comment.
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
        """Return the rows of a section by the key before their colon: `dawn: first light, cockcrow`."""
        rows = (
            row.partition(": ")
            for row in self._sections()[section][2].splitlines()
            if row
        )
        return {key: tuple(values.split(", ")) for key, _, values in rows}

    @cache  # noqa: B019 - as above
    def keys_by_word(self, section: str) -> Mapping[str, str]:
        """Return the key of each word in the rows of a section."""
        rows = self.table(section).items()
        return {word: key for key, words in rows for word in words}

    def expression(self, section: str) -> re.Pattern[str]:
        """Return the pattern of a section, compiled when one of its methods is first used."""
        return made_later(lambda: self.compile_section(section, {}))

    def expressions(self, module: str, **parts: str) -> Expressions:
        """Return the patterns of the sections `[module ...]`; `parts`: named expressions that are computed in code."""
        return Expressions(
            self, module, {name.replace("_", " "): text for name, text in parts.items()}
        )

    def compile_section(
        self, section: str, parts: Mapping[str, str]
    ) -> re.Pattern[str]:
        """Compile the pattern of a section; `parts`: expressions for names without a section."""

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
    """The patterns of one module as attributes, each compiled on first use, as a run needs few."""

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
