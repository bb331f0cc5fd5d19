"""The event graph: the events in two people's lives with times, people and causes, asked about or not."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from functools import cache
from itertools import chain
from string import Formatter
from typing import Any

from msgspec import Struct, structs

from pytest_ltm.api.storage import DatasetError, load_packaged_yaml
from pytest_ltm.language.dates import DAYS, MONTHS
from pytest_ltm.language.numbers import ONES


class Event(Struct, frozen=True, kw_only=True):
    """An event or state of one person."""

    id: str
    """`E<number>`, from 1, in order of sessions."""
    who: str
    kind: str
    """A key of `tellable_kinds`."""
    session: int
    """The session in which it is told, from 1."""
    on: date | None = None
    """The day of the event; None if it has no date."""
    roles: Mapping[str, str]
    """Values by role: who, what, where ..."""
    causes: tuple[str, ...] = ()
    """Ids of its causes."""
    plan: date | None = None
    """First day of the month in which the person plans to take the next step."""
    beside: bool = False
    """Whether it is told as an aside, without a question in the conversation."""
    after: str = ""
    """Id of the event that this one supersedes."""


class World(Struct, frozen=True):
    """Two people, the days on which they talk, and their events."""

    speakers: tuple[str, str]
    dates: tuple[datetime, ...]
    """Dates of the sessions, in order, aware."""
    events: tuple[Event, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the graph as JSON values."""
        events = []
        for event in self.events:
            fields = {}
            for name, value in structs.asdict(event).items():
                if value:
                    is_date = isinstance(value, date)
                    fields[name] = value.isoformat() if is_date else value
            events.append(fields)
        return {
            "speakers": list(self.speakers),
            "sessions": [moment.isoformat() for moment in self.dates],
            "events": events,
        }


# --- The length of each session and the positions of events in it, planned before the
# events themselves.

# Turns of the shortest session: greetings, one event with one question about it,
# farewells.
SHORTEST = 7
_AROUND = 4
_FIRST_YEARS = (2021, 2025)


class Outline(Struct, frozen=True):
    """The outline of one session."""

    number: int
    moment: datetime
    first: int
    """The index (0 or 1) of the speaker who begins."""
    blocks: tuple[int, ...]
    """The blocks between greetings and farewells, throughout which speakers alternate.

    n > 0: an event with n questions about it; 0: one turn of small talk.
    """


def session_outlines(sessions: int, turns: int, rng: random.Random) -> list[Outline]:
    """Return sessions with this total number of turns."""
    day = datetime(
        rng.randint(*_FIRST_YEARS),
        rng.randint(1, 12),
        rng.randint(1, 28),
        tzinfo=timezone.utc,
    )
    dates = []
    for _ in range(sessions):
        dates.append(day + timedelta(minutes=rng.randint(8 * 60, 22 * 60)))
        day += timedelta(days=rng.choice((2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 21)))
    lengths = _session_lengths(sessions, turns, rng)
    outlines = []
    for number, (moment, length) in enumerate(
        zip(dates, lengths, strict=True), start=1
    ):
        first = rng.randrange(2)
        blocks = _turn_blocks(length - _AROUND, rng)
        outlines.append(Outline(number, moment, first, blocks))
    return outlines


def _session_lengths(sessions: int, turns: int, rng: random.Random) -> list[int]:
    """Return lengths that differ by up to a third, and are never below SHORTEST."""
    spare = turns - SHORTEST * sessions
    weights = [rng.uniform(0.65, 1.35) for _ in range(sessions)]
    shares = [int(spare * weight / sum(weights)) for weight in weights]
    for place in range(spare - sum(shares)):
        shares[place % sessions] += 1
    return [SHORTEST + share for share in shares]


def _turn_blocks(turns: int, rng: random.Random) -> tuple[int, ...]:
    """Return blocks with this total number of turns: 1 + 2n for an event, 1 for small talk."""
    numbers: list[int] = []
    while turns >= 3:
        questions = min(rng.choice((1, 2, 2, 3)), (turns - 1) // 2)
        numbers.append(questions)
        turns -= 1 + 2 * questions
        if turns and rng.random() < 0.3:
            numbers.append(0)
            turns -= 1
    numbers += [0] * turns
    return tuple(numbers)


# --- The texts of template-made conversations, read from YAML files next to this
# module.

# In place of a detail's question: the detail is a number of years, and the kind's
# question asks for the year.
SINCE = "since"


class Detail(Struct, frozen=True):
    """An additional detail of something told: the other speaker asks, the teller answers."""

    role: str
    ask: str
    tell: str
    question: str
    """Asks about the teller in the third person; may be SINCE; "" if it cannot be asked about."""
    caption: str = ""
    """The caption of the photo that comes with the answer."""


class Tellable(Struct, frozen=True, kw_only=True):
    """Something that a speaker may tell: a step of a storyline, a topic of the persona, a trait, a habit."""

    key: str
    details: tuple[Detail, ...]
    did: str = ""
    """For a step: the event, after "I"."""
    do: str = ""
    """For a step: the same, after "did somebody"."""
    tell: str = ""
    """For others: the sentence that tells it."""
    gist: str = ""
    """For others: the same after a name."""
    role: str = ""
    """The role that the sentence tells."""
    question: str = ""
    since: str = ""
    chance: bool = False
    """A step that is not planned."""
    conclusions: tuple[tuple[str, str], ...] = ()
    """For traits: questions not answered in the conversation, with the conclusions."""


class Storyline(Struct, frozen=True, kw_only=True):
    """A storyline: steps on one theme, each a cause of the next."""

    name: str
    theme: str
    """The pool of its themes."""
    listing: str
    """The question for all themes of one speaker."""
    steps: tuple[Tellable, ...]
    endless: bool = False

    @property
    def roles(self) -> frozenset[str]:
        """All roles in its texts, except the theme."""
        names = set[str]()
        for detail in chain.from_iterable(step.details for step in self.steps):
            names.add(detail.role)
            names |= brace_names(detail.tell) | brace_names(detail.caption)
        return frozenset(names - {"theme", "who"})


class Habit(Struct, frozen=True, kw_only=True):
    """Something that a speaker does in one way, and later in another."""

    key: str
    pool: tuple[str, ...]
    first: Tellable
    change: Tellable
    latest: str
    """The question for the latest value."""
    listing: str
    """The question for all values."""


def brace_names(text: str) -> set[str]:
    """Return the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@cache
def load_texts(name: str) -> Any:
    """Load a file: `pools`, `personas` (names, cities ...), `talk` (sentences by purpose) or `prompts`."""
    return load_packaged_yaml(__file__, f"texts/{name}.yml")


@cache
def load_storylines() -> dict[str, Storyline]:
    """Return the storylines by name, in file order."""
    storylines = {}
    for row in load_texts("storylines"):
        steps = []
        for number, step in enumerate(row["steps"]):
            steps.append(_parse_tellable(f"{row['name']}/{number}", step))
        storylines[row["name"]] = Storyline(**{**row, "steps": tuple(steps)})
    return storylines


@cache
def personal_topics() -> tuple[Tellable, ...]:
    """Return permanent facts that speakers may tell of themselves: topics, and traits with conclusions."""
    topics = []
    for sort in ("topic", "trait"):
        for row in load_texts("personas")[f"{sort}s"]:
            topics.append(_parse_tellable(f"{sort}/{row['key']}", row))
    return tuple(topics)


@cache
def load_habits() -> tuple[Habit, ...]:
    """Return the facts that may change."""
    habits = []
    for row in load_texts("personas")["habits"]:
        key = f"habit/{row['key']}"
        reason = Detail("reasonforchange", "", "", "")
        first = Tellable(key=f"{key}/first", tell=row["tell"], role="new", details=())
        change = structs.replace(
            first,
            key=f"{key}/change",
            tell=row["change"],
            details=(reason,),
            question=row["before"],
        )
        habits.append(
            Habit(
                key=key,
                pool=tuple(row["pool"]),
                first=first,
                change=change,
                latest=row["now"],
                listing=row["all"],
            )
        )
    return tuple(habits)


@cache
def tellable_kinds() -> dict[str, Tellable]:
    """Return everything that can be told, by key."""
    kinds = list(chain.from_iterable(line.steps for line in load_storylines().values()))
    kinds += personal_topics()
    for habit in load_habits():
        kinds += [habit.first, habit.change]
    return {kind.key: kind for kind in kinds}


def draw_value(role: str, rng: random.Random) -> str:
    """Draw a value from the role's pool."""
    pool = {**load_texts("pools"), **load_texts("personas")["values"]}[role]
    if isinstance(pool, list):
        return str(rng.choice(pool))
    if not brace_names(pool):
        low, _, high = pool.partition("-")
        return str(rng.randint(int(low), int(high)))
    return str(pool).format_map(draw_values(brace_names(pool), rng))


def draw_values(roles: Iterable[str], rng: random.Random) -> dict[str, str]:
    """Draw a value for each role."""
    return {role: draw_value(role, rng) for role in sorted(roles)}


def _parse_tellable(key: str, row: Mapping[str, Any]) -> Tellable:
    details = [Detail(*text.split(" | ")) for text in row.get("details", ())]
    conclusions = [tuple(text.split(" | ")) for text in row.get("conclusions", ())]
    fields = {"details": tuple(details), "conclusions": tuple(conclusions)}
    return Tellable(**{**row, **fields, "key": key})


# --- Weaving the event graph: the storylines of two people, and the events told in each
# session.

# The number of asides per turn between greetings and farewells.
_BESIDE = 0.27
_ABOUT_ONESELF = 0.22
_HABIT = 0.1
_GO_ON = 0.6
_MOST_OPEN = 6
_PLAN = 0.25
# How many days before the telling an event was: most often within two weeks.
DAYS_AGO = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 20, 30, 40)
_TRIES = 60
_TRIES_OF_THE_ENDLESS = 2_000


class _Open(Struct, frozen=True):
    """An ongoing storyline."""

    line: Storyline
    roles: dict[str, str]
    last: Event
    step: int
    """The index of the next event's step."""

    def may_be_told(self, session: int, today: date) -> bool:
        """Whether the next step may be told: not on the same day, and not before it was planned."""
        earliest = self.last.plan or (self.last.on or today) + timedelta(1)
        return self.last.session < session and earliest < today


def weave_world(
    speakers: tuple[str, str], outlines: Sequence[Outline], rng: random.Random
) -> World:
    """Return the world in which each block of the outlines tells one event of the speaker whose turn it is."""
    weaver = _Weaver(speakers, rng)
    events = []
    for outline in outlines:
        turn = outline.first  # greetings take two turns, so the first speaker is next
        for block in outline.blocks:
            if block:
                events.append(weaver.event(speakers[turn], outline))
            turn = 1 - turn  # a block has an odd number of turns
        turns = sum(1 + 2 * block for block in outline.blocks)
        for n in range(round(turns * _BESIDE)):
            events.append(weaver.event(speakers[n % 2], outline, beside=True))
    return World(speakers, tuple(outline.moment for outline in outlines), tuple(events))


class _Weaver:
    """The used-up and ongoing storylines while sessions are generated."""

    def __init__(self, speakers: tuple[str, str], rng: random.Random) -> None:
        self._rng = rng
        self._themes: set[str] = set()
        self._count = 0
        self._open: dict[str, list[_Open]] = {speaker: [] for speaker in speakers}
        self._personal = _deal_out(personal_topics(), speakers, rng)
        self._habits = _deal_out(load_habits(), speakers, rng)
        self._latest_events: dict[str, Event] = {}
        self._values: dict[str, list[str]] = {}

    def event(self, speaker: str, outline: Outline, *, beside: bool = False) -> Event:
        """Return the speaker's next event; `beside`: as an aside, without plans."""
        if beside:
            return structs.replace(
                self._lived(speaker, outline, plans=False), beside=True
            )
        draw = self._rng.random()
        if draw < _ABOUT_ONESELF and self._personal[speaker]:
            kind: Tellable = self._personal[speaker].pop()
            texts = (kind.tell, *(detail.tell for detail in kind.details))
            names = set[str]().union(*map(brace_names, texts))
            roles = draw_values(names, self._rng)
            return self._event(speaker, kind, outline, roles)
        if draw > 1 - _HABIT:
            chosen_habits = self._draw_habits(speaker)
            if chosen_habits:
                return self._changed(speaker, self._rng.choice(chosen_habits), outline)
        return self._lived(speaker, outline)

    def _draw_habits(self, speaker: str) -> list[Habit]:
        """Return the speaker's habits that may go on: new ones, and some of those begun."""
        habits = []
        for habit in self._habits[speaker]:
            if len(self._values.get(habit.key, ())) >= len(habit.pool):
                continue
            if habit.key not in self._latest_events or self._rng.random() < 0.5:
                habits.append(habit)
        return habits

    def _event(
        self,
        speaker: str,
        kind: Tellable,
        outline: Outline,
        roles: Mapping[str, str],
        **fields: Any,
    ) -> Event:
        self._count += 1
        return Event(
            id=f"E{self._count}",
            who=speaker,
            kind=kind.key,
            session=outline.number,
            roles=roles,
            **fields,
        )

    def _changed(self, speaker: str, habit: Habit, outline: Outline) -> Event:
        values = self._values.setdefault(habit.key, [])
        former = self._latest_events.get(habit.key)
        unused = [value for value in habit.pool if value not in values]
        roles = {"new": self._rng.choice(unused)}
        kind = habit.first
        if former:
            roles |= {
                "old": values[-1],
                "reasonforchange": draw_value("reasonforchange", self._rng),
            }
            kind = habit.change
        values.append(roles["new"])
        self._latest_events[habit.key] = self._event(
            speaker, kind, outline, roles, after=former.id if former else ""
        )
        return self._latest_events[habit.key]

    def _lived(self, speaker: str, outline: Outline, *, plans: bool = True) -> Event:
        ready = []
        for thread in self._open[speaker]:
            if thread.may_be_told(outline.number, outline.moment.date()):
                ready.append(thread)
        if ready and (
            len(self._open[speaker]) >= _MOST_OPEN or self._rng.random() < _GO_ON
        ):
            chosen = self._rng.choice(ready)
            self._open[speaker].remove(chosen)
            return self._step(
                speaker,
                chosen.line,
                chosen.roles,
                chosen.step,
                chosen.last,
                outline,
                plans=plans,
            )
        line, theme = self._new_theme()
        roles = {"theme": theme, **draw_values(line.roles, self._rng)}
        return self._step(speaker, line, roles, 0, None, outline, plans=plans)

    def _new_theme(self) -> tuple[Storyline, str]:
        storylines = list(load_storylines().values())
        endless = [line for line in storylines if line.endless]
        for tried in range(_TRIES + _TRIES_OF_THE_ENDLESS):
            # once the themes of most storylines are used up, only endless ones have new
            # ones
            line = self._rng.choice(storylines if tried < _TRIES else endless)
            theme = draw_value(line.theme, self._rng)
            if theme.casefold() not in self._themes:
                self._themes.add(theme.casefold())
                return line, theme
        raise DatasetError(
            f"the templates have no more to tell after {self._count} events. Ask for fewer turns, or use a model"
        )

    def _step(
        self,
        speaker: str,
        line: Storyline,
        roles: dict[str, str],
        step: int,
        last: Event | None,
        outline: Outline,
        *,
        plans: bool,
    ) -> Event:
        today = outline.moment.date()
        earliest = today - timedelta(40)
        if last:
            earliest = max(earliest, last.plan or (last.on or today) + timedelta(1))
        on = max(earliest, today - timedelta(self._rng.choice(DAYS_AGO)))
        event = self._event(
            speaker,
            line.steps[step],
            outline,
            roles,
            on=on,
            causes=(last.id,) if last else (),
        )
        if step + 1 < len(line.steps):
            may_plan = plans and not line.steps[step + 1].chance
            if may_plan and self._rng.random() < _PLAN:
                next_month = (today.replace(day=28) + timedelta(4)).replace(day=1)
                event = structs.replace(event, plan=next_month)
            self._open[speaker].append(_Open(line, roles, event, step + 1))
        return event


def _deal_out(
    things: Sequence[object], speakers: tuple[str, str], rng: random.Random
) -> dict[str, list]:  # type: ignore[type-arg]
    """Distribute the things between the two speakers in random order."""
    mixed = rng.sample(things, len(things))
    return {speaker: mixed[number::2] for number, speaker in enumerate(speakers)}


# --- Dates in people's words, and their meaning on the day they are spoken.

_WEEK = 7
_SATURDAY = 5
_FEW_DAYS = 10


def date_phrase(on: date, told_day: date, rng: random.Random) -> str:
    """Return a phrase, spoken on `told_day`, for the time of an event `on` an earlier day."""
    ago = (told_day - on).days
    lines = [f"on {on.day} {MONTHS[on.month - 1]}"]
    if ago == 1:
        lines += ["yesterday"] * 2
    elif ago <= _FEW_DAYS:
        lines.append(f"{ONES[ago]} days ago")
    if 1 < ago <= _WEEK:
        lines += [f"last {DAYS[on.weekday()]}"] * 2
    monday = told_day - timedelta(told_day.weekday())
    if monday - timedelta(_WEEK) <= on < monday:
        lines.append("last week")
        if on.weekday() >= _SATURDAY:
            lines += ["last weekend"] * 2
    last_month = told_day.replace(day=1) - timedelta(1)
    if (on.year, on.month) == (last_month.year, last_month.month):
        lines.append("last month")
    return rng.choice(lines)


def phrase_meaning(words: str, told_day: date) -> str:
    """Return the date that a phrase means when spoken on `told_day`, in the form of gold answers."""
    meanings = {
        "yesterday": gold_day(told_day - timedelta(1)),
        "last week": f"The week before {gold_day(told_day)}",
        "last weekend": f"The weekend before {gold_day(told_day)}",
        "last month": gold_month(told_day.replace(day=1) - timedelta(1)),
        "next month": gold_month(told_day.replace(day=28) + timedelta(4)),
    }
    if words in meanings:
        return meanings[words]
    if match := re.fullmatch(r"last (\w+)", words):
        ago = (told_day.weekday() - DAYS.index(match[1])) % _WEEK or _WEEK
        return gold_day(told_day - timedelta(ago))
    if match := re.fullmatch(r"(\w+) days ago", words):
        return gold_day(told_day - timedelta(ONES.index(match[1])))
    match = re.fullmatch(r"on (\d+) (\w+)", words)
    if match is None:
        raise ValueError(f"no date: {words!r}")
    day = date(told_day.year, MONTHS.index(match[2]) + 1, int(match[1]))
    # the latest day with that name
    return gold_day(day if day <= told_day else day.replace(year=told_day.year - 1))


def gold_day(on: date) -> str:
    """Return the day in the form of gold answers: `7 May 2023`."""
    return f"{on.day} {gold_month(on)}"


def gold_month(on: date) -> str:
    """Return the month of the day: `May 2023`."""
    return f"{MONTHS[on.month - 1]} {on.year}"
