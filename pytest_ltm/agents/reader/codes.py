"""Codes of people's things, languages that are taught by examples, and what is told in confidence."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import permutations
from operator import methodcaller
from typing import TYPE_CHECKING, NamedTuple

from pytest_ltm.agents.reader.notes import WORDS, IncomingTurn, Patterns, ReaderNotebook, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_RE = Patterns("codes")


# How it is told, and how it is asked for.
_THINGS = _RE.compile_group(WORDS["secrets"], "(?i)")
_TOLD = "confidence"


class Secrets:
    """Notes whose something is and who may know it, and tells it to nobody else."""

    def respond(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note what somebody says that is theirs, or answer somebody who says which day it is."""
        if not turn.is_brief:
            return None
        text = turn.said or turn.text
        if _RE.forget.search(text):
            return notes.drop(_TOLD)
        greeting = _RE.greeting.search(text)
        if greeting is None:
            return None
        rest = text[greeting.end() :]
        if greeting["day"]:
            return _answer_secret(greeting["who"], _day_of_year(greeting["day"]), rest, notes)
        for number, (told, _) in enumerate(_THINGS):
            if match := told.search(rest):
                until, friend = _RE.until.search(rest), _RE.friend.search(rest, match.end())
                secret = {
                    "thing": number, "owner": greeting["who"], "value": match[1], "open": not _RE.kept.search(rest),
                    "friend": friend[1] if friend else "", "until": _day_of_year(until[1]) if until else 0,
                }  # fmt: skip
                return notes.add(turn, _TOLD, secret)
        return None


def _answer_secret(who: str, day: int, text: str, notes: ReaderNotebook) -> str | None:
    """Return what somebody asks for on a day, or that they may not know it; None if it is about nothing of the kind."""
    number = next((number for number, (_, asked) in enumerate(_THINGS) if asked.search(text)), None)
    if number is None:
        return None
    facts = [note.content for note in notes.visible(_TOLD) if note.content["thing"] == number]
    named = [fact for fact in facts if re.search(rf"\b{fact['owner']}\b", text)]
    own = [fact for fact in facts if fact["owner"] == who]
    if not (named or own):
        return "You have not told me that."
    fact = (named or own)[0]
    allowed = fact["open"] or who in (fact["owner"], fact["friend"]) or 0 < fact["until"] <= day
    return f"It is {fact['value']}." if allowed else "I can't tell you that; I was told in confidence."


def _day_of_year(text: str) -> int:
    """Return the place of a day in its year, for comparing; 0 for what is none."""
    try:
        return datetime.strptime(f"{text} 2000", "%d %B %Y").timetuple().tm_yday  # noqa: DTZ007 - it has no time
    except ValueError:
        return 0


class Languages(Topic, kinds=("example", "kin"), about=_RE.about_languages, forgets=_RE.forgets_languages):
    """Keeps examples of languages, and puts new phrases together from their parts."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note examples, each a phrase and its form in either order, or answer a question for a form."""
        named, quoted = _RE.language.search(turn.text), _RE.quoted.findall(turn.text)
        if named is None or not quoted:
            return None
        if len(quoted) == 1:
            language, known = named["name"], notes.contents("example")
            kin = [note.content for note in notes.visible("kin") if language in note.content]
            related = {language, *(name for names in kin for name in names)}
            return _build_form(quoted[0], language, [one for one in known if one[0] in related]) if known else None
        pairs = [sorted(pair, key=_WORDS, reverse=True) for pair in zip(quoted[::2], quoted[1::2], strict=False)]
        if any(_WORDS(form) or not _WORDS(gloss) for gloss, form in pairs):
            return None
        if alike := _RE.kin.search(turn.text):
            notes.add(turn, "kin", [alike["name"], alike["other"]])
        for gloss, form in pairs:
            notes.add(turn, "example", [named["name"], gloss, form])
        return "Noted."


# How many words a quotation has beside the first: a phrase has some, a form none.
_WORDS = methodcaller("count", " ")


class _Phrase(NamedTuple):
    language: str
    noun: str
    said: frozenset[str]
    """What the other words of the phrase say of it, the plural included."""


def _build_form(gloss: str, language: str, known: Sequence[Sequence[str]]) -> str:
    """Return the form of a phrase, from examples (language, phrase, form) of languages that are built alike."""
    forms = {_parse_phrase(name, one): form for name, one, form in known}
    asked, parts = _parse_phrase(language, gloss), dict[str, tuple[str, str]]()
    for phrase, form in forms.items():
        # The beginning or the ending that says a thing is what its example has beside the bare word.
        root = forms.get(phrase._replace(said=frozenset()))
        if root is not None and len(phrase.said) == 1 and root in form:
            before, _, after = form.partition(root)
            parts[next(iter(phrase.said))] = before, after
    root = forms.get(asked._replace(said=frozenset()))
    if root is None or not asked.said <= parts.keys():
        return "I don't know: you have not told me that."
    shown = [form for phrase, form in forms.items() if phrase.said >= asked.said]
    sides = ([parts[one][side] for one in sorted(asked.said) if parts[one][side]] for side in (0, 1))
    return root.join(_order_affixes(affixes, shown) for affixes in sides)


def _parse_phrase(language: str, gloss: str) -> _Phrase:
    *others, noun = gloss.split()
    plural = {"s"} if noun.endswith("s") else set()
    return _Phrase(language, noun.removesuffix("s"), frozenset({*others} - {"the"} | plural))


def _order_affixes(affixes: Sequence[str], shown: Iterable[str]) -> str:
    """Return affixes of one side in the order that one of the forms has that were shown with all of them."""
    # All orders are tried: a word has few affixes.
    orders = ["".join(order) for order in permutations(affixes)]
    return next(
        (order for form in shown for order in orders if form.startswith(order) or form.endswith(order)), orders[0]
    )


_BOTH = 2
_VERBS = frozenset(WORDS["behind a thing"].split())


class Codes(Topic, kinds=("code",), about=_RE.about_codes, forgets=_RE.forgets_codes):
    """Keeps what is said of codes, and looks up that of a thing, also by things that have the same one."""

    def read(self, turn: IncomingTurn, notes: ReaderNotebook) -> str | None:
        """Note a code or that two are the same, or answer a question once anything of the kind was told."""
        things = [(match["owner"], match["thing"]) for match in _RE.thing.finditer(turn.text)]
        codes = _RE.code.findall(turn.text)
        linked = not codes and len(things) == _BOTH and _RE.same.search(turn.text) is not None
        if things and (len(codes) == 1 or linked):
            return "Noted." if _RE.over.search(turn.text) else notes.add(turn, "code", [things, codes])
        known = notes.contents("code") if len(things) == 1 and not codes else None
        return _code_of(*things[0], known) if known else None


def _code_of(owner: str, thing: str, known: Sequence[Sequence[Sequence[Sequence[str]]]]) -> str:
    """Return the code of a thing, or of what has the same one, from one to the next."""
    near, seen = [(owner, thing)], set[tuple[str, str]]()
    while near:
        place = near.pop(0)
        seen.add(place)
        for things, codes in known:
            if any(_is_same_thing(place, other) for other in things):
                if codes:
                    return str(codes[0])
                near += [
                    other
                    for other in ((owner, thing) for owner, thing in things)
                    if not any(_is_same_thing(other, one) for one in (*seen, *near))
                ]
    return "I don't know."


def _is_same_thing(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two are the same thing: what follows its name may be taken for a part of it."""
    (owner, thing), (whose, what) = one, other
    first, second, names, others = thing.split(), what.split(), owner.split(), whose.split()
    # Of a family several may have codes, and some are called by its name alone.
    is_named_alike = names[-1] == others[-1] and (names == others or len(names) != len(others))
    return is_named_alike and (first == second or _is_short_form(first, second) or _is_short_form(second, first))


def _is_short_form(name: Sequence[str], longer: Sequence[str]) -> bool:
    """Return whether both begin alike, and a second word belongs to the sentence rather than to the name."""
    return name[0] == longer[0] and (len(name) == 1 or len(longer) == 1 or bool({name[1], longer[1]} & _VERBS))
