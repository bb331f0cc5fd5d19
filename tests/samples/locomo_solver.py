"""Answers LoCoMo questions from the event graph: an independent way to each answer, to check the gold answers.

It reads the question's text and the graph. It does not see the dialogue, the wording of
dates, the gold answers or the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from pytest_ltm.lab.locomo import world as _texts
from pytest_ltm.lab.locomo.world import SINCE, Event, Tellable, World
from pytest_ltm.language.dates import MONTHS

_WEEK = timedelta(7)


@dataclass(frozen=True)
class Solver:
    """Answers about one world: a text, the day of an event, or None if the graph does not hold the answer."""

    world: World

    def answer(self, question: str) -> str | date | None:
        """Return the graph's answer; ValueError if the question has no known form."""
        known = False
        for pattern, find in self._forms:
            if found := pattern.fullmatch(question):
                known = True
                answer = find(found.groupdict())
                if answer is not None:
                    return answer
        if not known:
            raise ValueError(f"no known form: {question!r}")
        return None

    @cached_property
    def _forms(
        self,
    ) -> list[tuple[re.Pattern[str], Callable[[Mapping[str, str]], str | date | None]]]:
        return [(_pattern(text), find) for text, find in self._texts()]

    def _texts(
        self,
    ) -> Iterator[tuple[str, Callable[[Mapping[str, str]], str | date | None]]]:
        for line in _texts.load_storylines().values():
            yield (
                line.listing,
                lambda named, name=line.name: self._themes(f"{name}/0", named),  # type: ignore[misc]
            )
            for before, after in zip((None, *line.steps), line.steps, strict=False):
                yield from self._about_step(before, after)
        for kind in _texts.tellable_kinds().values():
            yield from self._about(kind)
        for habit in _texts.load_habits():
            yield (
                habit.latest,
                lambda named, key=habit.key: self._stages(key, named)[-1],  # type: ignore[misc]
            )
            yield (
                habit.listing,
                lambda named, key=habit.key: ", ".join(self._stages(key, named)),  # type: ignore[misc]
            )
        for number, text in enumerate(_texts.load_texts("personas")["city_questions"]):
            yield text, lambda named, number=number: self._city(number, named)  # type: ignore[misc]

    def _about_step(
        self, before: Tellable | None, step: Tellable
    ) -> Iterator[tuple[str, Callable[[Mapping[str, str]], str | date | None]]]:
        yield (
            f"When did {{who}} {step.do}?",
            lambda named: getattr(self._one(step.key, named), "on", None),
        )
        if before is None:
            return
        yield (
            f"When did {{who}} plan to {step.do}?",
            lambda named: getattr(self._one(before.key, named), "plan", None),
        )
        yield (
            f"What had {{who}} done that led to this: {{who}} {step.did}?",
            lambda named: self._cause(step, named),
        )
        yield (
            f"How many days lay between the day when {{who}} {before.did} and the day when {{who}} {step.did}?",
            lambda named: self._days(step, named),
        )

    def _about(
        self, kind: Tellable
    ) -> Iterator[tuple[str, Callable[[Mapping[str, str]], str | date | None]]]:
        if kind.question:
            role = "old" if kind.key.endswith("/change") else kind.role
            yield kind.question, lambda named: self._role(kind.key, role, named)
        for detail in kind.details:
            if detail.question == SINCE:
                yield kind.since, lambda named: self._year(kind.key, named)
            elif detail.question:
                yield (
                    detail.question,
                    lambda named, role=detail.role: self._role(kind.key, role, named),  # type: ignore[misc]
                )
        for question, conclusion in kind.conclusions:
            yield (
                question,
                lambda named, text=conclusion: (
                    text.format(**named) if self._one(kind.key, named) else None
                ),  # type: ignore[misc]
            )

    def _all(self, key: str, named: Mapping[str, str]) -> list[Event]:
        """Return the person's events of this kind whose roles match those named in the question."""
        return [
            event
            for event in self.world.events
            if event.kind == key
            and event.who == named["who"]
            and all(
                event.roles.get(name) == value
                for name, value in named.items()
                if name != "who"
            )
        ]

    def _one(self, key: str, named: Mapping[str, str]) -> Event | None:
        found = self._all(key, named)
        return found[0] if found else None

    def _role(self, key: str, role: str, named: Mapping[str, str]) -> str | None:
        event = self._one(key, named)
        return event.roles[role] if event else None

    def _year(self, key: str, named: Mapping[str, str]) -> str | None:
        event = self._one(key, named)
        return (
            str(self.world.dates[event.session - 1].year - int(event.roles["years"]))
            if event
            else None
        )

    def _themes(self, key: str, named: Mapping[str, str]) -> str | None:
        return (
            ", ".join(event.roles["theme"] for event in self._all(key, named)) or None
        )

    def _stages(self, key: str, named: Mapping[str, str]) -> list[str]:
        """Return the successive values of a habit, oldest first."""
        event = self._one(f"{key}/first", named)
        found = []
        while event:
            found.append(event.roles["new"])
            event = next(
                (later for later in self.world.events if later.after == event.id), None
            )
        return found or [""]

    def _cause_of(self, event: Event | None) -> Event | None:
        """Return the event that led to this one, if any."""
        for cause in self.world.events:
            if event and cause.id in event.causes:
                return cause
        return None

    def _cause(self, step: Tellable, named: Mapping[str, str]) -> str | None:
        event = self._one(step.key, named)
        cause = self._cause_of(event)
        return (
            _texts.tellable_kinds()[cause.kind].did.format(**cause.roles)
            if cause
            else None
        )

    def _days(self, step: Tellable, named: Mapping[str, str]) -> str | None:
        event = self._one(step.key, named)
        cause = self._cause_of(event)
        return (
            f"{(event.on - cause.on).days}"
            if event and cause and event.on and cause.on
            else None
        )

    def _city(self, number: int, named: Mapping[str, str]) -> str | None:
        return (
            _texts.load_texts("personas")["cities"][named["theme"]][number]
            if self._one("trip/1", named)
            else None
        )


def agrees(answer: str | date | None, gold: str) -> bool:
    """Return whether answer and gold agree; a day agrees with the day, week, month or year that contains it."""
    if isinstance(answer, date):
        first, last = _span(gold)
        return first <= answer <= last
    if answer is None:
        return False
    wanted = re.fullmatch(r"(\d+) days?", gold)
    return answer == wanted[1] if wanted else _plain(answer) == _plain(gold)


def _span(gold: str) -> tuple[date, date]:
    """Return the first and last day that a gold date may denote."""
    if found := re.fullmatch(r"The (week|weekend) before (.+)", gold):
        told = _span(found[2])[0]
        monday = told - timedelta(told.weekday())
        first = monday - (_WEEK if found[1] == "week" else timedelta(2))
        return first, monday - timedelta(1)
    *days, name, year = gold.split()
    number = MONTHS.index(name) + 1
    if days:
        on = date(int(year), number, int(days[0]))
        return on, on
    first = date(int(year), number, 1)
    return first, (first + timedelta(31)).replace(day=1) - timedelta(1)


def _plain(text: str) -> str:
    return re.sub(r"\b(my|their) ", "", text, flags=re.IGNORECASE).casefold()


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that matches questions of this form and captures the names in them."""
    parts = re.split(r"\{(\w+)\}", text)
    seen: set[str] = set()
    found = ""
    for number, part in enumerate(parts):
        if number % 2 == 0:
            found += re.escape(part)
        else:
            found += f"(?P={part})" if part in seen else f"(?P<{part}>.+)"
            seen.add(part)
    return re.compile(found)
