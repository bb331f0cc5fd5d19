"""Removing an answer's opening and closing talk, which says nothing about the question."""

from __future__ import annotations

import re
from collections.abc import Callable

from pytest_ltm.api.model import STOP_WORDS, plain_words, word_stem
from pytest_ltm.language.lexicon import LEXICON

RE = LEXICON.expressions("talk")
_TALK = frozenset(map(word_stem, LEXICON.words("talk words")))
_Find = Callable[[str], re.Match[str] | None]
# Only the ends are searched, so the time is bounded.
_REACH = 400


class Topic:
    """The topic of an answer: its words are not talk."""

    def __init__(self, question: str, expected: str) -> None:
        self.asked = plain_words(question)
        words = [*self.asked, *plain_words(expected)]
        self._stems = frozenset(map(word_stem, words)) - _PLAIN

    def is_touched_by(self, text: str) -> bool:
        """Return whether a text has a distinctive word of the question or the expected answer."""
        return not self._stems.isdisjoint(map(word_stem, plain_words(text)))


_PLAIN = frozenset(map(word_stem, STOP_WORDS))
_TALK_OR_PLAIN = _TALK | _PLAIN
UNKNOWN = Topic("", "")


def without_talk(text: str, topic: Topic) -> str:
    """Return an answer after one pass of removing opening or closing talk.

    Talk repeats the question, addresses the user, names the answer's source, or offers,
    asks or wishes something. It has no other word of the topic, no number and no name,
    denies and doubts nothing, and leaves an answer. If the question is unknown, all of
    its words must be words of talk.
    """
    for strip in (
        without_closing,
        _without_note,
        _without_question,
        _without_opening,
    ):
        shorter = strip(text, topic)
        if shorter != text and RE.letter.search(shorter):
            return shorter
    return text


def is_talk(text: str) -> bool:
    """Return whether a short text has only talk or a program's note, and denies and doubts nothing."""
    if len(text) > _REACH:
        return False
    text = RE.unit.sub(" ", text)
    return _has_only_talk(text) and not _tells_something(text, UNKNOWN)


def is_note(text: str) -> bool:
    """Return whether a short text is only a program's note on its work or source."""
    return len(text) <= _REACH and _is_note(text.lower(), UNKNOWN)


def without_closing(text: str, topic: Topic) -> str:
    """Return an answer without its last sentence if that is talk."""
    base = max(0, len(text) - _REACH)
    starts = [match.end() for match in RE.sentence_start.finditer(text, base)]
    # the last sentence may have capitals that do not begin one
    for start in starts[-_CAPITALS:]:
        sentence = text[start:]
        before = RE.marks_behind.sub("", text[:start])
        simple = " ".join(plain_words(sentence))
        if RE.signs.fullmatch(simple):
            return before
        ending = sentence.rstrip(_QUOTES)
        is_question = ending.endswith("?")
        # a condition asserts nothing
        stated = RE.condition.sub("", simple)
        # what is said behind a question may answer it: "Two? Let me check."
        is_behind_question = before.rstrip(_QUOTES).endswith("?")
        is_reply = is_behind_question and not is_question and stated == simple
        # a colon introduces an answer
        if before.endswith(":") or is_reply:
            continue
        if _tells_something(sentence, topic, stated):
            continue
        is_addressed = ending.endswith(("?", "!")) or RE.addressed.search(simple)
        if is_addressed and _has_only_talk(stated):
            return before
        asks = is_question and RE.asks.match(simple)
        if topic.asked and (asks or RE.closes.fullmatch(simple)):
            return before
    return text


_CAPITALS = 3
_QUOTES = " *_\"')"


def without_offer(text: str) -> str:
    """Return a text without its last sentence if that is talk which offers help."""
    shorter = without_closing(text, UNKNOWN)
    return shorter if RE.helps.search(text[len(shorter) :]) else text


def _without_note(text: str, topic: Topic) -> str:
    """Return a text without a program's note on its work or source, as a line or brackets at an end."""
    for find in (RE.note_before.match, RE.note_behind.search):
        shorter = _without_match(find, text, topic)
        # several notes are the answer itself, not notes on it
        if _without_match(find, shorter, topic) == shorter != text:
            return shorter
    return text


def _without_match(find: _Find, text: str, topic: Topic) -> str:
    match = find(text)
    if match and _is_note((match[1] or match[2]).lower(), topic):
        return f"{text[: match.start()]}{text[match.end() :]}"
    return text


def _has_only_talk(text: str) -> bool:
    return _TALK_OR_PLAIN.issuperset(_stems_of(text))


def _stems_of(text: str) -> list[str]:
    return [word_stem(word) for word in plain_words(text)]


def _is_note(line: str, topic: Topic) -> bool:
    words = RE.unit.sub(" ", line)
    if RE.is_answer.search(line) or RE.turns.search(line) or topic.is_touched_by(words):
        return False
    if RE.signs.fullmatch(" ".join(plain_words(line))):
        return True
    return RE.noted.search(line) is not None and _has_only_talk(words)


def _without_question(text: str, topic: Topic) -> str:
    """Return a text without a repetition of the question, and without the labels of both."""
    asked = topic.asked
    if not asked:
        labelled = RE.labelled.match(text)
        return text[labelled.end() :] if labelled else text
    for match in RE.asked_end.finditer(text, 0, _REACH):
        words = plain_words(text[: match.start()])
        label = words[: -len(asked)]
        is_label = RE.label.fullmatch(" ".join(label)) is not None
        if is_label and words[len(label) :] == asked:
            return text[match.end() :]
    return text


def _without_opening(text: str, topic: Topic) -> str:
    """Return a text without the parts that lead up to its answer, ended by a full stop, a colon or a dash."""
    start = end = 0
    leads = False
    for match in RE.part_end.finditer(text, 0, _REACH):
        part = text[start : match.start()]
        is_strange = not _has_only_talk(part) or RE.reports.match(part)
        if _tells_something(part, topic) or is_strange:
            break
        start = match.end()
        is_comma = match[0].startswith(",")
        leads = leads or RE.leads.match(part) is not None
        is_said = RE.says.search(part) or not _TALK.isdisjoint(_stems_of(part))
        if is_said and (not is_comma or leads):
            end = match.end()
    return text[end:]


def _tells_something(sentence: str, topic: Topic, stated: str = "") -> bool:
    """Return whether a sentence has a word of the topic, a number, a name, a denial or a doubt."""
    if topic.is_touched_by(sentence) or RE.value.search(sentence):
        return True
    return RE.turns.search(stated or " ".join(plain_words(sentence))) is not None
