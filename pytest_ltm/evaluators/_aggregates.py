"""Questions over many facts: numbers, orders, sets and single names; and answers with their sources."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import Check, Score, Scoring, plain_words
from pytest_ltm.evaluators._rules import LEXICON, Ruled, answer_at, values_at
from pytest_ltm.language.clauses import normalize_text, phrase_positions
from pytest_ltm.language.commitment import (
    Mention,
    asserted_mentions,
    committed_values,
    find_mentions,
    is_alternative,
    last_word,
)
from pytest_ltm.language.normal_form import strip_struck
from pytest_ltm.language.recital import recites_messages
from pytest_ltm.language.values.quantities import find_quantities

NUMBER = "number"
ORDER = "order"
SET = "set"
NAME = "name"
RE = LEXICON.expressions("aggregates")


class WorksOut(Ruled, Struct, frozen=True):
    """The mean credit of answers to questions about many facts at once, each by its kind.

    A number earns full credit if it is right, and half within a tenth. An order earns
    its rank agreement (Kendall's tau): the share of pairs in the right order, less the
    share in the wrong one. A set earns the share of its names that are given, less the
    share of other names that are. A single name is right or wrong. So a random order,
    or naming everything, earns nothing or little. Numbers may be in words or digits;
    days, the question's own numbers and the steps of a calculation are ignored. No
    published results exist to agree with: every scoring uses this rule.
    """

    family: ClassVar[str] = "works-out"
    asked: tuple[str, ...]
    """The kind of each question: NUMBER, ORDER, SET or NAME."""
    expected: tuple[tuple[str, ...], ...]
    """The expected answer of each question: a number, names in order, the names of a set, or one name."""
    others: tuple[tuple[str, ...], ...] = ()
    """All other names, or the numbers that the question itself names, for each question."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the credits; a missing answer earns none."""
        answers = self.read(answers)
        earned = list[float]()
        missed = ""
        for place, kind in enumerate(self.asked):
            answer = answer_at(answers, place)
            earned.append(
                _CREDITS[kind](
                    answer, self.expected[place], values_at(self.others, place)
                )
            )
            missed = missed or (answer if earned[-1] < 1 else "")
        checks = [
            Check(f"{kind}: {', '.join(expected)}", credit == 1)
            for kind, expected, credit in zip(
                self.asked, self.expected, earned, strict=True
            )
        ]
        reason = (
            f"credit by question: {', '.join(f'{credit:.2f}' for credit in earned)}"
        )
        return self.score(sum(earned) / max(len(earned), 1), reason, missed, checks)


# --- Numbers.


def _number_credit(
    answer: str, expected: Sequence[str], told_numbers: Sequence[str]
) -> float:
    right_number = float(expected[0])
    value = settled_number(
        answer, {float(number) for number in told_numbers if number != expected[0]}
    )
    if value is None:
        return 0.0
    # a near miss shows more knowledge than a guess: within a tenth earns half
    if value == right_number:
        return 1.0
    if abs(value - right_number) <= 0.1 * right_number:
        return 0.5
    return 0.0


def settled_number(answer: str, told_numbers: set[float]) -> float | None:
    """Return the number that an answer concludes with; None if it has none, or several."""

    def find(text: str) -> list[Mention]:
        """Return the mentions of numbers in a text with digits, except days, times and those given."""
        mentions: list[Mention] = []
        for quantity in find_quantities(text):
            context = text[max(0, quantity.start - _AROUND) : quantity.start]
            after = text[quantity.end :][:20]
            # "of the 12 guests" names the whole, not the answer
            aside = RE.aside.search(context) and RE.counted.match(after)
            if (
                not quantity.is_time
                and quantity.value not in told_numbers
                and not aside
            ):
                mentions.append(
                    Mention(quantity.start, quantity.end, str(float(quantity.value)))
                )
        return mentions

    conclusion = last_word(answer, lambda part: bool(find(_levelled_text(part))))
    text = _levelled_text(conclusion)
    mentions = asserted_mentions(text, find, formerly=True)
    if any(
        is_alternative(text, mention)
        or RE.range.search(text[max(0, mention.start - 20) : mention.start])
        for mention in mentions
    ):
        return None
    # the steps of a calculation are also numbers
    if len({mention.value for mention in mentions}) > 1:
        results = _result_mentions(text, mentions)
    else:
        results = mentions
    return float(results[-1].value) if results else None


def _levelled_text(reply: str) -> str:
    text = normalize_text(reply)
    return RE.signs.sub(
        "", RE.item.sub(" ", text) if RE.first_item.search(text) else text
    )


def _result_mentions(text: str, mentions: Sequence[Mention]) -> Sequence[Mention]:
    """Return the number of a brief opening, else the last one called a result, else the opening's only one."""
    opening = RE.opening.match(text)
    opens = [
        mention for mention in mentions if opening and mention.start < opening.end()
    ]
    opens = (
        opens if len({opening_mention.value for opening_mention in opens}) == 1 else []
    )
    # a brief opening that begins with a number is the answer, regardless of the rest:
    # "seven gifts"
    brief = opening is not None and len(plain_words(opening[0])) <= 4
    if (
        opens
        and brief
        and not plain_words(text[: opens[0].start])
        and not RE.result_after.match(text[opens[0].end :])
    ):
        return opens
    results = list[Mention]()
    since = 0  # words after a number belong to it: "143 in total: 40 and 103"
    for mention in mentions:
        result_word = RE.result_before.search(
            text[max(since, mention.start - _AROUND) : mention.start]
        )
        result_word = result_word or RE.result_of.search(
            text[max(0, mention.start - 2 * _AROUND) : mention.start]
        )
        behind = RE.result_after.match(text[mention.end : mention.end + _AROUND])
        results += [mention] if result_word or behind else []
        since = mention.end + (behind.end() if behind else 0)
    return results[-1:] or opens


# Characters around a number or a name that may describe it.
_AROUND = 50

# --- Names.


def _order_credit(
    answer: str, expected: Sequence[str], _others: Sequence[str]
) -> float:
    find = partial(find_mentions, names=tuple(expected))
    text = _last_naming(answer, find, 2)
    values = {first_name.value for first_name in find(text)}
    segments = reversed(RE.segment.split(text))
    text = next(
        (
            segment
            for segment in segments
            if {first_name.value for first_name in find(segment)} == values
        ),
        text,
    )
    texts = list(
        dict.fromkeys(
            mention.value for mention in asserted_mentions(text, find, formerly=True)
        )
    )
    if len(expected) < 2:
        return float(texts == list(expected))
    places = {text: place for place, text in enumerate(texts)}
    pairs = list(itertools.combinations(expected, 2))
    place_pairs = [
        (places[first_name], places[second_name])
        for first_name, second_name in pairs
        if first_name in places and second_name in places
    ]
    return max(
        0.0,
        sum(1 if first < second else -1 for first, second in place_pairs) / len(pairs),
    )


def _last_naming(
    answer: str, find: Callable[[str], Sequence[Mention]], least: int = 1
) -> str:
    """Return the normalized conclusion of an answer, if it names at least `least` values; else the whole answer."""

    def names(part: str) -> bool:
        return len({mention.value for mention in find(normalize_text(part))}) >= least

    return normalize_text(last_word(RE.possessive.sub("", answer), names))


def _set_credit(answer: str, expected: Sequence[str], rivals: Sequence[str]) -> float:
    find = partial(find_mentions, names=(*expected, *rivals))

    def belonging(text: str) -> list[Mention]:
        """Return the mentions of names that the text does not describe as lacking something."""
        owners = list[Mention]()
        end = len(text)
        lacks = False
        for mention in reversed(find(text)):
            after = text[mention.end : end]
            listed = lacks and RE.listed.fullmatch(after) is not None
            lacks = listed or RE.lacks.search(RE.segment.split(after)[0]) is not None
            owners += [] if lacks else [mention]
            end = mention.start
        return owners[::-1]

    text = _concluding_part_of(_last_naming(answer, find), find)
    # "everybody but Ada": all names that do not follow it
    if excepted := RE.except_word.search(text):
        left_out = {
            mention.value for mention in find(text) if mention.start > excepted.start()
        }
        names = {*expected, *rivals} - left_out if left_out else set()
    else:
        asserted = asserted_mentions(text, belonging, formerly=True)
        names = {
            mention.value for mention in asserted if not is_alternative(text, mention)
        }
    right = len(names & set(expected))
    wrong = len(names & set(rivals))
    return max(0.0, right / len(expected) - wrong / max(len(rivals), 1))


def _concluding_part_of(text: str, find: Callable[[str], Sequence[Mention]]) -> str:
    """Return the conclusion after the names ("so …", "of these …"), or the whole text if it has none."""
    # at most the last four, latest first: bounded even if there are many
    for marker in list(RE.of_these.finditer(text))[:-5:-1]:
        if find(text[: marker.start()]) and find(text[marker.end() :]):
            return text[marker.end() :]
    return text


def chosen_names(answer: str, names: Sequence[str]) -> set[str]:
    """Return the names that an answer gives, without those that it only compares with them."""

    def find(text: str) -> list[Mention]:
        """Return the mentions of names, without those only compared with: "more than Ada"."""
        mentions = list[Mention]()
        compared = False
        end = 0
        for mention in find_mentions(text, tuple(names)):
            linked = (
                compared
                and RE.with_sums.fullmatch(text[end : mention.start]) is not None
            )
            compared = (
                linked
                or RE.compared.search(
                    text[max(0, mention.start - _AROUND) : mention.start]
                )
                is not None
            )
            mentions += [] if compared else [mention]
            end = mention.end
        return mentions

    texts = committed_values(RE.possessive.sub("", answer), find)
    if len(texts) == 1:
        return texts
    text = _last_naming(answer, find)
    concluded = committed_values(_concluding_part_of(text, find), find)
    ways = (_outstanding_names(text, find), concluded, _explained_names(text, find))
    return next((names for names in ways if len(names) == 1), set())


def _outstanding_names(text: str, find: Callable[[str], Sequence[Mention]]) -> set[str]:
    """Return the name before a superlative or "first" in the last such sentence, unless it is one of several."""
    for segment in reversed(RE.segment.split(text)):
        superlative = RE.most.search(segment) or RE.first.search(segment)
        result = [
            mention
            for mention in asserted_mentions(segment, find, formerly=True)
            if superlative and mention.end <= superlative.start()
        ]
        if result:
            several = len(result) > 1 and RE.listed.fullmatch(
                segment[result[-2].end : result[-1].start]
            )
            if several or is_alternative(segment, result[-1]):
                return set()
            return {result[-1].value}
    return set()


def _explained_names(text: str, find: Callable[[str], Sequence[Mention]]) -> set[str]:
    """Return the names before a text gives reasons or sources, unless these offer another name."""
    opening = RE.reasons.match(text)
    explanation = text[opening.end(1) :] if opening else ""
    rivals = find(explanation)
    if not opening or (
        rivals and RE.offers.search(explanation[: rivals[-1].end + _AROUND])
    ):
        return set()
    return {
        mention.value for mention in asserted_mentions(opening[1], find, formerly=True)
    }


_CREDITS: Mapping[str, Callable[[str, Sequence[str], Sequence[str]], float]] = {
    NUMBER: _number_credit,
    ORDER: _order_credit,
    SET: _set_credit,
    NAME: lambda answer, expected, others: (
        chosen_names(answer, (*expected, *others)) == set(expected)
    ),
}


# --- Answers with their sources.


class AnswersWithSources(Ruled, Struct, frozen=True):
    """The mean over questions: half for the right answer, half for the passages named as its sources.

    Sources earn their F1 against the passages needed, on a scale where naming all
    passages earns nothing. A passage that a later one corrects counts neither way. A
    name is right if the answer settles on it, a number if it is the result; titles are
    recognised in any order, with or without their article or kind. No published results
    exist to agree with: every scoring uses this rule.
    """

    family: ClassVar[str] = "answers-with-sources"
    reads_speech: ClassVar[bool] = True
    asked: tuple[str, ...]
    """The kind of each question: NAME or NUMBER."""
    expected: tuple[tuple[str, ...], ...]
    """The expected name or number of each question."""
    others: tuple[tuple[str, ...], ...]
    """The other possible names for each question."""
    sources: tuple[tuple[str, ...], ...]
    """The titles of the passages that each question needs."""
    superseded: tuple[tuple[str, ...], ...]
    """The titles of passages corrected by those that each question needs."""
    titles: tuple[str, ...]
    """The titles of all passages."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the halves; a missing answer earns neither."""
        answers = self.read(answers)
        ends = [(RE.kind.sub("", title).lower(), title) for title in self.titles]
        counts = Counter(end for end, _ in ends)
        # a title may be named in full, or by its end if no other title has the same end
        ways = {
            (end if counts[end] == 1 else title.lower()): title for end, title in ends
        }
        checks = list[Check]()
        right = 0
        cited = 0.0
        missed = ""
        for place, kind in enumerate(self.asked):
            answer = RE.possessive.sub("", strip_struck(answer_at(answers, place)))
            answer = "" if recites_messages(answer) else answer
            ok = _says_value(
                kind,
                _brief_answer(answer, ways, instead="it"),
                self.expected[place],
                self.others[place],
            )
            cited_titles = _cited_titles(_brief_answer(answer, ways), ways) - set(
                self.superseded[place]
            )
            right += ok
            needed = self.sources[place]
            passages = len(self.titles) - len(self.superseded[place])
            result = (
                2
                * len(cited_titles.intersection(needed))
                / (len(cited_titles) + len(needed))
            )
            # the score for naming all passages is worth nothing
            free = 2 * len(needed) / (passages + len(needed))
            cited += (
                max(0.0, (result - free) / (1 - free))
                if free < 1
                else float(result == 1)
            )
            checks.append(Check(f"answer: {self.expected[place][0]}", ok))
            checks += [
                Check(f"source: {title}", title in cited_titles) for title in needed
            ]
            checks += [
                Check(f"no source: {title}", ok=False)
                for title in sorted(cited_titles - set(needed))
            ]
            missed = missed or (
                "" if ok and cited_titles == set(needed) else answer_at(answers, place)
            )
        number = max(len(self.asked), 1)
        reason = f"{right} of {len(self.asked)} answers right, sources worth {cited / number:.2f}"
        return self.score((right + cited) / 2 / number, reason, missed, checks)


def _says_value(
    kind: str, answer: str, expected: Sequence[str], rivals: Sequence[str]
) -> bool:
    if kind == NUMBER:
        counted = RE.cited_counted.sub("these", RE.in_brackets.sub("", answer))
        return settled_number(counted, set()) == float(expected[0])
    return chosen_names(RE.began.sub(r"\1 first", answer), (*expected, *rivals)) == set(
        expected
    )


# --- Titles.


def _cited_titles(answer: str, ways: Mapping[str, str]) -> set[str]:
    """Return the titles that an answer names as its sources, without those that it rejects."""

    def find(text: str) -> list[Mention]:
        mentions = [
            Mention(*spot, title)
            for phrase, title in ways.items()
            for spot in phrase_positions(text, phrase)
        ]
        # "the harbour log is of no use": read, but not a source
        return sorted(
            (
                mention
                for mention in mentions
                if not RE.useless.match(text[mention.end :])
            ),
            key=lambda spotted: spotted.start,
        )

    conclusion = normalize_text(
        last_word(answer, lambda part: bool(find(normalize_text(part))))
    )
    return {
        mention.value for mention in asserted_mentions(conclusion, find, formerly=True)
    }


def _brief_answer(answer: str, ways: Mapping[str, str], *, instead: str = "") -> str:
    """Return an answer with titles in their shortest form, or replaced by `instead`."""
    for phrase, title in ways.items():
        if title.lower().endswith(phrase):
            kind = rf"(?:{re.escape(title[: -len(phrase)])})?"
        else:
            kind = ""
        answer = re.sub(
            rf"\b{kind}{re.escape(phrase)}\b",
            instead or phrase,
            answer,
            flags=re.IGNORECASE,
        )
    return answer
