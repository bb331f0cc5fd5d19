"""What many facts come to: numbers, orders, sets and single names that have to be worked out."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._engine.score import Check, Scoring
from pytest_ltm._text.clauses import level
from pytest_ltm._text.numbers import digits
from pytest_ltm._text.patterns import later
from pytest_ltm._text.quantities import CLOCKS, quantities
from pytest_ltm.evaluators._commitment import (
    Mention,
    alternative,
    asserted,
    commitment,
    last_word,
    mentions,
    spoken,
)
from pytest_ltm.evaluators._rules import Ruled, at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_ltm._engine.score import Score

NUMBER, ORDER, SET, NAME = "number", "order", "set", "name"
_NEAR = 0.1
"""A number so near the right one, as a share of it, earns a half."""
_ITEM = later(r"(?m)^[ \t]*(?:\d{1,3}[.)](?=\s)|\|[ \t]*\d{1,3}[ \t]*(?=\|))")
"""The number of an item in a list or a table."""
_SIGNS = later(r"[\u00a3$\u20ac]")
_RESULT_BEFORE = later(
    r"(?:=|\u2192|\b(?:total(?:ling|s|led)?|sum|in all|altogether|comes? to|came to|adds? up to|makes?|made|"
    r"amounts? to|count|so|therefore|answer|result|difference)\b)[^\d.\n]{0,30}$"
)
_RESULT_AFTER = later(r"[^\d.,;\n]{0,20}\b(?:in all|in total|altogether|all told)\b")
"""What stands beside the number that a calculation comes to."""
_OPENING = later(r"[^:(\n;\u2013\u2014]*?(?:[:(\n;\u2013\u2014]|\.(?=\s|$)|$)")
_RANGE = later(r"\b(?:between|from)\W+$")
_SEGMENT = later(r"[\n;:!?]|\.(?=\s|$)")
_EXCEPT = later(
    r"\b(?:everyone|everybody|all(?: of them)?(?: the)?(?: members)?)\b,? (?:but|except(?: for)?|apart from)\b"
)
_COMPARED = later(
    r"\b(?:than|against|ahead of|before|over|behind|beat|beats|followed by|versus|vs|then|next|second)\W+$"
)
_LISTED = later(r"s?[\s,]*(?:(?:and|or)\s)?")


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
    said = _settled(answer, {float(one) for one in given if one != expected[0]})
    if said is None:
        return 0.0
    return 1.0 if said == wanted else 0.5 if abs(said - wanted) <= _NEAR * wanted else 0.0


def _settled(answer: str, given: set[float]) -> float | None:
    """Return the number that an answer comes to; None where it comes to none, or to several."""
    find = partial(_numbers, given=given)
    said = last_word(answer, lambda part: bool(find(_levelled(part))))
    text = _levelled(said)
    found = asserted(text, find, formerly=True)
    if any(alternative(text, one) or _RANGE.search(text[max(0, one.start - 20) : one.start]) for one in found):
        return None
    chosen = _results(text, found) if len({one.value for one in found}) > 1 else found
    return float(chosen[-1].value) if chosen else None


def _levelled(said: str) -> str:
    return digits(_SIGNS.sub("", _ITEM.sub(" ", level(said))))


def _numbers(text: str, given: set[float]) -> list[Mention]:
    """Return where a text with digits has numbers that are no days, no times and not those given."""
    return [
        Mention(one.start, one.end, str(one.value))
        for one in quantities(text)
        if one.unit not in (*CLOCKS, "date", "minutes") and one.value not in given
    ]


def _results(text: str, found: Sequence[Mention]) -> Sequence[Mention]:
    """Return the last number that a text calls a result, or else the only one in its opening."""
    results = list[Mention]()
    behind = False  # the words stand behind the number before, and are its own: "143 in total: 40 and 103"
    for one in found:
        before = _RESULT_BEFORE.search(text[max(0, one.start - _AROUND) : one.start]) is not None and not behind
        behind = _RESULT_AFTER.match(text[one.end : one.end + _AROUND]) is not None
        results += [one] if before or behind else []
    opening = _OPENING.match(text)
    opens = [one for one in found if opening and one.start < opening.end()]
    return results[-1:] or (opens if len({one.value for one in opens}) == 1 else [])


_AROUND = 50
"""Characters around a number that may say that it is a result."""

# --- Names.


def _order(answer: str, expected: Sequence[str], _others: Sequence[str]) -> float:
    said = _ranked(answer, expected)
    if len(expected) < 2:
        return float(said == list(expected))
    pairs = list(itertools.combinations(expected, 2))
    return max(0.0, sum(_agreement(said, *pair) for pair in pairs) / len(pairs))


def _ranked(answer: str, names: Sequence[str]) -> list[str]:
    """Return the names in their order: of the last segment that has them all, or else of the whole answer."""
    find = partial(mentions, names=tuple(names))
    text = level(last_word(answer, lambda part: len({one.value for one in find(level(part))}) > 1))
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
    text = level(last_word(answer, lambda part: bool(find(level(part)))))
    if excepted := _EXCEPT.search(text):
        left_out = {one.value for one in find(text) if one.start > excepted.start()}
        named = {*expected, *others} - left_out if left_out else set()
    else:
        named = {one.value for one in asserted(text, find, formerly=True) if not alternative(text, one)}
    right, wrong = len(named & set(expected)), len(named & set(others))
    return max(0.0, right / len(expected) - wrong / max(len(others), 1))


def _name(answer: str, expected: Sequence[str], others: Sequence[str]) -> float:
    return float(commitment(answer, partial(_first, names=(*expected, *others))) == set(expected))


def _first(text: str, names: Sequence[str]) -> list[Mention]:
    """Return where a levelled text names somebody, but not those whom it only compares with: "more than Ada"."""
    kept, compared = list[Mention](), False
    end = 0
    for one in mentions(text, names):
        linked = compared and _LISTED.fullmatch(text[end : one.start]) is not None
        compared = linked or _COMPARED.search(text[max(0, one.start - _AROUND) : one.start]) is not None
        kept += [] if compared else [one]
        end = one.end
    return kept


_CREDITS: Mapping[str, Callable[[str, Sequence[str], Sequence[str]], float]] = {
    NUMBER: _number, ORDER: _order, SET: _set, NAME: _name,
}  # fmt: skip
