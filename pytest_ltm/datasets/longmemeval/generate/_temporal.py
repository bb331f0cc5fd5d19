"""Questions about dates: how long between, how long ago, which first, in which order.

What is asked in days has a second gold, one day more, because people count the first day or do not.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._advice import upper_first
from pytest_ltm.datasets.longmemeval.generate._days import WORDS, late_in_year, months_before, some_time
from pytest_ltm.datasets.longmemeval.generate._needle import Fact, How, Needle, Query, Told
from pytest_ltm.datasets.longmemeval.generate._sessions import Aside

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from random import Random

    from pytest_ltm.datasets.longmemeval.generate._texts import Happening


def from_dates(rng: Random, rows: Sequence[Happening], *, abstains: bool) -> Needle:
    """Return a question about the dates of the first of some events; three of different themes are enough."""
    if abstains:
        return _unknown(rng, rows[0], rows[1])
    return rng.choice(_KINDS)(rng, rows)


def _days_between(rng: Random, rows: Sequence[Happening]) -> Needle:
    asked, days = late_in_year(rng), rng.randint(5, 60)
    second = asked - timedelta(days=rng.randint(4, 60))
    dates = [second - timedelta(days=days), second]
    question = f"How many days passed between the day {rows[0].past} and the day {rows[1].past}?"
    return _needle(rng, rows[:2], dates, asked, question, _days(days), "days")


def _months_between(rng: Random, rows: Sequence[Happening]) -> Needle:
    asked, months = late_in_year(rng), rng.randint(2, 5)
    day = rng.randint(5, 25)
    second = months_before(asked.replace(day=1), 1).replace(day=day)
    dates = [months_before(second, months), second]
    question = f"How many months passed between the day {rows[0].past} and the day {rows[1].past}?"
    return _needle(rng, rows[:2], dates, asked, question, f"{months} months", "months")


def _days_ago(rng: Random, rows: Sequence[Happening]) -> Needle:
    asked, days = late_in_year(rng), rng.randint(5, 40)
    question = f"How many days ago did I {rows[0].did}?"
    return _needle(rng, rows[:1], [asked - timedelta(days=days)], asked, question, _days(days), "days")


def _weeks_ago(rng: Random, rows: Sequence[Happening]) -> Needle:
    asked, weeks = late_in_year(rng), rng.randint(2, 12)
    question = f"How many weeks ago did I {rows[0].did}?"
    return _needle(rng, rows[:1], [asked - timedelta(weeks=weeks)], asked, question, f"{weeks} weeks", "weeks")


def _first(rng: Random, rows: Sequence[Happening]) -> Needle:
    dates, asked = _apart(rng, 2)
    named = [rows[0].thing, rows[1].thing]
    rng.shuffle(named)
    question = f"Which of the two came first, {named[0]} or {named[1]}?"
    return _needle(rng, rows[:2], dates, asked, question, rows[0].thing, "first")


def _order(rng: Random, rows: Sequence[Happening]) -> Needle:
    dates, asked = _apart(rng, 3)
    named = [row.thing for row in rows[:3]]
    shuffled = rng.sample(named, 3)
    question = f"In which order did these three happen: {shuffled[0]}, {shuffled[1]} and {shuffled[2]}?"
    answer = f"First {named[0]}, then {named[1]}, and last {named[2]}"
    return _needle(rng, rows[:3], dates, asked, question, answer, "order")


_KINDS: tuple[Callable[[Random, Sequence[Happening]], Needle], ...] = (
    _days_between, _days_ago, _weeks_ago, _months_between, _first, _order,
)  # fmt: skip


def _unknown(rng: Random, known: Happening, unknown: Happening) -> Needle:
    asked = late_in_year(rng)
    date = asked - timedelta(days=rng.randint(10, 60))
    named = rng.sample([known.thing, unknown.thing], 2)
    question, how = rng.choice(_UNKNOWN)
    question = question.format(known=known.past, unknown=unknown.past, did=unknown.did, first=named[0], second=named[1])
    answer = (
        f"The information provided is not enough. You mentioned {known.thing}, you did not mention {unknown.thing}."
    )
    return _needle(rng, [known], [date], asked, question, answer, how, unknown=unknown)


_UNKNOWN: tuple[tuple[str, How], ...] = (
    ("How many days passed between the day {known} and the day {unknown}?", "days"),
    ("Which of the two came first, {first} or {second}?", "first"),
    ("How many weeks ago did I {did}?", "weeks"),
)


def _apart(rng: Random, count: int) -> tuple[list[datetime], datetime]:
    """Return the dates of events at least four days apart, in order, and when is asked."""
    asked = late_in_year(rng)
    weeks = rng.sample(range(1, 12), count)
    return sorted(asked - timedelta(days=7 * week + rng.randint(0, 3)) for week in weeks), asked


def _days(days: int) -> str:
    return f"{days} days. {days + 1} days (including the last day) is also acceptable."


def _needle(
    rng: Random, rows: Sequence[Happening], dates: Sequence[datetime], asked: datetime, question: str, answer: str,
    how: How, unknown: Happening | None = None,
) -> Needle:  # fmt: skip
    pairs = list(zip(rows, dates, strict=True))
    about = tuple(row.thing for row in (*rows, *([unknown] if unknown else [])))
    return Needle(
        type="temporal-reasoning",
        abstains=unknown is not None,
        question=question,
        answer=answer,
        asked=asked,
        told=tuple(_told(rng, row, date) for row, date in pairs),
        world=tuple(Fact(date, row.thing, row.past) for row, date in pairs),
        query=Query(how, about),
        field="events",
    )


def _told(rng: Random, row: Happening, date: datetime) -> Told:
    """Return a session some days after the event at most, in which the user says how many."""
    late = rng.randrange(len(WORDS))
    word = WORDS[late]
    said = row.say.format(when=word, When=upper_first(word))
    return Told(at=some_time(rng, date + timedelta(days=late)), theme=row.theme, aside=Aside(said))
