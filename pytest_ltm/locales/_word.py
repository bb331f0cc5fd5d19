"""Word: a word with its forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Word(str):  # noqa: SLOT000 - it has a dictionary for its forms
    """A word as a text says it, with its forms as attributes, for templates: `{item}` and `{item.many}`."""

    forms: Mapping[str, str]

    def __getattr__(self, name: str) -> str:
        try:
            return self.forms[name]
        except KeyError:
            raise AttributeError(f"{str(self)!r} has no form {name!r}; it has {', '.join(self.forms)}") from None


def make_word(forms: Mapping[str, str]) -> Word:
    """Return a word whose text is the form `said`."""
    made = Word(forms["said"])
    made.forms = forms
    return made
