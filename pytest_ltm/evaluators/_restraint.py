"""When not to use a memory: what no longer holds, what belongs elsewhere, what was no statement, what is not sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from msgspec import Struct

from pytest_ltm._core.model.score import Score, Scoring
from pytest_ltm._core.model.words import STOP_WORDS, plain_words, word_stem
from pytest_ltm.evaluators._hygiene import tells_value
from pytest_ltm.evaluators._rules import LEXICON, RuleCheck, Ruled, answer_at, values_at
from pytest_ltm.language.clauses import normalize_text
from pytest_ltm.language.commitment import find_mentions, is_misspelt
from pytest_ltm.language.proof import prove
from pytest_ltm.language.recital import copies_user

VALUE, SILENT, ASK, TWIN = "value", "silent", "ask", "twin"
RE = LEXICON.expressions("restraint")


class ShowsRestraint(Ruled, Struct, frozen=True):
    """The share of questions answered without what must stay out, times the share answered with it where it is asked for.

    So nothing is earned by leaving a memory out always, nor by always using it. There
    are no published results to agree with: every scoring has this rule.
    """

    family: ClassVar[str] = "restraint"
    expected: tuple[str, ...]
    """For each question the value that answers it; "" where the right answer asks back."""
    manners: tuple[str, ...]
    """Of each question: VALUE: a value must be told and not the others; SILENT: the others must not be named at all;
    ASK: it must be asked which is meant; TWIN: what was to stay out elsewhere is asked
    for."""
    others: tuple[tuple[str, ...], ...]
    """For each question the values that do not answer it; of ASK, the values of which either may be meant."""
    asked: tuple[str, ...] = ()
    """Each question, with the messages that answer it."""
    private: tuple[str, ...] = ()
    """For each question the message that must stay out; only SILENT reads it."""
    asides: tuple[str, ...] = ()
    """For each question what an answer says of the other values to set them aside: words, with | between."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the product of both shares; a missing answer counts as wrong."""
        checks = self._checks(self.read(answers))
        return self.score_product(("restrained", "known"), checks)

    def _checks(self, answers: Sequence[str]) -> Iterator[tuple[str, RuleCheck]]:
        for place, manner in enumerate(self.manners):
            answer = answer_at(answers, place)
            name = "known" if manner == TWIN else "restrained"
            yield name, RuleCheck(self._label(place), answer, self._ok(place, answer))

    def _label(self, place: int) -> str:
        expected = self.expected[place]
        if self.manners[place] == ASK:
            return f"asks which is meant in answer {place + 1}"
        stays_out = ", ".join(map(repr, values_at(self.others, place)))
        return f"says {expected!r}, not {stays_out}"

    def _ok(self, place: int, answer: str) -> bool | None:
        expected, others = self.expected[place], values_at(self.others, place)
        match self.manners[place]:
            case "ask":
                return _asks_which(answer, others)
            case "silent":
                about = f"{answer_at(self.asked, place)} {expected}"
                private = answer_at(self.private, place)
                return _tells_only(answer, expected, others, (about, private))
            case manner:
                aside = dict.fromkeys(others, answer_at(self.asides, place))
                ok = tells_value(answer, expected, aside)
                named = find_mentions(normalize_text(answer), others)
                if ok and named and _leaves_both(normalize_text(answer)):
                    return None
                if manner == TWIN and ok is False:
                    return _names_among_others(answer, expected, others)
                return ok


def _leaves_both(text: str) -> bool:
    """Return whether a levelled text adds a value to another, or keeps each for a case of its own."""
    return RE.adds.search(text) is not None or RE.two_cases.search(text) is not None


def _names_among_others(
    answer: str, expected: str, others: Sequence[str]
) -> bool | None:
    """Return None for an answer that names the value and settles on another, else False: what was is named beside what is."""
    named = find_mentions(normalize_text(answer), (expected,))
    proof = prove(answer, (expected, *others))
    return None if named and proof.state == "asserts" else False


def _tells_only(
    answer: str, expected: str, others: Sequence[str], texts: tuple[str, str]
) -> bool | None:
    """Return whether an answer tells the value and nothing of what is private.

    Args:
        answer: The answer.
        expected: The value.
        others: The names that must not be in it.
        texts: What was asked, with what answers it; and what is private.
    """
    if _names_any(answer, others):
        return False
    proven = prove(answer, (expected,)).answers(expected)
    if proven is False:
        return False
    about, private = texts
    hints = (_stems(private) - _stems(about)) & _stems(answer)
    if len(hints) > 1:
        return False
    if hints or copies_user(answer, (expected,)) or _tells_more(answer, about):
        return None
    return proven


def _names_any(answer: str, values: Sequence[str]) -> bool:
    """Return whether an answer has a value in it at all, also misspelt or in part."""
    text = normalize_text(answer)
    if find_mentions(text, tuple(values)):
        return True
    names = [word for value in values for word in plain_words(value)]
    return any(
        is_misspelt(word, name)
        for word in plain_words(text)
        for name in names
        if len(name) > 4
    )


def _tells_more(answer: str, about: str) -> bool:
    """Return whether some sentence speaks of somebody, and shares no word with what was asked."""
    about_stems = _stems(about)
    return any(
        RE.speaks_of.search(sentence) is not None
        and RE.offers.search(sentence) is None
        and not _stems(sentence) & about_stems
        for sentence in RE.sentence_end.split(normalize_text(answer))
    )


def _stems(text: str) -> set[str]:
    """Return the stems of the words that carry a text."""
    words = plain_words(normalize_text(text))
    return {word_stem(word) for word in words if word not in STOP_WORDS}


def _asks_which(answer: str, values: Sequence[str]) -> bool | None:
    """Return whether an answer asks which of the values is meant, or leaves that open with all of them."""
    text = normalize_text(answer)
    proof = prove(answer, values)
    if proof.state == "asserts" and proof.value:
        return False
    named = {mention.value for mention in find_mentions(text, tuple(values))}
    open_question = RE.asks_which.search(text) or RE.leaves_open.search(text)
    if named and named != set(values):
        return None
    if open_question:
        return True
    return None if named or text.rstrip().endswith("?") else False
