"""Shopping List: things are put on a list, taken off again, and corrected; the list as it is now is asked for."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import ListsItems
from pytest_ltm.locales import CODES, Language, either, parse_languages, worded

from ._parameters import last_wait, whole

ITEMS = (
    "aubergine",
    "bin bag",
    "bread roll",
    "candle",
    "clothes peg",
    "coat hook",
    "coconut",
    "corkscrew",
    "cucumber",
    "doormat",
    "envelope",
    "flowerpot",
    "lampshade",
    "light bulb",
    "napkin",
    "notebook",
    "parsnip",
    "pillowcase",
    "pineapple",
    "rubber band",
    "scouring pad",
    "shoelace",
    "shower cap",
    "tea towel",
    "toothpick",
    "turnip",
    "watering can",
    "yoghurt",
)
"""Each makes its plural with an s, and shares no word with another."""
COUNTED = {
    "count": {"one": "{n} {item}", "several": "{n} {item}s"},
    "more": {"one": "{n} more {item}", "several": "{n} more {item}s"},
}
"""How one thing, and how several are counted."""
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
FEW, MANY = 5, len(NUMBERS)
"""The most that one message puts on the list, and the most of one thing on it."""

PUT = (
    "[please |]put {count} on [my|the] shopping list[ for me|].",
    "add {count} to [my|the] shopping list[, please|, would you|, and thanks|].",
    "[my|the] shopping list [needs|should have|is missing] {count}[, by the way|].",
    "{count} for [my|the] shopping list[, please|. Thanks|].",
    "something for [my|the] shopping list: {count}[, please|, if they have any|].",
)
PUT_UNNAMED = (
    "[I need|we need|I must get|I could do with] {count}[, by the way| from the shop|].",
    "[I want to|remind me to|I have to|I should] [buy|get|pick up] {count}[ this week|].",
    "we're [out of|low on] {items}, so [get|buy|let's get] {n}[, please|].",
    "[oh, and|also,|and] {count}[, please|, nearly forgot|].",
    "[don't let me forget|we mustn't forget] {count}[ either|].",
    "I used up the last of the {items}, so [I need|get|we need] {n}[, please|].",
)
MORE = (
    "[please |]add {more} to [my|the] shopping list[, would you|].",
    "[please |]put {more} on [my|the] shopping list[, I miscounted|].",
    "to the {items} on [my|the] shopping list[ please|] add {more}.",
    "[my|the] shopping list needs {more}[, it turns out| after all|].",
    "I need {more} than I said[: add that to my shopping list|, so change my shopping list].",
)
MORE_UNNAMED = (
    "[I'll need|we'll need|get me|I could use] {more}[, actually| after all|].",
    "{more}[, please|, to be safe| would be good|].",
    "[on second thoughts|come to think of it|hang on], {more}[, please|].",
    "guests are coming, so [get|buy|add] {more}[, please|].",
    "[add|get|buy] {more}[ as well| while I'm at it|].",
    "that won't do, [I need|add|get] {more}.",
)
MORE_OF_IT = (
    "and another {n}[, please|, to be safe|, while I'm at it|].",
    "[add|get|buy] {n} more of [them|those][, please|, would you|].",
    "[actually|hmm|sorry], {n} more of [them|those|these][, please|].",
    "another {n} of [them|those|these][, please|, to be safe|, I think].",
    "[make that|let's have|I'd like] {n} more[, please|, to be safe|, actually|, just in case|].",
)
"""These, and the others that end so, speak of the thing that was named last."""
LESS = (
    "[please |]take {count} off [my|the] shopping list[ again|].",
    "I need fewer {items}: [remove|take|strike] {count} from [my|the] shopping list.",
    "remove {count} from [my|the] shopping list[, please|, and leave the others on it|].",
    "{count} should come off [my|the] shopping list[ again|].",
    "[my|the] shopping list has {count} too many[, I'm afraid| now|].",
)
LESS_UNNAMED = (
    "remove {count}[, please|, I miscounted|].",
    "[drop|scratch|cut|strike] {count}[, please| again|].",
    "[take|knock] {count} off[, please| again|].",
    "I [found|still had] {count} in the cupboard, so I need [fewer|that many fewer].",
    "{count} [fewer|less] [would do|is enough|after all].",
    "I asked for {count} too many[, sorry|, it seems|].",
)
LESS_OF_IT = (
    "[make that|let's have|we need] {n} fewer[, please|, actually|, sorry|, on reflection|].",
    "[take|strike|knock] {n} of [them|those|these] off[, please| again|].",
    "[remove|drop|cut|scratch] {n} of [them|those][, please| again|].",
    "that's {n} too many[, sorry|, I think|].",
    "[actually|hmm|sorry], {n} fewer of [them|those|these][, please|].",
)
NONE_LEFT = (
    "I do not need any {items}[ at all| after all|]. Take them off [my|the] shopping list.",
    "somebody [gave|brought] me enough {items}; please strike all of them from [my|the] shopping list.",
    "[strike|take|cross] all the {items} off [my|the] shopping list[, please|, I have some|].",
    "no {items} on [my|the] shopping list[ after all|, please|].",
    "[my|the] shopping list will do without {items}[ this time| after all|].",
)
NONE_LEFT_UNNAMED = (
    "[forget|skip|scrap|drop] the {items}[, we have plenty|, please| after all].",
    "no {items} [after all|this time], [thanks|please|I've decided].",
    "I don't need any {items} [after all|any more|at all][, it turns out|].",
    "[my neighbour|my mother|somebody] brought me plenty of {items}, so [drop them|leave them out|I'll skip them].",
    "there were enough {items} [at home|in the shed|in the cellar], so [drop them|leave them out].",
    "leave out the {items}[, please|, I've borrowed some|, they cost too much].",
)
CORRECTED = (
    "[my|the] shopping list is wrong about the {items}: make it {count} altogether.",
    "[please |]correct the {items} on [my|the] shopping list. I want {count} altogether.",
    "make it {count} [altogether|in total|in all] on [my|the] shopping list[, please|].",
    "[my|the] shopping list should have {count} [altogether|in total|in all].",
    "[please |]change the {items} on [my|the] shopping list: {count} [altogether|in total].",
)
CORRECTED_UNNAMED = (
    "[make it|let's say|I want] {count} [altogether|in total|in all][, please|].",
    "it should be {count} [altogether|in total|in all][, sorry|].",
    "{count} [altogether|in total|in all][, please| will do|].",
    "I got the {items} wrong[:|, I need] {count} [altogether|in total|in all].",
)
CORRECTED_OF_IT = (
    "[make that|let's say|actually, make it] {n} [altogether|in total|in all][, please|, sorry|].",
    "[no|wait|sorry], {n} [altogether|in total|in all][, please|, I think|].",
    "{n} of [them|those] [altogether|in total|in all][, please| will do|].",
)
WORDINGS: Mapping[str, tuple[Sequence[str], Sequence[str], Sequence[str]]] = {
    "put": (PUT, PUT_UNNAMED, ()),
    "more": (MORE, MORE_UNNAMED, MORE_OF_IT),
    "less": (LESS, LESS_UNNAMED, LESS_OF_IT),
    "none": (NONE_LEFT, NONE_LEFT_UNNAMED, ()),
    "corrected": (CORRECTED, CORRECTED_UNNAMED, CORRECTED_OF_IT),
}
"""Of each kind of change: those that speak of the list, those that do not, and those that do not name the thing."""
QUESTIONS = (
    "[So, what|What] is on my shopping list [now|at the moment|by now]? {form}",
    "[please |]tell me my shopping list [as it stands|as it is now]. {form}",
    "[So, what|What] do I have to [buy|get] [now|in all|at the shop]? {form}",
    "[I'm off to|I'm standing in|I'm at] the shop. [What do I need|What am I getting|What was it all]? {form}",
)
FORMS = (
    "[Answer with|Give me|I need] a JSON list of objects that have an `item` and a `quantity`.",
    "A JSON list, please[:|, of] objects with `item` and `quantity`.",
)


def shopping_list(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `item_changes` (default 6) changes of the list over the span, and the question.

    The list as the changes leave it is expected: `[[item, quantity], ...]` in the order
    in which the items came on it, never empty.
    """
    number = whole(parameters, "item_changes", 6)
    telling, asking = parse_languages(parameters)
    shopping: dict[str, int] = {}
    changes: list[Say] = []
    last = ""
    for _ in range(number):
        said, last = _change(rng, shopping, last, telling)
        changes.append(said)
    form = worded(rng, asking.find_text("shopping_list.forms", FORMS))
    asked = worded(
        rng, asking.find_text("shopping_list.questions", QUESTIONS), form=form
    )
    question = Ask(asked, about=tuple(change.text for change in changes))
    expected = []
    for item, quantity in shopping.items():
        expected.append([str(asking.word(item)), quantity])
    return Definition(
        steps=spread([*changes, question], last_wait(rng, parameters)),
        expected=expected,
        parameters=parameters,
    )


def _change(
    rng: random.Random, shopping: dict[str, int], last: str, language: Language
) -> tuple[Say, str]:
    """Change the list in one of the ways that it allows; return the message that says so, and the thing.

    The first change speaks of the list. Of the others half do not, and some of what was
    named `last` do not name it.
    """
    kind, item, quantity = rng.choice(list(_possible(rng, shopping, last)))
    before = shopping.get(item, 0)
    named, unnamed, of_it = (
        language.find_text(f"shopping_list.{kind}{which}", wordings) if wordings else ()
        for which, wordings in zip(
            ("", "_unnamed", "_of_it"), WORDINGS[kind], strict=True
        )
    )
    after = {
        "put": quantity,
        "more": before + quantity,
        "less": before - quantity,
        "none": 0,
        "corrected": quantity,
    }[kind]
    first = not shopping
    shopping[item] = after
    if not after:
        del shopping[item]
    wordings = (
        named
        if first
        else either(
            rng,
            named,
            either(rng, unnamed, of_it) if of_it and item == last else unnamed,
        )
    )
    n, word = language.word(NUMBERS[quantity - 1]), language.word(item)
    which = "one" if quantity == 1 else "several"
    slots = {}
    for slot in ("count", "more"):
        english = COUNTED[slot][which]
        name = f"shopping_list.{slot}_{which}"
        slots[slot] = language.phrase(name, english, n=n, item=word)
    items = language.phrase("shopping_list.items", "{item}s", item=word)
    text = worded(rng, wordings, item=word, items=items, n=n, **slots)
    return Say(
        text,
        tells={slots["count"]: items if items in text else str(word)}
        if kind == "put"
        else {},
    ), item


def _possible(
    rng: random.Random, shopping: dict[str, int], last: str
) -> Iterator[tuple[str, str, int]]:
    """Yield one change of each kind that makes sense now; new items most often, and a list that is never emptied.

    What changes again is as often as not what was named `last`.
    """
    for item in rng.sample(
        [item for item in ITEMS if item not in shopping],
        k=min(2, len(ITEMS) - len(shopping)),
    ):
        yield "put", item, rng.randint(1, FEW)
    if len(shopping) < 2:
        return
    item = _again(rng, list(shopping), last)
    if shopping[item] < MANY:
        yield "more", item, rng.randint(1, min(FEW, MANY - shopping[item]))
    plenty = [item for item, quantity in shopping.items() if quantity > 1]
    if plenty:
        item = _again(rng, plenty, last)
        yield "less", item, rng.randint(1, shopping[item] - 1)
    yield "none", rng.choice(list(shopping)), 0
    item = _again(rng, list(shopping), last)
    yield (
        "corrected",
        item,
        rng.choice([n for n in range(1, MANY + 1) if n != shopping[item]]),
    )


def _again(rng: random.Random, items: Sequence[str], last: str) -> str:
    return last if last in items and rng.random() < 0.5 else rng.choice(items)


@pytest.mark.ltm(
    generate=shopping_list,
    skills="R,C,I",
    version="1",
    reset="I have been to the shops and bought everything, so my shopping list is empty now.",
    languages=CODES,
)
def test_shopping_list(ltm: Ltm) -> None:
    """Knows what is on the list, and how many, after all changes."""
    expected = tuple((item, quantity) for item, quantity in ltm.definition.expected)
    answers = ltm.play(
        ltm.definition, answers=[json.dumps(dict(expected), ensure_ascii=False)]
    )
    said = parse_languages(ltm.definition.parameters)
    rule = ListsItems(
        tuple((said.meaning(item), n) for item, n in expected), scoring=ltm.scoring
    )
    ltm.score(said.judged(rule, answers))
