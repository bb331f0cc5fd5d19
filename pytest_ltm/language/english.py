"""English detection by common words: a rule that knows English words cannot read another language."""

from __future__ import annotations

from pytest_ltm.api.model import STOP_WORDS, plain_words

_ENGLISH = frozenset(STOP_WORDS) | {
    "yes",
    "youve",
    "hes",
    "shes",
    "weve",
    "theyre",
    "whats",
    "youd",
    "theyve",
}
_FOREIGN = frozenset(("all", "was", "here", "most", "over"))
_SHORT_WORD = 2


def is_english(text: str) -> bool:
    """Return whether English rules can read a text: it has a common English word, or hardly any words."""
    words = [word for word in plain_words(text) if word.isalpha()]
    # names and numbers belong to no language
    return len(words) <= 3 or not _ENGLISH.isdisjoint(words)


def is_known_english(text: str) -> bool:
    """Return whether a text has a common English word."""
    return not _ENGLISH.isdisjoint(plain_words(text))


def is_surely_english(text: str) -> bool:
    """Return whether a text has a distinctly English word, or two common ones: "Non lo so" has one."""
    common = [word for word in plain_words(text) if word in _ENGLISH]
    return len(common) > 1 or any(
        len(word) > _SHORT_WORD and word not in _FOREIGN for word in common
    )
