"""Questions whose evidence stands in several sessions: counts, sums, and what has changed."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_ltm.datasets.longmemeval.generate._advice import upper_first
from pytest_ltm.datasets.longmemeval.generate._days import days_of_may, end_of_may, late_in_year, some_time
from pytest_ltm.datasets.longmemeval.generate._needle import Fact, Needle, Query, Told
from pytest_ltm.datasets.longmemeval.generate._sessions import Aside
from pytest_ltm.datasets.longmemeval.generate._single import refusal

if TYPE_CHECKING:
    from random import Random

    from pytest_ltm.datasets.longmemeval.generate._texts import Series, Update

_BEFORE = 0.25
"""The share of questions about a change that ask for the old value."""


def from_series(rng: Random, row: Series, *, abstains: bool) -> Needle:
    """Return a question for the number or the sum of items that sessions mention one by one."""
    items = rng.sample(row.items, rng.randint(2, min(5, len(row.items))))
    values = [rng.choice(row.values) if row.values else 1 for _ in items]
    dates = days_of_may(rng, len(items))
    told = [
        Told(at=at, theme=row.theme, aside=Aside(_mention(rng, row, item, value)))
        for at, item, value in zip(dates, items, values, strict=True)
    ]
    return Needle(
        type="multi-session",
        abstains=abstains,
        question=row.never.ask if abstains else row.ask,
        answer=refusal(row.never) if abstains else _total(row, sum(values)),
        asked=end_of_may(rng),
        told=tuple(told),
        world=tuple(Fact(at, row.key, str(value)) for at, value in zip(dates, values, strict=True)),
        query=Query("count" if row.how == "count" else "sum", (row.never.ask if abstains else row.key,), row.unit),
        field=row.field,
    )


def _mention(rng: Random, row: Series, item: str, value: int) -> str:
    return rng.choice(row.say).format(item=item, Item=upper_first(item), v=value)


def _total(row: Series, total: int) -> str | int:
    if row.unit == "$":
        return f"${total:,}"
    return f"{total} {row.unit}" if row.unit else total


def from_update(rng: Random, row: Update, *, abstains: bool) -> Needle:
    """Return a question for something that has changed: its value now, or the one before."""
    first, second = sorted(rng.sample(range(len(row.values)), 2))
    values = [row.shown.format(v=row.values[place]) for place in (first, second)]
    asked = late_in_year(rng)
    old_at = some_time(rng, asked - timedelta(days=rng.randint(40, 150)))
    new_at = some_time(rng, old_at + timedelta(days=rng.randint(10, 35)))
    wants_old = bool(row.before) and rng.random() < _BEFORE
    question = row.before if wants_old else row.ask
    return Needle(
        type="knowledge-update",
        abstains=abstains,
        question=row.never.ask if abstains else question,
        answer=refusal(row.never) if abstains else values[0 if wants_old else 1],
        asked=asked,
        told=(
            Told(at=old_at, theme=row.theme, aside=Aside(rng.choice(row.old).format(v=row.values[first]))),
            Told(at=new_at, theme=row.theme, aside=Aside(rng.choice(row.new).format(v=row.values[second]))),
        ),
        world=(Fact(old_at, row.key, values[0]), Fact(new_at, row.key, values[1])),
        query=Query("before" if wants_old else "latest", (row.never.ask if abstains else row.key,)),
        field=row.field,
    )
