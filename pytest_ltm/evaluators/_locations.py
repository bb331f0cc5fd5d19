"""Directions: legs are walked on a grid; distance and direction from one place to another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct, structs

from pytest_ltm.api.model import (
    Score,
    Scoring,
    casefold_plain,
    evidence_snippet,
    plain_words,
    space_delimited,
)
from pytest_ltm.evaluators._rules import LEXICON, Ruled
from pytest_ltm.language.clauses import normalize_text, split_sentences
from pytest_ltm.language.commitment import Mention, doubt_about, last_word, trim_flood
from pytest_ltm.language.english import is_english
from pytest_ltm.language.json_values import json_values
from pytest_ltm.language.numbers import NUMBERS, ONES, TENS
from pytest_ltm.language.recital import REPEATS, recites_messages

Point: TypeAlias = tuple[float, float]

# One kilometre in each direction, as (east, north).
UNIT: dict[str, Point] = {
    "north": (0, 1),
    "south": (0, -1),
    "east": (1, 0),
    "west": (-1, 0),
}

_SHORT = {way[0]: way for way in UNIT}
_OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
_WAYS = "|".join(UNIT)
_ONE = "|".join((*ONES, *TENS, "a", "an", r"half\sa"))
RE = LEXICON.expressions("locations", one=_ONE, spelled="|".join((*ONES, *TENS)))
_LIES = frozenset(
    ["is", "lies", "sits", "was", "located", "situated", "which", "being"]
)
_STOPS = frozenset(".!?;")
_ARTICLES = frozenset(("the", "a", "an"))


class Leg(Struct, frozen=True):
    """One leg of a route; parts that the text does not name are None."""

    km: float | None = None
    way: str | None = None
    """`north`, `south`, `east` or `west`; `?` for a direction between them."""
    origin: str | None = None
    goal: str | None = None

    @property
    def whole(self) -> bool:
        """Whether the leg has a distance and one of the four directions."""
        return self.km is not None and self.way in UNIT


def _move(leg: Leg) -> tuple[float | None, str | None]:
    return leg.km, leg.way


def _turned_round(leg: Leg) -> Leg:
    return structs.replace(leg, way=_OPPOSITE.get(leg.way or "", leg.way))


class _Token(Struct, frozen=True):
    kind: str
    text: str


def read_legs(text: str, places: Sequence[str]) -> list[Leg]:
    """Return the legs in a text, in order; places are matched as words, the longest name first."""
    names: list[tuple[tuple[str, ...], str]] = []
    longest = 1
    for place in dict.fromkeys(places):
        name = tuple(word for word in plain_words(place) if word not in _ARTICLES)
        if name:
            names.append((name, place))
            longest = max(longest, len(name))
    # the longest first: the name of one place may begin with that of another
    names.sort(key=lambda name: -len(name[0]))
    tokens: list[_Token] = []
    # the lookahead is limited to the longest name, so the time is linear
    ahead: list[_Token] = []
    for match in RE.token.finditer(casefold_plain(text)):
        if match[0] not in _ARTICLES:
            ahead.append(_Token(match.lastgroup or "word", match[0]))
            tokens += _shift_names(ahead, names) if len(ahead) >= longest else ()
    while ahead:
        tokens += _shift_names(ahead, names)
    return _Legs().read(tokens)


def walk_legs(legs: Sequence[Leg]) -> Point:
    """Return the end of the legs, in kilometres east and north of their start."""
    x = y = 0.0
    for leg in legs:
        if leg.whole:
            east, north = UNIT[leg.way or ""]
            x += east * (leg.km or 0)
            y += north * (leg.km or 0)
    return round(x, 3), round(y, 3)


def _shift_names(
    ahead: list[_Token], names: Sequence[tuple[tuple[str, ...], str]]
) -> Iterator[_Token]:
    first = ahead[0].text
    for name, place in names:
        # most tokens begin no name
        if name[0] != first:
            continue
        if name == tuple(token.text for token in ahead[: len(name)]):
            del ahead[: len(name)]
            yield _Token("place", place)
            return
    yield ahead.pop(0)


class _Legs:
    """Collects legs from tokens; a leg ends with its line, or before the next distance or direction."""

    def __init__(self) -> None:
        self.legs: list[Leg] = []
        self.leg = Leg()
        self.last = _Token("line", "")
        self.parts = ""
        """The kinds of the leg's parts, in order: `k` for its distance, `w` for its direction."""
        self.heading: str | None = None
        """The place announced as the leg's goal, by the line or before a bracket."""
        self.departed = False
        """Whether the line has named a place to leave."""
        self.describing = False
        """Whether the sentence describes where the goal lies, which is not a leg."""
        self.ended = ""
        """The separator since the leg's last part: "." for a sentence, "->" for a step, "" for none."""
        self.touching = False
        """Whether no place and no end of a sentence has followed the last distance."""
        self.aside = 0

    def read(self, tokens: Iterable[_Token]) -> list[Leg]:
        """Return the legs in all tokens."""
        for token in tokens:
            match token.kind:
                case "km":
                    self._distance(token.text)
                case "way" | "side":
                    way_word = (
                        token.text[:5] if token.text[:5] in UNIT else token.text[:4]
                    )
                    self._way("?" if token.kind == "side" else way_word)
                case "place":
                    self._place(token.text)
                case "open" | "close":
                    self._bracket(token.kind)
                case "end":
                    self.ended = "." if token.text in _STOPS else "->"
                    self.describing = False
                case "line":
                    # half a leg may continue on the next line, a heading may not
                    if self.leg.whole or not self.parts:
                        self._close()
                    self.heading = None
                    self.departed = False
                    self.describing = False
                    self.aside = 0
                case "colon" | "word":
                    self._other(token)
            self.touching = token.kind == "km" or (
                self.touching and token.kind not in ("place", "end", "line")
            )
            self.last = token
        self._close()
        return self.legs

    def _other(self, token: _Token) -> None:
        """Handle a colon, the initial of a direction, or a verb that describes where the goal lies."""
        if token.kind == "colon":
            announced = self.last.kind == "place" and not self.departed
            self.heading = self.last.text if announced else self.heading
        elif self.last.kind == "km" and token.text in _SHORT:
            self._way(_SHORT[token.text])
        elif self.last == _Token("place", self.leg.goal or "") and token.text in _LIES:
            self.describing = self.leg.whole

    def _distance(self, text: str) -> None:
        half = 0.5 if "half" in text else 0.0
        if digits := re.search(r"\d{1,6}(?:[.,]\d{1,3})?", text):
            km = float(digits.group().replace(",", "."))
        else:
            km = (
                half
                if text.startswith("half")
                else NUMBERS.get(plain_words(text)[0], 1) + half
            )
        # the same distance in brackets repeats the leg
        if self.describing or (self.aside and self.leg.whole and self.leg.km == km):
            return
        direction = None
        if self.leg.km is not None:
            direction = (
                self.leg.way
                if self.parts.endswith("ww") and self.last.kind == "way"
                else None
            )
            self._close()
        self._begin()
        self.leg = structs.replace(self.leg, km=km, way=direction or self.leg.way)
        self.parts += "k"

    def _way(self, direction: str) -> None:
        if self.describing:
            return
        is_repeated = (self.parts.endswith("wk") and self.touching) or (
            self.aside and self.leg.whole
        )
        if self.leg.way != direction or not (
            is_repeated or (self.leg.km is None and self.last.kind != "end")
        ):
            if self.leg.way is not None:
                self._close()
            self._begin()
            self.leg = structs.replace(self.leg, way=direction)
        self.parts += "w"

    def _begin(self) -> None:
        self.ended = ""
        if not self.parts:
            self.leg = Leg(origin=self.leg.origin, goal=self.heading)
            self.heading = None

    def _place(self, place: str) -> None:
        leg = self.leg
        if self.last.kind == "from":
            self.departed = True
            if leg.whole and self.ended and not self.aside:
                self._close()
                self.leg = Leg(origin=place)
            elif leg.origin is None:
                self.leg = structs.replace(leg, origin=place)
        elif self.parts and leg.goal is None and not (leg.whole and self.ended == "."):
            self.leg = structs.replace(leg, goal=place)

    def _bracket(self, kind: str) -> None:
        if kind == "close":
            self.aside = max(self.aside - 1, 0)
            return
        self.aside += 1
        if self.last.kind == "place" and (
            not self.parts or (self.leg.whole and self.leg.goal is not None)
        ):
            if self.leg.goal != self.last.text:
                self._close()
            self.heading = self.last.text if not self.parts else None

    def _close(self) -> None:
        if self.parts:
            self.legs.append(self.leg)
        self.leg = Leg()
        self.parts = ""


class LeadsTo(Ruled, Struct, frozen=True):
    """`current`: the share of legs that are right and in order; each extra leg costs one.

    `route` holds (kilometres, direction, place) for each leg; the first begins at
    `start`. A skipped place changes all legs after it. Several routes, or one that is
    only quoted, earn nothing. `v3.5`, `paper`: 1 if the directions lead to the end of
    the route; those rules have a model extract the legs, so a rule of ours stands in.
    """

    family: ClassVar[str] = "locations-directions"
    start: str
    route: tuple[tuple[float, str, str], ...]
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of right legs; by published rules, 1 if the directions reach the end, else 0."""
        answer = self.read_last(answers)
        places = (self.start, *(leg[2] for leg in self.route))
        goal = self.route[-1][2] if self.route else self.start
        if self.follows_own_rules and self.route:
            return self._leg_by_leg(answer, places, goal)
        told_legs = read_legs(answer, places)
        # an agent that was asked for JSON may have put the legs there
        if not (any(leg.whole for leg in told_legs)):
            told_legs = _legs_of_json(answer) or told_legs
        legs = first_telling(told_legs, self.start, goal)
        incomplete = next((leg for leg in legs if not leg.whole), None)
        value = 0.0
        reason = "tells no directions"
        if incomplete is not None:
            reason = f"a leg cannot be walked: {_legs_text([incomplete])}"
        elif legs:
            end = walk_legs(legs)
            true_legs: list[Leg] = []
            for km, direction, place in self.route:
                true_legs.append(Leg(km, direction.lower(), None, place))
            true_end = walk_legs(true_legs)
            value = float(end == true_end)
            reason = (
                f"the directions lead {_point_text(end)}, not {_point_text(true_end)}"
            )
            if value:
                reason = f"the directions lead to the right place, {_point_text(end)}"
        evidence = _legs_text(legs) or evidence_snippet(answer)
        return self.standing_in(
            Score(value, reason, rule=f"{self.family}/1", evidence=evidence)
        )

    def _leg_by_leg(self, answer: str, places: Sequence[str], goal: str) -> Score:
        def read(text: str) -> list[Leg]:
            moves = _exchange_sides(_in_kilometres(text), places)
            return _legs_of_json(text) or read_legs(
                _out_of_brackets(moves, places), places
            )

        def tells(text: str) -> bool:
            return sum(leg.whole for leg in read(text)) >= len(self.route)

        if recites_messages(answer):
            return self._score2(0, REPEATS, answer)
        text = trim_flood(_drop_corrections(last_word(answer, tells)), _may_tell)
        first = RE.first_distance.search(text)
        opening = split_sentences(text[: first.start()] if first else "") or [""]
        # the route is only quoted if the words before it say that it is unknown, or is
        # another one
        if RE.quotes_only.search(opening[-1]):
            return self._score2(0, "does not claim to know the way", answer)
        legs = read(text)
        for n, leg in enumerate(legs) if RE.same_way.search(text) else ():
            # "and two more": a leg without a direction keeps that of the previous leg
            former_way = legs[n - 1].way if n and leg.km is not None else None
            legs[n] = structs.replace(leg, way=leg.way or former_way)
        tellings = _split_tellings(legs, places)
        ways = {tuple(map(_move, telling)) for telling in tellings}
        if len(ways) > 1 and RE.either_way.search(text):
            return self._score2(0, "tells several ways", answer)
        legs = _chosen_telling(tellings, goal)
        if not legs and _is_in_another_language(answer, places):
            score = self._score2(0, "open: is in a language that no rule reads", answer)
            return replace(score, left_open=1.0)
        if not legs:
            return self._score2(0, "tells no directions", answer)
        return self._score_legs(legs)

    def _score_legs(self, legs: Sequence[Leg]) -> Score:
        """Return the share of the right legs, less those that are too many."""
        right = 0
        for leg, (km, direction, _) in zip(legs, self.route, strict=False):
            right += _move(leg) == (km, direction.lower())
        extra = max(len(legs) - len(self.route), 0)
        reason = f"{right} of {len(self.route)} legs are right"
        if extra:
            reason += f", {extra} too many"
        value = max(right - extra, 0) / max(len(self.route), 1)
        return self._score2(value, reason, _legs_text(legs))

    def _score2(self, value: float, reason: str, evidence: str) -> Score:
        return Score(
            float(value),
            reason,
            rule=f"{self.family}/2",
            evidence=evidence_snippet(evidence),
        )


def _is_in_another_language(text: str, places: Sequence[str]) -> bool:
    """Return whether none of a text's words, place names apart, are English; JSON does not count."""
    words = [*set(plain_words(text)).difference(plain_words(" ".join(places)))]
    return (
        "{" not in text
        and UNIT.keys().isdisjoint(words)
        and not is_english(" ".join(words))
    )


def _in_kilometres(text: str) -> str:
    """Return a text with metres as kilometres and initials of directions as words, without sums."""
    text = RE.metres.sub(
        lambda result: f"{int(re.sub(r'[,.]', '', result[1])) / 1000:g} km",
        RE.sum.sub(" ", text),
    )
    text = RE.letter_first.sub(
        lambda result: f"{_SHORT[result[1].lower()]} ", RE.either_km.sub("0", text)
    )
    if not re.search(
        r"\d ?(?:km|kilomet)|\bkilomet\w+\W{1,6}\d", text, re.IGNORECASE
    ) and not RE.word_km.search(text):
        # a single one may be a name: E4
        if len(RE.compass.findall(text)) > 1:
            text = RE.compass.sub(
                lambda result: f"{result[2]} km {_SHORT[result[1].lower()]}", text
            )
        text = RE.bare.sub(r"\2 km \1", text)
    return RE.no_unit.sub(r"\1 km ", text)


def _exchange_sides(text: str, places: Sequence[str]) -> str:
    """Rewrite sentences on how an earlier place lies as moves: "the mill is 2 km west of it"."""
    names = {name.casefold(): number for number, name in enumerate(places)}
    place = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    lies = rf"\b({place}) (?:is|lies) ([^.;,\n]{{1,20}}) ({_WAYS})(?:wards?)? of (?:the )?({place})\b"

    def exchange(match: re.Match[str]) -> str:
        origin, distance, way, goal, *_ = map(str.casefold, match.groups())
        if names[origin] >= names[goal]:
            return match[0]
        return f"{distance} {_OPPOSITE[way]} to the {goal}"

    so = rf"(?:,? so \w+(?: \w+)? (?:{_WAYS}))?"
    return re.sub(lies + so, exchange, text, flags=re.IGNORECASE)


def _chosen_telling(tellings: Sequence[list[Leg]], goal: str) -> list[Leg]:
    """Return the first telling that reaches the goal, else the last one."""
    for telling in tellings:
        if any(leg.goal == goal for leg in telling):
            return telling
    return tellings[-1] if tellings else []


def _out_of_brackets(text: str, places: Sequence[str]) -> str:
    """Return a text with each move before its place, if all moves are in brackets: "the opera (2 km east)"."""
    if not 1 < len(RE.in_brackets.findall(text)) == len(RE.distances.findall(text)):
        return text
    parts = []
    end = 0
    for match in RE.in_brackets.finditer(text):
        # the move in brackets leads to the last place named before it
        words_before = " ".join(plain_words(text[end : match.start()]))
        goal = ""
        latest = -1
        for place in places:
            position = words_before.rfind(" ".join(plain_words(place)))
            if position > latest:
                goal = place
                latest = position
        parts.append(f"{match[1]} to the {goal}")
        end = match.end()
    return "\n".join(parts)


def _drop_corrections(text: str) -> str:
    """Return a text without moves that are corrected at once: "5 km east, sorry, 5 km west"."""
    parts = []
    end = 0
    for match in RE.meant.finditer(text):
        since = max(end, match.start() - 40)
        move = RE.last_move.search(text[since : match.start()])
        if move:
            parts.append(text[end : since + move.start()])
            end = match.end()
    return "".join([*parts, text[end:]])


def _split_tellings(legs: Sequence[Leg], places: Sequence[str]) -> list[list[Leg]]:
    """Split legs into tellings of the route: each begins at the start, or after the goal is reached."""
    (start, first, *_) = places
    goal = places[-1]
    size = len(places) - 1
    tellings: list[list[Leg]] = [[]]
    for number, leg in enumerate(legs):
        arrived = bool(tellings[-1]) and tellings[-1][-1].goal == goal
        begins_again = arrived and (
            leg.goal == first
            or sum(later_leg.whole for later_leg in legs[number:]) >= size
        )
        if tellings[-1] and (leg.origin == start or begins_again):
            tellings.append([])
        tellings[-1].append(leg)
    return [once for telling in tellings if (once := _drop_repetition(telling))]


def _legs_of_json(answer: str) -> list[Leg]:
    """Return the legs of the first JSON list of objects with a direction and a number."""
    for value in json_values(answer):
        if isinstance(value, list):
            entries = value
        else:
            entries = next((e for e in value.values() if isinstance(e, list)), [])
        objects = [entry for entry in entries if isinstance(entry, dict)]
        legs = [leg for leg in map(_leg_of, objects) if leg.whole]
        if legs:
            return legs
    return []


def _leg_of(entry: Mapping[str, Any]) -> Leg:
    numbers: list[float] = []
    distances: list[str] = []
    ways: list[str] = []
    for key, value in entry.items():
        if isinstance(value, str):
            text = value.strip().lower()
            way = _SHORT.get(text, text)
            if way in UNIT:
                ways.append(way)
            if RE.distance.match(text):
                distances.append(text)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            name = str(key).lower()
            in_metres = name.endswith(("_m", "metres", "meters"))
            if name not in _ORDER:
                numbers.append(value / (1000 if in_metres else 1))
    if len(numbers) == len(ways) == 1:
        return Leg(numbers[0], ways[0])
    legs = read_legs(_in_kilometres(", ".join([*distances, *ways])), ())
    return legs[0] if len(legs) == 1 else Leg()


_ORDER = ("leg", "step", "no", "number", "order", "#")


def first_telling(legs: Sequence[Leg], start: str, goal: str) -> list[Leg]:
    """Return the legs of the first telling that reaches the goal, else of the last telling.

    A telling begins where a leg leaves the start; trailing legs without a usable
    distance or direction are dropped.
    """
    telling: list[Leg] = []
    for leg in legs:
        if leg.origin == start:
            telling = []
        telling.append(leg)
        if leg.goal == goal:
            break
    return _drop_repetition(telling)


def _drop_repetition(telling: Sequence[Leg]) -> list[Leg]:
    """Return a repeated route once, without trailing legs that cannot be walked."""
    complete = [n for n, leg in enumerate(telling) if leg.whole]
    size = complete[-1] + 1 if complete else 0
    legs = [leg for leg in telling[:size] if leg.whole or leg.way is not None]
    moves = list(map(_move, legs))
    # no answer repeats a route more often
    for times in range(2, 5):
        size, remainder = divmod(len(moves), times)
        if size > 1 and not remainder and moves == moves[:size] * times:
            return legs[:size]
    return legs


def _legs_text(legs: Sequence[Leg]) -> str:
    texts: list[str] = []
    for leg in legs[:20]:
        km = f"{leg.km:g}" if leg.km is not None else "?"
        texts.append(f"{km} km {leg.way or '?'} to {leg.goal or '?'}")
    return "; ".join(texts)


def _point_text(point: Point) -> str:
    return f"({point[0]:g} km east, {point[1]:g} km north)"


# --- Locations: the answer gives the distance and direction from one place to another.


class LiesAt(Ruled, Struct, frozen=True):
    """Full marks if the last answer concludes with the right distance and direction.

    The conclusion is the last sentence with one distance and one direction that names
    both places or has a word such as "therefore"; without such a sentence, the last one
    with a distance and a direction. An answer that only gives the route leg by leg
    earns 0. `v3.5`, `paper`: those rules ask a model, so the current rule stands in.
    """

    family: ClassVar[str] = "locations"
    km: float
    direction: str
    """`north`, `south`, `east` or `west`."""
    places: tuple[str, str] = ("", "")
    """The place from which, and the place to which, the direction is asked."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the conclusion is right, else 0."""
        answer = self.read_last(answers)
        sentence, legs = self._conclusion(answer)
        right = (
            len(legs) == 1 and legs[0].km == self.km and legs[0].way == self.direction
        )
        positions = " and ".join(f"{leg.km:g} km {leg.way}" for leg in legs[:5])
        reason = f"concludes with {positions}" + (
            "" if right else f", not {self.km:g} km {self.direction}"
        )
        reason = reason if legs else "tells no distance with a direction"
        evidence = evidence_snippet(sentence if legs else answer)
        return self.standing_in(
            Score(float(right), reason, rule=f"{self.family}/1", evidence=evidence)
        )

    def _conclusion(self, answer: str) -> tuple[str, list[Leg]]:
        places = tuple(place for place in self.places if place)
        pairs: list[tuple[str, list[Leg]]] = []
        best: list[tuple[str, list[Leg]]] = []
        for sentence in filter(_may_tell, RE.sentence_end.split(answer)):
            plain = normalize_text(sentence)
            spaced = space_delimited(sentence)
            match = RE.a_distance.search(plain)
            if match and doubt_about(plain, Mention(*match.span(), "")):
                continue
            legs: list[Leg] = []
            for leg in read_legs(sentence, places):
                if leg.km is not None and leg.way is not None:
                    legs.append(leg)
            names = map(space_delimited, places)
            both = len(places) > 1 and all(name in spaced for name in names)
            concludes = both or RE.concludes.search(spaced) is not None
            pairs += [(sentence, legs)] if legs else []
            best += [(sentence, legs)] if len(legs) == 1 and concludes else []
        sentence, legs = (best or pairs or [("", [])])[-1]
        start, goal = map(_place_pattern, self.places)
        if self.follows_own_rules and _is_exchanged(sentence, start, goal):
            legs = list(map(_turned_round, legs))
        return sentence, legs


def _place_pattern(place: str) -> str:
    return re.escape(" ".join(plain_words(place))) or "$^"


def _may_tell(sentence: str) -> bool:
    """Return whether a sentence may have a distance: a cheap check for the letter k."""
    return "k" in sentence or "K" in sentence or not sentence.isascii()


def _is_exchanged(sentence: str, start: str, goal: str) -> bool:
    """Return whether a sentence says where the start lies from the goal, given both as patterns."""
    backwards = (
        rf"^\W*(?:so )?(?:the )?{start} (?:is|lies|sits)\b.*\bof (?:the )?{goal}\W*$",
        rf"\bfrom (?:the )?{goal}\b[^.;]*\b(?:to|towards|reach) (?:the )?{start}\b",
        rf"\bof (?:the )?{goal},? (?:is|lies|sits|stands|you (?:will )?find) (?:the )?{start}\b",
        rf"^\W*(?:so )?(?:the )?{start} (?:is|lies|sits)\b.*\bfrom (?:the )?{goal}\W*$",
    )
    text = normalize_text(sentence)
    return any(re.search(pattern, text) for pattern in backwards)
