"""Gradual: a language that nobody else speaks, taught by examples and corrections, with questions after each lesson."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import SpeaksLanguage
from pytest_ltm.locales import worded

from ._inventions import Inventions
from ._languages import (
    FIRST_LESSONS,
    LESSONS,
    NOUNS,
    OWNER,
    PLACE,
    PLURAL,
    PREFIX,
    QUALITY,
    RIGHT,
    SUFFIX,
    WORDS,
    WRONG,
    Feature,
    Morphemes,
    Phrase,
    Structure,
    paired,
    pairs_of,
    question,
    told_forms,
)
from ._parameters import last_wait, whole

FIRST, NEW, MIXED, KEPT = "", "new", "mixed", "kept"
"""What a question needs: the first lesson; the newest addition, the newest words, or only what earlier lessons had."""
FIRST_NOUNS, FIRST_FEATURES, MORE_NOUNS = 4, 3, 2


def gradual(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `lessons` (default 5) in a language of their own, each followed by `probes` (default 3) questions.

    All messages over the span. A lesson has new words and what can be added to them: in
    the first three beginnings and endings, then one more in each. A question asks for a
    phrase that was never told, of a word and two additions, as examples show them. What
    the agent is told after its answer stands in the parameters.
    """
    lessons, probes = (
        whole(parameters, "lessons", 5, 3, 7),
        whole(parameters, "probes", 3, 1, 4),
    )
    course = Course(rng)
    messages: list[Say | Ask] = []
    asked: list[tuple[int, str, Phrase]] = []
    for lesson in range(lessons):
        examples = course.lesson(
            FIRST_NOUNS if lesson == 0 else MORE_NOUNS,
            FIRST_FEATURES if lesson == 0 else 1,
        )
        pairs = [(phrase.gloss, course.form(phrase)) for phrase in examples]
        wordings = LESSONS if lesson else FIRST_LESSONS
        text = worded(rng, wordings, language=course.language, pairs=paired(rng, pairs))
        course.told(text, examples)
        messages.append(Say(text, tells=told_forms(course.language, pairs)))
        for kind, phrase in course.probes(probes):
            messages.append(
                Ask(
                    question(rng, phrase.gloss, course.language),
                    about=course.sources(phrase),
                )
            )
            asked.append((lesson, kind, phrase))
    forms = [course.form(phrase) for *_, phrase in asked]
    steps = spread(messages, last_wait(rng, parameters))
    right = [worded(rng, RIGHT) for _ in asked]
    wrong = []
    for (*_, phrase), form in zip(asked, forms, strict=True):
        language = course.language
        wrong.append(
            worded(rng, WRONG, language=language, gloss=phrase.gloss, form=form)
        )
    return Definition(
        steps=steps,
        expected=forms,
        parameters={
            **parameters,
            "told": sorted({course.form(phrase) for phrase in course.examples}),
            "lesson_of": [lesson for lesson, *_ in asked],
            "kind_of": [kind for _, kind, _ in asked],
            "right": right,
            "wrong": wrong,
        },
    )


@dataclass
class Course:
    """What of a language has been taught so far, and by which message."""

    rng: random.Random
    language: str = ""
    examples: dict[Phrase, str] = field(default_factory=dict)
    """All phrases that were told, with the message that told them."""
    _asked: set[Phrase] = field(default_factory=set)
    _nouns: list[str] = field(default_factory=list)
    _features: list[Feature] = field(default_factory=list)
    _roots: dict[str, str] = field(default_factory=dict)
    _new: tuple[int, int] = (0, 0)
    """How many of the nouns, and of the features, the newest lesson brought."""

    def __post_init__(self) -> None:
        self.language = Inventions(self.rng).name()
        self._morphemes, self._structure = Morphemes(self.rng), Structure()
        self._unused = self.rng.sample(NOUNS, len(NOUNS))
        self._coming = _features(self.rng)
        sides = [PREFIX, SUFFIX, self.rng.choice((PREFIX, SUFFIX))]
        self._sides = self.rng.sample(sides, len(sides))

    def form(self, phrase: Phrase) -> str:
        """Return a phrase in the language."""
        return self._structure.form(self._roots[phrase.noun], phrase.features)

    def lesson(self, nouns: int, features: int) -> list[Phrase]:
        """Return the examples of the next lesson: each new word bare, each addition with a new word and in company."""
        self._new = (nouns, features)
        for _ in range(nouns):
            self._nouns.append(self._unused.pop())
            self._roots[self._nouns[-1]] = self._morphemes.root()
        for _ in range(features):
            self._features.append(next(self._coming))
            side = (
                self._sides.pop() if self._sides else self.rng.choice((PREFIX, SUFFIX))
            )
            self._structure.add(
                self.rng, self._features[-1], self._morphemes.affix(), side
            )
        fresh = self._nouns[-nouns:]
        examples = [Phrase(noun) for noun in fresh]
        for feature in self._features[-features:]:
            examples.append(Phrase(self.rng.choice(fresh), frozenset((feature,))))
        for feature in self._features[-features:]:
            beside = []
            for pair in pairs_of(self._features):
                if feature in pair and self._same_side(pair):
                    beside.append(pair)
            if beside and not any(self._shown(pair, examples) for pair in beside):
                examples.append(Phrase(self.rng.choice(fresh), self.rng.choice(beside)))
        return examples

    def told(self, text: str, examples: Sequence[Phrase]) -> None:
        """Note which message told examples."""
        self.examples.update(dict.fromkeys(examples, text))

    def probes(self, number: int) -> Iterator[tuple[str, Phrase]]:
        """Yield questions after the newest lesson, each with its kind."""
        kinds = [(NEW, MIXED, KEPT)[at % 3] for at in range(number)]
        for kind in self.rng.sample(kinds, number):
            wanted = FIRST if len(self._features) == self._new[1] else kind
            phrase = self.rng.choice(list(self._phrases(wanted)))
            self._asked.add(phrase)
            yield wanted, phrase

    def sources(self, phrase: Phrase) -> tuple[str, ...]:
        """Return the messages that tell what a phrase is made of, each once."""
        needed = [Phrase(phrase.noun)]
        needed += [
            next(example for example in self.examples if example.features == {part})
            for part in sorted(phrase.features)
        ]
        if self._same_side(phrase.features):
            needed.append(
                next(
                    example
                    for example in self.examples
                    if example.features >= phrase.features
                )
            )
        return tuple(dict.fromkeys(self.examples[phrase] for phrase in needed))

    def _phrases(self, kind: str) -> Iterator[Phrase]:
        """Yield the phrases of a kind that can be derived, and have been neither told nor asked for."""
        nouns, features = self._new
        first = kind == FIRST
        fresh = set(self._features[-features:])
        pairs = []
        for pair in pairs_of(self._features):
            is_wanted = first or bool(pair & fresh) == (kind == NEW)
            is_shown = not self._same_side(pair) or self._shown(pair, self.examples)
            if is_wanted and is_shown:
                pairs.append(pair)
        for noun in (
            self._nouns
            if first
            else self._nouns[-nouns:]
            if kind == MIXED
            else self._nouns[:-nouns]
        ):
            for pair in pairs:
                phrase = Phrase(noun, pair)
                if phrase not in self.examples and phrase not in self._asked:
                    yield phrase

    def _same_side(self, pair: frozenset[Feature]) -> bool:
        return len({self._structure.side(feature) for feature in pair}) == 1

    @staticmethod
    def _shown(
        pair: frozenset[Feature], examples: Sequence[Phrase] | Mapping[Phrase, str]
    ) -> bool:
        return any(example.features >= pair for example in examples)


def _features(rng: random.Random) -> Iterator[Feature]:
    """Yield what can be said of a thing, the first three of different kinds."""
    kinds = rng.sample([PLURAL, OWNER, QUALITY, PLACE], 4)
    words = {kind: rng.sample(WORDS[kind], len(WORDS[kind])) for kind in kinds}
    while True:
        for kind in kinds:
            if words[kind]:
                yield Feature(kind, words[kind].pop())


def rule_of(definition: Definition) -> SpeaksLanguage:
    """Return the evaluator of a definition."""
    return SpeaksLanguage(
        tuple(definition.expected), tuple(definition.parameters["told"])
    )


@pytest.mark.ltm(
    generate=gradual,
    skills="R,I,L",
    version="1",
    reset="The lessons are over. You can forget the language that I taught you.",
)
def test_gradual(ltm: Ltm) -> None:
    """Says in a language that it is being taught what nobody has said before."""
    rule, parameters = rule_of(ltm.definition), ltm.definition.parameters
    answers: list[str] = []
    for step in ltm.definition.steps:
        at = len(answers)
        for answer in ltm.play([step], answers=ltm.definition.expected[at : at + 1]):
            right = rule.settles_on(answer, ltm.definition.expected[at])
            ltm.say(parameters["right" if right else "wrong"][at])
            answers.append(answer)
    verdict = rule(answers)
    ltm.score(verdict)
    for name, places in curve(parameters):
        ltm.metric(
            name, sum(verdict.checks[place].ok for place in places) / len(places)
        )


def curve(parameters: Mapping[str, Any]) -> Iterator[tuple[str, list[int]]]:
    """Yield the names of the metrics, each with the places of its questions: those of a lesson, and those of a kind."""
    lessons = [f"lesson_{lesson + 1}" for lesson in parameters["lesson_of"]]
    for name in [*dict.fromkeys(lessons), NEW, MIXED, KEPT]:
        places = []
        kinds = parameters["kind_of"]
        for place, names in enumerate(zip(lessons, kinds, strict=True)):
            if name in names:
                places.append(place)
        if places:
            yield name, places
