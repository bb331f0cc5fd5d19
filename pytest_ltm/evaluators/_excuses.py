"""Replies that say they cannot know, and what such a reply then offers as an example: no recollection."""

from __future__ import annotations

from pytest_ltm.evaluators._words import phrases, words

_KNOWS_NOT = phrases(
    r"(?:dont|do not|didnt|cant|cannot|not able to|unable to|no way to) (?:\w+ ){0,3}"
    r"(?:have|access|know|recall|remember|see|retrieve|store|possess)",
    r"no (?:access|information|record|memory|knowledge)",
    r"would need (?:access|more information)",
)
_EXAMPLE = phrases(
    "example", "template", "hypothetical", "placeholder", "(?:might|would) look like", "sample", "assuming",
    r"suggest\w*", "popular", "common", "typical",
)  # fmt: skip


def declines(answer: str) -> bool:
    """Tell whether an answer says nothing, or that it cannot know."""
    text = " ".join(words(answer))
    return not text or _KNOWS_NOT.search(text) is not None


def only_offers_example(answer: str) -> bool:
    """Tell whether an answer says that it does not know, and then shows an example or a suggestion."""
    text = " ".join(words(answer))
    excuse = _KNOWS_NOT.search(text)
    return excuse is not None and _EXAMPLE.search(text, excuse.end()) is not None
