"""Extract: the statements of a text in few words; if space is short, the most informative ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from pytest_ltm.agents.reader.history_qa import (
    USER,
    format_day,
    iter_sayings,
    split_date,
)
from pytest_ltm.agents.reader.memory_policies import count_tokens
from pytest_ltm.agents.reader.notes import COMMON, MAX_CLOSELY_READ
from pytest_ltm.api.storage import lazy_pattern

_SENTENCE = lazy_pattern(r"(?<=[.!?])\s+|\n+")
_OWN = lazy_pattern(r"\b(?:I|I'm|I've|I'll|my|me|mine|we|our|us)\b", re.IGNORECASE)
_NAMED = lazy_pattern(r"(?<=[a-z,;] )[A-Z][\w'-]+|\b\d+\b")
_WORD = lazy_pattern(r"[^\W\d_][\w'-]{2,}")
_IS = lazy_pattern(r"\b[Mm]y ([\w' -]{2,40}?) (?:is|are|was|has become) (?:now )?\S")
_CLAUSE_END = lazy_pattern(r"[,;:]\s+|\s+[-–—]+\s+|\s*(?:\.\.\.|…)\s*")
_MARKS = '.,!?;:()[]"“”…–—-'
_CONTRACTED = lazy_pattern(r"(?<=^[Ii])'\w+$")
_DROPPED = COMMON["history"] - COMMON["short"]
# Weights of a person, a name or a number, and of a feeling or another word common in
# talk, relative to a content word; and tokens added to each length, so that the
# shortest statements do not always win.
_WEIGHT, _WEAK, _OFFSET = 2, 0.5, 10

NOTES = "notes"
"""The field, in an object on the user, for statements that describe none of the user's own things."""


class Statement(Struct, frozen=True):
    """A sentence that is not a question, shortened."""

    text: str
    speaker: str = ""
    """The speaker's name; "" for the user."""
    date: str = ""
    """The date in brackets; "" if there was none."""

    @property
    def line(self) -> str:
        """The statement with its speaker."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    @property
    def worth(self) -> float:
        """Its content for its length: first persons, names, numbers and uncommon words count."""
        persons = len(_NAMED.findall(self.text)) + bool(_OWN.search(self.text))
        words = set(map(str.lower, _WORD.findall(self.text))) - COMMON["history"]
        weak = len(words & COMMON["answer"])
        content = len(words) - weak + _WEAK * weak
        return (_WEIGHT * persons + content) / (count_tokens(self.text) + _OFFSET)


def split_into_sentences(text: str) -> list[str]:
    """Return the sentences of a text; each line ends a sentence."""
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]


def speaks_of_self(sentence: str) -> bool:
    """Return whether a sentence is in the first person, singular or plural."""
    return _OWN.search(sentence) is not None


def says_name_or_number(sentence: str) -> bool:
    """Return whether a sentence has a name or a number, except as its first word."""
    return _NAMED.search(sentence) is not None


def own_things(sentence: str) -> list[str]:
    """Return the speaker's own things that a sentence describes, in lower case."""
    return [thing.lower() for thing in _IS.findall(sentence)]


def shorten_sentence(sentence: str) -> str:
    """Return the content words of a sentence, as in a telegram.

    Persons, negations and temporal order are kept; asides such as "you know" are
    dropped. A sentence that describes one of the speaker's own things is short, and
    kept whole.
    """
    if own_things(sentence):
        return sentence.strip(":")
    clauses = _CLAUSE_END.split(sentence.replace("’", "'"))
    telling = [clause for clause in clauses if not _is_aside(clause)] or clauses
    words = []
    for token in " ".join(telling).split():
        word = _CONTRACTED.sub("", token.strip(_MARKS))
        if word and word.lower() not in _DROPPED:
            words.append(word)
    return " ".join(words)


def _is_aside(clause: str) -> bool:
    """Return whether a clause has common words and almost no content word.

    At most one content word is allowed, none in the first person; a list item has no
    common words, and is kept.
    """
    tokens = [token.strip(_MARKS) for token in clause.split()]
    rare = [word for word in tokens if word.lower() not in COMMON["history"]]
    if len(rare) == len(tokens) or any(map(_is_name_or_number, rare[1:])):
        return False
    telling = [word for word in rare if word.lower() not in COMMON["answer"]]
    return len(telling) <= (0 if speaks_of_self(clause) else 1)


def _is_name_or_number(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit()


def list_statements(message: str) -> Iterator[Statement]:
    """Yield the statements at the beginning of a message, shortened."""
    day, rest = split_date(message)
    date = f"[{format_day(day)}]" if day else ""
    for speaker, text in iter_sayings(rest[:MAX_CLOSELY_READ], ""):
        name = "" if speaker == USER else speaker
        for sentence in split_into_sentences(text):
            words = "" if sentence.endswith("?") else shorten_sentence(sentence)
            if words:
                yield Statement(words, name, date)


def read_extract(text: str) -> Iterator[Statement]:
    """Yield the statements in the output of `write_extract`."""
    date = speaker = ""
    for line in filter(None, text.split("\n")):
        _, rest = split_date(line)
        if not rest:
            date, speaker = line, ""
        elif line.endswith(":"):
            speaker = line.removesuffix(":")
        else:
            yield Statement(line, speaker, date)


def write_extract(statements: Iterable[Statement], size: int) -> str:
    """Return the statements that say most, in at most `size` tokens.

    Newer statements on a thing replace older ones.

    One line each. Dates and speakers are lines of their own before their statements;
    undated statements come first, and within each date those of the user.
    """
    distinct = _newest_values(statements)
    chosen = choose_statements(distinct, size)
    dates = list(dict.fromkeys(["", *(statement.date for statement in distinct)]))
    speakers = list(dict.fromkeys(["", *(statement.speaker for statement in distinct)]))
    ordered = sorted(
        (statement for statement in distinct if statement in chosen),
        key=lambda row: (dates.index(row.date), speakers.index(row.speaker)),
    )
    lines = []
    for date, of_day in groupby(ordered, key=lambda row: row.date):
        lines.append(date)
        for speaker, statements_of_speaker in groupby(
            of_day, key=lambda row: row.speaker
        ):
            lines.append(f"{speaker}:" if speaker else "")
            lines += [statement.text for statement in statements_of_speaker]
    return "\n".join(filter(None, lines))


def _newest_values(statements: Iterable[Statement]) -> list[Statement]:
    """Return the statements without duplicates, keeping only the newest on each of a speaker's things."""
    newest: dict[object, Statement] = {}
    for statement in statements:
        things = own_things(statement.text)
        key = (statement.speaker, *things) if things else statement
        # Moved to the end: an update was told after the value that it replaces.
        newest.pop(key, None)
        newest[key] = statement
    return list(newest.values())


def choose_statements(
    statements: Sequence[Statement], size: int, line: str = "{}\n"
) -> set[Statement]:
    """Return the statements that say most, the newest of equals, within `size` tokens.

    Date and speaker lines count as well. `line`: the format of a statement.
    """
    newest = statements[::-1]
    ranked = sorted(newest, key=lambda row: row.worth, reverse=True)
    chosen: set[Statement] = set()
    heads = {("", "")}
    for statement in ranked:
        tokens = count_tokens(line.format(statement.text))
        new_heads = {(statement.date, ""), (statement.date, statement.speaker)} - heads
        for date, speaker in new_heads:
            tokens += count_tokens(speaker or date) + 2
        if tokens <= size:
            size -= tokens
            heads |= new_heads
            chosen.add(statement)
    return chosen
