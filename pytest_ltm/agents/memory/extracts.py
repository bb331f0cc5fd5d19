"""Extract: what a text tells, in few words; where room is short, the statements that say most for their length."""

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
# What a person, a name or a number counts for, in words that say something; what a
# feeling or another word of most talks counts for; and the tokens that a statement
# seems to have beyond its own, else the shortest would win.
_WEIGHT, _WEAK, _OFFSET = 2, 0.5, 10

NOTES = "notes"
"""The field, of an object on the user, of the user's statements that say of nothing of theirs what it is."""


class Statement(Struct, frozen=True):
    """What a sentence other than a question says."""

    text: str
    speaker: str = ""
    """Its name; "" for the user."""
    date: str = ""
    """The date in brackets; "" if none stood before it."""

    @property
    def line(self) -> str:
        """The statement with its speaker."""
        return f"{self.speaker}: {self.text}" if self.speaker else self.text

    @property
    def worth(self) -> float:
        """How much it says for its length: first persons, names and numbers, words that are not common."""
        persons = len(_NAMED.findall(self.text)) + bool(_OWN.search(self.text))
        words = {word.lower() for word in _WORD.findall(self.text)} - COMMON["history"]
        weak = len(words & COMMON["answer"])
        content = len(words) - weak + _WEAK * weak
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


def own_things(sentence: str) -> list[str]:
    """Return the things of the speaker's own of which a sentence says what they are, in lower case."""
    return [thing.lower() for thing in _IS.findall(sentence)]


def shorten_sentence(sentence: str) -> str:
    """Return the words of a sentence that say something, as in a telegram.

    Who speaks or is spoken to, negations and the order of times stay; an aside such as
    "you know" goes. A sentence that says what something of the speaker's is stays
    whole, as it is short.
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
    """Return whether a clause has common words and hardly one that says something.

    That is one at most, none where somebody speaks of themselves; an item of a list has
    no common words.
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
    """Yield the statements at the beginning of a message, in few words."""
    day, rest = split_date(message)
    date = f"[{format_day(day)}]" if day else ""
    for speaker, text in iter_sayings(rest[:MAX_CLOSELY_READ], ""):
        name = "" if speaker == USER else speaker
        for sentence in split_into_sentences(text):
            words = "" if sentence.endswith("?") else shorten_sentence(sentence)
            if words:
                yield Statement(words, name, date)


def read_extract(text: str) -> Iterator[Statement]:
    """Yield the statements of what `write_extract` returned."""
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
    """Return the statements that say most, in at most `size` tokens; what is said of a thing later replaces the former.

    Each is a line. In lines of their own, a date stands before what was told then, and
    a speaker before what was said by them; what was told on no date comes first, and
    on each date what the user said.
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
        for speaker, said in groupby(of_day, key=lambda row: row.speaker):
            lines.append(f"{speaker}:" if speaker else "")
            lines += [statement.text for statement in said]
    return "\n".join(filter(None, lines))


def _newest_values(statements: Iterable[Statement]) -> list[Statement]:
    """Return the statements, each once, without those that tell a former state of a speaker's thing."""
    newest: dict[object, Statement] = {}
    for statement in statements:
        things = own_things(statement.text)
        key = (statement.speaker, *things) if things else statement
        # At the end again: an update was told after what it replaces.
        newest.pop(key, None)
        newest[key] = statement
    return list(newest.values())


def choose_statements(
    statements: Sequence[Statement], size: int, line: str = "{}\n"
) -> set[Statement]:
    """Return those that say most, of equal ones the newest, in `size` tokens with a line for each date and speaker.

    `line`: how a statement is written.
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
