"""A small town that changes from chapter to chapter: who lives and works where, who owns what, what is broken."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["home", "work", "owner", "whole"]
Key = tuple[Kind, str]
"""What a fact is about: its kind, and the person or the thing."""

CITIZENS, BELONGINGS = 8, 12
"""How many people and things a book has."""


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who lives in the town."""

    name: str
    he: str
    him: str
    his: str


PEOPLE = tuple(
    [
        Person(name, "she", "her", "her")
        for name in (
            "Aldith",
            "Corisande",
            "Fenella",
            "Hesper",
            "Jocasta",
            "Linnet",
            "Merrin",
            "Sidony",
            "Ottoline",
            "Wilmot",
        )
    ]
    + [
        Person(name, "he", "him", "his")
        for name in (
            "Barnabo",
            "Denzil",
            "Gervase",
            "Isambard",
            "Kester",
            "Odo",
            "Perran",
            "Tobit",
            "Quillon",
            "Lucan",
        )
    ]
)

HOMES = (
    "the lighthouse",
    "the old mill",
    "the ferry house",
    "the flat above the bakery",
    "the gatehouse",
    "the cottage by the weir",
    "the attic of the inn",
    "the coach house",
    "the toll house",
    "the net loft",
    "the chapel house",
    "the orangery",
    "the station house",
    "the almshouse",
    "the keeper's hut",
    "the corner house",
    "the rooms behind the theatre",
    "the farmhouse on the ridge",
    "the boathouse",
    "the old customs house",
)
WORKPLACES = (
    "the smithy",
    "the printing shop",
    "the pharmacy",
    "the post office",
    "the dairy",
    "the ropewalk",
    "the glassworks",
    "the quarry",
    "the tannery",
    "the brewery",
    "the salt pans",
    "the tree nursery",
    "the shipyard",
    "the laundry",
    "the cheese cellar",
    "the pottery",
)
THINGS = (
    "the brass telescope",
    "the rowing boat",
    "the walnut fiddle",
    "the three-wheeled bicycle",
    "the pocket watch",
    "the painted sledge",
    "the hand loom",
    "the small harmonium",
    "the weather glass",
    "the handcart",
    "the butter churn",
    "the map chest",
    "the iron stove",
    "the magic lantern",
    "the spinning wheel",
    "the stuffed pike",
    "the music box",
    "the folding ladder",
    "the apple press",
    "the coffee mill",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is so: `whole` is "yes" or "no", an owner is a name."""

    kind: Kind
    subject: str
    value: str

    @property
    def key(self) -> Key:
        """What it is about."""
        return (self.kind, self.subject)


@dataclass(frozen=True, slots=True)
class Told:
    """A fact as a chapter tells it."""

    fact: Fact
    before: str
    """What was so until then; "" where it is told for the first time."""


@dataclass
class Town:
    """What is so at the moment, and what each chapter has told."""

    people: Sequence[Person]
    things: Sequence[str]
    chapters: list[list[Told]] = field(default_factory=list)
    state: dict[Key, str] = field(default_factory=dict)
    kept: frozenset[Key] = frozenset()
    """What the first chapter tells and nothing changes afterwards."""

    def tell(self, fact: Fact) -> None:
        """Let the newest chapter tell a fact."""
        default = "yes" if fact.kind == "whole" else ""
        self.chapters[-1].append(Told(fact, self.state.get(fact.key, default)))
        self.state[fact.key] = fact.value

    @property
    def vacant(self) -> list[str]:
        """The homes in which nobody lives."""
        taken = {value for (kind, _), value in self.state.items() if kind == "home"}
        return [home for home in HOMES if home not in taken]

    def last_told(self) -> Mapping[Key, Told]:
        """Return by key what was told last."""
        last = {}
        for chapter in self.chapters:
            for told in chapter:
                last[told.fact.key] = told
        return last


def town_of(rng: random.Random, chapters: int, changes: int, kept: int) -> Town:
    """Return a town after so many chapters, each with so many changes (fewer if nothing is left to change).

    The first chapter introduces half of the people and things, the second the rest;
    `kept` facts of the first chapter never change.
    """
    town = Town(rng.sample(PEOPLE, CITIZENS), rng.sample(THINGS, BELONGINGS))
    for number in range(chapters):
        town.chapters.append([])
        for fact in _introduced(town, rng, number, chapters):
            town.tell(fact)
        if number == 0:
            town.kept = frozenset(rng.sample(sorted(town.state), kept))
        for _ in range(changes):
            _change(town, rng)
    return town


def _introduced(
    town: Town, rng: random.Random, number: int, chapters: int
) -> list[Fact]:
    if number > 1:
        return []
    half = (
        slice(None)
        if chapters == 1
        else (slice(0, None, 2) if number == 0 else slice(1, None, 2))
    )
    people = town.people[half]
    known = [
        *{subject for kind, subject in town.state if kind == "home"},
        *(person.name for person in people),
    ]
    homes = rng.sample(town.vacant, len(people))
    facts = []
    for person, home in zip(people, homes, strict=True):
        facts.append(Fact("home", person.name, home))
    facts += [Fact("work", person.name, rng.choice(WORKPLACES)) for person in people]
    rng.shuffle(facts)
    belongings = []
    for thing in town.things[half]:
        belongings.append(Fact("owner", thing, rng.choice(sorted(known))))
    return [*facts, *belongings]


def _change(town: Town, rng: random.Random) -> None:
    """Change one thing that is neither kept nor already changed in this chapter."""
    busy = town.kept | {told.fact.key for told in town.chapters[-1] if told.before}
    kinds: list[Kind] = ["home", "work", "owner", "whole"]
    for kind in rng.sample(kinds, len(kinds)):
        keys = sorted(key for key in _known(town, kind) if key not in busy)
        if keys:
            town.tell(other(town, rng, rng.choice(keys)))
            return


def _known(town: Town, kind: Kind) -> Iterable[Key]:
    if kind == "whole":
        keys: list[Key] = []
        for relation, subject in town.state:
            if relation == "owner":
                keys.append((kind, subject))
        return keys
    return [key for key in town.state if key[0] == kind]


def other(town: Town, rng: random.Random, key: Key) -> Fact:
    """Return a fact about `key` that could be but is not so now."""
    kind, subject = key
    now = town.state.get(key, "yes")
    if kind == "whole":
        return Fact(kind, subject, "no" if now == "yes" else "yes")
    known = sorted(name for known_kind, name in town.state if known_kind == "home")
    choices = {"home": town.vacant, "work": WORKPLACES, "owner": known}[kind]
    return Fact(kind, subject, rng.choice([value for value in choices if value != now]))


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the beginning of a next chapter says; `broken` is what is so in truth where it says something false."""

    facts: Sequence[Fact]
    broken: Fact | None


def beginnings(
    town: Town, rng: random.Random, number: int, facts: int
) -> list[Beginning]:
    """Return beginnings of a next chapter, the first of them true, each of the others false in one fact.

    No two speak of the same matter or name the same home, so that comparing them with
    each other does not help. The kept facts are contradicted first; then the latest
    state of what has changed.
    """
    last = town.last_told()
    changed = []
    for key, told in sorted(last.items()):
        if told.before and key not in town.kept:
            changed.append(key)
    late = [key for key in changed if last[key] not in town.chapters[0]] or changed
    others = sorted(set(last) - town.kept - set(late))
    order: list[Key] = []
    for keys in (sorted(town.kept), late, others):
        order += rng.sample(keys, len(keys))
    wrong = order[: number - 1]
    homes: set[str] = set()
    false = []
    for key in wrong:
        before = last[key].before
        fact = (
            Fact(*key, before)
            if before and before not in homes
            else _not_so(town, rng, key, homes)
        )
        homes |= {fact.value, town.state[key]} if key[0] == "home" else set()
        false.append(fact)
    rest = sorted(set(last) - set(wrong))
    true = _true_facts(town, rng.sample(rest, len(rest)), homes)
    made = [Beginning([next(true) for _ in range(facts)], None)]
    for fact in false:
        said = [fact, *(next(true) for _ in range(facts - 1))]
        rng.shuffle(said)
        made.append(Beginning(said, Fact(*fact.key, town.state[fact.key])))
    return made


def _not_so(town: Town, rng: random.Random, key: Key, homes: set[str]) -> Fact:
    """Return a false fact, if possible with a value that the book has named, so that its name does not tell."""
    kind, subject = key
    if kind in ("home", "work"):
        named = set()
        for chapter in town.chapters:
            for sentence in chapter:
                if sentence.fact.kind == kind:
                    named.add(sentence.fact.value)
        values = set(town.vacant) - homes if kind == "home" else set(WORKPLACES)
        fitting = sorted((values & named or values) - {town.state[key]})
        return Fact(kind, subject, rng.choice(fitting))
    return other(town, rng, key)


def _true_facts(town: Town, keys: Iterable[Key], homes: set[str]) -> Iterator[Fact]:
    for key in keys:
        fact = Fact(*key, town.state[key])
        if key[0] == "home":
            if fact.value in homes:
                continue
            homes.add(fact.value)
        yield fact
