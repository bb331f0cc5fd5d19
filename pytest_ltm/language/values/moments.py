"""Dates and times of any granularity, with their relation: `7 May 2023`, `before May`, `half past six`, `the 1990s`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType

from pytest_ltm.language.numbers import TENS
from pytest_ltm.language.values import cldr
from pytest_ltm.language.values.numerals import read_numbers
from pytest_ltm.language.values.sameness import Sameness
from pytest_ltm.language.values.writing import LEXICON, Token

_RELATIONS = LEXICON.keys_by_word("relations")
_SILENT = LEXICON.words("date words")
_HALVES = LEXICON.keys_by_word("halves of a day")
_NAMED_TIMES = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}
_CLOCK_WORDS = LEXICON.words("clock words")
_DECADES = {f"{word[:-1]}ies": 10 * n for n, word in enumerate(TENS, start=2)}
_FIGURE_NAMES = LEXICON.keys_by_word("figures with names")
_SEASONS = {
    word: int(number) for word, number in LEXICON.keys_by_word("seasons").items()
}
_WEEKDAY_SETS = {
    "weekdays": range(5),
    "workdays": range(5),
    "weekends": range(5, 7),
    "weekend": range(5, 7),
}
_LAST_YEAR = 2199
_FIRST_YEAR = 1000
_HALF_DAY = 12
_ISO = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?"
    r"(?:Z|[+-]\d\d:?\d\d)?)?"
)
_PACKED = re.compile(r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)")
_FIGURES = re.compile(r"(\d{1,4})([./-])(\d{1,2})(?:\2(\d{2,4}))?(?!\d)")
_FIGURE_DATES = (_ISO, _PACKED, _FIGURES)
_CENTURY = 100
_SHORTEST_BEGINNING = 4
_TWO_DIGITS = 2
# Digits of a military time: 1400 hours.
_MILITARY = 4


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time of day, as far as it is stated."""

    fields: Mapping[str, int]
    """year, decade, season, month, day, weekday, hour, minute, second."""
    relation: str = ""
    half_open: bool = False
    """Whether its hour may be in the morning or in the evening."""
    of_24_hours: bool = False
    """Whether its notation excludes that ambiguity."""
    likely: bool = True


# --- Reading.


def read_moments(
    text: str, tokens: Sequence[Token], *, asked: bool = False
) -> list[Moment]:
    """Return the readings of a text that is a date or time as a whole; [] otherwise.

    `tokens`: its tokens; `asked`: a time is asked for, so a bare number counts.
    """
    found = moments_at(text, tokens, asked=asked)
    return [moment for moment, size in found if size == len(tokens)]


def moments_at(
    text: str, tokens: Sequence[Token], *, asked: bool = False
) -> Iterator[tuple[Moment, int]]:
    """Yield the readings of dates and times at the start of tokens, each with its number of tokens.

    `text`: the text of the tokens; `asked`: a time is asked for, so 5.11. counts.
    """
    if not tokens:
        return
    is_figures = False
    sizes = {token.end: size for size, token in enumerate(tokens, start=1)}
    for pattern in _FIGURE_DATES:
        match = pattern.match(text, tokens[0].start)
        if match and match.end() in sizes:
            for moment in _figure_dates(match, asked=asked):
                if _is_possible(moment.fields):
                    is_figures = True
                    yield moment, sizes[match.end()]
    if not is_figures:
        yield from _Parse(tokens, asked=asked).read()


def _figure_dates(match: re.Match[str], *, asked: bool) -> Iterator[Moment]:
    """Yield the readings of a numeric date: 2023-05-07, 20230507, 7.5.2023, 5/7/23, 31/10."""
    if match.re is not _FIGURES:
        digits = match.groupdict().items()
        yield Moment({name: int(text) for name, text in digits if text})
        return
    first, mark, second, last = match.groups()
    if last is None and mark != "/" and not asked:
        return
    if len(first) == 4:
        if last is not None:
            yield Moment({"year": int(first), "month": int(second), "day": int(last)})
        return
    year = {"year": int(last) + (2000 if len(last) == 2 else 0)} if last else {}
    # only Americans write the month first, and not with full stops
    is_day_first = (mark == "." and bool(year)) or int(first) > _HALF_DAY
    # an ambiguous date without a year is more likely a fraction
    is_month_first = not is_day_first and (bool(year) or int(second) > _HALF_DAY)
    yield Moment({**year, "month": int(second), "day": int(first)}, likely=is_day_first)
    if mark != ".":
        yield Moment(
            {**year, "month": int(first), "day": int(second)}, likely=is_month_first
        )


def _is_possible(fields: Mapping[str, int]) -> bool:
    if not 1 <= fields.get("month", 1) <= 12 or fields.get("hour", 0) > 24:
        return False
    if fields.get("minute", 0) > 59 or fields.get("second", 0) > 59:
        return False
    try:
        date(fields.get("year", 2000), fields.get("month", 1), fields.get("day", 1))
    except ValueError:
        return False
    return True


class _Parse:
    """Parses the tokens of a date or time in order, each field once."""

    def __init__(self, tokens: Sequence[Token], *, asked: bool) -> None:
        self._tokens = tokens
        self._asked = asked
        self._place = 0
        self._fields: dict[str, int] = {}
        self._relation = ""
        self._half = ""
        self._likely = True

    def read(self) -> Iterator[tuple[Moment, int]]:
        """Yield the readings of the longest run of date tokens, and of each shorter run."""
        found: list[tuple[Moment, int]] = []
        before = 0
        while self._place < len(self._tokens):
            start = self._place
            if not self._take():
                break
            before = start
            moments = filter(
                lambda moment: _is_possible(moment.fields), self._moments()
            )
            found += [(moment, self._place) for moment in moments]
        if self._place < len(self._tokens):
            following = self._tokens[self._place]
            # "1. March 14th" is the first item of a list
            if self._is_numbered() and following.is_number:
                return
            # in "October, 24 December" the number belongs to the month after it
            is_month = following.key in cldr.month_names()
            if is_month and self._tokens[self._place - 1].is_number:
                found = [(moment, size) for moment, size in found if size <= before]
        yield from found

    def _is_numbered(self) -> bool:
        return self._tokens[0].is_number and self._key(1 - self._place) == "."

    def _take(self) -> bool:
        """Parse the next piece; return whether it belongs to a date."""
        readers = (
            self._take_clock,
            self._take_spoken_clock,
            self._take_month,
            self._take_weekday,
            self._take_decade,
            self._take_number,
            self._take_word,
        )
        return any(reader() for reader in readers)

    def _key(self, offset: int = 0) -> str:
        place = self._place + offset
        if place < len(self._tokens):
            return self._tokens[place].key
        return ""

    def _digits(self, offset: int = 0) -> int | None:
        text = self._key(offset)
        return int(text) if text.isdecimal() else None

    def _set(self, used: int, **fields: int) -> bool:
        if self._fields.keys() & fields.keys():
            return False
        self._fields |= fields
        self._place += used
        return True

    def _take_clock(self) -> bool:
        """Parse 6:30, 06.30 pm, 18h30, 21 Uhr, 6 pm."""
        hour = self._digits()
        minute = self._digits(2)
        if hour is not None and self._is_clock() and minute is not None:
            used = 3
            fields = {"hour": hour, "minute": minute}
            second = self._digits(4)
            if self._key(3) == ":" and second is not None:
                used = 5
                fields = fields | {"second": second}
            # 03:54 and 15:54 are 24-hour notation
            if self._key().startswith("0") or hour > _HALF_DAY:
                self._half = "24"
            return self._set(used, **fields)
        following = self._key(1)
        if hour is not None and following == "hours" and len(self._key()) == _MILITARY:
            self._half = "24"
            return self._set(2, hour=hour // _CENTURY, minute=hour % _CENTURY)
        if hour is not None and following in _CLOCK_WORDS:
            minutes = self._digits(2)
            if minutes is not None and minutes < 60:
                return self._set(3, hour=hour, minute=minutes)
            return self._set(2, hour=hour, minute=0)
        if following in ("am", "pm") and re.fullmatch(
            r"\d{1,2}(?:\.\d\d)?", self._key()
        ):
            hours, _, minutes_text = self._key().partition(".")
            return self._set(1, hour=int(hours), minute=int(minutes_text or 0))
        return False

    def _is_clock(self) -> bool:
        """Return whether a number is followed by a colon and minutes: in 3:1 it is followed by goals."""
        hour, *rest = self._tokens[self._place : self._place + 3]
        texts = [token.text for token in rest]
        touches = bool(rest) and rest[-1].start == hour.end + 1
        return texts[:1] == [":"] and len(texts[-1]) == _TWO_DIGITS and touches

    def _take_spoken_clock(self) -> bool:
        """Parse half past six, a quarter to seven, noon, two in the morning, six thirty."""
        if self._key() in _NAMED_TIMES:
            hour, minute = _NAMED_TIMES[self._key()]
            self._half = "24"
            return self._set(1, hour=hour, minute=minute)
        begin = self._place + (self._key() == "a")
        minutes = self._past_minutes(begin)
        if minutes is not None:
            count, place = minutes
            return self._set_past(count, place)
        return self._take_worded_hour()

    def _past_minutes(self, begin: int) -> tuple[int, int] | None:
        """Return the minutes before `past` or `to`, and the index of that word."""
        word = self._tokens[begin].key if begin < len(self._tokens) else ""
        if word in ("half", "quarter"):
            count = 30 if word == "half" else 15
            place = begin + 1
        else:
            numbers = [
                number
                for number in read_numbers(self._tokens, begin)
                if not number.ordinal
            ]
            if not numbers:
                return None
            count = int(numbers[0].value)
            place = numbers[0].end
            if place < len(self._tokens) and self._tokens[place].key == "minutes":
                place += 1
            elif count % 5:
                # "nine to five" are hours of work
                return None
        link = self._tokens[place].key if place < len(self._tokens) else ""
        if link in ("past", "to") and count < 60:
            return (count, place)
        return None

    def _set_past(self, count: int, place: int) -> bool:
        hours = [
            number
            for number in read_numbers(self._tokens, place + 1)
            if 1 <= number.value <= _HALF_DAY
        ]
        if not hours:
            return False
        hour = int(hours[0].value)
        minute = count
        if self._tokens[place].key == "to":
            hour = (hour - 2) % _HALF_DAY + 1
            minute = 60 - count
        return self._set(hours[0].end - self._place, hour=hour, minute=minute)

    def _take_worded_hour(self) -> bool:
        """Parse an hour in words, or in digits before a part of the day: seven thirty, two in the morning."""
        for number in read_numbers(self._tokens, self._place)[:1]:
            is_hour = (
                not number.ordinal
                and number.value.denominator == 1
                and 1 <= number.value <= 24
            )
            rest = [token.key for token in self._tokens[number.end : number.end + 3]]
            if not is_hour:
                return False
            if rest and (rest[0] in ("o'clock", "oclock") or _half_of(rest)):
                return self._set(
                    number.end - self._place, hour=int(number.value), minute=0
                )
            if self._tokens[self._place].is_word:
                return self._take_worded_minutes(int(number.value), number.end)
        return False

    def _take_worded_minutes(self, hour: int, place: int) -> bool:
        if place >= len(self._tokens) or not self._tokens[place].is_word:
            return False
        minutes = [
            number
            for number in read_numbers(self._tokens, place)
            if 10 <= number.value < 60 and not number.ordinal
        ]
        if minutes and hour <= _HALF_DAY:
            return self._set(
                minutes[0].end - self._place, hour=hour, minute=int(minutes[0].value)
            )
        return False

    def _take_month(self) -> bool:
        number = month_of(self._key())
        return number is not None and self._set(1, month=number)

    def _take_weekday(self) -> bool:
        word = self._key()
        number = cldr.weekday_names().get(word)
        if number is None and word.endswith("s"):
            number = cldr.weekday_names().get(word[:-1])
        return number is not None and self._set(1, weekday=number)

    def _take_decade(self) -> bool:
        """Parse the 1990s, the nineties, '23."""
        if self._key() in _DECADES:
            return self._set(1, decade=_DECADES[self._key()], century=19)
        digits = self._digits()
        offset = self._key(1) == "'"
        if digits is not None and digits % 10 == 0 and self._key(1 + offset) == "s":
            century = {"century": digits // _CENTURY} if digits >= _FIRST_YEAR else {}
            return self._set(2 + offset, decade=digits % _CENTURY, **century)
        year = self._digits(1)
        if self._key() == "'" and year is not None and year < _CENTURY:
            return self._set(2, year=2000 + year if year < 50 else 1900 + year)
        return False

    def _take_number(self) -> bool:
        """Parse a year, or a day of the month."""
        if self._is_clock():
            return False
        digits = self._digits()
        unit = _FIGURE_NAMES.get(self._key(1))
        if digits is not None and unit:
            return self._set(2, **{unit: digits})
        if (
            digits is not None
            and _FIRST_YEAR <= digits <= _LAST_YEAR
            and len(self._key()) == 4
        ):
            return self._set(1, year=digits)
        if self._key(1) in ("am", "pm"):
            return False
        for number in read_numbers(self._tokens, self._place)[:1]:
            is_day = number.value.denominator == 1 and 1 <= number.value <= 31
            if is_day and (number.ordinal or self._key().isdecimal()):
                return self._set(number.end - self._place, day=int(number.value))
        return self._take_year_in_words()

    def _take_year_in_words(self) -> bool:
        """Parse nineteen ninety, twenty twenty-three, two thousand and five."""
        for number in read_numbers(self._tokens, self._place):
            if (
                number.value.denominator != 1
                or number.ordinal
                or not self._tokens[self._place].is_word
            ):
                continue
            if _FIRST_YEAR <= number.value <= _LAST_YEAR:
                return self._set(number.end - self._place, year=int(number.value))
            if 10 <= number.value <= 21:
                rest = read_numbers(self._tokens, number.end)
            else:
                rest = []
            for decade in rest:
                if 10 <= decade.value < _CENTURY and not decade.ordinal:
                    year = int(number.value) * _CENTURY + int(decade.value)
                    return self._set(decade.end - self._place, year=year)
        return False

    def _take_word(self) -> bool:
        word = self._key()
        if word in _HALVES and "hour" in self._fields:
            self._half = _HALVES[word]
        elif word in _SEASONS:
            return self._set(1, season=_SEASONS[word])
        elif word in _RELATIONS and not self._relation:
            self._relation = _RELATIONS[word]
        elif word not in _SILENT and word not in cldr.date_words() and word != "-":
            return False
        self._place += 1
        return True

    def _moments(self) -> list[Moment]:
        fields = dict(self._fields)
        # the Friday before a date is a different day
        is_counted_off = self._relation in ("before", "after") and "weekday" in fields
        if not fields or (is_counted_off and len(fields) > 1):
            return []
        bare = self._place == 1 and self._tokens[0].is_number
        if bare and "day" in fields and not self._asked:
            return []
        found = [self._moment_of(fields)]
        if bare and self._asked and "day" in fields:
            found = [self._moment_of({"hour": fields["day"], "minute": 0}), *found]
        if (
            bare
            and "year" in fields
            and fields["year"] % _CENTURY < 60
            and fields["year"] < 2400
        ):
            hour, minute = divmod(fields["year"], _CENTURY)
            is_rare = not 1900 <= fields["year"] <= 2100
            clock = MappingProxyType({"hour": hour, "minute": minute})
            found.append(Moment(clock, likely=is_rare))
        return found

    def _moment_of(self, fields: dict[str, int]) -> Moment:
        half_open = False
        if "hour" in fields and self._half != "24":
            hour = fields["hour"]
            if self._half and hour <= _HALF_DAY:
                fields = fields | {
                    "hour": hour % _HALF_DAY + (_HALF_DAY if self._half == "pm" else 0)
                }
                if (
                    self._half == "pm"
                    and hour == _HALF_DAY
                    and self._key(-1) == "night"
                ):
                    fields["hour"] = 0
            else:
                half_open = 1 <= hour <= _HALF_DAY
        return Moment(
            MappingProxyType(fields),
            self._relation,
            half_open=half_open,
            of_24_hours=self._half == "24",
            likely=self._likely,
        )


def month_of(word: str) -> int | None:
    """Return the number (from 1) of the month that a word names, in full or abbreviated; None if none."""
    return cldr.month_names().get(word) or _months_by_beginning().get(word)


@cache
def _months_by_beginning() -> Mapping[str, int]:
    """Return the months of longer abbreviations: Sept."""
    months: dict[str, set[int]] = {}
    for name, number in cldr.month_names().items():
        for length in range(_SHORTEST_BEGINNING, len(name) + 1):
            months.setdefault(name[:length], set()).add(number)
    return {
        beginning: numbers.pop()
        for beginning, numbers in months.items()
        if len(numbers) == 1
    }


def may_begin_time(token: Token) -> bool:
    """Return whether a time may begin with a token, which function words may not."""
    return token.key not in _SILENT


def may_end_value(token: Token) -> bool:
    """Return whether a value may end with a token, which function words and relations may not."""
    return token.key in _CLOCK_WORDS or token.key not in _SILENT | _RELATIONS.keys()


def time_words() -> frozenset[str]:
    """Return the words that times may begin with, except names of months and days."""
    return frozenset((*_RELATIONS, *_NAMED_TIMES, *_DECADES, *_SEASONS, *_WEEKDAY_SETS))


def _half_of(words: Sequence[str]) -> str:
    for word in words:
        if word in _HALVES and word not in ("a", "p"):
            return _HALVES[word]
        if word not in ("in", "at", "the"):
            return ""
    return ""


def read_weekdays(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the weekdays that tokens name as a range or a set; empty otherwise."""
    words = [token.key for token in tokens if token.key not in ("the", "on", "from")]
    if len(words) == 1 and words[0] in _WEEKDAY_SETS:
        return frozenset(_WEEKDAY_SETS[words[0]])
    if len(words) == 3 and words[1] in ("-", "to", "through", "thru", "until"):
        first = _weekday_of(words[0])
        last = _weekday_of(words[2])
        if first is not None and last is not None:
            length = (last - first) % 7 + 1
            return frozenset((first + n) % 7 for n in range(length))
    return frozenset()


def _weekday_of(word: str) -> int | None:
    names = cldr.weekday_names()
    number = names.get(word)
    if number is None:
        return names.get(word.removesuffix("s"))
    return number


# --- Comparing.

# Relations that a text may omit: a shop that is open until nine closes at nine.
_OMITTED = frozenset(("until", "since", "this", "next", "last", "every", "about"))
_PARTS = frozenset(("early", "mid", "late"))


def compare_moments(first: Moment, second: Moment) -> Sameness:
    """Compare two times: the second may be more exact than the first, but not less."""
    mine = dict(first.fields)
    theirs = dict(second.fields)
    shared = mine.keys() & theirs.keys()
    half_open = first.half_open or second.half_open
    if half_open and "hour" in shared:
        is_same_hour = mine["hour"] == theirs["hour"]
        # 12:27 usually means noon, and 12:27 am does not
        is_at_midnight = {mine["hour"], theirs["hour"]} == {0, _HALF_DAY}
        mine["hour"] %= _HALF_DAY
        theirs["hour"] %= _HALF_DAY
        is_24 = first.of_24_hours or second.of_24_hours or is_at_midnight
        if is_24 and not is_same_hour and mine["hour"] == theirs["hour"]:
            return Sameness.UNKNOWN
    if any(mine[name] != theirs[name] for name in shared):
        return Sameness.OTHER
    if not shared:
        return Sameness.UNKNOWN
    relation = _compare_relations(first.relation, second.relation)
    if relation is not Sameness.SAME:
        return relation
    if mine.keys() <= theirs.keys():
        return Sameness.SAME
    return Sameness.UNKNOWN


def _compare_relations(first: str, second: str) -> Sameness:
    if first == second:
        return Sameness.SAME
    if "" not in (first, second):
        is_vague = "about" in (first, second) or first in _PARTS or second in _PARTS
        return Sameness.UNKNOWN if is_vague else Sameness.OTHER
    relation = first or second
    if relation in ("next", "this", "last", "every"):
        return Sameness.SAME
    if relation in _OMITTED | _PARTS:
        return Sameness.UNKNOWN
    return Sameness.OTHER
