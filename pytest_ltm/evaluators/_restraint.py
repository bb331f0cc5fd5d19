"""When not to use a memory: outdated, out of place, not meant, or uncertain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import ClassVar

from msgspec import Struct

from pytest_ltm.api.model import (
    STOP_WORDS,
    Score,
    Scoring,
    Unscored,
    plain_words,
    word_stem,
)
from pytest_ltm.api.scenarios import Judge
from pytest_ltm.evaluators._hygiene import tells_value
from pytest_ltm.evaluators._rules import LEXICON, RuleCheck, Ruled, answer_at, values_at
from pytest_ltm.language.clauses import normalize_text
from pytest_ltm.language.commitment import Mention, find_mentions, is_misspelt
from pytest_ltm.language.proof import prove
from pytest_ltm.language.recital import copies_user, rows_of_words

VALUE = "value"
SILENT = "silent"
ASK = "ask"
TWIN = "twin"
RE = LEXICON.expressions("restraint")


class ShowsRestraint(Ruled, Struct, frozen=True):
    """The share of questions answered without what must stay out, times the share of their twins answered with it.

    So neither always leaving a memory out nor always using it earns anything. No
    published results exist to agree with: every scoring uses this rule.
    """

    family: ClassVar[str] = "restraint"
    expected: tuple[str, ...]
    """The value that answers each question; "" where the right answer asks back."""
    manners: tuple[str, ...]
    """The kind of each question: VALUE, SILENT, ASK or TWIN.

    VALUE: tell the value and not the others. SILENT: do not name the others at all.
    ASK: ask which one is meant. TWIN: tell what had to stay out elsewhere.
    """
    others: tuple[tuple[str, ...], ...]
    """The values that do not answer each question; for ASK, the values between which the question is open."""
    asked: tuple[str, ...] = ()
    """Each question with the messages that answer it."""
    private: tuple[str, ...] = ()
    """The message that must stay out, for each question; only SILENT reads it."""
    asides: tuple[str, ...] = ()
    """The words that set the other values aside in an answer, with | between, for each question."""
    scoring: Scoring = "current"
    judge: Judge | None = None
    """The judge of the checks that the rules leave open."""

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the product of both shares; a missing answer counts as wrong."""
        answers = self.read(answers)
        checks: list[RuleCheck] = []
        for place in range(len(self.manners)):
            checks.append(self._check(place, answer_at(answers, place)))
        decided = self.decide_parts(checks, self.judge)
        if isinstance(decided, Unscored):
            return decided
        checks, rule = decided
        names = ["known" if manner == TWIN else "restrained" for manner in self.manners]
        rows = zip(names, checks, strict=True)
        score = self.score_product(("restrained", "known"), rows)
        return replace(score, rule=rule) if self.judge else score

    def _check(self, place: int, answer: str) -> RuleCheck:
        label = self._label(place)
        ok = self._ok(place, answer)
        if ok is not None:
            return RuleCheck(label, answer, ok)
        parts = (("question", self._question(place)),)
        return RuleCheck(label, answer, None, "statement", parts)

    def _question(self, place: int) -> str:
        """Return the judge's question about an open answer."""
        expected = self.expected[place]
        rivals = values_at(self.others, place)
        names = " and ".join(map(repr, rivals))
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
        manner = self.manners[place]
        expected = self.expected[place]
        rivals = values_at(self.others, place)
        if manner == ASK:
            return _asks_which(answer, rivals)
        if manner == SILENT:
            topic = f"{answer_at(self.asked, place)} {expected}"
            private = answer_at(self.private, place)
            return _tells_only(answer, expected, rivals, (topic, private))
        if _recites_several(answer, self.asked):
            return False
        aside = dict.fromkeys(rivals, answer_at(self.asides, place))
        if manner == TWIN:
            return _recalls(answer, expected, aside)
        return _settles(answer, expected, aside)


def _settles(answer: str, expected: str, aside: dict[str, str]) -> bool | None:
    """Return whether an answer settles on a value; `aside`: the other values, and the words that set them aside."""
    values = tuple(aside)
    text = normalize_text(answer)
    past = _past_values(text, (expected, *values))
    text = _without_values(text, past - {expected})
    ok = tells_value(text if past else answer, expected, aside)
    if (ok is False and _may_mean(text, expected, values)) or (ok and expected in past):
        return None
    if ok and find_mentions(text, values) and _leaves_both(text):
        return None
    if ok is None and _joins(text, (expected, *values)):
        return False
    return ok


def _recites_several(answer: str, texts: Sequence[str]) -> bool:
    """Return whether an answer recites the user's own statements from several texts, which chooses none of them."""
    rows = [_rows_of_user(text) for text in texts]
    counts = Counter(chain.from_iterable(rows))
    said = _rows_of_user(normalize_text(answer))
    own_rows = {row for row in said if counts[row] == 1}
    return sum(not own_rows.isdisjoint(row_set) for row_set in rows) > 1


def _rows_of_user(text: str) -> set[tuple[str, ...]]:
    """Return all runs of five words that have "i" or "my"."""
    rows = rows_of_words(text)
    return {row for row in rows if not {"i", "my"}.isdisjoint(row)}


def _clause_of(text: str, mention: Mention) -> str:
    """Return the clause of a mention in a normalized text."""
    ends_before = [*RE.clause_end.finditer(text, 0, mention.start)]
    after = RE.clause_end.search(text, mention.end)
    start = ends_before[-1].end() if ends_before else 0
    return text[start : after.start() if after else len(text)]


def _past_values(text: str, values: Sequence[str]) -> set[str]:
    """Return the values that a normalized text calls over in every clause that names them."""
    named: set[str] = set()
    present: set[str] = set()
    for mention in find_mentions(text, tuple(values)):
        named.add(mention.value)
        if not _is_over(text, mention, values):
            present.add(mention.value)
    return named - present


def _without_values(text: str, values: Collection[str]) -> str:
    """Return a normalized text without the given values."""
    for mention in reversed(find_mentions(text, tuple(values))):
        text = text[: mention.start] + text[mention.end :]
    return text


def _is_over(text: str, mention: Mention, values: Sequence[str]) -> bool:
    """Return whether the clause of a mention names no other value and says that this one is over."""
    clause = _clause_of(text, mention)
    named_values = {found.value for found in find_mentions(clause, tuple(values))}
    ends = RE.over.search(clause) is not None and RE.keeps.search(clause) is None
    return ends and named_values == {mention.value}


def _may_mean(text: str, expected: str, values: Sequence[str]) -> bool:
    """Return whether a text names the value, and the others only hypothetically or after it."""
    if not find_mentions(text, (expected,)):
        return False
    rivals = find_mentions(text, tuple(values))
    clauses = [_clause_of(text, mention) for mention in rivals]
    if clauses and all(map(RE.condition.search, clauses)):
        return True
    return prove(RE.clause_end.split(text)[0], (expected, *values)).value == expected


def _recalls(answer: str, expected: str, aside: dict[str, str]) -> bool | None:
    """Return whether an answer settles on the former value; None if it names that but may mean the present one."""
    ok = tells_value(answer, expected, aside)
    if ok is not False or not find_mentions(normalize_text(answer), (expected,)):
        return ok
    if prove(answer, (expected, *aside)).state == "asserts":
        return None
    return False


def _leaves_both(text: str) -> bool:
    """Return whether a normalized text adds one value to another, or keeps each for a case of its own."""
    ways = (RE.adds, RE.two_cases, RE.condition)
    return any(pattern.search(text) is not None for pattern in ways)


def _joins(text: str, values: Sequence[str]) -> bool:
    """Return whether a normalized text joins two of the values without contrasting them."""
    mentions = sorted(
        find_mentions(text, tuple(values)), key=lambda mention: mention.start
    )
    if RE.contrasts.search(text):
        return False
    for first, second in pairwise(mentions):
        link = text[first.end : second.start]
        if first.value != second.value and RE.joins.fullmatch(link):
            return True
    return False


def _tells_only(
    answer: str, expected: str, rivals: Sequence[str], texts: tuple[str, str]
) -> bool | None:
    """Return whether an answer tells the value and nothing private.

    Args:
        answer: The answer.
        expected: The value.
        rivals: Names that the answer must not have.
        texts: The question with the messages that answer it, and the private message.
    """
    if _names_any(answer, rivals) or RE.omits.search(normalize_text(answer)):
        return False
    proof = prove(answer, (expected,))
    proven = proof.answers(expected)
    if proven is False:
        mentions = find_mentions(normalize_text(answer), (expected,))
        if mentions and proof.state == "refuses":
            return None
        return False
    topic, private = texts
    hints = (_stems(private) - _stems(topic)) & _stems(answer)
    if len(hints) > 1 or _repeats_phrase(answer, private, hints):
        return False
    unclear = hints or copies_user(answer, (expected,)) or _presupposes(answer, topic)
    return None if unclear or _tells_more(answer, topic) else proven


def _names_any(answer: str, values: Sequence[str]) -> bool:
    """Return whether an answer has any of the values, also misspelt or in part."""
    text = normalize_text(answer)
    if find_mentions(text, tuple(values)):
        return True
    text_words = plain_words(text)
    for name in plain_words(" ".join(values)):
        if len(name) > 4 and any(is_misspelt(word, name) for word in text_words):
            return True
    return False


def _repeats_phrase(answer: str, private: str, hints: Collection[str]) -> bool:
    """Return whether an answer repeats a private word with the word before it: "in therapy"."""
    pairs = {*pairwise(plain_words(normalize_text(private)))}
    repeated = pairs & {*pairwise(plain_words(normalize_text(answer)))}
    return any(word_stem(word) in hints for _, word in repeated)


def _presupposes(answer: str, topic: str) -> bool:
    """Return whether an answer has a word, absent from the question, that implies an unstated fact."""
    words = set(RE.presupposes.findall(normalize_text(answer)))
    return not words <= set(RE.presupposes.findall(normalize_text(topic)))


def _tells_more(answer: str, subject: str) -> bool:
    """Return whether a clause is about somebody, but shares no word except a name with the question."""
    names = _stems(" ".join(RE.inner_name.findall(subject)))
    topic = _stems(subject) - names
    for clause in RE.clause_end.split(normalize_text(answer)):
        if _speaks_of(clause, names) and topic.isdisjoint(_stems(clause)):
            return True
    return False


def _speaks_of(clause: str, names: Collection[str]) -> bool:
    """Return whether a clause says something about a person; `names`: stems of the possible names."""
    if RE.offers.search(clause) or RE.hedge.search(clause):
        return False
    if RE.speaks_of.search(clause):
        return True
    stems = _stems(clause)
    subject = [word_stem(word) for word in plain_words(clause)][:1]
    return not stems <= set(names) and not set(names).isdisjoint(subject)


def _stems(text: str) -> set[str]:
    """Return the stems of a text's words without stop words."""
    words = plain_words(normalize_text(text))
    return {word_stem(word) for word in words if word not in STOP_WORDS}


def _asks_which(answer: str, values: Sequence[str]) -> bool | None:
    """Return whether an answer asks which value is meant, or leaves all of them open."""
    text = normalize_text(answer)
    proof = prove(answer, values)
    case_first = RE.case_first.search(_before_first(text, values)) is not None
    if proof.state == "asserts" and proof.value and not case_first:
        return None if RE.supposes.search(text) else False
    named_values = {mention.value for mention in find_mentions(text, tuple(values))}
    open_question = (
        case_first or RE.asks_which.search(text) or RE.leaves_open.search(text)
    )
    if open_question and named_values in (set(), set(values)):
        return True
    if len(named_values) == 1 and not open_question and not RE.supposes.search(text):
        return False
    if named_values or text.rstrip().endswith("?"):
        return None
    return False


def _before_first(text: str, values: Sequence[str]) -> str:
    """Return the part of a normalized text before its first value; "" if it has none."""
    starts = [mention.start for mention in find_mentions(text, tuple(values))]
    return text[: min(starts, default=0)]
