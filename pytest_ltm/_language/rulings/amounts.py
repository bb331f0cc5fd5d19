"""What the rules say of an answer that should name an amount, or a time with its year."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pytest_ltm._language.clauses import (
    normalize_text,
    phrase_positions,
    sentence_around,
    sentence_start,
    why_not_standing,
)
from pytest_ltm._language.dates import DAYS, MONTHS, dated_readings, yearless_dates
from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.numbers import DAYS as DAY_ORDINALS
from pytest_ltm._language.numbers import write_digits
from pytest_ltm._language.quantities import (
    Quantity,
    distinct_amounts,
    holds_amounts,
    is_equal_amount,
    is_rough,
    is_sum,
    read_quantities,
)
from pytest_ltm._language.refusal import refuses_answer
from pytest_ltm._language.rulings.gold import (
    CANNOT_TELL,
    HEDGED,
    Ruling,
    amount_ranges,
    answering_quantities,
    in_range,
    is_at_another_rate,
    settled_amounts,
)
from pytest_ltm._language.rulings.stance import DENIED, FINAL, MAX_BRIEF_ANSWER, OPEN, SEVERAL, SHORT, stance_at
from pytest_ltm._language.words import casefold_plain, content_stems, plain_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._language.dates import DateRange
    from pytest_ltm._language.rulings.gold import Gold

    Readings = tuple[DateRange, ...]


_NAMED = Ruling("yes", "names the amount")
_AMONG = Ruling("unscored", "names the amount among others")
_OFF_THE_MOST = Ruling("unscored", "is one day off what is accepted at most")
_OTHER_KIND = Ruling("unscored", "names no amount of this kind")
RE = LEXICON.expressions("amounts")
_CONTRARIES = [(frozenset(one.split(", ")), frozenset(others)) for one, others in LEXICON.table("contraries").items()]


def amount_ruling(gold: Gold, question: str, end: str, *, forgiving: bool) -> Ruling:
    """Return the ruling on an answer that should name an amount; `forgiving`: an error of one day is none."""
    text = write_digits(end)
    every, said = read_quantities(text), answering_quantities(gold, question, end, text)
    hit = holds_amounts(gold.amounts, every)
    if not said or refuses_answer(text[sentence_start(text, max(one.start for one in said)) :]):
        if len(end) <= MAX_BRIEF_ANSWER and len(distinct_amounts(said)) > 1:
            return Ruling("no", SEVERAL)
        return Ruling("unscored", "names the amount and refuses") if said and hit else _no_amount(gold, end, every)
    known = normalize_text(f"{question} {gold.whole}")
    stances = {one: stance_at(text, one.start, one.end, known=known) for one in said}
    held = [one for one in said if not stances[one]]
    answer = settled_amounts(text, held, known=known) if len(gold.amounts[0]) == 1 else held
    if holds_amounts(gold.amounts, answer):
        doubts = len(end) <= MAX_BRIEF_ANSWER and refuses_answer(text[: min(one.start for one in answer)])
        named = _ruling_on_amount(gold, question, text, answer)
        return Ruling("unscored", "says that it cannot tell, and names it") if doubts else named
    if not held:
        worst = min(stances.values(), key=lambda stance: (stance not in FINAL, stance))
        return Ruling("no" if worst in FINAL else "unscored", f"names an amount, and {worst}")
    unsaid = [one for one in every if one not in said]
    aside = holds_amounts(gold.amounts, said) and not holds_amounts(gold.amounts, unsaid)
    left_open = any(why == OPEN and holds_amounts(gold.amounts, [one]) for one, why in stances.items())
    settles = len(distinct_amounts(answer)) == 1 and aside and len(end) <= SHORT and not left_open
    spans = any(
        {first.unit, last.unit} <= {one.unit, ""} and first.value <= one.value <= last.value
        for first, last in amount_ranges(text, said)
        for (one, *_) in gold.amounts
    )
    if spans and not hit:
        return Ruling("no", "names a range")
    return _near_miss(gold, answer, ambiguous=spans or (hit and not settles), forgiving=forgiving)


def _no_amount(gold: Gold, end: str, every: Sequence[Quantity]) -> Ruling:
    """Return the ruling on an answer without an amount of the kind that is expected; "one" alone counts nothing."""
    if refuses_answer(end) or (every and refuses_answer(write_digits(end))):
        return CANNOT_TELL
    vague = not every and len(end) <= MAX_BRIEF_ANSWER and DAY_ORDINALS.keys().isdisjoint(plain_words(end))
    vague = vague and all(one.value != 1 for parts in gold.amounts for one in parts)
    return Ruling("no", "names no amount") if vague else _OTHER_KIND


def _ruling_on_amount(gold: Gold, question: str, text: str, answer: Sequence[Quantity]) -> Ruling:
    """Return the ruling on an answer that has the expected amount: whether it is sure, and the only one."""
    hits = [one for one in answer if any(is_equal_amount(part, one) for parts in gold.amounts for part in parts)]
    around = [sentence_around(text, one.start, one.end) for one in hits]
    if all(is_at_another_rate(text, one, gold.whole) for one in hits):
        return Ruling("no", "names the amount for another time")
    sure = HEDGED.search(gold.whole) or not any(map(HEDGED.search, around))
    wanted = write_digits(gold.texts[0])
    if in_range(wanted, read_quantities(wanted)):
        repeated = phrase_positions(text, RE.after_numbers.sub("", wanted) or wanted)
        return _NAMED if sure and repeated else Ruling("unscored", "names the two amounts, perhaps of another range")
    pairs = [pair for pair in amount_ranges(text, hits) if not all(holds_amounts(gold.amounts, [one]) for one in pair)]
    pairs = [pair for pair in pairs if not (pair[1].unit == "%" and pair[0].value * 100 == pair[1].value)]
    if len(text) <= SHORT and any(RE.or_word.search(text[one.end : other.start]) for one, other in pairs):
        return Ruling("no", SEVERAL)
    if not sure or in_range(text, hits):
        return Ruling("unscored", "names the amount within a range, or hedged")
    turned = any(is_turned(question, one) for one in around)
    if turned != any(_is_exchanged(question, one) for one in around):
        return Ruling("unscored" if turned else "no", "names the amount, and compares the other way round")
    others = [one for one in answer if one not in hits and not any(is_rough(one, hit) for hit in hits)]
    return _AMONG if others and not is_sum(gold.amounts, others) else _NAMED


def is_turned(question: str, text: str) -> bool:
    """Return whether a sentence compares the other way round than the question, or another text: younger for older."""
    asked, said = set(plain_words(question)), set(plain_words(text))
    pairs = (*_CONTRARIES, *(pair[::-1] for pair in _CONTRARIES))
    return any(asked & one and not asked & other and said & other and not said & one for one, other in pairs)


def _is_exchanged(question: str, text: str) -> bool:
    """Return whether a sentence has the two things that the question compares in each other's place."""
    asked = RE.compares.search(normalize_text(question))
    if asked is None:
        return False
    first, second = content_stems(asked[1]), content_stems(asked[2])
    for than in re.finditer(r"\bthan\b", text):
        before, after = content_stems(text[: than.start()]), content_stems(text[than.end() :])
        if (second - first) & before and (first - second) & after and not (first - second) & before:
            return True
    return False


def _near_miss(gold: Gold, pool: Sequence[Quantity], *, ambiguous: bool, forgiving: bool) -> Ruling:
    off = [
        any((one.unit == said.unit or not said.unit) and abs(one.value - said.value) <= 1 for said in pool)
        for (one, *_) in gold.amounts
    ]
    if forgiving and any(off):
        return Ruling("yes", "is one day off, which is forgiven") if off[0] else _OFF_THE_MOST
    if ambiguous or is_sum(gold.amounts, pool):
        return _AMONG
    if any(is_rough(one, said) for (one, *_) in gold.amounts for said in pool):
        return Ruling("unscored", "names about as much in another unit")
    return Ruling("no", "names another amount")


# --- Times with their year: all parts that are stated must agree.

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
    own = [(one, at) for one, at in held if not RE.told.search(text[max(0, at - 60) : at])] or held
    marks = [match.end() for match in RE.so.finditer(text)]
    opening = RE.opening.match(text)
    concluded = [one for one, at in own if marks and at >= marks[-1]]
    if opening and len(first := [one for one, at in held if at < opening.end()]) == 1:
        concluded = first
    return _ruling_on_times(expected, concluded or [one for one, _ in own], [one for one, _ in held], reply)


def _ruling_on_times(expected: Readings, times: Sequence[Readings], every: Sequence[Readings], text: str) -> Ruling:
    """Return the ruling on an answer that comes to some times, and names others on the way."""
    right = [one for one in times if all(_fits_within(reading, expected) for reading in one)]
    others = [one for one in times if one not in right]
    if right and all(whole.lies_within(one) for other in others for one in other for whole in expected[:1]):
        doubt = RE.doubt.search(text)
        return Ruling("unscored", "names the time, and doubts") if doubt else Ruling("yes", "names the time")
    if right:
        return Ruling("no", SEVERAL) if RE.time_or.search(text) else Ruling("unscored", "names the time among others")
    if any(_fits_within(reading, expected) for one in (*times, *every) for reading in one):
        return Ruling("unscored", "names the time on the way, or in figures that can be read in two ways")
    met = [one for other in times for one in other if any(one.shared(whole) for whole in expected)]
    if not met:
        return Ruling("no", "names another time")
    if all(whole.lies_within(one) for one in met for whole in expected) and not RE.unread.search(casefold_plain(text)):
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
    if times and not any(_fits_within(one, expected) for one in times) and not RE.unread.search(casefold_plain(text)):
        return Ruling("no", "names the time less exactly")
    figures = re.search(r"\d", text) or any(one.unit != "time" for one in read_quantities(text))
    if times or figures or content_stems(gold) & content_stems(text):
        return Ruling("unscored", "names no time with its year")
    return Ruling("no", "names no date")
