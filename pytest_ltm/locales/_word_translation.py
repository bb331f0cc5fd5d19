"""Gloss: a text of another language in English words, as far as the rules of evaluators and of the reader know them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

from pytest_ltm._language.patterns import lazy_pattern

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Stand around what is English already; private characters, which no message has."""
_KEPT = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_MEANT = re.compile(r"<(\d)>")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SPACES = re.compile(r" +(?=[ ,.!?;:])")
_BETWEEN = re.compile(r",?\s+")
_CJK = lazy_pattern(r"[\u3400-\u9fff]+")
_PUNCTUATION = str.maketrans(
    {"。": ". ", "，": ", ", "、": ", ", "？": "? ", "！": "! ", "：": ": ", "；": "; ", "¿": " ", "¡": " "}
)


class Gloss:
    """Puts English words for those of one language; what it does not know stays as it is.

    A longer phrase goes before a shorter one. Texts of characters are read from the left, the longest phrase first.
    Takes time linear in the text.
    """

    def __init__(
        self,
        words: Mapping[str, str],
        phrases: Mapping[str, str],
        rules: Sequence[tuple[str, str]],
        endings: Sequence[str] = (),
        spelling: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._spelling = [(re.compile(pattern, re.IGNORECASE), whole) for pattern, whole in spelling]
        self._words = {self.spell_out(word).casefold(): english for word, english in words.items()}
        self._phrases = self._words | {self.spell_out(said).casefold(): english for said, english in phrases.items()}
        self._rules = [(re.compile(pattern, re.IGNORECASE), english) for pattern, english in rules]
        self._endings = tuple(sorted(endings, key=len, reverse=True))
        self._most = max((len(phrase.split()) for phrase in self._phrases), default=1)

    def __call__(self, text: str, known: Sequence[str] = ()) -> str:
        """Return the text in English words; those that are `known` stay as they are, and are words of their own."""
        text = self.spell_out(text)
        for one in sorted(filter(None, known), key=len, reverse=True):
            apart = " " if _CJK.search(one) else ""
            result = re.escape(one) if apart else rf"\b{re.escape(one)}\b"
            text = re.sub(f"{result}(?![^{_OPEN}]*{_CLOSE})", f"{apart}{_OPEN}{one}{_CLOSE}{apart}", text)
        return _SPACES.sub("", self._meant(text)).strip(" ") if self._of_characters else self._meant(text)

    def spell_out(self, text: str) -> str:
        """Return the text with what is drawn together written out, such as `de le` for `du`."""
        for pattern, whole in self._spelling:
            text = pattern.sub(whole, text)
        return text

    def _meant(self, text: str) -> str:
        for pattern, english in self._rules:
            text = pattern.sub(partial(self._said, english), text)
        parts, end = [], 0
        for match in _KEPT.finditer(text):
            parts += [self._worded(text[end : match.start()]), match[1]]
            end = match.end()
        return "".join([*parts, self._worded(text[end:])])

    def _said(self, english: str, match: re.Match[str]) -> str:
        r"""Return a rule's English: `<1>` is what a group means, `\1` what it says."""
        said = _MEANT.sub(lambda number: self._meant(match[int(number[1])] or ""), english)
        kept = _KEPT.sub(r"\1", match.expand(said))
        return f"{_OPEN}{kept}{_CLOSE}"

    def _worded(self, text: str) -> str:
        if characters := self._of_characters:

            def read(match: re.Match[str]) -> str:
                # what is known stands between what is not
                known = (self._phrases.get(part, part) for part in characters.split(match[0]))
                return f" {' '.join(filter(None, known))} "

            text = _CJK.sub(read, text)
        text = text.translate(_PUNCTUATION) if not text.isascii() else text
        spots = [match.span() for match in _WORD.finditer(text)]
        parts, end, place = [], 0, 0
        while place < len(spots):
            for count in range(min(self._most, len(spots) - place), 0, -1):
                phrase = _BETWEEN.sub(" ", text[spots[place][0] : spots[place + count - 1][1]].casefold())
                # in, not get: some words mean nothing in English, "ne" and "吧"
                if phrase in self._phrases:
                    english: str | None = self._phrases[phrase]
                    break
            else:
                # a single word may be a form of one that is known
                stems = (phrase.removesuffix(ending) for ending in self._endings if phrase.endswith(ending))
                english = next((self._words[stem] for stem in stems if stem in self._words), None)
            start = spots[place][0]
            parts.append(text[end:start])
            end = spots[place + count - 1][1]
            said = text[start:end]
            parts.append(said if english is None else english)
            place += count
        return "".join([*parts, text[end:]])

    @cached_property
    def _of_characters(self) -> re.Pattern[str] | None:
        """Any phrase of characters, the longest first; None where there is none."""
        phrases = sorted(filter(_CJK.fullmatch, self._phrases), key=len, reverse=True)
        return re.compile(f"({'|'.join(phrases)})") if phrases else None
