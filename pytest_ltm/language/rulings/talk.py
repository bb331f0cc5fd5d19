"""The answer without what opens and closes it for the one who asked, and says nothing of what was asked."""

from __future__ import annotations

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON
from pytest_ltm.language.normal_form import normalize
from pytest_ltm.language.settling import settle_text

RE = LEXICON.expressions("talk")
_SENTENCE_START = LEXICON.expression("normal form sentence start")
_TALK = frozenset(map(word_stem, LEXICON.words("talk words")))
# Only the ends are looked at: a long reply takes no longer.
_REACH = 400


def without_talk(text: str, question: str, gold: str) -> str:
    """Return an answer without its openings and closings; linear, idempotent.

    They are addressed to whoever asked, tell where the answer comes from, or offer, ask
    or wish something. They have no word of the question or of what is expected, no
    figure and no name, deny and doubt nothing, and leave an answer.
    """
    words = plain_words(f"{question} {gold}")
    about = frozenset(map(word_stem, words)) - _PLAIN

    def strip_once(part: str) -> str:
        for strip in (_without_closing, _without_opening):
            shorter = strip(part, about)
            if shorter != part and RE.letter.search(shorter):
                # a frame may have stood inside
                part = normalize(shorter)
        return part

    return settle_text(text, strip_once)


_PLAIN = frozenset(map(word_stem, STOP_WORDS))


def _without_closing(text: str, about: frozenset[str]) -> str:
    base = max(0, len(text) - _REACH)
    starts = [match.end() for match in _SENTENCE_START.finditer(text, base)]
    if not starts:
        return text
    sentence = text[starts[-1] :]
    before = text[: starts[-1]].rstrip(" \t\n*_>-\u2014")
    simple = " ".join(plain_words(sentence))
    if RE.signs.fullmatch(simple):
        return before
    # a colon leads up to what is said
    if before.endswith(":") or _tells_something(sentence, about):
        return text
    is_question = sentence.rstrip(" *_\"')").endswith("?")
    asks = is_question and RE.asks.match(simple)
    return before if asks or RE.closes.fullmatch(simple) else text


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
