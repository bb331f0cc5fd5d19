"""What a reply commits itself to: its last word, without what it thinks aloud, takes back, denies or says of others."""

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

# Words for somebody whose own things an answer may speak of.
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
    """Where a text names a value."""

    start: int
    end: int
    value: str


def find_mentions(text: str, names: Sequence[str]) -> list[Mention]:
    """Return where a levelled text has some names, as words in a row; a name inside a longer one is none."""
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
    """Return what a reply says after it last corrects itself; all of it, where that `says` nothing."""
    # the last eight at most, the last one first: each has all of the text read
    for result in list(RE.corrects.finditer(text))[:-9:-1]:
        rest = text[result.end() :]
        if says(rest) and says(text[: result.start()]):
            return rest
    return text


def trim_flood(text: str, relevant: Callable[[str], object], *, head: int = 2) -> str:
    """Return a reply, or the two ends of one that is a flood: an answer stands before or after talk, not within.

    `head`: how many sentences may stand before it; 0 where part marks are earned by any
    sentence.
    """
    parts = split_sentences(text)
    # many sentences, few of which speak of what was asked, recite what the reply was
    # told
    if (
        len(parts) <= 30
        or sum(bool(relevant(part)) for part in parts) > len(parts) * 0.25
    ):
        return text
    return "\n".join(parts[:head] + parts[-6:])


def committed_values(reply: str, find: Callable[[str], Sequence[Mention]]) -> set[str]:
    """Return the values that a reply settles on: one, none, or several if it does not settle.

    `find` yields the mentions of a levelled text, in their order.
    """

    def asserts(text: str) -> bool:
        return bool(asserted_mentions(normalize_text(text), find))

    text = RE.talk.sub(
        lambda result: " " * len(result[0]), normalize_text(last_word(reply, asserts))
    )
    # a line of thought with arrows ends at the last one
    before, _, after = text.rpartition("\u2192")
    text = trim_flood(after if asserts(before) and asserts(after) else text, find)
    if last := _last_line(text, find):
        return {last}
    held = asserted_mentions(text, find)
    if not held:
        # where nothing is said of the present, what was told earlier is the answer:
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
    # a sentence of the value alone, or one with "still", answers though the reply says
    # that it does not know
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
    """Return the one value on which a text decides: in its last deciding sentence, by "now", or at its start."""
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
    """Return the mentions in a levelled text that are claims; one that is listed with another shares its doubt.

    `formerly`: to say what was so is a claim as well.
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


# So many characters around a mention may say what it is: each takes bounded time.
_AROUND = 300
# So many mentions, the last ones, are looked at.
_MOST = 60


def doubt_about(text: str, mention: Mention, *, known: str = "") -> str:
    """Return why a mention in a levelled text claims nothing, "" if it is one.

    `known`: question and expected answer; a word of doubt that stands there, too, makes
    no doubt.
    """
    begin = max(0, mention.start - _AROUND)
    # bounded, or a text of a thousand mentions takes quadratic time
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
    """Tell whether a levelled text says of a value whose it is: "Ghent is your uncle's"."""
    return RE.others_behind.match(text, mention.end) is not None


def is_alternative(text: str, mention: Mention) -> bool:
    """Tell whether a value is one of two in a levelled text: "teal or ochre", "either teal"."""
    before = text[max(0, mention.start - 60) : mention.start]
    after = text[mention.end : mention.end + 60]
    return (
        RE.like_or.match(after) is not None or RE.or_before.search(before) is not None
    )


def is_retracted(text: str, mention: Mention) -> bool:
    """Tell whether what follows a value at once takes it back: "dawn... no, midnight"."""
    match = RE.corrects.search(text, mention.end, mention.end + _AROUND)
    return match is not None and not text[mention.end : match.start()].strip(
        " .,!?\u2026\u2013\u2014-*_"
    )


def _with_aside(text: str, mention: Mention) -> str:
    """Return the clause of a mention, with the brackets behind it."""
    aside = re.match(r"\s*\([^()\n]*\)", text[mention.end : mention.end + 60])
    return " ".join(
        (*clause_around(text, mention.start, mention.end), aside[0] if aside else "")
    )


def _last_line(text: str, find: Callable[[str], Sequence[Mention]]) -> str:
    """Return the value that stands alone on the last line, "" where none does or the line before is such a one, too."""
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
    # two such lines in a row, or one with a bullet, are a list: it settles on nothing
    if len(alone) > 1 and not alone[0] and not re.match(r"\s*[-*\u2022+]\s", lines[-1]):
        return alone[1]
    return ""


# Shorter words are hardly misspelt: they are others.
_LONG = 6


def is_misspelt(word: str, meant: str) -> bool:
    """Tell whether a word is a longer one with one letter wrong, missing, added or in its neighbour's place."""
    if len(word) < _LONG - 1 or len(meant) < _LONG or word[0] != meant[0]:
        return False
    return OSA.distance(word, meant, score_cutoff=1) == 1
