"""Restaurant: the agent plays a guest through five stages; each stage is judged from its own reply."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
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
from pytest_ltm.language.commitment import (
    Mention,
    committed_values,
    is_misspelt,
)


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(word_stem, plain_words(text)))


RE = LEXICON.expressions("restaurant")
_LOOSE = LEXICON.words("restaurant loose")
BEVERAGES = LEXICON.words("restaurant beverages")
DRINK_ADJECTIVES = LEXICON.words("restaurant drink adjectives")
FILLERS = LEXICON.words("restaurant fillers")


class Menu(Struct, frozen=True, dict=True):
    """What a restaurant serves: dishes and drinks by their full names, in the order printed."""

    dishes: tuple[str, ...]
    drinks: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    """The headings; their words alone name no dish."""
    numbered: tuple[str, ...] = ()
    """All of them as printed, the first with number 1; (): the dishes, then the drinks."""
    has_numbers: bool = True
    """Whether they can be ordered by number."""

    @classmethod
    def read(cls, text: str) -> Menu:
        """Return the menu printed in a text: numbered lines, or those that begin with a dash, under headings.

        Drinks are those under Drinks or Beverages.
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
        """Return a text with the names of what it orders by number."""
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
        """The dishes as they are recognised."""
        return tuple(Dish.parse_dish(name) for name in self.dishes)

    @cached_property
    def by_first_word(self) -> dict[str, list[tuple[tuple[str, ...], Dish]]]:
        """The names of the dishes by their first word, the longest first."""
        entries: dict[str, list[tuple[tuple[str, ...], Dish]]] = {}
        pairs = [(name, item) for item in self.items for name in item.names]
        for name, item in sorted(pairs, key=lambda entry: -len(entry[0])):
            entries.setdefault(name[0], []).append((name, item))
        return entries

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The stems of all words that make a text sound like a dish."""
        foods = frozenset(map(word_stem, LEXICON.words("restaurant foods")))
        return foods.union(*(item.stems for item in self.items)).difference(
            map(word_stem, (*FILLERS, *STOP_WORDS, *_LOOSE))
        )

    @cached_property
    def drink_words(self) -> frozenset[str]:
        """The words any of which makes a text name a drink."""
        drink_words = frozenset(plain_words(" ".join(self.drinks)))
        return (
            drink_words
            - DRINK_ADJECTIVES
            - FILLERS
            - LEXICON.words("restaurant no drinks")
        ) | BEVERAGES

    def is_served(self, drink: str) -> bool:
        """Return whether a drink may be one of the menu: a word that says more than how it is served is in a name."""
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
        """The stems of the headings' words."""
        return _stems(" ".join(self.sections))

    def named_in_full(self, text: str) -> tuple[str, ...]:
        """Return the dishes that a text names in full, in the order of the menu."""
        return tuple(
            name
            for name in self.dishes
            if space_delimited(name) in space_delimited(text)
        )

    def is_printed(self, text: str) -> bool:
        """Tell whether a text is what is printed on the menu, or a part of it."""
        return any(
            space_delimited(text) in space_delimited(name)
            for name in (*self.dishes, *self.drinks)
        )

    @cached_property
    def long_words(self) -> dict[str, set[str]]:
        """The longer words of all names, whose misspellings are understood, by their first letter."""
        texts: dict[str, set[str]] = {}
        for word in plain_words(" ".join((*self.dishes, *self.drinks))):
            if len(word) >= _SPELLED:
                texts.setdefault(word[0], set()).add(word)
        return texts

    def correct_words(self, text: str) -> str:
        """Return the words of a text, misspelt words of the menu corrected."""

        def correct(word: str) -> str:
            names = self.long_words.get(word[0], set())
            if (
                word in names
                or word in LEXICON.words("restaurant no slips")
                or word_stem(word) in self.vocabulary
            ):
                return word
            within = range(1, _SPELLED - 1)
            # the shortest names that are corrected may lack a letter: with one wrong
            # they are other words
            candidates = {
                name
                for name in names
                if len(name) == _SPELLED
                and word in [name[:n] + name[n + 1 :] for n in within]
            }
            return min(
                candidates.union(name for name in names if is_misspelt(word, name)),
                default=word,
            )

        return " ".join(map(correct, plain_words(text)))

    def find_dish(
        self, words_before: frozenset[str], after: frozenset[str]
    ) -> str | None:
        """Return the dish that words may mean: those before "with" are of its short name, one of them rare.

        The words after "with" are of its full name. None if no dish fits.
        """
        stems = frozenset(map(word_stem, words_before))
        short = [frozenset(map(word_stem, item.names[0])) for item in self.items]
        # a word of many dishes picks none of them: "salad"
        rare = any(
            sum(word in name for name in short) <= 3
            for word in stems - self.section_stems
        )
        if not rare or stems <= _PREPARED:
            return None
        fitting = (
            item for item, name in zip(self.items, short, strict=True) if stems <= name
        )
        return next(
            (
                item.name
                for item in fitting
                if item.stems.issuperset(map(word_stem, after))
            ),
            None,
        )


_SPELLED = 5
# How a dish is prepared names none.
_PREPARED = frozenset(map(word_stem, LEXICON.words("restaurant prepared")))


class Dish(Struct, frozen=True):
    """One dish."""

    name: str
    names: tuple[tuple[str, ...], ...]
    """The words of its full name up to what comes with it; and those without adjectives like "classic"."""
    stems: frozenset[str]
    """The stems of its full name."""

    @classmethod
    def parse_dish(cls, name: str) -> Dish:
        """Return the dish of that full name."""
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


# --- What a guest's reply orders: dishes of the menu, dishes that are not on it,
# drinks.

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
    """What one reply orders."""

    dishes: tuple[str, ...] = ()
    """Full names from the menu."""
    strange: tuple[str, ...] = ()
    """What sounds like a dish and is not on the menu."""
    drinks: tuple[str, ...] = ()
    """As the guest called them."""
    asked: tuple[str, ...] = ()
    """The dishes asked for in so many words, not only fancied or listed."""
    liked: tuple[str, ...] = ()
    """What is named with nothing that says it is not ordered: a guest who was asked may mean it so."""
    likely: tuple[str, ...] = ()
    """What was named last, if only in a question."""


def read_order(reply: str, menu: Menu) -> Order:
    """Return what a reply orders, sentence by sentence, in linear time; never raises."""
    dishes: dict[str, None] = {}  # in order, each once
    strange: list[str] = []
    drinks: list[str] = []
    asked_dishes: list[str] = []
    liked: list[str] = []
    mentioned: _Reading | None = None
    # what a reply does between asterisks orders nothing; a dish or a drink between them
    # is emphasis
    text = RE.action.sub(
        lambda match: match[0] if menu.is_printed(match[0]) else " ",
        menu.by_name(reply),
    )
    for sentence, cued, asks in _ordering_words(text, menu):
        reading = _Reading(sentence, menu, dishes)
        sentence_text = " ".join(sentence)
        # "I will have that, please": what was named last
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
        *(
            tuple(dict.fromkeys(names))
            for names in (dishes, strange, drinks, asked_dishes, liked, likely)
        )
    )


def _ordering_words(reply: str, menu: Menu) -> Iterator[tuple[list[str], bool, bool]]:
    """Yield the words of each sentence as far as it may order something, whether it says so, whether it only asks."""
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
    """One sentence: dishes by name, what else sounds like food, drinks."""

    def __init__(
        self, sentence: Sequence[str], menu: Menu, before: Collection[str]
    ) -> None:
        self.menu = menu
        self.before = before
        self.dishes: list[str] = []
        self.strange: list[str] = []
        remaining_words = self._mentions(list(sentence))
        self.drinks = self._drinks(remaining_words)
        ordered = [
            item
            for item in self.menu.items
            if item.name in self.dishes or item.name in self.before
        ]
        known_stems = frozenset[str]().union(*(item.stems for item in ordered))
        strange: list[str] = []
        foods_named = menu.vocabulary - known_stems
        drinking = menu.drink_words | DRINK_ADJECTIVES
        for run, aside in _food_runs(remaining_words):
            foods = [
                word
                for word in run
                if word_stem(word) in foods_named and word not in drinking
            ]
            called = [] if aside else self._called(run, foods)
            self.dishes += called
            strange += [] if called else foods
        sided = RE.sides.search(" ".join(remaining_words)) is not None
        if strange and (
            not (known_stems or self.dishes) or sided or len(set(strange)) >= 2
        ):
            self.strange.append(" ".join(strange))
        drinks = {"|", *(word for drink in self.drinks for word in drink.split())}
        called_stems = frozenset[str]().union(
            *(item.stems for item in menu.items if item.name in self.dishes)
        )
        # words that say nothing beside an order
        small = FILLERS | DRINK_ADJECTIVES | LEXICON.words("restaurant small") | drinks
        self.bare = all(
            word in small or word_stem(word) in called_stems for word in remaining_words
        )
        self.plain = not RE.no_order.search(" ".join(remaining_words))
        # a guest who wavers between two has ordered neither
        if "or" in sentence and (
            "either" in sentence or (len(self.dishes) > 1 and "and" not in sentence)
        ):
            self.dishes = []

    def _mentions(self, sentence: list[str]) -> list[str]:
        """Note the dishes named and return the other words, each dish replaced by "|"."""
        other_words: list[str] = []
        position = 0
        while position < len(sentence):
            entries = self.menu.by_first_word.get(sentence[position], ())
            name, item = next(
                (
                    entry
                    for entry in entries
                    if tuple(sentence[position : position + len(entry[0])]) == entry[0]
                ),
                ((), None),
            )
            if item is None:
                other_words.append(sentence[position])
                position += 1
                continue
            position += len(name)
            form = "".join(sentence[position : position + 1])
            last = "".join(other_words[-1:])
            # a soup of that name, or a dish with another food before it, is not the one
            # on the menu
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
            # what describes it belongs to it: words of its full name, and links before
            # such a word
            while position < len(sentence):
                word, *after = sentence[position : position + 4]
                linked = word in _LINKS and any(
                    word_stem(n) in item.stems and n not in _LINKS for n in after
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
        return [
            " ".join(run) for run in runs if any(word in drink_words for word in run)
        ]

    def _called(self, run: Sequence[str], foods: Sequence[str]) -> list[str]:
        """Return the dish that a run of words means, or the dishes that its words mean one by one; [] if neither."""
        cut = run.index("with") if "with" in run else len(run)
        words_before = frozenset(word for word in run[:cut] if word in foods)
        dish = self.menu.find_dish(words_before, frozenset(foods) - words_before)
        if dish:
            return [dish]
        single = [
            self.menu.find_dish(frozenset((word,)), frozenset()) for word in foods
        ]
        if all(single):
            return [name for name in single if name]
        return []


def _food_runs(words: Sequence[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield runs of words with nothing but fillers between foods, and whether one describes the dish before it."""
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
    """What one reply achieved."""

    ok: bool | None
    """None: the rule, or the judge, cannot tell."""
    reason: str
    items: tuple[str, ...] = ()
    """What was ordered: dishes by their full names, drinks as the guest called them."""
    sure: bool = True
    """False: another reader may see something else in the reply."""
    said: str = ""
    """The reply itself, kept where a judge may be asked about it later."""
    judged: str = ""
    """Name and version of the prompt by which a judge decided."""
    unscored: Unscored | None = None
    """Why a judge did not judge it."""

    @property
    def ends_visit(self) -> bool:
        """Whether the visit ends here: it failed, or a judge who was asked did not say."""
        return self.ok is False or self.unscored is not None


def orders_drink(reply: str, menu: Menu) -> Stage:
    """Stage 1: the reply is a guest's, orders a drink and no dish."""
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
    drinks = order.drinks or tuple(
        name for name in order.liked if name not in menu.dishes
    )
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
    """Stages 2 and 3: the reply orders a dish of the menu, not one of `before` or `unavailable`, and nothing else.

    What is ordered again beside a new dish does not count against it.
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
    likely = tuple(
        dish for dish in order.likely if dish in menu.dishes and dish not in excluded
    )
    if len(likely) == 1 and RE.perhaps.search(reply):
        return Stage(None, f"may order {likely[0]!r}", likely, sure=False)
    return Stage(False, "orders no dish", sure=not plain_words(reply))


def _is_undecided(reply: str, menu: Menu) -> bool:
    """Tell whether a reply puts off its decision: nothing else in it orders anything."""
    text, times = RE.undecided.subn("", menu.correct_words(reply))
    return times > 0 and "please" not in text.split() and not RE.cue.search(text)


def notices_mix_up(
    reply: str, *, ordered: Sequence[str] = (), served: str = ""
) -> Stage:
    """Stage 4: the reply says that this is not what was ordered, or insists on what was `ordered` and not `served`."""
    text = " ".join(plain_words(reply))
    if fault := _out_of_role(reply):
        return Stage(False, fault)
    if match := RE.mistake.search(RE.content.sub(" ", text)):
        return Stage(True, f"says {match[0]!r}")
    reply_stems = _stems(reply)
    brought = _stems(served)
    own_stems = {
        word_stem(word)
        for dish in ordered
        for word in plain_words(dish)
        if word not in FILLERS
    } - brought
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
    """Stage 4, where all is right: the reply says something, and no complaint."""
    stage = notices_mix_up(reply)
    if _out_of_role(reply) or not plain_words(reply) or stage.ok is None:
        return stage
    return Stage(
        not stage.ok,
        "complains of what was ordered" if stage.ok else "accepts the dish",
    )


def minds_extra(reply: str, avoids: str) -> Stage:
    """Stage 4, where the dish has something on it that the guest must not eat: the reply says so, or complains."""
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
    """Stage 5: the reply settles on a drink ordered before, by two thirds of its words, and on no other `served`."""
    if fault := _out_of_role(reply):
        return Stage(False, fault)
    # What a reply says that was drunk in the end, where it says so of a drink; else all
    # of it.
    text = RE.gladly.sub("I would like", reply)
    result = list(RE.drank.finditer(text))
    ending = text[result[-1].end() :] if result else ""
    reply = ending if _stems(" ".join(drinks)) & _stems(ending) else text
    reply_stems = _stems(reply)
    for drink in drinks:
        # words that many drinks have name none of them
        drink_stems = {
            word_stem(word)
            for word in plain_words(drink)
            if word not in FILLERS | LEXICON.words("restaurant vague")
        }
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
            # "another lemonade", where only one is served
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
    """Return where a levelled text names the guest's own drink, by most of its words in a row, and others by name."""
    mentions = [
        Mention(*spot, rival)
        for rival in rivals
        for spot in phrase_positions(text, rival)
    ]
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
    """Return why a reply is not that of a guest alone, "" if it may be."""
    text = " ".join(plain_words(reply))
    if RE.machine.search(text):
        return "does not play a guest: speaks of being a machine"
    if RE.serves.search(text):
        return "does not play a guest: speaks as the waiter"
    speaks = (
        reply[: match.start()].strip() for match in RE.other_speaker.finditer(reply)
    )
    return "speaks the waiter's part as well" if any(speaks) else ""


class PlaysGuest(Ruled, Struct, frozen=True):
    """A fifth for each stage passed in a row; the first failure ends it.

    A stage of which the rules cannot tell is left out, and the visit goes on: what
    remains is shared by the others. `waiter` are the waiter's messages in order: what
    was unavailable is read from the third. A missing answer fails its stage. `v3.5`,
    `paper`: a model judges those stages, so the current rules stand in. A judge, if
    there is one, is asked about each reply that the rules are not sure of, by itself;
    and whether the first reply plays a guest.
    """

    family: ClassVar[str] = "restaurant"
    menu: Menu
    waiter: tuple[str, ...] = ()
    judge: Judge | None = None
    scoring: Scoring = "current"
    fancies: str = ""
    """What must be in the guest's drink; "": anything may."""
    avoids: str = ""
    """What the guest must not eat; "": nothing."""
    brings: Literal["right", "dish", "extra"] = "dish"
    """What is served in the fourth stage: what was ordered, another dish, or with it what the guest must not eat."""

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
        """Return the share of the stages passed, given what each reply up to the first failure achieved."""
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
        decided = [
            n
            for n in range(len(STAGES))
            if n >= len(passed) or passed[n].ok is not None
        ]
        checks = tuple(
            Check(STAGES[n], n < len(passed) and bool(passed[n].ok)) for n in decided
        )
        if len(decided) < len(STAGES):
            left_out = f"; {len(STAGES) - len(decided)} left out, as it cannot be told"
        else:
            left_out = ""
        score = Score(
            sum(check.ok for check in checks) / len(decided),
            f"stage {len(passed)}: {passed[-1].reason}{left_out}",
            checks=checks,
            rule=_visit_rule(passed),
            evidence=evidence_snippet(
                answer_at(answers, min(len(passed), len(answers)) - 1)
            ),
        )
        return score if self.judge else self.standing_in(score)

    def stage(self, n: int, reply: str, passed: Sequence[Stage]) -> Stage:
        """Return what a reply achieves in stage `n` (from 0), given the stages passed before it."""
        wish = rf"\b{self.avoids}\b" if self.avoids and n in {1, 2} else r"(?!)"
        # what the guest must not eat is not ordered: "no figs for me"
        stage = self._by_rule(n, re.sub(wish, " ", reply, flags=re.IGNORECASE), passed)
        if self.judge is not None and (n != 3 or self.brings == "dish"):
            stage = self._judged(
                self.judge, n, structs.replace(stage, said=reply), passed
            )
        if not stage.ok:
            return stage
        fancied_words = set(plain_words(self.fancies))
        reply_words = set(plain_words(reply))
        for item_words in (
            (set(plain_words(item)) for item in stage.items or (reply,))
            if n == 0
            else ()
        ):
            # what the guest fancies is in the drink's name, or in that of the drink on
            # the menu that it means
            is_meant = any(
                fancied_words | item_words <= set(plain_words(name))
                for name in self.menu.drinks
            )
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
        comes_with_it = self.avoids and any(
            word_stem(self.avoids) in _stems(dish) for dish in stage.items
        )
        if n in {1, 2} and comes_with_it and not spared:
            return structs.replace(
                stage, ok=False, reason=f"orders what comes with {self.avoids}"
            )
        return stage

    def unavailable(self, n: int) -> tuple[str, ...]:
        """Return the dishes that can be ordered no more in stage `n`."""
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
                menus = (self.menu.drinks, self.menu.dishes)
                drinks, dishes = (
                    "\n".join(f"- {name}" for name in names) for names in menus
                )
                return _judged_stage(
                    judge,
                    stage,
                    "restaurant-drink",
                    said=waiter_text,
                    drinks=drinks,
                    dishes=dishes,
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


def _judged_stage(
    judge: Judge,
    stage: Stage,
    name: str,
    choices: Sequence[str] | None = None,
    **parts: str,
) -> Stage:
    """Return a stage as a judge decides it, who names one of the dishes to choose from, if there are any."""
    prompt = graded_prompt = PROMPTS[name]
    if choices is not None:
        numbers = [str(i) for i in range(1, len(choices) + 1)]
        graded_prompt = structs.replace(prompt, grades=(*numbers, prompt.fail))
        parts["dishes"] = "\n".join(
            f"{i}. {dish}" for i, dish in zip(numbers, choices, strict=True)
        )
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
    # a judge who sees no dish leaves open what the rules left open
    if decision.grade == prompt.fail:
        return structs.replace(stage, reason=str(decision))
    dish = choices[int(decision.grade) - 1]
    return structs.replace(
        stage, ok=True, reason=f"the judge says {dish!r}", items=(dish,)
    )
