"""Recall: facts, steps, values, current facts, the choice by a rule, a joke."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, structs

from pytest_ltm.api.model import (
    STOP_WORDS,
    Score,
    Scoring,
    Unscored,
    content_stems,
    evidence_snippet,
    has_phrase,
    plain_words,
    space_delimited,
    word_stem,
)
from pytest_ltm.api.scenarios import Judge
from pytest_ltm.evaluators._rules import (
    LEXICON,
    RuleCheck,
    Ruled,
    answer_at,
    judge_verdict,
    values_at,
)
from pytest_ltm.language.clauses import (
    blank_out,
    iter_sentences,
    normalize_text,
    phrase_positions,
    sentence_start,
    split_sentences,
)
from pytest_ltm.language.commitment import (
    DENIES,
    OTHERS,
    UNKNOWN,
    Mention,
    doubt_about,
    last_word,
    trim_flood,
)
from pytest_ltm.language.numbers import words_with_digits
from pytest_ltm.language.proof import prove
from pytest_ltm.language.recital import (
    ends_in_a_list,
    enumerates_everything,
    only_offers_example,
    recites_messages,
    refuses_answer,
    short_items,
)


class KnowsCurrentFacts(Ruled, Struct, frozen=True):
    """The share of questions answered with the current fact.

    An answer may mention former or false facts if it sets them aside. The published
    rules ask a model; this rule stands in for them.
    """

    family: ClassVar[str] = "current-facts"
    expected: tuple[str, ...]
    mentioned: tuple[tuple[str, ...], ...] = ()
    """All other facts ever stated, for each question."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of questions answered right; a missing answer counts as wrong."""
        answers = self.read(answers)
        parts = []
        for place, expected in enumerate(self.expected):
            answer = answer_at(answers, place)
            ok = prove(answer, (expected, *values_at(self.mentioned, place))).answers(
                expected
            )
            parts.append(RuleCheck(f"knows {expected!r}", answer, ok))
        return self.standing_in(self.share(parts, "{ok} of {of} known as they are now"))


# --- Delayed Recall: each answer gives the fact that was asked for.


class RecallsFacts(Ruled, Struct, frozen=True):
    """The share of questions answered with the expected fact.

    An answer counts if it has the words that carry the fact, beyond those of the
    question: both of two, else at least half; numbers in digits or words. An answer
    that also has most of the other facts counts as none. A judge, if given, is asked
    about answers without those words. The published rules ask a model; this rule stands
    in for them.
    """

    family: ClassVar[str] = "delayed-recall"
    expected: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """The texts of the questions, so that an echo earns nothing."""
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of questions answered; a missing answer counts as wrong."""
        answers = self.read(answers)
        recollections: list[Recollection] = []
        for place, text in enumerate(self.expected):
            question = answer_at(self.questions, place)
            recollections.append(Recollection(text, question))
        parts: list[RuleCheck] = []
        for place, recollection in enumerate(recollections):
            rivals = recollections[:place] + recollections[place + 1 :]
            answer = answer_at(answers, place)
            parts.append(_recall_part(answer, recollection, rivals))
        return self.judged_share(parts, self.judge, "{ok} of {of} recalled")


def _recall_part(
    answer: str,
    recollection: Recollection,
    rivals: Sequence[Recollection],
    without: re.Pattern[str] | None = None,
) -> RuleCheck:
    """Check whether an answer recalls one thing; a judge may be asked if other wording is possible.

    `without`: parts of the answer to ignore.
    """
    label = f"recalls {recollection.expected!r}"
    text = without.sub(" ", answer) if without else answer
    text = recollection.complete_name(text, rivals)
    recalled = is_recalled(
        _claimed_of(text, recollection, rivals), recollection, rivals
    )
    if recalled:
        known_keys = recollection.needed | frozenset(
            recollection_keys(recollection.question)
        )
        # mostly a list with several other things: the answer has not chosen
        strange: set[str] = set()
        for item in short_items(text):
            if known_keys.isdisjoint(recollection_keys(item)):
                strange.add(item)
        hedged = (
            prove(text, (recollection.expected,), question=recollection.question).state
            == "hedges"
        )
        idle = len(strange) >= 3 or recites_messages(answer) or ends_in_a_list(answer)
        if hedged or idle or not recollection.is_exchanged(text):
            return RuleCheck(label, answer, ok=not hedged and not idle)
    answer_keys = frozenset(recollection_keys(text))
    # an answer with no words but the question's, or with all expected words, is not a
    # paraphrase
    if not recalled and (
        not recollection.question
        or recollection.in_full(answer_keys)
        or answer_keys <= frozenset(recollection_keys(recollection.question))
    ):
        return RuleCheck(label, answer, recalled)
    proof = prove(text, (recollection.expected,), question=recollection.question)
    # a substituted word, or a first name alone, may be meant
    is_close = recalled or recollection.has_given_name(answer_keys)
    if is_close and proof.state == "asserts":
        ok = None
    else:
        ok = proof.answers(recollection.expected)
    prompt = "" if ok or proof.state == "refuses" else "answer"
    return RuleCheck(
        label,
        answer,
        ok,
        prompt,
        (("question", recollection.question), ("reference", recollection.expected)),
    )


def _claimed_of(
    answer: str, recollection: Recollection, rivals: Sequence[Recollection]
) -> str:
    """Return an answer without sentences that deny the thing, do not know it, or offer it as an alternative."""
    text = normalize_text(answer)
    known_text = f"{recollection.question} {recollection.expected}"
    sentences = []
    for start, part in iter_sentences(text):
        spots: list[re.Match[str]] = []
        for word in RE.word.finditer(part):
            if recollection.needed & keys_of_word(word[0]):
                spots.append(word)
        if spots:
            where = Mention(start + spots[0].start(), start + spots[-1].end(), "")
        else:
            where = None
        doubted = where is not None and doubt_about(text, where, known=known_text) in (
            DENIES,
            UNKNOWN,
            OTHERS,
        )
        if where and RE.either.search(part):
            keys = set(recollection_keys(part))
        else:
            keys = set()
        torn = bool(keys) and any(rival.needed <= keys for rival in rivals)
        if not (doubted or torn):
            sentences.append(part)
    return " ".join(sentences)


RE = LEXICON.expressions("recall")


# --- Instruction Recall: each answer gives a step, its detail or its number.


class RecallsSteps(Ruled, Struct, frozen=True):
    """The share of questions answered with the expected step, detail, or number of a step.

    A step or a detail is recognised by the words that carry it, as in `RecallsFacts`,
    without the labels of steps; an answer that also has more than half of the other
    steps counts as none. Where a bare number is expected and the question asks for a
    number, it must be the only number of a step in the answer; as one guess in ten is
    right, it counts only along with another right answer. A judge, if given, is asked
    about answers without those words. The published rules ask a model; this rule stands
    in for them.
    """

    family: ClassVar[str] = "instruction-recall"
    expected: tuple[str, ...]
    questions: tuple[str, ...] = ()
    """The texts of the questions, so that an echo earns nothing."""
    steps: tuple[str, ...] = ()
    """All steps of the instructions."""
    scoring: Scoring = "current"
    judge: Judge | None = None

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return the share of questions answered; a missing answer counts as wrong."""
        answers = self.read(answers)
        parts: list[RuleCheck] = []
        text_parts: list[RuleCheck] = []
        for place in range(len(self.expected)):
            part = self._part(place, answer_at(answers, place))
            parts.append(part)
            if not self._asks_number(place):
                text_parts.append(part)
        if (
            self.follows_own_rules
            and text_parts
            and not any(part.ok or (self.judge and part.prompt) for part in text_parts)
        ):
            parts = [structs.replace(part, ok=False) for part in parts]
        return self.judged_share(parts, self.judge, "{ok} of {of} recalled")

    def _asks_number(self, place: int) -> bool:
        return self.expected[place].isdecimal() and "number" in plain_words(
            answer_at(self.questions, place)
        )

    def _part(self, place: int, answer: str) -> RuleCheck:
        expected = self.expected[place]
        question = answer_at(self.questions, place)

        def numerals(text: str) -> list[Mention]:
            """Return the mentions of numbers in a normalized text, in digits or in one word."""
            mentions: list[Mention] = []
            for match in RE.word.finditer(text):
                number = "".join(words_with_digits([match[0]]))
                if number.isdecimal():
                    mentions.append(Mention(match.start(), match.end(), number))
            return mentions

        if self._asks_number(place):
            # The numbers that the answer gives to steps; all numbers, if it labels
            # none.
            answer_words = list(words_with_digits(plain_words(answer)))
            numbers: set[str] = set()
            labelled: set[str] = set()
            for n, word in enumerate(answer_words):
                if not word.isdecimal():
                    continue
                numbers.add(word)
                if _LABELS.intersection(
                    answer_words[max(n - 1, 0) : n]
                ) or answer_words[n + 1 : n + 2] == ["step"]:
                    labelled.add(word)
            is_only = (labelled or numbers) == {expected}
            ok = is_only and prove(answer, numerals).answers(expected) is not False
            return RuleCheck(f"recalls {expected!r}", answer, ok)
        steps = self.steps or self.expected
        rivals = [Recollection(step) for step in steps if step != expected]
        return _recall_part(
            answer, Recollection(expected, question), rivals, without=RE.label
        )


# Words before the number of a step.
_LABELS = frozenset(("step", "steps", "number", "no"))

# --- How To Think: each answer names the one thing that the user's rule chooses.


class AppliesRule(Ruled, Struct, frozen=True):
    """The share of cases whose answer names the right thing and no other.

    If an answer names several, the one that it decides on counts. The published rules
    ask a model; this rule stands in for them.
    """

    family: ClassVar[str] = "how-to-think"
    expected: tuple[str, ...]
    offered: tuple[tuple[str, ...], ...] = ()
    """All options of each case, by name."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return the share of cases answered correctly; a missing answer counts as wrong."""
        answers = self.read(answers)
        parts = []
        for place, expected in enumerate(self.expected):
            answer = RE.rather_than.sub(r"\1", answer_at(answers, place))
            ok = prove(answer, values_at(self.offered, place) or (expected,)).answers(
                expected
            )
            parts.append(RuleCheck(f"takes {expected} in case {place + 1}", answer, ok))
        return self.standing_in(
            self.share(parts, "{ok} of {of} cases decided as the rule would")
        )


# --- Key-Value Pairs: the answer names the value looked up, and none off the path to
# it.


class RecallsValue(Ruled, Struct, frozen=True):
    """Full marks if the last answer has the value as a word, in any case, and none of `others`.

    Values on the path from key to value may be named, too. No published results exist
    to agree with: every scoring uses this rule.
    """

    family: ClassVar[str] = "kv-pairs"
    version: ClassVar[int] = 3
    expected: str
    others: tuple[str, ...] = ()
    """Keys and values unrelated to the question."""
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score:
        """Return 1 if the last answer names the value and no other, else 0."""
        answer = self.read_last(answers)
        return self.score_proven(
            prove(answer, (self.expected, *self.others)), self.expected, answer
        )


# --- Jokes: the answer recalls one joke of several, word for word or in other words.

_TALK = content_stems(
    "joke tell told ago hour minute remember recall hear heard speak spoke share think know thing people person time "
    "day want love try find call go went come came look see saw feel new old good bad big little right never always"
)
_IDLE = frozenset(
    map(
        word_stem,
        (*STOP_WORDS, "please", "sure", "course", "okay", "yes", "thanks", "welcome"),
    )
)
_CLEAR = 1.0
_HINT = 0.5
_CLEAR_WORDS = 2


class RecallsJoke(Ruled, Struct, frozen=True):
    """Full marks if the last answer tells one joke, literally or paraphrased, and none of the others.

    `others` are the other jokes told in the same example. A joke is recognised by
    enough words that no other joke has; one that the answer denies or retracts does not
    count. Where the rule is unsure (a word or two, two jokes, or words from no joke),
    the judge is asked, if given; otherwise the rule's verdict stands. `v3.5`, `paper`:
    full marks if the joke's text is in the answer; otherwise those rules ask a model,
    and the current rule stands in.
    """

    family: ClassVar[str] = "jokes"
    version: ClassVar[int] = 2
    joke: str
    others: tuple[str, ...] = ()
    judge: Judge | None = None
    scoring: Scoring = "current"

    def __call__(self, answers: Sequence[str], /) -> Score | Unscored:
        """Return 1 if the last answer recalls the joke and no other, else 0."""
        answer = self.read_last(answers)
        if not self.follows_own_rules and self.joke.lower() in answer.lower():
            return self.score(1, "the joke's text is in the answer", answer)
        value, reason, sure = self._by_rule(answer)
        verdict = Score(value, reason, rule=_JOKES, evidence=evidence_snippet(answer))
        if self.judge is None:
            return self.standing_in(verdict)
        jokes = "\n".join(f"- {joke}" for joke in (*self.others, self.joke))
        if sure:
            return verdict
        return judge_verdict(
            self.judge, "jokes", answer, rule=_JOKES, joke=self.joke, jokes=jokes
        )

    def _by_rule(self, answer: str) -> tuple[float, str, bool]:
        """Return the value, the reason, and whether the rule is sure."""
        if enumerates_everything(answer):
            return 0.0, "lists things instead of telling a joke", True
        text = self._claimed(
            last_word(answer, lambda passage: max(self._strengths(passage)) >= _CLEAR)
        )
        jokes = [content_stems(joke) for joke in (self.joke, *self.others)]

        def may_tell(part: str) -> bool:
            stems = content_stems(part)
            return any(len(stems & joke) >= _CLEAR_WORDS for joke in jokes)

        recalled, *rivals = self._strengths(trim_flood(text, may_tell))
        rival = max(rivals, default=0.0)
        if recalled >= _CLEAR and rival >= _CLEAR:
            value = 0.0
            reason = "tells another joke as well"
            sure = True
        elif recalled >= _CLEAR:
            value = 1.0
            reason = "recalls the joke"
            sure = rival < _HINT
        elif recalled >= _HINT and rival < _HINT:
            value = 0.0
            reason = "only hints at the joke"
            sure = False
        elif rival >= _HINT:
            value = 0.0
            reason = "recalls another joke"
            sure = recalled < _HINT
        else:
            value = 0.0
            reason = "does not recall the joke"
            sure = True
        if value and RE.lost.search(space_delimited(text)) and recalled < _LITERAL:
            value = 0.0
            reason = "remembers only part of the joke"
            sure = False
        if sure and max(recalled, rival) < _HINT:
            sure = not any(map(_may_paraphrase, split_sentences(answer)))
        return value, reason, sure

    def _strengths(self, text: str) -> list[float]:
        """Return how strongly a text matches the joke, then each of the others."""
        texts = frozenset(map(word_stem, plain_words(text)))
        jokes = (self.joke, *self.others)
        strengths: list[float] = []
        for joke in jokes:
            rivals = [rival for rival in jokes if rival != joke]
            strengths.append(_joke_strength(joke, rivals, text, texts))
        return strengths

    def _claimed(self, text: str) -> str:
        """Return a text without jokes that it denies or does not know, and sentences that begin with a denial."""
        plainly = normalize_text(text)
        for joke in (self.joke, *self.others):
            for start, end in phrase_positions(plainly, joke):
                # bounded, or an answer without any full stop would take quadratic time
                sentence_before = plainly[
                    max(sentence_start(plainly, max(start - 2, 0)), start - 200) : start
                ]
                if RE.denies.search(sentence_before):
                    denied = (start - len(sentence_before), end)
                    plainly = blank_out(plainly, [denied])
        claims: list[str] = []
        for sentence in split_sentences(plainly):
            if not RE.denies.match(sentence.lstrip("\"'*> -")):
                claims.append(sentence)
        return " ".join(claims)


_JOKES = "jokes/2"
_LITERAL = 2.0


def _joke_strength(
    joke: str, rivals: Sequence[str], answer: str, texts: frozenset[str]
) -> float:
    """Return 1 or more if a joke is told, 0.5 if it is hinted at, else 0.

    A joke's own words are its content words that no other joke has.
    """
    if has_phrase(space_delimited(answer), joke):
        return _LITERAL
    shared = frozenset[str]().union(*map(content_stems, rivals), _TALK)
    own_stems = content_stems(joke) - shared
    hits = len(own_stems & texts)
    # retelling a joke drops more than half of its words
    if hits >= _CLEAR_WORDS and hits >= len(own_stems) * 0.4:
        return 1.0
    # shorter stems occur in any talk
    telling = {word for word in own_stems & texts if len(word) >= 4}
    if hits >= _CLEAR_WORDS:
        return _HINT
    for words in map(plain_words, split_sentences(answer) if telling else ()):
        sentence = " ".join(words)
        # one distinctive word hints at a joke if a sentence, other than an excuse, says
        # what it was about
        if (
            telling.intersection(map(word_stem, words))
            and RE.points.search(sentence)
            and not RE.shrugs.search(sentence)
        ):
            return _HINT
    return 0.0


# --- The expected answer to a question, recognised in any wording and form of numbers.

_STOP = frozenset(
    map(word_stem, (*STOP_WORDS, "called", "known", "name", "named", "titled", "used"))
)


# Words of a sentence compared with a step.
_LONGEST_STEP = 60
# The share of the expected words in a sentence that has one of them exchanged.
_SAME_STEP = 0.6
_ARTICLES = {"a", "an", "the"}


def _may_paraphrase(sentence: str) -> bool:
    """Return whether a sentence is not an excuse, and says more than that there was a joke."""
    stems = content_stems(sentence) - _TALK - _IDLE
    if all(map(str.isdigit, stems)) or refuses_answer(sentence):
        return False
    return not RE.courtesies.search(" ".join(plain_words(sentence)))


@dataclass(frozen=True, slots=True)
class Recollection:
    """The answer that a question expects, and how to recognise it."""

    expected: str
    question: str = ""
    needed: frozenset[str] = field(init=False)
    """Stems of the words that carry the answer, without those of the question."""

    def __post_init__(self) -> None:
        question_keys = frozenset(recollection_keys(self.question))
        label = RE.recollection_label.match(self.expected)
        content = frozenset(
            recollection_keys(self.expected[label.end() :] if label else self.expected)
        )
        object.__setattr__(self, "needed", (content - question_keys) or content)

    def share(self, answer_keys: frozenset[str]) -> float:
        """Return the share of the needed keys that are among `answer_keys`."""
        if self.needed:
            return len(self.needed & answer_keys) / len(self.needed)
        return 0.0

    @property
    def _person(self) -> tuple[str, str]:
        """The given names and the surname of the person asked for; "" if that is not a person with both."""
        if RE.who.search(self.question) and RE.full_name.fullmatch(self.expected):
            given, _, surname = self.expected.rpartition(" ")
            return given, surname
        return "", ""

    def has_given_name(self, answer_keys: frozenset[str]) -> bool:
        """Return whether an answer has a given name of the person asked for."""
        given, _ = self._person
        return not answer_keys.isdisjoint(recollection_keys(given))

    def complete_name(self, text: str, rivals: Sequence[Recollection]) -> str:
        """Return a text with the full name of the person asked for, where it says Smith, or J. Smith."""
        given, surname = self._person
        if not given or any(surname in rival.expected for rival in rivals):
            return text

        def full_name(match: re.Match[str]) -> str:
            word = (match[1] or "").rstrip(" .")
            is_initial = len(word) == 1 and given.startswith(word)
            is_plain = word.islower() or word.lower() in STOP_WORDS
            # a different given name means another person
            if not word or is_initial or is_plain or RE.titled.fullmatch(word):
                return f"{match[1] or ''}{given} {surname}"
            return match[0]

        return re.sub(rf"\b([^\W\d_]+\.? )?{re.escape(surname)}\b", full_name, text)

    def is_exchanged(self, text: str) -> bool:
        """Return whether a sentence is the expected one with one thing exchanged: "with a match".

        Verbs, and most of a sentence, may be reworded: only things are exchanged.
        """
        missing = self.needed - set(recollection_keys(text))
        if not missing:
            return False
        expected_words = plain_words(self.expected)
        for sentence in split_sentences(text):
            words = plain_words(sentence)[:_LONGEST_STEP]
            matcher = SequenceMatcher(None, expected_words, words, autojunk=False)
            same = sum(block.size for block in matcher.get_matching_blocks())
            if same < _SAME_STEP * len(expected_words):
                continue
            for kind, start, end, place, last in matcher.get_opcodes():
                lost_keys = set(recollection_keys(" ".join(expected_words[start:end])))
                new_keys = set(recollection_keys(" ".join(words[place:last])))
                is_new = any(len(key) > 2 for key in new_keys - self.needed)
                is_thing = start > 0 and expected_words[start - 1] in _ARTICLES
                if kind == "replace" and is_thing and missing <= lost_keys and is_new:
                    return True
        return False

    def in_full(self, texts: frozenset[str]) -> bool:
        """Return whether an answer says enough: all needed numbers, and part of everything joined by "and"."""
        # most of the words suffice, but a number must be exact
        numbers = {key for key in self.needed if key.isdecimal()}
        if not numbers <= texts:
            return False
        for part in RE.and_word.split(self.expected):
            keys = self.needed.intersection(recollection_keys(part))
            if keys and keys.isdisjoint(texts):
                return False
        # two words are both needed, of more words half: people rephrase the rest
        return self.share(texts) >= (1 if len(self.needed) <= 2 else 0.5)


def is_recalled(
    answer: str, recollection: Recollection, rivals: Iterable[Recollection]
) -> bool:
    """Return whether an answer says the thing asked for.

    An answer that also has more than half of the others (at least three) chooses none;
    neither does an example from an agent that does not know.
    """
    answer_keys = frozenset(recollection_keys(answer))
    if not recollection.in_full(answer_keys) or only_offers_example(answer):
        return False
    # another fact with the same words is indistinguishable from this one
    distinct_rivals = [rival for rival in rivals if rival.needed - recollection.needed]
    too = sum(rival.needed <= answer_keys for rival in distinct_rivals)
    return too < max(3, len(distinct_rivals) / 2)


def recollection_keys(text: str) -> Iterator[str]:
    """Yield the stems of the words that carry meaning, and numbers as digits; `twenty-three` is 23."""
    for word in words_with_digits(plain_words(text)):
        key = word if word.isdecimal() else word_stem(word)
        if key not in _STOP:
            yield key


@lru_cache(maxsize=1 << 15)
def keys_of_word(word: str) -> frozenset[str]:
    """Return the keys of a single word, cached: texts repeat their words."""
    return frozenset(recollection_keys(word))
