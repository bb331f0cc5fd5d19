"""Questions that one turn answers: single-hop, temporal and (with common knowledge) open-domain ones."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from pytest_ltm.datasets.locomo._categories import Category
from pytest_ltm.datasets.locomo._dates import MONTHS
from pytest_ltm.datasets.locomo.generate import _texts
from pytest_ltm.datasets.locomo.generate._asked import Asked, bare, filling
from pytest_ltm.datasets.locomo.generate._talk import HAPPENED, PLAN, following
from pytest_ltm.datasets.locomo.generate._texts import SINCE
from pytest_ltm.datasets.locomo.generate._when import meaning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm.datasets.locomo.generate._asked import Heard, Told

WHEN = "When did {{who}} {do}?"
MEANT = "When did {{who}} plan to {do}?"
BETWEEN = "How many days lay between the day when {{who}} {one} and the day when {{who}} {two}?"


def single_hop(heard: Heard) -> list[Asked]:
    """Return the questions about details, about the two themselves, and about what was so before a change."""
    return [asked for key, told in heard.facts.items() for asked in _single_hop(key[1], told)]


def _single_hop(what: str, told: Told) -> Iterator[Asked]:
    if what == HAPPENED and told.kind.question:
        changed = told.kind.key.endswith("/change")
        yield _asked(Category.SINGLE_HOP, told.kind.question, told, told.event.roles["old"] if changed else told.value)
    for detail in told.kind.details:
        if detail.role == what and detail.question not in {"", SINCE}:
            yield _asked(Category.SINGLE_HOP, detail.question, told, told.value)


def temporal(heard: Heard) -> list[Asked]:
    """Return the questions about days, months, years and the time between two events."""
    found = [asked for key, told in heard.facts.items() for asked in _dated(key[1], told, heard)]
    return [*found, *_between(heard)]


def _dated(what: str, told: Told, heard: Heard) -> Iterator[Asked]:
    today = heard.days[told.turn.session]
    if what == HAPPENED and told.kind.do:
        yield _asked(Category.TEMPORAL, WHEN.format(do=told.kind.do), told, meaning(told.value, today))
    if what == PLAN:
        after = following(told.kind).do
        yield _asked(Category.TEMPORAL, MEANT.format(do=after), told, meaning(told.value, today))
    if any(detail.role == what and detail.question == SINCE for detail in told.kind.details):
        yield _asked(Category.TEMPORAL, told.kind.since, told, str(today.year - int(told.value)))


def _between(heard: Heard) -> Iterator[Asked]:
    for told in heard.happened():
        for cause in told.event.causes:
            before = heard.facts[cause, HAPPENED]
            days = [_day(meaning(one.value, heard.days[one.turn.session])) for one in (before, told)]
            if days[0] and days[1]:
                pattern = BETWEEN.format(one=before.kind.did, two=told.kind.did)
                yield Asked(
                    category=Category.TEMPORAL, pattern=pattern, filling=filling(told.event),
                    gold=_count((days[1] - days[0]).days), evidence=(before.turn.id, told.turn.id),
                )  # fmt: skip


def _count(days: int) -> str:
    return f"{days} day{'s' * (days != 1)}"


def _day(gold: str) -> date | None:
    found = re.fullmatch(r"(\d+) (\w+) (\d{4})", gold)
    return date(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1])) if found else None


def open_domain(heard: Heard) -> list[Asked]:
    """Return the questions whose answers are said nowhere, but follow from what is said and common knowledge."""
    return [asked for told in heard.happened() for asked in _open_domain(told)]


def _open_domain(told: Told) -> Iterator[Asked]:
    for question, answer in told.kind.conclusions:
        yield _asked(Category.OPEN_DOMAIN, question, told, answer.format(who=told.event.who))
    if told.kind.key == "trip/1":
        for question, answer in zip(_texts.city_questions(), _texts.cities()[told.event.roles["theme"]], strict=True):
            yield _asked(Category.OPEN_DOMAIN, question, told, answer)


def _asked(category: Category, pattern: str, told: Told, gold: str) -> Asked:
    return Asked(
        category=category, pattern=pattern, filling=filling(told.event), gold=bare(gold), evidence=(told.turn.id,)
    )
