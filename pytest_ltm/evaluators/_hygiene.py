"""What a memory should hold and what it should not: past and present values; facts to tell, and facts to keep back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._engine.score import Check, Scoring
from pytest_ltm._text.abstention import tells_nothing
from pytest_ltm._text.clauses import clause, level, sentence
from pytest_ltm._text.dates import MONTH_PATTERN, month_number
from pytest_ltm._text.numbers import ORDINALS
from pytest_ltm._text.patterns import later
from pytest_ltm._text.recollection import only_offers_example
from pytest_ltm._text.words import phrases
from pytest_ltm.evaluators._commitment import (
    ASIDES,
    Mention,
    alternative,
    asserted,
    commitment,
    last_word,
    mentions,
    spoken,
)
from pytest_ltm.evaluators._recital import copies, ends_in_a_list, enumerates, recites
from pytest_ltm.evaluators._rules import Part, Ruled, at, product, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._engine.score import Score

NOW, BEFORE, WHEN = "now", "before", "when"
_EARLIER_STILL = phrases(
    "before that", "earlier still", "even earlier", "even before", "originally", "at first", "to begin with",
    "in the beginning", "first of all", "the very first",
)  # fmt: skip
_CAME_TO_NOTHING = phrases(
    "idea", "came to nothing", "called off", "fell through", "never happened", "going to", "plan(?:s|ned)?",
    "considered", "thought (?:about|of)", "cancelled", "in the end not",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KnowsHistory(Ruled):
    """The share of questions whose answer says what is so now, what was so before, or on which day it changed.

    An answer has to settle on one value, or one day (in words or figures, without a year). Who is asked for what was
    so before may also name what is so now, and what was so earlier still. There are no published results to agree with:
    every scoring has this rule.
    """

    family: ClassVar[str] = "history"
    expected: tuple[str, ...]
    asked: tuple[str, ...]
    """Of each question: NOW, BEFORE or WHEN."""
    others: tuple[tuple[str, ...], ...] = ()
    """For each question what else could be said."""
    present: tuple[str, ...] = ()
    """For each question what is so now."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of questions answered right; a missing answer counts as wrong."""
        parts = [
            Part(f"{asked}: {expected}", at(answers, place), self._right(place, at(answers, place)))
            for place, (expected, asked) in enumerate(zip(self.expected, self.asked, strict=True))
        ]
        return share(parts, rule=f"{self.family}/{self.version}", reason="{ok} of {of} answered")

    def _right(self, place: int, answer: str) -> bool:
        expected, others = self.expected[place], self.others[place] if place < len(self.others) else ()
        if _is_no_answer(answer) or copies(answer, (expected, *others)):
            return False
        if self.asked[place] == WHEN:
            return commitment(answer, days) == {day.value for day in days(level(expected))}
        if self.asked[place] == NOW:
            return commitment(answer, partial(_latest, names=(expected, *others))) == {expected}
        past = tuple(value for value in others if value != at(self.present, place))
        return _before(answer, (expected, *past)) == {expected}


def _latest(text: str, names: Sequence[str]) -> list[Mention]:
    """Return where a levelled text names one of them, but for what came "before that"."""
    return [one for one in mentions(text, names) if not _BEFORE_THAT.search(text[max(0, one.start - 40) : one.start])]


_BEFORE_THAT = later(r"\b(?:before that|earlier still|prior to that)\W+(?:(?:it was|you saw|you had|dr|the)\W+)*$")


_OWN_QUESTION = later(r"\b(?:my|I|me)\b[^.!?\n]{0,120}\?")
"""What the user asks: a reply with several of these repeats questions."""


def _is_no_answer(answer: str) -> bool:
    asked = len(_OWN_QUESTION.findall(answer))
    return asked > 1 or recites(answer) or enumerates(answer) or ends_in_a_list(answer) or only_offers_example(answer)


def _before(answer: str, values: Sequence[str]) -> set[str]:
    """Return which of the past values an answer says to have come before the present one."""

    def held(said: str) -> list[Mention]:
        return asserted(level(said), partial(mentions, names=tuple(values)), formerly=True)

    text = level(last_word(spoken(answer), lambda said: bool(held(said)))).replace(" - ", ", ")
    found = [one for one in held(text) if not _CAME_TO_NOTHING.search(" ".join(clause(text, one.start, one.end)))]
    if any(alternative(text, one) for one in found):
        return set()
    latest = [one for one in found if not _EARLIER_STILL.search(" ".join(clause(text, one.start, one.end)))]
    return {one.value for one in latest or found}


_ORDINALS = ORDINALS | {
    "sixteenth": 16, "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30,
    **{f"twenty-{word}": 20 + n for word, n in tuple(ORDINALS.items())[:9]}, "thirty-first": 31,
}  # fmt: skip
_DAY = rf"(?:\d{{1,2}}|{'|'.join(sorted(_ORDINALS, key=len, reverse=True))})"
_DATE = later(
    rf"\b(?P<day>{_DAY})(?:st|nd|rd|th)?(?: day)?,?\s(?:of\s)?(?P<month>{MONTH_PATTERN})[a-z]*\b"
    rf"|\b(?P<month1>{MONTH_PATTERN})[a-z]*\.?,?\s(?:the\s)?(?P<day1>{_DAY})(?:st|nd|rd|th)?\b(?!:)"
    r"|\b(?:\d{4}-)(?P<month2>\d\d)-(?P<day2>\d\d)\b"
    r"|\b(?P<day3>1[3-9]|2\d|3[01])[/.](?P<month3>0?[1-9]|1[0-2])\b|\b(?P<month4>0?[1-9]|1[0-2])/(?P<day4>1[3-9]|2\d|3[01])\b"
)


def days(text: str) -> list[Mention]:
    """Return where a levelled text names days of a year, each as its month and day."""
    found = []
    for one in _DATE.finditer(text):
        said = {name.rstrip("1234"): value for name, value in one.groupdict().items() if value}
        month = int(said["month"]) if said["month"].isdecimal() else month_number(said["month"])
        day = int(said["day"]) if said["day"].isdecimal() else _ORDINALS[said["day"]]
        found.append(Mention(*one.span(), f"{month}-{day}"))
    return found


# --- Facts to tell, and facts to keep back.


@dataclass(frozen=True, slots=True)
class KnowsAndWithholds(Ruled):
    """The share of facts told that are asked for, times the share of questions rightly left without an answer.

    So nothing is earned by answering every question, nor by refusing every one. Where nothing is expected an answer has
    to say that it does not know, was never told, or will not tell; it may not guess, and may name a wrong value only in
    a sentence that names its owner, too. There are no published results to agree with: every scoring has this rule.
    """

    family: ClassVar[str] = "knows-and-withholds"
    expected: tuple[str, ...]
    """For each question what it asks for; "" if the right answer tells nothing."""
    others: tuple[tuple[str, ...], ...] = ()
    """For each question values that do not answer it."""
    owners: tuple[tuple[str, ...], ...] = ()
    """For each of these values what says whose it is: a word, or several with | between; "": it must not be named."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the product of both shares; a missing answer counts as wrong."""
        known: list[Check] = []
        withheld: list[Check] = []
        missed = ""
        for place, expected in enumerate(self.expected):
            answer = at(answers, place)
            values = self.others[place] if place < len(self.others) else ()
            owners = self.owners[place] if place < len(self.owners) else ()
            whose = dict(zip(values, (*owners, *[""] * len(values)), strict=False))
            ok = _tells(answer, expected, whose) if expected else _withholds(answer, whose)
            label = f"knows {expected!r}" if expected else f"has nothing to tell in answer {place + 1}"
            (known if expected else withheld).append(Check(label, ok))
            missed = missed if ok else missed or answer
        value, reason = product({"known": known, "rightly not told": withheld})
        return self.score(value, reason, missed, [*known, *withheld])


def _tells(answer: str, expected: str, whose: dict[str, str]) -> bool:
    if _is_no_answer(answer) or copies(answer, (expected, *whose)):
        return False
    text, since = level(spoken(answer)), 0
    found = mentions(text, (expected, *whose))
    for one, following in zip(found, [*found[1:], Mention(len(text), len(text), "")], strict=False):
        around = f"{text[since : one.start].rpartition('.')[2]} {text[one.end : following.start].partition('.')[0]}"
        if _says_whose(around, whose.get(one.value, "")):
            text = text[: one.start] + " " * (one.end - one.start) + text[one.end :]
        since = one.end
    text = _RELATIVES.sub(" ", text)  # the questions are about them: what is said of them is no aside
    return commitment(text, partial(mentions, names=(expected, *whose))) == {expected}


_RELATIVES = later(rf"\b(?:your|my|his|her|their|the|a) (?:\w+ )?(?:{ASIDES})s?\b")


def _withholds(answer: str, whose: dict[str, str]) -> bool:
    text = level(spoken(answer))
    named = mentions(text, tuple(whose))
    owned = all(_says_whose(sentence(text, one.start, one.end), whose[one.value]) for one in named)
    return owned and tells_nothing(text) and not (recites(answer) or copies(answer, tuple(whose)))


def _says_whose(text: str, owner: str) -> bool:
    return bool(owner) and any(re.search(rf"\b{re.escape(level(word))}", text) for word in owner.split("|"))


# --- Facts that the user withdraws, and facts that stay.


@dataclass(frozen=True, slots=True)
class ForgetsOnRequest(Ruled):
    """The share of facts kept, times the shares of facts forgotten in answers for each, and in a last one about all.

    Where a forgotten fact is asked for, an answer has to say that there is nothing to tell, and may not name it. The
    last answer, to an open question, should name all facts that the user left and none of the others; one that recites,
    or names none that was left, earns nothing. There are no published results to agree with: every scoring has this
    rule.
    """

    family: ClassVar[str] = "forgets-on-request"
    expected: tuple[str, ...]
    """For each question but the last what it asks for; "" if the user withdrew it."""
    others: tuple[tuple[str, ...], ...] = ()
    """For each of these questions values that do not answer it."""
    kept: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the product of the three shares; a missing answer counts as wrong."""
        known: list[Check] = []
        gone: list[Check] = []
        for place, expected in enumerate(self.expected):
            answer, whose = at(answers, place), dict.fromkeys(self.others[place], "")
            if expected:
                known.append(Check(f"knows {expected!r}", _tells(answer, expected, whose)))
            else:
                gone.append(Check(f"has forgotten what answer {place + 1} asks for", _withholds(answer, whose)))
        summary, values = level(spoken(at(answers, len(self.expected)))), (*self.kept, *self.forgotten)
        recited = recites(summary) or copies(summary, values)
        named: set[str] = set() if recited else {one.value for one in mentions(summary, values)}
        said = set() if recited else {one.value for one in asserted(summary, partial(mentions, names=values))}
        tells = bool(said & set(self.kept))
        known += [Check(f"tells of {value!r}", value in said) for value in self.kept]
        silent = [Check(f"does not tell of {value!r}", tells and value not in named) for value in self.forgotten]
        value, reason = product({"known": known, "forgotten": gone, "left out of what is told of everything": silent})
        return self.score(value, reason, summary, [*known, *gone, *silent])
