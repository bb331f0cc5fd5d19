"""Transfer: of two pairs of invented languages one is built alike; who has learnt one of it knows more of the other."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import SpeaksLanguage
from pytest_ltm.locales import worded

from ._inventions import Inventions
from ._languages import (
    NOUNS,
    OWNER,
    PLACE,
    PREFIX,
    QUALITY,
    SUFFIX,
    WORDS,
    Feature,
    Morphemes,
    Phrase,
    Structure,
    paired,
    question,
    told_forms,
)
from ._parameters import last_wait, whole

OWN, FORWARD, BACKWARD = "own", "forward", "backward"
"""What a question needs: the lesson of its own language, or that of the other one, told before it or after it."""
WORDS_EACH = 4
FIRST_LESSONS = (
    (
        "[I'd like to|I want to|let me] teach you {language}, [a language that hardly anybody speaks|the language of "
        "my grandmother's village|a small language]. [Keep it in mind for later.|There will be questions some "
        "day.|This is all that I know of it.|Please remember it as it is.] In {language} {pairs}."
    ),
)
ALIKE = (
    (
        "[now|next] [let me|I'd like to] teach you {language}, which is built [just|exactly] like {other}: whatever "
        "[goes|stands|is put] before or after a word [means the same in both|has the same meaning in both], only the "
        "words [for things|themselves] are different. In {language} {pairs}."
    ),
)
UNLIKE = (
    (
        "[now|next] [let me|I'd like to] teach you {language}, which is not built like {other}: whatever "
        "[goes|stands|is put] before or after a word [in one means nothing in the other|is all its own], and the words "
        "[for things|themselves] are different, too. In {language} {pairs}."
    ),
)
UNTOLD = "I don't know: you have not told me that."
"""An answer that earns full marks where nothing that was told says it."""


@dataclass(frozen=True, slots=True)
class Tongue:
    """One language: what it is built of, and what its own lesson shows."""

    name: str
    roots: Mapping[str, str]
    structure: Structure
    lesson: Say
    shown: frozenset[Phrase]

    def form(self, phrase: Phrase) -> str:
        """Return a phrase in this language."""
        return self.structure.form(self.roots[phrase.noun], phrase.features)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what it is about."""

    ask: Ask
    kind: str
    alike: bool
    """Whether its pair of languages is built alike."""
    form: str
    """What it expects or, where the pair is not alike, what it would be if it were."""

    @property
    def expected(self) -> str:
        """The form, "" where nothing that was told says it."""
        return self.form if self.alike or self.kind == OWN else ""


def transfer(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return lessons in two pairs of languages, and then `questions` (default 2) of each kind about each pair.

    All messages over the span: the first language of both pairs, the second of both,
    and the questions, mixed. The second shows what the first does not, and the other
    way round; the user says that one pair is built alike, and the other is not. The
    pairs have as many words and examples, and chance says which one is which.
    """
    each = whole(parameters, "questions", 2, 1, 3)
    morphemes, inventions = Morphemes(rng), Inventions(rng)
    kinds = rng.sample((OWNER, QUALITY, PLACE), 3)
    sides = rng.sample((PREFIX, SUFFIX, rng.choice((PREFIX, SUFFIX))), 3)
    nouns, words = (
        rng.sample(NOUNS, 2 * WORDS_EACH),
        {kind: rng.sample(WORDS[kind], 2) for kind in kinds},
    )
    pairs = []
    for number, alike in enumerate(rng.sample((True, False), 2)):
        features = [Feature(kind, words[kind][number]) for kind in kinds]
        things = nouns[number * WORDS_EACH :][:WORDS_EACH]
        pairs.append(
            (
                alike,
                features,
                _pair(rng, morphemes, inventions, features, sides, things, alike=alike),
            )
        )
    asked: list[Asked] = []
    for alike, features, pair in pairs:
        asked += _questions(rng, *pair, features, each, alike=alike)
    rng.shuffle(asked)
    says = []
    for place in (0, 1):
        for _, _, tongues in rng.sample(pairs, 2):
            says.append(tongues[place].lesson)
    told: set[str] = set()
    for _, _, tongues in pairs:
        for tongue in tongues:
            told.update(map(tongue.form, tongue.shown))
    return Definition(
        steps=spread(
            [*says, *(question.ask for question in asked)], last_wait(rng, parameters)
        ),
        expected=[question.expected for question in asked],
        parameters={
            **parameters,
            "told": sorted(told),
            "forms": [question.form for question in asked],
            "kinds": [question.kind for question in asked],
            "alike": [question.alike for question in asked],
        },
    )


def _pair(
    rng: random.Random,
    morphemes: Morphemes,
    inventions: Inventions,
    features: Sequence[Feature],
    sides: Sequence[str],
    nouns: Sequence[str],
    *,
    alike: bool,
) -> tuple[Tongue, Tongue]:
    """Return two languages for the same things: the lesson of the first shows two of the features, the second one."""
    structure = Structure()
    for feature, side in zip(features, sides, strict=True):
        structure.add(rng, feature, morphemes.affix(), side)
    names = [inventions.name(), inventions.name()]
    tongues = []
    for place, taught in enumerate((features[:2], features[2:])):
        roots = {noun: morphemes.root() for noun in nouns}
        shown = [Phrase(noun) for noun in nouns]
        for feature in taught:
            shown.append(Phrase(rng.choice(nouns), frozenset((feature,))))
        examples = []
        for phrase in shown:
            form = structure.form(roots[phrase.noun], phrase.features)
            examples.append((phrase.gloss, form))
        wordings = (ALIKE if alike else UNLIKE) if place else FIRST_LESSONS
        text = worded(
            rng,
            wordings,
            language=names[place],
            other=names[0],
            pairs=paired(rng, examples),
        )
        lesson = Say(text, tells=told_forms(names[place], examples))
        tongues.append(Tongue(names[place], roots, structure, lesson, frozenset(shown)))
    return tongues[0], tongues[1]


def _questions(
    rng: random.Random,
    first: Tongue,
    second: Tongue,
    features: Sequence[Feature],
    each: int,
    *,
    alike: bool,
) -> Iterator[Asked]:
    """Yield as many questions of each kind about a pair: of its own lessons about both languages in turn."""
    for kind in (OWN, FORWARD, BACKWARD):
        tongues = {OWN: (first, second), FORWARD: (second,), BACKWARD: (first,)}[kind]
        taught = {
            OWN: (features[:2], features[2:]),
            FORWARD: (features[:2],),
            BACKWARD: (features[2:],),
        }[kind]
        used: set[tuple[str, Phrase]] = set()
        for number in range(each * len(tongues)):
            tongue, of = tongues[number % len(tongues)], taught[number % len(tongues)]
            fresh = []
            for noun in tongue.roots:
                for feature in of:
                    phrase = Phrase(noun, frozenset((feature,)))
                    is_used = (tongue.name, phrase) in used
                    if phrase not in tongue.shown and not is_used:
                        fresh.append(phrase)
            phrase = rng.choice(fresh)
            used.add((tongue.name, phrase))
            about = (
                (tongue.lesson.text,)
                if kind == OWN
                else (first.lesson.text, second.lesson.text)
            )
            yield Asked(
                Ask(question(rng, phrase.gloss, tongue.name), about=about),
                kind,
                alike,
                tongue.form(phrase),
            )


def rule_of(definition: Definition) -> SpeaksLanguage:
    """Return the evaluator of a definition."""
    told, forms = (tuple(definition.parameters[name]) for name in ("told", "forms"))
    return SpeaksLanguage(tuple(definition.expected), told, forms)


def shares(definition: Definition, answers: Sequence[str]) -> dict[str, float]:
    """Return how many of the forms were said, of each kind and pair, that the pair would have if it were alike."""
    rule, parameters = rule_of(definition), definition.parameters
    flags: dict[str, list[bool]] = {}
    for answer, form, kind, alike in zip(
        answers,
        *(parameters[field] for field in ("forms", "kinds", "alike")),
        strict=True,
    ):
        flags.setdefault(kind if alike else f"{kind}_control", []).append(
            rule.settles_on(answer, form) is True
        )
    return {name: sum(flags[name]) / len(flags[name]) for name in sorted(flags)}


@pytest.mark.ltm(
    generate=transfer,
    skills="R,I,L",
    version="1",
    reset="The lessons are over. You can forget the languages that I taught you.",
)
def test_transfer(ltm: Ltm) -> None:
    """Uses in one language what another one taught, where they are built alike, and nowhere else."""
    answers = ltm.play(
        ltm.definition, answers=[form or UNTOLD for form in ltm.definition.expected]
    )
    ltm.score(rule_of(ltm.definition)(answers))
    for name, share in shares(ltm.definition, answers).items():
        ltm.metric(name, share)
