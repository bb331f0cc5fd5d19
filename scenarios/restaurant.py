"""Restaurant: the agent plays a guest for a whole evening, and the waiter may make mistakes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_ltm import Ask, Definition, Ltm, Say, Step, Wait
from pytest_ltm.evaluators import Menu, PlaysGuest, Stage
from pytest_ltm.locales import CODES, ENGLISH, Language, Spoken, parse_languages, worded

from ._parameters import last_wait, whole

DISHES: Mapping[str, tuple[str, ...]] = {
    "Starters": (
        "Leek soup with croutons",
        "Smoked trout with horseradish",
        "Stuffed mushrooms with walnuts",
        "Marinated beetroot with goat cheese",
        "Pumpkin fritters with yoghurt",
        "Baked aubergine with sesame",
        "Herring salad with capers",
        "Onion tart with thyme",
        "Lentil dip with flatbread",
    ),
    "Main courses": (
        "Roast duck with dumplings",
        "Braised lamb with apricots",
        "Fried plaice with parsley potatoes",
        "Venison stew with cranberries",
        "Spinach lasagne with ricotta",
        "Chickpea curry with rice",
        "Veal meatballs with paprika sauce",
        "Cauliflower gratin with almonds",
        "Rabbit pie with mustard",
        "Squid risotto with fennel",
        "Buckwheat pancakes with sauerkraut",
    ),
    "Sweet things": (
        "Plum crumble with custard",
        "Poppy seed cake with vanilla sugar",
        "Cherry strudel with cinnamon",
        "Hazelnut parfait with honey",
        "Quince jelly with biscuits",
        "Gooseberry trifle with meringue",
    ),
}
DRINKS = (
    "Mineral water",
    "Elderflower lemonade",
    "Pear juice",
    "Peppermint tea",
    "Ginger ale",
    "Rhubarb spritzer",
    "Currant cordial",
    "Barley coffee",
    "Grape juice",
    "Malt beer",
)
SERVED = {
    "Starters": ("starters", 4),
    "Main courses": ("main_courses", 6),
    "Sweet things": ("sweet_things", 3),
}
"""By section: the parameter that says how many of its dishes are on one menu, and its default."""
HEADS = (
    "Leek soup",
    "Smoked trout",
    "Marinated beetroot",
    "Pumpkin fritters",
    "Baked aubergine",
    "Herring salad",
    "Lentil dip",
    "Celery terrine",
    "Fennel slaw",
    "Asparagus rolls",
    "Artichoke hearts",
    "Parsnip mash",
    "Roast duck",
    "Braised lamb",
    "Fried plaice",
    "Venison stew",
    "Spinach lasagne",
    "Chickpea curry",
    "Veal meatballs",
    "Cauliflower gratin",
    "Rabbit pie",
    "Squid risotto",
    "Buckwheat pancakes",
    "Turkey escalope",
    "Pheasant breast",
    "Halibut steak",
    "Mussel broth",
    "Barley pilaf",
    "Gnocchi bake",
    "Polenta wedges",
    "Goose leg",
    "Carp fillet",
    "Quail ragout",
    "Semolina dumplings",
    "Kidney beans",
    "Tofu skewers",
    "Plum crumble",
    "Poppy seed cake",
    "Apricot strudel",
    "Hazelnut parfait",
    "Quince jelly",
    "Gooseberry trifle",
    "Rice pudding",
    "Nougat mousse",
    "Walnut tart",
    "Cheese platter",
    "Yoghurt sorbet",
    "Waffle tower",
)
"""Dishes by their short names: so many that a guess is rarely on the menu."""
BESIDE = (
    "raisins",
    "almonds",
    "sesame",
    "chestnuts",
    "coconut",
    "figs",
    "pistachios",
    "capers",
)
"""What comes with a dish: some guest must not eat it."""
FLAVOURS = (
    "pear",
    "elderflower",
    "rhubarb",
    "currant",
    "grape",
    "peppermint",
    "nettle",
    "melon",
    "hibiscus",
    "cranberry",
    "lingonberry",
    "sloe",
)
KINDS = ("juice", "lemonade", "tea", "spritzer", "cordial", "smoothie", "cider", "soda")
_AT_ONCE = 4
"""Things that come with the dishes of one menu."""
LEAST = 3
"""Dishes that a menu has at least: one that is sold out, one that is ordered instead, one that is brought."""

ROLES = (
    (
        "[let us play a scene in a restaurant|how about a little role play|imagine a restaurant|a small game]: I "
        "am the waiter and you are a guest who is [hungry and thirsty|very hungry|here for the first time]. "
        "Messages that begin with Waiter: are said to the guest; please answer them [just as|as] a guest would, in "
        "a sentence or two, and order from the menu only. [All right?|Ready?|Agreed?|Shall we?]"
    ),
)
WISHES = (
    (
        "[One thing about you|For your part|About this guest|And note]: you [will drink|drink|order] only what has "
        "{fancies} in it, and you [must not eat|cannot eat|never eat] {avoids}, [so keep that in mind.|all evening "
        "long.|whatever the waiter says.|remember that.|as a matter of health.]"
    ),
)
WELCOME = (
    (
        "[good evening|welcome|how nice to see you|do come in][.|, your table is by the window.|, and mind the "
        "step.] [Here is our menu|This is our menu|And this is our menu].\n\n{menu}\n\n[Please choose in peace; I will "
        "come back for your order.|Take your time; I will be back.] [For now, what|But first, what|Meanwhile, "
        "what] would you like to drink?"
    ),
)
EAT = (
    (
        "[your drink, please|here is your drink|here we are, one drink|cheers][.|, just as you ordered it.|, with "
        "a smile.] [And what|Now then, what|So, what|Now, what] would you like to eat?"
    ),
    "[your drink|the drink], at last. [Have you decided|Do you know by now|May I ask] what you would like to eat?",
    (
        "[sorry for the wait|it is a busy night], here is your drink. [Have you decided|Do you know|May I ask] "
        "what you would like to eat?"
    ),
)
TAKEN = (
    (
        "{dish}, [a good choice|gladly|very well|my own favourite|of course][.|, thank you.|. It will take a "
        "little while.]"
    ),
    (
        "[very good|of course|certainly|all right], {dish} [it is|it shall be|for you][.|, thank you.|. Bear with "
        "us.|. I am off.]"
    ),
)
SOLD_OUT = (
    (
        "[I am terribly sorry|I have bad news|do forgive me|this is embarrassing]: [the kitchen tells me|it turns "
        "out|I hear] that this dish has just sold out: {dish}. [What may I bring you instead?|What would you like "
        "in its place?]"
    ),
    (
        "[alas|oh dear|bad luck|I am afraid], {dish} [is|is now] sold out[.|, to the next table.|, since a minute "
        "ago.] [What may I bring you instead?|What would you like in its place?]"
    ),
)
INSTEAD = (
    (
        "[very well|of course|all right|gladly], {dish} [then|it shall be|it is][.|. Thank you for your "
        "patience.|, and thank you.|. It will not be long.|, on the double.]"
    ),
)
WRONG = (
    (
        "[there you are|here you are|dinner is served|here comes dinner|your dinner][, with best wishes from the "
        "kitchen|, at last|]: {dish}. [Enjoy your meal!|Enjoy!|Careful, the plate is hot.|I hope that you are "
        "hungry.]"
    ),
)
SORRY = (
    (
        "[oh|oh no|good heavens|oh dear], [forgive me|I am so sorry|how could I]! [I shall put that right at "
        "once.|That goes straight back.|One moment, please.|I will see to it.|Give me a minute.]"
    ),
)
ANOTHER = (
    (
        "[at last|and here is|as you wished|now the right one]: {dish}. [To make up for it|With our apologies|For "
        "your trouble], the house [offers|would like to bring] you another [glass of what you had to drink|drink, "
        "the same as before|glass of what you ordered to drink]. What was it?"
    ),
)
CONTENT = (
    (
        "[I hope that all is well|I trust it was good|how did it taste|all to your liking]. [With our compliments|For "
        "such a pleasant guest|Since it is our anniversary], the house [offers|would like to bring] you another "
        "[glass of what you had to drink|drink, the same as before|glass of what you ordered to drink]. What was it?"
    ),
)
WORDINGS: Mapping[str, Sequence[str]] = {
    "welcome": WELCOME,
    "eat": EAT,
    "taken": TAKEN,
    "sold_out": SOLD_OUT,
    "instead": INSTEAD,
    "wrong": WRONG,
    "sorry": SORRY,
    "another": ANOTHER,
    "content": CONTENT,
}
"""What the waiter says."""
FINISHED = "{dish}, finished with {on_top} as the chef always does"
BRINGS = ("right", "right", "dish", "extra")
"""What the waiter brings: what was ordered, in half of all evenings; another dish; what the guest must not eat."""
PUBLISHED = frozenset({"menu", "drinks", *(name for name, _ in SERVED.values())})
"""Parameters of the published course: a numbered menu, no wishes, and always a dish that was not ordered."""
WAITS = (0.2, 0.4, 0.6, 0.8, 0.9)
"""The share of the span after which each stage begins, as published."""


def restaurant(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return the beginning of the evening: the roles with two wishes, a wait until 20 % of the span, the menu.

    The menu has `dishes` (default 12) and drinks of `flavours` (6), two of each. With
    one of PUBLISHED it is the published course instead: `starters` (default 4),
    `main_courses` (6), `sweet_things` (3) and `drinks` (5), or `menu`: dishes by
    section, the drinks under Drinks or Beverages. The rest depends on what the guest
    says; `last_wait` is that before the waiter's last question.
    """
    told = {} if parameters.keys() & PUBLISHED else _wishes(rng, parameters)
    spoken = parse_languages(parameters)
    role, _, welcome = _beginning(rng, spoken, told or parameters, told)
    last = last_wait(rng, parameters)
    return Definition(
        steps=(role, Wait(span=_waits(last)[0]), welcome),
        parameters={
            **parameters,
            **{name: told[name] for name in told if name != "menu"},
            "last_wait": last,
        },
    )


def say_item(language: Language, item: str) -> str:
    """Return what a dish or a drink of ours is called; any other as it is."""
    head, _, topping = item.partition(" with ")
    if head in HEADS and topping in BESIDE:
        return language.phrase(
            "restaurant.dish",
            "{head} with {topping}",
            head=language.word(head),
            topping=language.word(topping),
        )
    flavour, _, kind = item.lower().rpartition(" ")
    if flavour in FLAVOURS and kind in KINDS:
        name = language.phrase(
            "restaurant.drink",
            "{flavour} {kind}",
            flavour=language.word(flavour),
            kind=language.word(kind),
        )
        return name[0].upper() + name[1:]
    return item


def _wishes(rng: random.Random, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a menu, what the guest fancies and must not eat, and what the waiter will bring."""
    heads = rng.sample(
        HEADS, whole(parameters, "dishes", 12, least=LEAST, most=len(HEADS))
    )
    flavours = rng.sample(
        FLAVOURS, whole(parameters, "flavours", 6, most=len(FLAVOURS))
    )
    beside = rng.sample(BESIDE, _AT_ONCE)
    dishes = [f"{head} with {beside[n % _AT_ONCE]}" for n, head in enumerate(heads)]
    drinks = []
    for flavour in flavours:
        for kind in rng.sample(KINDS, 2):
            drinks.append(f"{flavour.capitalize()} {kind}")
    rng.shuffle(dishes)
    rng.shuffle(drinks)
    avoids, extra = rng.sample(beside, 2)
    return {
        "menu": {"Dishes": dishes, "Drinks": drinks},
        "fancies": rng.choice(flavours),
        "avoids": avoids,
        "brings": rng.choice(BRINGS),
        "extra": extra,
    }


def _waits(last: float) -> list[float]:
    """Return the waits with this one as the last."""
    return [share * (last / WAITS[-1]) for share in WAITS]


def _beginning(
    rng: random.Random,
    spoken: Spoken,
    parameters: Mapping[str, Any],
    wishes: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[Say, Wait, Ask]:
    menu = parameters.get("menu") or _menu(rng, parameters, spoken.asked)
    printed = _print_menu(spoken.asked, menu, numbered=not wishes)
    telling = spoken.told
    roles = [worded(rng, telling.find_text("restaurant.roles", ROLES))]
    welcome = _waiter(rng, spoken.asked, "welcome", menu=printed)
    if telling is not ENGLISH:
        roles.append(worded(rng, telling.find_text("restaurant.orders", ())))
    if wishes:
        wordings = telling.find_text("restaurant.wishes", WISHES)
        fancies, avoids = (telling.word(wishes[what]) for what in ("fancies", "avoids"))
        roles.append(worded(rng, wordings, fancies=fancies, avoids=avoids))
    role = " ".join(roles)
    tells = {what: wishes[what] for what in wishes if what in ("fancies", "avoids")}
    return Say(role, tells=tells), Wait(span=WAITS[0]), Ask(welcome, about=(role,))


def _print_menu(
    language: Language, menu: Mapping[str, Sequence[str]], *, numbered: bool
) -> str:
    """Return the lines of a menu."""
    said = {
        "Dishes": language.find_text("restaurant.dishes", "Dishes"),
        "Drinks": language.find_text("restaurant.drinks", "Drinks"),
        **dict(
            zip(
                SERVED,
                language.find_text("restaurant.sections", tuple(SERVED)),
                strict=True,
            )
        ),
    }
    numbers = count(1)
    lines: list[str] = []
    for section, items in menu.items():
        lines.append(f"\n{said.get(section, section)}:")
        for item in items:
            mark = f"{next(numbers)}." if numbered else "-"
            lines.append(f"{mark} {say_item(language, item)}")
    return "\n".join(lines).strip()


def _waiter(rng: random.Random, language: Language, part: str, **slots: str) -> str:
    """Return what the waiter says; in another language the wordings say who speaks."""
    text = worded(
        rng, language.find_text(f"restaurant.{part}", WORDINGS[part]), **slots
    )
    return f"Waiter: {text}" if language is ENGLISH else text


def _menu(
    rng: random.Random, parameters: Mapping[str, Any], language: Language
) -> dict[str, list[str]]:
    """Return the published menu; in another language one of the same form."""
    menu = {}
    for section, dishes in DISHES.items():
        count = whole(parameters, *SERVED[section], most=len(dishes))
        menu[section] = rng.sample(dishes, count)
    drinks = rng.sample(DRINKS, whole(parameters, "drinks", 5, most=len(DRINKS)))
    if language is not ENGLISH:
        heads = iter(rng.sample(HEADS, len(HEADS)))
        flavours = iter(rng.sample(FLAVOURS, len(FLAVOURS)))
        for section, served in menu.items():
            menu[section] = [f"{next(heads)} with {rng.choice(BESIDE)}" for _ in served]
        drinks = [f"{next(flavours).capitalize()} {rng.choice(KINDS)}" for _ in drinks]
    return {**menu, "Drinks": drinks}


@pytest.mark.ltm(
    generate=restaurant,
    skills="C,I",
    floor=0.05,  # a drink from a menu just read suits the guest in one of six evenings
    version="3",
    reset="The scene in the restaurant is over. You are no guest any more; please forget all about it.",
    languages=CODES,
)
def test_restaurant(ltm: Ltm) -> None:
    """Orders, orders anew, complains only with a reason and recalls the drink; ends where it first fails."""
    # A published definition has no steps, only the menu.
    parameters = ltm.definition.parameters
    spoken = parse_languages(parameters)
    visit = Visit(
        ltm, spoken, ltm.definition.steps or _beginning(ltm.random, spoken, parameters)
    )
    for message in _evening(ltm, visit):
        visit.hear(message)
        if visit.stages[-1].ends_visit:
            break
    ltm.score(visit.guest.verdict(visit.stages, visit.replies))


_TOLD = ("fancies", "avoids", "brings")
"""Parameters that decide what a right reply is; a definition without them is of the published course."""


class Visit:
    """What the guest has heard, replied and thereby achieved so far."""

    def __init__(self, ltm: Ltm, spoken: Spoken, beginning: Sequence[Step]) -> None:
        *self.before, welcome = beginning
        self.ltm = ltm
        self.spoken = spoken
        self.heard: list[str] = []
        """What the waiter said; the guest's rule has it in English."""
        self.welcome = welcome.text if isinstance(welcome, Ask) else ""
        """The message with the menu."""
        self.roles = tuple(step.text for step in self.before if isinstance(step, Say))
        wishes = {}
        for name in _TOLD:
            if name in ltm.definition.parameters:
                wishes[name] = ltm.definition.parameters[name]
        self.guest = PlaysGuest(
            Menu.read(spoken.asked.meaning(self.welcome)),
            judge=ltm.judge,
            scoring=ltm.scoring,
            **wishes,
        )
        if len(self.guest.menu.dishes) < LEAST or not self.guest.menu.drinks:
            raise ValueError(
                f"the last step before the guest's first reply is to hold a menu of {LEAST} or more dishes, and drinks "
                f"under Drinks or Beverages; got {self.welcome!r}"
            )
        self.replies: list[str] = []
        self.stages: list[Stage] = []

    def hear(self, message: str) -> None:
        """Say something to the guest and judge the reply by itself, with the judge if there is one."""
        heard = self.heard
        wishes = self.roles if self.guest.avoids else ()
        menu = (self.welcome,)
        about = (
            self.roles,
            (*wishes, *menu),
            (*wishes, *menu),
            (*wishes, *heard[2:3]),
            menu,
        )[len(heard)]
        asked = self.spoken.asked
        meaning = asked.own_meaning(message) or asked.meaning(message)
        self.replies.append(
            self.ltm.ask(message, about=about, answer=self._guest(meaning))
        )
        reply = self.spoken.meaning(self.replies[-1])
        self.guest = replace(self.guest, waiter=(*self.guest.waiter, meaning))
        self.stages.append(self.guest.stage(len(heard), reply, self.stages))
        heard.append(message)

    def _guest(self, message: str) -> str:
        """Return what a perfect guest says: it orders what stands first on the menu and suits it, and insists on it."""
        menu, avoids = self.guest.menu, self.guest.avoids
        drinks = [drink for drink in menu.drinks if self.guest.fancies in drink.lower()]
        drink = min(drinks, key=lambda name: ("(" in name, len(name))).lower()
        match len(self.stages):
            case 0:
                return f"I would like the {drink}, please."
            case 1 | 2:
                suits = (
                    dish
                    for dish in menu.dishes
                    if dish not in message and not (avoids and avoids in dish)
                )
                return f"I will have the {next(suits)}, please."
            case 3 if self.guest.brings == "right":
                return "Thank you very much."
            case 3 if self.guest.brings == "extra":
                return f"Excuse me, I cannot eat {avoids}."
            case 3:
                return f"Excuse me, this is not what I ordered. I ordered the {' and '.join(self.ordered)}."
            case _:
                return f"I had the {drink}, thank you."

    def served(self, right: Sequence[str], wrong: Sequence[str]) -> str:
        """Return what is brought: the dishes ordered or others, and something on top."""
        guest = self.guest
        asked = self.spoken.asked
        if not guest.avoids:
            return self.say(asked, wrong)
        on_top = (
            guest.avoids
            if guest.brings == "extra"
            else self.ltm.definition.parameters["extra"]
        )
        return asked.phrase(
            "restaurant.finished",
            FINISHED,
            dish=self.say(asked, wrong if guest.brings == "dish" else right),
            on_top=asked.word(on_top),
        )

    def say(self, language: Language, dishes: Sequence[str]) -> str:
        """Return the names of dishes."""
        together = language.find_text("restaurant.together", " and ")
        return together.join(say_item(language, dish) for dish in dishes)

    @property
    def ordered(self) -> tuple[str, ...]:
        """The dishes of the last order."""
        return self.stages[-1].items


def _evening(ltm: Ltm, visit: Visit) -> Iterator[str]:
    """Yield what the waiter asks, as long as each reply is what a guest would say."""
    rng, waits = (
        ltm.random,
        _waits(ltm.definition.parameters.get("last_wait", WAITS[-1])),
    )
    telling, asking = visit.spoken
    ltm.play(visit.before)
    yield visit.welcome
    ltm.wait(span=waits[1])
    yield _waiter(rng, asking, "eat")
    *kept, gone = visit.ordered
    ltm.say(_waiter(rng, telling, "taken", dish=visit.say(telling, visit.ordered)))
    ltm.wait(span=waits[2])
    yield _waiter(rng, asking, "sold_out", dish=visit.say(asking, [gone]))
    right = visit.ordered
    ltm.say(_waiter(rng, telling, "instead", dish=visit.say(telling, right)))
    ltm.wait(span=waits[3])
    named = (*kept, gone, *right)
    strange = [dish for dish in visit.guest.menu.dishes if dish not in named] or [gone]
    if avoids := visit.guest.avoids:
        strange = [dish for dish in strange if avoids not in dish] or strange
        if any(avoids in dish for dish in right):
            # ordered without it, which would have to be brought as well
            visit.guest = replace(visit.guest, brings="dish")
    yield _waiter(
        rng,
        asking,
        "wrong",
        dish=visit.served(right, [*kept, rng.choice(strange)]),
    )
    if visit.guest.brings != "right":
        ltm.say(_waiter(rng, telling, "sorry"))
    ltm.wait(span=waits[4])
    yield _waiter(
        rng,
        asking,
        "content" if visit.guest.brings == "right" else "another",
        dish=visit.say(asking, right),
    )
