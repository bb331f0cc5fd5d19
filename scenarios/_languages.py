"""Languages that nobody speaks: words for things, with beginnings and endings that say more of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from pytest_ltm.locales import filled, worded

NOUNS = (
    "anchor",
    "barn",
    "barrel",
    "basket",
    "boat",
    "bridge",
    "bucket",
    "cabin",
    "cart",
    "crate",
    "drum",
    "kettle",
    "ladder",
    "lantern",
    "raft",
    "stove",
    "tent",
    "tower",
    "wagon",
    "windmill",
)
PLURAL, OWNER, QUALITY, PLACE = "plural", "owner", "quality", "place"
WORDS = {
    PLURAL: ("s",),
    OWNER: ("my", "your", "our", "her", "their"),
    QUALITY: ("old", "red", "small", "heavy", "wet", "empty", "broken"),
    PLACE: ("behind", "under", "near", "above", "around", "opposite", "beside"),
}
"""What can be said of a thing, of each kind at most one at once: the plural, whose, what like, and where."""
PAIRS = (
    "'{gloss}' [is|would be|comes out as|becomes|translates as] '{form}'",
    "for '{gloss}' [it is|you say|they say|they use|one says] '{form}'",
    "[if you mean|when you mean|to say] '{gloss}', you [say|use|write] '{form}'",
    "'{form}' [means|is|stands for|is how they say|is what they say for] '{gloss}'",
)
FIRST_LESSONS = (
    (
        "[I'd like to|I want to|let me] teach you {language}, [a language that hardly anybody speaks|the language of "
        "my grandmother's village|a small language]. [I'll give you examples and ask|There will be examples, and "
        "questions] now and then[.|, and you'll hear whether you're right.] To begin with, in {language} {pairs}."
    ),
)
LESSONS = (
    (
        "[let's go on with|here is|time for|now for|I'd like to teach you|please learn] [some more|a little|a bit more|"
        "a few phrases] of {language}[: |, as I learnt it: |, phrase by phrase: ]{pairs}."
    ),
    (
        "[this is how they put it|so they say|a few phrases as they are|from my notes|this much is certain] in "
        "{language}[: |, word for word: |, if you're ready: ]{pairs}."
    ),
)
QUESTIONS = (
    "[so, |now you: |your turn: |a question: |let's see: |and ]how [do|would] you say '{gloss}' in {language}? {only}",
    "[please |now please |go ahead and |]put '{gloss}' into {language}. {only}",
    "[please |now please |]tell me how [one says|they say|to say] '{gloss}' in {language}. {only}",
    "[so |and now |now |]what is '{gloss}' in {language}[ then|, do you think|]? {only}",
)
ONLY = (
    "[just|only] the [word|one word], please.",
    "[just|only] the word.",
    "[give me|reply with|I only need] the [word|one word] alone.",
)
RIGHT = (
    "[right|correct|exactly|that's it|yes|that's right][.|, thank you.|, just so.|; you're learning.|, well done.]",
)
WRONG = (
    (
        "[no|not quite|sorry, no|that isn't it|not this time|I'm afraid not][: |; |. Here it is: |. For next "
        "time: ]in {language} '{gloss}' is '{form}'[.|; please keep it in mind.]"
    ),
)
PREFIX, SUFFIX = "prefix", "suffix"
_MIDDLES = ("zm", "lz", "vr", "kt", "dv", "zr", "gl", "pf", "tk", "vn", "zg", "ld")
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


class Feature(NamedTuple):
    """Something that can be said of a thing, in English a word or the `s` of the plural."""

    kind: str
    word: str


class Phrase(NamedTuple):
    """A thing and what is said of it."""

    noun: str
    features: frozenset[Feature] = frozenset()

    @property
    def gloss(self) -> str:
        """The phrase in English: `behind my old boats`."""
        entries = {feature.kind: feature.word for feature in self.features}
        words = (
            entries.get(PLACE),
            entries.get(OWNER, "the"),
            entries.get(QUALITY),
            self.noun + entries.get(PLURAL, ""),
        )
        return " ".join(filter(None, words))


class Morphemes:
    """Draws the parts of words, each of them once: of two languages none is alike."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._made: set[str] = set()

    def root(self) -> str:
        """Return a word for a thing, such as `tuzma`; only such words have two consonants in a row."""
        return self._new(
            lambda: (
                f"{self._syllable()}{self._rng.choice(_MIDDLES)}{self._rng.choice(_VOWELS)}"
            )
        )

    def affix(self) -> str:
        """Return a beginning or an ending, such as `fe`."""
        return self._new(self._syllable)

    def _syllable(self) -> str:
        return self._rng.choice(_CONSONANTS) + self._rng.choice(_VOWELS)

    def _new(self, make: Callable[[], str]) -> str:
        while (made := make()) in self._made:
            pass
        self._made.add(made)
        return made


class Structure:
    """Which beginning or ending says what, and in which order they stand: what languages may share."""

    def __init__(self) -> None:
        self._affixes: dict[Feature, tuple[str, str]] = {}
        self._order: list[Feature] = []
        """From the thing's word outwards."""

    def add(self, rng: random.Random, feature: Feature, affix: str, side: str) -> None:
        """Let an affix on one side say something, at any place among those that stand there."""
        self._affixes[feature] = (affix, side)
        self._order.insert(rng.randint(0, len(self._order)), feature)

    def side(self, feature: Feature) -> str:
        """Return where its affix stands."""
        return self._affixes[feature][1]

    def form(self, root: str, features: frozenset[Feature]) -> str:
        """Return a thing's word with all that is said of it."""
        for feature in self._order:
            if feature in features:
                affix, side = self._affixes[feature]
                root = affix + root if side == PREFIX else root + affix
        return root


def pairs_of(features: Sequence[Feature]) -> Iterator[frozenset[Feature]]:
    """Yield all pairs that can be said of one thing together."""
    for feature, other in combinations(features, 2):
        if feature.kind != other.kind:
            yield frozenset((feature, other))


def paired(rng: random.Random, examples: Sequence[tuple[str, str]]) -> str:
    """Return pairs of a phrase and its form as one sentence."""
    pairs = []
    for gloss, form in examples:
        pairs.append(filled(rng, rng.choice(PAIRS)).format(gloss=gloss, form=form))
    return "; ".join(pairs)


def told_forms(language: str, examples: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return what such pairs tell."""
    return {f"{gloss} in {language}": form for gloss, form in examples}


def question(rng: random.Random, gloss: str, language: str) -> str:
    """Return a question for the form of a phrase."""
    return worded(
        rng, QUESTIONS, gloss=gloss, language=language, only=worded(rng, ONLY)
    )
