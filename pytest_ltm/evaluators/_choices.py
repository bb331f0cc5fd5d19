"""One of several: the numbered option that fits, and the one place or person."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pytest_ltm._language.clauses import clause, level, places
from pytest_ltm._language.commitment import Mention, alternative, commitment, doubt, misspelt, spoken
from pytest_ltm._language.json import NoJSON, published_json, values
from pytest_ltm._language.numbers import COUNTS, ORDINALS
from pytest_ltm._language.patterns import later
from pytest_ltm._language.proof import Proof, prove
from pytest_ltm._language.words import joined, plain, snippet, words
from pytest_ltm.evaluators._rules import Ruled, last

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._model.score import Score, Scoring


_DIGITS = later(r"\d+")
_LONGEST_NUMBER = 9
_OPTION = "options?|endings?|choices?|passages?|continuations?|beginnings?|openings?|numbers?|no|nr|answer|candidates?"
_NUMBER_WORD = "|".join(("one", *COUNTS))
_NUMBER = later(
    rf"(?P<digits>(?<![\w.,:])#?\d+(?:st|nd|rd|th)?(?![\w%])(?!\.\d))"
    rf"|\b(?:{_OPTION}) (?P<word>{_NUMBER_WORD})\b"
    rf"|\b(?P<ordinal>{'|'.join(ORDINALS)}) (?:{_OPTION}|one)\b"
    rf"|(?:\b(?:its|is|be|pick|choose|say|with|for)|:) (?P<bare>{_NUMBER_WORD})\b(?=\W*(?:$|[.,;!\n]))"
)
_COUNTED = later(rf"[ ]*(?:{_OPTION}|chapters?|pages?|of (?:them|the|these)|per ?cent|others?|times|years?|hours?)\b")
_BEFORE_COUNT = later(r"\b(?:chapters?|pages?|parts?|all|these|those|other|first|last|the)\s*$")


@dataclass(frozen=True, slots=True)
class PicksOption(Ruled):
    """Full marks if the last answer settles on the right option.

    `current`: the number that an answer ends with, decides on or names alone; number words and "the third option"
    count; options that are ruled out do not, nor do counts ("the 6 options", "chapter 5"). Several, or one that is
    denied, earn nothing. `v3.5` and `paper`: the set of numbers in the answer is {expected}.
    """

    family: ClassVar[str] = "chapterbreak"
    version: ClassVar[int] = 2
    expected: int
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer picks the option, else 0."""
        answers = self.read(answers)
        answer = last(answers)
        if self.current:
            return self.proven(self._proof(answer), str(self.expected), answer)
        picked = {_whole(digits) for digits in _DIGITS.findall(plain(answer))}
        said = ", ".join(sorted(str(n) for n in picked)[:6]) or "none"
        ok = picked == {self.expected}
        return self.score(ok, f"picks option {said}" + ("" if ok else f", not {self.expected}"), answer)

    def _proof(self, answer: str) -> Proof:
        said = joined(answer).strip()
        alone = COUNTS.get(said, ORDINALS.get(said, 1 if said == "one" else 0))
        return Proof("asserts", f"picks option {alone}", str(alone)) if alone else prove(answer, _numbers)


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else -1


def _numbers(text: str) -> list[Mention]:
    """Return where a levelled text names options; a number that counts something is none, unless there is no other."""
    found = [one for one in _NUMBER.finditer(text) if one["digits"] is None or not _counts(text, one)]
    labels = [one for one in found if _LABEL.match(text, one.start()) and _begins_line(text, one.start())]
    picks = [one for one in found if one not in labels] if len(labels) > 1 else found
    return [Mention(*one.span(), str(_value(one))) for one in picks or found]


_INDENT = 12


def _begins_line(text: str, start: int) -> bool:
    before = text[max(0, start - _INDENT) : start]
    return not before.rpartition("\n")[2].strip() and ("\n" in before or start < _INDENT)


_LABEL = later(r"\d+[.)] ")
"""What begins a line of a numbered list."""


def _counts(text: str, one: re.Match[str]) -> bool:
    before = _BEFORE_COUNT.search(text[max(0, one.start() - 12) : one.start()])
    return _COUNTED.match(text, one.end()) is not None or (before is not None and one["digits"].isdecimal())


def _value(found: re.Match[str]) -> int:
    if found["digits"]:
        return _whole("".join(_DIGITS.findall(found["digits"])))
    return ORDINALS[found["ordinal"]] if found["ordinal"] else COUNTS.get(found["word"] or found["bare"], 1)


# --- Sally-Anne: the answer names one place (or person), asked for as JSON `{"answer": "word"}`.

_REALLY = later(r"\b(?:really|actually|in fact|in reality|in truth|truly|true (?:place|location))\b")
_NOW = later(r"\b(?:now|currently|by then|in the end)\b")
_SEARCHES = later(r"\b(?:look|search|think|belie[fv]|expect|find|check|go|assum|answer)")
_TAG = later(r"</?[a-z]+>", re.IGNORECASE)
_LOOKS = later(
    r"\b(?:look|search|think|belie[fv]|expect|find|check|go|assum)[a-z]*\b[^.!?\n]{0,120}?"
    r"\b(?:in|inside|at|on|under|into|to) (?:the|a|an) (?:[^\W_]+ ){0,2}$"
)


@dataclass(frozen=True, slots=True)
class AnswersWord(Ruled):
    """Full marks if the `answer` of the JSON in the last answer is the expected word.

    `current` takes the last such JSON and the only place that its text names; without JSON, the place on which the
    answer settles, else the one where somebody is said to look. Where the thing really is is an aside. `v3.5` and
    `paper`: the value of `answer`, in lower case, equals the expected word.
    """

    family: ClassVar[str] = "sally-anne"
    version: ClassVar[int] = 2
    expected: str
    others: tuple[str, ...] = ()
    """The other places of the story."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer is the word, else 0."""
        answers = self.read(answers)
        answer = last(answers)
        if self.current:
            said = self._said(answer)
            ok = said == self.expected
        else:
            said = _published(answer)
            ok = said is not None and said.lower() == self.expected.lower()
        reason = f"says {snippet(said, 80)!r}" if said is not None else "gives no answer"
        reason += "" if ok else f", not {self.expected!r}"
        return self.score(ok, reason, answer)

    def _said(self, answer: str) -> str | None:
        text = _TAG.sub(" ", spoken(answer))
        found = [said for value in values(text) if (said := _answer_of(value)) is not None]
        if found:
            return self._named(found[-1])
        plainly = level(text)
        looked = {one.value: one for one in self._looked_in(plainly)}
        if len(looked) == 1:
            place, one = looked.popitem()
            return None if alternative(plainly, one) else place
        settled = commitment(text, self._places)
        return settled.pop() if len(settled) == 1 else None

    def _looked_in(self, text: str) -> Iterator[Mention]:
        """Yield the first place after each word of looking or believing."""
        named = self._places(text)
        for number, one in enumerate(named):
            since = named[number - 1].end if number else 0
            if _LOOKS.search(text[since : one.start][-160:]) and not doubt(text, one):
                yield one

    def _named(self, said: str) -> str:
        """Return the place that a JSON answer names: the only one, else what it says."""
        settled = commitment(said, self._places)
        return settled.pop() if len(settled) == 1 else said

    def _places(self, text: str) -> list[Mention]:
        names = (self.expected, *self.others)
        found = [Mention(*spot, name) for name in names for spot in _spots(text, name)]
        found = sorted(found, key=lambda one: one.start)[-_MOST:]
        known = [one for one in found if not any(_inside(one, other) for other in found)]
        asides = [one for one in known if _is_aside(" ".join(clause(text, one.start, one.end)))]
        return sorted((one for one in known if one not in asides), key=lambda one: one.start)


_MOST = 120
"""So many mentions, the last ones, are looked at: the time is linear."""


def _is_aside(said: str) -> bool:
    """Tell whether a clause says where the thing really is."""
    return _REALLY.search(said) is not None or (_NOW.search(said) is not None and not _SEARCHES.search(said))


def _spots(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield where a text names a place: in its words, written apart or together, or with one letter wrong."""
    yield from places(text, name)
    together = "".join(words(name))
    for word in _WORDS.finditer(text):
        if misspelt(word[0], together) or (word[0] == together and together != name.lower()):
            yield word.span()
    if len(together) > _SHORTEST_COMPOUND:
        for start in range(3, len(together) - 2):
            yield from places(text, f"{together[:start]} {together[start:]}") if " " not in name else ()


_WORDS = later(r"[^\W\d_]+")
_SHORTEST_COMPOUND = 5


def _inside(one: Mention, other: Mention) -> bool:
    return one != other and other.start <= one.start and one.end <= other.end and other.value != one.value


def _published(answer: str) -> str | None:
    try:
        value = published_json(answer)
    except NoJSON:
        return None
    said = value.get("answer") if isinstance(value, dict) else None
    return said if isinstance(said, str) else None


def _answer_of(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    said = next((item for key, item in value.items() if str(key).strip().lower() == "answer"), None)
    if isinstance(said, list):
        said = " and ".join(map(str, said))
    return said if isinstance(said, str) else None
