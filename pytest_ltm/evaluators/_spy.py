"""Spy Meeting: the answer decodes three messages, each recognised by one of its keywords."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from pytest_ltm._language.clauses import clause, level, sentence
from pytest_ltm._language.commitment import Mention, alternative, last_word, misspelt, pertinent, retracted, spoken
from pytest_ltm._language.numbers import DAYS
from pytest_ltm._language.patterns import later
from pytest_ltm._language.recital import enumerates
from pytest_ltm._language.words import phrases, words
from pytest_ltm._model.score import Check, Score, Scoring
from pytest_ltm.evaluators._rules import Ruled, last

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True, slots=True)
class DecodesMessages(Ruled):
    """The share of messages decoded: by a keyword, or by another way to say it.

    `current`: a keyword that is denied, taken back, or one of two does not count, and each message of others beyond the
    number asked for costs one; dates, times of day and spellings in any usual form. `v3.5` and `paper`: (keyword groups
    found - 1 if a keyword of another message appears) / groups, not below 0, whole words with their case.
    """

    family: ClassVar[str] = "spy-meeting"
    version: ClassVar[int] = 2
    expected: tuple[tuple[str, ...], ...]
    """One group of keywords for each message."""
    others: tuple[tuple[str, ...], ...] = ()
    """The groups of the messages that were not sent."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of messages decoded in the last answer."""
        answers = self.read(answers)
        answer = last(answers)
        if self.current:
            return self._ours(answer)
        find = _Exact(answer)
        checks = tuple(Check(f"decodes {' / '.join(group)}", find.any(group)) for group in self.expected)
        ours = {keyword for group in self.expected for keyword in group}
        strange = [word for group in self.others for word in group if word not in ours and find.exactly(word)]
        found = sum(check.ok for check in checks)
        value = max(found - bool(strange), 0) / max(len(checks), 1)
        reason = f"{found} of {len(checks)} messages decoded"
        reason += f", and {strange[0]!r} of another message" if strange else ""
        return self.score(value, reason, answer, checks)

    def _ours(self, answer: str) -> Score:
        def tells(text: str) -> bool:
            return len(self._claimed(_dated(level(text)), (*self.expected, *self.others))) >= len(self.expected)

        if enumerates(answer):
            return self.score(0, "lists things instead of decoding", answer)
        known = (*self.expected, *self.others)
        text = _dated(level(last_word(spoken(answer), tells)))
        text = pertinent(text, lambda part: any(_spots(part, group) for group in known), head=0)
        claimed = self._claimed(text, self.expected)
        checks = tuple(Check(f"decodes {' / '.join(group)}", group[0] in claimed) for group in self.expected)
        ours = {keyword for group in self.expected for keyword in group}
        foreign = [group for group in self.others if not ours & set(group)]
        strange = [name for name in self._claimed(text, foreign) if name]
        found = sum(check.ok for check in checks)
        excess = max(found + len(strange) - len(checks), 0)
        reason = f"{found} of {len(checks)} messages decoded"
        reason += f", and {strange[0]!r} of another message" if strange else ""
        return self.score(max(found - excess, 0) / max(len(checks), 1), reason, answer, checks)

    def _claimed(self, text: str, groups: Iterable[tuple[str, ...]]) -> dict[str, None]:
        """Return which of some groups a text claims, by their first keywords."""
        found = {group: _spots(text, group) for group in (*self.expected, *self.others)}
        known = [spot for group in self.expected for spot in found[group]]
        rivals = [*known, *(spot for group in self.others for spot in found[group])]
        claimed: dict[str, None] = {}
        for group in groups:
            spots = found[group]
            mine = group in self.expected
            held = [one for one in spots if not _denied(text, one) and (mine or not _is_detail(text, one, known))]
            if held and not all(_one_of_two(text, one, rivals) for one in held):
                claimed[group[0]] = None
        return claimed


_NOT = later(
    r"(?:(?<!do )\bnot|\b(?:isnt|wasnt|neither|nor|rather than|instead of))(?: (?:a|an|the|at|on|by|in|to|about))*\s*$"
)
_UNTOLD = phrases(
    "whether", "nobody", r"(?:dont|do not|didnt|did not|cannot|cant) (?:know|say|tell|recall|remember) (?:if|that)"
)
_BESIDE = later(
    r"\W*(?:(?:s|eve|day|night|just|right|shortly|at|on|of|before|after|the|stroke|exactly|around|in|until|as|last|seconds?|"
    r"minutes?)\W+){1,6}"
)
"""What may stand between a date and the time of that day, which is not another message."""


def _denied(text: str, one: Mention) -> bool:
    before, _ = clause(text, one.start, one.end)
    return _NOT.search(before) is not None or _UNTOLD.search(before) is not None or retracted(text, one)


def _near(one: Mention, other: Mention) -> bool:
    return abs(one.start - other.start) < _NEAR


_NEAR = 120
_MOST = 40
"""So many mentions of a message, the last ones, are looked at."""


def _is_detail(text: str, one: Mention, known: Iterable[Mention]) -> bool:
    between = (text[min(one.end, other.end) : max(one.start, other.start)] for other in known if _near(one, other))
    return any(_BESIDE.fullmatch(f"{words_between} ") for words_between in between)


def _one_of_two(text: str, one: Mention, rivals: Iterable[Mention]) -> bool:
    """Tell whether a keyword is one of two answers; other words for the same are none: "a pick or a skeleton key"."""
    if not alternative(text, one):
        return False
    near = [other for other in rivals if other.value != one.value and _near(one, other)]
    links = (text[min(one.end, other.end) : max(one.start, other.start)] for other in near)
    return _TORN.search(sentence(text, one.start, one.end)) is not None or any(_OR.fullmatch(link) for link in links)


_TORN = phrases(
    "either", "not sure", "unsure", "hard to (?:tell|say)", r"(?:cant|cannot) (?:tell|say|decide)", "which of"
)
_OR = later(r"[\W_]*(?:\w+[\W_]+){0,2}or[\W_]+(?:\w+[\W_]+){0,2}")
_ALSO = {
    "dawn": ("first light", "crack of dawn", "sun rises", "sun comes up", "rising sun", "cockcrow",
        "cock crow", "break of day"),
    "sunset": ("sun sets", "sun goes down", "setting sun", "setting of the sun", "going down of the sun"),
    "noon": ("sun is highest", "sun is at its highest", "twelve noon", "12 midday", "twelve oclock in the day"),
    "midnight": ("twelve at night", "12 at night", "twelve oclock at night", "00 00", "0 00", "24 00"),
    "Halloween": ("all hallows eve", "allhallows eve", "october 31"),
    "Valentine": ("st valentine",),
    "April Fool": ("all fools day",),
    "New Year": (
        "turn of the year", "end of the year", "last seconds of the year", "last minutes of the year", "years end",
        "last day of the year", "last night of the year", "last moments of the year", "nye", "sylvester", "hogmanay",
    ),
    "umbrella": ("brolly",),
    "spade": ("digging tool",),
    "pliers": ("cutters", "wire snips"),
    "torch": ("flash light", "electric light"),
    "binoculars": ("field glasses",),
    "cemetery": ("graves",),
}  # fmt: skip
"""Other ways to say what has that keyword."""
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY_MONTH = later(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: day)?(?: of)? {_MONTH}(?![a-z])")
_MONTH_DAY = later(rf"\b{_MONTH}(?: the)? (\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)")
_NUMERIC = later(r"\b(\d{1,2})[/.-](\d{1,2})(?:[/.-](?:\d{4}|\d{2}))?(?!\d|[/.-]\d)")
_HALF_DAY = later(r"\b([ap])\.? ?m\b\.?")
_CLOCK = later(r"\btwelve at night\b|\bstrikes twelve at night\b|\btwelve oclock at night\b|\b(?:00?|24):00\b")
_YEAR_MONTHS = 12


_DAYS = "|".join(sorted(DAYS, key=len, reverse=True)).replace("-", "[- ]")
_DAY_IN_WORDS = later(
    rf"\b(?P<day>{_DAYS})(?= (?:day )?of (?:{'|'.join(_MONTHS)})\b)"
    rf"|\b(?P<month>{'|'.join(_MONTHS)}) (?:the )?(?P<day1>{_DAYS})\b"
)


def _dated(text: str) -> str:
    """Return a levelled text with dates as "31 october" and times of day in one form."""

    def named(day: str, month: str) -> str:
        full = next(name for name in _MONTHS if name.startswith(month[:3]))
        return f"{int(day)} {full}"

    def in_digits(found: re.Match[str]) -> str:
        day = DAYS[(found["day"] or found["day1"]).replace(" ", "-")]
        return f"{found['month']} {day}" if found["month"] else str(day)

    def numbered(found: re.Match[str]) -> str:
        one, other = int(found[1]), int(found[2])
        pairs = [(day, month) for day, month in ((one, other), (other, one)) if 1 <= month <= _YEAR_MONTHS and day]
        return " ".join(f"{day} {_MONTHS[month - 1]}" for day, month in dict.fromkeys(pairs)) or found[0]

    text = _DAY_IN_WORDS.sub(in_digits, text)
    text = _HALF_DAY.sub(lambda found: f"{found[1]}m", text)
    text = _CLOCK.sub("midnight", _NUMERIC.sub(numbered, text))
    text = _DAY_MONTH.sub(lambda found: named(found[1], found[2]), text)
    return _MONTH_DAY.sub(lambda found: named(found[2], found[1]), text)


def _spots(text: str, group: tuple[str, ...]) -> list[Mention]:
    """Return where a dated text has a keyword of a group: apart, together, in the plural, or misspelt by a letter."""
    pattern, begins, single = _pattern(group)
    found = [Mention(*one.span(), group[0]) for one in pattern.finditer(text)]
    wrong = (one for one in begins.finditer(text) for keyword in single if misspelt(one[0], keyword))
    return sorted({*found, *(Mention(*one.span(), group[0]) for one in wrong)}, key=lambda one: one.start)[-_MOST:]


_NEVER = r"(?!)"


@cache
def _pattern(group: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], tuple[str, ...]]:
    """Return how the keywords of a group are found, words that begin like one, and those that may be misspelt.

    A misspelt word begins like the one that was meant: all others need not be compared letter by letter.
    """
    also = [way for keyword in group for way in _ALSO.get(keyword, ())]
    names = [" ".join(words(_dated(level(keyword)))) for keyword in (*group, *also)]
    forms = {form for name in names if name for form in _forms(name)}
    rows = (r"[\W_]*".join(map(re.escape, form.split())) for form in sorted(forms, key=len, reverse=True))
    single = tuple(name for name in names if name.isalpha())
    initials = "".join(sorted({name[0] for name in single}))
    begins = rf"(?<![^\W\d_])[{initials}][^\W\d_]{{4,}}" if initials else _NEVER
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(rows)})(?![^\W_])"), re.compile(begins), single


_LONG_WORD = 8
"""So long a word may be one of two: "light house"."""


def _forms(name: str) -> tuple[str, ...]:
    """Return a name, what may be its plural, and the two words that it may be."""
    if name[-1:].isdigit():
        return (name,)
    parts = range(3, len(name) - 2) if name.isalpha() and len(name) >= _LONG_WORD else ()
    return (name, f"{name}s", f"{name}es", f"{name[:-1]}ies", *(f"{name[:at]} {name[at:]}" for at in parts))


class _Exact:
    """Keywords as the published evaluators find them: whole words, case-sensitive."""

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def exactly(self, keyword: str) -> bool:
        return self.any((keyword,))

    def any(self, keywords: Iterable[str]) -> bool:
        return any(re.search(rf"\b{re.escape(keyword)}\b", self.answer) for keyword in keywords)
