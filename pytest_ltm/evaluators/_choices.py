"""One of several: the numbered option that fits, and the one place or person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from pytest_ltm._language.clauses import clause_around, phrase_positions
from pytest_ltm._language.commitment import Mention, is_misspelt
from pytest_ltm._language.json import NoJSON, json_values, published_json
from pytest_ltm._language.numbers import COUNTS, ORDINALS
from pytest_ltm._language.proof import Proof, prove
from pytest_ltm._language.words import casefold_plain, evidence_snippet, plain_words, space_delimited
from pytest_ltm._model.score import Scoring  # noqa: TC001 - the signature of a struct names it
from pytest_ltm.evaluators._rules import LEXICON, Ruled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_ltm._model.score import Score


# int() takes quadratic time, and no story has so many endings
_LONGEST_NUMBER = 9
_NUMBER_WORD = "|".join(("one", *COUNTS))
RE = LEXICON.expressions("choices", number=_NUMBER_WORD, ordinals="|".join(ORDINALS))


class PicksOption(Ruled, Struct, frozen=True):
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
        answer = self.read_last(answers)
        if self.follows_own_rules:
            said = space_delimited(answer).strip()
            alone = COUNTS.get(said, ORDINALS.get(said, 1 if said == "one" else 0))
            # in a sentence "one" and "second" hardly ever name an option: only alone do they
            picked = Proof("asserts", f"picks option {alone}", str(alone)) if alone else prove(answer, _option_mentions)
            return self.score_proven(picked, str(self.expected), answer)
        numbers = {_whole_number(digits) for digits in RE.digits.findall(casefold_plain(answer))}
        none = ", ".join(sorted(str(n) for n in numbers)[:6]) or "none"
        ok = numbers == {self.expected}
        return self.score(ok, f"picks option {none}" + ("" if ok else f", not {self.expected}"), answer)


def _whole_number(digits: str) -> int:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else -1


_INDENT = 12


def _option_mentions(text: str) -> list[Mention]:
    """Return where a levelled text names options; a number that counts something is none, unless there is no other."""
    mentions: list[Mention] = []
    labels: list[Mention] = []
    for one in RE.number.finditer(text):
        before = text[max(0, one.start() - _INDENT) : one.start()]
        digits, word = one["digits"], one["word"] or one["bare"]
        # "chapter 5", "the 6 options"
        counts = digits and (
            RE.counted.match(text, one.end()) or (RE.before_count.search(before) and digits.isdecimal())
        )
        if counts:
            continue
        number = ORDINALS[one["ordinal"]] if one["ordinal"] else COUNTS.get(word, 1)
        number = _whole_number("".join(RE.digits.findall(digits))) if digits else number
        mentions.append(Mention(*one.span(), str(number)))
        begins_line = not before.rpartition("\n")[2].strip() and ("\n" in before or one.start() < _INDENT)
        if begins_line and RE.label.match(text, one.start()):
            labels.append(mentions[-1])
    # options that are listed are not picked; a single label is the answer itself
    picks = [one for one in mentions if one not in labels] if len(labels) > 1 else mentions
    return picks or mentions


# --- Sally-Anne: the answer names one place (or person), asked for as JSON `{"answer": "word"}`.


class AnswersWord(Ruled, Struct, frozen=True):
    """Full marks if the `answer` of the JSON in the last answer is the expected word.

    `current`: the place that the last such JSON asserts, or the answer without one; where the thing really is is an
    aside. `v3.5` and `paper`: the value of `answer`, in lower case, equals the expected word.
    """

    family: ClassVar[str] = "sally-anne"
    version: ClassVar[int] = 2
    expected: str
    others: tuple[str, ...] = ()
    """The other places of the story."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer is the word, else 0."""
        answer = self.read_last(answers)
        if self.follows_own_rules:
            text = RE.tag.sub(" ", answer)
            in_json = [one for value in json_values(text) if (one := _answer_of(value)) is not None]
            return self.score_proven(prove((in_json or [text])[-1], self._places), self.expected, answer)
        try:
            value = published_json(answer)
        except NoJSON:
            value = None
        said = value.get("answer") if isinstance(value, dict) else None
        said = said if isinstance(said, str) else None
        ok = said is not None and said.lower() == self.expected.lower()
        reason = f"says {evidence_snippet(said, 80)!r}" if said is not None else "gives no answer"
        return self.score(ok, reason + ("" if ok else f", not {self.expected!r}"), answer)

    def _places(self, text: str) -> list[Mention]:
        names = (self.expected, *self.others)
        mentions = [Mention(*spot, name) for name in names for spot in _place_spots(text, name)]
        mentions = sorted(mentions, key=lambda one: one.start)[-_MOST:]
        kept: list[Mention] = []
        for one in mentions:
            around = (other for other in mentions if other.start <= one.start and one.end <= other.end)
            clause = " ".join(clause_around(text, one.start, one.end))
            # where the thing really is, is an aside: asked for is where somebody will look
            really = RE.really.search(clause) or (RE.now.search(clause) and not RE.searches.search(clause))
            if not really and all(other.value == one.value for other in around):
                kept.append(one)
        return kept


# So many mentions, the last ones, are looked at: the time is linear.
_MOST = 120


def _place_spots(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Yield where a text names a place: in its words, written apart or together, or with one letter wrong."""
    yield from phrase_positions(text, name)
    together = "".join(plain_words(name))
    for word in RE.words.finditer(text):
        if is_misspelt(word[0], together) or (word[0] == together and together != name.lower()):
            yield word.span()
    if " " not in name:
        for start in range(3, len(together) - 2):
            yield from phrase_positions(text, f"{together[:start]} {together[start:]}")


def _answer_of(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    none = next((item for key, item in value.items() if str(key).strip().lower() == "answer"), None)
    if isinstance(none, list):
        none = " and ".join(map(str, none))
    return none if isinstance(none, str) else None
