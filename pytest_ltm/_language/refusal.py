"""Whether an answer tells nothing: it was never told, does not know, has forgotten, or will not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.words import casefold_plain

if TYPE_CHECKING:
    import re

RE = LEXICON.expressions("refusal")


def _spoken_words(text: str) -> str:
    """Return the words of a text with one space between them, and a stop where a sentence ends."""
    parts = RE.token.findall(casefold_plain(text).replace("'", ""))
    return " ".join(part if part[0].isalnum() or part == "," else "." for part in parts).strip(" .,")


def find_refusal(text: str) -> re.Match[str] | None:
    """Return where the words of a text first say that the answer is not known or was never told; None if nowhere."""
    return RE.refuses.search(_spoken_words(text))


def refuses_answer(text: str) -> bool:
    """Return whether a text says that the answer is not known or was never told, whatever else it says."""
    return find_refusal(text) is not None


def knows_not(text: str) -> bool:
    """Return whether the speaker says of itself that it does not know: "I can't recall", not "she can't know"."""
    return RE.knows_not.search(_spoken_words(text)) is not None


def tells_nothing(answer: str) -> bool:
    """Return whether an answer says that it has nothing to tell, or will not tell it, and offers no guess."""
    text = _spoken_words(answer)
    return bool(RE.refuses.search(text) or RE.withholds.search(text)) and not offers_guess(answer)


def offers_guess(answer: str) -> bool:
    """Return whether an answer offers a guess."""
    return RE.guesses.search(_spoken_words(answer)) is not None


def only_offers_example(answer: str) -> bool:
    """Return whether an answer says that it does not know, and then shows an example or a suggestion."""
    excuse = find_refusal(answer)
    return excuse is not None and RE.example.search(excuse.string, excuse.end()) is not None
