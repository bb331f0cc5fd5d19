"""Extract: what a text tells, copied out; where there is little room, the statements that say most for their length."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from pytest_ltm.agents.reader.history_qa import USER, iter_sayings, split_date
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.reader.notes import COMMON, MAX_CLOSELY_READ
from pytest_ltm.api.storage import lazy_pattern

_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_OWN = lazy_pattern(r"\b(?:I|I'm|I've|I'll|my|me|mine|we|our|us)\b", re.IGNORECASE)
_NAMED = lazy_pattern(r"(?<=[a-z,;] )[A-Z][\w'-]+|\b\d+\b")
_WORD = lazy_pattern(r"[^\W\d_][\w'-]{2,}")
# What a person, a name or a number counts for, in words that are not common; and the
# tokens that a statement seems to have beyond its own, else the shortest would win.
_WEIGHT, _OFFSET = 2, 6


class Statement(Struct, frozen=True):
    """A sentence other than a question, with its speaker before it."""

    text: str
    date: str = ""
    """The date in brackets that stood before it; "" if none did."""

    @property
    def worth(self) -> float:
        """How much it says for its length: first persons, names and numbers, words that are not common."""
        persons = len(_NAMED.findall(self.text)) + bool(_OWN.search(self.text))
        content = len(_content_words(self.text))
        return (_WEIGHT * persons + content) / (count_tokens(self.text) + _OFFSET)


def split_into_sentences(text: str) -> list[str]:
    """Return the sentences of a text, a line for itself being one."""
    return [one.strip() for one in _SENTENCE.split(text) if one.strip()]


def speaks_of_self(sentence: str) -> bool:
    """Return whether somebody speaks of themselves, or of a group of theirs."""
    return _OWN.search(sentence) is not None


def says_name_or_number(sentence: str) -> bool:
    """Return whether there is a name or a number, not as the first word."""
    return _NAMED.search(sentence) is not None


def list_statements(message: str) -> Iterator[Statement]:
    """Yield the statements at the beginning of a message."""
    _, rest = split_date(message)
    date = message[: len(message) - len(rest)].strip()
    for speaker, text in iter_sayings(rest[:MAX_CLOSELY_READ], ""):
        head = "" if speaker == USER else f"{speaker}: "
        for sentence in split_into_sentences(text):
            if not sentence.endswith("?"):
                yield Statement(head + sentence, date)


def _content_words(text: str) -> set[str]:
    """Return the words of three letters or more that are not common, in lower case."""
    return {word.lower() for word in _WORD.findall(text)} - COMMON["history"]


def read_extract(text: str) -> Iterator[Statement]:
    """Yield the statements of what `write_extract` returned."""
    date = ""
    for line in filter(None, text.split("\n")):
        _, rest = split_date(line)
        if rest:
            yield Statement(line, date)
        else:
            date = line


def write_extract(statements: Iterable[Statement], size: int) -> str:
    """Return the statements that say most, in the order in which they were told, in at most `size` tokens.

    Each is a line; a date stands in a line of its own before what was told then, and
    what was told on no date comes first.
    """
    distinct = list(dict.fromkeys(statements))
    chosen = choose_statements(distinct, size)
    told: dict[str, list[str]] = {"": []}
    for statement in distinct:
        if statement in chosen:
            told.setdefault(statement.date, []).append(statement.text)
    lines = [line for date, texts in told.items() for line in (date, *texts) if line]
    return "\n".join(lines)


def choose_statements(
    statements: Sequence[Statement], size: int, around: int = 1
) -> set[Statement]:
    """Return those that say most, of equal ones the newest, in `size` tokens with a line for each date.

    `around`: the tokens of a line beside the statement.
    """
    newest = statements[::-1]
    ranked = sorted(newest, key=lambda row: row.worth, reverse=True)
    chosen: set[Statement] = set()
    dates = {""}
    for statement in ranked:
        tokens = count_tokens(statement.text) + around
        if statement.date not in dates:
            tokens += count_tokens(statement.date) + 1
        if tokens > size:
            break
        size -= tokens
        dates.add(statement.date)
        chosen.add(statement)
    return chosen
