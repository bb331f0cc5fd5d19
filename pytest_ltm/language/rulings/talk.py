"""The answer without what opens and closes it for the one who asked, and says nothing of what was asked."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.settling import settle_text

RE = LEXICON.expressions("talk")
_TALK = frozenset(map(word_stem, LEXICON.words("talk words")))
# Only the ends are looked at: a long reply takes no longer.
_REACH = 400


def without_talk(text: str, question: str, gold: str) -> str:
    """Return an answer without its openings and closings; idempotent.

    They say again what was asked, are addressed to whoever asked, tell where the answer
    comes from, or offer, ask or wish something. They have no other word of the question
    or of what is expected, no figure and no name, deny and doubt nothing, and leave an
    answer.
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
                # a frame may have stood inside
                return normalize(shorter)
        return part

    return settle_text(text, strip_once)


_PLAIN = frozenset(map(word_stem, STOP_WORDS))


def _without_closing(text: str, about: frozenset[str]) -> str:
    base = max(0, len(text) - _REACH)
    starts = [match.end() for match in RE.sentence_start.finditer(text, base)]
    # a capital that begins nothing may stand in the last sentence
    for start in starts[-_CAPITALS:]:
        sentence = text[start:]
        before = text[:start].rstrip(" \t\n*_>-\u2014")
        simple = " ".join(plain_words(sentence))
        if RE.signs.fullmatch(simple):
            return before
        # a colon leads up to what is said
        if before.endswith(":") or _tells_something(sentence, about):
            continue
        is_question = sentence.rstrip(" *_\"')").endswith("?")
        asks = is_question and RE.asks.match(simple)
        if asks or RE.closes.fullmatch(simple):
            return before
    return text


_CAPITALS = 3


def _without_note(text: str, about: frozenset[str]) -> str:
    """Return a text without a line or brackets at an end, in which a program notes what it did, or its source."""
    base = max(0, len(text) - _REACH)
    for match in (RE.note_before.match(text), RE.note_behind.search(text, base)):
        if match and _is_note((match[1] or match[2]).lower(), about):
            return text[: match.start()] + text[match.end() :]
    return text


def _is_note(line: str, about: frozenset[str]) -> bool:
    stems = set(map(word_stem, plain_words(RE.unit.sub(" ", line))))
    if RE.turns.search(line) or not stems <= (_TALK | _PLAIN) - about:
        return False
    return not stems.isdisjoint(_TALK) or RE.tokens.search(line) is not None


def _without_question(text: str, asked: Sequence[str]) -> str:
    """Return a text without the question that it says again, and the labels of both."""
    for match in RE.asked_end.finditer(text, 0, _REACH):
        words = plain_words(text[: match.start()])
        label = words[: -len(asked)] if asked else words
        is_label = RE.label.fullmatch(" ".join(label)) is not None
        if is_label and words[len(label) :] == asked:
            return text[match.end() :]
    return text


def _without_opening(text: str, about: frozenset[str]) -> str:
    """Return a text without the parts that lead up to its answer, up to a stop, a colon or a dash."""
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
    """Return whether a sentence has a word of what was asked, a figure, a name, a denial or a doubt."""
    stems = set(map(word_stem, plain_words(sentence)))
    if not stems.isdisjoint(about) or RE.value.search(sentence):
        return True
    return RE.turns.search(" ".join(plain_words(sentence))) is not None
