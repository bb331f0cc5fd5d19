"""How an answer stands to what it names: says so, denies it, leaves a choice, or tells it of somebody else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.clauses import (
    clause_around,
    normalize_text,
    phrase_positions,
    sentence_start,
    why_not_standing,
)
from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.words import STOP_WORDS, plain_words, word_stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# In so many characters, a choice of two is all that an answer says.
MAX_BRIEF_ANSWER = 160
DENIED, SEVERAL, ASKED = "denies it", "commits itself to none of several", "only says that it does not know whether"
"""Doubts that leave no doubt: with them an answer is wrong."""
FINAL = frozenset((DENIED, SEVERAL, ASKED))
OPEN, OTHER = "perhaps leaves a choice", "says it of somebody else"
MORE, OVER = "names something of which it is a part", "says that it is over"
# Doubts with which rules cannot tell.
DOUBTFUL = frozenset((OPEN, OTHER, MORE, OVER))
_SAME = r"so|more|less|thereabouts|later|rather|about|around|approximately|in other words|at least|equivalently|not"
_SMALL = "the|an?|in|on|at|with|by|to|my|your|his|her|its|their|it|was|is|maybe|perhaps|possibly"
_OR_AFTER = LEXICON.expression(r"{stance or after}")
_OR_BEFORE = re.compile(r"(?P<other>\w*)\W*\bor,? (?:[\w-]+,? ){0,3}$")
# A choice right before or after a place: whatever the words are.
_BESIDE = (re.compile(rf"\bor\W+(?:(?:{_SMALL})\W+)*$"), re.compile(rf"\W{{0,3}}\bor\b(?! (?:{_SAME})\b)"))
_NOT = re.compile(r"\b(?:not|never|(?:is|was|are|were)nt) (?:(?:the|an?|in|on|at|with|my|your)\W+)*\W*$")
_ONE_OF = LEXICON.expression(r"\b{stance one of}")
_WHETHER = re.compile(r"\b(?:whether|if) (?:\w+ ){1,3}(?:the |a |an |with |in |on |at |my |your )*$")
_MIX = re.compile(r"s?(?: and [\w-]+| [\w-]+)?(?: (?:mix|cross|blend|hybrid|crossbreed))\b|[- ](?:mix|cross)\b")
_LEFT = re.compile(r"\b(?:left|quit|quitting|leaving) (?:(?:the|my|your|his|her) )?$")
_LEAVES = re.compile(r"\b(?:le(?:ft|aves?|aving)|quit\w*)\b")
_PROPER = r"[A-Z][\w'&-]*(?: [A-Z][\w'&-]*){0,3}"
# Three names or more in a row.
_LISTED = re.compile(rf"(?:{_PROPER}, )+(?:{_PROPER},? )?(?:and|or) {_PROPER}")
_SUBJECT = LEXICON.expression(r"{stance subject}")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+\b")


def stance_at(text: str, start: int, end: int, *, known: str, people: Iterable[str] = ()) -> str:
    """Return why what stands at a place of a levelled text may not be what an answer says: "" if it says so.

    `known`: question and expected answer, whose words make no doubt; `people`: names that are not in it.
    """
    first = sentence_start(text, start)
    before, after = text[first:start], text[end : end + 60]
    if reason := DENIED if _NOT.search(before) else why_not_standing(text, start, end, known=known):
        return reason
    if _WHETHER.search(before):
        return ASKED
    asked = normalize_text(known)
    offers = [_OR_BEFORE.search(before), _OR_AFTER.match(after)]
    strange = any(one and word_stem(one["other"]) not in set(map(word_stem, plain_words(asked))) for one in offers)
    if strange or _BESIDE[0].search(before) or _BESIDE[1].match(after) or _ONE_OF.search(text[first:]):
        return SEVERAL if len(text) <= MAX_BRIEF_ANSWER else OPEN
    return _of_another(before, after, clause_around(text, start, end)[0] + text[start:end], asked, people)


def _of_another(before: str, after: str, part: str, asked: str, people: Iterable[str]) -> str:
    """Return the doubt that it is something that was left, or of which it is a part, or that somebody else has."""
    if _LEFT.search(before) and not _LEAVES.search(asked):
        return OVER
    if (mixed := _MIX.match(after)) and mixed[0].split()[-1] not in asked:
        return MORE
    match = _SUBJECT.match(part)
    if match is None:
        return ""
    stranger = (match["name"] or match["owner"] or "") in people
    return OTHER if stranger or (match["who"] and match["who"] not in asked) else ""


def unknown_names(question: str, gold: str, text: str) -> frozenset[str]:
    """Return the names, in lower case, that an answer has and the question has not; none if that names nobody."""
    if not _NAME.search(question):
        return frozenset()
    known = {*re.findall("[a-z]+", f"{question} {gold}".lower()), *STOP_WORDS, "both"}
    return frozenset(word for word in map(str.lower, re.findall(r"\b[A-Z][a-z]+\b", text)) if word not in known)


def _is_owner(wordings: Sequence[str], text: str) -> bool:
    """Return whether an answer names only something of the expected one: "the library's café"."""
    last = {plain_words(wording)[-1] for wording in wordings if plain_words(wording)}
    ends = [match[1] for one in last for match in re.finditer(rf"\b{re.escape(one)}(['\u2019]s \w|\b)", text.lower())]
    return bool(ends) and all(ends)


def _is_one_of_names(wording: str, text: str) -> bool:
    """Return whether an answer has one expected name in a list of three or more."""
    row = _LISTED.search(text)
    return (
        row is not None
        and not re.search(r",|;|&|\band\b|\bor\b", wording)
        and bool(phrase_positions(normalize_text(row[0]), wording))
    )


def why_rejected(wordings: Sequence[str], question: str, reply: str) -> str:
    """Return why an answer that repeats an accepted wording is not right for all that; "" if it is, or repeats none."""
    text, known = normalize_text(reply), f"{question} {' '.join(wordings)}"
    spots = [spot for wording in wordings for spot in phrase_positions(text, wording, plural=True)]
    people = unknown_names(question, " ".join(wordings), reply)
    if spots and (
        (_is_owner(wordings, reply) and not question.lower().startswith("whose"))
        or _is_one_of_names(wordings[0], reply)
    ):
        return MORE
    reasons = [stance_at(text, *spot, known=known, people=people) for spot in spots]
    return next((one for one in reasons if one in FINAL), reasons[0]) if reasons and all(reasons) else ""
