"""Spy Meeting: the answer decodes three messages, each identified by one of its keywords."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import Check, Score, Scoring, plain_words
from pytest_ltm.evaluators._rules import LEXICON, Ruled
from pytest_ltm.language.clauses import clause_around, normalize_text, sentence_around
from pytest_ltm.language.commitment import (
    Mention,
    is_alternative,
    is_misspelt,
    is_retracted,
    last_word,
    trim_flood,
)
from pytest_ltm.language.dates import MONTHS
from pytest_ltm.language.recital import enumerates_everything
from pytest_ltm.language.values import find_days


class DecodesMessages(Ruled, Struct, frozen=True):
    """The share of messages decoded: a keyword, or a synonym of one, is in the last answer.

    `current`: a keyword that is denied, retracted or offered as an alternative does not
    count, and each foreign message beyond the number asked for costs one; dates, times
    of day and spellings may take any usual form. `v3.5` and `paper`: (keyword groups
    found - 1 if a keyword of another message appears) / groups, at least 0; whole
    words, case-sensitive.
    """

    family: ClassVar[str] = "spy-meeting"
    version: ClassVar[int] = 2
    expected: tuple[tuple[str, ...], ...]
    """One group of keywords per message."""
    others: tuple[tuple[str, ...], ...] = ()
    """The groups of the messages that were not sent."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of messages decoded in the last answer."""
        answer = self.read_last(answers)
        ours = set(chain.from_iterable(self.expected))
        if not self.follows_own_rules:
            decoded: list[bool] = []
            for group in self.expected:
                decoded.append(any(_has_exactly(answer, word) for word in group))
            strange: list[str] = []
            for word in chain.from_iterable(self.others):
                if word not in ours and _has_exactly(answer, word):
                    strange.append(word)
            return self._decoded(answer, decoded, strange, min(len(strange), 1))
        if enumerates_everything(answer):
            return self.score(0, "lists things instead of decoding", answer)
        groups = (*self.expected, *self.others)

        def tells(text: str) -> bool:
            return len(
                self._claimed(_uniform_dates(normalize_text(text)), groups)
            ) >= len(self.expected)

        text = _uniform_dates(normalize_text(last_word(answer, tells)))
        text = trim_flood(
            text,
            lambda part: any(_keyword_mentions(part, group) for group in groups),
            head=0,
        )
        claimed = self._claimed(text, self.expected)
        decoded = [group[0] in claimed for group in self.expected]
        # a keyword shared with a sent message does not show another one
        foreign = [group for group in self.others if not ours & set(group)]
        strange = list(filter(None, self._claimed(text, foreign)))
        return self._decoded(
            answer, decoded, strange, max(sum(decoded) + len(strange) - len(decoded), 0)
        )

    def _decoded(
        self, answer: str, decoded: Sequence[bool], strange: Sequence[str], excess: int
    ) -> Score:
        labels = [f"decodes {' / '.join(group)}" for group in self.expected]
        checks = [Check(label, ok) for label, ok in zip(labels, decoded, strict=True)]
        reason = f"{sum(decoded)} of {len(decoded)} messages decoded"
        reason += f", and {strange[0]!r} of another message" if strange else ""
        return self.score(
            max(sum(decoded) - excess, 0) / max(len(decoded), 1), reason, answer, checks
        )

    def _claimed(self, text: str, groups: Iterable[tuple[str, ...]]) -> dict[str, None]:
        """Return the groups that a text claims, by their first keywords."""
        by_group: dict[tuple[str, ...], list[Mention]] = {}
        for group in (*self.expected, *self.others):
            by_group[group] = _keyword_mentions(text, group)
        own_spots: list[Mention] = []
        for group in self.expected:
            own_spots += by_group[group]
        spots = list(chain.from_iterable(by_group.values()))
        claimed: dict[str, None] = {}

        def gaps(keyword: Mention, neighbours: Iterable[Mention]) -> Iterator[str]:
            """Yield the text between a keyword and each neighbour near enough to share its sentence."""
            for neighbour in neighbours:
                if abs(keyword.start - neighbour.start) < 120:
                    start = min(keyword.end, neighbour.end)
                    end = max(keyword.start, neighbour.start)
                    yield text[start:end]

        for group in groups:
            for spotted in by_group[group]:
                clause_before, _ = clause_around(text, spotted.start, spotted.end)
                denied = (
                    RE.not_word.search(clause_before)
                    or RE.untold.search(clause_before)
                    or is_retracted(text, spotted)
                )
                # a foreign keyword next to a sent one is a detail of it: "at dawn, by
                # boat"
                detail = group not in self.expected and any(
                    RE.beside.fullmatch(f"{gap} ") for gap in gaps(spotted, own_spots)
                )
                # of two alternatives neither counts, unless they are synonyms: "a pick
                # or a skeleton key"
                torn = False
                if is_alternative(text, spotted):
                    sentence = sentence_around(text, spotted.start, spotted.end)
                    rivals = [spot for spot in spots if spot.value != spotted.value]
                    torn = RE.torn.search(sentence) is not None or any(
                        map(RE.or_word.fullmatch, gaps(spotted, rivals))
                    )
                if not (denied or detail or torn):
                    claimed[group[0]] = None
        return claimed


# Synonyms by keyword.
_ALSO = LEXICON.table("spy also")
RE = LEXICON.expressions("spy")


def _uniform_dates(text: str) -> str:
    """Return a normalized text with dates as "31 october" and times of day in one form."""
    text = RE.half_day.sub(lambda match: f"{match[1]}m", text)
    text = RE.clock.sub("midnight", text)
    for value, days in reversed(list(find_days(text))):
        names = [f"{day} {MONTHS[month - 1].lower()}" for month, day in days]
        # the full stop of a German date does not end a sentence
        behind = text[value.end :].removeprefix(".")
        text = f"{text[: value.start]}{' '.join(names)}{behind}"
    return text


def _keyword_mentions(text: str, group: tuple[str, ...]) -> list[Mention]:
    """Return the mentions of a group's keywords in normalized text, also in the plural or misspelt by a letter."""
    forms, single = _keyword_forms(group)
    # searching for the first three letters is much faster than matching a hundred
    # alternatives
    present_forms = tuple(form for form in forms if form[:3].partition(" ")[0] in text)
    matches: list[re.Match[str]] = []
    if present_forms:
        matches += _forms_pattern(present_forms).finditer(text)
    for keyword in single:
        words = _long_words(text).get(keyword[0], ())
        matches += [word for word in words if is_misspelt(word[0], keyword)]
    spans = sorted({match.span() for match in matches})
    # the last mentions decide, and each is compared with the rivals near it
    return [Mention(*span, group[0]) for span in spans[-40:]]


@lru_cache(maxsize=2)
def _long_words(text: str) -> dict[str, list[re.Match[str]]]:
    """Return the words that may be misspelt, by initial: the first letter of a misspelt word is assumed right."""
    words: dict[str, list[re.Match[str]]] = {}
    for word in RE.long_words.finditer(text):
        words.setdefault(word[0][0], []).append(word)
    return words


@lru_cache(maxsize=1 << 10)
def _forms_pattern(forms: tuple[str, ...]) -> re.Pattern[str]:
    rows = (r"[\W_]*".join(map(re.escape, form.split())) for form in forms)
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(rows)})(?![^\W_])")


@cache
def _keyword_forms(group: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the forms of a group's keywords, longest first, and the keywords that may be misspelt."""
    keywords = list(group)
    for keyword in group:
        keywords += _ALSO.get(keyword, ())
    names: list[str] = []
    for keyword in keywords:
        words = plain_words(_uniform_dates(normalize_text(keyword)))
        names.append(" ".join(words))
    forms = set(filter(None, names))
    for name in list(forms):
        # digits have no plural; a word of eight or more letters may be split in two:
        # "light house"
        parts = range(3, len(name) - 2) if name.isalpha() and len(name) >= 8 else ()
        if not name[-1:].isdigit():
            forms |= {
                f"{name}s",
                f"{name}es",
                f"{name[:-1]}ies",
                *(f"{name[:part]} {name[part:]}" for part in parts),
            }
    longest_first = tuple(sorted(forms, key=len, reverse=True))
    return longest_first, tuple(filter(str.isalpha, names))


def _has_exactly(answer: str, keyword: str) -> bool:
    """Return whether the published evaluators find a keyword in an answer: as a whole word, case-sensitive."""
    return re.search(rf"\b{re.escape(keyword)}\b", answer) is not None
