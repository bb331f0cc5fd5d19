"""How To Think: the user's own rules for choosing are told; later the agent applies them to cases."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import AppliesRule
from pytest_ltm.locales import capital, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole

Thing = Mapping[str, int]
"""The values of one thing on offer, by measure."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Something by which things differ."""

    low: str
    high: str
    over: str
    shown: str
    least: int
    most: int


MEASURES: Mapping[str, Measure] = {
    "price": Measure(
        "cheapest", "dearest", "costs more than {n} crowns", "{n} crowns", 11, 95
    ),
    "age": Measure(
        "newest", "oldest", "is more than {n} years old", "{n} years old", 2, 60
    ),
    "weight": Measure(
        "lightest", "heaviest", "weighs more than {n} pounds", "{n} pounds", 3, 80
    ),
    "distance": Measure(
        "nearest", "farthest", "is more than {n} miles away", "{n} miles away", 2, 70
    ),
}
NAMES = (
    "Lantern",
    "Harbour",
    "Two-Coin",
    "Grandmother",
    "Snail",
    "Weathercock",
    "Walnut",
    "Thursday",
    "Chimney",
    "Goose",
    "Bookend",
    "Ladder",
    "Umbrella",
    "Teapot",
    "Signpost",
    "Anchor",
    "Button",
    "Moth",
)
OPTIONS = 5
THINGS = (
    "carpet",
    "telescope",
    "mirror",
    "saddle",
    "bathtub",
    "snow globe",
    "rocking horse",
    "birdcage",
    "globe",
)
"""What a case is about whose rule has a name."""
GOODS: Mapping[str, Sequence[str]] = {
    "furniture": ("wardrobe", "garden bench", "bookcase", "bunk bed", "footstool"),
    "musical instruments": ("cello", "piano", "church organ", "trombone", "drum kit"),
    "anything with wheels": ("bicycle", "pony cart", "pram", "tractor", "skateboard"),
    "boats": ("canoe", "dinghy", "barge", "raft", "houseboat"),
    "kitchen things": ("kettle", "stove", "frying pan", "coffee grinder", "toaster"),
    "camping gear": ("tent", "sleeping bag", "hammock", "rucksack", "lantern"),
}
"""What a case is about whose rule is for a kind of things: it names one of them, and not the rule."""
LIMIT, TIE, SECOND, UNLESS, MIDDLE = "limit", "tie", "second", "unless", "middle"
WORDINGS: Mapping[str, str] = {
    LIMIT: "I [leave out|ignore|forget about] whatever {over}[, and of|; of] the rest I [take|pick] the {best}.",
    TIE: "I [take|pick|go for] the {best}. If [several|some] are equal in that, I [take|pick] the {other} of these.",
    SECOND: "I [take|pick|go for] the second {best}, never the {best} of all[.|; call it superstition.]",
    UNLESS: "I [take|pick|go for] the {best}, unless it {over}; [in that case|then] I [take|pick] the {other} of all.",
    MIDDLE: "I [line them up|sort them] from the {low} to the {high} and [take|pick|go for] the one in the middle.",
}
INTRODUCTIONS = (
    (
        "[this is|here is|let me teach you] [how I choose, my|how I decide: my|my own] {name} rule[.|, in short.|, if "
        "I may.]"
    ),
    "[I swear by|I live by|I never break] the {name} rule[.|, as I call it.|, silly name or not.]",
    "[my grandmother|an old friend|my first boss] taught me the {name} rule[.|, and I stick to it.|, bless her heart.]",
    (
        "[please remember|you should know|it's time you knew] the {name} rule[, which I made up.|, my own.|, which is "
        "mine.]"
    ),
)
FOR_GOODS = (
    (
        "[with|when I buy|when it comes to] {goods}[, this is what I do.|, I have a rule.|, I'm peculiar.|, I'm like "
        "this.]"
    ),
    "[a word about|something about|you know me and] {goods}[.|, by the way.|. I never change.|. Don't laugh.]",
    (
        "[as for|about] {goods}[, everybody should know.|, mark my words.|, this has served me well.|, I don't think "
        "twice.]"
    ),
    "[we were talking about|a friend asked about|I'm often asked about] {goods}[. My answer:|. As I always say:]",
    "[buying|choosing|picking] {goods} [is easy.|is a matter of principle.|takes me no time.|is simple.]",
)
"""How a rule begins that has no name, but is for a kind of things."""
CASES = (
    (
        "[I want|I need|I'm looking for] a {thing}[. By|, and by] the {name} rule, [which of these|which one] [do I "
        "take|is mine]?"
    ),
    "[please apply|use|go by] the {name} rule for me: [which|and which] {thing} [do I take|is it to be|should I get]?",
)
CASES_OF_GOODS = (
    "[I want|I need|I'm looking for] a {thing}[. Which|, so which] of these [do I take|is mine|would I take]?",
    "[you know how I am|you know me|think as I do]: [which|and which] {thing} [do I take|is it to be|should I get]?",
)
ONLY = (
    "[Just the town, please.|Only name the town.|The name of the town will do."
    "|Reply with the name of the town only.]"
)
SHOWN = (
    "{town}: {values}",
    "- {town}: {values}",
    "{town} ({values})",
    "in {town}, {values}",
)
"""How a thing is offered."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to choose; `best` and `other` are a measure with True for its low end."""

    kind: str
    best: tuple[str, bool]
    other: tuple[str, bool]
    limit: tuple[str, int]

    def words(self, rng: random.Random) -> str:
        """Return the rule as the user tells it."""
        measure, bound = self.limit
        return worded(
            rng,
            (WORDINGS[self.kind],),
            best=_superlative(self.best),
            other=_superlative(self.other),
            over=MEASURES[measure].over.format(n=bound),
            low=MEASURES[self.best[0]].low,
            high=MEASURES[self.best[0]].high,
        )

    def choice(self, things: Sequence[Thing]) -> int | None:
        """Return the place of the thing that the rule takes; None if it takes none or cannot decide."""
        everything = range(len(things))
        measure, bound = self.limit
        order = sorted(everything, key=lambda place: _rank(self.best, things[place]))
        if self.kind == LIMIT:
            return _first(
                [place for place in everything if things[place][measure] <= bound],
                self.best,
                things,
            )
        if self.kind == TIE:
            name = self.best[0]
            value = things[order[0]][name]
            top = [place for place in everything if things[place][name] == value]
            return _first(top, self.other, things)
        if self.kind == UNLESS:
            return (
                order[0]
                if things[order[0]][measure] <= bound
                else _first(everything, self.other, things)
            )
        return order[1 if self.kind == SECOND else len(things) // 2]


def _rank(by: tuple[str, bool], thing: Thing) -> int:
    measure, low = by
    return thing[measure] if low else -thing[measure]


def _first(
    places: Sequence[int], by: tuple[str, bool], things: Sequence[Thing]
) -> int | None:
    return min(places, key=lambda place: _rank(by, things[place]), default=None)


@dataclass(frozen=True, slots=True)
class Maxim:
    """A principle, and dilemmas that it decides: what the choice is, what is right, what is wrong."""

    words: str
    dilemmas: Sequence[tuple[str, str, str]]


MAXIMS = (
    Maxim(
        "if in doubt, take whatever can be undone",
        (
            ("There is a flat that I may rent or buy.", "renting", "buying"),
            ("I want to write my name into a book that I was lent.", "pencil", "ink"),
            ("The shelf has to be fixed to the wall.", "screws", "glue"),
            ("My niece would like a dragon on her arm.", "henna", "tattoo"),
            ("My hair is in the way when I work.", "pinning", "cutting"),
        ),
    ),
    Maxim(
        "never be in anybody's debt",
        (
            (
                "I need a drill for an afternoon, and my neighbour has one.",
                "buying",
                "borrowing",
            ),
            (
                "The barman says that I may pay today or at the end of the month.",
                "today",
                "month",
            ),
            ("A friend would like to treat me to dinner.", "splitting", "accepting"),
            (
                "The roof is leaking. I have savings, and the bank is friendly.",
                "savings",
                "loan",
            ),
            (
                "It rains, and somebody whom I hardly know offers me a lift.",
                "walking",
                "riding",
            ),
        ),
    ),
    Maxim(
        "own nothing that you cannot carry up the stairs by yourself",
        (
            ("I would like to make music at home.", "ukulele", "piano"),
            ("I need something to sit on for the balcony.", "stool", "sofa"),
            ("I want to look things up in the evening.", "paperback", "encyclopaedia"),
            ("I am going to spend the summer at the lake.", "tent", "caravan"),
            ("All my letters need a place.", "shoebox", "bureau"),
        ),
    ),
    Maxim(
        "it is better to wait for others than to be waited for",
        (
            (
                "We meet at nine, and the ride takes an hour. There is a bus at seven and one at eight.",
                "seven",
                "eight",
            ),
            (
                "The guests come at six. I can put the roast in at three or at five; it takes two hours.",
                "three",
                "five",
            ),
            (
                "My train is at noon, the station ten minutes away. When do I set out?",
                "eleven",
                "twelve",
            ),
            (
                "The report is due on Friday. I could hand it in a day before or on the day.",
                "Thursday",
                "Friday",
            ),
            (
                "She wants to be fetched at ten. One tram is there at a quarter to, one at ten sharp.",
                "quarter",
                "sharp",
            ),
        ),
    ),
    Maxim(
        "trust what has been used for long over what is new",
        (
            ("The doctor offers me two remedies.", "camomile", "prototype"),
            ("For the crossing there are two boats.", "steamer", "hydrofoil"),
            ("I may write down the family recipes in two ways.", "paper", "app"),
            ("There are two roads over the mountain.", "mule track", "test tunnel"),
            ("For the roof I have two offers.", "slate", "nanofoil"),
        ),
    ),
)
PRINCIPLES = (
    (
        "[Here's|This is] [how I think|what I live by|what my father taught me|my motto][: | in a sentence: |, take it "
        "or leave it: ]{maxim}."
    ),
    "[When I cannot decide|When I'm torn|In a quandary|Before I choose], I [tell myself|say to myself|think]: {maxim}.",
    (
        "[I have one principle|My only rule in life is this|One thing I believe], [and you may laugh: |and I stick to "
        "it: |and it serves me well: ]{maxim}."
    ),
    (
        "[In my family we say|At home we used to say|My aunt has it stitched on a cushion|It hangs over my desk]: "
        "{maxim}. [I agree.|So do I.|How true.|I could not agree more.]"
    ),
)
DILEMMAS = (
    (
        "{case} {One} or {other}: [what would I do|what do I take|which is it|what is right for me|what would be like "
        "me]? [One word, please.|One word will do.|Just the word.]"
    ),
    (
        "{case} [Think as I do|You know how I think|You know me|Put yourself in my shoes]: {one} or {other}? [One word "
        "is enough.|Just say which.|No reasons, please.]"
    ),
    (
        "{case} [Decide for me|Tell me what I'd do|Help me choose|What now|Your turn], {one} or {other}? [Only say "
        "which.|One of the two words will do.|Just one of the two.]"
    ),
    (
        "{case} [So, |Well, |Now, ]{one} or {other}, [going by what I believe|if I am true to myself|by my own "
        "lights]? [One of the two, please.|A word will do.]"
    ),
)
RULES, MAXIM = "rules", "maxim"


def _dilemmas(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return a maxim and, over the span, dilemmas that it decides and that do not name it."""
    maxim = rng.choice(MAXIMS)
    say = Say(worded(rng, PRINCIPLES, maxim=maxim.words))
    questions, expected, offered = [], [], []
    for case, right, wrong in rng.sample(
        maxim.dilemmas, whole(parameters, "cases", 5, 1, len(maxim.dilemmas))
    ):
        one, other = rng.sample((right, wrong), 2)
        questions.append(
            Ask(
                worded(
                    rng, DILEMMAS, case=case, one=one, One=capital(one), other=other
                ),
                about=(say.text,),
            )
        )
        expected.append(right)
        offered.append([right, wrong])
    return Definition(
        steps=spread([say, *questions], last_wait(rng, parameters)),
        expected=expected,
        parameters={**parameters, "offered": offered},
    )


def how_to_think(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `rules` (default 2) and `cases` (default 4) with `options` (default 5) things each.

    All messages over the span; the cases take the rules in turn. Half of the rules have
    a name, which their cases use; the others are for a kind of things. The towns of the
    right things are expected. `principle` is `rules` (default) for that, or `maxim` for
    one maxim and five cases (at most) of two things each, which do not name it.
    """
    principle = parameters.get("principle", RULES)
    if principle == MAXIM:
        return _dilemmas(rng, parameters)
    if principle != RULES:
        raise ValueError(f"principle is {RULES!r} or {MAXIM!r}, not {principle!r}")
    count, cases = (
        whole(parameters, "rules", 2, 1, len(NAMES)),
        whole(parameters, "cases", 4, 1, 50),
    )
    options = whole(parameters, "options", OPTIONS, 3, 15)
    rules = [_rule(rng, kind) for kind in _kinds(rng, count, options)]
    names, goods = rng.sample(NAMES, count), rng.sample(list(GOODS), len(GOODS))
    kinds = []
    for _ in rules:
        kinds.append(goods.pop() if goods and rng.random() < 1 / 2 else None)
    says = []
    for name, kind, rule in zip(names, kinds, rules, strict=True):
        wordings = FOR_GOODS if kind else INTRODUCTIONS
        introduction = worded(rng, wordings, name=name, goods=kind)
        says.append(Say(f"{introduction} {rule.words(rng)}"))
    questions, expected, offered = [], [], []
    for number in range(cases):
        at = number % count
        towns = _towns(rng, options)
        things, right = _case(rng, rules[at], options)
        kind = kinds[at]
        thing = rng.choice(GOODS[kind] if kind else THINGS)
        question = worded(
            rng, CASES_OF_GOODS if kind else CASES, thing=thing, name=names[at]
        )
        form, order = rng.choice(SHOWN), rng.sample(list(MEASURES), len(MEASURES))
        lines = []
        for town, option in zip(towns, things, strict=True):
            values = _shown(option, order)
            lines.append(capital(form.format(town=town, values=values)))
        questions.append(
            Ask(
                "\n".join([f"{question} {worded(rng, (ONLY,))}", *lines]),
                about=(says[at].text,),
            )
        )
        expected.append(towns[right])
        offered.append(towns)
    return Definition(
        steps=spread([*says, *questions], last_wait(rng, parameters)),
        expected=expected,
        parameters={**parameters, "offered": offered},
    )


def _kinds(rng: random.Random, count: int, options: int) -> list[str]:
    """Return kinds of rules, different ones as long as there are any; an even number of things has no middle."""
    fitting = [kind for kind in WORDINGS if kind != MIDDLE or options % 2]
    kinds: list[str] = []
    while len(kinds) < count:
        kinds += rng.sample(fitting, len(fitting))
    return kinds[:count]


def _rule(rng: random.Random, kind: str) -> Rule:
    best, other, third = rng.sample(list(MEASURES), 3)
    limited = MEASURES[third]
    bound = rng.randint(
        limited.least + (limited.most - limited.least) // 3, limited.most * 2 // 3
    )
    return Rule(
        kind,
        (best, rng.choice((True, False))),
        (other, rng.choice((True, False))),
        (third, bound),
    )


def _case(rng: random.Random, rule: Rule, options: int) -> tuple[list[Thing], int]:
    """Return things and which of them the rule takes: never the one that its first words alone would take.

    No two things are equal in any measure, but for a rule about equals.
    """
    while True:
        columns = {}
        for name, measure in MEASURES.items():
            values = range(measure.least, measure.most + 1)
            columns[name] = rng.sample(values, options)
        things = []
        for place in range(options):
            things.append({name: column[place] for name, column in columns.items()})
        by = rule.best
        first = min(range(options), key=lambda place: _rank(by, things[place]))
        if rule.kind == TIE:
            for place in rng.sample(range(options), 2):
                things[place][by[0]] = things[first][by[0]]
        right = rule.choice(things)
        if right is not None and (
            right != first or (rule.kind == UNLESS and rng.randrange(5) == 0)
        ):
            return list(things), right


def _towns(rng: random.Random, number: int) -> list[str]:
    inventions = Inventions(rng)
    return [inventions.name() for _ in range(number)]


def _shown(thing: Thing, order: Sequence[str]) -> str:
    return ", ".join(MEASURES[name].shown.format(n=thing[name]) for name in order)


def _superlative(end: tuple[str, bool]) -> str:
    measure, low = end
    return MEASURES[measure].low if low else MEASURES[measure].high


@pytest.mark.ltm(
    generate=how_to_think,
    skills="R,I",
    floor=1 / OPTIONS,
    version="2",
    reset="You can forget my rules for choosing between things.",
)
def test_how_to_think(ltm: Ltm) -> None:
    """Applies the user's own rules for choosing to cases that come much later."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    offered = tuple(map(tuple, ltm.definition.parameters.get("offered", ())))
    ltm.score(
        AppliesRule(tuple(ltm.definition.expected), offered, scoring=ltm.scoring)(
            answers
        )
    )
