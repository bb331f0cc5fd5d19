# ruff: noqa: SIM905 - long lists of words read best as text
"""What a guest's reply orders: dishes of the menu, dishes that are not on it, drinks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ltm.evaluators._menu import DRINK_ADJECTIVES, FILLERS, Item, Menu
from pytest_ltm.evaluators._words import phrases, stem, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ACTION = re.compile(r"(?<!\*)\*(?![*\s])[^*\n]{1,400}\*(?!\*)")
_SENTENCE = re.compile(r"[^.!?\n;]+[.!?;]?")
_WILL = "ill|i will|we will|well|im going to|i am going to"
_WISH = "id|i would|i should|we would|wed"
_MAY = "can|could|may|might"
_CUE = phrases(
    rf"(?:{_WILL})(?: \w+)? (?:have|take|go|start|try|order|opt|get|stick|choose|pick|keep)",
    rf"(?:{_WISH})(?: \w+)? (?:like|love|prefer|go|opt|choose|have|take)",
    rf"(?:{_MAY}) (?:i|we|you)(?: (?:also|please|just|still|then|maybe)){{0,3}} "
    r"(?:have|get|order|start|bring|change|try|do)",
    r"lets (?:go|have|start|try)",
    r"(?:give|get|bring) me",
    r"let me (?:have|try|get|order)",
    r"decided (?:to|on)",
    r"want (?:to (?:order|have|try)|the|a|an|some)",
    r"how about|make (?:it|that)|go with|followed by",
    r"(?:change|switch) .{0,40}to",
    "it is(?: then)?$",
    "would be (?:lovely|great|nice|perfect|wonderful|good|fine)",
    "in that case (?:the|a|an|some)",
)
_ASIDE = phrases(
    "tell (?:me|us)", r"recommend\w*", r"suggest\w*", "torn", "between", "which", "what", "(?:is|are) there",
    "do you have", "would you say", "look(?:ing)? forward", "maybe", "perhaps", "if (?:the|it|theres|there is|you)",
    "comes with", "still available", "debating", "deciding", "leaning", "tempting", "tempted", "considering",
    "not sure", "just to confirm",
)  # fmt: skip
_GONE = phrases(
    "unavailable", "(?:isnt|not|not being) available", "being out", "sold out", "too bad", r"disappoint\w*", "shame",
    "sorry to hear",
)  # fmt: skip
_COURSE = (
    "(?:for|as) (?:my|an|the|a) (?:main|appetizer|starter|entree|dessert|lunch|dinner|meal)",
    "for dessert",
    "to start",
)
_FANCIED = phrases(*_COURSE, "sounds", "calling my name", "for me", "my (?:choice|order)")
_CHOSEN = phrases(*_COURSE)
_THAT = frozenset(("that", "it", "those", "this"))
_SIDES = re.compile(r"\bside of\b|\bas (?:my |a |the )?sides?\b")
_REFUSED = re.compile(r"\b(?:instead of|not|without|than|no|out of|sorry about)(?: the| a| an)?$")
_ENOUGH_STRANGE = 2


@dataclass(frozen=True, slots=True)
class Order:
    """What one reply orders."""

    dishes: tuple[str, ...] = ()
    """Full names from the menu."""
    strange: tuple[str, ...] = ()
    """What sounds like a dish and is not on the menu."""
    drinks: tuple[str, ...] = ()
    """As the guest called them."""
    asked: tuple[str, ...] = ()
    """The dishes asked for in so many words, not only fancied or listed."""


def read_order(reply: str, menu: Menu) -> Order:
    """Return what a reply orders, sentence by sentence, in linear time; never raises."""
    dishes: list[str] = []
    strange: list[str] = []
    drinks: list[str] = []
    asked: list[str] = []
    fancied: list[str] = []
    for sentence, cued, asks in _ordering(_ACTION.sub(" ", reply)):
        found = _Reading(sentence, menu, dishes)
        text = " ".join(sentence)
        if cued and not found.dishes and not found.drinks and _THAT & set(sentence):
            found.dishes, fancied = fancied[:1], []
            found.strange = _Reading(sentence, menu, found.dishes).strange
        named = not asks and (found.bare or _FANCIED.search(text) is not None)
        if not (cued or (named and (found.dishes or found.drinks))):
            fancied = found.dishes or fancied
            continue
        fancied = found.dishes
        dishes += found.dishes
        strange += found.strange
        drinks += found.drinks if cued or (named and not found.dishes) else []
        asked += found.dishes if cued or found.bare or _chosen(text) else []
    return Order(*(tuple(dict.fromkeys(names)) for names in (dishes, strange, drinks, asked)))


def _chosen(text: str) -> bool:
    course = _CHOSEN.search(text)
    return course is not None and re.search(r"\bsounds\b", text[course.end() :]) is not None


def _ordering(reply: str) -> Iterator[tuple[list[str], bool, bool]]:
    """Yield the words of each sentence as far as it may order something, whether it says so, whether it only asks."""
    for sentence in _SENTENCE.findall(reply):
        text = " ".join(words(sentence))
        if gone := _GONE.search(text):
            cue = _CUE.search(text, gone.end())
            text = text[cue.start() :] if cue else ""
        if aside := _ASIDE.search(text):
            text = text[: aside.start()]
        cue = _CUE.search(text)
        polite = text.endswith((" please", " thank you", " thanks"))
        if text and not text.isspace():
            yield text.split(), cue is not None or polite, bool(aside) or sentence.endswith("?")


class _Reading:
    """One sentence: dishes by name, what else sounds like food, drinks."""

    def __init__(self, sentence: Sequence[str], menu: Menu, before: Sequence[str]) -> None:
        self.menu = menu
        self.before = before
        self.dishes: list[str] = []
        self.strange: list[str] = []
        rest = self._mentions(list(sentence))
        self.drinks = self._drinks(rest)
        self._leftovers(rest)
        drinks = {"|", *(word for drink in self.drinks for word in drink.split())}
        self.bare = all(word in FILLERS or word in drinks or word in DRINK_ADJECTIVES for word in rest)

    def _mentions(self, sentence: list[str]) -> list[str]:
        """Note the dishes named and return the other words, each dish replaced by "|"."""
        rest: list[str] = []
        at = 0
        while at < len(sentence):
            item, size = self._item_at(sentence, at)
            if item is None:
                rest.append(sentence[at])
                at += 1
                continue
            at += size
            form = sentence[at] if at < len(sentence) else ""
            self._note(item, rest, form)
            while at < len(sentence) and self._belongs(sentence, at, item):
                at += 1
            rest.append("|")
        return rest

    def _item_at(self, sentence: list[str], at: int) -> tuple[Item | None, int]:
        for name, item in self.menu.by_first_word.get(sentence[at], ()):
            if tuple(sentence[at : at + len(name)]) == name:
                return item, len(name)
        return None, 0

    def _note(self, item: Item, before: list[str], form: str) -> None:
        if _REFUSED.search(" ".join(before[-3:])):
            return
        if form in _FORMS and stem(form) not in item.stems | self.menu.section_stems:
            self.strange.append(f"{item.name} {form}")
            return
        last = before[-1] if before else ""
        if stem(last) in self.menu.vocabulary and stem(last) not in item.stems and last not in FILLERS:
            self.strange.append(f"{last} {item.name}")
        else:
            self.dishes.append(item.name)

    def _belongs(self, sentence: list[str], at: int, item: Item) -> bool:
        """Tell whether a word after a dish's name describes it: of its full name, or a filler before such a word."""
        if stem(sentence[at]) in item.stems:
            return True
        after = sentence[at + 1 : at + 4]
        return sentence[at] in _LINKS and any(stem(word) in item.stems and word not in _LINKS for word in after)

    def _drinks(self, rest: Sequence[str]) -> list[str]:
        runs: list[list[str]] = [[]]
        for word in rest:
            if word in self.menu.drink_words or word in DRINK_ADJECTIVES:
                runs[-1].append(word)
            elif runs[-1]:
                runs.append([])
        return [" ".join(run) for run in runs if any(word in self.menu.drink_words for word in run)]

    def _leftovers(self, rest: Sequence[str]) -> None:
        """Note the dishes called by a part of their names, and what else sounds like food."""
        ordered = [item for item in self.menu.items if item.name in self.dishes or item.name in self.before]
        known = frozenset[str]().union(*(item.stems for item in ordered))
        strange: list[str] = []
        for run, aside in _runs(rest):
            foods = [word for word in run if self._is_food(word) and stem(word) not in known]
            called = [] if aside else self._called(run, foods)
            self.dishes += called
            strange += [] if called else foods
        sided = _SIDES.search(" ".join(rest)) is not None
        if strange and (not (known or self.dishes) or sided or len(set(strange)) >= _ENOUGH_STRANGE):
            self.strange.append(" ".join(strange))

    def _is_food(self, word: str) -> bool:
        drinking = word in self.menu.drink_words or word in DRINK_ADJECTIVES
        return stem(word) in self.menu.vocabulary and not drinking

    def _called(self, run: Sequence[str], foods: Sequence[str]) -> list[str]:
        """Return the dish that a run of words means, or the dishes that its words mean one by one; [] if neither."""
        cut = run.index("with") if "with" in run else len(run)
        before = frozenset(word for word in run[:cut] if word in foods)
        whole = self.menu.called(before, frozenset(foods) - before)
        if whole:
            return [whole]
        single = [self.menu.called(frozenset((word,)), frozenset()) for word in foods]
        return [name for name in single if name] if all(single) else []


def _runs(rest: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield runs of words with nothing but fillers between foods, and whether one describes the dish before it."""
    run: list[str] = []
    after_dish = False
    for word in [*rest, "|"]:
        if word == "|" or (word not in FILLERS and word in _BREAKS):
            yield run, after_dish and bool(_LINKS & set(run[:2]) - {"and"})
            run, after_dish = [], word == "|"
        else:
            run.append(word)
    yield run, False


_BREAKS = frozenset("ill i id will would have like love take go try still then can could get but also followed".split())
_FORMS = frozenset("burger sandwich pie pizza taco soup salad wrap burrito pasta curry stew kebab roll toast".split())
_LINKS = frozenset(
    "with and the served a side of on in over its some entree appetizer starter dish plate sandwich".split()
)
