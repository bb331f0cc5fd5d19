"""Which language a message is in."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm.locales._language import CODES, ENGLISH, load_language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm.locales._language import Language

_WORD = re.compile(r"[^\W\d_]+")
_CJK = lazy_pattern(r"[\u3400-\u9fff]")
# Characters that are looked at.
_LOOKED_AT = 400
_SURE = 2


@cache
def _frequent_words() -> Mapping[str, frozenset[str]]:
    """Return for each language words that are frequent in it, and not in the others."""
    here = Path(__file__).parent
    return {code: frozenset((here / code / "marks.txt").read_text("utf-8").split()) for code in CODES}


def detect_language(message: str, before: Language = ENGLISH) -> Language:
    """Return the language of a message: that of most of its marks; in doubt the one that was heard `before`."""
    text = message[:_LOOKED_AT].lower()
    said, characters = set(_WORD.findall(text)), "" if text.isascii() else _CJK.findall(text)
    hits = {code: len(marks & said) for code, marks in _frequent_words().items()}
    if characters:
        hits["zh"] += len(characters)  # it is the only language here that is written so
    best = max(hits, key=lambda code: hits[code])
    most = hits.pop(best)
    others = max(hits.values(), default=0)
    return load_language(best) if most > others and (most >= _SURE or not others) else before
