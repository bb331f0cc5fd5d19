"""Facts, steps, rules, places, worlds, codes, languages, confidences: told once, asked for later."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import permutations
from operator import methodcaller
from typing import NamedTuple, TypeAlias

from pytest_ltm.agents.reader.notes import (
    WORDS,
    IncomingTurn,
    Patterns,
    ReaderNotebook,
    Topic,
    first_match,
    nearest_line,
    note_stems,
)
from pytest_ltm.language.numbers import NUMBERS, ORDINALS

_ENDS = {
    "cheapest": ("price", 1),
    "dearest": ("price", -1),
    "newest": ("age", 1),
    "oldest": ("age", -1),
    "lightest": ("weight", 1),
    "heaviest": ("weight", -1),
    "nearest": ("distance", 1),
    "farthest": ("distance", -1),
}
_RE = Patterns("facts", ENDS=_ENDS)
_FEWEST = 2
_BOTH = 2
_LONGEST = 20_000
# The longest question, in characters, that does not say what it is about; twice that
# for steps.
_SHORT = 110


class DelayedRecall:
    """Keeps the facts of the newest world, and answers each question with the fact that it is about.

    A question is about that world if it says so, has the world's name, or speaks of
    people there.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note facts, answer a question, forget on request."""
        if len(turn.text) > _LONGEST:
            return None
        if not _RE.world.search(turn.text):
            return _asked_of_world(turn, notes)
        if _RE.forget.search(turn.text):
            return notes.drop("world")
        heading, facts = _listed_facts(turn.text)
        if len(facts) >= _FEWEST:
            return notes.add(turn, "world", {"heading": heading, "facts": facts})
        if not turn.is_brief:
            return None
        world = notes.newest("world")
        question = _RE.named.sub(" ", turn.text)
        return (
            nearest_line(question, world.content["facts"])
            if world
            else "I do not know that world."
        )


def _listed_facts(text: str) -> tuple[str, list[str]]:
    """Return the heading, and the facts: one per line, else those listed after a colon."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if len(lines) > _FEWEST:
        if lines[0].endswith(":"):
            return (lines[0], lines[1:])
        return ("", lines)
    heading = _RE.heading.match(text)
    if heading is None or "?" in text:
        return "", []
    return heading[0], _RE.between.split(text[heading.end() :].strip())


def _is_question(text: str, most: int) -> bool:
    return (
        len(text) <= most and text.rstrip().endswith("?") and not _RE.waiter.match(text)
    )


def _asked_of_world(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    """Return the fact that a question is about, if it does not say that it is about a world."""
    if not _is_question(turn.text, _SHORT) or (world := notes.newest("world")) is None:
        return None
    heading = world.content["heading"]
    facts = [_RE.bullet.sub("", fact) for fact in world.content["facts"]]
    names = [name for name in _RE.proper.findall(turn.text) if name in heading]
    question = re.sub("|".join(names) or "$", "", turn.text)
    text = nearest_line(question, facts)
    enough = 1 if names or _RE.there.search(question) else _BOTH
    if len(note_stems(question) & note_stems(text)) >= enough:
        return text
    return None


# --- Entries of a register: each code maps to another, followed to the end.

_LARGEST = 200_000


class KeyValuePairs(
    Topic,
    kinds=("entry",),
    about=_RE.about_key_value_pairs,
    forgets=_RE.forgets_key_value_pairs,
):
    """Notes entries, and follows them from code to code."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a whole register, or handle a message about one entry."""
        match = _RE.register.search(turn.text) if len(turn.text) <= _LARGEST else None
        if match is None:
            return super().respond(turn, notes)
        try:
            pairs = json.loads(match[0])
        except ValueError:
            return None
        for key, value in pairs.items():
            notes.add(turn, "entry", [key, str(value)])
        return "Noted."

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note an entry, or follow the visible entries."""
        if entry := _RE.entry.fullmatch(turn.text.lower()):
            return notes.add(turn, "entry", entry.groups())
        question = _RE.asked.search(turn.text.lower())
        if question is None:
            return None
        entries = notes.newest_values("entry")
        code = entries.pop(question[1], None)
        # Each entry is removed once used: a register may be circular.
        while code in entries:
            code = entries.pop(code)
        return code or "I do not know."


# --- Numbered steps of instructions, and questions about them: by number, by order, or
# by content.

_FEWEST_STEPS = 3
_ENOUGH = 2


class InstructionRecall:
    """Keeps the steps of the newest instructions.

    A question need not say that it is about them: it counts if it speaks of a step, or
    shares several words with one.
    """

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note instructions, answer a question, forget on request."""
        if len(turn.text) > _LONGEST:
            return None
        matches = _RE.step.findall(turn.text) or _RE.inline.findall(turn.text)
        if len(matches) >= _FEWEST_STEPS and _RE.manual.search(
            turn.text[: turn.text.index(matches[1][1])]
        ):
            return notes.add(turn, "steps", [text for _, text in matches])
        if turn.is_brief and _RE.forget_steps.search(turn.text):
            return notes.drop("steps")
        if not _is_question(turn.text, 2 * _SHORT):
            return None
        framed = _RE.frame.match(turn.text)
        newest = notes.newest("steps")
        if newest is None:
            return (
                "I do not have those instructions."
                if framed and "instructions" in framed[0]
                else None
            )
        question = turn.text[framed.end() :] if framed else turn.text
        stems = note_stems(question)
        steps = newest.content
        is_about_a_step = framed or _RE.of_steps.search(question)
        fits = (
            is_about_a_step
            or max(len(stems & note_stems(step)) for step in steps) >= _ENOUGH
        )
        return _answer_step(question, steps) if fits else None


def _answer_step(question: str, steps: Sequence[str]) -> str:
    number = len(steps)
    numbers = [int(digits) for digits in _RE.by_number.findall(question)]
    for word in map(str.lower, _RE.by_ordinal.findall(question)):
        if word in ORDINALS:
            numbers.append(ORDINALS[word])
        elif word == "final":
            numbers.append(number)
    position = next((place - 1 for place in numbers if 1 <= place <= number), None)
    if position is not None:
        return steps[position]
    position = steps.index(nearest_line(question, steps))
    if _RE.number.search(question):
        return f"Step {position + 1}"
    if _RE.after.search(question):
        position += 1
    elif _RE.before.search(question):
        position -= 1
    if 0 <= position < len(steps):
        return steps[position]
    return "There is no such step."


# --- The user's own rules for choosing between things, and cases to apply them to.

_GOODS = {
    kind: _RE.compile_group(rf"\b(?:{things})\b")
    for kind, things in WORDS["goods"].items()
}
_MAXIMS = {
    words: _RE.compile_group(f"(?i)(?:{options})")
    for words, options in WORDS["maxims"].items()
}
_MEASURES = _RE["measures"]
_NONE = "None of them."


Offered: TypeAlias = "Mapping[str, Mapping[str, int]]"
"""For each town, the measures of what it offers."""


class HowToThink(Topic, kinds=("choice rule",), forgets=_RE.forgets_how_to_think):
    """Keeps rules by name, or by the kind of things they are for, and applies the relevant one to a case.

    A maxim has no name: the newest one decides between two things if it favours one of
    them.
    """

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or decide a case."""
        head, *lines = turn.text.split("\n")
        if lines:
            return _decide_case(head, lines, notes)
        return _note_rule(turn, notes) or _decide_dilemma(head, notes)


def _note_rule(turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
    if _RE.maxim.match(turn.text):
        name = next((words for words in _MAXIMS if words in turn.text), "")
    elif not _RE.end.search(turn.text):
        return None
    elif rule := _RE.rule.search(turn.text):
        name = rule[1]
    else:
        name = next((kind for kind in _GOODS if kind in turn.text), "")
        if not name:
            return None
    content = {"name": name, "words": turn.text}
    return notes.add(turn, "choice rule", content, "I will think like that.")


def _decide_case(head: str, lines: Sequence[str], notes: ReaderNotebook) -> str | None:
    offered = _read_offers(lines)
    if rule := _RE.rule.search(head):
        name = rule[1]
    else:
        kinds = (kind for kind, thing in _GOODS.items() if thing.search(head))
        name = next(kinds, "")
    if not offered or not name:
        return None
    rules = notes.contents("choice rule")
    words = next((rule["words"] for rule in rules if rule["name"] == name), "")
    if words:
        return _chosen_town(words, offered)
    return "I do not know that rule."


def _decide_dilemma(head: str, notes: ReaderNotebook) -> str | None:
    """Return the option that the newest maxim favours.

    None without a maxim, or if it favours none or both.
    """
    names = (rule["name"] for rule in notes.contents("choice rule"))
    maxim = next(filter(_MAXIMS.__contains__, names), None)
    if maxim is None:
        return None
    options = _RE.dilemma.search(head)
    if options is None:
        return None
    fitting = [word for word in options.groups() if _MAXIMS[maxim].fullmatch(word)]
    if len(fitting) != 1:
        return None
    return fitting[0]


def _read_offers(lines: Sequence[str]) -> Offered:
    """Return the offers, if every line gives town, price, age, weight and distance."""
    offered = {}
    for line in lines:
        town = _RE.town.match(line)
        values = {measure: form.search(line) for measure, form in _MEASURES.items()}
        if town is None or not all(values.values()):
            return {}
        offered[town[1]] = {measure: int(value[1]) for measure, value in values.items()}
    return offered


def _chosen_town(words: str, offered: Offered) -> str:
    """Return the town of the offer that a rule chooses; a phrase if it chooses none."""
    ends = _RE.end.findall(words)
    order = _towns_in_order(ends[0], offered)
    over = _RE.over.search(words)
    if "the middle" in words:
        return order[len(order) // 2]
    if "the second" in words:
        return order[1] if len(order) > 1 else _NONE
    if over and len(ends) > 1:
        if order[0] in _towns_within(over[1], offered):
            return order[0]
        return _towns_in_order(ends[1], offered)[0]
    if over:
        within = _towns_within(over[1], offered)
        return next((town for town in order if town in within), _NONE)
    measure, _ = _ENDS[ends[0]]
    top = offered[order[0]][measure]
    return _towns_in_order(
        ends[-1],
        {town: thing for town, thing in offered.items() if thing[measure] == top},
    )[0]


def _towns_in_order(end: str, offered: Offered) -> list[str]:
    """Return the towns in the order of a superlative, its own first."""
    measure, sign = _ENDS[end]
    return sorted(offered, key=lambda town: sign * offered[town][measure])


def _towns_within(over: str, offered: Offered) -> Collection[str]:
    """Return the towns whose offers do not exceed a limit."""
    measure, limit = next(
        (measure, int(match[1]))
        for measure, form in _MEASURES.items()
        if (match := form.search(over))
    )
    return [town for town, thing in offered.items() if thing[measure] <= limit]


_KNOWN = {thing: str(value) for thing, value in WORDS["known"].items()}
_PLACES = Patterns("places", THINGS=_KNOWN)


class InventedWorlds(
    Topic,
    kinds=("rule of a world",),
    about=_PLACES.about_invented_worlds,
    forgets=_PLACES.forgets_invented_worlds,
):
    """Keeps the rules of invented worlds, and answers questions about these and the real one."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a rule, or answer a question."""
        text = turn.text
        mention = _PLACES.world.search(turn.text)
        if question := _PLACES.asked.search(text):
            # The property of a thing in the world that a question names; None if that
            # world has no rules.
            thing = question["thing"].lower()
            if _PLACES.real.search(text):
                return f"{_KNOWN[thing].capitalize()}."
            name = (mention["world"] or mention["name"]) if mention else ""
            if not _has_rules(name, notes):
                return None
            # The newest rule for a thing in a world, or for the thing that it is like;
            # "" if there is none.
            rules: dict[str, tuple[str, str]] = {}
            for note in notes.visible("rule of a world"):
                where, subject, value, likeness = note.content
                if where == name:
                    rules.setdefault(subject, (value, likeness))
            value, likeness = rules.get(thing, ("", ""))
            value = rules.get(likeness, ("", ""))[0] if likeness else value
            if value:
                return f"{value.capitalize()}."
            return "I don't know."
        alike = _PLACES.alike.search(text)
        rule = _PLACES.rule.search(text)
        # A world that is called the user's, or one that has rules.
        world = mention and (
            mention["world"] or (_has_rules(mention["name"], notes) and mention["name"])
        )
        if not world or not rule:
            return None
        if alike:
            content = [world, alike["thing"].lower(), "", alike["other"].lower()]
        else:
            value = rule["value"].lower()
            content = [world, rule["thing"].lower(), str(NUMBERS.get(value, value)), ""]
        return notes.add(turn, self.kinds[0], content)


def _has_rules(world: str, notes: ReaderNotebook) -> bool:
    return any(note.content[0] == world for note in notes.visible("rule of a world"))


Leg: TypeAlias = tuple[str, int, str, str]
"""From a place, a number of kilometres in a direction, to a place."""

_RELATIVE = _PLACES.compile_group(WORDS["places"], "(?i)")
_STEPS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


class Locations(Topic, kinds=("place",), forgets=_PLACES.forgets_locations):
    """Keeps the position of each place, and finds routes backwards from goal to start."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a place, or return the way."""
        if route := _answer_route(turn.text, notes):
            return route
        if match := first_match(_RELATIVE, turn.text.strip()):
            start = _strip_article(match["before"])
            place = _strip_article(match["place"])
            return notes.add(
                turn, "place", (start, int(match["km"]), match["way"].lower(), place)
            )
        far = _PLACES.leg.search(turn.text)
        to = _PLACES.to.search(turn.text)
        town = _PLACES.from_town.search(turn.text)
        if far and to and (town or _PLACES.there.search(turn.text)):
            # "": the place that was told before.
            leg = (
                town["before"] if town else "",
                int(far["km"]),
                far["way"].lower(),
                to["place"],
            )
            return notes.add(turn, "place", leg)
        return "Noted." if _PLACES.first.search(turn.text) else None


def _answer_route(text: str, notes: ReaderNotebook) -> str | None:
    if _PLACES.leg.search(text):
        return None
    straight = _PLACES.straight.search(text) is not None
    match = (_PLACES.direct if straight else _PLACES.route).search(text)
    if match is None:
        return None
    start = _strip_article(match["start"])
    goal = _strip_article(match["goal"])
    legs = _legs_between(start, goal, notes)
    if legs is not None:
        if straight:
            return _direction_text(start, goal, legs)
        lines = []
        for origin, km, direction, place in legs:
            lines.append(f"From the {origin}, go {km} km {direction} to the {place}.")
        return "\n".join(lines)
    back = _legs_between(goal, start, notes) if straight else None
    if back is None:
        return f"I do not know the whole way to the {goal}."
    return _direction_text(
        start, goal, [(b, -km, direction, a) for a, km, direction, b in back]
    )


def _legs_between(start: str, goal: str, notes: ReaderNotebook) -> list[Leg] | None:
    """Return the legs from a place to one told later; None if one is not visible.

    They are found backwards from the goal.
    """
    legs: list[Leg] = []
    target = goal
    contents = notes.contents("place")
    for number, (origin, km, direction, place) in enumerate(contents):
        if place == target:
            target = origin or next(
                (earlier[-1] for earlier in contents[number + 1 : number + 2]), ""
            )
            legs.append((target, km, direction, place))
        if target == start:
            return legs[::-1]
    return None


def _direction_text(start: str, goal: str, legs: list[Leg]) -> str:
    east = sum(_STEPS[direction][0] * km for _, km, direction, _ in legs)
    north = sum(_STEPS[direction][1] * km for _, km, direction, _ in legs)
    parts = [f"{abs(east)} km {'east' if east > 0 else 'west'}"] if east else []
    if north:
        parts.append(f"{abs(north)} km {'north' if north > 0 else 'south'}")
    return f"The {goal} is {' and '.join(parts) or 'in the same place, 0 km'} of the {start}."


def _strip_article(place: str) -> str:
    name = place.strip()
    return name[4:] if name.lower().startswith("the ") else name


# --- Codes of things, languages taught by examples, and confidences.

_CODES = Patterns("codes")


# How each kind of secret is told, and how it is asked for.
_THINGS = _CODES.compile_group(WORDS["secrets"], "(?i)")
_TOLD = "confidence"


class Secrets(Topic):
    """Notes secrets, their owners and who may know them, and tells them to nobody else."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a speaker's own secret, or answer a speaker who gives the date."""
        text = turn.said or turn.text
        if _CODES.forget.search(text):
            return notes.drop(_TOLD)
        greeting = _CODES.greeting.search(text)
        if greeting is None:
            return None
        message = text[greeting.end() :]
        if greeting["day"]:
            return _answer_secret(
                greeting["who"], _day_of_year(greeting["day"]), message, notes
            )
        for number, (pattern, _) in enumerate(_THINGS):
            if match := pattern.search(message):
                until = _CODES.until.search(message)
                friend = _CODES.friend.search(message, match.end())
                secret = {
                    "thing": number,
                    "owner": greeting["who"],
                    "value": match[1],
                    "open": not _CODES.kept.search(message),
                    "friend": friend[1] if friend else "",
                    "until": _day_of_year(until[1]) if until else 0,
                }
                return notes.add(turn, _TOLD, secret)
        return None


def _answer_secret(
    asker: str, day: int, text: str, notes: ReaderNotebook
) -> str | None:
    """Return what a person asks for on a day, or a refusal; None if it is about no secret."""
    number = _number_of_thing(text)
    if number is None:
        return None
    facts = [fact for fact in notes.contents(_TOLD) if fact["thing"] == number]
    named_facts = [fact for fact in facts if re.search(rf"\b{fact['owner']}\b", text)]
    own_facts = [fact for fact in facts if fact["owner"] == asker]
    if not (named_facts or own_facts):
        return "You have not told me that."
    fact = (named_facts or own_facts)[0]
    allowed = (
        fact["open"]
        or asker in (fact["owner"], fact["friend"])
        or 0 < fact["until"] <= day
    )
    if allowed:
        return f"It is {fact['value']}."
    return "I can't tell you that; I was told in confidence."


def _number_of_thing(text: str) -> int | None:
    for number, (_, pattern) in enumerate(_THINGS):
        if pattern.search(text):
            return number
    return None


def _day_of_year(text: str) -> int:
    """Return the number of a day in its year, for comparison; 0 for an invalid date."""
    try:
        return datetime.strptime(f"{text} 2000", "%d %B %Y").timetuple().tm_yday  # noqa: DTZ007 - it has no time
    except ValueError:
        return 0


class Languages(
    Topic,
    kinds=("example", "kin"),
    about=_CODES.about_languages,
    forgets=_CODES.forgets_languages,
):
    """Keeps examples of languages, and composes new phrases from their parts."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note examples, each a phrase and its form in either order, or answer a question for a form."""
        mention = _CODES.language.search(turn.text)
        quoted = _CODES.quoted.findall(turn.text)
        if mention is None or not quoted:
            return None
        if len(quoted) == 1:
            language = mention["name"]
            examples = notes.contents("example")
            related = {language}
            for kin in notes.contents("kin"):
                if language in kin:
                    related.update(kin)
            if examples:
                return _build_form(
                    quoted[0],
                    language,
                    [example for example in examples if example[0] in related],
                )
            return None
        pairs = []
        for pair in zip(quoted[::2], quoted[1::2], strict=False):
            pairs.append(sorted(pair, key=_WORDS, reverse=True))
        if any(_WORDS(form) or not _WORDS(gloss) for gloss, form in pairs):
            return None
        if alike := _CODES.kin.search(turn.text):
            notes.add(turn, "kin", [alike["name"], alike["other"]])
        for gloss, form in pairs:
            notes.add(turn, "example", [mention["name"], gloss, form])
        return "Noted."


# The number of a quotation's words after the first: a phrase has some, a form none.
_WORDS = methodcaller("count", " ")


class _Phrase(NamedTuple):
    language: str
    noun: str
    said: frozenset[str]
    """The meanings of the phrase's other words, including the plural."""


def _build_form(gloss: str, language: str, examples: Sequence[Sequence[str]]) -> str:
    """Return the form of a phrase, from examples (language, phrase, form) of related languages."""
    forms = {_parse_phrase(name, meaning): form for name, meaning, form in examples}
    target = _parse_phrase(language, gloss)
    parts = dict[str, tuple[str, str]]()
    for phrase, form in forms.items():
        # An affix is the part of an example's form that the bare word lacks.
        root = forms.get(phrase._replace(said=frozenset()))
        if root is not None and len(phrase.said) == 1 and root in form:
            prefix, _, after = form.partition(root)
            parts[next(iter(phrase.said))] = prefix, after
    root = forms.get(target._replace(said=frozenset()))
    if root is None or not target.said <= parts.keys():
        return "I don't know: you have not told me that."
    longer_forms = []
    for phrase, form in forms.items():
        if phrase.said >= target.said:
            longer_forms.append(form)
    affixes = [parts[meaning] for meaning in sorted(target.said)]
    prefixes = [prefix for prefix, _ in affixes if prefix]
    suffixes = [suffix for _, suffix in affixes if suffix]
    before = _order_affixes(prefixes, longer_forms)
    after = _order_affixes(suffixes, longer_forms)
    return f"{before}{root}{after}"


def _parse_phrase(language: str, gloss: str) -> _Phrase:
    *modifiers, noun = gloss.split()
    plural = {"s"} if noun.endswith("s") else set()
    return _Phrase(
        language, noun.removesuffix("s"), frozenset({*modifiers} - {"the"} | plural)
    )


def _order_affixes(affixes: Sequence[str], forms: Iterable[str]) -> str:
    """Return the affixes of one side, in the order in which a known form has all of them."""
    # All orders are tried: a word has few affixes.
    orders = ["".join(order) for order in permutations(affixes)]
    for form in forms:
        for order in orders:
            if form.startswith(order) or form.endswith(order):
                return order
    return orders[0]


_VERBS = frozenset(WORDS["behind a thing"].split())


class Codes(
    Topic, kinds=("code",), about=_CODES.about_codes, forgets=_CODES.forgets_codes
):
    """Keeps codes of things, and looks them up, also through things with the same code."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a code, or that two are the same; answer a question once a code was told."""
        things = []
        for match in _CODES.thing.finditer(turn.text):
            things.append((match["owner"], match["thing"]))
        codes = _CODES.code.findall(turn.text)
        linked = (
            not codes
            and len(things) == _BOTH
            and _CODES.same.search(turn.text) is not None
        )
        if things and (len(codes) == 1 or linked):
            if _CODES.over.search(turn.text):
                return "Noted."
            return notes.add(turn, "code", [things, codes])
        told_codes = notes.contents("code") if len(things) == 1 and not codes else None
        if told_codes:
            return _code_of(*things[0], told_codes)
        return None


def _code_of(
    owner: str, thing: str, told_codes: Sequence[Sequence[Sequence[Sequence[str]]]]
) -> str:
    """Return the code of a thing, or of things known to have the same code."""
    near = [(owner, thing)]
    visited = set[tuple[str, str]]()
    while near:
        place = near.pop(0)
        visited.add(place)
        for things, codes in told_codes:
            if any(_is_same_thing(place, candidate) for candidate in things):
                if codes:
                    return str(codes[0])
                unseen = []
                for related_owner, related_thing in things:
                    related = (related_owner, related_thing)
                    listed = (*visited, *near)
                    if not any(_is_same_thing(related, other) for other in listed):
                        unseen.append(related)
                near += unseen
    return "I don't know."


def _is_same_thing(name: Sequence[str], other_name: Sequence[str]) -> bool:
    """Return whether two names mean the same thing, even if one has extra words."""
    (owner, thing) = name
    (other_owner, other_thing) = other_name
    first = thing.split()
    second = other_thing.split()
    names = owner.split()
    other_names = other_owner.split()
    # Several members of a family may have codes, and some are called by the family name
    # alone.
    is_named_alike = names[-1] == other_names[-1] and (
        names == other_names or len(names) != len(other_names)
    )
    return is_named_alike and (
        first == second
        or _is_short_form(first, second)
        or _is_short_form(second, first)
    )


def _is_short_form(name: Sequence[str], longer: Sequence[str]) -> bool:
    """Return whether both begin alike, and a second word belongs to the sentence rather than to the name."""
    return name[0] == longer[0] and (
        len(name) == 1 or len(longer) == 1 or bool({name[1], longer[1]} & _VERBS)
    )
