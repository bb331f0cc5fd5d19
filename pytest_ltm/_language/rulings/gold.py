"""Reading a gold answer: its accepted forms, the amounts it holds, and what it asks of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from pytest_ltm._language.clauses import CHANGED
from pytest_ltm._language.dates import MONTHS
from pytest_ltm._language.lexicon import LEXICON
from pytest_ltm._language.meanings import meaning_keys, telling_keys
from pytest_ltm._language.numbers import ONES, TENS, write_digits
from pytest_ltm._language.proof import is_readable
from pytest_ltm._language.quantities import (
    CURRENCIES,
    UNITS,
    Quantity,
    differs_in_sign,
    distinct_amounts,
    is_comparable,
    is_same_value,
    read_quantities,
    unit_of,
)
from pytest_ltm._language.words import content_of, content_stems, plain_words, word_stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


RE = LEXICON.expressions("gold")
_METRICS = frozenset(
    word_stem(word)
    for word in (
        *UNITS, *(f"{unit}s" for unit in UNITS), *ONES, *TENS, *map(str.lower, MONTHS),
        "ago", "about", "around", "approximately", "over", "am", "pm", "total", "exactly", "half", "dozen",
        "st", "nd", "rd", "th", "once", "twice", "thrice", "way", "swiss", "us",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gold:
    """What is expected."""

    whole: str
    """The answer as the file has it."""
    texts: tuple[str, ...]
    """Accepted wordings, the main one first."""
    kind: Literal["yes or no", "amount", "order", "phrase"]
    amounts: tuple[tuple[Quantity, ...], ...] = ()
    """Accepted amounts: each alternative is all of its quantities."""

    @property
    def stems(self) -> frozenset[str]:
        """The stems of the main wording's words that carry meaning."""
        return content_stems(self.texts[0])


def read_gold(answer: str, question: str) -> Gold:
    """Return what a gold answer asks of an answer to the question."""
    main, also = answer.strip(), ""
    if match := RE.also.search(main):
        main, also = main[: match.start()], match[0]
    texts: tuple[str, ...] = (main,)
    if (match := RE.aside.search(main)) and "(" not in main[: match.start()]:
        texts = (main[: match.start()], match[1])
    texts = tuple(text for text in texts if text.strip()) or (answer,)
    first = plain_words(texts[0])[:1]
    if first in (["yes"], ["no"]):
        return Gold(answer.strip(), texts, "yes or no")
    counted = RE.counted.search(question.lower())
    unit = next(filter(None, map(unit_of, counted[1].split())), "") if counted else ""
    # a bare number alone has the unit that the question asks for: how many miles
    amounts = tuple(
        tuple(replace(one, unit=unit) if len(some) == 1 and not one.unit else one for one in some)
        for some in map(_plain_amounts, texts)
        if some
    )
    named = [word for word in plain_words(write_digits(texts[0])) if not RE.digits.fullmatch(word)]
    others = frozenset(content_of(named) if named else ()) - content_stems(question) - _METRICS
    # with words of its own it is no bare amount: those have to be there, too
    if amounts and not others:
        extra = tuple((one,) for one in _plain_amounts(also))
        return Gold(answer.strip(), texts, "amount", (*amounts, *extra))
    # an order is asked for, or only the expected answer has one
    ordered = RE.ordered.search(main) or RE.order_asked.search(question.lower())
    return Gold(answer.strip(), texts, "order" if ordered else "phrase", amounts)


def _plain_amounts(text: str) -> list[Quantity]:
    quantities = read_quantities(text)
    lengths = [one for one in quantities if one.unit == "minutes"]
    prices = [one for one in quantities if one.unit in CURRENCIES and RE.per.match(write_digits(text), one.end)]
    return lengths or (prices if len(quantities) == 2 and prices else quantities)


# --- What the rules say of one answer, and the words that make an answer doubtful.


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say of one answer."""

    verdict: Literal["yes", "no", "unscored"]
    reason: str


CANNOT_TELL = Ruling("no", "says that it cannot tell")
# Reasons for a no that another wording may refute.
_UNPROVEN = frozenset(("names only a part of it",))
UNREADABLE = Ruling("unscored", "is in a script that the rules do not read")


def proven_ruling(ruling: Ruling, *texts: str) -> Ruling:
    """Return a ruling, but unscored for a no that is not proven; `texts`: what it was read from."""
    if ruling.verdict != "no":
        return ruling
    if not all(map(is_readable, texts)):
        return UNREADABLE
    return Ruling("unscored", ruling.reason) if ruling.reason in _UNPROVEN else ruling


def rule_by_value(gold: str, text: str) -> Ruling | None:
    """Return the ruling on an answer that is the expected value in another form, or has another sign; else None."""
    if is_same_value(text, gold):
        return Ruling("yes", "is the expected value")
    return Ruling("no", "has another sign") if differs_in_sign(text, gold) else None


HEDGED = LEXICON.expression("gold hedged")

# --- Which of the amounts in an answer are what it answers: of the kind that is asked for, in bold, or the total.

# So many characters before "from 9 to 12" may say that it is a change, not a range.
_AGO = 30
_YEARS = range(1900, 2100)


def answering_quantities(gold: Gold, question: str, end: str, text: str) -> list[Quantity]:
    """Return the amounts that may be the answer: of the right kind, in bold, of what is asked for, where there are any.

    `text`: the answer's conclusion `end`, written with digits.
    """
    every = read_quantities(text)
    units = {one.unit for parts in gold.amounts for one in parts}
    lengths = [one for one in every if one.unit == "minutes"]
    parts_of = [one for one in every if any(one.unit != "minutes" and of.start <= one.start < of.end for of in lengths)]
    labels = ((one, RE.label.search(text[max(0, one.start - 12) : one.start])) for one in every if not one.unit)
    # a number that only names one of several things, session 4, counts where the question asks for such a name
    named = [one for one, match in labels if match and not (match[1] and match[1] in question.lower())]
    whole = [one for one in every if one not in parts_of and one not in named]
    same = [one for one in whole if "" in units or any(is_comparable(one.unit, unit) for unit in units)]
    bare = [one for one in whole if not one.unit]
    pool = [*same, *(one for one in bare if RE.result.fullmatch(text, one.start - 2))] if same else bare
    if not any(_is_year(one) for parts in gold.amounts for one in parts):
        pool = [one for one in pool if not _is_year(one)] or pool
    if len(gold.amounts[0]) == 1:
        pool = _amounts_of_thing(question, text, pool, bare=units == {""})
    bold = {(one.value, one.unit) for part in RE.bold.findall(end) for one in read_quantities(part)}
    return [one for one in pool if (one.value, one.unit) in bold] or pool


def settled_amounts(text: str, held: Sequence[Quantity], *, known: str) -> Sequence[Quantity]:
    """Return the amounts that an answer settles on: what it comes to, where it says so, else what is not said aside.

    Aside is what stands in brackets, or is said of another time or an aim, if the question (`known`) is not about that.
    """
    if len(distinct_amounts(held)) <= 1:
        return held
    held = _asked_line(text, held, known)
    inside = [match.span() for match in RE.brackets.finditer(text)]
    bare = [one for one in held if not any(start < one.start < end for start, end in inside)] or held
    plain = [one for one in bare if not _is_aside(text, one, known)] or bare
    totals = [one for one in held if _is_final(text, one)]
    marked = [one for one in plain if one in totals]
    if len(distinct_amounts(marked)) == 1:
        return marked
    settles = len(distinct_amounts(plain)) == 1 or len(distinct_amounts(totals)) != 1
    return plain if settles else totals


def _asked_line(text: str, held: Sequence[Quantity], known: str) -> Sequence[Quantity]:
    """Return the amounts of the one line that has most words of the question, where each has a line of its own."""
    lines = [match.span() for match in re.finditer(r"[^\n]+", text)]
    own = [[one for one in held if start <= one.start < end] for start, end in lines]
    if max(map(len, own)) > 1:
        return held
    asked = frozenset(meaning_keys(known))
    shares = [
        len(asked.intersection(telling_keys(text[start:end]))) if one else -1
        for (start, end), one in zip(lines, own, strict=True)
    ]
    return own[shares.index(max(shares))] if shares.count(max(shares)) == 1 else held


def is_at_another_rate(text: str, one: Quantity, known: str) -> bool:
    """Return whether an amount is of another time than the one that is asked for: per year, not per month."""
    asked, result = RE.per.findall(write_digits(known)), RE.per.match(text, one.end)
    return bool(asked) and result is not None and result[1] not in asked


def _is_aside(text: str, one: Quantity, known: str) -> bool:
    before, after = text[max(0, one.start - 60) : one.start], text[one.end : one.end + 50]
    asides = filter(None, (RE.aside_before.search(before), RE.aside_after.match(after)))
    beginnings = (plain_words(aside[0])[:1] for aside in asides)
    return is_at_another_rate(text, one, known) or not all(any(word in known for word in some) for some in beginnings)


def amount_ranges(text: str, pool: Sequence[Quantity]) -> Iterator[tuple[Quantity, Quantity]]:
    """Yield the two ends of each range, or choice of two, that one of the amounts belongs to."""
    ordered = sorted(read_quantities(text), key=lambda one: one.start)
    for one, other in pairwise(ordered):
        if (one not in pool and other not in pool) or CHANGED.search(text[max(0, one.start - _AGO) : one.start]):
            continue
        between = text[: one.start].endswith("between ")
        if between or (one.end <= other.start and RE.between.fullmatch(text[one.end : other.start])):
            yield one, other


def in_range(text: str, pool: Sequence[Quantity]) -> bool:
    """Return whether one of the amounts is the end of a range, or one of a choice."""
    return any(True for _ in amount_ranges(text, pool))


def _amounts_of_thing(question: str, text: str, pool: Sequence[Quantity], *, bare: bool) -> list[Quantity]:
    """Return the amounts of the thing that the question asks for, 500 g of flour, where there are any; else all.

    `bare`: a number is expected: one that counts the thing, or is the total; where the question asks for a unit ("how
    many miles"), none with another unit.
    """
    counted = RE.counted.search(question.lower())
    if counted is None:
        return list(pool)
    asked = counted[1].split()
    thing = word_stem(asked[-1])
    if not bare:
        return [one for one in pool if thing in _next_stems(text, one)] or list(pool)
    if unit := next(filter(None, map(unit_of, asked)), ""):
        return [one for one in pool if not one.unit or is_comparable(one.unit, unit)]
    numbers = [one for one in pool if not one.unit]
    things = [one for one in numbers if thing in _next_stems(text, one) or _is_final(text, one)]
    # where a text speaks of only one such thing: "one" alone counts nothing
    matches = re.finditer(rf"\b(?:only|just) (?:one|a single) (?:\w+ ){{0,2}}{re.escape(thing)}", text)
    return [*things, *[Quantity(1, "", one.start(), one.end()) for one in matches]] or numbers


def _is_final(text: str, one: Quantity) -> bool:
    before, after = text[max(0, one.start - 80) : one.start], text[one.end : one.end + 40]
    return RE.final_before.search(before) is not None or RE.final_after.match(after) is not None


def _is_year(one: Quantity) -> bool:
    return not one.unit and one.value in _YEARS


def _next_stems(text: str, one: Quantity) -> set[str]:
    following = re.findall(r"[\w-]+|[^\w\s]", text[one.end : one.end + 40])[:3]
    stop = next((place for place, word in enumerate(following) if not word[0].isalnum()), len(following))
    return {word_stem(word) for word in following[:stop]}
