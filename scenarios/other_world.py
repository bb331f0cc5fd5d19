"""Other World: what is told of a novel or a game holds inside it, whatever everybody knows, and nowhere else."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import KeepsWorldsApart
from pytest_ltm.locales import capital, worded

from ._common_knowledge import COUNT, THINGS, VALUES, Thing, spellings
from ._inventions import Inventions
from ._parameters import last_wait, whole

MEDIA = ("novel", "play", "opera", "comic", "musical", "game", "film", "ballet")
LEADS = "[|by the way, |another rule: |jot this down: |worth knowing: |please remember: |just so you know, ]"
ENDS = "[.|, believe it or not.|, unlike here.|, odd as that is.|, and nobody there finds it odd.|, and that's that.]"
TOLD = (
    LEADS + "in my {medium} {name}, {fact}" + ENDS,
    LEADS + "{fact} in my {medium} {name}" + ENDS,
)
ALIKE = ", [whatever that may be|even if that should change|whatever I make of it later|now and after any change]."
LIKE = (
    LEADS + "in [my {medium} |]{name}, {like}" + ALIKE,
    LEADS + "{like} in [my {medium} |]{name}" + ALIKE,
)
NEWS = "[|a change: |I've rewritten a bit: |on second thoughts: |a new version: |a small revision: ]"
NO_LONGER = "[.|, whatever I told you before.|; my earlier rule is gone.|; that replaces my earlier rule.]"
CHANGED = (
    NEWS + "in [my {medium} |]{name}, {fact} [now|from now on|instead]" + NO_LONGER,
    NEWS + "{fact} in [my {medium} |]{name} [now|from now on|instead]" + NO_LONGER,
)
ASKING = "[|so, |tell me, |quick question: |remind me: |just checking: |help me out: ]"
BRIEFLY = "[?|? A word or a number will do.|? Just the answer, please.]"
INSIDE = (
    ASKING + "in [my {medium} |]{name}, {question}" + BRIEFLY,
    ASKING + "{question} in [my {medium} |]{name}" + BRIEFLY,
)
OUTSIDE = (
    ASKING
    + "[{outside}|in the real world|in real life|back in our own world|away from all fiction], {question}"
    + BRIEFLY,
    ASKING
    + "{question} [{outside}|in the real world|in real life|here in our own world]"
    + BRIEFLY,
)
IN_WORDS = (
    "zero",
    "one",
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
)


@dataclass(frozen=True, slots=True)
class Frame:
    """An invented world."""

    medium: str
    name: str

    @property
    def names(self) -> str:
        """How one may speak of it, with | between."""
        return f"{self.name}|{self.medium}"


Place = tuple[Thing, Frame]


@dataclass
class Story:
    """What holds in the frames, and what is said of it."""

    rng: random.Random
    values: dict[Place, str] = field(default_factory=dict)
    """What the rules say now."""
    links: dict[Place, Thing] = field(default_factory=dict)
    """What is in its frame as another thing is there."""
    ruled_out: dict[Thing, set[str]] = field(default_factory=dict)
    """All values that a thing has or had anywhere, and those that what is like it has in our world."""
    changed: list[Place] = field(default_factory=list)

    def value(self, thing: Thing, frame: Frame) -> str:
        """Return what holds of a thing in a frame."""
        return self.values[self.links.get((thing, frame), thing), frame]

    def rule(self, thing: Thing, frame: Frame) -> None:
        """Give a thing another value in a frame than it ever had anywhere."""
        out = self.ruled_out.setdefault(thing, {thing.value})
        value = self.rng.choice(
            [value for value in VALUES[thing.aspect] if value not in out]
        )
        out.add(value)
        self.values[thing, frame] = value

    def say(self, wordings: Sequence[str], thing: Thing, frame: Frame) -> Say:
        """Return a rule as it holds now, in words."""
        base = self.links.get((thing, frame))
        value = "" if base else self._said(thing, frame)
        slots = {"like": thing.like(base)} if base else {"fact": thing.fact(value)}
        tells = {} if base else {f"{thing.question()} in {frame.name}": value}
        return Say(
            worded(self.rng, wordings, name=frame.name, medium=frame.medium, **slots),
            tells=tells,
        )

    def _said(self, thing: Thing, frame: Frame) -> str:
        value = self.values[thing, frame]
        in_words = (
            thing.aspect == COUNT
            and int(value) < len(IN_WORDS)
            and self.rng.random() < 1 / 2
        )
        return IN_WORDS[int(value)] if in_words else value


def other_world(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `rules` (default 6) against common knowledge in `frames` (1 or 2, as drawn), which combine and change.

    `links` (2) more rules say that a thing is there as another one is, and `changes`
    (2) give a thing another value. Then `questions` (3) about the frames and as many
    about the real world. In two frames the rules are about the same things. No value is
    that of the thing elsewhere, or was it before. All messages over the span.
    """
    number = whole(parameters, "rules", 6, 6, 12)
    links = whole(parameters, "links", 2, 1, 3)
    changes = whole(parameters, "changes", 2, 1, 4)
    questions = whole(parameters, "questions", 3, 2, 4)
    inventions = Inventions(rng)
    media = rng.sample(MEDIA, whole(parameters, "frames", rng.choice((1, 2)), 1, 2))
    frames = [Frame(medium, inventions.name()) for medium in media]
    story = Story(rng)
    told = _told(story, _drawn(rng, number, links, frames), changes)
    inside, outside = _asked(story, questions)
    asked = [
        *((thing, frame) for thing, frame in inside),
        *((thing, None) for thing in outside),
    ]
    rng.shuffle(asked)
    by_place = {}
    for place, _ in told:
        places = (place, _base(story, place))
        by_place[place] = tuple(said.text for where, said in told if where in places)
    expected = []
    others = []
    realms = []
    replies = []
    for thing, frame in asked:
        value = story.value(thing, frame) if frame else thing.value
        other_values = [other for other in VALUES[thing.aspect] if other != value]
        if thing.aspect == COUNT:
            other_values = []
        expected.append(f"{value} {thing.unit}" if thing.unit else spellings(value))
        others.append(list(map(spellings, other_values)))
        realms.append(frame.names if frame else "")
        replies.append(f"{capital(thing.fact(value))}.")
    asks = [_ask(rng, thing, frame, frames, by_place) for thing, frame in asked]
    return Definition(
        steps=spread([*(said for _, said in told), *asks], last_wait(rng, parameters)),
        expected=expected,
        parameters={
            **parameters,
            "others": others,
            "realms": realms,
            "worlds": [frame.names for frame in frames],
        },
        replies=tuple(replies),
    )


def _drawn(
    rng: random.Random, number: int, links: int, frames: Sequence[Frame]
) -> tuple[list[Place], list[tuple[Place, Thing]]]:
    """Return of what there are rules, and what is like one of these in a frame."""
    things = rng.sample(THINGS, len(THINGS))
    count = -(-number // len(frames))
    ruled = []
    for thing in things[:count]:
        for frame in frames:
            ruled.append((thing, frame))
    ruled = ruled[:number]
    free = things[count:]
    linked = list[tuple[Place, Thing]]()
    for thing in free:
        alike = [(base, frame) for base, frame in ruled if base.aspect == thing.aspect]
        if alike and len(linked) < links:
            base, frame = rng.choice(alike)
            linked.append(((thing, frame), base))
    return ruled, linked


def _told(
    story: Story,
    drawn: tuple[Sequence[Place], Sequence[tuple[Place, Thing]]],
    changes: int,
) -> list[tuple[Place, Say]]:
    """Return all messages that tell rules, in their order, each with what it is about."""
    rng, (ruled, linked) = story.rng, drawn
    for (thing, _), base in linked:
        story.ruled_out.setdefault(base, {base.value}).add(thing.value)
    story.changed = rng.sample(ruled, changes)
    order = [(TOLD, place) for place in rng.sample(ruled, len(ruled))]
    later = [(CHANGED, place, place) for place in story.changed]
    later += [(LIKE, place, (base, place[1])) for place, base in linked]
    for wordings, place, after in rng.sample(later, len(later)):
        order.insert(
            rng.randint(order.index((TOLD, after)) + 1, len(order)), (wordings, place)
        )
    story.links = dict(linked)
    told = list[tuple[Place, Say]]()
    for wordings, place in order:
        if wordings is not LIKE:
            story.rule(*place)
        told.append((place, story.say(wordings, *place)))
    return told


def _asked(story: Story, questions: int) -> tuple[list[Place], list[Thing]]:
    """Return what is asked inside the frames: of a link, of a change, of any; and of which things outside."""
    rng = story.rng
    places = [*story.values, *story.links]
    inside = [rng.choice(list(story.links)), rng.choice(story.changed)]
    inside += rng.sample(
        [place for place in places if place not in inside], questions - 2
    )
    things = list(dict.fromkeys(thing for thing, _ in places))
    return inside, rng.sample(things, questions)


def _base(story: Story, place: Place) -> Place:
    thing, frame = place
    return story.links.get(place, thing), frame


def _ask(
    rng: random.Random,
    thing: Thing,
    frame: Frame | None,
    frames: Sequence[Frame],
    texts: Mapping[Place, tuple[str, ...]],
) -> Ask:
    if frame:
        text = worded(
            rng, INSIDE, name=frame.name, medium=frame.medium, question=thing.question()
        )
        return Ask(text, about=texts[thing, frame])
    outside = (
        f"outside my {frames[0].medium} {frames[0].name}"
        if len(frames) == 1
        else "outside my made-up worlds"
    )
    return Ask(worded(rng, OUTSIDE, outside=outside, question=thing.question()))


def rule_of(definition: Definition) -> KeepsWorldsApart:
    """Return the evaluator of a definition."""
    lists = definition.parameters
    return KeepsWorldsApart(
        tuple(definition.expected),
        tuple(map(tuple, lists["others"])),
        tuple(lists["realms"]),
        tuple(lists["worlds"]),
    )


@pytest.mark.ltm(
    generate=other_world,
    skills="R,C,I",
    version="1",
    floor=0.08,  # who knows our world, and says of another something of the kind that is not so here
    reset="You can forget all my invented worlds: only the real one counts now.",
)
def test_other_world(ltm: Ltm) -> None:
    """Answers inside an invented world by its rules, and outside by what everybody knows."""
    ltm.score(rule_of(ltm.definition)(ltm.play(ltm.definition)))
