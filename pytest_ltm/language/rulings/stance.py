"""An answer's stance to a value: it asserts it, denies it, leaves a choice, or says it of somebody else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from pytest_ltm.api.model import (
    STOP_WORDS,
    casefold_plain,
    content_stems,
    plain_words,
    word_stem,
)
from pytest_ltm.language.clauses import (
    clause_around,
    normalize_text,
    phrase_positions,
    sentence_start,
    split_sentences,
    why_not_standing,
    wording_positions,
)
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.meanings import FRAME, telling_keys
from pytest_ltm.language.numbers import ORDINALS
from pytest_ltm.language.recital import refuses_answer
from pytest_ltm.language.values.quantities import find_quantities

# An answer up to this length with a choice of two says nothing else.
MAX_BRIEF_ANSWER = 160
DENIED, SEVERAL, ASKED = (
    "denies it",
    "commits itself to none of several",
    "only says that it does not know whether",
)
"""Doubts that make an answer wrong."""
FINAL = frozenset((DENIED, SEVERAL, ASKED))
OPEN = "perhaps leaves a choice"
OTHER = "says it of somebody else"
MAY_BE_DENIED = "may deny it"
MORE = "names something of which it is a part"
OVER = "says that it is over"
# Doubts that leave the ruling open.
DOUBTFUL = frozenset((OPEN, OTHER, MORE, OVER, MAY_BE_DENIED))
_PROPER = r"[A-Z][\w'&-]*(?: [A-Z][\w'&-]*){0,3}"
RE = LEXICON.expressions("stance", proper=_PROPER)
UNDECIDED = LEXICON.expression("stance undecided")


def stance_at(
    text: str, start: int, end: int, *, known: str, people: Iterable[str] = ()
) -> str:
    """Return why a span of a normalized text may not be asserted: "" if it is.

    `known`: question and expected answer, whose words cause no doubt; `people`: names
    not among them.
    """
    first = sentence_start(text, start)
    text_before = text[first:start]
    after = text[end : end + 60]
    if RE.not_word.search(text_before):
        return DENIED
    if reason := why_not_standing(text, start, end, known=known):
        is_refused = reason == DENIED and RE.refused_asked.search(known.lower())
        return MAY_BE_DENIED if is_refused else reason
    if RE.whether.search(text_before):
        return ASKED
    asked_text = normalize_text(known)
    known_stems = set(map(word_stem, plain_words(asked_text)))
    offers = [RE.or_before.search(text_before), RE.or_after.match(after)]
    strange = any(
        word_stem(offer["other"]) not in known_stems for offer in offers if offer
    )
    if (
        strange
        or RE.beside_before.search(text_before)
        or RE.beside_after.match(after)
        or RE.one_of.search(text[first:])
    ):
        return SEVERAL if len(text) <= MAX_BRIEF_ANSWER else OPEN
    return _of_another(
        text_before,
        after,
        clause_around(text, start, end)[0] + text[start:end],
        asked_text,
        people,
    )


def _of_another(
    before: str, after: str, part: str, asked: str, people: Iterable[str]
) -> str:
    """Return the doubt that a value was left behind, is part of a mixture, or belongs to somebody else."""
    if RE.left.search(before) and not RE.leaves.search(asked):
        return OVER
    if (mixed := RE.mix.match(after)) and mixed[0].split()[-1] not in asked:
        return MORE
    if RE.from_end.match(after) and not RE.from_end.search(asked):
        return MORE
    match = RE.subject.match(part)
    if match is None:
        return ""
    stranger = (match["name"] or match["owner"] or "") in people
    if stranger or (match["who"] and match["who"] not in asked):
        return OTHER
    return ""


def unknown_names(question: str, gold: str, text: str) -> frozenset[str]:
    """Return the lower-case names in an answer that the question lacks; empty if the question names nobody."""
    if not RE.name.search(question):
        return frozenset()
    known_words = {
        *re.findall("[a-z]+", f"{question} {gold}".lower()),
        *STOP_WORDS,
        "both",
    }
    return frozenset(
        word
        for word in map(str.lower, re.findall(r"\b[A-Z][a-z]+\b", text))
        if word not in known_words
    )


def why_rejected(wordings: Sequence[str], question: str, reply: str) -> str:
    """Return why an answer that repeats an accepted wording is still not right; "" if it is, or repeats none."""
    text = normalize_text(reply)
    spots = wording_positions(text, wordings)
    last = {plain_words(wording)[-1] for wording in wordings if plain_words(wording)}
    ends: list[str] = []
    for word in last:
        pattern = rf"\b{re.escape(word)}(['\u2019]s \w|\b)"
        ends += re.findall(pattern, reply.lower())
    # only a possession of the expected thing is named: "the library's café"
    if spots and ends and all(ends) and not question.lower().startswith("whose"):
        return MORE
    if not spots or re.search(r",|;|&|\band\b|\bor\b", wordings[0]):
        row = None
    else:
        row = RE.listed.search(reply)
    if row and phrase_positions(normalize_text(row[0]), wordings[0]):
        return MORE
    return _shared_doubt(spots, wordings, question, reply)


def _shared_doubt(
    spots: Iterable[tuple[int, int]], wordings: Sequence[str], question: str, reply: str
) -> str:
    """Return the worst doubt about all spans of a reply; "" if a span has none, or there are none."""
    text = normalize_text(reply)
    gold = " ".join(wordings)
    people = unknown_names(question, gold, reply)
    reasons = [
        stance_at(text, *spot, known=f"{question} {gold}", people=people)
        for spot in spots
    ]
    if not reasons or not all(reasons):
        return ""
    return min(reasons, key=lambda reason: (reason not in FINAL, reason != OPEN))


# --- Whether an answer with the expected words asserts them.

# An answer of at most this many characters is taken as a whole.
SHORT = 400


def concluding_part(answer: str) -> str:
    """Return the conclusion of an answer.

    A short answer is its own conclusion; in a long one it begins at the last marker
    ("therefore", "the answer is"), or else is the last three sentences.
    """
    text = answer.strip()
    if len(text) <= SHORT:
        return text
    tail = text[-2 * SHORT :]
    marks = [match.start() for match in RE.marks.finditer(tail)]
    # a marker with nothing after it concludes nothing
    if marks and len(tail) - marks[-1] > 15:
        return tail[marks[-1] :]
    return " ".join(split_sentences(tail[-SHORT:])[-3:])


# --- Whether an answer calls the question unanswerable, denies its assumptions, or
# guesses.


def goes_on_to_guess(text: str) -> bool:
    """Return whether a text still gives an answer: "..., but I think it was Tuesday".

    A refusal in the last sentence retracts the guess.
    """

    def goes_on(text: str) -> bool:
        guesses = (match[0] for match in RE.guess.finditer(casefold_plain(text)))
        return any(
            not RE.not_so.search(guess) and not RE.told.search(guess)
            for guess in guesses
        )

    last = split_sentences(text)[-1:]
    return goes_on(text) and not any(
        refuses_answer(part) and not goes_on(part) for part in last
    )


def denies_asked(text: str, asked: AbstractSet[str]) -> bool:
    """Return whether a clause denies something asked about, or says that only something else is so.

    `asked`: stems of the words that the question takes for granted.
    """
    for clause in RE.clause.split(casefold_plain(text)):
        negation = RE.denies.search(clause)
        if negation:  # "rather than" denies only what follows it
            denied = clause[negation.end() :] if " " in negation[0] else clause
            if asked & content_stems(denied):
                return True
        if RE.only_this.search(clause) and not asked & content_stems(clause):
            return True
    return False


def turns_to_other(text: str) -> bool:
    """Return whether a denial continues with something else: "no prize for this, but for that"."""
    clauses = re.split(r"\bbut\b", casefold_plain(text))[1:]
    patterns = (RE.not_so, RE.told, RE.only_this)
    return any(
        not any(pattern.search(part) for pattern in patterns) for part in clauses
    )


def has_negation(text: str) -> bool:
    """Return whether a text has any word of negation or limitation: it may be an unknown form of refusal."""
    return any(
        pattern.search(casefold_plain(text)) for pattern in (RE.denies, RE.limits)
    )


MANY = "names more"
# Separators between the items of a list.
LISTED = re.compile(r",|\n|\band\b|&|\bor\b|\bplus\b")


def list_items(text: str) -> list[str]:
    """Return the items of a list."""
    return [part for part in LISTED.split(text) if part.strip()]


def doubt_of(wordings: Sequence[str], question: str, end: str) -> str:
    """Return why an answer with an accepted wording may not assert it: "" if it does.

    `wordings`: the expected answer's, the main one first.
    """
    text = normalize_text(end)
    spots = wording_positions(text, wordings)
    if reason := _shared_doubt(spots, wordings, question, end):
        return reason
    for word in wordings[0].split() if not spots else ():
        places = phrase_positions(text, word, plural=True)
        if reason := _shared_doubt(places, wordings, question, end):
            return reason if reason == OPEN else f"perhaps {reason}"
    if _is_at_another_place(wordings, question, end):
        return "has it at another place of its list"
    if RE.in_pairs.search(end):
        return "names it in a row of pairs"
    names_more = lists_more(wordings[0], question, end)
    names_more = names_more or _is_one_of_two(wordings[0], question, end)
    return MANY if names_more else ""


def lists_more(expected: str, question: str, end: str) -> bool:
    """Return whether an answer that should be a list names something else, too, or only a part of it."""
    parts = [content_stems(part) for part in list_items(expected)]
    # a longer expected answer is a sentence with commas, not a list
    if len(parts) < 2 or len(plain_words(expected)) > 12:
        return False
    if RE.only.search(normalize_text(end)) and not RE.only.search(
        normalize_text(expected)
    ):
        return True
    expected_stems = frozenset().union(*parts)
    known_stems = expected_stems | content_stems(question)
    items = list_items(RE.asides.sub("", end))
    inside = [
        number
        for number, part in enumerate(items)
        if content_stems(part) & expected_stems
    ]
    for part in items[inside[0] : inside[-1] + 2] if inside else []:
        # a refusal, an amount or a part of five or more words between two items is talk
        short = 0 < len(plain_words(part)) <= 4 and part.strip()[0].isalpha()
        is_item = short and not refuses_answer(part) and not find_quantities(part)
        if (
            is_item
            and known_stems.isdisjoint(content_stems(part))
            and not FRAME.issuperset(telling_keys(part))
        ):
            return True
    return False


def _is_one_of_two(wording: str, question: str, end: str) -> bool:
    """Return whether an answer names another thing along with the expected one: "at Gym One and at Gym Two"."""
    if not re.fullmatch(_PROPER, wording):
        return False
    one = re.escape(wording)
    link = r",? (?:and|&) (?:(?:at|in|to|with|for|the) ){0,2}"
    row = re.search(
        rf"(?:({_PROPER}){link}{one}|{one}{link}({_PROPER}))(?=\W*(?:$|[.,;:!)\n]))",
        end,
    )
    return row is not None and content_stems(row[1] or row[2]).isdisjoint(
        content_stems(f"{question} {wording}")
    )


def _is_at_another_place(wordings: Sequence[str], question: str, end: str) -> bool:
    """Return whether the question asks for the n-th thing, and a numbered list has the expected one elsewhere."""
    asked_places = [
        ORDINALS[word] for word in plain_words(question) if word in ORDINALS
    ]
    lines = [match for line in end.splitlines() if (match := RE.numbered.match(line))]
    places = {
        int(line[1])
        for line in lines
        if wording_positions(normalize_text(line[2]), wordings)
    }
    return (
        len(asked_places) == 1
        and len(lines) > 1
        and bool(places)
        and asked_places[0] not in places
    )
