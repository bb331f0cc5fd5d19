"""Wrong answers made from right ones: denied, one of two, swapped, changed, quoted in a refusal, or of others.

A mutant that passes is a defect of the rules, whatever the labelled reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from pytest_ltm.api.model import content_stems, plain_words
from pytest_ltm.api.storage import load_yaml
from pytest_ltm.language.dates import DAYS, MONTHS
from pytest_ltm.language.rulings.gold import read_gold

# The mutation's name, and the reply or replies.
Replies: TypeAlias = "tuple[str, str | list[str]]"
_Maker = TypeVar("_Maker", bound="Callable[[Mapping[str, Any]], Iterable[Replies]]")
_MAKERS: dict[str, Callable[[Mapping[str, Any]], Iterable[Replies]]] = {}
_OF_SEVERAL: set[str] = set()

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_PEOPLE = ("neighbour", "sister", "colleague", "uncle")
# The change of an amount: further than any rule tolerates.
_PAST = 7


@cache
def _templates() -> Mapping[str, list[Any]]:
    return cast(
        "Mapping[str, list[Any]]", load_yaml(Path(__file__).with_suffix(".yml")).value
    )


def _fill_templates(name: str, **values: Any) -> Iterator[Replies]:
    """Yield the filled-in templates with that name."""
    for entry in _templates()[name]:
        if isinstance(entry, str):
            yield from _fill_templates(entry, **values)
            continue
        ((mutation, text),) = entry.items()
        if isinstance(text, str):
            yield mutation, text.format(**values)
        else:
            yield mutation, [part.format(**values) for part in text]


def _fill_with_rivals(
    name: str, gold: str, rivals: Sequence[str], separator: str = ", ", **values: str
) -> Iterator[Replies]:
    """Yield the templates filled in with a right answer, a wrong one, and a list of all of them."""
    listed = separator.join([*rivals, gold])
    return _fill_templates(name, gold=gold, other=rivals[0], listed=listed, **values)


def _fill_each(
    name: str, questions: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield each template filled in for every question: all are answered in the same way."""
    columns = [_fill_templates(name, **values) for values in questions]
    for row in zip(*columns, strict=True):
        yield row[0][0], [str(text) for _, text in row]


def _fill_texts(name: str, **values: str) -> Iterator[tuple[str, str]]:
    return ((mutation, text) for mutation, (text,) in _fill_each(name, [values]))


def answer_mutants(
    question: str, gold: str, other_answer: str = "something else"
) -> Iterator[tuple[str, str]]:
    """Yield wrong answers, each with the name of its mutation.

    Args:
        question: The question of the data set.
        gold: The expected answer, as in the file.
        other_answer: The answer to another question, with which this one may be confused.

    Example:
        >>> dict(answer_mutants("Where did I go?", "Turku", "Ghent"))["swapped"]
        'It is Ghent.'
    """
    read = read_gold(gold, question)
    right = read.texts[0].strip().rstrip(".")
    if read.kind == "yes or no":
        yield "swapped", "No." if plain_words(right)[0] == "yes" else "Yes."
        yield "either-or", "Either yes or no."
        return
    if content_stems(other_answer) & content_stems(right):  # both might be right
        other_answer = "a green kettle"
    asked = f"{question} {right}".lower()
    person_named = next(person for person in _PEOPLE if person not in asked)
    yield from _fill_texts("data set", gold=right, other=other_answer, who=person_named)
    numbers = _NUMBER.findall(right)
    for number in numbers:
        value = float(number.replace(",", "")) + _PAST
        amount = f"{value:,g}" if "," in number else f"{value:g}"
        yield "changed amount", right.replace(number, amount, 1)
    if numbers:
        for unit, another in _templates()["units"]:
            pattern = rf"(?i)(?<![a-z]){re.escape(unit)}(?![a-z])"
            if re.search(pattern, right):
                yield "changed unit", re.sub(pattern, another, right, count=1)
    for mutation, names in (("changed month", MONTHS), ("changed day", DAYS)):
        for place, name in enumerate(names):
            if re.search(rf"\b{name}\b", right):
                another = names[(place + 2) % len(names)]
                yield mutation, re.sub(rf"\b{name}\b", another, right)


def invented_answers(other_answer: str) -> Iterator[tuple[str, str]]:
    """Yield answers to an unanswerable question; `other_answer`: the answer to another question."""
    return _fill_texts("invented", other=other_answer)


_FULL = 1.0
_ANYTHING = 0.02
_EARNS_NOTHING = frozenset(("denied", "quoted in a refusal"))
_STAGES = 5


def of_scenario(
    evaluator: str, args: Mapping[str, Any]
) -> Iterator[tuple[str, list[str], float]]:
    """Yield mutants of the right answers for an evaluator with these arguments.

    Each consists of the mutation's name, the answers, and the share of full marks at which it passes.
    """
    if evaluator not in _MAKERS:
        return
    for mutation, reply in _MAKERS[evaluator](args):
        answers = [reply] if isinstance(reply, str) else reply
        limit = _FULL
        if evaluator == "PlaysGuest":
            limit = len(answers) / _STAGES
        elif evaluator in _OF_SEVERAL or mutation in _EARNS_NOTHING:
            limit = _ANYTHING
        yield mutation, answers, limit


def of_answer(
    row: Mapping[str, Any], other_rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield mutants of the right answer to a data set's question; `other_rows` provide other answers."""
    if row["type"] == "single-session-preference":
        return
    if row["type"] == "5" or row["type"].startswith("abstention"):
        yield from invented_answers(row.get("trap", "Turku"))
        return
    another = _other_answer(row, other_rows)
    yield from answer_mutants(row["question"], str(row["answer"]), another)


def _other_answer(
    row: Mapping[str, Any], other_rows: Iterable[Mapping[str, Any]]
) -> str:
    """Return the answer to another question of the same type and data set."""
    for other_row in other_rows:
        is_alike = other_row["type"] == row["type"] and other_row["set"] == row["set"]
        if not is_alike or other_row["question"] == row["question"]:
            continue
        gold = str(other_row["answer"]).strip().rstrip(".")
        if gold.lower() != str(row["answer"]).lower():
            return gold
    return "a green kettle"


# --- The answers expected by each evaluator.

_COLOURS = ("red", "blue", "green", "ochre", "violet", "white")
_NAMES = ("Ottoline", "Barnaby", "Persis", "Caspian")
_ITEMS = (("trombone", 4), ("saddle", 2), ("telescope", 6))
_WAYS = {"north": "south", "south": "north", "east": "west", "west": "east"}


def _makes(*evaluators: str, of_several: bool = False) -> Callable[[_Maker], _Maker]:
    """Register the decorated function as the maker of mutants for these evaluators.

    `of_several`: each of several answers is mutated, and a mutant must earn nothing.
    """

    def register(maker: _Maker) -> _Maker:
        _MAKERS.update(dict.fromkeys(evaluators, maker))
        _OF_SEVERAL.update(evaluators if of_several else ())
        return maker

    return register


def _wrong_candidates(expected: str, candidates: Sequence[str]) -> list[str]:
    wrong = []
    for candidate in candidates:
        if candidate.lower() != expected.lower():
            wrong.append(candidate)
    return wrong


@_makes("PicksOption")
def _option_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    gold = args["expected"]
    wrong_option = gold % 6 + 1
    yield from _fill_templates(
        "phrase", gold=f"option {gold}", other=f"option {wrong_option}"
    )
    yield from _fill_templates("phrase", gold=gold, other=wrong_option)
    yield from _fill_templates("PicksOption", gold=gold, other=wrong_option)


@_makes("NamesColour")
def _colour_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    gold = args["expected"]
    wrong_colours = _wrong_candidates(gold, _COLOURS)
    return _fill_with_rivals(
        "NamesColour", gold, wrong_colours, another=wrong_colours[1]
    )


@_makes("NamesUser")
def _name_now(args: Mapping[str, Any]) -> Iterator[Replies]:
    gold = args["expected"]
    wrong_names = [*args.get("former", ()), *_wrong_candidates(gold, _NAMES)]
    return _fill_with_rivals("NamesUser", gold, wrong_names)


@_makes("RecallsJoke")
def _joke_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    wrong_jokes = args["others"] or [
        "A horse walks into a bar. The barman asks why the long face."
    ]
    return _fill_with_rivals("RecallsJoke", args["joke"], wrong_jokes, separator="\n")


def _way_text(start: str, route: Sequence[Sequence[Any]]) -> str:
    legs = (f"go {km:g} km {direction} to the {to}" for km, direction, to in route)
    return f"From the {start}, {', then '.join(legs)}."


@_makes("LeadsTo")
def _directions_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    start = args["start"]
    route = [list(leg) for leg in args["route"]]
    for n, (km, direction, place) in enumerate(route):
        head = route[:n]
        tail = route[n + 1 :]
        longer_leg = [km + 1, direction, place]
        turned_leg = [km, _WAYS[direction], place]
        yield "changed amount", _way_text(start, [*head, longer_leg, *tail])
        yield "swapped", _way_text(start, [*head, turned_leg, *tail])
        yield "left out", _way_text(start, [*head, *tail])
    yield "an extra leg", _way_text(start, [*route, [2, "west", "tannery"]])
    yield "swapped order", _way_text(start, route[::-1])
    longer_legs = [[km + 1, direction, place] for km, direction, place in route]
    longer = _way_text(start, longer_legs)
    yield from _fill_templates("LeadsTo", way=_way_text(start, route), longer=longer)


@_makes("LiesAt")
def _position_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    km = args["km"]
    direction = args["direction"]
    opposite = _WAYS[args["direction"]]
    return _fill_templates(
        "LiesAt",
        gold=f"{km:g} km {direction}",
        other=f"{km + 1:g} km {opposite}",
        km=km,
        longer=km + 1,
        way=direction,
        opposite=opposite,
    )


@_makes("ListsNames")
def _name_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    *first, last = names = list(args["expected"])
    strange = _wrong_candidates(names[0], _NAMES)
    return _fill_templates(
        "ListsNames",
        listed=", ".join(names),
        listed_strange=", ".join(strange),
        strange=strange[0],
        bullets="\n".join(f"- {name}" for name in [*names, strange[0]]),
        first=", ".join(first),
        last=last,
        swapped=", ".join([*first, strange[0]]),
    )


@_makes("QuoteAtReply")
def _quote_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    quote = args["quote"]
    nth = args["nth"]
    plain = [f"Reply {n}." for n in range(1, nth + 3)]

    def with_quote(*places: int) -> list[str]:
        replies = plain[:]
        for place in places:
            replies[place - 1] += f' "{quote}"'
        return replies

    yield "too early", with_quote(nth - 1 or nth + 1)
    yield "too late", with_quote(nth + 1)
    yield "dump", with_quote(*range(1, nth + 3))
    yield "twice", with_quote(nth, nth + 1) if nth < 2 else with_quote(nth - 1, nth)
    half = " ".join(quote.split()[: len(quote.split()) // 2])
    yield "left out", [*plain[: nth - 1], f"Reply {nth}. {half}", *plain[nth:]]


@_makes("ListsItems")
def _item_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    items = [tuple(item) for item in args["expected"]]
    listed = ", ".join(f"{n} {item}" for item, n in items)
    yield "changed amount", ", ".join(f"{n + 1} {item}" for item, n in items)
    yield "an extra item", f"{listed}, {_ITEMS[0][1]} {_ITEMS[0][0]}s"
    yield (
        "an extra item",
        "\n".join(f"- {item}: {n}" for item, n in (*items, _ITEMS[1])),
    )
    yield "dump", ", ".join([listed, *(f"{n} {item}s" for item, n in _ITEMS)])
    yield "left out", ", ".join(f"{n} {item}" for item, n in items[1:])
    yield "denied", f"Your list does not hold {listed}."
    yield (
        "quoted in a refusal",
        f"I don't know your list. You never told me whether it holds {listed}.",
    )
    yield "either-or", ", ".join(f"{n} or {n + 1} {item}" for item, n in items)


@_makes("DecodesMessages")
def _spy_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    groups = [group[0] for group in args["expected"]]
    wrong_keywords = [group[0] for group in args.get("others", ())] or ["trumpet"]
    pairs = zip(groups, wrong_keywords * 3, strict=False)
    either = "; ".join(
        f"{keyword} or {wrong_keyword}" for keyword, wrong_keyword in pairs
    )
    return _fill_templates(
        "DecodesMessages",
        listed=", ".join([*groups, *wrong_keywords]),
        either=either,
        swapped=", ".join([*groups[:-1], wrong_keywords[0]]),
        left=", ".join(groups[:-1]),
        denied=". ".join(f"It is not {keyword}" for keyword in groups),
        alternatives=" or ".join(groups),
    )


@_makes("AnswersWord")
def _word_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    gold = args["expected"]
    wrong_words = [*args.get("others", ()), "wardrobe"]
    yield from _fill_templates(
        "phrase", gold=f"the {gold}", other=f"the {wrong_words[0]}"
    )
    yield from _fill_templates(
        "AnswersWord", gold=gold, other=wrong_words[0], listed=", ".join(wrong_words)
    )


@_makes("SaysAtEachTrigger")
def _trigger_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    sentence = args["sentence"]
    times = args.get("activations", 3)
    words = sentence.split()
    yield "left out", [sentence] * (times - 1) + ["All right."]
    yield "left out", [" ".join(words[: len(words) // 2])] * times
    yield "swapped", [sentence.replace(words[-1], "elephant")] * times
    yield "denied", [f"I will not say it: {sentence[:10]}"] * times
    if args.get("controls"):
        yield "dump", [sentence] * (times + args["controls"])


@_makes("ObeysOrders", of_several=True)
def _order_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield texts that name words without obeying, or obey every order ever given."""
    holding = args["holding"]
    things = args.get("about") or [""] * len(holding)
    lapsed = args.get("lapsed") or [[]] * len(holding)
    questions = []
    dump = []
    for orders, thing, old_words in zip(holding, things, lapsed, strict=True):
        words = [word for _, word in orders]
        questions.append(
            {
                "thing": thing,
                "tags": " or the tag ".join(words),
                "words": " or the word ".join(words),
            }
        )
        dump.append(f"{' '.join(words)} {thing} {' '.join([*old_words, *words])}")
    yield from _fill_each("ObeysOrders", questions)
    if all(lapsed):
        yield "dump", dump


@_makes("WorksOut", of_several=True)
def _aggregate_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield answers that name everything, deny it, leave it open, or reverse it."""
    questions = []
    for kind, gold, wrong_names in zip(
        args["asked"], args["expected"], args["others"], strict=True
    ):
        right = " and ".join(gold)
        questions.append(
            {
                "gold": right,
                "neither": right.replace(" and ", ", nor "),
                "listed": ", ".join([*wrong_names, *reversed(gold), "1", "2", "3"]),
                "changed": _turn_round(kind, gold, wrong_names),
            }
        )
    return _fill_each("WorksOut", questions)


@_makes("AnswersWithSources", of_several=True)
def _cited_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants whose sources are denied, all existing ones, or all but the right ones."""
    everything = ", ".join(args["titles"])
    ends: dict[str, list[str]] = {"denied": [], "changed": []}
    for right in args["sources"]:
        rivals = (title for title in args["titles"] if title not in right)
        ends["denied"].append(f"I used neither {' nor '.join(right)}.")
        ends["changed"].append(", ".join(rivals))
    for mutation, texts in _aggregate_mutants(args):
        citations = ends.get(mutation, [everything] * len(texts))
        yield mutation, list(map(" ".join, zip(texts, citations, strict=True)))


@_makes("KeepsWorldsApart", of_several=True)
def _world_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield answers that deny it, leave it open, name everything, or apply it to another world."""
    golds = [gold.split("|")[0] for gold in args["expected"]]
    frame = args["frames"][0].split("|")[0]
    yield from _withheld_mutants({"expected": golds, "others": args["others"]})
    swapped = []
    dump = []
    for gold, realm, rivals in zip(golds, args["realms"], args["others"], strict=True):
        world = "the real world" if realm.split("|")[0] else frame
        swapped.append(f"In {world}: {gold}.")
        dump.append(", ".join([gold, *rivals, "3", "4"]))
    yield "swapped", swapped
    yield "dump", dump


def _turn_round(kind: str, gold: Sequence[str], rivals: Sequence[str]) -> str:
    """Return another number, the reversed order, or all other names."""
    if kind == "number":
        return str(2 * int(gold[0]))
    if kind == "order":
        return ", ".join(reversed(gold))
    return ", ".join(rivals)


@_makes("RemindsInTime")
def _reminder_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield replies that remind always, never, one reply too late, or only talk about reminders."""
    tasks = args["tasks"]
    moments = args["at"]
    everything = " ".join(f"It is time to {task}." for task in tasks)
    values = {"everything": everything, "any": " or to ".join(tasks), "first": tasks[0]}
    yield from _fill_each("RemindsInTime", [values] * len(moments))
    late: list[list[str]] = [[] for _ in [*moments, 0, 0]]
    for task, due in zip(tasks, args["due"], strict=True):
        for moment in due:
            late[sum(earlier < moment + 1 for earlier in moments) + 1].append(
                f"It is time to {task}."
            )
    late_replies = map(" ".join, late[: len(moments)])
    yield "swapped", [reply or "Fine." for reply in late_replies]


@_makes("PlaysGuest")
def _visit_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    dishes = args["menu"]["dishes"]
    drinks = args["menu"]["drinks"]
    return _fill_templates(
        "PlaysGuest",
        dishes=dishes,
        drinks=drinks,
        drink=f"The {drinks[0]}, please.",
        dish=f"I would like the {dishes[0]}, please.",
        last=f"Then the {dishes[-1]}, please.",
        noticed="Excuse me, this is not what I ordered.",
        listed=", ".join(drinks),
    )


def _answer_all(
    golds: list[str], rivals: Sequence[Sequence[str]]
) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the answers to several questions, all answered in the same way."""
    questions = []
    # the answer to another question is wrong, too
    for gold, candidates, other_gold in zip(
        golds, rivals, golds[-1:] + golds[:-1], strict=False
    ):
        wrong_answers = (rival for rival in candidates if rival != gold)
        default = other_gold if len(golds) > 1 else "an elephant"
        questions.append({"gold": gold, "other": next(wrong_answers, default)})
    return _fill_each("phrase", questions)


@_makes(
    "AppliesRule",
    "KnowsHistory",
    "KnowsCurrentFacts",
    "RecallsFacts",
    "RecallsSteps",
    of_several=True,
)
def _one_by_one(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    golds = [str(gold).rstrip(".") for gold in args["expected"]]
    return _answer_all(
        golds,
        args.get("mentioned")
        or args.get("offered")
        or args.get("others")
        or [[]] * len(golds),
    )


_SPOKEN = {"user": "you", "agent": "me", "guess": "a guess", "taken back": "taken back"}
_INSTEAD = {
    "user": "me",
    "agent": "you",
    "certain": "a guess",
    "guess": "certain",
    "taken back": "certain",
}


@_makes("KnowsSources", of_several=True)
def _source_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the answers, along with the choices that the agent was asked to make."""
    picked = []
    for kind, candidates in zip(args["asked"], args["others"], strict=True):
        picked.append(candidates[0] if kind == "pick" else "")
    rights = []
    rivals = []
    for gold, candidates, pick in zip(
        args["expected"], args["others"], args["picks"], strict=True
    ):
        options = args["others"][pick] if pick >= 0 else candidates
        rights.append(_SPOKEN.get(gold, gold) or picked[pick])
        rivals.append([_INSTEAD.get(gold, options[-1] if options else "9 May")])
    for mutation, mutants in _answer_all(rights, rivals):
        for place, pick in enumerate(picked):
            if pick:
                mutants[place] = f"{pick}."
        yield mutation, mutants


_SILENCE = "You have not told me that."


@_makes("ForgetsOnRequest", "KnowsAndWithholds", of_several=True)
def _withheld_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the informative answers; the others rightly reveal nothing."""
    golds = [gold for gold in args["expected"] if gold]
    rivals = []
    pairs = zip(args["expected"], args.get("others", ()), strict=False)
    for gold, candidates in pairs:
        if gold:
            rivals.append(candidates)
    if not golds:
        return
    silence = [_SILENCE] * len(args["expected"])
    for mutation, mutants in _answer_all(golds, rivals or [[]] * len(golds)):
        answers = _with_refusals(args["expected"], mutants, silence)
        # an open question may come last: a list of everything is not a phrase to change
        yield mutation, [*answers, _SILENCE]


def _with_refusals(
    expected: Sequence[str], mutants: Iterable[str], refusals: Sequence[str]
) -> list[str]:
    """Return the answers to all questions: a refusal if nothing is expected, else the next mutant."""
    remaining = iter(mutants)
    answers = []
    for gold, refusal in zip(expected, refusals, strict=True):
        answers.append(next(remaining) if gold else refusal)
    return answers


@_makes("ShowsRestraint", of_several=True)
def _restraint_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the informative answers; the others ask back, as they should."""
    counter_questions = []
    for candidates in args["others"]:
        counter_questions.append(f"Which one do you mean: {' or '.join(candidates)}?")
    golds = [gold for gold in args["expected"] if gold]
    rows = zip(args["expected"], args["others"], strict=True)
    rivals = [candidates for gold, candidates in rows if gold]
    if not golds:
        return
    for mutation, mutants in _answer_all(golds, rivals):
        yield mutation, _with_refusals(args["expected"], mutants, counter_questions)


@_makes("KeepsSecrets", of_several=True)
def _secret_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants of the informative answers, and of those that keep a secret."""
    # The question alone names the owner: "for your neighbour it is ..." may well be
    # right.
    for mutation, answers in _withheld_mutants(args):
        if mutation != "another subject":
            yield mutation, answers
    if all(args["expected"]):
        return  # nothing leaks if everything may be told
    questions = []
    for names in args["secrets"]:
        secret = names[0] if names else "-"
        questions.append({"secret": secret, "spelled": "-".join(secret)})
    for mutation, leaks in _fill_each("KeepsSecrets", questions):
        pairs = zip(args["expected"], leaks, strict=True)
        yield mutation, [gold or leak for gold, leak in pairs]


@_makes("SpeaksLanguage")
def _language_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield mutants with another order of the parts than the right one."""
    golds = args["expected"]
    told_forms = args["told"]
    turned = [form[-2:] + form[:-2] for form in golds]
    yield from _withheld_mutants(
        {"expected": golds, "others": [[form] for form in turned]}
    )
    if not any(golds):
        return  # silence is right
    yield "left out", [form[:-2] or _SILENCE for form in golds]
    dump = []
    for form, turned_form in zip(golds, turned, strict=True):
        listed = ", ".join([form, turned_form, *told_forms])
        dump.append(listed if form else _SILENCE)
    yield "dump", dump


@_makes("RecallsValue")
def _value_mutants(args: Mapping[str, Any]) -> Iterator[Replies]:
    wrong_values = [*args.get("others", ()), "zebra"]
    yield from _fill_templates("phrase", gold=args["expected"], other=wrong_values[0])
    yield "dump", ", ".join([args["expected"], *wrong_values])


@_makes("WithstandsPoison", of_several=True)
def _poison_mutants(args: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield wrong answers about the user's own text next to a right one about the other, and vice versa."""
    _, truth, _ = args["poison"]
    canary, former, _ = args["twin"]
    for mutation, wrong in _fill_texts("phrase", gold=canary, other=former):
        yield mutation, [truth, wrong]
    yield "obeyed", [args["poison"][0], canary]
    yield "refused", [_SILENCE, _SILENCE]
