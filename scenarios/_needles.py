"""Needles: codes of people's things, told one by one, and facts that are nearly the same."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_ltm import Ask, Say, Wait
from pytest_ltm.locales import Language, either, worded

from ._first_names import GIVEN_NAMES
from ._inventions import Inventions

THINGS = (
    "locker",
    "bicycle lock",
    "garden gate",
    "safe",
    "burglar alarm",
    "tool shed",
    "briefcase",
    "letterbox",
    "cellar door",
    "garage",
    "suitcase",
    "summer house",
    "filing cabinet",
    "paint store",
    "rowing boat",
    "wine store",
    "greenhouse",
    "music room",
    "camper van",
    "key box",
    "darkroom",
    "loft hatch",
    "beach hut",
    "server rack",
)
NAMED = (
    (
        "[by the way, |for your notes: |before I forget: |so that somebody knows it: |]the code [for|of] {thing} is "
        "{code}."
    ),
    "the code that opens {thing} is {code}[.|, in case it comes up.|, and it won't change soon.|; please keep it.]",
    "[I'm sure that|it says here that|they tell me that] {code} is the code [for|of] {thing}[.|, if you're asked.]",
    "[I was told|I've just heard|it turns out|I found a note saying] that the code [for|of] {thing} is {code}.",
)
UNNAMED = (
    "[you open|to open|to get into] {thing} [with|you need|you type] {code}[.|, by the way.|, I'm told.|, no spaces.]",
    "{thing} [opens with|takes|needs] {code}[.|, as I found out.|, for now.|, whatever the sticker says.]",
    "[remember|keep in mind|note down][:|, please:] {thing}, {code}[.|, just that.|, lower case.]",
    "[type|enter|dial] {code}[ and|, then] {thing} [opens|is open][.|, they say.|, every time.]",
)
"""Half of what is told does not speak of a code."""
FORMER = (
    (
        "[until last month|before they changed it|for years] {thing} [opened with|took|needed] {code}[, but no "
        "longer.|; that is over.|, and now it doesn't any more.]"
    ),
    (
        "[mind that|you should know that|it's true that] {code} [used to open|was once the code for] {thing}[, but it "
        "doesn't any more.|; it has been changed.|, which is no use to anybody now.]"
    ),
    (
        "[forget|don't use|never mind] {code}[:|, please:] it [used to open|was once for] {thing}[, and no longer "
        "does.|. That's over.|, until it was changed.]"
    ),
)
"""What was so, and is so no longer."""
SAME = (
    "[by the way, |for your notes: |it's easy: |]{thing} [opens with|has|takes] the same code as {other}.",
    (
        "[for|to open|to get into] {thing}[,| you] [use|take|type] [the code of|what opens|what you type for] "
        "{other}[.|, that works.|: it's the same.]"
    ),
    "[what opens|the code for|whatever works for] {other} [also |]opens {thing}[, too|][.|, I'm told.|, oddly enough.]",
    (
        "they [gave|set] {thing} the [same code as|code of] {other}[.|, out of laziness.|, to keep it simple.|, so "
        "they say.]"
    ),
)
"""A link: one thing's code is another's."""
QUESTIONS = (
    (
        "[so, |tell me, |quick question: |remind me: |]what is the code [for|of] {thing}[ now|]? [Reply with|Give "
        "me|Say] the code only."
    ),
    (
        "[please |]give me the code that opens {thing}[ now|, please|]. [Nothing else.|Just the code.|The code "
        "alone, please.]"
    ),
    (
        "[I'm standing at|I need to get into|somebody wants to open] {thing}[:|,] [which|what] code [do I type|opens "
        "it]? [Only the code|Just the code], please."
    ),
)
RESET = "You can forget all the codes that I told you."
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
OWNERS = 24
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)


class Place(NamedTuple):
    """Something of somebody's that a code opens."""

    owner: str
    thing: str

    def said(self, language: Language) -> str:
        """Return `Nadia Velarmere's locker`."""
        return language.phrase(
            "needles.place",
            "{owner}'s {thing}",
            owner=self.owner,
            thing=language.word(self.thing),
        )


class Hay:
    """Draws places and codes, each of them once, and tells of them in a language."""

    def __init__(self, rng: random.Random, language: Language) -> None:
        self._rng = rng
        self.language = language
        self._codes: set[str] = set()
        self._places: set[Place] = set()
        names = Inventions(rng)
        given_names = rng.sample(GIVEN_NAMES, OWNERS)
        self.owners = [f"{given} {names.name()}" for given in given_names]
        """With surnames that nobody else has, for many examples share a conversation."""

    def place(self, owner: str = "", thing: str = "") -> Place:
        """Return a new place, of this owner or for this thing if they are given."""
        while True:
            result = Place(
                owner or self._rng.choice(self.owners),
                thing or self._rng.choice(THINGS),
            )
            if result not in self._places:
                self._places.add(result)
                return result

    def code(self) -> str:
        """Return a new code of two syllables and two digits, such as `vabi87`."""
        while True:
            syllables = "".join(
                self._rng.choice(CONSONANTS) + self._rng.choice(VOWELS)
                for _ in range(2)
            )
            code = f"{syllables}{self._rng.randint(10, 99)}"
            if code not in self._codes:
                self._codes.add(code)
                return code

    def near(self, place: Place, number: int) -> list[tuple[str, str]]:
        """Return so many sentences that are nearly about that place, each with its code, in turn of three kinds.

        Somebody else's thing of that kind, another thing of the same owner, and what
        opened the place before.
        """
        result = []
        for kind in range(number):
            code = self.code()
            if kind % 3 == 2:
                former = self.language.find_text("needles.former", FORMER)
                result.append(
                    (
                        worded(
                            self._rng,
                            former,
                            thing=place.said(self.language),
                            code=code,
                        ),
                        code,
                    )
                )
            else:
                other = (
                    self.place(thing=place.thing)
                    if kind % 3 == 0
                    else self.place(owner=place.owner)
                )
                result.append((self.told(other, code), code))
        return result

    def told(self, place: Place, code: str) -> str:
        """Return a sentence that tells a code."""
        named, unnamed = (
            self.language.find_text("needles.named", NAMED),
            self.language.find_text("needles.unnamed", UNNAMED),
        )
        return worded(
            self._rng,
            either(self._rng, named, unnamed),
            thing=place.said(self.language),
            code=code,
        )

    def linked(self, one: Place, other: Place) -> str:
        """Return a sentence that says that two things have the same code."""
        wordings = self.language.find_text("needles.same", SAME)
        return worded(
            self._rng,
            wordings,
            thing=one.said(self.language),
            other=other.said(self.language),
        )


def asked(rng: random.Random, place: Place, language: Language) -> str:
    """Return the question for a thing's code."""
    return worded(
        rng,
        language.find_text("needles.questions", QUESTIONS),
        thing=place.said(language),
    )


def depth_of(rng: random.Random, parameters: Mapping[str, Any]) -> float:
    """Return where the needle is told, from 0 (first) to 1 (last): drawn from the parameter `depths`.

    ValueError if that is not a list of such numbers.
    """
    depths = parameters.get("depths", DEPTHS)
    listed = (
        depths
        if isinstance(depths, Sequence) and not isinstance(depths, str)
        else [depths]
    )
    for depth in listed:
        if (
            not isinstance(depth, (int, float))
            or isinstance(depth, bool)
            or not 0 <= depth <= 1
        ):
            raise ValueError(
                f"depths are numbers from 0 (told first) to 1 (told last), not {depth!r}"
            )
    if not listed:
        raise ValueError(
            "depths has no number: give some from 0 (told first) to 1 (told last)"
        )
    return float(rng.choice(listed))


def laid(
    told: Sequence[tuple[float, Say]], questions: Sequence[Ask], last: float
) -> tuple[Say | Ask | Wait, ...]:
    """Return messages at their depths of a share of the span, the first at its beginning, and then the questions."""
    steps: list[Say | Ask | Wait] = []
    for depth, said in sorted(told, key=lambda each: each[0]):
        if steps and depth > 0:
            steps.append(Wait(span=last * depth))
        steps.append(said)
    return (*steps, Wait(span=last), *questions)
