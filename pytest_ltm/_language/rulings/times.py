"""What the rules say of an answer that should name a time with its year: all parts that are stated must agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.clauses import why_not_standing
from pytest_ltm._language.dates import DAYS, MONTHS, dated_readings, yearless_dates
from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.quantities import read_quantities
from pytest_ltm._language.rulings.gold import Ruling
from pytest_ltm._language.rulings.stance import DENIED, SEVERAL
from pytest_ltm._language.words import casefold_plain, content_stems

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._language.dates import DateRange

    Readings = tuple[DateRange, ...]


_DOUBT = re.compile(r"\b(?:maybe|perhaps|probably|unclear|not sure|could be|might|or|either)\b", re.IGNORECASE)
_OR = re.compile(r"\b(?:or|either)\b", re.IGNORECASE)
# What makes a date after it the day on which something was told.
_TOLD = LEXICON.expression(r"\b{times told}\b[^.;]{0,30}$")
_SO = LEXICON.expression(r"{times so}")
# An answer with its explanation behind it: "2018: ...".
_OPENING = re.compile(r"\W*[^:;.!?\n\u2013\u2014]{3,40}[:;\u2013\u2014]\s")
# Words of a time that was perhaps not understood.
_UNREAD = LEXICON.pattern("times unread")
_ABOUT_A_WEEK, _MOST_DAYS = 8, 5
"""A stretch of at most so many days is a week: it is the same if it shares so many days."""
_PARTS = frozenset(
    word[:3].lower()
    for word in (
        *MONTHS, *DAYS, "spring", "summer", "fall", "autumn", "winter", "early", "late", "middle", "end", "beginning",
        "start", "first", "second", "third", "last", "before", "after", "prior", "preceding", "following", "the",
        "week", "night", "day", "month", "year", "of", "in", "on", "at", "to", "a", "an", "and", "by", "from", "until",
        "since", "around", "about", "approximately", "between", "few", "st", "nd", "rd", "th",
    )
)  # fmt: skip


def time_of(gold: str) -> Readings:
    """Return the readings of the time that an expected answer names, with its year and with nothing else; else none."""
    result = list(dated_readings(gold))
    only = all(word[:3] in _PARTS for word in re.findall("[a-z]+", gold.lower()))
    return result[0][0] if len(result) == 1 and only else ()


def time_ruling(expected: Readings, gold: str, reply: str) -> Ruling:
    """Return the ruling on an answer that should name a time; `expected`: its readings."""
    text, every = casefold_plain(reply), list(dated_readings(reply))
    if not every:
        return _without_year(expected, gold, reply)
    held = [(one, at) for one, at in every if why_not_standing(text, at, at, known=gold) != DENIED]
    if not held:
        return Ruling("no", DENIED)
    own = [(one, at) for one, at in held if not _TOLD.search(text[max(0, at - 60) : at])] or held
    marks = [match.end() for match in _SO.finditer(text)]
    opening = _OPENING.match(text)
    concluded = [one for one, at in own if marks and at >= marks[-1]]
    if opening and len(first := [one for one, at in held if at < opening.end()]) == 1:
        concluded = first
    return _ruling_on_times(expected, concluded or [one for one, _ in own], [one for one, _ in held], reply)


def _ruling_on_times(expected: Readings, times: Sequence[Readings], every: Sequence[Readings], text: str) -> Ruling:
    """Return the ruling on an answer that comes to some times, and names others on the way."""
    right = [one for one in times if all(_fits_within(reading, expected) for reading in one)]
    others = [one for one in times if one not in right]
    if right and all(whole.lies_within(one) for other in others for one in other for whole in expected[:1]):
        doubt = _DOUBT.search(text)
        return Ruling("unscored", "names the time, and doubts") if doubt else Ruling("yes", "names the time")
    if right:
        return Ruling("no", SEVERAL) if _OR.search(text) else Ruling("unscored", "names the time among others")
    if any(
        _fits_within(reading, expected) for one in (*times, *every[: len(every) * (times != every)]) for reading in one
    ):
        return Ruling("unscored", "names the time on the way, or in figures that can be read in two ways")
    met = [one for other in times for one in other if any(one.shared(whole) for whole in expected)]
    if not met:
        return Ruling("no", "names another time")
    if all(whole.lies_within(one) for one in met for whole in expected) and not _UNREAD.search(casefold_plain(text)):
        return Ruling("no", "names the time less exactly")
    return Ruling("unscored", "names a time that is partly right")


def _fits_within(one: DateRange, expected: Readings) -> bool:
    """Return whether a time lies in the expected one; a week may begin a day or two earlier or later."""
    return any(
        one.lies_within(whole) or (max(one.days, whole.days) <= _ABOUT_A_WEEK and one.shared(whole) >= _MOST_DAYS)
        for whole in expected
    )


def _without_year(expected: Readings, gold: str, text: str) -> Ruling:
    """Return the ruling on an answer that names no time with its year."""
    times = yearless_dates(text, expected[0].first.year) if not re.search(r"\b(?:19|20)\d\d\b", text) else []
    if times and not any(one.shared(whole) for one in times for whole in expected):
        return Ruling("no", "names another time")
    if times and not any(_fits_within(one, expected) for one in times) and not _UNREAD.search(casefold_plain(text)):
        return Ruling("no", "names the time less exactly")
    if (
        times
        or re.search(r"\d", text)
        or any(one.unit != "time" for one in read_quantities(text))
        or content_stems(gold) & content_stems(text)
    ):
        return Ruling("unscored", "names no time with its year")
    return Ruling("no", "names no date")
