"""Replies that only look like answers: refusals, repeated messages, and lists of everything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ltm.api.model import (
    casefold_plain,
    has_phrase,
    plain_words,
    space_delimited,
)
from pytest_ltm.language.clauses import normalize_text
from pytest_ltm.language.lexicon import LEXICON

if TYPE_CHECKING:
    from typing_extensions import Self

RE = LEXICON.expressions("recital")


def _spoken_words(text: str) -> str:
    """Return the words of a text, separated by single spaces, with a full stop at sentence ends."""
    parts = RE.token.findall(casefold_plain(text).replace("'", ""))
    return " ".join(
        part if part[0].isalnum() or part == "," else "." for part in parts
    ).strip(" .,")


def find_refusal(text: str) -> re.Match[str] | None:
    """Return the first match of words for not knowing or never having been told; None if there is none."""
    words = _spoken_words(text)
    for match in RE.refuses.finditer(words):
        # "she had not told you the truth" is about two others
        is_of_others = RE.others.search(words, 0, match.start())
        if not (is_of_others and words[match.end() :].startswith(" you")):
            return match
    return None


def refuses_answer(text: str) -> bool:
    """Return whether a text says that the answer is not known or was never told, even if it says more."""
    return find_refusal(text) is not None


def without_refusals(text: str) -> str:
    """Return a text without clauses that say that something is unknown or was not mentioned."""
    clauses = RE.clause_end.split(text)
    return " ".join(clause for clause in clauses if not refuses_answer(clause))


def knows_not(text: str) -> bool:
    """Return whether the speaker admits not knowing: "I can't recall", but not "she can't know"."""
    return RE.knows_not.search(_spoken_words(text)) is not None


def tells_nothing(answer: str) -> bool:
    """Return whether an answer says that it has nothing to tell, or withholds it, and offers no guess."""
    text = _spoken_words(answer)
    return bool(
        RE.refuses.search(text) or RE.withholds.search(text)
    ) and not offers_guess(answer)


def offers_guess(answer: str) -> bool:
    """Return whether an answer offers a guess."""
    return RE.guesses.search(_spoken_words(answer)) is not None


def only_offers_example(answer: str) -> bool:
    """Return whether an answer says that it does not know, then gives an example or a suggestion."""
    excuse = find_refusal(answer)
    return (
        excuse is not None
        and RE.example.search(excuse.string, excuse.end()) is not None
    )


# --- Messages repeated, and lists of everything.

REPEATS = "repeats messages instead of answering"
_SEVERAL = 2


def recites_messages(reply: str) -> bool:
    """Return whether a reply repeats messages: several of its sentences are a user's.

    Such sentences speak as only the user would ("I have changed my name to Ada"), give
    an order, or ask a question. Quoted text does not count.
    """
    parts = [
        part
        for part in RE.lines.split(normalize_text(RE.quoted.sub(" ", reply)))
        if plain_words(part)
    ]
    repeated = 0
    for part in parts:
        spoken = " ".join(plain_words(part))
        if part.rstrip(' "').endswith("?"):
            # as in "Just checking: what is it?"
            asked = " ".join(plain_words(part.rpartition(":")[2]))
            repeated += RE.asks.search(asked) is not None and not RE.offers.search(
                asked
            )
        else:
            of_itself = RE.of_itself.search(spoken) and not _of_an_assistant(spoken)
            repeated += bool(of_itself or RE.orders.search(spoken))
    # five cannot be chance, nor can two in a brief reply
    return repeated >= 5 or (repeated >= _SEVERAL and repeated >= 0.25 * len(parts))


class ToldReply(str):
    """A reply along with the messages told to the agent before."""

    __slots__ = ("told",)
    told: tuple[str, ...]

    def __new__(cls, reply: str, told: tuple[str, ...]) -> Self:
        """Create a reply that knows the messages told."""
        made = super().__new__(cls, reply)
        made.told = told
        return made


# Words in a row that are not repeated by chance.
_IN_A_ROW = 5


def repeats_told(reply: str) -> bool:
    """Return whether a reply has five words in a row, outside quotation marks, from each of two messages."""
    rows = _rows_told(reply.told) if isinstance(reply, ToldReply) else {}
    if rows:
        repeated = {
            rows[row]
            for row in rows_of_words(RE.quoted.sub(" . ", reply))
            if row in rows
        }
    else:
        repeated = set()
    return len(repeated) >= _SEVERAL


def copies_message(reply: str, message: str) -> bool:
    """Return whether a reply contains a whole message of five or more words, outside quotation marks."""
    words = plain_words(message)
    return len(words) >= _IN_A_ROW and has_phrase(
        space_delimited(RE.quoted.sub(" . ", reply)), message
    )


def is_told(reply: str, part: str) -> bool:
    """Return whether a message told before the reply has all words of `part` in a row."""
    return isinstance(reply, ToldReply) and any(
        space_delimited(part) in space_delimited(text) for text in reply.told
    )


@lru_cache(maxsize=8)
def _rows_told(told: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    """Return the runs of five words that only one message has, with that message's index."""
    rows: dict[tuple[str, ...], int] = {}
    for number, text in enumerate(told):
        for row in set(rows_of_words(text)):
            rows[row] = -1 if row in rows else number
    return {row: number for row, number in rows.items() if number >= 0}


def rows_of_words(text: str) -> Iterator[tuple[str, ...]]:
    """Yield all runs of five words in a text."""
    every = plain_words(text)
    return zip(*(every[start:] for start in range(_IN_A_ROW)), strict=False)


def copies_user(reply: str, values: Sequence[str]) -> bool:
    """Return whether a reply names a value in a sentence that only the user would say: "my pet is a gecko"."""
    lines = map(
        space_delimited, RE.lines.split(normalize_text(RE.quoted.sub(" ", reply)))
    )
    named = list(map(space_delimited, values))
    copied = (part for part in lines if any(value in part for value in named))
    return any(
        RE.first_person.search(part) and not _of_an_assistant(part) for part in copied
    )


def _of_an_assistant(part: str) -> bool:
    return (
        RE.of_the_user.search(part) is not None or RE.remembers.search(part) is not None
    )


def short_items(reply: str) -> list[str]:
    """Return the items of a reply that is mostly a list of short items, as words; [] otherwise."""
    items = [
        " ".join(item)
        for part in RE.item_end.split(reply)
        if (item := plain_words(part))
    ]
    short = [item for item in items if len(item.split()) <= 3]
    return short if len(short) > 0.75 * len(items) else []


def enumerates_everything(reply: str) -> bool:
    """Return whether a reply is mostly a long list: naming everything chooses nothing."""
    return len(short_items(reply)) > 40


def ends_in_a_list(reply: str) -> bool:
    """Return whether the last line of a reply is a long list, whatever precedes it."""
    return enumerates_everything(reply.rstrip().rpartition("\n")[2])
