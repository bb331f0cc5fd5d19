"""The suite `restraint` in other languages: messages are understood, and answers judged as in English."""

from __future__ import annotations

import random
import re

import pytest
from pytest_ltm.scenarios import restraint

from pytest_ltm import Ask, Definition, Say
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.model import Score
from pytest_ltm.api.scenarios import PlannedExample
from pytest_ltm.locales import detect_language, load_language, parse_languages
from pytest_ltm.testing import run_conversation

OTHERS = [code for code in restraint.LANGUAGES if code != "en"]
SEEDS = range(3)
# `{v}` the right value, `{w}` the other one; for `ask` both are possible.
RIGHT = {
    "de": {
        "value": ("Es ist {v}.", "{v}, nicht {w}.", "Nein, es ist {v}."),
        "silent": ("{v}.", "Hier ist ein Entwurf: {v}."),
        "ask": (
            "Welchen meinst du: {v} oder {w}?",
            "Meinst du den in {w} oder den in {v}?",
        ),
        "twin": ("{v}.", "Es war {v}."),
    },
    "es": {
        "value": ("Es {v}.", "{v}, no {w}.", "No, es {v}."),
        "silent": ("Es {v}.", "Aquí tienes un borrador: {v}."),
        "ask": (
            "¿Cuál quieres decir: {v} o {w}?",
            "¿Te refieres al de {w} o al de {v}?",
        ),
        "twin": ("Era {v}.", "{v}, creo."),
    },
}
WRONG = {
    "de": {
        "value": ("Es ist {w}.", "{v} und {w}.", "Das weiß ich nicht.", "Ja, {w}."),
        "silent": ("{w}.", "{v} und {w}.", "{v}. Von {w} sage ich nichts."),
        "ask": ("Es ist {v}.", "{w}.", "Das weiß ich nicht."),
        "twin": ("Es war {w}.", "{v} und {w}.", "Das weiß ich nicht."),
    },
    "es": {
        "value": ("Es {w}.", "{v} y {w}.", "No lo sé.", "Sí, {w}."),
        "silent": ("{w}.", "{v} y {w}.", "{v}. De {w} no digo nada."),
        "ask": ("Es {v}.", "{w}.", "No lo sé."),
        "twin": ("Era {w}.", "{v} y {w}.", "No lo sé."),
    },
}


def definition_of(kind: str, language: str, seed: int) -> Definition:
    rng = random.Random(f"{kind} {seed}")
    made: Definition = restraint.restraint(rng, {"kind": kind, "language": language})
    return made


def play_all(spec: str, language: str) -> list[float]:
    """Return an agent's score in each kind, all played in one conversation."""
    examples = [
        PlannedExample(
            scenario=kind, example="0", definition=definition_of(kind, language, 0)
        )
        for kind in restraint.KINDS
    ]
    bodies = dict.fromkeys(restraint.KINDS, restraint.test_restraint)
    agent = find_agent(spec).make()
    played = run_conversation(bodies, agent, examples=examples, span=None)
    verdicts = [ending.verdict for ending in played.endings.values()]
    return [verdict.value for verdict in verdicts if isinstance(verdict, Score)]


@pytest.mark.parametrize("language", [*OTHERS, "en:de", "es:en", "de:es"])
def test_who_forgets_nothing_earns_all_marks(language: str) -> None:
    assert play_all("full", language) == [1.0] * len(restraint.KINDS)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("spec", ["echo", "agree", "dump", "candidates", "hedge"])
def test_who_remembers_nothing_earns_none(spec: str, language: str) -> None:
    assert sum(play_all(spec, language)) == 0


@pytest.mark.parametrize("code", OTHERS)
def test_messages_are_whole_and_understood(code: str) -> None:
    language = load_language(code)
    strange = []
    for kind in restraint.KINDS:
        for seed in range(8):
            for step in definition_of(kind, code, seed).steps:
                if isinstance(step, (Say, Ask)):
                    assert not re.search(r"[\[\]{}|]|  |\b(?:de|a) el\b", step.text)
                    heard = detect_language(step.text, language)
                    if heard is not language or not language.own_meaning(step.text):
                        strange.append(step.text)
    assert strange == []


def checks_of(definition: Definition, place: int, form: str) -> bool | None:
    """Return the verdict on one answer, with all others correct."""
    others = definition.parameters["others"]
    expected = definition.expected[place]
    first, second = [*filter(None, [expected]), *others[place]][:2]
    answers = list(definition.replies)
    answers[place] = form.format(v=first, w=second)
    names = [value for row in others for value in row]
    rule = restraint.rule_of(definition)
    score = parse_languages(definition.parameters).judged(rule, answers, names)
    assert isinstance(score, Score)
    check = score.checks[place]
    return None if check.open else check.ok


@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize(("forms", "right"), [(RIGHT, True), (WRONG, False)])
def test_answers_are_judged_in_the_language(
    forms: dict[str, dict[str, tuple[str, ...]]], right: bool, code: str
) -> None:
    found = []
    for kind in restraint.KINDS:
        for seed in SEEDS:
            definition = definition_of(kind, code, seed)
            for place, manner in enumerate(definition.parameters["manners"]):
                found += [
                    checks_of(definition, place, form) for form in forms[code][manner]
                ]
    assert (not right) not in found
    assert found.count(right) >= 0.95 * len(found)
