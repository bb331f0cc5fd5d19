"""Restaurant: the agent plays a guest through five stages; each reply is judged on its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import zip_longest
from typing import ClassVar, Literal

from msgspec import Struct, structs

from pytest_ltm.api.model import (
    STOP_WORDS,
    Check,
    Score,
    Scoring,
    Unscored,
    evidence_snippet,
    plain_words,
    space_delimited,
    word_stem,
)
from pytest_ltm.api.scenarios import PROMPTS, Judge, ask_judge
from pytest_ltm.evaluators._rules import LEXICON, Ruled, answer_at
from pytest_ltm.language.clauses import phrase_positions, split_sentences
from pytest_ltm.language.commitment import Mention, committed_values, is_misspelt


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(word_stem, plain_words(text)))


RE = LEXICON.expressions("restaurant")
_LOOSE = LEXICON.words("restaurant loose")
BEVERAGES = LEXICON.words("restaurant beverages")
DRINK_ADJECTIVES = LEXICON.words("restaurant drink adjectives")
FILLERS = LEXICON.words("restaurant fillers")


class Menu(Struct, frozen=True, dict=True):
    """A restaurant's menu: dishes and drinks by their full names, in printed order."""

    dishes: tuple[str, ...]
    drinks: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    """The headings; their words alone do not name a dish."""
    numbered: tuple[str, ...] = ()
    """All items as printed, numbered from 1; if empty, the dishes, then the drinks."""
    has_numbers: bool = True
    """Whether items can be ordered by number."""

    @classmethod
    def read(cls, text: str) -> Menu:
        """Parse a printed menu: numbered or dashed lines under headings.

        Items under Drinks or Beverages are drinks.
        """
        dishes: list[str] = []
        drinks: list[str] = []
        sections: list[str] = []
        printed: list[str] = []
        has_numbers = False
        for line in text.splitlines():
            if heading := RE.section.match(line):
                sections.append(heading[1])
            elif entry := RE.line.match(line):
                name = entry[2].strip()
                printed.append(name)
                has_numbers |= bool(entry[1])
                is_drink = RE.drinks_section.search("".join(sections[-1:]))
                (drinks if is_drink else dishes).append(name)
        return cls(
            tuple(dishes), tuple(drinks), tuple(sections), tuple(printed), has_numbers
        )

    def by_name(self, text: str) -> str:
        """Replace the numbers by which a text orders with the items' names."""
        if not self.has_numbers:
            return text
        printed = self.numbered or (*self.dishes, *self.drinks)

        def name(match: re.Match[str]) -> str:
            number = int(match[1] or match[2])
            before = match[0].removesuffix(match[2]) if match[2] else ""
            if 1 <= number <= len(printed):
                return before + printed[number - 1]
            return match[0]

        return RE.by_number.sub(name, text)

    @cached_property
    def items(self) -> tuple[Dish, ...]:
        """The dishes in the form in which replies are searched for them."""
        return tuple(map(Dish.parse_dish, self.dishes))

    @cached_property
    def by_first_word(self) -> dict[str, list[tuple[tuple[str, ...], Dish]]]:
        """The names of the dishes by their first word, the longest first."""
        entries_by_word: dict[str, list[tuple[tuple[str, ...], Dish]]] = {}
        for item in self.items:
            for name in item.names:
                entries_by_word.setdefault(name[0], []).append((name, item))
        for entries in entries_by_word.values():
            entries.sort(key=lambda entry: -len(entry[0]))
        return entries_by_word

    def entry_at(
        self, words: Sequence[str], position: int
    ) -> tuple[tuple[str, ...], Dish] | None:
        """Return the longest name of a dish that begins at a word, and the dish."""
        for name, dish in self.by_first_word.get(words[position], ()):
            if tuple(words[position : position + len(name)]) == name:
                return name, dish
        return None

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of all words that suggest a dish."""
        foods = frozenset(map(word_stem, LEXICON.words("restaurant foods")))
        return foods.union(*(item.stems for item in self.items)).difference(
            map(word_stem, (*FILLERS, *STOP_WORDS, *_LOOSE))
        )

    @cached_property
    def drink_words(self) -> frozenset[str]:
        """Words that each suggest a drink."""
        drink_words = frozenset(plain_words(" ".join(self.drinks)))
        return (
            drink_words
            - DRINK_ADJECTIVES
            - FILLERS
            - LEXICON.words("restaurant no drinks")
        ) | BEVERAGES

    def is_served(self, drink: str) -> bool:
        """Return whether a drink may be on the menu: a word of it, other than adjectives like "iced", is in a name."""
        drink_words = set(plain_words(drink)) - DRINK_ADJECTIVES - FILLERS or set(
            plain_words(drink)
        )
        return (
            not self.drinks
            or "water" in drink_words
            or any(drink_words & set(plain_words(name)) for name in self.drinks)
        )

    @cached_property
    def section_stems(self) -> frozenset[str]:
        """The stems of the words in headings."""
        return _stems(" ".join(self.sections))

    def named_in_full(self, text: str) -> tuple[str, ...]:
        """Return the dishes that a text names in full, in the order of the menu."""
        delimited = space_delimited(text)
        return tuple(name for name in self.dishes if space_delimited(name) in delimited)

    def is_printed(self, text: str) -> bool:
        """Return whether a text is an item of the menu or a part of one."""
        delimited = space_delimited(text)
        names = (*self.dishes, *self.drinks)
        return any(delimited in space_delimited(name) for name in names)

    @cached_property
    def long_words(self) -> dict[str, set[str]]:
        """The names' words of five or more letters, in which misspellings are corrected, by first letter."""
        texts: dict[str, set[str]] = {}
        for word in plain_words(" ".join((*self.dishes, *self.drinks))):
            if len(word) >= _SPELLED:
                texts.setdefault(word[0], set()).add(word)
        return texts

    def correct_words(self, text: str) -> str:
        """Return the words of a text with misspelt menu words corrected."""

        def correct(word: str) -> str:
            names = self.long_words.get(word[0], set())
            if (
                word in names
                or word in LEXICON.words("restaurant no slips")
                or word_stem(word) in self.vocabulary
            ):
                return word
            candidates = set()
            for name in names:
                # in a name of five letters only a missing letter is corrected: with a
                # wrong one it is another word
                if is_misspelt(word, name) or (
                    len(name) == _SPELLED and _lacks_letter(word, name)
                ):
                    candidates.add(name)
            return min(candidates, default=word)

        return " ".join(map(correct, plain_words(text)))

    def find_dish(
        self, words_before: frozenset[str], after: frozenset[str]
    ) -> str | None:
        """Return the dish that the words may mean, or None.

        Words before "with" must be of its short name, and one of them must be rare on
        the menu; words after "with" must be of its full name.
        """
        stems = frozenset(map(word_stem, words_before))
        short = [frozenset(map(word_stem, item.names[0])) for item in self.items]
        # a word that many dishes share picks none of them: "salad"
        counts = Counter[str]()
        for name in short:
            counts.update(name)
        rare = any(counts[stem] <= 3 for stem in stems - self.section_stems)
        if not rare or stems <= _PREPARED:
            return None
        stems_after = set(map(word_stem, after))
        for item, name in zip(self.items, short, strict=True):
            if stems <= name and stems_after <= item.stems:
                return item.name
        return None


_SPELLED = 5


def _lacks_letter(word: str, name: str) -> bool:
    """Return whether a word is a name without one of its inner letters."""
    inner = range(1, len(name) - 1)
    return word in [name[:n] + name[n + 1 :] for n in inner]


# A way of preparing a dish does not name one.
_PREPARED = frozenset(map(word_stem, LEXICON.words("restaurant prepared")))


class Dish(Struct, frozen=True):
    """A dish of the menu."""

    name: str
    names: tuple[tuple[str, ...], ...]
    """The words of its full name before its side dishes; also without leading adjectives like "classic"."""
    stems: frozenset[str]
    """The stems of its full name."""

    @classmethod
    def parse_dish(cls, name: str) -> Dish:
        """Create a dish from its full name."""
        short = (
            tuple(plain_words(RE.short_name_end.split(name, maxsplit=1)[0]))
            or tuple(plain_words(name))
            or (name,)
        )
        bare = short
        while len(bare) > 1 and bare[0] in _LOOSE:
            bare = bare[1:]
        names = (short,) if bare == short else (short, bare)
        return cls(name, names, _stems(name))


# --- Reading orders: dishes on the menu, dishes that are not, drinks.

_POLITE = (
    " please",
    " thank you",
    " thanks",
    " plz",
    " pls",
    " if i may",
    " if i might",
)


class Order(Struct, frozen=True):
    """The items that one reply orders."""

    dishes: tuple[str, ...] = ()
    """Full names from the menu."""
    strange: tuple[str, ...] = ()
    """Foods that are not on the menu."""
    drinks: tuple[str, ...] = ()
    """As the guest called them."""
    asked: tuple[str, ...] = ()
    """The dishes ordered explicitly, not only fancied or listed."""
    liked: tuple[str, ...] = ()
    """Items named without a sign that they are not ordered; as an answer to a question they may be an order."""
    likely: tuple[str, ...] = ()
    """The items named last, even in a question."""


def read_order(reply: str, menu: Menu) -> Order:
    """Parse a reply's order, sentence by sentence, in linear time; never raises."""
    dishes: dict[str, None] = {}  # in order, each once
    strange: list[str] = []
    drinks: list[str] = []
    asked_dishes: list[str] = []
    liked: list[str] = []
    mentioned: _Reading | None = None
    # text between asterisks is an action and orders nothing, unless it is a dish or a
    # drink: then it is emphasis
    text = RE.action.sub(
        lambda match: match[0] if menu.is_printed(match[0]) else " ",
        menu.by_name(reply),
    )
    for sentence, cued, asks in _ordering_words(text, menu):
        reading = _Reading(sentence, menu, dishes)
        sentence_text = " ".join(sentence)
        # "I will have that, please": refers to the item named last
        if (
            cued
            and not reading.dishes
            and not reading.drinks
            and {"that", "it", "those", "this"} & set(sentence)
            and mentioned
        ):
            reading.dishes = mentioned.dishes[:1]
            reading.drinks = mentioned.drinks[:1]
            mentioned = None
            reading.strange = _Reading(sentence, menu, reading.dishes).strange
        chosen = RE.chosen.search(sentence_text)
        has_chosen = (
            chosen is not None
            and re.search(r"\bsounds\b", sentence_text[chosen.end() :]) is not None
        )
        is_named = not asks and (
            reading.bare or RE.fancied.search(sentence_text) is not None
        )
        if not (cued or (is_named and (reading.dishes or reading.drinks))):
            mentioned = reading if reading.dishes or reading.drinks else mentioned
            liked += (
                reading.dishes or reading.drinks if not asks and reading.plain else []
            )
            continue
        mentioned = reading
        dishes |= dict.fromkeys(reading.dishes)
        strange += reading.strange
        drinks += reading.drinks if cued or (is_named and not reading.dishes) else []
        asked_dishes += reading.dishes if cued or reading.bare or has_chosen else []
    likely = mentioned.dishes or mentioned.drinks if mentioned else []
    return Order(
        tuple(dishes),
        _without_repeats(strange),
        _without_repeats(drinks),
        _without_repeats(asked_dishes),
        _without_repeats(liked),
        _without_repeats(likely),
    )


def _without_repeats(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _ordering_words(reply: str, menu: Menu) -> Iterator[tuple[list[str], bool, bool]]:
    """Yield each sentence's words that may order, whether they order explicitly, and whether they only ask."""
    for sentence in split_sentences(RE.but.sub("; ", reply)):
        text = menu.correct_words(sentence)
        if missing := RE.gone.search(text):
            cue = RE.cue.search(text, missing.end())
            text = text[cue.start() :] if cue else ""
        if aside := RE.aside.search(text):
            text = text[: aside.start()]
        cue = RE.cue.search(text)
        polite = text.endswith(_POLITE) or RE.please.search(sentence) is not None
        if text and not text.isspace():
            yield (
                text.split(),
                cue is not None or polite,
                bool(aside) or sentence.endswith("?"),
            )


def _is_refused(words_before: Sequence[str]) -> bool:
    return RE.refused.search(" ".join(words_before[-3:])) is not None


class _Reading:
    """The dishes, other foods and drinks in one sentence."""

    def __init__(
        self, sentence: Sequence[str], menu: Menu, before: Collection[str]
    ) -> None:
        self.menu = menu
        self.before = before
        self.dishes: list[str] = []
        self.strange: list[str] = []
        remaining_words = self._mentions(list(sentence))
        self.drinks = self._drinks(remaining_words)
        known_stems: set[str] = set()
        for item in self.menu.items:
            if item.name in self.dishes or item.name in self.before:
                known_stems |= item.stems
        strange: list[str] = []
        foods_named = menu.vocabulary - known_stems
        drinking = menu.drink_words | DRINK_ADJECTIVES
        for run, aside in _food_runs(remaining_words):
            foods: list[str] = []
            for word in run:
                if word_stem(word) in foods_named and word not in drinking:
                    foods.append(word)
            called = [] if aside else self._called(run, foods)
            self.dishes += called
            strange += [] if called else foods
        sided = RE.sides.search(" ".join(remaining_words)) is not None
        if strange and (
            not (known_stems or self.dishes) or sided or len(set(strange)) >= 2
        ):
            self.strange.append(" ".join(strange))
        called_stems: set[str] = set()
        for item in menu.items:
            if item.name in self.dishes:
                called_stems |= item.stems
        # words that add nothing to an order
        small = FILLERS | DRINK_ADJECTIVES | LEXICON.words("restaurant small")
        small = small.union(["|"], " ".join(self.drinks).split())
        other_words = (word for word in remaining_words if word not in small)
        self.bare = called_stems.issuperset(map(word_stem, other_words))
        self.plain = not RE.no_order.search(" ".join(remaining_words))
        # a guest who wavers between two dishes has ordered neither
        if "or" in sentence and (
            "either" in sentence or (len(self.dishes) > 1 and "and" not in sentence)
        ):
            self.dishes = []

    def _mentions(self, sentence: list[str]) -> list[str]:
        """Collect the dishes named; return the words with each dish replaced by "|"."""
        other_words: list[str] = []
        position = 0
        while position < len(sentence):
            entry = self.menu.entry_at(sentence, position)
            if entry is None:
                other_words.append(sentence[position])
                position += 1
                continue
            name, item = entry
            position += len(name)
            form = "".join(sentence[position : position + 1])
            last = "".join(other_words[-1:])
            # "… soup", or a dish after another food, is not the dish on the menu
            if (
                form in LEXICON.words("restaurant forms")
                and word_stem(form) not in item.stems | self.menu.section_stems
            ):
                dish = f"{item.name} {form}"
                noted = self.strange
            elif (
                word_stem(last) in self.menu.vocabulary - item.stems
                and last not in FILLERS
            ):
                dish = f"{last} {item.name}"
                noted = self.strange
            else:
                dish = item.name
                noted = self.dishes
            if not _is_refused(other_words):
                noted.append(dish)
            # skip the dish's description: words of its full name, and links before such
            # a word
            while position < len(sentence):
                word, *after = sentence[position : position + 4]
                contents = [follower for follower in after if follower not in _LINKS]
                linked = word in _LINKS and not item.stems.isdisjoint(
                    map(word_stem, contents)
                )
                if word_stem(word) not in item.stems and not linked:
                    break
                position += 1
            other_words.append("|")
        return other_words

    def _drinks(self, words: Sequence[str]) -> list[str]:
        drink_words = self.menu.drink_words
        runs: list[list[str]] = [[]]
        refused = False
        for place, spelled in enumerate(words):
            if spelled.endswith("s") and spelled[:-1] in drink_words:
                word = spelled[:-1]
            else:
                word = spelled
            if word not in drink_words | DRINK_ADJECTIVES:
                runs += [[]] if runs[-1] else []
                refused = False
                continue
            refused = refused or (not runs[-1] and _is_refused(words[:place]))
            if not refused:
                runs[-1].append(word)
        return [" ".join(run) for run in runs if not drink_words.isdisjoint(run)]

    def _called(self, run: Sequence[str], foods: Sequence[str]) -> list[str]:
        """Return the dish that a run of words means, else the dish that each word means; [] if neither is found."""
        cut = run.index("with") if "with" in run else len(run)
        words_before = frozenset(word for word in run[:cut] if word in foods)
        dish = self.menu.find_dish(words_before, frozenset(foods) - words_before)
        if dish:
            return [dish]
        dishes = []
        for word in foods:
            dish = self.menu.find_dish(frozenset((word,)), frozenset())
            if dish is None:
                return []
            dishes.append(dish)
        return dishes


def _food_runs(words: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield runs of foods and fillers, and whether each run describes the dish before it."""
    run: list[str] = []
    after_dish = False
    for word in [*words, "|"]:
        if word == "|" or (
            word not in FILLERS and word in LEXICON.words("restaurant breaks")
        ):
            yield run, after_dish and bool(_LINKS & set(run[:2]) - {"and"})
            run = []
            after_dish = word == "|"
        else:
            run.append(word)
    yield run, False


_LINKS = LEXICON.words("restaurant links")

STAGES = (
    "orders a drink, as a guest",
    "orders a dish",
    "orders another dish",
    "notices the mix-up",
    "recalls the drink",
)
RULE = "restaurant/2"


class Stage(Struct, frozen=True):
    """The result of one reply."""

    ok: bool | None
    """None: neither the rule nor the judge could decide."""
    reason: str
    items: tuple[str, ...] = ()
    """The items ordered: dishes by their full names, drinks as the guest called them."""
    sure: bool = True
    """False: the reply may be read differently."""
    said: str = ""
    """The reply itself, kept for a judge."""
    judged: str = ""
    """Name and version of the judge's prompt, if a judge decided."""
    unscored: Unscored | None = None
    """Why the judge gave no verdict."""

    @property
    def ends_visit(self) -> bool:
        """Whether the visit ends here: the stage failed, or the judge gave no verdict."""
        return self.ok is False or self.unscored is not None


def orders_drink(reply: str, menu: Menu) -> Stage:
    """Stage 1: the reply speaks as a guest and orders a drink but no dish."""
    text = " ".join(plain_words(reply))
    if fault := _out_of_role(reply):
        return Stage(False, fault)
    if RE.host.search(text):
        return Stage(False, "does not play a guest: speaks as a host")
    order = read_order(reply, menu)
    if order.asked:
        return Stage(
            False,
            f"orders {order.asked[0]!r} where only a drink was asked for",
            order.asked,
        )
    liked_drinks = tuple(name for name in order.liked if name not in menu.dishes)
    drinks = order.drinks or liked_drinks
    if not drinks:
        return Stage(False, "orders no drink", sure=not text)
    if _is_undecided(reply, menu):
        return Stage(False, "does not decide yet", drinks, sure=False)
    return Stage(True, f"orders {drinks[0]!r}", drinks, sure=False)


def orders_dish(
    reply: str,
    menu: Menu,
    *,
    before: Sequence[str] = (),
    unavailable: Sequence[str] = (),
) -> Stage:
    """Stages 2 and 3: the reply orders a dish from the menu that is neither in `before` nor in `unavailable`.

    Any dish that is not on the menu fails the stage. Repeating an earlier order along
    with a new dish is allowed.
    """
    if fault := _out_of_role(reply):
        return Stage(False, fault)
    order = read_order(reply, menu)
    if order.strange:
        return Stage(
            False, f"{order.strange[0]!r} is not on the menu", order.dishes, sure=False
        )
    excluded = {*before, *unavailable}
    dishes = order.dishes or tuple(name for name in order.liked if name in menu.dishes)
    new = tuple(dish for dish in dishes if dish not in excluded)
    if _is_undecided(reply, menu):
        return Stage(False, "does not decide yet", new, sure=False)
    if dishes:
        reason = f"orders {new[0]!r}" if new else f"orders {dishes[0]!r} again"
        return Stage(bool(new), reason, new or dishes, sure=bool(new))
    allowed = set(menu.dishes) - excluded
    likely = tuple(dish for dish in order.likely if dish in allowed)
    if len(likely) == 1 and RE.perhaps.search(reply):
        return Stage(None, f"may order {likely[0]!r}", likely, sure=False)
    return Stage(False, "orders no dish", sure=not plain_words(reply))


def _is_undecided(reply: str, menu: Menu) -> bool:
    """Return whether a reply puts off its decision and orders nothing otherwise."""
    text, times = RE.undecided.subn("", menu.correct_words(reply))
    return times > 0 and "please" not in text.split() and not RE.cue.search(text)


def notices_mix_up(
    reply: str, *, ordered: Sequence[str] = (), served: str = ""
) -> Stage:
    """Stage 4: the reply rejects the dish as not ordered, or insists on a dish in `ordered` that was not `served`."""
    text = " ".join(plain_words(reply))
    if fault := _out_of_role(reply):
        return Stage(False, fault)
    if match := RE.mistake.search(RE.content.sub(" ", text)):
        return Stage(True, f"says {match[0]!r}")
    reply_stems = _stems(reply)
    brought = _stems(served)
    dish_words = set(plain_words(" ".join(ordered))) - FILLERS
    own_stems = set(map(word_stem, dish_words)) - brought
    if not RE.pleased.search(text):
        if own_stems & reply_stems and (
            RE.insists.search(text) or RE.not_this.search(text)
        ):
            return Stage(True, f"insists on {min(own_stems & reply_stems)!r}")
        if "?" in reply and reply_stems & (
            own_stems | brought.difference(map(word_stem, STOP_WORDS))
        ):
            return Stage(None, "asks about a dish, perhaps in surprise", sure=False)
    return Stage(False, "does not notice the mix-up", sure=not text)


def accepts_dish(reply: str) -> Stage:
    """Stage 4 with the right dish: the reply is not empty and does not complain."""
    stage = notices_mix_up(reply)
    if _out_of_role(reply) or not plain_words(reply) or stage.ok is None:
        return stage
    return Stage(
        not stage.ok,
        "complains of what was ordered" if stage.ok else "accepts the dish",
    )


def minds_extra(reply: str, avoids: str) -> Stage:
    """Stage 4 with a dish that has something the guest must not eat: the reply objects to it, or complains."""
    stage = notices_mix_up(reply)
    if stage.ok or _out_of_role(reply):
        return stage
    text = " ".join(plain_words(reply))
    if RE.must_not.search(text) or (
        word_stem(avoids) in _stems(reply) and not RE.pleased.search(text)
    ):
        return Stage(True, f"minds {avoids!r}")
    return Stage(False, f"does not mind {avoids!r}", sure=stage.sure)


def recalls_drink(
    reply: str, drinks: Sequence[str], served: Sequence[str] = ()
) -> Stage:
    """Stage 5: the reply names an ordered drink, by two thirds of its words, and no other `served` drink."""
    if fault := _out_of_role(reply):
        return Stage(False, fault)
    # Read only the text after the last phrase for drinking, if it names the drink; else
    # the whole reply.
    text = RE.gladly.sub("I would like", reply)
    result = list(RE.drank.finditer(text))
    ending = text[result[-1].end() :] if result else ""
    reply = ending if _stems(" ".join(drinks)) & _stems(ending) else text
    reply_stems = _stems(reply)
    for drink in drinks:
        # words shared by many drinks do not identify one
        vague_words = FILLERS | LEXICON.words("restaurant vague")
        drink_stems = set(map(word_stem, set(plain_words(drink)) - vague_words))
        if drink_stems and len(drink_stems & reply_stems) * 3 >= len(drink_stems) * 2:
            rivals = [rival for rival in served if not drink_stems <= _stems(rival)]
            settled = committed_values(
                reply, partial(_drinks_in, drink_stems=drink_stems, rivals=rivals)
            )
            if settled == {_OWN}:
                return Stage(True, f"recalls {drink!r}")
            return Stage(
                False, f"names {drink!r}, but does not settle on it", sure=False
            )
        own_stems = _stems(drink)
        foreign_stems = (_stems(name) - own_stems for name in served)
        strange = (
            any(rival & reply_stems for rival in foreign_stems)
            or set(map(word_stem, DRINK_ADJECTIVES)) & reply_stems - own_stems
        )
        if drink_stems & reply_stems and not strange:
            # "another lemonade" is enough if only one is served
            alone = (
                sum(drink_stems & reply_stems <= _stems(name) for name in served) == 1
            )
            return Stage(
                True if alone else None, f"recalls a part of {drink!r}", sure=alone
            )
    return Stage(
        False,
        f"does not recall {' or '.join(map(repr, drinks)) or 'a drink'}",
        sure=not reply_stems,
    )


_OWN = "own"


def _drinks_in(
    text: str, drink_stems: set[str], rivals: Sequence[str]
) -> list[Mention]:
    """Return the mentions of the guest's drink, by most of its words in a row, and of rivals by name."""
    mentions: list[Mention] = []
    for rival in rivals:
        for start, end in phrase_positions(text, rival):
            mentions.append(Mention(start, end, rival))
    own_stems = drink_stems - _stems(" ".join(rivals))
    run: list[re.Match[str]] = []
    for word in [*RE.word.finditer(text), None]:
        if word and word_stem(word[0]) in drink_stems:
            run.append(word)
        elif run and (
            word is None
            or word[0] not in ("of", "the", "from", "with", "a", "and", "made")
        ):
            texts = {word_stem(word_match[0]) for word_match in run}
            if len(texts) * 3 >= len(drink_stems) * 2 or texts & own_stems:
                mentions.append(Mention(run[0].start(), run[-1].end(), _OWN))
            run = []
    outside: list[Mention] = []
    for word_match in sorted(
        mentions, key=lambda word_match: (word_match.start, -word_match.end)
    ):
        if not outside or word_match.start >= outside[-1].end:
            outside.append(word_match)
    return outside


def _out_of_role(reply: str) -> str:
    """Return why a reply is not a guest's alone, or ""."""
    text = " ".join(plain_words(reply))
    if RE.machine.search(text):
        return "does not play a guest: speaks of being a machine"
    if RE.serves.search(text):
        return "does not play a guest: speaks as the waiter"
    for match in RE.other_speaker.finditer(reply):
        if reply[: match.start()].strip():
            return "speaks the waiter's part as well"
    return ""


class PlaysGuest(Ruled, Struct, frozen=True):
    """A fifth for each stage passed in a row; the first failure ends the visit.

    A stage that the rules cannot decide is left out: the visit continues, and the other
    stages share its weight. `waiter` are the waiter's messages in order; the
    unavailable dishes are read from the third. A missing answer fails its stage.
    `v3.5`, `paper`: their rules have a model judge the stages, so the current rules
    stand in. A judge, if given, is asked separately about each reply of which the rules
    are not sure, and whether the first reply plays a guest.
    """

    family: ClassVar[str] = "restaurant"
    talk_counts: ClassVar[bool] = True
    menu: Menu
    waiter: tuple[str, ...] = ()
    judge: Judge | None = None
    scoring: Scoring = "current"
    fancies: str = ""
    """An ingredient that the guest's drink must have; "": any drink will do."""
    avoids: str = ""
    """A food that the guest must not eat; "": none."""
    brings: Literal["right", "dish", "extra"] = "dish"
    """The dish served in the fourth stage: the ordered one, another one, or the ordered one with the food to avoid."""

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of the five stages passed."""
        answers = self.read(answers)
        passed: list[Stage] = []
        for n, answer in enumerate(answers[: len(STAGES)]):
            passed.append(self.stage(n, answer, passed))
            if passed[-1].ends_visit:
                break
        return self.verdict(passed, answers)

    def verdict(
        self, stages: Sequence[Stage], answers: Sequence[str]
    ) -> Score | Unscored:
        """Return the share of the stages passed, given the result of each reply up to the first failure."""
        passed = list(stages)
        if passed and passed[-1].ok is None:
            unscored = passed[-1].unscored or Unscored(passed[-1].reason)
            return replace(
                unscored,
                rule=_visit_rule(passed),
                evidence=evidence_snippet(answers[len(passed) - 1]),
            )
        if len(passed) < len(STAGES) and all(stage.ok is not False for stage in passed):
            passed.append(Stage(False, "was not reached"))
        checks: list[Check] = []
        for name, stage in zip_longest(STAGES, passed):
            if stage is None:
                checks.append(Check(name, False))
            elif stage.ok is not None:
                checks.append(Check(name, stage.ok))
        if len(checks) < len(STAGES):
            left_out = f"; {len(STAGES) - len(checks)} left out, as it cannot be told"
        else:
            left_out = ""
        score = Score(
            sum(check.ok for check in checks) / len(checks),
            f"stage {len(passed)}: {passed[-1].reason}{left_out}",
            checks=tuple(checks),
            rule=_visit_rule(passed),
            evidence=evidence_snippet(
                answer_at(answers, min(len(passed), len(answers)) - 1)
            ),
        )
        return score if self.judge else self.standing_in(score)

    def stage(self, n: int, reply: str, passed: Sequence[Stage]) -> Stage:
        """Return the result of a reply in stage `n` (from 0), given the results of the earlier stages."""
        wish = rf"\b{self.avoids}\b" if self.avoids and n in {1, 2} else r"(?!)"
        # naming the food to avoid does not order it: "no figs for me"
        stage = self._by_rule(n, re.sub(wish, " ", reply, flags=re.IGNORECASE), passed)
        if self.judge is not None and (n != 3 or self.brings == "dish"):
            stage = self._judged(
                self.judge, n, structs.replace(stage, said=reply), passed
            )
        if not stage.ok:
            return stage
        fancied_words = set(plain_words(self.fancies))
        reply_words = set(plain_words(reply))
        for item in (stage.items or (reply,)) if n == 0 else ():
            item_words = set(plain_words(item))
            # the ingredient must be in the drink's name, or in the name of the drink on
            # the menu that it means
            wanted_words = fancied_words | item_words
            drinks = map(plain_words, self.menu.drinks)
            is_meant = any(map(wanted_words.issubset, drinks))
            if not (
                fancied_words <= item_words
                or (is_meant and fancied_words <= reply_words)
            ):
                return structs.replace(
                    stage, ok=False, reason=f"orders a drink without {self.fancies}"
                )
        spared = re.search(
            rf"\b(?:without|no|not|hold|minus|skip|leave)\b[^.]*\b{self.avoids}\b",
            reply.lower(),
        )
        avoided_stem = word_stem(self.avoids)
        comes_with_it = any(avoided_stem in _stems(dish) for dish in stage.items)
        if n in {1, 2} and self.avoids and comes_with_it and not spared:
            return structs.replace(
                stage, ok=False, reason=f"orders what comes with {self.avoids}"
            )
        return stage

    def unavailable(self, n: int) -> tuple[str, ...]:
        """Return the dishes that are no longer available in stage `n`."""
        if n == 2 and len(self.waiter) > n:
            return self.menu.named_in_full(self.waiter[2])
        return ()

    def _by_rule(self, n: int, reply: str, passed: Sequence[Stage]) -> Stage:
        match n:
            case 0:
                stage = orders_drink(reply, self.menu)
                if (
                    self.follows_own_rules
                    and stage.ok
                    and not any(map(self.menu.is_served, stage.items))
                ):
                    stage = structs.replace(
                        stage, ok=False, reason=f"{stage.items[0]!r} is not on the menu"
                    )
                return stage
            case 1:
                return orders_dish(reply, self.menu)
            case 2:
                return orders_dish(
                    reply,
                    self.menu,
                    before=passed[1].items,
                    unavailable=self.unavailable(n),
                )
            case 3:
                served = answer_at(self.waiter, n) if len(self.waiter) > n else ""
                if self.brings == "dish":
                    return notices_mix_up(reply, ordered=passed[2].items, served=served)
                return (
                    minds_extra(reply, self.avoids)
                    if self.brings == "extra"
                    else accepts_dish(reply)
                )
        return recalls_drink(reply, passed[0].items, self.menu.drinks)

    def _judged(
        self, judge: Judge, n: int, stage: Stage, passed: Sequence[Stage]
    ) -> Stage:
        if stage.sure:
            return stage
        waiter_text = answer_at(self.waiter, n) or "(not known)"
        match n:
            case 0:
                return _judged_stage(
                    judge,
                    stage,
                    "restaurant-drink",
                    said=waiter_text,
                    drinks=_bullet_list(self.menu.drinks),
                    dishes=_bullet_list(self.menu.dishes),
                )
            case 1 | 2:
                excluded = (*(passed[1].items if n > 1 else ()), *self.unavailable(n))
                choices = [dish for dish in self.menu.dishes if dish not in excluded]
                return _judged_stage(
                    judge, stage, "restaurant-dish", choices, said=waiter_text
                )
            case 3:
                ordered = " and ".join(passed[-1].items)
                return _judged_stage(
                    judge, stage, "restaurant-mix-up", said=waiter_text, ordered=ordered
                )
        return _judged_stage(judge, stage, "restaurant-recall", order=passed[0].said)


def _visit_rule(stages: Sequence[Stage]) -> str:
    return "+judge/".join(
        [RULE, *dict.fromkeys(stage.judged for stage in stages if stage.judged)]
    )


def _bullet_list(names: Sequence[str]) -> str:
    return "\n".join(f"- {name}" for name in names)


def _judged_stage(
    judge: Judge,
    stage: Stage,
    name: str,
    choices: Sequence[str] | None = None,
    **parts: str,
) -> Stage:
    """Return a stage as the judge decides it; given `choices`, the judge names one of those dishes."""
    prompt = graded_prompt = PROMPTS[name]
    if choices is not None:
        numbers = [str(i) for i in range(1, len(choices) + 1)]
        graded_prompt = structs.replace(prompt, grades=(*numbers, prompt.fail))
        lines = [f"{i}. {dish}" for i, dish in enumerate(choices, 1)]
        parts["dishes"] = "\n".join(lines)
    decision = ask_judge(judge, graded_prompt, answer=stage.said, **parts)
    stage = structs.replace(stage, judged=prompt.id)
    if isinstance(decision, Unscored):
        return structs.replace(
            stage, ok=None, reason=decision.reason, unscored=decision
        )
    if choices is None:
        ok = decision.grade == "yes"
        return structs.replace(
            stage, ok=ok, reason=stage.reason if ok and stage.ok else str(decision)
        )
    # if the judge sees no dish, the rules' result stands
    if decision.grade == prompt.fail:
        return structs.replace(stage, reason=str(decision))
    dish = choices[int(decision.grade) - 1]
    return structs.replace(
        stage, ok=True, reason=f"the judge says {dish!r}", items=(dish,)
    )
