"""Whether a server's refusal may be temporary: by the wording, then by the status."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Literal, TypeAlias

from pytest_ltm._core.model.account import has_word, split_words, stems_of
from pytest_ltm._core.storage.patterns import made_later

Chance: TypeAlias = Literal["passing", "final", "unknown"]

# Statuses in 4xx and 5xx whose meaning differs from their class.
_PASSING_4XX = frozenset({408, 409, 424, 425, 429, 499})
_FINAL_5XX = frozenset({501, 505, 511})
# With these the message was not taken, and the server asks for a pause.
UNTAKEN = frozenset({425, 429, 503, 529})
# A generic name for any error says nothing about this one, while other words do.
_SAYS_NOTHING = made_later(
    lambda: re.compile(
        rf" (?:(?P<blames>invalid request)|unknown|unexpected)(?: \w+)? (?:{stems_of('error')}|problem)"
    )
)
_ONLY_NAMES = made_later(
    lambda: re.compile(rf"(?:(?: \w+)? (?:\d+|{stems_of('error')}\w*))*")
)
# A server that is not ready or not reachable may recover.
_STATE_DENIED = made_later(
    lambda: re.compile(rf" {stems_of('denial')}(?: \w+)? {stems_of('state')}")
)
_STATUSES = {
    split_words(status.phrase): status.value for status in HTTPStatus if status >= 400
}
# A short phrase is ambiguous, as in "a connection is gone".
_LONGEST_WORD = 9
_PHRASE = re.compile(
    "|".join(phrase for phrase in _STATUSES if len(phrase) > _LONGEST_WORD)
)


def sort_refusal(status: int, text: str) -> Chance:
    """Return whether a refused request may succeed later, by the wording, or else by the status.

    `status`: 200 if unknown.
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
    # 500 is as general as no status.
    is_told = status > 500 or status in _PASSING_4XX
    is_mute = status == 500 and _ONLY_NAMES.fullmatch(words)
    return "passing" if is_told or is_mute else "unknown"


def _is_refused(status: int) -> bool:
    is_refused = 400 <= status < 500 and status not in _PASSING_4XX
    return is_refused or status in _FINAL_5XX
