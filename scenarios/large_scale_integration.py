"""Large-scale Integration: small facts told one by one, and questions that only all of them together answer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import WorksOut
from pytest_ltm.locales import worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

NUMBER, ORDER, SET, NAME = "number", "order", "set", "name"
PURPOSES = ("roof", "boat", "piano", "fence", "oven", "stage", "garden", "library")
AMOUNTS = range(2, 61)
"""Pounds of one gift."""
BEGINS, DAYS = date(2023, 3, 1), 240
"""From which day on, and over how many days, gifts are given; no year is ever said."""
ONES = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
)

ASIDES = "[|for the club's book: |for the book: |one for the book: |please note: |put down, please: |from the club: ]"
GIFT = (
    ASIDES + "{name} [gave|paid|put in] {amount} for the {purpose} on {day}.",
    ASIDES + "on {day}, {name} [gave|paid|put in] {amount} for the {purpose}.",
    ASIDES + "{amount} [came|arrived] from {name} for the {purpose} on {day}.",
)
HOME = (
    ASIDES
    + "{name}[, one of the members,| of the club|] [lives in|comes from|is from] {town}.",
    ASIDES + "{name} [is at home in|has a house in|has always lived in] {town}.",
)
BOOK = (
    "[|please tell me: |one question: |next question: ]"
    "[going by the club's book, |by the club's book, |judging by the club's book, |according to the club's book, ]"
)
COUNTED = "[how many gifts|how many of the gifts] "
AFTER_DAY = (
    BOOK + COUNTED + "[were given|came in|were made|were received] later than {day}?",
)
ABOVE = (
    BOOK
    + COUNTED
    + "[were of|came to|amounted to|ran to] more than {number} pounds each?",
)
SPENT_ON = (
    BOOK
    + "[how much|what sum|how much money] [was given|came in|was paid] for the {purpose} [in all|altogether]?",
)
RANKED = (
    (
        BOOK
        + "[in which order do all members come|how do all members rank|what is the order of all members] "
        "by what each gave in all, the one who gave [the most|most] first?"
    ),
    (
        BOOK
        + "[in which order do all members come|how do all members rank|what is the order of all members] "
        "by the day of each one's first gift, [the earliest first|beginning with the earliest]?"
    ),
)
FROM = (
    BOOK
    + "[which members|who among the members|which of the members] from {town} [gave|paid|put in] [money|something] "
    "for the {purpose}?",
)
NOT_FROM = (
    BOOK
    + "[which members|who among the members|which of the members] [gave|paid|put in] [money|something] "
    "for the {purpose} but are not from {town}?",
)
MOST = (
    BOOK
    + "[which member|who among the members|which one of the members] from {town} [gave|paid|put in] "
    "[the most in all|most in all|the most altogether]?",
)
MORE_FOR = (
    BOOK
    + "[how much more|how many pounds more] [was given|came in|was paid] for the {purpose} than for the {less} "
    "[in all|altogether]?",
)


@dataclass(frozen=True)
class Gift:
    """Who gave how many pounds, for what, on which day."""

    name: str
    pounds: int
    purpose: str
    day: date


@dataclass(frozen=True)
class Book:
    """All gifts, in the order in which they are told, and where the members live."""

    gifts: Sequence[Gift]
    homes: Mapping[str, str]

    def totals(self) -> Counter[str]:
        """Return what each member gave in all."""
        return _sums((gift.name, gift.pounds) for gift in self.gifts)

    def purposes(self) -> Counter[str]:
        """Return what was given for each purpose."""
        return _sums((gift.purpose, gift.pounds) for gift in self.gifts)

    def firsts(self) -> dict[str, date]:
        """Return the day of each member's first gift."""
        backwards = sorted(self.gifts, key=lambda gift: gift.day, reverse=True)
        return {gift.name: gift.day for gift in backwards}

    def givers(self, purpose: str) -> set[str]:
        """Return who gave for a purpose."""
        return {gift.name for gift in self.gifts if gift.purpose == purpose}

    def members(self, town: str) -> set[str]:
        """Return who lives in a town."""
        return {name for name, home in self.homes.items() if home == town}


def _sums(amounts: Iterable[tuple[str, int]]) -> Counter[str]:
    result: Counter[str] = Counter()
    for what, pounds in amounts:
        result[what] += pounds
    return result


@dataclass(frozen=True)
class Question:
    """A question with the kind of its answer, what is expected, and what else an answer could name."""

    text: str
    kind: str
    expected: Sequence[str]
    others: Sequence[str] = ()


def book(rng: random.Random, facts: int) -> Book:
    """Return a book of so many facts, in which all questions have one answer."""
    inventions = Inventions(rng)
    names = [inventions.name() for _ in range(4 + facts // 10)]
    count = 2 if len(names) < 9 else 3
    towns = [inventions.name() for _ in range(count)]
    homes = {name: towns[place % len(towns)] for place, name in enumerate(names)}
    purposes = rng.sample(PURPOSES, 4 if facts < 40 else 5)
    while True:
        givers = [*names, *rng.choices(names, k=facts - 2 * len(names))]
        rng.shuffle(givers)
        gifts = []
        numbers = rng.sample(range(DAYS), len(givers))
        for name, number in zip(givers, numbers, strict=True):
            day = BEGINS + timedelta(days=number)
            gifts.append(Gift(name, rng.choice(AMOUNTS), rng.choice(purposes), day))
        made = Book(gifts, homes)
        totals, sums = made.totals(), made.purposes()
        apart = len(set(totals.values())) == len(names) and len(
            set(sums.values())
        ) == len(sums)
        if apart and len(sums) == len(purposes) and all(joins(made)):
            return made


Join = tuple[Sequence[str], set[str], str, str]
"""Wordings, the names that they ask for, the town, and the purpose."""


def joins(ledger: Book) -> tuple[list[Join], list[Join]]:
    """Return questions for members from a town, and not from it; neither town nor purpose alone answers them."""
    inside, outside = list[Join](), list[Join]()
    for town in sorted(set(ledger.homes.values())):
        members = ledger.members(town)
        for purpose in sorted(ledger.purposes()):
            givers = ledger.givers(purpose)
            if givers & members and givers - members and givers & members != members:
                inside.append((FROM, givers & members, town, purpose))
            if (
                givers & members
                and givers - members
                and givers - members != set(ledger.homes) - members
            ):
                outside.append((NOT_FROM, givers - members, town, purpose))
    return inside, outside


def large_scale_integration(
    rng: random.Random, parameters: Mapping[str, Any]
) -> Definition:
    """Return so many `facts` (default 24) of a club's members and their gifts, over the whole span; then questions.

    One question each that counts gifts, adds them, orders all members, joins gifts with
    where members live, and compares. Of each there are two forms, but of the one that
    adds.
    """
    facts = whole(parameters, "facts", 24, 20, 60)
    ledger = book(rng, facts)
    says = []
    for gift in ledger.gifts:
        tells = {f"{gift.name}'s gift of {gift.day}": gift.purpose}
        says.append(Say(_told(rng, gift), tells=tells))
    for name, town in ledger.homes.items():
        text = worded(rng, HOME, name=name, town=town)
        says.append(Say(text, tells={f"{name}'s town": town}))
    rng.shuffle(says)
    asked = [ask(rng, ledger) for ask in (_count, _add, _order, _join, _compare)]
    rng.shuffle(asked)
    texts = tuple(message.text for message in says)
    return Definition(
        steps=spread(
            [*says, *(Ask(question.text, about=texts) for question in asked)],
            last_wait(rng, parameters),
        ),
        expected=[list(question.expected) for question in asked],
        parameters={
            **parameters,
            "asked": [question.kind for question in asked],
            "others": [list(question.others) for question in asked],
        },
        replies=tuple(_reply(question) for question in asked),
    )


def _told(rng: random.Random, gift: Gift) -> str:
    amounts = [f"{gift.pounds} pounds", f"£{gift.pounds}"]
    if gift.pounds <= len(ONES) + 1:
        amounts.append(f"{ONES[gift.pounds - 2]} pounds")
    slots = {
        "name": gift.name,
        "amount": rng.choice(amounts),
        "purpose": gift.purpose,
        "day": spoken(rng, gift.day),
    }
    return worded(rng, GIFT, **slots)


def spoken(rng: random.Random, day: date) -> str:
    """Return a day without its year, as people say it."""
    ending = (
        "th"
        if day.day in (11, 12, 13)
        else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    )
    forms = (
        f"{day.day} {day:%B}",
        f"{day:%B} {day.day}",
        f"the {day.day}{ending} of {day:%B}",
    )
    return rng.choice(forms)


def _count(rng: random.Random, ledger: Book) -> Question:
    if rng.random() < 1 / 2:
        days = sorted(gift.day for gift in ledger.gifts)
        day = rng.choice([day for day in _days(days[2], days[-3]) if day not in days])
        later = sum(gift.day > day for gift in ledger.gifts)
        text = worded(rng, AFTER_DAY, day=spoken(rng, day))
        return Question(text, NUMBER, [str(later)])
    pounds = sorted(gift.pounds for gift in ledger.gifts)
    more = {}
    for bound in range(pounds[2], pounds[-3]):
        if bound not in pounds:
            more[bound] = sum(pound > bound for pound in pounds)
    # else who repeats the question is right
    number = rng.choice([bound for bound, count in more.items() if count != bound])
    return Question(
        worded(rng, ABOVE, number=number), NUMBER, [str(more[number])], [str(number)]
    )


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=day) for day in range((last - first).days)]


def _add(rng: random.Random, ledger: Book) -> Question:
    purpose, pounds = rng.choice(sorted(ledger.purposes().items()))
    return Question(worded(rng, SPENT_ON, purpose=purpose), NUMBER, [str(pounds)])


def _order(rng: random.Random, ledger: Book) -> Question:
    by_sum = [name for name, _ in ledger.totals().most_common()]
    by_day = sorted(ledger.homes, key=ledger.firsts().__getitem__)
    which = rng.randrange(len(RANKED))
    return Question(
        worded(rng, RANKED[which : which + 1]), ORDER, (by_sum, by_day)[which]
    )


def _join(rng: random.Random, ledger: Book) -> Question:
    wordings, names, town, purpose = rng.choice(rng.choice(joins(ledger)))
    others = [name for name in ledger.homes if name not in names]
    text = worded(rng, wordings, town=town, purpose=purpose)
    return Question(text, SET, [name for name in ledger.homes if name in names], others)


def _compare(rng: random.Random, ledger: Book) -> Question:
    if rng.random() < 1 / 2:
        town = rng.choice(sorted(set(ledger.homes.values())))
        most = max(ledger.members(town), key=ledger.totals().__getitem__)
        text = worded(rng, MOST, town=town)
        return Question(
            text, NAME, [most], [name for name in ledger.homes if name != most]
        )
    (more, much), (less, little) = sorted(
        rng.sample(ledger.purposes().most_common(), 2), key=lambda purpose: -purpose[1]
    )
    return Question(
        worded(rng, MORE_FOR, purpose=more, less=less), NUMBER, [str(much - little)]
    )


def _reply(question: Question) -> str:
    return (
        f"That is {question.expected[0]}."
        if question.kind in (NUMBER, NAME)
        else f"{', '.join(question.expected)}."
    )


def rule_of(definition: Definition) -> WorksOut:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    return WorksOut(
        tuple(lists["asked"]),
        tuple(map(tuple, definition.expected)),
        tuple(map(tuple, lists["others"])),
    )


@pytest.mark.ltm(
    generate=large_scale_integration,
    skills="R,I,E",
    version="1",
    floor=0.16,  # who knows the names and nothing else: numbers that are often near, all else drawn at random
    reset="You can close the club's book: forget all gifts in it, and all members.",
)
def test_large_scale_integration(ltm: Ltm) -> None:
    """Works out from all facts together how many, how much, in which order, who, and by how much more."""
    ltm.score(rule_of(ltm.definition)(ltm.play(ltm.definition)))
