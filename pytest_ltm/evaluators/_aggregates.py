"""What many facts come to: numbers, orders, sets and single names that have to be worked out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._language.clauses import level
from pytest_ltm._language.commitment import (
    Mention,
    alternative,
    asserted,
    commitment,
    last_word,
    mentions,
    spoken,
)
from pytest_ltm._language.numbers import digits
from pytest_ltm._language.patterns import later
from pytest_ltm._language.quantities import CLOCKS, quantities
from pytest_ltm._language.words import words
from pytest_ltm._model.score import Check, Scoring
from pytest_ltm.evaluators._rules import Ruled, at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ltm._model.score import Score

NUMBER, ORDER, SET, NAME = "number", "order", "set", "name"
_NEAR = 0.1
"""A number so near the right one, as a share of it, earns a half."""
_ITEM = later(r"(?m)^[ \t]*(?:\d{1,3}[.)](?=\s)|\|[ \t]*\d{1,3}[ \t]*(?=\|))")
"""The number of an item in a list or a table."""
_FIRST_ITEM = later(r"(?m)^[ \t|]*[01]\b")
"""Without it there is no list, but an answer with its full stop: "260. That is the sum of all"."""
_SIGNS = later(r"[\u00a3$\u20ac]")
_RESULT_BEFORE = later(
    r"(?:=|\u2192|\b(?:total(?:ling|s|led)?|sum|in all|all ?together|comes? to|came to|adds? up to|makes?|made|"
    r"amounts? to|count|so|therefore|answer|result|difference|thats|that is|which is|this is)\b)[^\d.\n]{0,30}$"
)
_RESULT_OF = later(r"\b(?:sum of|difference between) (?:[\d\s,.]|and){3,80}(?:is|equals|:)\W*$")
_RESULT_AFTER = later(r"[^\d.,;\n]{0,20}\b(?:in all|in total|altogether|all told)\b")
"""What stands beside the number that a calculation comes to."""
_OPENING = later(r"[^:(\n;\u2013\u2014]*?(?:[:(\n;\u2013\u2014]|\.(?=\s|$)|$)")
_BRIEF = 4
"""An opening of no more words that begins with a number is an answer, whatever follows it: "seven gifts"."""
_RANGE = later(r"\b(?:between|from)\W+$")
_ASIDE = later(r"\b(?:from|across|over|in|with|out of|of (?:the|these|some))\W+$")
_COUNTED = later(r"\W{0,2}(?:gifts?|members?|donations?|contributions?|payments?|people|names|entries)\b")
"""Around a number that only says of how many things a number was made: "143 from 3 gifts", "7 of the 18 gifts"."""
_SEGMENT = later(r"[\n;:!?]|\.(?=\s|$)")
POSSESSIVE = later(r"['\u2019]s\b")
_EXCEPT = later(
    r"\b(?:everyone|everybody|all(?: of them)?(?: the)?(?: members)?)\b,? (?:but|except(?: for)?|apart from)\b"
)
_OF_THESE = later(
    r"\b(?:of (?:these|those|them|which)|so|therefore|thus|answer|"
    r"(?:older|oldest|elder|earlier|earliest|first)(?= ?:))\b"
)
_MARKERS = 4
"""How many of these are looked at, from the last one on."""
_LACKS = later(
    r"\b(?:never|nothing|didnt|did not|does not|doesnt|is not|isnt|was not|wasnt|not for|"
    r"(?:only|just) (?:gave|paid|put|for)|(?:gave|paid|put in) (?:only|just) for)\b"
)
"""What says of somebody that they do not belong to those who are asked for."""
_MOST = later(r"\b(?:most|highest|largest|biggest|top)\b")
_FIRST = later(r"\b(?:older|oldest|elder|eldest|earlier|earliest|first)\b")
_COMPARED = later(
    r"\b(?:than|against|ahead of|before|over|since|because|while|whereas|behind|beat|beats|followed by|versus|vs|"
    r"then|next|second|compared (?:to|with)|comes)\W+(?:the )?$"
)
_REASONS = later(
    r"([^,:;.\n\u2013\u2014(]{1,60})[,:;.\n\u2013\u2014(]\W*(?:because|since|as|for|it|which|who|that|he|she|they|"
    r"opened|founded|born|going by|according to|based on|sources?|passages?|titles?)\b"
)
_OFFERS = later(r"\b(?:or|nor|either|also|as well|maybe|perhaps|possibly|might|may|could|unless|likely)\b")
"""What leaves it open that it is somebody else."""
_LISTED = later(r"[\s,]*(?:(?:and|or|nor|&)\s)?")
_WITH_SUMS = later(r"[\s,\d()\u00a3$\u20ac]*(?:(?:and|or|nor|&)\s)?")


@dataclass(frozen=True, slots=True)
class WorksOut(Ruled):
    """The mean credit of answers to questions about many facts at once, each by its kind.

    A number earns everything where it is right, and a half within a tenth. An order earns its rank agreement (Kendall's
    tau): the share of pairs in the right order, less the share of pairs in the wrong one. A set earns the share of its
    names that are given, less the share of the other names that are. A single name is right or wrong. So what is
    ordered at random or names everything earns nothing, or little. Numbers are in words or digits; days, the numbers of
    the question and the steps of a calculation are passed over. There are no published results to agree with: every
    scoring has this rule.
    """

    family: ClassVar[str] = "works-out"
    asked: tuple[str, ...]
    """Of each question: NUMBER, ORDER, SET or NAME."""
    expected: tuple[tuple[str, ...], ...]
    """For each question a number, names in their order, the names of a set, or one name."""
    others: tuple[tuple[str, ...], ...] = ()
    """For each question all other names that there are; or the numbers that the question itself names."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the mean of the credits; a missing answer earns none."""
        answers = self.read(answers)
        earned, missed = list[float](), ""
        for place, kind in enumerate(self.asked):
            others = self.others[place] if place < len(self.others) else ()
            answer = at(answers, place)
            earned.append(_CREDITS[kind](spoken(answer), self.expected[place], others))
            missed = missed or (answer if earned[-1] < 1 else "")
        checks = [
            Check(f"{kind}: {', '.join(expected)}", credit == 1)
            for kind, expected, credit in zip(self.asked, self.expected, earned, strict=True)
        ]
        reason = f"credit by question: {', '.join(f'{credit:.2f}' for credit in earned)}"
        return self.score(sum(earned) / max(len(earned), 1), reason, missed, checks)


# --- Numbers.


def _number(answer: str, expected: Sequence[str], given: Sequence[str]) -> float:
    wanted = float(expected[0])
    said = settled(answer, {float(one) for one in given if one != expected[0]})
    if said is None:
        return 0.0
    return 1.0 if said == wanted else 0.5 if abs(said - wanted) <= _NEAR * wanted else 0.0


def settled(answer: str, given: set[float]) -> float | None:
    """Return the number that an answer comes to; None where it comes to none, or to several."""
    find = partial(_numbers, given=given)
    said = last_word(answer, lambda part: bool(find(_levelled(part))))
    text = _levelled(said)
    found = asserted(text, find, formerly=True)
    if any(alternative(text, one) or _RANGE.search(text[max(0, one.start - 20) : one.start]) for one in found):
        return None
    results = _results(text, found) if len({one.value for one in found}) > 1 else found
    return float(results[-1].value) if results else None


def _levelled(said: str) -> str:
    text = level(said)
    return digits(_SIGNS.sub("", _ITEM.sub(" ", text) if _FIRST_ITEM.search(text) else text))


def _numbers(text: str, given: set[float]) -> list[Mention]:
    """Return where a text with digits has numbers, except days, times and those given."""
    return [
        Mention(one.start, one.end, str(one.value))
        for one in quantities(text)
        if one.unit not in (*CLOCKS, "date", "minutes")
        and one.value not in given
        and not (_ASIDE.search(text[max(0, one.start - _AROUND) : one.start]) and _COUNTED.match(text[one.end :][:20]))
    ]


def _results(text: str, found: Sequence[Mention]) -> Sequence[Mention]:
    """Return the number of a brief opening, the last one that a text calls a result, or the only one in its opening."""
    opening = _OPENING.match(text)
    opens = [one for one in found if opening and one.start < opening.end()]
    if len({one.value for one in opens}) != 1:
        opens = []
    brief = opening is not None and len(words(opening[0])) <= _BRIEF
    if opens and brief and not words(text[: opens[0].start]) and not _RESULT_AFTER.match(text[opens[0].end :]):
        return opens
    results = list[Mention]()
    since = 0  # what stands behind a number is its own: "143 in total: 40 and 103"
    for one in found:
        before = _RESULT_BEFORE.search(text[max(since, one.start - _AROUND) : one.start])
        before = before or _RESULT_OF.search(text[max(0, one.start - 2 * _AROUND) : one.start])
        behind = _RESULT_AFTER.match(text[one.end : one.end + _AROUND])
        results += [one] if before or behind else []
        since = one.end + (behind.end() if behind else 0)
    return results[-1:] or opens


_AROUND = 50
"""Characters around a number or a name that may say what it is."""

# --- Names.


def _order(answer: str, expected: Sequence[str], _others: Sequence[str]) -> float:
    said = _ranked(answer, expected)
    if len(expected) < 2:
        return float(said == list(expected))
    pairs = list(itertools.combinations(expected, 2))
    return max(0.0, sum(_agreement(said, *pair) for pair in pairs) / len(pairs))


def _heard(answer: str, find: Callable[[str], Sequence[Mention]], least: int = 1) -> str:
    """Return the last word of an answer, levelled, if it names so many."""
    whole = POSSESSIVE.sub("", answer)
    return level(last_word(whole, lambda part: len({one.value for one in find(level(part))}) >= least))


def _ranked(answer: str, names: Sequence[str]) -> list[str]:
    """Return the names in their order: of the last segment that has them all, or else of the whole answer."""
    find = partial(mentions, names=tuple(names))
    text = _heard(answer, find, 2)
    known = {one.value for one in find(text)}
    for segment in reversed(_SEGMENT.split(text)):
        if {one.value for one in find(segment)} == known:
            text = segment
            break
    return list(dict.fromkeys(one.value for one in asserted(text, find, formerly=True)))


def _agreement(said: Sequence[str], first: str, second: str) -> int:
    if first not in said or second not in said:
        return 0
    return 1 if said.index(first) < said.index(second) else -1


def _set(answer: str, expected: Sequence[str], others: Sequence[str]) -> float:
    find = partial(mentions, names=(*expected, *others))
    text = _concluding(_heard(answer, find), find)
    if excepted := _EXCEPT.search(text):
        left_out = {one.value for one in find(text) if one.start > excepted.start()}
        named = {*expected, *others} - left_out if left_out else set()
    else:
        named = {one.value for one in asserted(text, partial(_belonging, find=find), formerly=True)
                 if not alternative(text, one)}  # fmt: skip
    right, wrong = len(named & set(expected)), len(named & set(others))
    return max(0.0, right / len(expected) - wrong / max(len(others), 1))


def _concluding(text: str, find: Callable[[str], Sequence[Mention]]) -> str:
    """Return what a levelled text comes to after it has named some: "so …", "of these …"; all of it, if nothing."""
    for marker in list(_OF_THESE.finditer(text))[: -_MARKERS - 1 : -1]:
        if find(text[: marker.start()]) and find(text[marker.end() :]):
            return text[marker.end() :]
    return text


def _belonging(text: str, find: Callable[[str], Sequence[Mention]]) -> list[Mention]:
    """Return the mentions of those of whom a levelled text does not go on to say that they lack something."""
    kept, end, lacks = list[Mention](), len(text), False
    for one in reversed(find(text)):
        after = text[one.end : end]
        listed = lacks and _LISTED.fullmatch(after) is not None
        lacks = listed or _LACKS.search(_SEGMENT.split(after)[0]) is not None
        kept += [] if lacks else [one]
        end = one.start
    return kept[::-1]


def _name(answer: str, expected: Sequence[str], others: Sequence[str]) -> float:
    return float(chosen(answer, (*expected, *others)) == set(expected))


def chosen(answer: str, names: Sequence[str]) -> set[str]:
    """Return which of the names an answer gives; those that it only compares with the one it gives do not count."""
    find = partial(_first, names=tuple(names))
    said = commitment(POSSESSIVE.sub("", answer), find)
    if len(said) == 1:
        return said
    text = _heard(answer, find)
    for settled_on in (_outstanding(text, find), commitment(_concluding(text, find), find), _explained(text, find)):
        if len(settled_on) == 1:
            return settled_on
    return set()


def _outstanding(text: str, find: Callable[[str], Sequence[Mention]]) -> set[str]:
    """Return whom the last sentence about the most, or the first, has before that word, unless it is one of several."""
    for segment in reversed(_SEGMENT.split(text)):
        most = _MOST.search(segment) or _FIRST.search(segment)
        found = [one for one in asserted(segment, find, formerly=True) if most and one.end <= most.start()]
        if found:
            several = len(found) > 1 and _LISTED.fullmatch(segment[found[-2].end : found[-1].start])
            return set() if several or alternative(segment, found[-1]) else {found[-1].value}
    return set()


def _explained(text: str, find: Callable[[str], Sequence[Mention]]) -> set[str]:
    """Return whom a text names before it gives reasons or sources, unless these offer another one as well."""
    opening = _REASONS.match(text)
    if not opening:
        return set()
    rest = text[opening.end(1) :]
    rivals = find(rest)
    if rivals and _OFFERS.search(rest[: rivals[-1].end + _AROUND]):
        return set()
    return {one.value for one in asserted(opening[1], find, formerly=True)}


def _first(text: str, names: Sequence[str]) -> list[Mention]:
    """Return where a levelled text names somebody, but not those whom it only compares with: "more than Ada"."""
    kept, compared = list[Mention](), False
    end = 0
    for one in mentions(text, names):
        linked = compared and _WITH_SUMS.fullmatch(text[end : one.start]) is not None
        compared = linked or _COMPARED.search(text[max(0, one.start - _AROUND) : one.start]) is not None
        kept += [] if compared else [one]
        end = one.end
    return kept


_CREDITS: Mapping[str, Callable[[str, Sequence[str], Sequence[str]], float]] = {
    NUMBER: _number, ORDER: _order, SET: _set, NAME: _name,
}  # fmt: skip
