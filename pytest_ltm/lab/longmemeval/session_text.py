"""Sessions: rounds about one task, in which users mention facts about themselves, one of which may be evidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import cache, lru_cache
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from pytest_ltm.api.model import TokenCounter, upper_first
from pytest_ltm.api.storage import load_packaged_yaml

if TYPE_CHECKING:
    Count = Callable[[str], int]
    Shape = Callable[[Random, "Advice", int, Count], list[str]]


# The areas of attributes: identity, habits, circumstances, events and possessions.
FIELDS = ("person", "habits", "circumstances", "events", "things")
_Row = TypeVar("_Row")


class AssistantRequest(Struct, frozen=True):
    """A request of a user to an assistant."""

    text: str
    topic: str
    """A noun phrase for the request."""


class Aspect(Struct, frozen=True):
    """One aspect of a theme: any of its actions fits any of its reasons."""

    name: str
    do: tuple[str, ...]
    reasons: tuple[str, ...]


class Theme(Struct, frozen=True):
    """A field of everyday advice."""

    name: str
    requests: tuple[AssistantRequest, ...]
    aspects: tuple[Aspect, ...]


class Never(Struct, frozen=True):
    """A question about something similar that was never mentioned."""

    ask: str
    lacks: str
    has: str
    """What was mentioned instead."""


class Subject(Struct, frozen=True, kw_only=True):
    """The subject of a question, with a similar one that cannot be answered."""

    key: str
    theme: str
    nod: str = ""
    """The assistant's term for it in a reply."""
    field: str = ""
    """One of FIELDS; "" if irrelevant."""
    words: tuple[str, ...]
    """Words on which no other session of the history may be."""
    never: Never


class Attribute(Subject, frozen=True, kw_only=True):
    """A permanent fact about the user."""

    say: tuple[str, ...]
    """Sentences that mention `{v}` in passing."""
    ask: tuple[str, ...]
    values: tuple[str, ...]
    shown: str = "{v}"
    """The value's form in an answer."""


class Update(Subject, frozen=True, kw_only=True):
    """A changing fact about the user, with values in their possible order."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    ask: str
    values: tuple[str, ...]
    before: str = ""
    """The question for the old value, if there is an unambiguous one."""
    shown: str = "{v}"


class ItemSeries(Subject, frozen=True, kw_only=True):
    """Items mentioned separately, to be counted or summed up."""

    how: str
    """Either `count` or `sum`."""
    say: tuple[str, ...]
    items: tuple[str, ...]
    ask: str
    values: tuple[int, ...] = ()
    unit: str = ""


class Made(Subject, frozen=True, kw_only=True):
    """A list or table that an assistant makes up."""

    how: str
    """One of `nth`, `pairs` and `amount`."""
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
    """A taste that advice to the user should respect."""

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
            requests = []
            for ask in content["asks"]:
                requests.append(AssistantRequest(*ask.split(" | ")))
            sides = []
            for side, part in content["aspects"].items():
                sides.append(Aspect(side, tuple(part["do"]), tuple(part["for"])))
            themes[name] = Theme(name, tuple(requests), tuple(sides))
    return themes


@cache
def load_frames() -> dict[str, tuple[str, ...]]:
    """Return the sentences around advice, by purpose."""
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
    """Return all rows of a kind: Attribute, Update, ItemSeries, Happening, Made or Taste."""
    rows = []
    for row in _read_texts(_FILES[kind]):
        fields = dict(row)
        for key, value in row.items():
            if isinstance(value, list):
                fields[key] = tuple(value)
        if "never" in row:
            fields["never"] = Never(**row["never"])
        rows.append(kind(**fields))
    return tuple(rows)


def _read_texts(name: str) -> Any:
    return load_packaged_yaml(__file__, f"texts/{name}.yml")


# --- Pieces of advice on one theme, and their forms in replies: points, plans,
# questions, examples.


class Piece(Struct, frozen=True):
    """One action with a reason."""

    aspect: str
    do: str
    reason: str


class Advice:
    """The pieces of a theme in random order; no action is repeated before all were used."""

    def __init__(self, rng: Random, theme: Theme) -> None:
        self._rng = rng
        self._theme = theme
        self._remaining: list[tuple[Aspect, str]] = []

    def prefer_aspect(self, aspect: Aspect) -> None:
        """Move the remaining pieces on an aspect to the front."""
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
    """Return named points, sometimes followed by a list of them."""
    wants_list = rng.random() < _LISTED
    room_for_points = room * 2 // 3 if wants_list else room
    points = list(_fit_pieces("points", rng, advice, room_for_points, count))
    lines = [f"- {line}" for line, _ in points]
    if not (wants_list and lines):
        return lines
    steps = ["", rng.choice(load_frames()["lists"])]
    for number, (_, piece) in enumerate(points, start=1):
        steps.append(f"{number}. {upper_first(piece.do)}.")
    if count("\n".join([*lines, *steps])) < room:
        return lines + steps
    return lines


def write_plan(rng: Random, advice: Advice, room: int, count: Count) -> list[str]:
    """Return a plan by weeks."""
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
    """Return examples, separated by blank lines."""
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
        # drawn even if the frame has no place for it, so that the choice of frame
        # changes nothing later
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


# --- Task-oriented dialogue: requests of a user and long helpful replies, without end.

_CACHED_LINES = 1 << 16
# A line with the breaks after it, which an encoding may combine into one token
_LINE = re.compile(r"[^\n]*\n+|[^\n]+")
# The approximate minimum tokens of a round.
LEAST = 80


def cache_counter(counter: TokenCounter) -> Callable[[str], int]:
    """Return an equal counter that is faster for repeated lines."""
    if not counter.additive:
        return counter.count
    line = lru_cache(maxsize=_CACHED_LINES)(counter.count)
    return lambda text: sum(map(line, _LINE.findall(text)))


def theme_of(rng: Random) -> Theme:
    """Return a random theme."""
    return load_themes()[rng.choice(sorted(load_themes()))]


# The range of a session's length, with or without evidence: 2,100 tokens on average,
# close to the published histories.
SESSION_TOKENS = (700, 3600)
# The approximate length of a question with its reply, unless the session must be
# shorter.
ROUND_TOKENS = (190, 430)
_JITTER = 0.4  # relative variation of reply lengths within a session
# probability of a follow-up question after one round, two, three
_GOES_ON = (0.7, 0.4, 0.1)
# The share of rounds without evidence in which users mention a fact about themselves,
# as they do with evidence.
_MENTIONS = 0.7
# number of side remarks, equally likely
_BESIDES = (0, 1, 1, 2)
# The probability that evidence is in the first round of a session, else in the next,
# and so on.
_FIRST = 0.6
_MENTIONED = 0.4  # the share of side remarks with a fact about the user
_GREETS = 0.3
_THANKS = 0.3
_CHANGES = 0.5
_BYES = 0.2
_NODS = 0.6


class Aside(Struct, frozen=True):
    """Something said in a session besides its task."""

    said: str = ""
    """The user's remark in passing."""
    nod: str = ""
    """The assistant's term for it in a reply."""
    request: str = ""
    """The user's additional request, answered by `made`."""
    made: str = ""
    """The assistant's invention for that request."""


def write_session(
    rng: Random,
    theme: Theme,
    count: Count,
    *,
    tokens: int,
    aside: Aside | None = None,
    mentions: Callable[[str], Aside | None] = lambda _theme: None,
) -> list[dict[str, Any]]:
    """Return the turns of a session of about `tokens` tokens, exceeded only if the aside alone needs more.

    With an aside, each turn has `has_answer`, which marks the one with the aside, and the session keeps to its theme.
    `mentions` returns further mentions of the user on a theme.
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
    """Draw the round of a session that contains its evidence: mostly the first, as published."""
    place = 0
    while place < rounds - 1 and rng.random() > _FIRST:
        place += 1
    return place


class _SessionWriter:
    """Generates questions and replies by round: a request, follow-up questions, then another request."""

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
        """The current theme."""
        return self._theme.name

    def question(self) -> tuple[str, str]:
        """Return the user's next question: its opening, and the request."""
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
        """Return a reply of about `tokens` tokens, longer only if its first sentence is."""
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
    """Return the request with the side remarks: before it, after it, or in the same sentence."""
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
    """Return another remark of the user: a personal fact, or small talk."""
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
    """Return a reply's reaction to the aside, if it has one."""
    if not (aside and aside.nod) or rng.random() > _NODS:
        return ""
    return upper_first(rng.choice(load_frames()["nods"]).format(nod=aside.nod)) + " "


def lower_first(sentence: str) -> str:
    """Return a sentence with a lower-case first word for use inside another, except for names and `I`."""
    first, _, remainder = sentence.partition(" ")
    if first.rstrip(",") in load_frames()["small_words"]:
        return f"{first.lower()} {remainder}"
    return sentence


# --- Dates in a user's life: sessions during the day, questions late, all in 2023.

# By default, sessions are dated from here to the end of the month (Wu et al., 2025).
FIRST_SESSION_DATE = datetime(2023, 5, 1, tzinfo=timezone.utc)
LAST = datetime(2023, 5, 30, tzinfo=timezone.utc)
# A user's words for the day of an event; the index is the number of days ago.
WORDS = ("today", "yesterday", "two days ago", "three days ago")


def some_time(rng: Random, day: datetime) -> datetime:
    """Return a time of a day at which people are awake."""
    return day.replace(hour=rng.randint(7, 21), minute=rng.randint(0, 59))


def days_of_may(rng: Random, count: int) -> list[datetime]:
    """Return sorted session dates in May 2023, on different days if there are enough."""
    days = rng.sample(range(1, 28), count)
    dates = (FIRST_SESSION_DATE + timedelta(days=day) for day in days)
    return sorted(some_time(rng, date) for date in dates)


def end_of_may(rng: Random) -> datetime:
    """Return the time of a question that no evidence date constrains."""
    return some_time(rng, LAST)


def late_in_year(rng: Random) -> datetime:
    """Return the time of a question about dated events."""
    first = datetime(2023, 6, 1, tzinfo=timezone.utc)
    return some_time(rng, first + timedelta(days=rng.randint(0, 180)))


def months_before(moment: datetime, months: int) -> datetime:
    """Return the same day some months earlier; the day must be at most the 28th."""
    month_number = moment.year * 12 + moment.month - 1 - months
    return moment.replace(year=month_number // 12, month=month_number % 12 + 1)
