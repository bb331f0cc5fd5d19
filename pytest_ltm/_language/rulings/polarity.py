"""What the rules say of an answer that should say yes or no."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.clauses import normalize_text
from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.rulings.gold import CANNOT_TELL, Ruling
from pytest_ltm._language.rulings.stance import SEVERAL

if TYPE_CHECKING:
    from pytest_ltm._language.rulings.gold import Gold


_YES = LEXICON.expression(r"{polarity yes}")
_NO = LEXICON.expression(r"{polarity no}")
# Says of somebody that it is not so, with nothing before it.
_DENIES = LEXICON.expression(r"^\W*(?!i\b|we\b|there\b)(?:\w+ ){1,3}?(?:{polarity denies}(?: not|nt)|never)\b")
_EITHER_WAY = LEXICON.pattern("polarity either way")
_MAYBE = re.compile(r"^\W*(?:possibly|perhaps|maybe|(?:\w+ ){1,2}(?:might|may|could)(?: be| have)?)\W*$")


def yes_or_no(text: str) -> str:
    """Return whether a text says `yes` or `no`, in whatever words; "" where it says neither, or both."""
    plain_text = normalize_text(text)
    if _EITHER_WAY.search(plain_text):
        return ""
    words = [word for word, pattern in (("yes", _YES), ("no", _NO)) if pattern.search(plain_text)]
    if not words:
        return "no" if _DENIES.match(plain_text) else ""
    return words[0] if len(words) == 1 else ""


def commits_to_neither(text: str) -> bool:
    """Return whether a text says that it may be yes or no: "perhaps", "he might be", "it depends"."""
    return bool(_EITHER_WAY.search(normalize_text(text)) or _MAYBE.search(normalize_text(text)))


def yes_or_no_ruling(gold: Gold, end: str, *, refused: bool) -> Ruling:
    """Return the ruling on an answer that should say yes or no."""
    said = yes_or_no(end)
    if refused:
        return Ruling("unscored", "says it, and doubts") if said else CANNOT_TELL
    if not said:
        return Ruling("no", SEVERAL) if commits_to_neither(end) else Ruling("unscored", "says neither yes nor no")
    return Ruling("yes" if said == yes_or_no(gold.texts[0]) else "no", f"says {said}")
