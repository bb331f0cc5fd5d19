"""The values that a reply settles on: its last word, without what it retracts, denies or says of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from rapidfuzz.distance import OSA

from pytest_ltm.api.model import plain_words
from pytest_ltm.language.clauses import (
    EARLIER,
    clause_around,
    iter_sentences,
    normalize_text,
    phrase_positions,
    sentence_around,
    sentence_start,
    split_sentences,
    why_not_standing,
)
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.recital import knows_not

# Words for people whose own things an answer may mention.
ASIDES = (
    "sister|brother|mother|father|mum|mom|dad|wife|husband|partner|friend|neighbou?r|colleague|boss|cousin|aunt|uncle|"
    "son|daughter|child|children|kids?|grandmother|grandfather|grandma|grandpa|niece|nephew|roommate|flatmate|teacher|"
    "girlfriend|boyfriend|cat|dog"
)
RE = LEXICON.expressions("commitment", asides=ASIDES)
DENIES = "denies it"
UNKNOWN = "says that it does not know"
OTHERS = "says it of somebody else"


class Mention(Struct, frozen=True):
    """A position where a text names a value."""

    start: int
    end: int
    value: str


def find_mentions(text: str, names: Sequence[str]) -> list[Mention]:
    """Return the mentions of names, as words in a row, in a normalized text; none inside a longer name."""
    mentions = [
        Mention(*spot, name)
        for name in dict.fromkeys(names)
        for spot in phrase_positions(text, name)
    ]
    latest = sorted(mentions, key=lambda mention: mention.start)[-2 * _MOST :]
    return [
        mention
        for mention in latest
        if not any(
            long.start <= mention.start
            and mention.end <= long.end
            and len(long.value) > len(mention.value)
            for long in latest
        )
    ]


def last_word(text: str, says: Callable[[str], bool]) -> str:
    """Return the part of a reply after its last correction; all of it if that part `says` nothing."""
    # at most the last eight, latest first: each check reads the whole text
    for result in list(RE.corrects.finditer(text))[:-9:-1]:
        rest = text[result.end() :]
        if says(rest) and says(text[: result.start()]):
            return rest
    return text


def trim_flood(text: str, relevant: Callable[[str], object], *, head: int = 2) -> str:
    """Return a reply, or only the two ends of a flood: an answer is before or after the talk, not within.

    `head`: number of leading sentences to keep; 0 where any sentence can earn partial
    credit.
    """
    parts = split_sentences(text)
    # many sentences, few of them relevant, recite messages
    if (
        len(parts) <= 30
        or sum(bool(relevant(part)) for part in parts) > len(parts) * 0.25
    ):
        return text
    return "\n".join(parts[:head] + parts[-6:])


def committed_values(reply: str, find: Callable[[str], Sequence[Mention]]) -> set[str]:
    """Return the values that a reply settles on: one, none, or several if it does not settle.

    `find` returns the mentions in a normalized text, in order.
    """

    def asserts(text: str) -> bool:
        return bool(asserted_mentions(normalize_text(text), find))

    text = RE.talk.sub(
        lambda result: " " * len(result[0]), normalize_text(last_word(reply, asserts))
    )
    # a chain of arrows ends with its conclusion
    before, _, after = text.rpartition("\u2192")
    text = trim_flood(after if asserts(before) and asserts(after) else text, find)
    if last := _last_line(text, find):
        return {last}
    held = asserted_mentions(text, find)
    if not held:
        # without a statement about the present, what was told earlier is the answer:
        # "you once told me teal"
        held = [
            mention
            for mention in find(text)[-_MOST:]
            if doubt_about(text, mention) == EARLIER
        ]
        now = [mention for mention in held if RE.now.search(_with_aside(text, mention))]
        held = now or ([] if RE.now.search(text) else held)
    values = {mention.value for mention in held}
    sentences = [
        (mention, sentence_around(text, mention.start, mention.end)) for mention in held
    ]
    decides = any(RE.decides.search(sentence) for _, sentence in sentences)
    if RE.none.search(" ".join(plain_words(text))) and not decides:
        return set()
    # a sentence of only the value, or with "still", answers even if the reply says that
    # it does not know
    alone = (
        RE.still.search(" ".join(plain_words(sentence)))
        or not plain_words(sentence.replace(text[mention.start : mention.end], " "))
        for mention, sentence in sentences
    )
    if knows_not(text) and not any(alone):
        return set()
    if len(values) <= 1:
        if held and all(is_alternative(text, mention) for mention in held):
            return set()
        return values
    return _decided_value(text, held) or values


def _decided_value(text: str, held: Sequence[Mention]) -> set[str]:
    """Return the one value that a text decides on: in its last deciding sentence, by "now", or at its start."""
    for start, said in reversed(list(iter_sentences(text))):
        inside = [
            mention for mention in held if start <= mention.start < start + len(said)
        ]
        for marker in reversed(list(RE.decides.finditer(said))):
            after = [
                mention for mention in inside if mention.start >= start + marker.end()
            ]
            if len({mention.value for mention in after}) == 1:
                return set() if is_alternative(text, after[0]) else {after[0].value}
        if (
            inside
            and RE.decides.search(said)
            and len({mention.value for mention in inside}) == 1
        ):
            return {inside[0].value}
    sound = {
        mention.value
        for mention in held
        if RE.sound_after.match(text[mention.end : mention.end + 60])
    }
    now = {
        mention.value for mention in held if RE.now.search(_with_aside(text, mention))
    }
    if len(sound) == 1 or len(now) == 1:
        return sound if len(sound) == 1 else now
    start, said = next(iter_sentences(text), (0, ""))
    opening = [mention for mention in held if mention.start < start + len(said)]
    later = [mention for mention in held if mention not in opening]
    if len({mention.value for mention in opening}) != 1 or any(
        is_alternative(text, mention) for mention in opening
    ):
        return set()
    value = opening[0].value
    sentences: dict[str, set[str]] = {}
    for mention in later:
        sentence = sentence_around(text, mention.start, mention.end)
        sentences.setdefault(sentence, set()).add(mention.value)
    claims_more = any(
        RE.commits.search(RE.doubts.sub(" ", sentence))
        for sentence, values in sentences.items()
        if value not in values
    )
    return {value} if RE.commits.search(said) and not claims_more else set()


def asserted_mentions(
    text: str, find: Callable[[str], Sequence[Mention]], *, formerly: bool = False
) -> list[Mention]:
    """Return the mentions in a normalized text that are claims; listed mentions share a doubt.

    `formerly`: statements about the past count as claims, too.
    """
    held: list[Mention] = []
    end = 0
    before = ""
    for mention in find(text)[-_MOST:]:
        reason = doubt_about(text, mention)
        if formerly and reason in (EARLIER, "says that it is over"):
            reason = ""
        link = text[end : mention.start]
        shared = before != DENIES or RE.or_word.search(
            sentence_around(text, mention.start, mention.end)
        )
        if before and (
            RE.listed.fullmatch(link) or (RE.followed.fullmatch(link) and shared)
        ):
            reason = reason or before
        if not reason:
            held.append(mention)
        end = mention.end
        before = reason
    return held


# Characters around a mention that may describe it: bounds the time for each.
_AROUND = 300
# The maximum number of mentions examined: the last ones.
_MOST = 60


def doubt_about(text: str, mention: Mention, *, known: str = "") -> str:
    """Return why a mention in a normalized text claims nothing, "" if it is a claim.

    `known`: question and expected answer; a word of doubt that is also in there causes
    no doubt.
    """
    begin = max(0, mention.start - _AROUND)
    # bounded, or a thousand mentions would take quadratic time
    text = text[begin : mention.end + _AROUND]
    mention = Mention(mention.start - begin, mention.end - begin, mention.value)
    linked = RE.link.sub(lambda result: ", ".ljust(len(result[0])), text)
    after = clause_around(linked, mention.start, mention.end)[1]
    before = clause_around(text, mention.start, mention.end)[0]
    begins = text[sentence_start(text, mention.start) : mention.start]
    behind = text[mention.end : mention.end + 60]
    if RE.sound_after.match(behind):
        return ""
    reasons = (
        (DENIES, RE.out_before.search(begins) or RE.out_after.match(behind)),
        (UNKNOWN, RE.unknown.search(before)),
        (why_not_standing(linked, mention.start, mention.end, known=known), True),
        (OTHERS, RE.others.search(before) or is_of_others(text, mention)),
        ("only thought of it first", RE.first_thought.search(before)),
        (EARLIER, RE.former_after.search(after[:40]) or RE.was.search(begins)),
    )
    return next((reason for reason, result in reasons if reason and result), "")


def is_of_others(text: str, mention: Mention) -> bool:
    """Return whether a normalized text names the owner of a value: "Ghent is your uncle's"."""
    return RE.others_behind.match(text, mention.end) is not None


def is_alternative(text: str, mention: Mention) -> bool:
    """Return whether a value is one of two alternatives: "teal or ochre", "either teal"."""
    before = text[max(0, mention.start - 60) : mention.start]
    after = text[mention.end : mention.end + 60]
    return (
        RE.like_or.match(after) is not None or RE.or_before.search(before) is not None
    )


def is_retracted(text: str, mention: Mention) -> bool:
    """Return whether a value is retracted at once: "dawn... no, midnight"."""
    match = RE.corrects.search(text, mention.end, mention.end + _AROUND)
    return match is not None and not text[mention.end : match.start()].strip(
        " .,!?\u2026\u2013\u2014-*_"
    )


def _with_aside(text: str, mention: Mention) -> str:
    """Return the clause of a mention, with brackets after it."""
    aside = re.match(r"\s*\([^()\n]*\)", text[mention.end : mention.end + 60])
    return " ".join(
        (*clause_around(text, mention.start, mention.end), aside[0] if aside else "")
    )


def _last_line(text: str, find: Callable[[str], Sequence[Mention]]) -> str:
    """Return the value that makes up the last line; "" if none does, or if the line before is also such a line."""
    lines = [line for line in text.splitlines() if RE.markup.sub("", line)][-2:]
    alone: list[str] = []
    for line in lines:
        named = list(find(line))
        if len(named) == 1:
            rest = plain_words(line[: named[0].start] + line[named[0].end :])
        else:
            rest = None
        alone.append(
            named[0].value
            if rest in ([], ["answer"], ["option"], ["final", "answer"])
            else ""
        )
    # two such lines in a row, or one with a bullet, are a list, which settles on
    # nothing
    if len(alone) > 1 and not alone[0] and not re.match(r"\s*[-*\u2022+]\s", lines[-1]):
        return alone[1]
    return ""


# A shorter word with a wrong letter is usually another word.
_LONG = 6


def is_misspelt(word: str, meant: str) -> bool:
    """Return whether a long word is `meant` with one letter wrong, missing, added or swapped with its neighbour."""
    if len(word) < _LONG - 1 or len(meant) < _LONG or word[0] != meant[0]:
        return False
    return OSA.distance(word, meant, score_cutoff=1) == 1
