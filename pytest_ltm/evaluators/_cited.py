"""Answers with their sources: what an answer settles on, and which passages it names for it."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._language.clauses import normalize_text, phrase_positions
from pytest_ltm._language.commitment import Mention, asserted_mentions, last_word
from pytest_ltm._language.normal_form import strip_struck
from pytest_ltm._language.patterns import lazy_pattern
from pytest_ltm._language.recital import recites_messages
from pytest_ltm._model.score import Check, Scoring
from pytest_ltm.evaluators._aggregates import NUMBER, POSSESSIVE, chosen_names, settled_number
from pytest_ltm.evaluators._rules import LEXICON, Ruled, answer_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm._model.score import Score

# What a title may be named without: an article, or what kind of passage it is, as in "Report of the".
_KIND = lazy_pattern(r"^(?:the |an? |.* (?:of|from|in|to) (?:the )?)", re.IGNORECASE)
_COUNTED = lazy_pattern(r"\b\w+ (?:passages|sources|titles|texts|documents)\b", re.IGNORECASE)
# Where nothing but titles stood.
_IN_BRACKETS = lazy_pattern(r"\s*[(\[](?:it\b(?:[\s,;/&]|and\b)*)+[)\]]")
# What compares two, and does not say that the one is over.
_BEGAN = lazy_pattern(r"\b(born|founded|opened|set up|started) earlier\b", re.IGNORECASE)
_USELESS = LEXICON.expression(r"\W*(?:is|was|are|were) {cited useless}\b")


@dataclass(frozen=True, slots=True)
class AnswersWithSources(Ruled):
    """The mean over questions of half for the right answer and half for the passages named as its sources, apart.

    Sources earn their F1 against the passages needed, on a scale where naming all passages earns nothing. A passage
    that a later one corrects counts neither way. A name is right if the answer settles on it, a number if it is the
    result; titles are read in any order, with or without their article or kind. There are no published results to agree
    with: every scoring has this rule.
    """

    family: ClassVar[str] = "answers-with-sources"
    reads_speech: ClassVar[bool] = True
    asked: tuple[str, ...]
    """Of each question: NAME or NUMBER."""
    expected: tuple[tuple[str, ...], ...]
    """For each question the name or number."""
    others: tuple[tuple[str, ...], ...]
    """For each question the names that it could have been."""
    sources: tuple[tuple[str, ...], ...]
    """For each question the titles of the passages that it needs."""
    superseded: tuple[tuple[str, ...], ...]
    """For each question the titles of passages that were corrected in what it needs."""
    titles: tuple[str, ...]
    """Of all passages."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the halves; a missing answer earns neither."""
        answers = self.read(answers)
        ways = _title_wordings(self.titles)
        checks = list[Check]()
        right, cited, missed = 0, 0.0, ""
        for place, kind in enumerate(self.asked):
            answer = POSSESSIVE.sub("", strip_struck(answer_at(answers, place)))
            answer = "" if recites_messages(answer) else answer
            ok = _says_value(kind, _brief_answer(answer, ways, instead="it"), self.expected[place], self.others[place])
            named = _cited_titles(_brief_answer(answer, ways), ways) - set(self.superseded[place])
            right += ok
            needed = self.sources[place]
            passages = len(self.titles) - len(self.superseded[place])
            result = 2 * len(named.intersection(needed)) / (len(named) + len(needed))
            free = 2 * len(needed) / (passages + len(needed))
            cited += max(0.0, (result - free) / (1 - free)) if free < 1 else float(result == 1)
            checks.append(Check(f"answer: {self.expected[place][0]}", ok))
            checks += [Check(f"source: {title}", title in named) for title in needed]
            checks += [Check(f"no source: {title}", ok=False) for title in sorted(named - set(needed))]
            missed = missed or ("" if ok and named == set(needed) else answer_at(answers, place))
        number = max(len(self.asked), 1)
        reason = f"{right} of {len(self.asked)} answers right, sources worth {cited / number:.2f}"
        return self.score((right + cited) / 2 / number, reason, missed, checks)


def _says_value(kind: str, answer: str, expected: Sequence[str], others: Sequence[str]) -> bool:
    if kind == NUMBER:
        return settled_number(_COUNTED.sub("these", _IN_BRACKETS.sub("", answer)), set()) == float(expected[0])
    return chosen_names(_BEGAN.sub(r"\1 first", answer), (*expected, *others)) == set(expected)


# --- Titles.


def _title_wordings(titles: Iterable[str]) -> Mapping[str, str]:
    """Return the titles by what names them: all of it, or its end, unless another title has that, too."""
    ends = [(_KIND.sub("", title).lower(), title) for title in titles]
    counts = Counter(end for end, _ in ends)
    return {(end if counts[end] == 1 else title.lower()): title for end, title in ends}


def _title_mentions(text: str, ways: Mapping[str, str]) -> list[Mention]:
    """Return where a levelled text has titles, in their order, but none that it calls useless."""
    mentions = [Mention(*spot, title) for way, title in ways.items() for spot in phrase_positions(text, way)]
    return sorted((one for one in mentions if not _USELESS.match(text[one.end :])), key=lambda one: one.start)


def _cited_titles(answer: str, ways: Mapping[str, str]) -> set[str]:
    """Return the titles that an answer names as its sources, not those of which it says that they are none."""
    find = partial(_title_mentions, ways=ways)
    said = normalize_text(last_word(answer, lambda part: bool(find(normalize_text(part)))))
    return {one.value for one in asserted_mentions(said, find, formerly=True)}


def _brief_answer(answer: str, ways: Mapping[str, str], *, instead: str = "") -> str:
    """Return an answer in which titles are named in the briefest way, or have something `instead` of them."""
    for way, title in ways.items():
        kind = rf"(?:{re.escape(title[: -len(way)])})?" if title.lower().endswith(way) else ""
        answer = re.sub(rf"\b{kind}{re.escape(way)}\b", instead or way, answer, flags=re.IGNORECASE)
    return answer
