"""Removing an answer's opening and closing talk, which says nothing about the question."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.settling import settle_text

RE = LEXICON.expressions("talk")
_TALK = frozenset(map(word_stem, LEXICON.words("talk words")))
# Only the ends are searched, so the time is bounded.
_REACH = 400


def without_talk(text: str, question: str, gold: str) -> str:
    """Return an answer without its openings and closings; idempotent.

    Talk repeats the question, addresses the user, names the answer's source, or offers,
    asks or wishes something. It has no other word of the question or of the expected
    answer, no number and no name, denies and doubts nothing, and leaves an answer.
    """
    asked = plain_words(question)
    about = frozenset(map(word_stem, [*asked, *plain_words(gold)])) - _PLAIN

    def strip_once(part: str) -> str:
        for shorter in (
            _without_closing(part, about),
            _without_note(part, about),
            _without_question(part, asked),
            _without_opening(part, about),
        ):
            if shorter != part and RE.letter.search(shorter):
                # there may have been a frame inside
                return normalize(shorter)
        return part

    return settle_text(text, strip_once)


_PLAIN = frozenset(map(word_stem, STOP_WORDS))


def _without_closing(text: str, about: frozenset[str]) -> str:
    base = max(0, len(text) - _REACH)
    starts = [match.end() for match in RE.sentence_start.finditer(text, base)]
    # the last sentence may have capitals that do not begin one
    for start in starts[-_CAPITALS:]:
        sentence = text[start:]
        before = text[:start].rstrip(" \t\n*_>-\u2014")
        simple = " ".join(plain_words(sentence))
        if RE.signs.fullmatch(simple):
            return before
        # a colon introduces an answer
        if before.endswith(":") or _tells_something(sentence, about):
            continue
        is_question = sentence.rstrip(" *_\"')").endswith("?")
        asks = is_question and RE.asks.match(simple)
        if asks or RE.closes.fullmatch(simple):
            return before
    return text


_CAPITALS = 3


def _without_note(text: str, about: frozenset[str]) -> str:
    """Return a text without a program's note on its work or source, as a line or brackets at an end."""
    base = max(0, len(text) - _REACH)
    for match in (RE.note_before.match(text), RE.note_behind.search(text, base)):
        if match and _is_note((match[1] or match[2]).lower(), about):
            return text[: match.start()] + text[match.end() :]
    return text


def _is_note(line: str, about: frozenset[str]) -> bool:
    if RE.is_answer.search(line) or RE.turns.search(line):
        return False
    stems = set(map(word_stem, plain_words(RE.unit.sub(" ", line))))
    if not stems <= (_TALK | _PLAIN) - about:
        return False
    return not stems.isdisjoint(_TALK) or RE.tokens.search(line) is not None


def _without_question(text: str, asked: Sequence[str]) -> str:
    """Return a text without a repetition of the question, and without the labels of both."""
    for match in RE.asked_end.finditer(text, 0, _REACH):
        words = plain_words(text[: match.start()])
        label = words[: -len(asked)] if asked else words
        is_label = RE.label.fullmatch(" ".join(label)) is not None
        if is_label and words[len(label) :] == asked:
            return text[match.end() :]
    return text


def _without_opening(text: str, about: frozenset[str]) -> str:
    """Return a text without the parts that lead up to its answer, ended by a full stop, a colon or a dash."""
    start = end = 0
    leads = False
    for match in RE.part_end.finditer(text, 0, _REACH):
        part = text[start : match.start()]
        words = plain_words(part)
        is_known = all(word_stem(word) in _TALK | _PLAIN for word in words)
        if _tells_something(part, about) or not is_known or RE.reports.match(part):
            break
        start = match.end()
        is_comma = match[0].startswith(",")
        leads = leads or RE.leads.match(part) is not None
        if words and (not is_comma or leads):
            end = match.end()
    return text[end:]


def _tells_something(sentence: str, about: frozenset[str]) -> bool:
    """Return whether a sentence has a word of the question, a number, a name, a denial or a doubt."""
    stems = set(map(word_stem, plain_words(sentence)))
    if not stems.isdisjoint(about) or RE.value.search(sentence):
        return True
    return RE.turns.search(" ".join(plain_words(sentence))) is not None
