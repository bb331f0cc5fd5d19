"""Whether what a server refuses may pass: by what its words demand, then by its status."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Literal, TypeAlias

from pytest_ltm._core.model.account import has_word, split_words, stems_of
from pytest_ltm._core.storage.patterns import made_later

Chance: TypeAlias = Literal["passing", "final", "unknown"]

# Statuses of the classes 4xx and 5xx that do not mean what their class does.
_PASSING_4XX = frozenset({408, 409, 424, 425, 429, 499})
_FINAL_5XX = frozenset({501, 505, 511})
# With these the message was not taken; who says so asks to be left alone for a while.
UNTAKEN = frozenset({425, 429, 503, 529})
# What a server calls any error says nothing of this one, while other words do.
_SAYS_NOTHING = made_later(
    lambda: re.compile(
        rf" (?:(?P<blames>invalid request)|unknown|unexpected)(?: \w+)? (?:{stems_of('error')}|problem)"
    )
)
_ONLY_NAMES = made_later(
    lambda: re.compile(rf"(?:(?: \w+)? (?:\d+|{stems_of('error')}\w*))*")
)
# A server that is not ready, or that cannot be reached, may be so later.
_STATE_DENIED = made_later(
    lambda: re.compile(rf" {stems_of('denial')}(?: \w+)? {stems_of('state')}")
)
_STATUSES = {
    split_words(status.phrase): status.value for status in HTTPStatus if status >= 400
}
# A short one may be said of anything: a connection is gone.
_LONGEST_WORD = 9
_PHRASE = re.compile(
    "|".join(phrase for phrase in _STATUSES if len(phrase) > _LONGEST_WORD)
)


def sort_refusal(status: int, text: str) -> Chance:
    """Return whether the same may be taken later, as far as the words of a refusal, or else its status, say it.

    `status`: 200 where no number is known.
    """
    all_words = split_words(text)
    is_blamed = status not in _PASSING_4XX and any(
        match["blames"] for match in _SAYS_NOTHING.finditer(all_words)
    )
    words = _SAYS_NOTHING.sub("", all_words)
    named = _PHRASE.search(words)
    if named and not 400 <= status < 500:
        status = _STATUSES[named[0]]
    stated = _PHRASE.sub("", words)
    words = _STATE_DENIED.sub("", stated)
    is_busy = has_word("busy", words) or words != stated
    if has_word("again", words):
        return "passing" if is_busy or not _is_refused(status) else "final"
    if has_word("paid", words):
        return "final"
    if has_word("final", words):
        return "passing" if status in _PASSING_4XX else "final"
    if is_busy:
        return "passing"
    if _is_refused(status) or has_word("key", words) or is_blamed:
        return "final"
    # what 500 stands for is as general as no status
    is_told = status > 500 or status in _PASSING_4XX
    is_mute = status == 500 and _ONLY_NAMES.fullmatch(words)
    return "passing" if is_told or is_mute else "unknown"


def _is_refused(status: int) -> bool:
    is_refused = 400 <= status < 500 and status not in _PASSING_4XX
    return is_refused or status in _FINAL_5XX
