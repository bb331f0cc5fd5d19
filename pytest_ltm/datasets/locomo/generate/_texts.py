"""The texts that template-made conversations consist of, read from the YAML files beside this module."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

SINCE = "since"
"""In the place of a detail's question: the detail is a number of years, and the kind's question asks for the year."""
_FOLDER = Path(__file__).parent / "texts"


@dataclass(frozen=True, slots=True)
class Detail:
    """One thing more about what somebody tells: the other asks, the teller answers."""

    role: str
    ask: str
    tell: str
    question: str
    """About the teller in the third person; SINCE: see there; "": nothing can be asked about it."""
    caption: str = ""
    """Of the photo that comes with the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Something that a speaker may tell: a step of a storyline, a topic of the persona, a trait, a habit."""

    key: str
    details: tuple[Detail, ...]
    did: str = ""
    """A step: what happened, after "I"."""
    do: str = ""
    """A step: the same, after "did somebody"."""
    tell: str = ""
    """Of all but steps: the sentence it is told with."""
    gist: str = ""
    """Of all but steps: the same after a name."""
    role: str = ""
    """What that sentence tells."""
    question: str = ""
    since: str = ""
    chance: bool = False
    """A step that nobody plans."""
    conclusions: tuple[tuple[str, str], ...] = ()
    """Traits: questions that nobody answers in the conversation, and what one concludes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A storyline: steps of which each is a cause of the next, about one theme."""

    name: str
    theme: str
    """The pool of its themes."""
    listing: str
    """The question for all themes that one speaker had."""
    steps: tuple[Kind, ...]
    endless: bool = False
    open: bool = False
    """Whether its themes are cities, about which common knowledge is asked."""

    @property
    def roles(self) -> frozenset[str]:
        """All roles that its texts name, without the theme."""
        texts = (
            text
            for step in self.steps
            for one in step.details
            for text in (one.tell, one.caption, "{" + one.role + "}")
        )
        return frozenset(name for text in texts for name in fields(text)) - {"theme", "who"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """Something that a speaker does in one way, later in another."""

    key: str
    pool: tuple[str, ...]
    first: Kind
    change: Kind
    now: str
    before: str
    all: str


def fields(text: str) -> set[str]:
    """Return the names in braces."""
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@cache
def lines() -> dict[str, Line]:
    """Return the storylines by name, in the order of the file."""
    return {row["name"]: _line(row) for row in _read("storylines")}


@cache
def topics() -> tuple[Kind, ...]:
    """Return what a speaker may tell of themselves that does not change."""
    return tuple(_kind(f"topic/{row['key']}", row) for row in _read("personas")["topics"])


@cache
def traits() -> tuple[Kind, ...]:
    """Return the traits that let one draw conclusions."""
    return tuple(_kind(f"trait/{row['key']}", row) for row in _read("personas")["traits"])


@cache
def habits() -> tuple[Habit, ...]:
    """Return what may change."""
    return tuple(_habit(row) for row in _read("personas")["habits"])


@cache
def kinds() -> dict[str, Kind]:
    """Return everything that can be told, by key."""
    told = [step for line in lines().values() for step in line.steps]
    changing = [kind for habit in habits() for kind in (habit.first, habit.change)]
    return {kind.key: kind for kind in (*told, *topics(), *traits(), *changing)}


@cache
def names() -> tuple[str, ...]:
    """Return the first names of speakers."""
    return tuple(_read("personas")["names"])


@cache
def cities() -> dict[str, tuple[str, ...]]:
    """Return country, language and continent by city."""
    return {city: tuple(facts) for city, facts in _read("personas")["cities"].items()}


@cache
def city_questions() -> tuple[str, ...]:
    """Return the question for each of what `cities` gives."""
    return tuple(_read("personas")["city_questions"])


@cache
def talk() -> dict[str, tuple[str, ...]]:
    """Return the sentences around the facts, by purpose."""
    return {purpose: tuple(sentences) for purpose, sentences in _read("talk").items()}


def drawn(role: str, rng: random.Random) -> str:
    """Return a value of the role's pool."""
    pool = _pools()[role]
    if isinstance(pool, list):
        return str(rng.choice(pool))
    if not fields(pool):
        low, _, high = pool.partition("-")
        return str(rng.randint(int(low), int(high)))
    return str(pool).format(**{name: drawn(name, rng) for name in sorted(fields(pool))})


@cache
def _pools() -> Mapping[str, Any]:
    return {**_read("pools"), **_read("personas")["values"]}


def _line(row: dict[str, Any]) -> Line:
    steps = tuple(_kind(f"{row['name']}/{number}", step) for number, step in enumerate(row["steps"]))
    rest = {name: row[name] for name in ("endless", "open") if name in row}
    return Line(name=row["name"], theme=row["theme"], listing=row["listing"], steps=steps, **rest)


def _kind(key: str, row: Mapping[str, Any]) -> Kind:
    taken = ("did", "do", "tell", "gist", "role", "question", "since", "chance")
    conclusions = (text.split(" | ") for text in row.get("conclusions", ()))
    return Kind(
        key=key,
        details=tuple(Detail(*text.split(" | ")) for text in row.get("details", ())),
        conclusions=tuple((question, answer) for question, answer in conclusions),
        **{name: row[name] for name in taken if name in row},
    )


def _habit(row: Mapping[str, Any]) -> Habit:
    key = f"habit/{row['key']}"
    why = Detail("reasonforchange", "", "", "")
    return Habit(
        key=key,
        pool=tuple(row["pool"]),
        first=Kind(key=f"{key}/first", tell=row["tell"], role="new", details=()),
        change=Kind(key=f"{key}/change", tell=row["change"], role="new", details=(why,), question=row["before"]),
        now=row["now"],
        before=row["before"],
        all=row["all"],
    )


def _read(name: str) -> Any:
    from pytest_ltm._yaml import load  # noqa: PLC0415 - only generating pays for it

    return load(_FOLDER / f"{name}.yml").value
