"""Reading a gold answer: its accepted forms, the amounts it holds, and what it asks of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pytest_ltm.datasets.rulings._quantities import MONTHS, UNITS, Quantity, quantities
from pytest_ltm.evaluators._words import ONES, TENS, content_of, content_stems, stem, words

_ALSO = re.compile(
    r"\.\s+(?:answers? ranging\b[^\n]*|[^\n]{0,200}\b(?:is|are) also acceptable\b[^\n]*)$", re.IGNORECASE
)
_ASIDE = re.compile(r"\s*\((?:or )?([^()]{1,60})\)\s*\.?$")
_ORDERED = re.compile(
    r"\b(?:first|then|followed by|lastly|finally)\b.*\b(?:then|followed by|lastly|finally|and)\b", re.IGNORECASE
)
_ORDER_ASKED = re.compile(r"\b(?:order of|(?:the|what|which|in|correct|chronological) order)\b")
_DIGITS = re.compile(r"[\d.,:]+[a-z%]*")
_MEASURES = frozenset(
    stem(word)
    for word in (
        *UNITS, *(f"{unit}s" for unit in UNITS), *ONES, *TENS, *MONTHS,
        "ago", "about", "around", "approximately", "over", "am", "pm", "total", "exactly", "half", "dozen",
        "st", "nd", "rd", "th", "once", "twice", "thrice", "way",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gold:
    """What is expected."""

    whole: str
    """The answer as the file has it."""
    texts: tuple[str, ...]
    """Accepted wordings, the main one first."""
    kind: Literal["yes or no", "amount", "order", "phrase"]
    amounts: tuple[tuple[Quantity, ...], ...] = ()
    """Accepted amounts: each alternative is all of its quantities."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of the main wording's words that carry meaning."""
        return content_stems(self.texts[0])


def read_gold(answer: str, question: str) -> Gold:
    """Return what a gold answer asks of an answer to the question."""
    main, also = answer.strip(), ""
    if found := _ALSO.search(main):
        main, also = main[: found.start()], found[0]
    texts: tuple[str, ...] = (main,)
    if found := _ASIDE.search(main):
        texts = (main[: found.start()], found[1])
    texts = tuple(text for text in texts if text.strip()) or (answer,)
    first = words(texts[0])[:1]
    if first in (["yes"], ["no"]):
        return Gold(answer.strip(), texts, "yes or no")
    amounts = tuple(tuple(found) for found in map(_plain_amounts, texts) if found)
    if amounts and not _other_words(texts[0], question):
        extra = tuple((one,) for one in _plain_amounts(also))
        return Gold(answer.strip(), texts, "amount", (*amounts, *extra))
    return Gold(answer.strip(), texts, "order" if _is_order(main, question) else "phrase", amounts)


def _plain_amounts(text: str) -> list[Quantity]:
    found = quantities(text)
    lengths = [one for one in found if one.unit == "minutes"]
    return lengths or found


def _other_words(text: str, question: str) -> frozenset[str]:
    """Return the stems of a gold answer that are neither amounts nor taken from the question."""
    named = [word for word in words(text) if not _DIGITS.fullmatch(word)]
    return frozenset(content_of(named) if named else ()) - content_stems(question) - _MEASURES


def _is_order(text: str, question: str) -> bool:
    return _ORDERED.search(text) is not None or _ORDER_ASKED.search(question.lower()) is not None
