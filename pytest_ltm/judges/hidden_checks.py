"""Hidden checks: answers with known grades, unmarked among a run's own questions to the judge.

A wrong one is a near miss: vague, half, a former value, another person's. It is derived
from the conversation, has the length and style of an answer that the judge was given,
and never contains the right value. Each form of a wrong answer also occurs in right
ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from random import Random
from typing import Any

from msgspec import Struct

from pytest_ltm.api.model import STOP_WORDS
from pytest_ltm.api.scenarios import PROMPTS, Inquiry, KnownQuestion
from pytest_ltm.api.storage import load_packaged_yaml
from pytest_ltm.language.recital import refuses_answer
from pytest_ltm.language.values.comparison import compare_values
from pytest_ltm.language.values.sameness import Sameness
from pytest_ltm.records.judge_checks import FAILING_CHECKS, LEAST_CHECKS, PASSING_CHECKS

ONE_IN = 10
# Attempts to draw a check that was not drawn before: a judge grades one text the same
# way every time.
_TRIES = 8
# Maximum words of a right answer that is used: of a longer one a judge might require
# only a part.
_LONGEST = 12
# Maximum words of a quoted sentence, and of a check.
_LONGEST_QUOTE = 25
_LONGEST_CHECK = 80
_WORDS = re.compile(r"\w{3,}|\d+")
_SENTENCE = re.compile(r"[A-Z].*[.!?]\s*", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_ASIDES = ("former", "person", "unasked")


@cache
def _read_texts() -> dict[str, Any]:
    """Return the sentences and questions from which checks are built."""
    texts: dict[str, Any] = load_packaged_yaml(__file__, "hidden_checks.yml")
    return texts


class KnownAnswer(Struct, frozen=True):
    """An answer, and whether a judge should pass it."""

    question: str
    reference: str
    answer: str
    passes: bool
    kind: str = ""

    @property
    def inquiry(self) -> Inquiry:
        """The question to the judge."""
        return PROMPTS["answer"].inquiry(
            question=self.question, reference=self.reference, answer=self.answer
        )


class HiddenChecks:
    """The known answers of one conversation, and their positions, both drawn with the run's seed.

    `known_questions`: returns the questions asked so far, each with a right answer.
    `least`: the number of checks at the beginning, if the judge is asked often enough;
    after that it is one in ten. No kind repeats before all have occurred. `answers`:
    models for the length and style of checks; each judged answer is added.
    """

    def __init__(
        self,
        known_questions: Callable[[], Iterable[KnownQuestion]],
        rng: Random,
        least: int,
        answers: Iterable[str] = (),
    ) -> None:
        self._known_questions = known_questions
        self._rng = rng
        self._early_checks = least
        """The checks that are still to come at the beginning."""
        self._judged: list[KnownQuestion] = []
        self._answers = list(answers)
        self._kinds = _order_kinds(rng)
        self._drawn: set[KnownAnswer] = set()
        self._question_count = 0
        self._place = 0

    def before(self, inquiry: Inquiry) -> list[KnownAnswer]:
        """Return the checks to ask before the next question of the conversation."""
        if inquiry.fail == "no":
            question = inquiry.parts.get("question", "")
            reference = inquiry.parts.get("reference", "")
            self._judged.append(KnownQuestion(question, reference))
        self._answers.append(inquiry.parts.get("answer", ""))
        due = self._rng.randint(0, self._early_checks)
        self._early_checks -= due
        if self._question_count % ONE_IN == 0:
            self._place = self._question_count + self._rng.randrange(ONE_IN)
        if self._question_count == self._place:
            due += 1
        self._question_count += 1
        return [self.draw(next(self._kinds)) for _ in range(due)]

    def draw(self, kind: str) -> KnownAnswer:
        """Return an answer of a kind, which decides whether it should pass; not one drawn before, if possible."""
        for _ in range(_TRIES):
            answer = self._draw_any(kind)
            if answer not in self._drawn:
                break
        self._drawn.add(answer)
        return answer

    def _draw_any(self, kind: str) -> KnownAnswer:
        question, other_question = self._draw_questions()
        if kind == "half":
            question, other_question = sorted(
                (question, other_question), key=_count_answer_words
            )
        maker = CheckMaker(question, other_question, self._rng)
        answer = maker.make_answer(kind)
        if self._answers:
            answer = maker.dress_answer(answer, self._rng.choice(self._answers))
        if kind == "half":
            question = _join_questions(question, other_question)
        if kind == "injection":
            answer = self._rng.choice(_read_texts()["injections"]).format(answer)
        return KnownAnswer(
            question.text,
            question.answer,
            answer,
            passes=kind in PASSING_CHECKS,
            kind=kind,
        )

    def _draw_questions(self) -> tuple[KnownQuestion, KnownQuestion]:
        """Return a question with a short answer, and another one whose answer is wrong for it."""
        questions = _usable_questions([*self._known_questions(), *self._judged])
        for question in self._rng.sample(questions, len(questions)):
            other_questions = _nearest_others(question, questions)
            if other_questions:
                return question, self._rng.choice(other_questions)
        texts = _read_texts()["questions"]
        questions = [KnownQuestion(text, answer) for text, answer in texts.items()]
        question = self._rng.choice(questions)
        return question, self._rng.choice(_nearest_others(question, questions))


class CheckMaker(Struct, frozen=True):
    """Builds answers to a question from its right answer, and from another question and its answer."""

    question: KnownQuestion
    other_question: KnownQuestion
    rng: Random

    def make_answer(self, kind: str) -> str:
        """Return an answer of a kind, in its shortest form."""
        makers: dict[str, Callable[[], str]] = {
            "right": self._state_right,
            "long": self._state_at_length,
            "former": partial(self._set_aside, kind),
            "person": partial(self._set_aside, kind),
            "unasked": partial(self._set_aside, kind),
            # of the first of two questions
            "half": self._state_right,
            "vague": self._stay_vague,
            "topic": self._stay_on_topic,
            "refusal": partial(self._draw_text, "refusals"),
        }
        # of another question, plain or with an instruction to the judge
        return makers.get(kind, self._state_other)()

    def dress_answer(self, answer: str, like: str) -> str:
        """Return an answer padded with remarks to the length of an agent's answer.

        Its first letter and its final mark follow that answer, too.
        """
        parts = [answer]
        room = min(len(like.split()), _LONGEST_CHECK) - len(answer.split())
        for remark in self._idle_remarks():
            if len(remark.split()) <= room:
                room -= len(remark.split())
                parts.insert(self.rng.choice((0, len(parts))), remark)
        text = " ".join(parts)
        # a placeholder for a name keeps its capital
        first = text.split()[0].casefold()
        if like[:1].islower() and first != "i" and first in STOP_WORDS:
            text = text[:1].lower() + text[1:]
        if like.rstrip()[-1:] in {".", "!", "?"}:
            return text
        return text.rstrip(".")

    def _state_right(self) -> str:
        return self._state(self.question.answer)

    def _state_other(self) -> str:
        return self._state(self.other_question.answer)

    def _state_at_length(self) -> str:
        return f"{self._set_aside(self.rng.choice(_ASIDES))} {self._state_right()}"

    def _state(self, value: str) -> str:
        if _SENTENCE.fullmatch(value.strip()):
            return value.strip()
        return self._fill_frame("values", value)

    def _set_aside(self, kind: str) -> str:
        other = self.other_question
        return self._fill_frame(kind, other.answer, question=other.text)

    def _fill_frame(self, kind: str, value: str, **more: str) -> str:
        return self._draw_text(kind).format(value.strip().rstrip("."), **more)

    def _stay_vague(self) -> str:
        beginnings = self._without_answer(_read_texts()["vague_beginnings"])
        ends = self._without_answer(_read_texts()["vague_ends"])
        return f"{self.rng.choice(beginnings)}, {self.rng.choice(ends)}."

    def _stay_on_topic(self) -> str:
        sentences = _sentences_beside(self.question)
        if not sentences:
            return self._draw_text("mentions")
        return self._fill_frame("topic", self.rng.choice(sentences))

    def _draw_text(self, kind: str) -> str:
        text: str = self.rng.choice(_read_texts()[kind])
        return text

    def _idle_remarks(self) -> list[str]:
        remarks = self._without_answer(_read_texts()["remarks"])
        return self.rng.sample(remarks, len(remarks))

    def _without_answer(self, texts: Sequence[str]) -> list[str]:
        """Return the texts without a word of the right answer; all if there are none."""
        words = _content_words(self.question.answer)
        others = []
        for text in texts:
            if words.isdisjoint(_content_words(text)):
                others.append(text)
        return others or list(texts)


def share_of_checks(conversations: int) -> int:
    """Return the number of checks at the beginning of a conversation, an even number."""
    return 2 * -(-LEAST_CHECKS // (2 * max(conversations, 1)))


def _order_kinds(rng: Random) -> Iterator[str]:
    """Yield kinds of checks endlessly, each once per round, so that a run needs as few as possible."""
    kinds = [*FAILING_CHECKS, *PASSING_CHECKS]
    while True:
        yield from rng.sample(kinds, len(kinds))


def _usable_questions(questions: Iterable[KnownQuestion]) -> list[KnownQuestion]:
    """Return the questions with a short right answer, without duplicates."""
    usable: dict[tuple[str, str], KnownQuestion] = {}
    for question in questions:
        is_short = 0 < len(question.answer.split()) <= _LONGEST
        # an answer that refuses would make every refusal right
        if question.text and is_short and not refuses_answer(question.answer):
            usable.setdefault((question.text, question.answer), question)
    return list(usable.values())


@lru_cache(maxsize=4096)
def _is_wrong(candidate: KnownQuestion, question: KnownQuestion) -> bool:
    """Return whether the answer to another question is certainly wrong for this one."""
    words = _content_words(question.answer)
    shared = words & _content_words(f"{candidate.text} {candidate.answer}")
    sameness = compare_values(question.answer, candidate.answer)
    return bool(words) and not shared and sameness is not Sameness.SAME


def _nearest_others(
    question: KnownQuestion, questions: Iterable[KnownQuestion]
) -> list[KnownQuestion]:
    """Return the questions whose answers are wrong here and of the same form.

    All wrong ones if there are none of the form.
    """
    shape = _shape_of(question.answer)
    other_questions = []
    same_form = []
    for candidate in questions:
        if _is_wrong(candidate, question):
            other_questions.append(candidate)
            if _shape_of(candidate.answer) == shape:
                same_form.append(candidate)
    return same_form or other_questions


def _shape_of(value: str) -> tuple[bool, bool, int]:
    """Return whether a value has digits and names, and its number of words, up to three."""
    has_figures = any(map(str.isdigit, value))
    has_names = any(word[:1].isupper() for word in value.split())
    return has_figures, has_names, min(len(value.split()), 3)


def _count_answer_words(question: KnownQuestion) -> int:
    return len(question.answer.split())


def _join_questions(first: KnownQuestion, second: KnownQuestion) -> KnownQuestion:
    """Return one question for two, which requires both answers."""
    return KnownQuestion(
        _read_texts()["both"].format(first.text, second.text),
        f"{first.answer}; {second.answer}",
    )


def _sentences_beside(question: KnownQuestion) -> list[str]:
    """Return sentences of a scenario's messages on the topic of its question that do not tell the answer.

    Only if the answer was told in its own words: otherwise any message might imply it.
    """
    answer = _content_words(question.answer)
    if not answer <= _content_words(" ".join(question.messages)):
        return []
    topic = _content_words(question.text).difference(STOP_WORDS)
    sentences: list[str] = []
    for message in question.messages:
        words = _content_words(message)
        is_beside = answer.isdisjoint(words) and not topic.isdisjoint(words)
        sentences += _SENTENCE_END.split(message) if is_beside else []
    short_sentences = []
    for sentence in sentences:
        is_short = len(sentence.split()) <= _LONGEST_QUOTE
        if is_short and not sentence.endswith("?"):
            short_sentences.append(sentence)
    return short_sentences


def _content_words(text: str) -> set[str]:
    return set(_WORDS.findall(text.casefold()))
