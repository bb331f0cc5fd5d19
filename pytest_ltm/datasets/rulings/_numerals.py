"""Numbers, times and rates in words, written with digits, so that one reading serves all ways of writing them."""

from __future__ import annotations

import re

from pytest_ltm.evaluators._words import NUMBERS, ONES, TENS

_UNIT = (
    "second|minute|hour|day|night|week|month|year|mile|kilomet(?:er|re)|met(?:er|re)|inch|yard|acre|page|cup|pound|kilo|ounce|"
    "gallon|lit(?:er|re)|tablespoon|teaspoon"
)
_SMALL = rf"(?:(?:{'|'.join(TENS)})[- ](?:{'|'.join(ONES[1:10])})|{'|'.join([*TENS, *ONES])})"
_HUNDREDS = rf"(?:(?:{_SMALL}|a)[- ]hundred(?:(?: and)?[- ]{_SMALL})?)"
_LARGE = re.compile(
    rf"\b(?:(?P<thousands>{_HUNDREDS}|{_SMALL}|a)[- ]thousand(?:(?:,? and|,)?[- ](?P<rest>{_HUNDREDS}|{_SMALL}))?"
    rf"|(?P<hundreds>{_HUNDREDS}))\b(?! (?:hundred|thousand|million))"
)
_SMALLEST = rf"(?:\d{{1,4}}|{_SMALL})"
_AND_A_HALF = re.compile(rf"\b({_SMALLEST}) and (?:a|one)[- ]half\b")
_UNITS_AND_A_HALF = re.compile(rf"\b(an?|{_SMALLEST}) ({_UNIT})s? and (?:a|one)[- ]half\b")
_HALF = re.compile(rf"\bhalf(?: of)?[- ](?:an? |one )?({_UNIT})\b")
_HOUR = rf"(\d{{1,2}}|{'|'.join(ONES[1:13])})"
_PAST = re.compile(rf"\b(?:(half|(?:a )?quarter|twenty|ten|five) (past)|((?:a )?quarter) (to)) {_HOUR}\b(?![:.]\d)")
_MINUTES = {"half": 30, "quarter": 15, "twenty": 20, "ten": 10, "five": 5}
_DAYTIME = re.compile(
    r"\b(\d{1,2}(?::\d{2})?)(?: oclock| o'clock)?(?:,? (?:in the|at) (morning|afternoon|evening|night)\b)"
)
_OCLOCK = re.compile(rf"\b{_HOUR} o['\u2019]?clock\b")
_PER = re.compile(rf"(?:\b(?:per|each|every|an?)|/) ?({_UNIT})(?!s?\w)")
_COUNTED = re.compile(
    rf"(?:\b(?:once|twice|thrice|(?:\d[\d.,]*|{_SMALL})(?: (?!a\b|an\b|per\b|each\b|every\b)\w+){{0,3}}))[ ,]*$"
)
_LY = {"daily": "every day", "nightly": "every night", "weekly": "every week", "monthly": "every month",
       "yearly": "every year", "annually": "every year", "hourly": "every hour"}  # fmt: skip
_OFTEN = re.compile(rf"\b(?:{'|'.join(_LY)})\b")
_NAMED = {
    "a fortnight": "2 weeks", "fortnight": "2 weeks", "half a dozen": "6", "noon": "12 pm", "midnight": "12 am",
    "three quarters of an hour": "45 minutes", "a quarter of an hour": "15 minutes", "a decade": "10 years",
    "a couple of": "2", "a couple": "2", "a dozen": "12",
}  # fmt: skip
_DEGREES = re.compile(r" ?(?:\u00b0|degrees?) ?(c\b|f\b|celsius|fahrenheit)")
_NAME = re.compile(rf"\b(?:{'|'.join(_NAMED)})\b")


def digits(text: str) -> str:
    """Return the text in lower case, with digits where its numbers are of several words; no bold, no apostrophes.

    Halves are decimals ("four and a half hours", "half an hour"), times of day clock times ("half past six"), large
    numbers whole ("twelve hundred"), rates of one form ("per week", "weekly" and "every week" are "1 time a week").
    Single words ("seven") stay. Doing it twice changes nothing more.
    """
    plain = text.lower().replace("**", "").replace("\u2019", "'")
    plain = _DEGREES.sub(lambda found: " celsius" if "c" in found[1] else " fahrenheit", plain)
    plain = _NAME.sub(lambda found: _NAMED[found[0]], plain)
    plain = _LARGE.sub(_large, plain)
    plain = _UNITS_AND_A_HALF.sub(lambda found: f"{_number(found[1]) + 0.5:g} {found[2]}s", plain)
    plain = _AND_A_HALF.sub(lambda found: f"{_number(found[1]) + 0.5:g}", plain)
    plain = _HALF.sub(r"0.5 \1s", plain)
    plain = _DAYTIME.sub(_daytime, _OCLOCK.sub(_oclock, _PAST.sub(_past, plain)))
    return _rates(_OFTEN.sub(lambda found: _LY[found[0]], plain)).replace("'", "")


def _number(word: str) -> int:
    """Return what a number below a thousand is, in digits or in words."""
    if word.isdigit():
        return int(word)
    total = 0
    for part in re.split(r"[- ]+(?:and )?", word):
        total = total * 100 if part == "hundred" else total + NUMBERS[part]
    return total


def _large(found: re.Match[str]) -> str:
    if found["hundreds"]:
        return str(_number(found["hundreds"]))
    return str(_number(found["thousands"]) * 1_000 + (_number(found["rest"]) if found["rest"] else 0))


def _past(found: re.Match[str]) -> str:
    hour, minutes = _number(found[5]), _MINUTES[(found[1] or found[3]).removeprefix("a ")]
    if found[4]:
        return f"{(hour - 2) % 12 + 1}:{60 - minutes}"
    return f"{hour}:{minutes:02}"


def _oclock(found: re.Match[str]) -> str:
    return f"{_number(found[1])}:00"


def _daytime(found: re.Match[str]) -> str:
    return f"{found[1]} {'am' if found[2] == 'morning' else 'pm'}"


def _rates(plain: str) -> str:
    """Return the text with rates in one form: `3 times a week`, and `1 time a week` where no count stands before it."""
    parts, end = [], 0
    for found in _PER.finditer(plain):
        parts.append(plain[end : found.start()])
        end = found.end()
        if _COUNTED.search(parts[-1][-60:]):
            parts.append(f" a {found[1]}" if found[0].startswith("/") else f"a {found[1]}")
        elif found[0].startswith("every"):
            parts.append(f"1 time a {found[1]}")
        else:
            parts.append(found[0])
    return "".join([*parts, plain[end:]])
