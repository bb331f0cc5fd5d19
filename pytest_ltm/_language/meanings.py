"""Words by what they mean: one key for words that mean the same, and which words say little."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from rapidfuzz.distance import OSA, Indel, Prefix

from pytest_ltm._language.numbers import words_with_digits
from pytest_ltm._language.words import STOP_WORDS, plain_words, word_stem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def _ignored_stems(*some: str) -> frozenset[str]:
    return frozenset(map(word_stem, " ".join(some).split()))


_SAME = {
    word_stem(word): word_stem(group.split()[0])
    for group in (
        "mother mum mom mummy mommy", "father dad daddy", "grandmother grandma granny gran nan",
        "grandfather grandpa granddad grandad", "stepfather stepdad", "stepmother stepmum stepmom",
        "child children kid kids", "bicycle bike", "motorcycle motorbike", "car automobile", "truck lorry",
        "plane airplane aeroplane", "refrigerator fridge", "television tv telly", "telephone phone", "film movie",
        "photograph photo picture pic", "apartment flat", "holiday vacation", "autumn fall", "doctor physician gp",
        "physiotherapist physio", "veterinarian vet", "lawyer attorney solicitor", "sofa couch settee",
        "university uni", "mathematics maths math", "laboratory lab", "examination exam", "advertisement advert ad",
        "shop store", "present gift", "sick ill", "trousers pants", "sweater jumper pullover", "zucchini courgette",
        "eggplant aubergine", "cilantro coriander", "cookie biscuit", "candy sweets", "trash rubbish garbage",
        "colleague coworker", "dessert pudding", "baby infant newborn", "large big", "small little",
        "begin began begun", "buy bought purchase", "break broke broken", "build built", "choose chose chosen",
        "draw drew drawn", "drink drank drunk", "drive drove driven", "eat ate eaten", "feel felt",
        "fly flew flown", "grow grew grown", "lead led", "leave left", "lose lost", "meet met",
        "ride rode ridden", "run ran", "sell sold", "sing sang sung", "speak spoke spoken", "swim swam swum",
        "teach taught", "win won", "write wrote written", "man men", "woman women",
    )
    for word in group.split()
}  # fmt: skip
# An answer may leave these out, and does not become another one by them.
LIGHT = _ignored_stems(
    "go went gone do does did make makes made take took taken have give gave given use keep kept start new old one two",
    "three both each play everything thing time",
)
# Words with which an answer says that it is one.
FRAME = _ignored_stems(
    "mention tell told talk chat session conversation remember recall believe think thought guess according based",
    "answer user called named name note history message earlier last ago yes sure well also really actually",
    "specifically currently together probably likely possibly perhaps maybe might may must seem total end ended",
    "decided since because",
)
_ROOT, _MOSTLY = 5, 0.7
_BEGINNING, _ALIKE, _LONG = 4, 0.65, 7


def meaning_key(word: str) -> str:
    """Return what a word, in plain form, has in common with all that mean the same."""
    one = word_stem(word)
    return _SAME.get(one, one)


STOPS = frozenset(map(meaning_key, STOP_WORDS))


def meaning_keys(text: str) -> list[str]:
    """Return the keys of a text's words, its numbers in digits."""
    return [meaning_key(word) for word in words_with_digits(plain_words(text))]


def telling_keys(text: str) -> list[str]:
    """Return the keys of a text's words that carry meaning."""
    return [one for one in meaning_keys(text) if one not in STOPS]


def compound_keys(text: str) -> frozenset[str]:
    """Return the keys of each two neighbours of a text, written as one word."""
    return frozenset(meaning_key(one + other) for one, other in pairwise(plain_words(text)))


def found_in(wanted: Sequence[str], texts: Iterable[str]) -> frozenset[str]:
    """Return which of the wanted keys are among those of a text, in another form or two of them as one word, too."""
    every = frozenset(texts)
    joined = {one for pair in pairwise(wanted) if "".join(pair) in every for one in pair}
    return frozenset(one for one in wanted if one in joined or one in every or any(is_of_root(one, k) for k in every))


def misspelled_in(wanted: Sequence[str], texts: Sequence[str]) -> frozenset[str]:
    """Return which of the wanted words are among those of a text; a long one with a wrong letter if all others are."""
    same = frozenset(wanted).intersection(texts)
    left = [one for one in wanted if one not in same]
    if same and len(left) == 1 and len(left[0]) >= _LONG and any(OSA.distance(left[0], one) == 1 for one in texts):
        return frozenset(wanted)
    return same


def is_of_root(one: str, other: str) -> bool:
    """Return whether two words are of one root: they begin with the same letters, that are most of the longer one."""
    shared = Prefix.similarity(one, other)
    return one.isalpha() and shared >= max(_ROOT, _MOSTLY * max(len(one), len(other)))


def is_like(one: str, other: str) -> bool:
    """Return whether two words may be meant alike: they begin alike, or one may be the other misspelled."""
    if Prefix.similarity(one, other) >= _BEGINNING:
        return True
    return len(one) > _ROOT and Indel.normalized_similarity(one, other) >= _ALIKE
