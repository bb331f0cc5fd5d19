"""Weaving the event graph: which storylines two people live through, and what of it they tell in which session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pytest_ltm._errors import DatasetError
from pytest_ltm.datasets.locomo.generate import _texts
from pytest_ltm.datasets.locomo.generate._graph import Event, World

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from datetime import date

    from pytest_ltm.datasets.locomo.generate._outline import Outline
    from pytest_ltm.datasets.locomo.generate._texts import Habit, Kind, Line

_ABOUT_ONESELF = 0.22
_HABIT = 0.1
_GO_ON = 0.6
_MOST_OPEN = 6
_PLAN = 0.25
_TRIES, _TRIES_OF_THE_ENDLESS = 60, 2_000


@dataclass(frozen=True, slots=True)
class _Open:
    """A storyline that goes on."""

    line: Line
    roles: dict[str, str]
    last: Event
    step: int
    """Of the next event."""

    def ready(self, session: int, today: date) -> bool:
        """Whether the next step may be told: not on the same day, and not before it was planned."""
        earliest = self.last.plan or (self.last.on or today) + timedelta(1)
        return self.last.session < session and earliest < today


def weave(speakers: tuple[str, str], outlines: Sequence[Outline], rng: random.Random) -> World:
    """Return the world in which each block of the outlines tells one event, of the speaker whose turn it is."""
    weaver = _Weaver(speakers, rng)
    events = []
    for outline in outlines:
        turn = outline.first  # greetings take two turns, so the first speaker is next
        for asked in outline.blocks:
            if asked:
                events.append(weaver.event(speakers[turn], outline))
            turn = 1 - turn  # a block has an odd number of turns
    return World(speakers, tuple(outline.at for outline in outlines), tuple(events))


class _Weaver:
    """What has been used up and what goes on, while the sessions go by."""

    def __init__(self, speakers: tuple[str, str], rng: random.Random) -> None:
        self._rng = rng
        self._themes: set[str] = set()
        self._count = 0
        self._open: dict[str, list[_Open]] = {who: [] for who in speakers}
        self._personal = _dealt((*_texts.topics(), *_texts.traits()), speakers, rng)
        self._habits = _dealt(_texts.habits(), speakers, rng)
        self._said: dict[str, Event] = {}
        self._values: dict[str, list[str]] = {}

    def event(self, who: str, outline: Outline) -> Event:
        """Return what the speaker tells next."""
        draw = self._rng.random()
        if draw < _ABOUT_ONESELF and self._personal[who]:
            return self._about_oneself(who, outline)
        if draw > 1 - _HABIT and (habit := self._habit(who)):
            return self._changed(who, habit, outline)
        return self._lived(who, outline)

    def _id(self) -> str:
        self._count += 1
        return f"E{self._count}"

    def _about_oneself(self, who: str, outline: Outline) -> Event:
        kind: Kind = self._personal[who].pop()
        roles = {role: _texts.drawn(role, self._rng) for role in sorted(_roles(kind))}
        return Event(id=self._id(), who=who, kind=kind.key, session=outline.number, on=None, roles=roles)

    def _habit(self, who: str) -> Habit | None:
        """Return a habit that the speaker has not yet been through all values of."""
        left = [one for one in self._habits[who] if len(self._values.get(one.key, ())) < len(one.pool)]
        told = [one for one in left if one.key not in self._said or self._rng.random() < 0.5]  # noqa: PLR2004
        return self._rng.choice(told) if told else None

    def _changed(self, who: str, habit: Habit, outline: Outline) -> Event:
        values = self._values.setdefault(habit.key, [])
        before = self._said.get(habit.key)
        roles = {"new": self._rng.choice([one for one in habit.pool if one not in values])}
        kind = habit.first
        if before:
            roles |= {"old": values[-1], "reasonforchange": _texts.drawn("reasonforchange", self._rng)}
            kind = habit.change
        values.append(roles["new"])
        event = Event(
            id=self._id(), who=who, kind=kind.key, session=outline.number, on=None, roles=roles,
            after=before.id if before else "",
        )  # fmt: skip
        self._said[habit.key] = event
        return event

    def _lived(self, who: str, outline: Outline) -> Event:
        ready = [one for one in self._open[who] if one.ready(outline.number, outline.at.date())]
        if ready and (len(self._open[who]) >= _MOST_OPEN or self._rng.random() < _GO_ON):
            chosen = self._rng.choice(ready)
            self._open[who].remove(chosen)
            return self._step(who, chosen.line, chosen.roles, chosen.step, chosen.last, outline)
        line, theme = self._new_theme()
        roles = {"theme": theme, **{role: _texts.drawn(role, self._rng) for role in sorted(line.roles)}}
        return self._step(who, line, roles, 0, None, outline)

    def _new_theme(self) -> tuple[Line, str]:
        lines = list(_texts.lines().values())
        endless = [line for line in lines if line.endless]
        for tried in range(_TRIES + _TRIES_OF_THE_ENDLESS):
            line = self._rng.choice(lines if tried < _TRIES else endless)
            theme = _texts.drawn(line.theme, self._rng)
            if theme.casefold() not in self._themes:
                self._themes.add(theme.casefold())
                return line, theme
        raise DatasetError(
            f"the templates have no more to tell after {self._count} events. Ask for fewer turns, or use a model"
        )

    def _step(
        self, who: str, line: Line, roles: dict[str, str], step: int, last: Event | None, outline: Outline
    ) -> Event:
        today = outline.at.date()
        earliest = max(today - timedelta(40), last.plan or (last.on or today) + timedelta(1)) if last else None
        event = Event(
            id=self._id(), who=who, kind=line.steps[step].key, session=outline.number,
            on=self._day(today, earliest), roles=roles, causes=(last.id,) if last else (),
        )  # fmt: skip
        if step + 1 < len(line.steps):
            planned = not line.steps[step + 1].chance and self._rng.random() < _PLAN
            event = replace(event, plan=_next_month(today)) if planned else event
            self._open[who].append(_Open(line, roles, event, step + 1))
        return event

    def _day(self, today: date, earliest: date | None) -> date:
        """Return a day before today, most often of the last two weeks."""
        longest = (today - earliest).days if earliest else 40
        ago = self._rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 20, 30, 40))
        return today - timedelta(min(ago, longest))


def _dealt(things: Sequence[object], speakers: tuple[str, str], rng: random.Random) -> dict[str, list]:  # type: ignore[type-arg]
    """Return the things dealt out to the two, in random order."""
    mixed = rng.sample(things, len(things))
    return {who: mixed[number::2] for number, who in enumerate(speakers)}


def _roles(kind: Kind) -> set[str]:
    texts = (kind.tell, *(one.tell for one in kind.details))
    return {name for text in texts for name in _texts.fields(text)}


def _next_month(today: date) -> date:
    return (today.replace(day=28) + timedelta(4)).replace(day=1)
