"""The speech in a reply: all that its format does not mark as a thought, a tool call or the end of the turn."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.api.storage import lazy
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.settling import settle_text

RE = LEXICON.expressions("speech")
# Most replies are plain and need no parsing of marks.
_strip_marked = lazy("pytest_ltm.language.marked_speech:strip_marked")


def speech(reply: str, *, tags: Sequence[str] = ()) -> str:
    """Return an agent's speech in a reply; "" if it only thought or called tools.

    Unmarked text is unchanged, to the last space and line end. `tags`: names of further
    tags whose contents are thoughts. Idempotent, in linear time.
    """

    def strip_hidden(text: str) -> str:
        if not RE.may_be_marked.search(text):
            return text
        stripped: str = _strip_marked(text, tags)
        return stripped

    return settle_text(reply, strip_hidden)
