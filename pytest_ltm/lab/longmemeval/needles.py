"""The questions to generate, in the shares of the published file, and what users mention besides evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct, structs

from pytest_ltm.api.model import content_stems, upper_first
from pytest_ltm.datasets.longmemeval.record import ABSTENTION, format_longmemeval_date
from pytest_ltm.lab.longmemeval.session_text import (
    SESSION_TOKENS,
    WORDS,
    Aside,
    Attribute,
    Happening,
    ItemSeries,
    Made,
    Never,
    Subject,
    Taste,
    Update,
    all_of,
    days_of_may,
    end_of_may,
    late_in_year,
    load_themes,
    months_before,
    some_time,
    write_session,
)

How = Literal[
    "value",
    "latest",
    "before",
    "count",
    "sum",
    "days",
    "weeks",
    "months",
    "first",
    "order",
    "entry",
    "taste",
]


class WorldFact(Struct, frozen=True):
    """A fact that holds from a moment on."""

    at: datetime
    about: str
    value: str


class WorldQuery(Struct, frozen=True):
    """A question about the world."""

    how: How
    about: tuple[str, ...]
    """Names of facts, all of which are needed."""
    unit: str = ""


class EvidenceSession(Struct, frozen=True):
    """One session of evidence."""

    at: datetime
    theme: str
    aside: Aside


class Needle(Struct, frozen=True):
    """One question with its evidence."""

    type: str
    """One of the data set's question types."""
    question: str
    answer: str | int
    asked_at: datetime
    sessions: tuple[EvidenceSession, ...]
    """In order of their dates."""
    world: tuple[WorldFact, ...]
    query: WorldQuery
    field: str = ""
    """The area of the attribute, one of FIELDS; "" if irrelevant."""
    abstains: bool = False


# --- Mentions that users make of themselves besides the evidence: other rows of the
# same texts, in the same forms.

_IN_THEME = 0.5  # probability of mentioning something of the theme
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_Tellable: TypeAlias = "Attribute | Update | ItemSeries | Happening | Taste | Made"


class Mentions:
    """All possible mentions of one person in random order; repeated in other words once all are used.

    A person's facts hold wherever the person speaks; `backwards` starts from the other end, so that two sources for one
    person seldom overlap. Nothing on `themes`, or in the words of `heard`, is mentioned.
    """

    def __init__(
        self,
        person: str,
        themes: Collection[str],
        told_stems: frozenset[str],
        *,
        backwards: bool = False,
    ) -> None:
        rng = Random(f"longmemeval person {person}")
        self._values = {}
        for row in (*all_of(Attribute), *all_of(Update)):
            self._values[row.key] = rng.choice(row.values)
        self._prices = {}
        for series in all_of(ItemSeries):
            for item in series.items:
                self._prices[series.key, item] = rng.choice(series.values or (0,))
        pairs: list[tuple[_Tellable, str]] = []
        for kind in (Attribute, Update, ItemSeries, Happening, Taste, Made):
            for row in all_of(kind):
                items = row.items if isinstance(row, ItemSeries) else ("",)
                pairs += [(row, item) for item in items]
        rng.shuffle(pairs)
        self.stock: list[tuple[_Tellable, str]] = []
        """The allowed rows, series with one item each; taken from the end."""
        for tellable, item in pairs:
            topic = content_stems(_row_topic(tellable))
            if tellable.theme not in themes and told_stems.isdisjoint(topic):
                self.stock.append((tellable, item))
        if backwards:
            self.stock.reverse()
        self._remaining: list[tuple[_Tellable, str]] = []
        self._rng = Random(f"longmemeval mentions {person} {backwards}")

    def next(self, theme: str) -> Aside | None:
        """Return the next mention in a conversation on a theme; None if there is nothing to tell."""
        if not self._remaining:
            self._remaining = self.stock[:]
        if not self._remaining:
            return None
        place = -1
        near = []
        for number, (row, _) in enumerate(self._remaining):
            if row.theme == theme:
                near.append(number)
        if near and self._rng.random() < _IN_THEME:
            place = near[-1]
        return self._mention(*self._remaining.pop(place))

    def _mention(self, row: _Tellable, item: str) -> Aside:
        rng = self._rng
        match row:
            case Attribute():
                text = fill_values(rng.choice(row.say), v=self._values[row.key])
            case Update():
                text = fill_values(rng.choice(row.old), v=self._values[row.key])
            case ItemSeries():
                price = self._prices[row.key, item]
                text = fill_values(rng.choice(row.say), item=item, v=price)
            case Happening():
                text = fill_values(rng.choice(row.say), when=rng.choice(WORDS))
            case Taste():
                text = rng.choice(row.say)
            case Made():
                entries = draw_assistant_values(rng, row)
                return Aside(request=row.request, made=written_list(row, entries))
        return Aside(text, row.nod)


def _row_topic(row: _Tellable) -> str:
    """Return the words that identify a row's topic."""
    match row:
        case Taste():
            return " ".join(row.say)
        case Happening():
            return f"{row.thing} {row.past}"
        case _:
            questions = [row.ask] if isinstance(row.ask, str) else row.ask
            return " ".join([*row.words, *questions])


_ARTICLE = re.compile(r"\b[Aa](?= \{(\w+)\})")
_VOWEL = re.compile(r"(?!one|uni|use|usu|eu|ukulele)[aeiou]", re.IGNORECASE)


def fill_values(text: str, **values: object) -> str:
    """Fill in values, each also capitalized (`{item}`, `{Item}`); "a {item}" may become "an oak"."""

    def article(match: re.Match[str]) -> str:
        noun = str(values.get(match[1], ""))
        return f"{match[0]}n" if _VOWEL.match(noun) else match[0]

    capitals = {}
    for name, value in values.items():
        capitals[upper_first(name)] = upper_first(str(value))
    return _ARTICLE.sub(article, text).format(**values, **capitals)


def draw_assistant_values(rng: Random, row: Made) -> dict[str, str]:
    """Return an assistant's invention as entries by slot, in listed order."""
    if row.how == "amount":
        names = rng.sample(row.entries, min(6, len(row.entries)))
        values = rng.sample(row.values, len(names))
        return {name: f"${v}" for name, v in zip(names, values, strict=True)}
    slots = row.slots or _ORDINALS
    return dict(zip(slots, rng.sample(row.entries, len(slots)), strict=True))


def written_list(row: Made, entries: dict[str, str]) -> str:
    """Return the list or table as the assistant writes it."""
    lines = [f"**{row.title}**"]
    for number, (slot, entry) in enumerate(entries.items(), start=1):
        caption = "" if row.how == "nth" else f"{upper_first(slot)}: "
        lines.append(f"{number}. {caption}{entry}")
    return "\n".join(lines)


# --- Questions with evidence in one session: statements of the user or the assistant,
# and the user's tastes.


def _never_told(
    needle: Needle, never: Never, *, verb: tuple[str, str] = ("mention", "mentioned")
) -> Needle:
    """Return the question about something never mentioned, with the same evidence."""
    present, then = verb
    answer = (
        f"The information provided is not enough. You did not {present} {never.lacks}, "
        f"you only {then} {never.has}."
    )
    query = structs.replace(needle.query, about=(never.ask,))
    return structs.replace(
        needle, question=never.ask, answer=answer, query=query, abstains=True
    )


def _told_in_passing(
    rng: Random, row: Subject, say: Sequence[str], at: datetime, **values: object
) -> EvidenceSession:
    """Return a session in which the user mentions values of a subject in one of some sentences."""
    text = fill_values(rng.choice(say), **values)
    return EvidenceSession(at, row.theme, Aside(text, row.nod))


def from_user(rng: Random, row: Attribute, *, abstains: bool) -> Needle:
    """Return a question about something that the user mentioned once."""
    (day,) = days_of_may(rng, 1)
    value = rng.choice(row.values)
    value_text = row.shown.format(v=value)
    question = "" if abstains else rng.choice(row.ask)
    asked_at = end_of_may(rng)
    evidence_session = _told_in_passing(rng, row, row.say, day, v=value)
    world = (WorldFact(day, row.key, value_text),)
    query = WorldQuery("value", (row.key,))
    needle = Needle(
        "single-session-user",
        question,
        value_text,
        asked_at,
        (evidence_session,),
        world,
        query,
        row.field,
    )
    return _never_told(needle, row.never) if abstains else needle


def from_assistant(rng: Random, row: Made, *, abstains: bool) -> Needle:
    """Return a question about an entry in a list or table that the assistant made up."""
    (day,) = days_of_may(rng, 1)
    entries = draw_assistant_values(rng, row)
    slot = rng.choice(sorted(entries))
    aside = Aside(request=row.request, made=written_list(row, entries))
    question = row.ask.format(nth=slot, slot=slot)
    session = EvidenceSession(day, row.theme, aside)
    world = []
    for name, entry in entries.items():
        world.append(WorldFact(day, f"{row.key}: {name}", entry))
    query = WorldQuery("entry", (f"{row.key}: {slot}",))
    needle = Needle(
        "single-session-assistant",
        question,
        entries[slot],
        end_of_may(rng),
        (session,),
        tuple(world),
        query,
    )
    if abstains:
        return _never_told(needle, row.never, verb=("ask for", "asked for"))
    return needle


def from_taste(rng: Random, row: Taste) -> Needle:
    """Return a request for advice that should reflect an earlier statement of the user; its gold is a rubric."""
    (day,) = days_of_may(rng, 1)
    answer = f"The user would prefer {row.likes}. They would not want {row.dislikes}."
    world = (
        WorldFact(day, f"likes: {row.ask}", row.likes),
        WorldFact(day, f"dislikes: {row.ask}", row.dislikes),
    )
    query = WorldQuery("taste", tuple(fact.about for fact in world))
    session = EvidenceSession(day, row.theme, Aside(rng.choice(row.say), row.nod))
    return Needle(
        "single-session-preference",
        row.ask,
        answer,
        end_of_may(rng),
        (session,),
        world,
        query,
    )


# --- Questions with evidence in several sessions: counts, sums and changes.

_BEFORE = 0.25  # the share of questions about a change that ask for the old value


def from_series(rng: Random, row: ItemSeries, *, abstains: bool) -> Needle:
    """Return a question for the number or sum of items mentioned in separate sessions."""
    items = rng.sample(row.items, rng.randint(2, min(6, len(row.items))))
    values = [1] * len(items)
    if row.values:
        values = [rng.choice(row.values) for _ in items]
    dates = days_of_may(rng, len(items))
    evidence_sessions = []
    world = []
    for day, item, value in zip(dates, items, values, strict=True):
        evidence_sessions.append(
            _told_in_passing(rng, row, row.say, day, item=item, v=value)
        )
        world.append(WorldFact(day, row.key, str(value)))
    query = WorldQuery("count" if row.how == "count" else "sum", (row.key,), row.unit)
    if row.unit == "$":
        total: str | int = f"${sum(values):,}"
    elif row.unit:
        total = f"{sum(values)} {row.unit}"
    else:
        total = sum(values)
    asked_at = end_of_may(rng)
    needle = Needle(
        "multi-session",
        row.ask,
        total,
        asked_at,
        tuple(evidence_sessions),
        tuple(world),
        query,
        row.field,
    )
    return _never_told(needle, row.never) if abstains else needle


def from_update(rng: Random, row: Update, *, abstains: bool) -> Needle:
    """Return a question about a change: for the current value, or the previous one."""
    first, second = sorted(rng.sample(range(len(row.values)), 2))
    values = [row.shown.format(v=row.values[place]) for place in (first, second)]
    asked_at = late_in_year(rng)
    old_at = some_time(rng, asked_at - timedelta(days=rng.randint(40, 150)))
    new_at = some_time(rng, old_at + timedelta(days=rng.randint(10, 35)))
    wants_old = bool(row.before) and rng.random() < _BEFORE
    sessions = (
        _told_in_passing(rng, row, row.old, old_at, v=row.values[first]),
        _told_in_passing(rng, row, row.new, new_at, v=row.values[second]),
    )
    world = (
        WorldFact(old_at, row.key, values[0]),
        WorldFact(new_at, row.key, values[1]),
    )
    question, answer = (row.before, values[0]) if wants_old else (row.ask, values[1])
    query = WorldQuery("before" if wants_old else "latest", (row.key,))
    needle = Needle(
        "knowledge-update",
        question,
        answer,
        asked_at,
        sessions,
        world,
        query,
        row.field,
    )
    return _never_told(needle, row.never) if abstains else needle


# --- Questions about dates: intervals, time since, which first, in which order.


class DatedQuestion(NamedTuple):
    """A question about the dates of some events."""

    text: str
    answer: str
    how: How
    """What is asked about the dates."""
    dates: list[datetime]
    """Dates of the events, in order."""


# A kind of question: made from a generator, the date of asking, and the events.
_DatedKind: TypeAlias = (
    "Callable[[Random, datetime, Sequence[Happening]], DatedQuestion]"
)


def from_dates(rng: Random, rows: Sequence[Happening], *, abstains: bool) -> Needle:
    """Return a question about the dates of the first of some events; three with different themes suffice."""
    make: _DatedKind = _unknown_event if abstains else rng.choice(_KINDS)
    asked_at = late_in_year(rng)
    question = make(rng, asked_at, rows)
    sessions = []
    world = []
    for row, date in zip(rows, question.dates, strict=False):
        # at most some days after the event, and the user says how many
        late = rng.randrange(len(WORDS))
        aside = Aside(fill_values(rng.choice(row.say), when=WORDS[late]), row.nod)
        sessions.append(
            EvidenceSession(
                some_time(rng, date + timedelta(days=late)), row.theme, aside
            )
        )
        world.append(WorldFact(date, row.thing, row.past))
    # for something never mentioned, only the name is asked for
    number_asked = len(question.dates) + abstains
    things = tuple(row.thing for row in rows[:number_asked])
    query = WorldQuery(question.how, things)
    return Needle(
        "temporal-reasoning",
        question.text,
        question.answer,
        asked_at,
        tuple(sessions),
        tuple(world),
        query,
        "events",
        abstains,
    )


def _time_between(
    rng: Random,
    asked_at: datetime,
    rows: Sequence[Happening],
    unit: Literal["days", "months"],
) -> DatedQuestion:
    if unit == "days":
        count = rng.randint(5, 60)
        second = asked_at - timedelta(days=rng.randint(4, 60))
        first = second - timedelta(days=count)
        answer = _days_answer(count)
    else:
        count = rng.randint(2, 5)
        second = months_before(asked_at.replace(day=1), 1).replace(
            day=rng.randint(5, 25)
        )
        first = months_before(second, count)
        answer = f"{count} months"
    text = f"How many {unit} passed between the day {rows[0].past} and the day {rows[1].past}?"
    return DatedQuestion(text, answer, unit, [first, second])


def _how_long_ago(
    rng: Random,
    asked_at: datetime,
    rows: Sequence[Happening],
    unit: Literal["days", "weeks"],
    counts: tuple[int, int],
) -> DatedQuestion:
    count = rng.randint(*counts)
    answer = _days_answer(count) if unit == "days" else f"{count} weeks"
    text = f"How many {unit} ago did I {rows[0].did}?"
    return DatedQuestion(text, answer, unit, [asked_at - timedelta(**{unit: count})])


def _order_of(
    rng: Random, asked_at: datetime, rows: Sequence[Happening], count: int
) -> DatedQuestion:
    # at least four days apart, so that a user's "three days ago" cannot reverse their
    # order
    weeks = rng.sample(range(1, 12), count)
    dates = []
    for week in weeks:
        dates.append(asked_at - timedelta(days=7 * week + rng.randint(0, 3)))
    dates.sort()
    things = [row.thing for row in rows[:count]]
    if count == 2:
        shuffled = things[:]
        rng.shuffle(shuffled)
        text = f"Which of the two came first, {shuffled[0]} or {shuffled[1]}?"
        return DatedQuestion(text, things[0], "first", dates)
    shuffled = rng.sample(things, 3)
    text = f"In which order did these three happen: {shuffled[0]}, {shuffled[1]} and {shuffled[2]}?"
    answer = f"First {things[0]}, then {things[1]}, and last {things[2]}"
    return DatedQuestion(text, answer, "order", dates)


_KINDS: tuple[_DatedKind, ...] = (
    partial(_time_between, unit="days"),
    partial(_how_long_ago, unit="days", counts=(5, 40)),
    partial(_how_long_ago, unit="weeks", counts=(2, 12)),
    partial(_time_between, unit="months"),
    partial(_order_of, count=2),
    partial(_order_of, count=3),
)
_UNKNOWN: tuple[tuple[str, How], ...] = (
    ("How many days passed between the day {known} and the day {unknown}?", "days"),
    ("Which of the two came first, {first} or {second}?", "first"),
    ("How many weeks ago did I {did}?", "weeks"),
)


def _unknown_event(
    rng: Random, asked_at: datetime, rows: Sequence[Happening]
) -> DatedQuestion:
    happened, unknown = rows[:2]
    date = asked_at - timedelta(days=rng.randint(10, 60))
    things = rng.sample([happened.thing, unknown.thing], 2)
    form, how = rng.choice(_UNKNOWN)
    text = form.format(
        known=happened.past,
        unknown=unknown.past,
        did=unknown.did,
        first=things[0],
        second=things[1],
    )
    answer = (
        f"The information provided is not enough. You mentioned {happened.thing}, "
        f"you did not mention {unknown.thing}."
    )
    return DatedQuestion(text, answer, how, [date])


def _days_answer(days: int) -> str:
    return f"{days} days. {days + 1} days (including the last day) is also acceptable."


_Row = TypeVar("_Row")


class QuestionKind(NamedTuple):
    """One kind of question."""

    type: str
    abstains: bool = False


# Of 500 questions, nearly as published: the published file has no abstention on
# assistants' statements.
SHARES = {
    QuestionKind("single-session-user"): 64,
    QuestionKind("single-session-assistant"): 54,
    QuestionKind("single-session-preference"): 30,
    QuestionKind("multi-session"): 121,
    QuestionKind("temporal-reasoning"): 127,
    QuestionKind("knowledge-update"): 72,
    QuestionKind("multi-session", abstains=True): 12,
    QuestionKind("single-session-user", abstains=True): 6,
    QuestionKind("temporal-reasoning", abstains=True): 6,
    QuestionKind("knowledge-update", abstains=True): 6,
    QuestionKind("single-session-assistant", abstains=True): 2,
}


def question_kinds(count: int) -> list[QuestionKind]:
    """Return the kinds of `count` questions, in the shares of SHARES as closely as integers allow.

    The kinds alternate, so that the first eleven cover all of them.
    """
    total = sum(SHARES.values())
    counts: dict[QuestionKind, int] = dict.fromkeys(SHARES, 0)
    chosen: list[QuestionKind] = []
    for position in range(count):
        behind = max(
            SHARES,
            key=lambda kind: (
                counts[kind] == 0,
                SHARES[kind] * (position + 1) / total - counts[kind],
            ),
        )
        counts[behind] += 1
        chosen.append(behind)
    return chosen


def generate_needles(count: int, seed: int) -> Iterator[Needle]:
    """Yield `count` questions, reproducibly by seed; a smaller count yields a prefix."""
    decks = _Decks(Random(f"longmemeval rows {seed}"))
    for number, kind in enumerate(question_kinds(count)):
        rng = Random(f"longmemeval question {seed} {number}")
        if kind.type == "temporal-reasoning":
            yield from_dates(
                rng, decks.draw(kind, all_of(Happening), 3), abstains=kind.abstains
            )
        elif kind.type == "single-session-preference":
            yield from_taste(rng, *decks.draw(kind, all_of(Taste)))
        else:
            row_type, make = _MAKERS[kind.type]
            yield make(rng, *decks.draw(kind, all_of(row_type)), abstains=kind.abstains)


class _Decks:
    """Rows in random order, shuffled by kind, and started again when all have been used."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._remaining: dict[tuple[str, bool], list[int]] = {}

    def draw(
        self, kind: QuestionKind, rows: Sequence[_Row], count: int = 1
    ) -> list[_Row]:
        deck = self._remaining.setdefault(kind, [])
        if len(deck) < count:
            deck[:] = self._rng.sample(range(len(rows)), len(rows))
        return [rows[deck.pop()] for _ in range(count)]


_MAKERS: dict[str, tuple[Any, Callable[..., Needle]]] = {
    "single-session-user": (Attribute, from_user),
    "single-session-assistant": (Made, from_assistant),
    "multi-session": (ItemSeries, from_series),
    "knowledge-update": (Update, from_update),
}


# --- Questions as records of the published schema, with only their evidence as
# sessions.


def generate_records(
    count: int, seed: int, counts: Callable[[str], int]
) -> Iterator[dict[str, Any]]:
    """Yield `count` records with nothing but their evidence; a smaller count yields a prefix."""
    for number, needle in enumerate(generate_needles(count, seed)):
        yield needle_record(needle, f"{seed} {number}", counts)


def needle_record(
    needle: Needle, seed: str, counts: Callable[[str], int]
) -> dict[str, Any]:
    """Return the record of a question; `seed` decides its id and its sessions' other contents."""
    name, rng = record_identity(seed, abstains=needle.abstains)
    mentions = side_mentions(needle, name)
    sessions = []
    for session in needle.sessions:
        theme = load_themes()[session.theme]
        tokens = rng.randint(*SESSION_TOKENS)
        sessions.append(
            write_session(
                rng,
                theme,
                counts,
                tokens=tokens,
                aside=session.aside,
                mentions=mentions.next,
            )
        )
    return as_record(needle, name, sessions)


def record_identity(seed: str, *, abstains: bool) -> tuple[str, Random]:
    """Return the id of a question, and the random generator for its record."""
    rng = Random(f"longmemeval record {seed}")
    return f"{rng.getrandbits(32):08x}{ABSTENTION if abstains else ''}", rng


def side_mentions(needle: Needle, name: str) -> Mentions:
    """Return the user's possible mentions besides the evidence."""
    themes = {session.theme for session in needle.sessions}
    text = needle.question
    for session in needle.sessions:
        text += f" {session.aside.said} {session.aside.request}"
    return Mentions(name, themes, content_stems(text))


def as_record(
    needle: Needle, name: str, sessions: Sequence[Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the question with its sessions of evidence in the form of the file."""
    names = [f"answer_{name}_{number}" for number in range(1, len(sessions) + 1)]
    dates = [format_longmemeval_date(session.at) for session in needle.sessions]
    return {
        "question_id": name,
        "question_type": needle.type,
        "question": needle.question,
        "answer": needle.answer,
        "question_date": format_longmemeval_date(needle.asked_at),
        "haystack_dates": dates,
        "haystack_session_ids": names,
        "haystack_sessions": list(sessions),
        "answer_session_ids": names,
    }
