"""Whether what a server refuses may pass: by its status, and by the words that it says."""

from __future__ import annotations

import re
import unicodedata
from http import HTTPStatus

from pytest_ltm._core.model.account import has_word, split_words, stems_of

# Statuses of the classes 4xx and 5xx that do not mean what their class does.
_PASSING_4XX = frozenset({408, 409, 425, 429, 499})
_FINAL_5XX = frozenset({501, 505, 511})
# With these the message was not taken; who says so asks to be left alone for a while.
UNTAKEN = frozenset({425, 429, 503, 529})
# What a server calls any error says nothing of this one, nor does the name of its status.
_SAYS_NOTHING = re.compile(
    rf" (?:invalid request|unknown|unexpected)(?: \w+)? (?:{stems_of('error')}|problem)| unexpectedly"
)
# A server that is not ready, or that cannot be reached, may be so later.
_STATE_DENIED = re.compile(rf" (?:not|cannot|t)(?: \w+)? {stems_of('state')}")
_PHRASES = {status.value: split_words(status.phrase) for status in HTTPStatus}


def may_pass(status: int, text: str) -> bool:
    """Return whether an error may pass: unless its words, or else its status, say that it will be said again.

    `status`: 200 where no number is known.
    """
    words = _SAYS_NOTHING.sub("", split_words(text))
    if status in _PHRASES:
        words = words.replace(_PHRASES[status], "")
    words = _STATE_DENIED.sub("", words)
    if has_word("again", words):
        return has_word("busy", words) or _class_passes(status)
    if has_word("paid", words):
        return False
    if has_word("final", words):
        return status in _PASSING_4XX
    # with a status that tells nothing, neither does a single word
    is_mute = status < 300 and _is_single_word(words)
    return has_word("busy", words) or (_class_passes(status) and not is_mute)


def _is_single_word(words: str) -> bool:
    """Return whether a text is one word; wide letters are of scripts that write words without a space."""
    has_wide_letters = any(unicodedata.east_asian_width(sign) == "W" for sign in words)
    return len(words.split()) <= 1 and not has_wide_letters


def _class_passes(status: int) -> bool:
    is_refused = 400 <= status < 500 and status not in _PASSING_4XX
    return not is_refused and status not in _FINAL_5XX
