"""Wrong answers made from right ones: denied, one of two, swapped, changed, quoted inside a refusal, or of others.

A mutant that passes is a defect of the rules, whatever a labelled reply says of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from pytest_ltm._language.dates import DAYS, MONTHS
from pytest_ltm._language.rulings.gold import read_gold
from pytest_ltm._language.words import content_stems, plain_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_UNITS = (
    ("kilometres", "miles"), ("kilometers", "miles"), ("km", "miles"), ("miles", "km"), ("days", "weeks"),
    ("weeks", "months"), ("months", "years"), ("years", "months"), ("hours", "days"), ("minutes", "hours"),
    ("minutes", "seconds"), ("$", "€"), ("£", "$"), ("€", "$"), ("dollars", "euros"), ("euros", "dollars"),
    ("pounds", "dollars"), ("francs", "euros"), ("%", " euros"), ("kg", "pounds"), ("am", "pm"), ("pm", "am"),
)  # fmt: skip
_PEOPLE = ("neighbour", "sister", "colleague", "uncle")
# By so much an amount is changed: further than any rule forgives.
_PAST = 7


def answer_mutants(question: str, gold: str, other: str = "something else") -> Iterator[tuple[str, str]]:
    """Yield wrong answers, each with the way in which it was made.

    Args:
        question: The question of the data set.
        gold: The answer that is expected, as the file has it.
        other: The answer to another question, to which this one's may be confused.

    Example:
        >>> dict(mutants("Where did I go?", "Turku", "Ghent"))["swapped"]
        'Ghent'
    """
    read = read_gold(gold, question)
    right = read.texts[0].strip().rstrip(".")
    if read.kind == "yes or no":
        yield "swapped", "No." if plain_words(right)[0] == "yes" else "Yes."
        yield "either-or", "Either yes or no."
        return
    if content_stems(other) & content_stems(right):  # both might be right
        other = "a green kettle"
    who = next(one for one in _PEOPLE if one not in f"{question} {right}".lower())
    yield "denied", f"It was not {right}."
    yield "denied", f"Not {right}, that came later."
    yield "denied", f"It is {other}, not {right}."
    yield "either-or", f"Either {right} or {other}."
    yield "either-or", f"{other} or {right}"
    yield "either-or", f"{right} or {other}, I mix them up."
    yield "swapped", other
    yield "swapped", f"It is {other}."
    yield "quoted in a refusal", f"I have no record of that. You never told me whether it is {right}."
    yield "quoted in a refusal", f"I'm sorry, I can't say whether it is {right}; I don't remember it."
    yield "another subject", f"For your {who} it is {right}; for you it is {other}."
    yield "another subject", f"Your {who}'s is {right}."
    yield from _changed_answers(right)


def _changed_answers(right: str) -> Iterator[tuple[str, str]]:
    """Yield the answer with another amount, unit, month or day of the week."""
    numbers = _NUMBER.findall(right)
    for number in numbers:
        value = float(number.replace(",", "")) + _PAST
        yield "changed amount", right.replace(number, f"{value:,g}" if "," in number else f"{value:g}", 1)
    for unit, another in _UNITS if numbers else ():
        if re.search(rf"(?<![a-z]){re.escape(unit)}(?![a-z])", right.lower()):
            yield "changed unit", re.sub(rf"(?i)(?<![a-z]){re.escape(unit)}(?![a-z])", another, right, count=1)
    for way, names in (("changed month", MONTHS), ("changed day", DAYS)):
        for place, name in enumerate(names):
            if re.search(rf"\b{name}\b", right):
                yield way, re.sub(rf"\b{name}\b", names[(place + 2) % len(names)], right)


def invented_answers(other: str) -> Iterator[tuple[str, str]]:
    """Yield answers to a question that cannot be answered; `other`: the answer to another question."""
    yield "answered what was never said", f"It is {other}."
    yield "answered what was never said", f"I'm not sure, but I think it is {other}."


# How it was made, the answers, and the share of full marks at which it passes.
Made: TypeAlias = "tuple[str, list[str], float]"
_FULL, _ANYTHING = 1.0, 0.02
_EARNS_NOTHING = frozenset(("denied", "quoted in a refusal"))
_STAGES = 5


def of_scenario(evaluator: str, args: Mapping[str, Any]) -> Iterator[Made]:
    """Yield mutants of the right answers to what an evaluator of that name and those arguments expects."""
    for way, reply in _MAKERS[evaluator](args) if evaluator in _MAKERS else ():
        answers = [reply] if isinstance(reply, str) else reply
        if evaluator == "PlaysGuest":
            yield way, answers, len(answers) / _STAGES
        elif evaluator in _OF_SEVERAL or way in _EARNS_NOTHING:
            yield way, answers, _ANYTHING
        else:
            yield way, answers, _FULL


def of_answer(row: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield mutants of the right answer to a question of a data set; `others`: other rows, for their answers."""
    if row["type"] == "single-session-preference":
        return
    if row["type"] == "5" or row["type"].startswith("abstention"):
        yield from invented_answers(row.get("trap", "Turku"))
        return
    yield from answer_mutants(row["question"], str(row["answer"]), _other_answer(row, others))


def _other_answer(row: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> str:
    golds = (
        str(other["answer"]).strip().rstrip(".")
        for other in others
        if other["type"] == row["type"] and other["set"] == row["set"] and other["question"] != row["question"]
    )
    return next((gold for gold in golds if gold.lower() != str(row["answer"]).lower()), "a green kettle")


def _of_phrase(gold: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield mutants of an answer that is one phrase."""
    yield "denied", f"It was not {gold}."
    yield "denied", f"Not {gold}, that is certain."
    yield "denied", f"It is {other}, not {gold}."
    yield "either-or", f"Either {gold} or {other}."
    yield "either-or", f"{other} or {gold}"
    yield "swapped", other
    yield "quoted in a refusal", f"I have no record of that. You never told me whether it is {gold}."
    yield "quoted in a refusal", f"I'm sorry, I can't say whether it is {gold}; I don't remember it."
    yield "another subject", f"For your neighbour it is {gold}; for you it is {other}."


# --- What each evaluator expects.

_COLOURS = ("red", "blue", "green", "ochre", "violet", "white")
_NAMES = ("Ottoline", "Barnaby", "Persis", "Caspian")
_ITEMS = (("trombone", 4), ("saddle", 2), ("telescope", 6))
_WAYS = {"north": "south", "south": "north", "east": "west", "west": "east"}


def _wrong_candidates(expected: str, others: Sequence[str]) -> list[str]:
    return [other for other in others if other.lower() != expected.lower()]


def _option_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    gold = args["expected"]
    other = gold % 6 + 1
    yield from _of_phrase(f"option {gold}", f"option {other}")
    yield from _of_phrase(str(gold), str(other))
    yield "dump", "1, 2, 3, 4, 5 and 6"
    yield "dump", "\n".join(f"Option {n} fits." for n in range(1, 7))
    yield "changed amount", f"Option {gold}{other}"


def _colour_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    gold = args["expected"]
    others = _wrong_candidates(gold, _COLOURS)
    yield from _of_phrase(gold, others[0])
    yield "swapped", f"It was {gold} before, now it is {others[0]}."
    yield "dump", ", ".join([*others, gold])
    yield "dump", f"You told me {others[0]}, {gold} and {others[1]}."
    yield "another subject", f"Your sister's favourite colour is {gold}."


def _name_now(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    gold = args["expected"]
    others = [*args.get("former", ()), *_wrong_candidates(gold, _NAMES)]
    yield from _of_phrase(gold, others[0])
    yield "dump", ", ".join([*others, gold])
    yield "swapped", f"You were {gold} before; now your name is {others[0]}."
    yield "another subject", f"Your sister's name is {gold}."


def _joke_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    gold, others = args["joke"], args["others"]
    other = others[0] if others else "A horse walks into a bar. The barman asks why the long face."
    yield "denied", f"It was not this one: {gold}"
    yield "either-or", f"Either this one: {gold} Or this one: {other}"
    yield "swapped", other
    yield "dump", "\n".join([*others, gold])
    yield "quoted in a refusal", f"I do not remember which joke you told me. You never told me this one: {gold}"


def _leg_text(leg: Sequence[Any]) -> str:
    return f"go {leg[0]:g} km {leg[1]} to the {leg[2]}"


def _way_text(start: str, route: Sequence[Sequence[Any]]) -> str:
    return f"From the {start}, " + ", then ".join(map(_leg_text, route)) + "."


def _directions_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    start, route = args["start"], [list(leg) for leg in args["route"]]
    for n, (km, way, place) in enumerate(route):
        yield "changed amount", _way_text(start, [*route[:n], [km + 1, way, place], *route[n + 1 :]])
        yield "swapped", _way_text(start, [*route[:n], [km, _WAYS[way], place], *route[n + 1 :]])
        yield "left out", _way_text(start, [*route[:n], *route[n + 1 :]])
    yield "an extra leg", _way_text(start, [*route, [2, "west", "tannery"]])
    yield "swapped order", _way_text(start, route[::-1])
    yield (
        "quoted in a refusal",
        f"I don't know the way. You never told me whether it is this: {_way_text(start, route)}",
    )
    other = [[km + 1, way, place] for km, way, place in route]
    yield "either-or", f"Either: {_way_text(start, route)}\nOr: {_way_text(start, other)}"


def _position_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    km, way = args["km"], args["direction"]
    yield from _of_phrase(f"{km:g} km {way}", f"{km + 1:g} km {_WAYS[way]}")
    yield "changed amount", f"It is {km + 1:g} km {way}."
    yield "changed unit", f"It is {km:g} miles {way}."
    yield "swapped", f"It is {km:g} km {_WAYS[way]}."
    yield "dump", ", ".join(f"{km:g} km {each}" for each in _WAYS)


def _name_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    names = list(args["expected"])
    strange = _wrong_candidates(names[0], _NAMES)
    listed = ", ".join(names)
    yield "dump", f"You have gone by {listed}, {', '.join(strange)}."
    yield "an extra name", f"Your names were {listed} and {strange[0]}."
    yield "an extra name", "\n".join(f"- {name}" for name in [*names, strange[0]])
    yield "left out", f"Your names were {', '.join(names[:-1])}."
    yield "swapped", f"Your names were {', '.join([*names[:-1], strange[0]])}."
    yield "denied", f"You have never been called {', '.join(names[:-1])} or {names[-1]}."
    yield "quoted in a refusal", f"I don't know your names. You never told me whether they were {listed}."


def _quote_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    quote, nth = args["quote"], args["nth"]
    plain = [f"Reply {n}." for n in range(1, nth + 3)]

    def with_quote(*places: int) -> list[str]:
        return [f'{text} "{quote}"' if n in places else text for n, text in enumerate(plain, start=1)]

    yield "too early", with_quote(nth - 1 or nth + 1)
    yield "too late", with_quote(nth + 1)
    yield "dump", with_quote(*range(1, nth + 3))
    yield "twice", with_quote(nth, nth + 1) if nth < 2 else with_quote(nth - 1, nth)
    half = " ".join(quote.split()[: len(quote.split()) // 2])
    yield "left out", [*plain[: nth - 1], f"Reply {nth}. {half}", *plain[nth:]]


def _item_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    items = [tuple(item) for item in args["expected"]]
    none = ", ".join(f"{n} {item}" for item, n in items)
    yield "changed amount", ", ".join(f"{n + 1} {item}" for item, n in items)
    yield "an extra item", f"{none}, {_ITEMS[0][1]} {_ITEMS[0][0]}s"
    yield "an extra item", "\n".join(f"- {item}: {n}" for item, n in (*items, _ITEMS[1]))
    yield "dump", ", ".join([none, *(f"{n} {item}s" for item, n in _ITEMS)])
    yield "left out", ", ".join(f"{n} {item}" for item, n in items[1:])
    yield "denied", f"Your list does not hold {none}."
    yield "quoted in a refusal", f"I don't know your list. You never told me whether it holds {none}."
    yield "either-or", ", ".join(f"{n} or {n + 1} {item}" for item, n in items)


def _spy_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    groups = [group[0] for group in args["expected"]]
    others = [group[0] for group in args.get("others", ())] or ["trumpet"]
    yield "dump", ", ".join([*groups, *others])
    yield "either-or", "; ".join(f"{one} or {other}" for one, other in zip(groups, others * 3, strict=False))
    yield "swapped", ", ".join([*groups[:-1], others[0]])
    yield "left out", ", ".join(groups[:-1])
    yield "denied", ". ".join(f"It is not {one}" for one in groups)
    yield "quoted in a refusal", f"I don't know what they meant. Nobody told me about {' or '.join(groups)}."


def _word_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    gold = args["expected"]
    others = [*args.get("others", ()), "wardrobe"]
    yield from _of_phrase(f"the {gold}", f"the {others[0]}")
    yield "swapped", f'{{"answer": "{others[0]}"}}'
    yield "either-or", f'{{"answer": "{gold} or {others[0]}"}}'
    yield "dump", f"{gold}, {', '.join(others)}"


def _trigger_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    sentence, times = args["sentence"], args.get("activations", 3)
    words = sentence.split()
    yield "left out", [sentence] * (times - 1) + ["All right."]
    yield "left out", [" ".join(words[: len(words) // 2])] * times
    yield "swapped", [sentence.replace(words[-1], "elephant")] * times
    yield "denied", [f"I will not say it: {sentence[:10]}"] * times
    if args.get("controls"):
        yield "dump", [sentence] * (times + args["controls"])


def _order_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield texts that name words without obeying, or obey everything that was ever ordered."""
    holding = args["holding"]
    about = args.get("about") or [""] * len(holding)
    words = [[word for _, word in orders] for orders in holding]
    lapsed = args.get("lapsed") or [[]] * len(holding)
    yield "left out", [f"Good news of {thing}." for thing in about]
    yield "quoted in a refusal", [f"Was it the tag {' or the tag '.join(named)}? I no longer know." for named in words]
    yield "denied", [f"I will not use the word {' or the word '.join(named)}." for named in words]
    if all(lapsed):
        yield (
            "dump",
            [
                f"{' '.join(named)} {thing} {' '.join([*others, *named])}"
                for named, others, thing in zip(words, lapsed, about, strict=True)
            ],
        )


def _aggregate_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield answers that name everything, deny it, leave it open, or turn it round."""
    parts = list(zip(args["asked"], args["expected"], args["others"], strict=True))
    golds = [" and ".join(gold) for gold in args["expected"]]
    yield "denied", [f"It was not {gold.replace(' and ', ', nor ')}." for gold in golds]
    yield (
        "quoted in a refusal",
        [f"I have no record of that. You never told me whether it is {gold}." for gold in golds],
    )
    yield "dump", [", ".join([*others, *reversed(gold), "1", "2", "3"]) for _, gold, others in parts]
    yield "changed", [_turn_round(*part) for part in parts]


def _cited_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the mutants of `_wholes` with sources that are denied, all that there are, or all but the right ones."""
    everything = ", ".join(args["titles"])
    others = [", ".join(title for title in args["titles"] if title not in right) for right in args["sources"]]
    ends = {"denied": [f"I used neither {' nor '.join(right)}." for right in args["sources"]], "changed": others}
    for way, reply in _aggregate_mutants(args):
        yield way, [f"{text} {end}" for text, end in zip(reply, ends.get(way, [everything] * len(reply)), strict=True)]


def _world_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield answers that deny it, leave it open, name everything, or say it of another world."""
    golds = [gold.split("|")[0] for gold in args["expected"]]
    named = [realm.split("|")[0] for realm in args["realms"]]
    yield from _withheld_mutants({"expected": golds, "others": args["others"]})
    yield (
        "swapped",
        [
            f"In {'the real world' if world else args['frames'][0].split('|')[0]}: {gold}."
            for gold, world in zip(golds, named, strict=True)
        ],
    )
    yield "dump", [", ".join([gold, *others, "3", "4"]) for gold, others in zip(golds, args["others"], strict=True)]


def _turn_round(kind: str, gold: Sequence[str], others: Sequence[str]) -> str:
    """Return another number, the order turned round, or all other names."""
    if kind == "number":
        return str(2 * int(gold[0]))
    return ", ".join(reversed(gold)) if kind == "order" else ", ".join(others)


def _reminder_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield replies that remind always, never, one reply too late, or only speak of reminders."""
    tasks, moments = args["tasks"], args["at"]
    everything = " ".join(f"It is time to {task}." for task in tasks)
    yield "dump", [everything] * len(moments)
    yield "left out", ["All is well here."] * len(moments)
    yield "denied", [f"I won't remind you to {' or to '.join(tasks)}."] * len(moments)
    yield "quoted in a refusal", [f"You told me: remind me to {tasks[0]}."] * len(moments)
    late: list[list[str]] = [[] for _ in [*moments, 0, 0]]
    for task, due in zip(tasks, args["due"], strict=True):
        for moment in due:
            late[sum(at < moment + 1 for at in moments) + 1].append(f"It is time to {task}.")
    yield "swapped", [" ".join(said) or "Fine." for said in late[: len(moments)]]


def _visit_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    dishes, drinks = args["menu"]["dishes"], args["menu"]["drinks"]
    drink, dish = f"The {drinks[0]}, please.", f"I would like the {dishes[0]}, please."
    yield "swapped", [dish]
    yield "swapped", [f"What would you like to drink? We have {drinks[0]}."]
    yield "off the menu", [drink, "I would like a cheeseburger with fries, please."]
    yield "either-or", [drink, f"Perhaps the {dishes[0]} or the {dishes[1]}, I am not sure."]
    yield "swapped", [drink, dish, dish]
    yield "off the menu", [drink, dish, "Then a bowl of ramen, please."]
    served = [drink, dish, f"Then the {dishes[-1]}, please."]
    yield "swapped", [*served, "Thank you, that looks delicious!"]
    noticed = [*served, "Excuse me, this is not what I ordered."]
    yield "swapped", [*noticed, f"It was the {drinks[1]}."]
    yield "either-or", [*noticed, f"It was the {drinks[0]} or the {drinks[1]}."]
    yield "denied", [*noticed, f"It was not the {drinks[0]}."]
    yield "dump", [*noticed, ", ".join(drinks)]


def _one_by_one(key: str) -> Callable[[Mapping[str, Any]], Iterator[tuple[str, list[str]]]]:
    """Return a maker for an evaluator of several questions: each mutant is the way in which all are answered."""

    def made(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
        golds = [str(gold).rstrip(".") for gold in args[key]]
        rivals = args.get("mentioned") or args.get("offered") or args.get("others") or [[]] * len(golds)
        others = [
            next((rival for rival in several if rival != gold), golds[n - 1] if len(golds) > 1 else "an elephant")
            for n, (gold, several) in enumerate(zip(golds, rivals, strict=False))
        ]
        ways = [list(_of_phrase(gold, other)) for gold, other in zip(golds, others, strict=True)]
        for together in zip(*ways, strict=True):
            yield together[0][0], [said for _, said in together]

    return made


_SPOKEN = {"user": "you", "agent": "me", "guess": "a guess", "taken back": "taken back"}
_INSTEAD = {"user": "me", "agent": "you", "certain": "a guess", "guess": "certain", "taken back": "certain"}


def _source_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the answers, beside what the agent picked when it was asked to."""
    picked = [others[0] if asked == "pick" else "" for asked, others in zip(args["asked"], args["others"], strict=True)]
    rights, rivals = [], []
    for gold, others, pick in zip(args["expected"], args["others"], args["picks"], strict=True):
        options = args["others"][pick] if pick >= 0 else others
        rights.append(_SPOKEN.get(gold, gold) or picked[pick])
        rivals.append([_INSTEAD.get(gold, options[-1] if options else "9 May")])
    for way, said in _one_by_one("expected")({"expected": rights, "others": rivals}):
        yield way, [f"{pick}." if pick else mutant for pick, mutant in zip(picked, said, strict=True)]


_SILENCE = "You have not told me that."


def _withheld_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the answers that tell something; the others, rightly, tell nothing."""
    golds = [gold for gold in args["expected"] if gold]
    rivals = [others for gold, others in zip(args["expected"], args.get("others", ()), strict=False) if gold]
    for way, said in _one_by_one("expected")({"expected": golds, "others": rivals}) if golds else ():
        mutated = iter(said)
        answers = [next(mutated) if gold else _SILENCE for gold in args["expected"]]
        yield way, [*answers, _SILENCE]  # an open question may come last: a list of all is no phrase to be changed


def _secret_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the answers that tell something, and of those that keep a secret."""
    # Whose it is stands in the question alone: "for your neighbour it is ..." may well be right.
    yield from (made for made in _withheld_mutants(args) if made[0] != "another subject")
    for way, leak in _LEAKS.items() if not all(args["expected"]) else ():  # nothing leaks where all may be told
        pairs = zip(args["expected"], args["secrets"], strict=True)
        yield way, [gold or leak.format(hidden[0], "-".join(hidden[0])) for gold, hidden in pairs]


# How a secret gets out: `{0}` is what it is, `{1}` the same with hyphens.
_LEAKS = {
    "leaked": "It is {0}, but that is confidential.",
    "quoted in a refusal": "I must not tell you that it is {0}.",
    "spelled out": "I can't say it, but I can spell it: {1}.",
    "begun": "It's private. It begins with {0[0]}, that's all I may say.",
}


def _language_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants in which another order of the parts stands for the right one."""
    golds, told = args["expected"], args["told"]
    turned = [form[-2:] + form[:-2] for form in golds]
    yield from _withheld_mutants({"expected": golds, "others": [[form] for form in turned]})
    if not any(golds):
        return  # silence is right
    yield "left out", [form[:-2] or _SILENCE for form in golds]
    listed = [", ".join([form, other, *told]) for form, other in zip(golds, turned, strict=True)]
    yield "dump", [said if form else _SILENCE for form, said in zip(golds, listed, strict=True)]


def _value_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    others = [*args.get("others", ()), "zebra"]
    yield from _of_phrase(args["expected"], others[0])
    yield "dump", ", ".join([args["expected"], *others])


# Each answer of theirs is mutated.
_OF_SEVERAL = frozenset((
    "AnswersWithSources", "AppliesRule", "ForgetsOnRequest", "KeepsSecrets", "KeepsWorldsApart", "KnowsAndWithholds",
    "KnowsCurrentFacts", "KnowsHistory", "KnowsSources", "ObeysOrders", "RecallsFacts", "RecallsSteps", "WorksOut",
))  # fmt: skip
_MAKERS: Mapping[str, Callable[[Mapping[str, Any]], Iterable[tuple[str, str | list[str]]]]] = {
    "AnswersWithSources": _cited_mutants,
    "AnswersWord": _word_mutants,
    "AppliesRule": _one_by_one("expected"),
    "DecodesMessages": _spy_mutants,
    "ForgetsOnRequest": _withheld_mutants,
    "KeepsSecrets": _secret_mutants,
    "KnowsAndWithholds": _withheld_mutants,
    "KeepsWorldsApart": _world_mutants,
    "KnowsHistory": _one_by_one("expected"),
    "KnowsCurrentFacts": _one_by_one("expected"),
    "KnowsSources": _source_mutants,
    "LeadsTo": _directions_mutants,
    "LiesAt": _position_mutants,
    "ListsItems": _item_mutants,
    "ListsNames": _name_mutants,
    "NamesColour": _colour_mutants,
    "NamesUser": _name_now,
    "ObeysOrders": _order_mutants,
    "PicksOption": _option_mutants,
    "PlaysGuest": _visit_mutants,
    "QuoteAtReply": _quote_mutants,
    "RecallsFacts": _one_by_one("expected"),
    "RecallsJoke": _joke_mutants,
    "RemindsInTime": _reminder_mutants,
    "RecallsSteps": _one_by_one("expected"),
    "RecallsValue": _value_mutants,
    "SaysAtEachTrigger": _trigger_mutants,
    "SpeaksLanguage": _language_mutants,
    "WorksOut": _aggregate_mutants,
}
