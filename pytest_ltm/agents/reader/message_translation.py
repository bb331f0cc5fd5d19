"""What the reader hears: messages in other languages are read in English words, and replied to in their language."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.locales import ENGLISH, detect_language, load_language

if TYPE_CHECKING:
    from pytest_ltm.agents.reader.notes import IncomingTurn, ReaderNotebook
    from pytest_ltm.locales import Language

_LANGUAGE, _SAID = "language", "said"
_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?。！？]*\s*|\n")
_QUOTED = re.compile(r"(?<=[\"“„「«])[^\"“”„」«»]{4,600}(?=[\"“”」»])")
_QUIZ = "\nQ: "


class ReadMessage(NamedTuple):
    """A message as the reader reads it."""

    turn: IncomingTurn
    language: Language
    notes: ReaderNotebook

    def replied(self, reply: str) -> str:
        """Return a reply with what was said in the words in which it was, and set phrases in the message's language."""
        said = self.notes.derived(_SAID, _WordMeanings).words(self.notes)
        if not said and self.language is ENGLISH:
            return reply
        whole = said.get(reply) or self.language.reply(reply)
        return whole if whole != reply else "".join(_repeat_sentence(part, said) for part in _SENTENCE.findall(reply))


class _WordMeanings:
    """Which words meant what, as far as the notes have been looked at."""

    def __init__(self) -> None:
        self._known = 0
        self._words: dict[str, str] = {}

    def words(self, notes: ReaderNotebook) -> dict[str, str]:
        every = notes.notes_of_kind(_SAID)
        self._words.update(note.content for note in every[self._known :])
        self._known = len(every)
        return self._words


def _repeat_sentence(part: str, texts: dict[str, str]) -> str:
    """Return a sentence of a reply as it was said, or what it says after a colon."""
    text = part.strip()
    if text in texts:
        return part.replace(text, texts[text])
    head, colon, rest = text.partition(": ")
    return part.replace(text, f"{head}{colon}{texts[rest]}") if rest in texts else part


def translate_turn(turn: IncomingTurn, notes: ReaderNotebook) -> ReadMessage:
    """Return a turn in English words; its sentences are noted, so that a reply can repeat them as they were said."""
    last = notes.notes_of_kind(_LANGUAGE)
    before = load_language(last[-1].content) if last else ENGLISH
    now = detect_language(turn.text, before)
    if now is not before:
        notes.add(turn, _LANGUAGE, now.code)
    head, quiz, rest = turn.text.partition(_QUIZ)
    if now is ENGLISH or (not turn.is_brief and not quiz):
        return ReadMessage(turn, now, notes)
    parts = _SENTENCE.findall(head)
    meant = [now.meaning(part) for part in parts]
    text = "".join(part if part[-1:].isspace() else f"{part} " for part in meant).rstrip(" ")
    if not quiz:
        quotes = zip(_QUOTED.findall(text), _QUOTED.findall(head), strict=False)
        for meaning, part in {**dict(zip(meant, parts, strict=True)), **dict(quotes)}.items():
            if meaning != part:
                notes.add(turn, _SAID, [meaning.strip(), part.strip()])
    return ReadMessage(replace(turn, text=text + quiz + rest, said=turn.text), now, notes)
