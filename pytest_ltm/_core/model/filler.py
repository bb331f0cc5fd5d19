"""Filler: advances the tokens between scenarios; and the dated history of a data set that is told in its place."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from pytest_ltm._core.storage.patterns import lazy_pattern


@dataclass(frozen=True, slots=True)
class FillerExchange:
    """A message that keeps the agent busy, with the reply that it asks for."""

    message: str
    """The message to the agent."""
    expected_reply: str
    """The reply that the message asks for: told to an agent that accepts history, otherwise only measured."""
    message_tokens: int | None = None
    """Tokens of the message by the plan's counter, if the filler knows them exactly, to avoid counting again."""


class Filler(Protocol):
    """A source of filler; one instance serves one conversation."""

    def make(self, tokens: int, max_message_tokens: int) -> FillerExchange:
        """Return filler whose message plus expected reply just reach `tokens` tokens: one item less would not.

        A smaller result is allowed; the filler is then called for the rest. Takes time
        linear in the tokens made.

        Args:
            tokens: The size wanted; 0 asks for the smallest filler.
            max_message_tokens: The limit for the message.

        Raises:
            FillerError: If it cannot fill.
        """

    def configuration(self) -> object:
        """Return JSON values for the plan's fingerprint."""


# --- History: dated exchanges of a data set, told to the agent in place of filler,
# oldest first.

# The characters kept of a retrieved text that is not part of the history.
LONGEST_SHOWN = 200
_SENTENCE = lazy_pattern(r".+?(?:[.!?][\"'”’)]*\s+|\n\s*|\Z)", re.DOTALL)
_WORD = lazy_pattern(r"\s*\S+\s*")


class PastExchange(Struct, frozen=True):
    """One exchange of a history."""

    id: str
    """The id used by questions: that of its turn or session, unique in its history."""
    at: datetime
    """When it happened, aware; never earlier than its predecessor."""
    message: str
    """The message told to an agent that accepts history."""
    reply: str
    """The reply told with it."""
    asked: str
    """The message sent to any other agent, whose reply earns no credit."""
    holds: tuple[str, ...] = ()
    """Ids of the turns in it, if it has several: questions may use these, too."""
    images: tuple[str, ...] = ()
    """Files of the photos in it, for agents that accept images."""
    pictured: str = ""
    """The text sent to such an agent with the photos, in place of all else."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the turns in it, or its own if it has none."""
        return self.holds or (self.id,)


class ToldTexts:
    """Maps retrieved texts back to the exchanges of a history that were told or sent.

    Compared are the message, the form sent to agents without history, the reply, and
    message and reply on two lines. A text shared by several exchanges, such as a stock
    reply, maps to none. Digests are stored: the texts of ten million tokens would take
    four times their size.
    """

    def __init__(self) -> None:
        self._ids: dict[bytes, tuple[str, ...]] = {}

    def add(self, past: PastExchange, *more: str) -> None:
        """Add a told exchange; `more`: the parts in which it was sent."""
        texts = {
            past.message,
            past.asked,
            past.reply,
            f"{past.message}\n{past.reply}",
            *more,
        }
        for text in filter(None, map(str.strip, texts)):
            key = _text_digest(text)
            # A text of several exchanges maps to none of them, permanently.
            if self._ids.setdefault(key, past.ids) != past.ids:
                self._ids[key] = ()

    def replace_known_texts(self, shown_texts: Sequence[str]) -> tuple[str, ...]:
        """Replace known texts by their ids, without duplicates, and cut other texts if necessary."""
        names: dict[str, None] = {}
        for text in shown_texts:
            ids = self._ids.get(_text_digest(text.strip()))
            if ids:
                names.update(dict.fromkeys(ids))
            elif len(text) <= LONGEST_SHOWN:
                names[text] = None
            else:
                names[f"{text[: LONGEST_SHOWN - 1]}…"] = None
        return tuple(names)


def _text_digest(text: str) -> bytes:
    return hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()


def is_cut(text: str) -> bool:
    """Return whether a recorded text is only the beginning of the retrieved one."""
    return len(text) == LONGEST_SHOWN and text.endswith("…")


# The maximum bytes of a character; an emoji or a rare Chinese character may take as
# many tokens.
_BYTES = 4


def split_by_tokens(text: str, limit: int, count: Callable[[str], int]) -> list[str]:
    """Split a text into parts of at most `limit` tokens, which joined give the text again.

    It is cut at the ends of sentences and lines; a longer one between words, a longer
    word anywhere. The same text is always cut in the same way.
    """
    if len(text) * _BYTES <= limit or count(text) <= limit:
        # Every token has at least one byte.
        return [text]
    return list(_pack_pieces(text, limit, count))


def _pack_pieces(text: str, limit: int, count: Callable[[str], int]) -> Iterator[str]:
    pieces = list(_split_into_pieces(text, limit, count))
    start = 0
    while start < len(pieces):
        end = start
        size = 0
        while end < len(pieces) and (end == start or size + pieces[end][1] <= limit):
            size += pieces[end][1]
            end += 1
        while (
            (part := "".join(piece for piece, _ in pieces[start:end]))
            and end > start + 1
            and count(part) > limit
        ):
            end -= 1  # a seam may cost a token
        yield part
        start = end


def _split_into_pieces(
    text: str, limit: int, count: Callable[[str], int]
) -> Iterator[tuple[str, int]]:
    """Yield the units to keep together, with their tokens: sentences, else words, else halves of words."""
    for sentence in _SENTENCE.findall(text):
        if (tokens := count(sentence)) <= limit:
            yield sentence, tokens
        else:
            for word in _WORD.findall(sentence):
                yield from _halve_word(word, limit, count)


def _halve_word(
    word: str, limit: int, count: Callable[[str], int]
) -> Iterator[tuple[str, int]]:
    tokens = count(word)
    if tokens <= limit or len(word) == 1:
        yield word, tokens
        return
    # Halves, not the longest prefix that fits: a word of a million characters is then
    # counted twenty times.
    middle = len(word) // 2
    yield from _halve_word(word[:middle], limit, count)
    yield from _halve_word(word[middle:], limit, count)
