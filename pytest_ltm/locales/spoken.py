"""Languages: texts, detection of a text's language, and meanings in English.

Each language has a folder of data.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from pytest_ltm.api.model import Evaluator, Replies, Score, Unscored, evidence_snippet
from pytest_ltm.api.storage import ConfigurationError, lazy_pattern
from pytest_ltm.locales.codes import CODES, check_code, split_languages
from pytest_ltm.locales.phrasing import anchor_of, capital, pattern_of, variants


class Word(str):  # noqa: SLOT000 - it has a dictionary for its forms
    """A word with its forms as attributes, for templates: `{item}` and `{item.many}`."""

    forms: Mapping[str, str]

    def __getattr__(self, name: str) -> str:
        try:
            return self.forms[name]
        except KeyError:
            raise AttributeError(
                f"{str(self)!r} has no form {name!r}; it has {', '.join(self.forms)}"
            ) from None


def make_word(forms: Mapping[str, str]) -> Word:
    """Return a word whose text is the form `said`."""
    word = Word(forms["said"])
    word.forms = forms
    return word


T = TypeVar("T")


class Language:
    """The interface of a language for scenarios, filler and the embedded reader; this class is English."""

    code = "en"

    @property
    def name(self) -> str:
        """Its English name."""
        return "English"

    @property
    def filler(self) -> Mapping[str, Any]:
        """The texts of fillers, as in `filler.yml`."""
        return {}

    def find_text(self, part: str, english: T) -> T:  # noqa: ARG002 - looked up by other languages
        """Return its version of a part of a scenario's texts, such as `colours.first`.

        Raises KeyError if it has none.
        """
        return english

    def phrase(self, part: str, english: str, **slots: object) -> str:  # noqa: ARG002 - as above
        """Return its version of a part of a text, filled in; a Word if it has several forms."""
        return english.format(**slots)

    def word(self, english: str) -> str:
        """Return its version of an English word of the scenarios: a Word, or the English word if it has none."""
        return english

    def message(self, english: str) -> str:
        """Return its version of a whole message, such as the end of a scenario.

        The English one if it has none.
        """
        return english

    def reply(self, english: str) -> str:
        """Return its version of a set phrase of the embedded reader; the English one if it has none."""
        return english

    def meaning(self, text: str, known: Sequence[str] = ()) -> str:  # noqa: ARG002 - as above
        """Return a text in English words, as far as rules need them; `known` words stay unchanged."""
        return text

    def own_meaning(self, text: str) -> str:  # noqa: ARG002 - as above
        """Return a scenario's sentence or message in English; "" for any other text."""
        return ""

    def __repr__(self) -> str:
        return f"<language {self.code}>"


class _Sentence(NamedTuple):
    """A sentence of scenarios in a language."""

    anchor: str
    """A part that all its texts contain, case folded."""
    pattern: re.Pattern[str]
    english: str
    """Its meaning, with the pattern's groups as slots."""
    any_text: frozenset[str]
    """The slots for arbitrary text."""


class PackagedLanguage(Language):
    """A language whose data is in a folder next to this file.

    `texts.yml` has texts, `meanings.yml` the meanings of words, `filler.yml` filler.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self._folder = Path(__file__).parent / code

    @cached_property
    def name(self) -> str:
        """Its English name."""
        return str(self._meanings["name"])

    @cached_property
    def filler(self) -> Mapping[str, Any]:
        """The contents of `filler.yml`."""
        return _read_texts(self._folder / "filler.yml")

    def find_text(self, part: str, english: T) -> T:  # noqa: ARG002
        """Return the part in `texts.yml`; KeyError if there is none."""
        scenario, _, name = part.partition(".")
        return cast("T", self._texts[scenario][name])

    def phrase(self, part: str, english: str, **slots: object) -> str:
        """Return the part in `texts.yml`, with each of its forms filled in."""
        result: Any = self.find_text(part, english)
        forms = result if isinstance(result, dict) else {"said": result}
        forms = {name: text.format(**slots) for name, text in forms.items()}
        # contractions, such as `d'` for `de` before a vowel, depend on the filled-in
        # words
        for pattern, spelling in self._meanings.get("joined", ()):
            for name, text in forms.items():
                forms[name] = re.sub(pattern, spelling, text)
        return make_word(forms)

    def word(self, english: str) -> str:
        """Return the word in `meanings.yml`."""
        return self._words.get(english, english)

    def message(self, english: str) -> str:
        """Return the message in `texts.yml`, whose keys are the English messages."""
        return str(self._texts["messages"].get(english, english))

    def reply(self, english: str) -> str:
        """Return the phrase in `meanings.yml`."""
        return str(self._meanings["replies"].get(english, english))

    def meaning(self, text: str, known: Sequence[str] = ()) -> str:
        """Return a text in English words."""
        return self._gloss(text, known)

    def own_meaning(self, text: str) -> str:
        """Return the English sentence whose part of `texts.yml` made the text, or the key of a whole message."""
        text = text.strip()
        if english := self._english_messages.get(text):
            return english
        folded_text = text.casefold()
        for sentence in self._sentences:
            if sentence.anchor not in folded_text:
                continue
            if match := sentence.pattern.fullmatch(text):
                words = self._slot_meanings(match, sentence.any_text)
                if all(words.values()):
                    return capital(sentence.english.format(**words))
        return ""

    def _slot_meanings(
        self, match: re.Match[str], any_text: Collection[str]
    ) -> dict[str, str]:
        """Return what a sentence's slots mean; those in `any_text` line by line."""
        meanings = {}
        for name, text in match.groupdict().items():
            if name in any_text:
                meanings[name] = "\n".join(map(self.meaning, text.split("\n")))
            else:
                meanings[name] = self._slot_meaning(text)
        return meanings

    @cached_property
    def _english_messages(self) -> Mapping[str, str]:
        return {text: english for english, text in self._texts["messages"].items()}

    def _slot_meaning(self, text: str) -> str:
        """Return the English of a word form, a number, a date or a name; else "".

        A name may follow a word form.
        """
        form, space, name = text.rpartition(" ")
        for words, behind in ((text, ""), (form, space + name)):
            if english := self._english_by_form.get(words.casefold()):
                return english + behind
        meaning = self.meaning(text) if re.search(r"\d", text) else text
        return meaning if _NAME_OR_DATE.fullmatch(meaning) else ""

    @cached_property
    def _english_by_form(self) -> Mapping[str, str]:
        english_by_form = {}
        for english, word in self._words.items():
            for form in word.forms.values():
                english_by_form[form.casefold()] = english
        return english_by_form

    @cached_property
    def _sentences(self) -> Sequence[_Sentence]:
        sentences = []
        for scenario, parts in _english_sentences().items():
            texts = self._texts.get(scenario)
            if texts is None:  # not every language has every scenario
                continue
            kinds = parts.get("slots", {}).items()
            words = {slot: self._form_patterns(kind) for slot, kind in kinds}
            any_text = frozenset(slot for slot in words if not words[slot])
            for part, english in parts.items():
                if isinstance(english, Mapping):  # the contents of slots
                    continue
                for wording, meaning in _fill_clauses(
                    texts[part], english, texts, parts
                ):
                    # compiled lazily: most are never needed
                    pattern = lazy_pattern(
                        pattern_of(wording, words), re.IGNORECASE | re.DOTALL
                    )
                    sentences.append(
                        _Sentence(anchor_of(wording), pattern, meaning, any_text)
                    )
        return sentences

    def _form_patterns(self, kind: str) -> Mapping[str, str]:
        """Return, by form, a pattern of the words of a kind; empty for `text`."""
        texts: dict[str, list[str]] = {}
        for english in self._meanings["words"].get(kind, ()):
            for form, text in self._words[english].forms.items():
                texts.setdefault(form, []).append(re.escape(text))
        return {form: "|".join(texts[form]) for form in texts}

    @cached_property
    def _texts(self) -> Mapping[str, Any]:
        return _read_texts(self._folder / "texts.yml")

    @cached_property
    def _meanings(self) -> Mapping[str, Any]:
        return _read_texts(self._folder / "meanings.yml")

    @cached_property
    def _words(self) -> Mapping[str, Word]:
        """Its words by English word; for a form with several variants, the first."""
        words = {}
        for translations in self._meanings["words"].values():
            for english, translation in translations.items():
                if isinstance(translation, dict):
                    forms = translation
                else:
                    forms = {"said": translation}
                words[english] = make_word(
                    {name: _split_ways(ways)[0] for name, ways in forms.items()}
                )
        return words

    @cached_property
    def _gloss(self) -> Gloss:
        kinds = self._meanings["words"]
        words = {}
        for translations in kinds.values():
            # answers in English count, too
            for english in translations:
                words[english] = english
        for translations in kinds.values():
            for translation in translations.items():
                words |= dict(_word_meanings(*translation))
        spelling = self._meanings.get("spelling", ())
        spelled = Gloss({}, {}, (), spelling=spelling).spell_out
        parts: dict[str, str] = {}
        for kind, forms in kinds.items():
            ways: set[str] = set()
            for word in forms.items():
                ways.update(way for way, _ in _word_meanings(*word))
            # longest first: an alternative that begins another one would match too
            # early
            parts[kind] = spelled(
                "|".join(sorted(map(re.escape, ways), key=len, reverse=True))
            )
        parts |= self._meanings.get("parts", {})
        placeholders = re.compile("|".join(rf"\{{{name}\}}" for name in parts))
        rules = []
        for pattern, english in self._meanings["rules"]:
            filled = placeholders.sub(lambda match: parts[match[0][1:-1]], pattern)
            rules.append((filled, english))
        return Gloss(
            words,
            self._meanings["phrases"],
            rules,
            self._meanings.get("endings", "").split(),
            spelling,
        )


def _read_texts(path: Path) -> Mapping[str, Any]:
    """Return the content of a YAML file with all scalars as texts, because `no` is a word in them."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    fields: Mapping[str, Any] = yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506 - makes nothing but texts
    return fields


@cache
def _english_sentences() -> Mapping[str, Any]:
    return _read_texts(Path(__file__).parent / "en" / "sentences.yml")


def _fill_clauses(
    wordings: Sequence[str],
    english: str,
    texts: Mapping[str, Any],
    parts: Mapping[str, Any],
) -> Iterator[tuple[str, str]]:
    """Yield wordings with their English, each slot with clauses in `parts` replaced by each clause.

    Several such slots in one wording are replaced by clauses with the same key.
    """
    for wording in wordings:
        slots = [name for name in parts if f"{{{name}}}" in wording]
        for key in texts[slots[0]] if slots else ("",):
            filled_texts = [wording]
            meaning = english
            for slot in slots:
                meaning = meaning.replace(f"{{{slot}}}", parts[slot][key])
                filled = []
                for clause in variants(texts[slot][key]):
                    for text in filled_texts:
                        filled.append(text.replace(f"{{{slot}}}", clause))
                filled_texts = filled
            for text in filled_texts:
                yield text, meaning


def _split_ways(text: str) -> list[str]:
    return [way.strip() for way in text.split(",") if way.strip()]


def _word_meanings(english: str, forms: Any) -> Iterator[tuple[str, str]]:
    """Yield the meanings of a word's first form, `said`, and its plural, `many`.

    Other forms are only for texts.
    """
    by_form = forms if isinstance(forms, dict) else {"said": forms}
    for name, meaning in (("many", f"{english}s"), ("said", english)):
        for way in _split_ways(by_form.get(name, "")):
            yield way, meaning


ENGLISH = Language()


@cache
def load_language(code: str) -> Language:
    """Return a language by its code, such as `de`; ConfigurationError if there is none."""
    check_code(code)
    if code == ENGLISH.code:
        return ENGLISH
    return PackagedLanguage(code)


# --- The two languages of an example.


class Spoken(NamedTuple):
    """The languages that a scenario is told in and asked in."""

    told: Language
    asked: Language

    def meaning(self, text: str, known: Sequence[str] = ()) -> str:
        """Return a text of either language in English words; an English text stays unchanged."""
        for language in dict.fromkeys((self.asked, self.told)):
            if detect_language(text, language) is not ENGLISH:
                text = language.meaning(text, known)
        return text

    def judged(
        self, evaluator: Evaluator, answers: Sequence[str], known: Sequence[str] = ()
    ) -> Score | Unscored:
        """Return an evaluator's verdict on the answers in English, with the original last answer as evidence.

        `known`: names and other words without a translation.
        """
        told = answers.told if isinstance(answers, Replies) else ()
        verdict = evaluator(
            Replies(
                (self.meaning(answer, known) for answer in answers),
                map(self.meaning, told),
            )
        )
        if self == (ENGLISH, ENGLISH):
            return verdict
        return replace(verdict, evidence=evidence_snippet(answers[-1]))


def parse_languages(parameters: Mapping[str, Any]) -> Spoken:
    """Return the languages of an example, by its parameter `language`.

    It is a code such as `de`, or two as in `en:de` (told in, asked in).
    """
    choice = parameters.get("language", ENGLISH.code)
    if not isinstance(choice, str):
        raise ConfigurationError(
            f"language is a code such as 'de', or two as in 'en:de', not {choice!r}"
        )
    told, asked = split_languages(choice)
    return Spoken(load_language(told), load_language(asked))


_NAME_OR_DATE = re.compile(r"(?:\d+|[A-ZÀ-Ý]\w+) [A-Z]\w+|\S+")
_WORD = re.compile(r"[^\W\d_]+")
_CJK = lazy_pattern(r"[\u3400-\u9fff]")


@cache
def _frequent_words() -> Mapping[str, str]:
    """Return words that are frequent in one language but not in the others, with its code."""
    folder = Path(__file__).parent
    codes = {}
    for code in CODES:
        text = (folder / code / "marks.txt").read_text("utf-8")
        codes.update(dict.fromkeys(text.split(), code))
    return codes


def detect_language(message: str, before: Language = ENGLISH) -> Language:
    """Return the language of a message, by its most frequent marks; if unclear, the one `before`."""
    # the beginning is enough, and keeps the time constant for pages
    text = message[:400].lower()
    codes = _frequent_words()
    hits = dict.fromkeys(CODES, 0)
    for word in codes.keys() & _WORD.findall(text):
        hits[codes[word]] += 1
    if not text.isascii():
        # the only language here with these characters
        hits["zh"] += len(_CJK.findall(text))
    best = max(hits, key=lambda code: hits[code])
    best_hits = hits.pop(best)
    next_hits = max(hits.values(), default=0)
    if best_hits > next_hits and (best_hits >= 2 or not next_hits):
        return load_language(best)
    return before


# --- Gloss: a text of another language in English words, as far as the rules of
# evaluators and of the reader know them.

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Delimiters of text that is already English; private characters, which never occur in messages."""
_KEPT = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_MEANT = re.compile(r"<(\d)>")
_TRANSLATED_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_SPACES = re.compile(r" +(?=[ ,.!?;:])")
_BETWEEN = re.compile(r",?\s+")
_CJK_RUN = lazy_pattern(r"[\u3400-\u9fff]+")
_PUNCTUATION = str.maketrans(
    {
        "。": ". ",
        "，": ", ",
        "、": ", ",
        "？": "? ",
        "！": "! ",
        "：": ": ",
        "；": "; ",
        "¿": " ",
        "¡": " ",
    }
)


class Gloss:
    """Replaces words of one language by English ones; unknown words stay unchanged.

    Longer phrases take precedence. Texts in Chinese characters are read from the left,
    longest phrase first. Takes time linear in the text.
    """

    def __init__(
        self,
        words: Mapping[str, str],
        phrases: Mapping[str, str],
        rules: Sequence[tuple[str, str]],
        endings: Sequence[str] = (),
        spelling: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._spelling = []
        for pattern, written_out in spelling:
            self._spelling.append((re.compile(pattern, re.IGNORECASE), written_out))
        self._words = {}
        for word, english in words.items():
            self._words[self.spell_out(word).casefold()] = english
        self._phrases = dict(self._words)
        for phrase_text, english in phrases.items():
            self._phrases[self.spell_out(phrase_text).casefold()] = english
        self._rules = []
        for pattern, english in rules:
            self._rules.append((re.compile(pattern, re.IGNORECASE), english))
        self._endings = tuple(sorted(endings, key=len, reverse=True))
        self._most = max((len(phrase.split()) for phrase in self._phrases), default=1)

    def __call__(self, text: str, known: Sequence[str] = ()) -> str:
        """Return the text in English words; `known` words stay unchanged, and count as separate words."""
        text = self.spell_out(text)
        for name in sorted(filter(None, known), key=len, reverse=True):
            apart = " " if _CJK_RUN.search(name) else ""
            result = re.escape(name) if apart else rf"\b{re.escape(name)}\b"
            text = re.sub(
                f"{result}(?![^{_OPEN}]*{_CLOSE})",
                f"{apart}{_OPEN}{name}{_CLOSE}{apart}",
                text,
            )
        if self._of_characters:
            return _SPACES.sub("", self._meant(text)).strip(" ")
        return self._meant(text)

    def spell_out(self, text: str) -> str:
        """Return the text with contractions expanded, such as `de le` for `du`."""
        for pattern, written_out in self._spelling:
            text = pattern.sub(written_out, text)
        return text

    def _meant(self, text: str) -> str:
        for pattern, english in self._rules:
            text = pattern.sub(partial(self._said, english), text)
        parts = []
        end = 0
        for match in _KEPT.finditer(text):
            parts += [self._worded(text[end : match.start()]), match[1]]
            end = match.end()
        return "".join([*parts, self._worded(text[end:])])

    def _said(self, english: str, match: re.Match[str]) -> str:
        r"""Return a rule's English: `<1>` is the meaning of a group, `\1` its text."""
        template = _MEANT.sub(
            lambda number: self._meant(match[int(number[1])] or ""), english
        )
        text = _KEPT.sub(r"\1", match.expand(template))
        return f"{_OPEN}{text}{_CLOSE}"

    def _worded(self, text: str) -> str:
        if characters := self._of_characters:

            def read(match: re.Match[str]) -> str:
                # known phrases alternate with unknown text
                parts = characters.split(match[0])
                meanings = [self._phrases.get(part, part) for part in parts]
                return f" {' '.join(filter(None, meanings))} "

            text = _CJK_RUN.sub(read, text)
        text = text.translate(_PUNCTUATION) if not text.isascii() else text
        spots = [match.span() for match in _TRANSLATED_WORD.finditer(text)]
        parts = []
        end = 0
        place = 0
        while place < len(spots):
            for count in range(min(self._most, len(spots) - place), 0, -1):
                phrase = _BETWEEN.sub(
                    " ", text[spots[place][0] : spots[place + count - 1][1]].casefold()
                )
                # in, not get: some words mean nothing in English, "ne" and "吧"
                if phrase in self._phrases:
                    english: str | None = self._phrases[phrase]
                    break
            else:
                english = self._meaning_of_form(phrase)
            start = spots[place][0]
            parts.append(text[end:start])
            end = spots[place + count - 1][1]
            original = text[start:end]
            parts.append(original if english is None else english)
            place += count
        return "".join([*parts, text[end:]])

    def _meaning_of_form(self, word: str) -> str | None:
        """Return the meaning of a word that is a form of a known one."""
        for ending in self._endings:
            if word.endswith(ending):
                stem = word.removesuffix(ending)
                if stem in self._words:
                    return self._words[stem]
        return None

    @cached_property
    def _of_characters(self) -> re.Pattern[str] | None:
        """Matches any phrase in Chinese characters, longest first; None if there is none."""
        phrases = sorted(
            filter(_CJK_RUN.fullmatch, self._phrases), key=len, reverse=True
        )
        if phrases:
            return re.compile(f"({'|'.join(phrases)})")
        return None
