"""Sessions: rounds about one task, in which users mention things about themselves; one of them may be evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from pytest_ltm.api.model import TokenCounter, upper_first
from pytest_ltm.api.storage import load_yaml

if TYPE_CHECKING:
    Count = Callable[[str], int]
    Shape = Callable[[Random, "Advice", int, Count], list[str]]


# What attributes are about: who users are, how they live, what they are in, what befell
# them, what they own.
FIELDS = ("person", "habits", "circumstances", "events", "things")
_FOLDER = Path(__file__).parent / "texts"
_Row = TypeVar("_Row")


class AssistantRequest(Struct, frozen=True):
    """What a user asks an assistant for."""

    text: str
    topic: str
    """A noun phrase for it."""


class Aspect(Struct, frozen=True):
    """One side of a theme: any of the things to do goes with any of the reasons."""

    name: str
    do: tuple[str, ...]
    reasons: tuple[str, ...]


class Theme(Struct, frozen=True):
    """A field of everyday advice."""

    name: str
    requests: tuple[AssistantRequest, ...]
    aspects: tuple[Aspect, ...]


class Never(Struct, frozen=True):
    """A question about something similar that was never said."""

    ask: str
    lacks: str
    has: str
    """What was said instead."""


class Subject(Struct, frozen=True, kw_only=True):
    """What a question can be about, and a similar one that nobody can answer."""

    key: str
    theme: str
    nod: str = ""
    """What a reply calls it."""
    field: str = ""
    """One of FIELDS; "" where that makes no difference."""
    words: tuple[str, ...]
    """What no other session of the history may be about."""
    never: Never


class Attribute(Subject, frozen=True, kw_only=True):
    """Something about the user that does not change."""

    say: tuple[str, ...]
    """Sentences that mention `{v}` in passing."""
    ask: tuple[str, ...]
    values: tuple[str, ...]
    shown: str = "{v}"
    """How the value is written in an answer."""


class Update(Subject, frozen=True, kw_only=True):
    """Something about the user that changes; values in the order in which they may follow each other."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    ask: str
    values: tuple[str, ...]
    before: str = ""
    """The question for the old value, where there is a clear one."""
    shown: str = "{v}"


class ItemSeries(Subject, frozen=True, kw_only=True):
    """Items mentioned one by one, to be counted or summed up."""

    how: str
    """`count` or `sum`."""
    say: tuple[str, ...]
    items: tuple[str, ...]
    ask: str
    values: tuple[int, ...] = ()
    unit: str = ""


class Made(Subject, frozen=True, kw_only=True):
    """A list or table that an assistant makes up."""

    how: str
    """`nth`, `pairs` or `amount`."""
    title: str
    request: str
    entries: tuple[str, ...]
    ask: str
    slots: tuple[str, ...] = ()
    values: tuple[int, ...] = ()


class Happening(Struct, frozen=True, kw_only=True):
    """A dated event."""

    theme: str
    nod: str
    thing: str
    past: str
    did: str
    say: tuple[str, ...]


class Taste(Struct, frozen=True, kw_only=True):
    """What advice to the user should respect."""

    theme: str
    nod: str
    say: tuple[str, ...]
    ask: str
    likes: str
    dislikes: str


@cache
def load_themes() -> dict[str, Theme]:
    """Return all themes by name."""
    themes = {}
    for file in ("themes_home", "themes_active", "themes_mind"):
        for name, content in _read_texts(file).items():
            requests = tuple(
                AssistantRequest(*ask.split(" | ")) for ask in content["asks"]
            )
            aspects = content["aspects"].items()
            sides = tuple(
                Aspect(side, tuple(part["do"]), tuple(part["for"]))
                for side, part in aspects
            )
            themes[name] = Theme(name, requests, sides)
    return themes


@cache
def load_frames() -> dict[str, tuple[str, ...]]:
    """Return the sentences around the advice, by purpose."""
    return {name: tuple(lines) for name, lines in _read_texts("frames").items()}


_FILES: Mapping[Any, str] = {
    Attribute: "facts",
    Update: "updates",
    ItemSeries: "several",
    Happening: "events",
    Made: "assistant",
    Taste: "preferences",
}


@cache
def all_of(kind: type[_Row]) -> tuple[_Row, ...]:
    """Return all that there is of a kind: Attribute, Update, Series, Happening, Made or Taste."""
    rows = []
    for row in _read_texts(_FILES[kind]):
        lists = {
            key: tuple(value) for key, value in row.items() if isinstance(value, list)
        }
        fields = {**row, **lists}
        if "never" in row:
            fields["never"] = Never(**row["never"])
        rows.append(kind(**fields))
    return tuple(rows)


def _read_texts(name: str) -> Any:
    return load_yaml(_FOLDER / f"{name}.yml").value


# --- Pieces of advice on one theme, and the shapes in which replies give them: points,
# plans, questions, examples.


class Piece(Struct, frozen=True):
    """One thing to do, and why."""

    aspect: str
    do: str
    reason: str


class Advice:
    """The pieces of a theme in a random order; each thing to do comes once before any comes again."""

    def __init__(self, rng: Random, theme: Theme) -> None:
        self._rng = rng
        self._theme = theme
        self._remaining: list[tuple[Aspect, str]] = []

    def prefer_aspect(self, aspect: Aspect) -> None:
        """Put what is left about an aspect in front."""
        self._fill()
        self._remaining.sort(key=lambda piece: piece[0] is aspect)

    def next(self) -> Piece:
        """Return the next piece."""
        self._fill()
        aspect, do = self._remaining.pop()
        return Piece(aspect.name, do, self._rng.choice(aspect.reasons))

    def _fill(self) -> None:
        if not self._remaining:
            pieces: list[tuple[Aspect, str]] = []
            for aspect in self._theme.aspects:
                pieces += [(aspect, do) for do in aspect.do]
            self._remaining = self._rng.sample(pieces, len(pieces))


def write_points(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return points with a name each, sometimes with a list of them at the end."""
    wants_list = rng.random() < _LISTED
    room_for_points = room * 2 // 3 if wants_list else room
    points = list(_fit_pieces("points", rng, advice, room_for_points, count))
    lines = [f"- {line}" for line, _ in points]
    if not (wants_list and lines):
        return lines
    steps = ["", rng.choice(load_frames()["lists"])]
    steps += [
        f"{number}. {upper_first(piece.do)}."
        for number, (_, piece) in enumerate(points, start=1)
    ]
    if count("\n".join([*lines, *steps])) < room:
        return lines + steps
    return lines


def write_plan(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return what to do week by week."""
    lines = [rng.choice(load_frames()["plans"])]
    room -= count(f"{lines[0]}\n")
    for week in range(1, rng.randint(4, 8)):
        piece = advice.next()
        line = f"- Week {week}: {piece.do}, because {piece.reason}."
        room -= count(f"{line}\n")
        if room < 0:
            break
        lines.append(line)
    return lines if len(lines) > 1 else []


def write_questions(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return questions back to the user."""
    return [line for line, _ in _fit_pieces("questions", rng, advice, room, count)]


def write_examples(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return examples, with a blank line between two of them."""
    lines = []
    for line, _ in _fit_pieces("examples", rng, advice, room, count):
        lines += [line, ""]
    return lines[:-1]


SHAPES: dict[str, Shape] = {
    "points": write_points,
    "plan": write_plan,
    "questions": write_questions,
    "examples": write_examples,
}
_LISTED = 0.3  # the share of lists of points that end in a list of steps


def _fit_pieces(
    frame: str, rng: Random, advice: Advice, room: int, count: Count
) -> Iterator[tuple[str, Piece]]:
    """Yield pieces in a frame until the room is used up."""
    while True:
        piece = advice.next()
        chosen = rng.choice(load_frames()[frame])
        # drawn even where a frame has no place for it, so that another frame changes
        # nothing that follows
        slots = {
            "Aspect": piece.aspect,
            "aspect": f'"{piece.aspect}"',
            "do": piece.do,
            "Do": upper_first(piece.do),
            "do2": advice.next().do if "{do2}" in chosen else "",
            "tail": rng.choice(load_frames()["tails"]),
            "minutes": rng.choice((10, 15, 20, 30, 45)),
            "weeks": rng.choice((3, 4, 5, 6)),
            "for": piece.reason,
            "For": upper_first(piece.reason),
        }
        line = chosen.format(**slots).rstrip()
        room -= count(f"- {line}\n\n")
        if room < 0:
            return
        yield line, piece


# --- Task-oriented talk: what a user asks an assistant for, and long helpful replies,
# from an endless stock.

_CACHED_LINES = 1 << 16
# A line with all breaks behind it, which an encoding may take as one token
_LINE = re.compile(r"[^\n]*\n+|[^\n]+")
# The least tokens that a round needs, about.
LEAST = 80


def cache_counter(counter: TokenCounter) -> Callable[[str], int]:
    """Return the same count, faster where lines come back."""
    if not counter.additive:
        return counter.count
    line = lru_cache(maxsize=_CACHED_LINES)(counter.count)
    return lambda text: sum(map(line, _LINE.findall(text)))


def theme_of(rng: Random) -> Theme:
    """Return any theme."""
    return load_themes()[rng.choice(sorted(load_themes()))]


# A session is about so long, with evidence or without: 2,100 tokens on average, near
# the published histories.
SESSION_TOKENS = (700, 3600)
# A question and its reply are about so long, unless the session must be shorter.
ROUND_TOKENS = (190, 430)
_JITTER = 0.4  # how much longer or shorter a reply may be than others of its session
# how likely a further question about the same thing is, after one round, two, three
_GOES_ON = (
    0.7,
    0.4,
    0.1,
)
# The share of rounds without evidence in which users mention something about
# themselves, as they do with it.
_MENTIONS = 0.7
# how many things they say besides, each as likely as the others
_BESIDES = (
    0,
    1,
    1,
    2,
)
# The chance that evidence stands in the first round of a session, or else in the next
# one, and so on.
_FIRST = 0.6
_MENTIONED = 0.4  # the share of these that tell something about themselves as well; the others are chat
_GREETS = 0.3
_THANKS = 0.3
_CHANGES = 0.5
_BYES = 0.2
_NODS = 0.6


class Aside(Struct, frozen=True):
    """What is said in a session beside its task."""

    said: str = ""
    """By the user, in passing."""
    nod: str = ""
    """What a reply calls that."""
    request: str = ""
    """What the user asks for in addition, for `made`."""
    made: str = ""
    """What the assistant makes up for that request."""


def write_session(
    rng: Random,
    theme: Theme,
    count: Count,
    *,
    tokens: int,
    aside: Aside | None = None,
    mentions: Callable[[str], Aside | None] = lambda _theme: None,
) -> list[dict[str, Any]]:
    """Return the turns of a session of about `tokens` tokens, never more unless the aside alone needs them.

    With an aside each turn has `has_answer`: whether it holds the aside; and the
    session keeps to its theme. `mentions` gives what else the user mentions, for a
    theme.
    """
    talk = _SessionWriter(rng, theme, changes_theme=aside is None)
    rounds = max(1, tokens // rng.randint(*ROUND_TOKENS))
    place = early_round(rng, rounds) if aside else -1
    turns: list[dict[str, Any]] = []
    room = tokens
    for number in range(rounds):
        if turns and room < LEAST and number > place:
            break
        current_aside = aside if number == place else None
        if number != place and rng.random() < (_MENTIONS if number else 1):
            current_aside = mentions(talk.theme)
        besides = [
            _side_remark(rng, lambda: mentions(talk.theme))
            for _ in range(rng.choice(_BESIDES))
        ]
        opening, request = talk.question()
        request_text = _request_text(rng, opening, request, current_aside, besides)
        list_text = current_aside.made if current_aside else ""
        if number != place and room - count(request_text) - count(list_text) < LEAST:
            current_aside = None
            request_text = request
            list_text = ""
        nod = _acknowledge_aside(rng, current_aside)
        if list_text:
            list_text = f"\n\n{list_text}"
        share = room / (rounds - number)
        if number < rounds - 1:
            share *= rng.uniform(1 - _JITTER, 1 + _JITTER)
        size = min(round(share), room)
        size -= count(request_text) + count(list_text) + count(nod)
        reply = nod + talk.reply(size, count) + list_text
        turns += [
            {"role": "user", "content": request_text},
            {"role": "assistant", "content": reply},
        ]
        if aside:
            turns[-2]["has_answer"] = number == place and not aside.made
            turns[-1]["has_answer"] = number == place and bool(aside.made)
        room -= count(request_text) + count(reply)
    return turns


def early_round(rng: Random, rounds: int) -> int:
    """Return the round of a session that holds its evidence: mostly the first, as published, and rarely a late one."""
    place = 0
    while place < rounds - 1 and rng.random() > _FIRST:
        place += 1
    return place


class _SessionWriter:
    """What is asked and replied, round by round: a request, questions about the reply, then another request."""

    def __init__(self, rng: Random, theme: Theme, *, changes_theme: bool) -> None:
        self._rng = rng
        self._theme = theme
        self._changes_theme = changes_theme
        self._advice = Advice(rng, theme)
        self._rounds = 0
        self._has_begun = False
        self._lead = ""
        self._shape = ""

    @property
    def theme(self) -> str:
        """What is talked about."""
        return self._theme.name

    def question(self) -> tuple[str, str]:
        """Return what the user asks next: how it begins, and the request."""
        rng = self._rng
        if (
            self._rounds
            and rng.random() < _GOES_ON[min(self._rounds, len(_GOES_ON)) - 1]
        ):
            self._rounds += 1
            aspect = rng.choice(self._theme.aspects)
            self._advice.prefer_aspect(aspect)
            frame, self._shape, *leads = rng.choice(load_frames()["follow_ups"]).split(
                " | "
            )
            slots = {
                "aspect": aspect.name,
                "minutes": rng.choice((10, 15, 20, 30, 45)),
                "weeks": rng.choice((3, 4, 6)),
            }
            self._lead = upper_first(rng.choice(leads).format(**slots))
            return self._begins("thanks", _THANKS), frame.format(**slots)
        if self._has_begun and self._changes_theme:
            self._theme = theme_of(rng)
            self._advice = Advice(rng, self._theme)
        request = rng.choice(self._theme.requests)
        if self._has_begun:
            opening = self._begins("changes", _CHANGES)
        else:
            opening = self._begins("hellos", _GREETS)
        self._rounds = 1
        self._has_begun = True
        self._lead = rng.choice(load_frames()["openings"]).format(topic=request.topic)
        self._shape = rng.choice([*SHAPES])
        return opening, request.text

    def _begins(self, frame: str, share: float) -> str:
        if self._rng.random() < share:
            return f"{self._rng.choice(load_frames()[frame])} "
        return ""

    def reply(self, tokens: int, count: Count) -> str:
        """Return a reply to that of about `tokens` tokens, more only if its first sentence is."""
        rng = self._rng
        lines = [self._lead]
        close = rng.choice(load_frames()["closings"])
        room = tokens - count(f"{lines[0]}\n\n{close}")
        second_shape = rng.choice([name for name in SHAPES if name != self._shape])
        for shape, third in ((self._shape, 2), (second_shape, 3)):
            if section := SHAPES[shape](rng, self._advice, room * third // 3, count):
                lines += ["", *section]
                room -= count("\n\n" + "\n".join(section))
        return "\n".join([*lines, "", close] if len(lines) > 1 else lines)


def _request_text(
    rng: Random, opening: str, request: str, aside: Aside | None, besides: Sequence[str]
) -> str:
    """Return the request with what is said beside it: in front, behind, or in the same sentence."""
    frames = load_frames()
    if aside and aside.request:
        request = f"{request} {aside.request}"
    if aside and aside.said:
        bare = aside.said.removesuffix(".")
        request = rng.choice(frames["joins"]).format(
            request=request,
            ask=lower_first(request),
            Said=aside.said,
            said=lower_first(aside.said),
            Bare=bare,
            bare=lower_first(bare),
        )
    for remark in besides:
        request = rng.choice((f"{request} {remark}", f"{remark} {request}"))
    if rng.random() < _BYES:
        request = f"{request} {rng.choice(frames['byes'])}"
    return opening + request


def _side_remark(rng: Random, mention: Callable[[], Aside | None]) -> str:
    """Return something else that the user says: about themselves, or chat."""
    if rng.random() < _MENTIONED and (remark := mention()) and remark.said:
        return remark.said
    frames = load_frames()
    person = rng.choice(frames["chat_people"])
    day = rng.choice(frames["chat_days"])
    sky = rng.choice(frames["chat_skies"])
    return rng.choice(frames["chat"]).format(
        who=person, Who=upper_first(person), day=day, sky=sky
    )


def _acknowledge_aside(rng: Random, aside: Aside | None) -> str:
    """Return how a reply takes up what was mentioned, if it does."""
    if not (aside and aside.nod) or rng.random() > _NODS:
        return ""
    return upper_first(rng.choice(load_frames()["nods"]).format(nod=aside.nod)) + " "


def lower_first(sentence: str) -> str:
    """Return a sentence as it goes on in another: its first word small, unless it is a name or `I`."""
    first, _, remainder = sentence.partition(" ")
    if first.rstrip(",") in load_frames()["small_words"]:
        return f"{first.lower()} {remainder}"
    return sentence


# --- Dates of a user's life: sessions by day, questions late, all in 2023.

# Where nothing else gives a date, sessions are dated from here to the end of the month
# (Wu et al., 2025).
FIRST_SESSION_DATE = datetime(2023, 5, 1, tzinfo=timezone.utc)
LAST = datetime(2023, 5, 30, tzinfo=timezone.utc)
# How a user says, on the day of a session, when something happened: as many days ago as
# the word's place.
WORDS = ("today", "yesterday", "two days ago", "three days ago")


def some_time(rng: Random, day: datetime) -> datetime:
    """Return a time of a day at which people are awake."""
    return day.replace(hour=rng.randint(7, 21), minute=rng.randint(0, 59))


def days_of_may(rng: Random, count: int) -> list[datetime]:
    """Return so many sessions' dates in May 2023, on different days where there are enough, in order."""
    days = rng.sample(range(1, 28), count)
    dates = (FIRST_SESSION_DATE + timedelta(days=day) for day in days)
    return sorted(some_time(rng, date) for date in dates)


def end_of_may(rng: Random) -> datetime:
    """Return when a question is asked that no date of its evidence binds."""
    return some_time(rng, LAST)


def late_in_year(rng: Random) -> datetime:
    """Return when a question about dated events is asked."""
    first = datetime(2023, 6, 1, tzinfo=timezone.utc)
    return some_time(rng, first + timedelta(days=rng.randint(0, 180)))


def months_before(moment: datetime, months: int) -> datetime:
    """Return the same day so many months earlier; the day must be at most the 28th."""
    month_number = moment.year * 12 + moment.month - 1 - months
    return moment.replace(year=month_number // 12, month=month_number % 12 + 1)
