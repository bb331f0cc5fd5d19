# ruff: noqa: SIM905 - long lists of words read best as text
"""A menu as data, and the names by which a guest may call what is on it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from pytest_ltm.evaluators._words import STOP_WORDS, stem, words

_LINE = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+(\S.*)$")
_SECTION = re.compile(r"^[ \t]*([A-Z][^:.\d]{2,40}):[ \t]*$")
_DRINKS_SECTION = re.compile(r"\b(?:beverages?|drinks?)\b", re.IGNORECASE)
_SHORT_NAME_END = re.compile(r"\b(?:with|served|in|on|over|topped|drizzled)\b|[,(]")
_LOOSE = frozenset("classic crispy warm fresh new york style vegan halal grilled house homemade traditional".split())
BEVERAGES = frozenset(
    "water tea coffee coke cola sprite soda lemonade juice beer wine cider milk espresso cappuccino latte cocktail "
    "champagne prosecco chardonnay merlot cabernet sauvignon pinot riesling ale lager whisky whiskey gin tonic rum "
    "smoothie milkshake stout seltzer malbec margarita mojito ayran chai cordial kombucha ginger mineral".split()
)
DRINK_ADJECTIVES = frozenset(
    "sweetened unsweetened iced ice red white house hot cold sparkling still diet domestic imported black green rose "
    "large small sweet dry draft craft grigio noir blanc orange apple herbal fresh soft".split()
)
_FOODS = frozenset(
    "steak fries frites pie pizza sushi curry stew omelette pancake waffle toast burrito taco nacho noodle ramen "
    "lasagna lasagne ravioli gnocchi meatball sausage ham turkey duck pork ribs wing nugget coleslaw slaw mash roll "
    "brownie cookie gelato sorbet pudding crepe doughnut muffin bagel kebab gyro falafel paella quiche sandwich "
    "burger salad soup pasta lobster shrimp prawn crab oyster mussel trout tuna cod halibut".split()
)
FILLERS = frozenset(
    "a an the some of my your our please glass cup bottle pint mug pot side sides with served and or as for to also "
    "instead plate dish dishes order appetizer appetiser starter main course entree dessert meal option options "
    "version then one too cooked medium rare well done extra no without it its that this like start".split()
)


@dataclass(frozen=True)
class Menu:
    """What a restaurant serves: dishes and drinks by their full names, in the order printed."""

    dishes: tuple[str, ...]
    drinks: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    """The headings; their words alone name no dish."""

    @classmethod
    def read(cls, text: str) -> Menu:
        """Return the menu printed in a text: numbered lines under headings; drinks under Drinks or Beverages."""
        dishes: list[str] = []
        drinks: list[str] = []
        sections: list[str] = []
        for line in text.splitlines():
            if heading := _SECTION.match(line):
                sections.append(heading.group(1))
            elif entry := _LINE.match(line):
                drinking = bool(sections) and bool(_DRINKS_SECTION.search(sections[-1]))
                (drinks if drinking else dishes).append(entry.group(1).strip())
        return cls(tuple(dishes), tuple(drinks), tuple(sections))

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The dishes as they are recognised."""
        return tuple(Item.of(name) for name in self.dishes)

    @cached_property
    def by_first_word(self) -> dict[str, list[tuple[tuple[str, ...], Item]]]:
        """The names of the dishes by their first word, the longest first."""
        found: dict[str, list[tuple[tuple[str, ...], Item]]] = {}
        for item in self.items:
            for name in item.names:
                found.setdefault(name[0], []).append((name, item))
        for names in found.values():
            names.sort(key=lambda entry: -len(entry[0]))
        return found

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of all words that make a text sound like a dish."""
        of_menu = frozenset[str]().union(*(item.stems for item in self.items))
        dull = {stem(word) for word in (*FILLERS, *STOP_WORDS, *_LOOSE)}
        return (of_menu | {stem(word) for word in _FOODS}) - dull

    @cached_property
    def drink_words(self) -> frozenset[str]:
        """The words any of which makes a text name a drink."""
        named = frozenset(word for name in self.drinks for word in words(name))
        return (named - DRINK_ADJECTIVES - FILLERS - _NO_DRINKS) | BEVERAGES

    @cached_property
    def section_stems(self) -> frozenset[str]:
        """The stems of the headings' words."""
        return frozenset(stem(word) for section in self.sections for word in words(section))

    def named_in_full(self, text: str) -> tuple[str, ...]:
        """Return the dishes that a text names in full, in the order of the menu."""
        whole = f" {' '.join(words(text))} "
        return tuple(name for name in self.dishes if f" {' '.join(words(name))} " in whole)

    def called(self, before: frozenset[str], after: frozenset[str]) -> str | None:
        """Return the dish that words may mean: those before "with" are of its short name, one of them rare.

        The words after "with" are of its full name. None if no dish fits.
        """
        stems = frozenset(map(stem, before))
        for item in self.items:
            short = frozenset(map(stem, item.names[0]))
            fits = bool(stems) and stems <= short and {stem(word) for word in after} <= item.stems
            if fits and any(self._rare(word) for word in stems - self.section_stems):
                return item.name
        return None

    def _rare(self, word: str) -> bool:
        return sum(word in map(stem, item.names[0]) for item in self.items) <= _RARE


_NO_DRINKS = frozenset("by etc selection assorted fresh daily".split())
_RARE = 3


@dataclass(frozen=True, slots=True)
class Item:
    """One dish."""

    name: str
    names: tuple[tuple[str, ...], ...]
    """The words of its full name up to what comes with it; and those without adjectives like "classic"."""
    stems: frozenset[str]
    """The stems of its full name."""

    @classmethod
    def of(cls, name: str) -> Item:
        """Return the dish of that full name."""
        short = tuple(words(_SHORT_NAME_END.split(name, maxsplit=1)[0])) or tuple(words(name)) or (name,)
        bare = short
        while len(bare) > 1 and bare[0] in _LOOSE:
            bare = bare[1:]
        names = (short,) if bare == short else (short, bare)
        return cls(name, names, frozenset(map(stem, words(name))))
