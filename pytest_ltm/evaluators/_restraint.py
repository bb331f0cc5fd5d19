"""When not to use a memory: what no longer holds, what belongs elsewhere, what was not meant, what is not sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from msgspec import Struct

from pytest_ltm._core.model.judge import Judge
from pytest_ltm._core.model.score import Score, Scoring, Unscored
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
    """The share of questions answered without what must stay out, times the share of their twins that ask for it.

    So nothing is earned by leaving a memory out always, nor by always using it. No
    published results exist to agree with: every scoring has this rule.
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
    judge: Judge | None = None
    """Who is asked what the rules leave open."""

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the product of both shares; a missing answer counts as wrong."""
        answers = self.read(answers)
        checks = [
            self._check(place, answer_at(answers, place))
            for place in range(len(self.manners))
        ]
        decided = self.decide_parts(checks, self.judge)
        if isinstance(decided, Unscored):
            return decided
        checks, rule = decided
        names = ["known" if one == TWIN else "restrained" for one in self.manners]
        rows = zip(names, checks, strict=True)
        score = self.score_product(("restrained", "known"), rows)
        return replace(score, rule=rule) if self.judge else score

    def _check(self, place: int, answer: str) -> RuleCheck:
        label, ok = self._label(place), self._ok(place, answer)
        if ok is not None:
            return RuleCheck(label, answer, ok)
        parts = (("question", self._question(place)),)
        return RuleCheck(label, answer, None, "statement", parts)

    def _question(self, place: int) -> str:
        """Return what a judge is asked about an open answer."""
        expected, others = self.expected[place], values_at(self.others, place)
        names = " and ".join(map(repr, others))
        if self.manners[place] == ASK:
            return f"Does it ask which of {names} is meant, or leave that open, without settling on one of them?"
        if self.manners[place] == SILENT:
            private = answer_at(self.private, place)
            return f"Does it say {expected!r}, and nothing at all, in whatever words, of this: {private!r}?"
        return f"Does it settle on {expected!r} as the answer, and not on {names}, nor on both?"

    def _label(self, place: int) -> str:
        expected = self.expected[place]
        if self.manners[place] == ASK:
            return f"asks which is meant in answer {place + 1}"
        stays_out = ", ".join(map(repr, values_at(self.others, place)))
        return f"says {expected!r}, not {stays_out}"

    def _ok(self, place: int, answer: str) -> bool | None:
        manner, expected = self.manners[place], self.expected[place]
        others = values_at(self.others, place)
        if manner == ASK:
            return _asks_which(answer, others)
        if manner == SILENT:
            about = f"{answer_at(self.asked, place)} {expected}"
            private = answer_at(self.private, place)
            return _tells_only(answer, expected, others, (about, private))
        aside = dict.fromkeys(others, answer_at(self.asides, place))
        if manner == TWIN:
            return _recalls(answer, expected, aside)
        return _settles(answer, expected, aside)


def _settles(answer: str, expected: str, aside: dict[str, str]) -> bool | None:
    """Return whether an answer settles on a value; `aside`: the others, with what sets them aside."""
    ok, values = tells_value(answer, expected, aside), tuple(aside)
    text = normalize_text(answer)
    if ok and find_mentions(text, values) and _leaves_both(text):
        return None
    if ok is None and _joins(text, (expected, *values)):
        return False
    return ok


def _recalls(answer: str, expected: str, aside: dict[str, str]) -> bool | None:
    """Return whether an answer settles on what was; None if it names that, too, and seems to mean what is."""
    ok = tells_value(answer, expected, aside)
    if ok is not False or not find_mentions(normalize_text(answer), (expected,)):
        return ok
    return None if prove(answer, (expected, *aside)).state == "asserts" else False


def _leaves_both(text: str) -> bool:
    """Return whether a levelled text adds a value to another, or keeps each for a case of its own."""
    return RE.adds.search(text) is not None or RE.two_cases.search(text) is not None


def _joins(text: str, values: Sequence[str]) -> bool:
    """Return whether a levelled text has two of the values side by side, and sets neither against the other."""
    mentions = sorted(find_mentions(text, tuple(values)), key=lambda one: one.start)
    links = [
        text[first.end : second.start]
        for first, second in pairwise(mentions)
        if first.value != second.value
    ]
    joined = any(RE.joins.fullmatch(link) for link in links)
    return joined and RE.contrasts.search(text) is None


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
    """Return whether some clause speaks of somebody, and shares no word with what was asked."""
    about_stems = _stems(about)
    return any(
        RE.speaks_of.search(clause) is not None
        and RE.offers.search(clause) is None
        and RE.hedge.search(clause) is None
        and not _stems(clause) & about_stems
        for clause in RE.clause_end.split(normalize_text(answer))
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
        return None if RE.supposes.search(text) else False
    named = {mention.value for mention in find_mentions(text, tuple(values))}
    open_question = RE.asks_which.search(text) or RE.leaves_open.search(text)
    if named and named != set(values):
        return None
    if open_question:
        return True
    return None if named or text.rstrip().endswith("?") else False
