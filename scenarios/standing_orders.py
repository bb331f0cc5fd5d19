"""Standing Orders: orders for later texts add up, hold in conditions, change, end and come back."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import ObeysOrders
from pytest_ltm.locales import filled, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

OPENS, CLOSES, MENTIONS, TAG = "opens", "closes", "mentions", "tag"
BRACKETS, CAPITALS, STARS = "brackets", "capitals", "stars"

CLAUSES = {
    OPENS: "[begin|start|open] with the word {w}",
    CLOSES: "[end|close|finish] with the word {w}",
    MENTIONS: "[work in|slip in|use] the word {w}",
    TAG: "[add|attach|include] the tag #{w}",
    BRACKETS: "[put|write|set] the word {w} in square brackets",
    CAPITALS: "[put|write|set] the word {w} in capital letters",
    STARS: "[put|write|set] the word {w} between two asterisks",
}
LABELS = {
    OPENS: "the opening word",
    CLOSES: "the closing word",
    MENTIONS: "the word to be worked in",
    TAG: "the tag",
    BRACKETS: "the word in brackets",
    CAPITALS: "the word in capitals",
    STARS: "the word between asterisks",
}
THINGS = {
    "animals": (
        "herons",
        "otters",
        "badgers",
        "moles",
        "swallows",
        "toads",
        "foxes",
        "ducks",
        "owls",
        "hedgehogs",
    ),
    "food": (
        "leeks",
        "plums",
        "pancakes",
        "pears",
        "soup",
        "honey",
        "biscuits",
        "turnips",
        "carrots",
        "cheese",
    ),
    "tools": (
        "spanners",
        "hammers",
        "chisels",
        "rakes",
        "ladders",
        "saws",
        "pliers",
        "shovels",
        "drills",
        "spades",
    ),
}
PLACES = (
    "the church door",
    "the village hall",
    "the bus shelter",
    "the bakery window",
    "the library",
    "the tea room",
)

EVERY = "every"
"""The condition of an order that holds in every line."""
ABOUT, FOR = "about", "for"
HOLDS = {
    EVERY: "[whenever you write me a line|in every line that I ask for|in all lines that you write for me]",
    ABOUT: "[whenever a line is about|in lines about|if I want a line about] {what}",
    FOR: "[whenever a line is for|in lines for|if I want a line for] {what}",
}
NOW_HOLDS = {
    EVERY: "in every line[, whatever it is about|, whatever it is for|]",
    ABOUT: "only [in lines about|when a line is about] {what}",
    FOR: "only [in lines for|when a line is for] {what}",
}
ASIDES = "[|from now on, |a standing order: |one more rule: |please note: |as a house rule, |until I say otherwise, ]"
ENDS = "[.|, please.|, without exception.|, and I mean it.|, if you'd be so kind.]"
TOLD = (ASIDES + "{holds}, {clause}" + ENDS, ASIDES + "{clause} {holds}" + ENDS)
NEWS = "[|news: |a change: |small change: |on second thoughts: |about your lines: |while I think of it: ]"
NEW_WORD = (
    NEWS
    + "[make|let] {label} {be}{w}[ from now on| from here on|][.|, please.|, all else being the same.]",
    NEWS
    + "[take|use|put] {w} instead of {old}[ from now on| from here on|][.|, please.|, all else being the same.]",
)
NEW_CONDITION = (
    NEWS
    + "[I want|give me|let me have] {label} {holds}[.|, please.|: that is enough.|, if you'd be so kind.]",
    NEWS
    + "[I want|give me|let me have] {old} {holds}[.|, please.|: that is enough.|, if you'd be so kind.]",
)
REVOKED = (
    NEWS
    + "[drop|scrap|do without|leave out] {label}[ altogether|][.|, please.|: I'm tired of it.|: it's had its day.]",
    NEWS
    + "[drop|scrap|do without|leave out|no more] {old}[.|, please.|: I'm tired of it.|: it's had its day.]",
)
RESTORED = (
    NEWS
    + "[bring back|reinstate] {label}[, just as it was|, on the same terms|][.|, please.|: I've come to miss it.]",
    NEWS
    + "[bring back|reinstate] {old}[, just as it was|, on the same terms|][.|, please.|: I've come to miss it.]",
)
STAYS = (
    (
        "[I was going to drop|I nearly dropped|my sister would drop|I thought of dropping|I almost scrapped] {label}, "
        "but [it stays|I want to keep it|it still stands|it is to stay][.|, after all.|, for the time being.]"
    ),
)
TASKS = (
    (
        "[|now, |next, |right, |over to you: |another one: |time for a new one: ][write me|I'd like|I need|let me have|"
        "give me] a line about {thing} for {place}[.|, please.|, ten words or so.|, something cheerful.|, a short one.]"
    ),
    (
        "[|now, |next, |right, |over to you: |another one: ][can I have|can you write me|will you write me|may I have|"
        "how about] a line about {thing} for {place}[?|, please?|, ten words or so?|, something cheerful?]"
    ),
)


@dataclass
class Order:
    """What the user wants of lines: of which kind, with which word, and when."""

    kind: str
    word: str
    holds: str
    """EVERY, or what lines must be about, or for."""
    revoked: bool = False

    @property
    def condition(self) -> str:
        """EVERY, ABOUT or FOR."""
        return EVERY if self.holds == EVERY else ABOUT if self.holds in THINGS else FOR

    def applies(self, about: str, place: str) -> bool:
        """Return whether it holds in a line about a kind of thing, for a place."""
        return not self.revoked and self.holds in (EVERY, about, place)


@dataclass
class Story:
    """What was said so far, and what it comes to."""

    rng: random.Random
    inventions: Inventions
    abouts: Sequence[str]
    places: Sequence[str]
    orders: list[Order] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    """All words, also those that no order has any more."""
    messages: list[Say | Ask] = field(default_factory=list)
    holding: list[list[list[str]]] = field(default_factory=list)
    lapsed: list[list[str]] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    things: list[str] = field(default_factory=list)
    """What each line is about."""

    def condition(self, order: Order | None = None) -> str:
        """Return a condition, not the one that the order has."""
        choices = [EVERY, *self.abouts, *self.places]
        return self.rng.choice(
            [choice for choice in choices if order is None or choice != order.holds]
        )

    def word(self) -> str:
        """Return a new word."""
        self.told.append(self.inventions.name())
        return self.told[-1]

    def give(self, kind: str, *, always: bool) -> None:
        """Give a new order."""
        order = Order(kind, self.word(), EVERY if always else self.condition())
        self.orders.append(order)
        clause = filled(self.rng, CLAUSES[kind]).format(w=order.word)
        self._say(TOLD, order, HOLDS, clause=clause)

    def change(self) -> None:
        """Give an order another word, or another condition; the first order always holds in every line."""
        order = self.rng.choice([order for order in self.orders if not order.revoked])
        if order is self.orders[0] or self.rng.random() < 1 / 2:
            old, order.word = order.word, self.word()
            self._say(NEW_WORD, order, NOW_HOLDS, old=old, w=order.word)
        else:
            order.holds = self.condition(order)
            self._say(NEW_CONDITION, order, NOW_HOLDS)

    def revoke(self) -> None:
        """Revoke an order."""
        order = self.rng.choice(
            [order for order in self.orders[1:] if not order.revoked]
        )
        order.revoked = True
        self._say(REVOKED, order, NOW_HOLDS)

    def restore(self) -> None:
        """Have an order that was revoked hold again."""
        order = self.rng.choice([order for order in self.orders if order.revoked])
        order.revoked = False
        self._say(RESTORED, order, NOW_HOLDS)

    def stay(self) -> None:
        """Say of an order that it holds on."""
        self._say(
            STAYS,
            self.rng.choice([order for order in self.orders if not order.revoked]),
            NOW_HOLDS,
        )

    def lapses(self, about: str, place: str) -> bool:
        """Return whether a line would have words to leave out."""
        holding = [order for order in self.orders if order.applies(about, place)]
        return len(self.told) > len(holding)

    def ask(self, about: str, place: str) -> None:
        """Ask for a line."""
        thing = self.rng.choice(THINGS[about])
        text = worded(self.rng, TASKS, thing=thing, place=place)
        says = [message for message in self.messages if isinstance(message, Say)]
        self.messages.append(Ask(text, about=tuple(say.text for say in says)))
        holding = {}
        for order in self.orders:
            if order.applies(about, place):
                holding[order.kind] = order.word
        self.holding.append([[kind, word] for kind, word in holding.items()])
        self.lapsed.append([word for word in self.told if word not in holding.values()])
        self.things.append(thing)
        self.replies.append(line(thing, holding))

    def _say(
        self,
        wordings: Sequence[str],
        order: Order,
        holds: Mapping[str, str],
        **slots: str,
    ) -> None:
        wording = self.rng.choice(wordings)
        when = filled(self.rng, holds[order.condition]).format(what=order.holds)
        slots = {"old": order.word, "label": LABELS[order.kind], "holds": when, **slots}
        chosen = filled(self.rng, wording)
        tells = {slots["label"]: order.word} if wordings in (TOLD, NEW_WORD) else {}
        text = worded(
            self.rng, [chosen], be="be " if "et {label}" in chosen else "", **slots
        )
        self.messages.append(Say(text, tells=tells))


def standing_orders(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `orders` (default 5); `changes` (2), `revoked` (2) and `restored` (1); and `tasks` (3) that ask for lines.

    All messages over the span. The first task comes amid the changes, the others in the
    end. Of one order it is said that it stays. In each line some orders hold, and
    others do not: revoked, changed, or for other lines.
    """
    number = whole(parameters, "orders", 5, 2, len(CLAUSES))
    changes = whole(parameters, "changes", 2, 0, 6)
    revoked = whole(parameters, "revoked", 2, 1, number - 1)
    restored = whole(parameters, "restored", min(1, revoked - 1), 0, revoked - 1)
    tasks = whole(parameters, "tasks", 3, 1, 5)
    story = Story(
        rng, Inventions(rng), rng.sample(list(THINGS), 2), rng.sample(PLACES, 2)
    )
    for place, kind in enumerate(rng.sample(list(CLAUSES), number)):
        story.give(kind, always=place == 0)
    later = rng.sample(
        [story.change] * changes + [story.revoke] * revoked + [story.stay],
        changes + revoked + 1,
    )
    for _ in range(restored):
        later.insert(
            rng.randint(_nth(later, story.revoke, restored), len(later)), story.restore
        )
    lines = []
    for about in story.abouts:
        for place_name in story.places:
            lines.append((about, place_name))
    asked = [*rng.sample(lines, 4), *rng.sample(lines, 1)][:tasks]
    middle = rng.randint(1, len(later) - 1) if tasks > 1 else len(later)
    for place, happens in enumerate(later, start=1):
        happens()
        if place >= middle and len(asked) == tasks and story.lapses(*asked[0]):
            story.ask(*asked.pop(0))
    for question in asked:
        story.ask(*question)
    return Definition(
        steps=spread(story.messages, last_wait(rng, parameters)),
        expected=story.holding,
        parameters={**parameters, "lapsed": story.lapsed, "about": story.things},
        replies=tuple(story.replies),
    )


def _nth(happens: Sequence[object], wanted: object, number: int) -> int:
    """Return the place after the n-th of these."""
    places = [place for place, one in enumerate(happens, start=1) if one == wanted]
    return places[number - 1]


def line(thing: str, orders: Mapping[str, str]) -> str:
    """Return a line that obeys the orders and no others."""
    ways = {
        OPENS: "{w}:",
        MENTIONS: "{w}",
        BRACKETS: "[{w}]",
        CAPITALS: "{W}",
        STARS: "*{w}*",
        TAG: "#{w}",
        CLOSES: "{w}",
    }
    parts = {}
    for kind, way in ways.items():
        if kind in orders:
            parts[kind] = way.format(w=orders[kind], W=orders[kind].upper())
    first, last = parts.pop(OPENS, ""), parts.pop(CLOSES, "")
    return " ".join(
        filter(None, (first, f"good news of {thing}", *parts.values(), last))
    )


def rule_of(definition: Definition) -> ObeysOrders:
    """Return the evaluator of a definition."""
    holding = [tuple(map(tuple, task)) for task in definition.expected]
    lists = definition.parameters
    return ObeysOrders(
        tuple(holding), tuple(map(tuple, lists["lapsed"])), tuple(lists["about"])
    )


@pytest.mark.ltm(
    generate=standing_orders,
    skills="P,C,I",
    version="1",
    reset="You can forget all my rules for lines: none of them holds any more.",
)
def test_standing_orders(ltm: Ltm) -> None:
    """Obeys the orders that hold at that moment in that line, and none that does not."""
    ltm.score(rule_of(ltm.definition)(ltm.play(ltm.definition)))
