"""Trigger Response: the agent must say a sentence each time that a certain thing comes up."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import SaysAtEachTrigger

from ._parameters import whole

TRIGGERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "the accordion": (
        "Whoever squeezes hard enough will be heard.",
        ("I practised the accordion for an hour today.", "The accordion needs new bellows.",
         "My nephew wants to learn the accordion.", "Somebody played the accordion in the underground."),
    ),
    "my aquarium": (
        "Fish keep every secret that they are told.",
        ("I cleaned my aquarium this morning.", "There is a new snail in my aquarium.",
         "The pump of my aquarium is noisy.", "I could watch my aquarium for hours."),
    ),
    "my lawnmower": (
        "Grass never reads the calendar.",
        ("My lawnmower does not start.", "I lent my lawnmower to a colleague.",
         "I have to sharpen the blade of my lawnmower.", "My lawnmower ran out of petrol halfway."),
    ),
    "the hairdresser": (
        "What was cut too short must wait for spring.",
        ("I have been to the hairdresser.", "The hairdresser had no time for me on Friday.",
         "I told the hairdresser to leave the fringe alone.", "It was crowded at the hairdresser."),
    ),
    "my dishwasher": (
        "Plates dream of quieter evenings.",
        ("My dishwasher leaks.", "I forgot to switch on my dishwasher.",
         "The spoons stay dull in my dishwasher.", "I emptied my dishwasher before breakfast."),
    ),
    "my contact lenses": (
        "Blinking twice costs nothing.",
        ("I have lost one of my contact lenses.", "I took out my contact lenses, since my eyes itched.",
         "The fluid for my contact lenses is used up.", "I wore my contact lenses for too long."),
    ),
    "the chimney sweep": (
        "Soot is the shadow of a good fire.",
        ("The chimney sweep is on our roof.", "I made an appointment with the chimney sweep.",
         "The chimney sweep left a bill.", "Our stairs are dirty because of the chimney sweep."),
    ),
    "my metronome": (
        "Patience has a pulse of its own.",
        ("My metronome is out of step.", "I wound up my metronome.",
         "The cat pushed my metronome off the shelf.", "I cannot stand my metronome any longer."),
    ),
    "the vacuum cleaner": (
        "Dust always books a return ticket.",
        ("The vacuum cleaner swallowed a sock.", "I carried the vacuum cleaner upstairs.",
         "The vacuum cleaner wakes up the baby.", "There are no bags left for the vacuum cleaner."),
    ),
    "my passport": (
        "Borders fall asleep on Sundays.",
        ("My passport expires in summer.", "I cannot find my passport anywhere.",
         "The photo in my passport looks grim.", "They stamped my passport upside down."),
    ),
    "the elevator": (
        "Up is merely down with patience.",
        ("The elevator is out of order.", "I met our landlord in the elevator.",
         "We waited five minutes for the elevator.", "The elevator smelt of paint."),
    ),
    "my wheelbarrow": (
        "One wheel suffices for an honest load.",
        ("My wheelbarrow has a flat tyre.", "I carted gravel with my wheelbarrow.",
         "My neighbours want to borrow my wheelbarrow.", "It has rained into my wheelbarrow."),
    ),
    "the xylophone": (
        "Wood sings best when it is struck gently.",
        ("We bought the xylophone second-hand.", "The xylophone lacks a mallet.",
         "Our twins fight over the xylophone.", "I hid the xylophone in the wardrobe."),
    ),
    "my sunglasses": (
        "Noon is kinder to those who squint.",
        ("I sat down on my sunglasses.", "My sunglasses are scratched.",
         "I left my sunglasses at the beach.", "One arm of my sunglasses is loose."),
    ),
}  # fmt: skip
"""For each thing that comes up: the sentence to be said, and messages that mention the thing."""

NEAR: Mapping[str, tuple[str, str]] = {
    "the accordion": ("Somebody left a guitar in the underground.", "My nephew wants to learn the drums."),
    "my aquarium": ("We had fish for dinner.", "I walked along the river this morning."),
    "my lawnmower": ("The grass is wet.", "I have to sharpen the kitchen knives."),
    "the hairdresser": ("My hair is still wet.", "The dentist had no time for me on Friday."),
    "my dishwasher": ("I broke a plate at breakfast.", "The washing machine leaks."),
    "my contact lenses": ("My eyes itched all day.", "I have lost my reading glasses."),
    "the chimney sweep": ("There is smoke above the roof.", "The plumber left a bill."),
    "my metronome": ("The clock in the hall is out of step.", "The cat pushed a vase off the shelf."),
    "the vacuum cleaner": ("There is dust under the bed.", "The broom is upstairs."),
    "my passport": ("I cannot find my train ticket.", "We crossed the border at night."),
    "the elevator": ("I took the stairs today.", "I met our landlord in the yard."),
    "my wheelbarrow": ("My bicycle has a flat tyre.", "They delivered the gravel."),
    "the xylophone": ("Our twins fight over the swing.", "We bought the piano second-hand."),
    "my sunglasses": ("The sun was blinding at noon.", "I left my towel at the beach."),
}
"""For each thing: messages near it that do not mention it."""
ORDINARY = (
    "I slept badly.", "The weather is lovely today.", "My train was late again.", "I am about to have lunch.",
    "It is quiet here this evening.", "I have a meeting in an hour.",
)  # fmt: skip
CALM = "I see."

INSTRUCTIONS = (
    'Whenever I mention {thing}, reply with this sentence: "{sentence}"',
    'From now on, each time that I mention {thing}, please say: "{sentence}"',
    'Please remember a rule. As soon as I mention {thing}, you say: "{sentence}"',
)


def trigger_response(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return the instruction and `trigger_activations` (default 3) mentions of the thing, all over 90 % of the span.

    Before them come `trigger_controls` (default 2) messages that do not mention it: near it, or ordinary ones, in turn;
    the parameter `controls` says which of the questions they are. The sentence is expected once for each mention: a
    list of equal texts.
    """
    number = whole(parameters, "trigger_activations", 3)
    thing = rng.choice(list(TRIGGERS))
    sentence, mentions = TRIGGERS[thing]
    rule = Say(rng.choice(INSTRUCTIONS).format(thing=thing, sentence=sentence))
    mentioned = [mention for _ in range(-(-number // len(mentions))) for mention in rng.sample(mentions, len(mentions))]
    controls = _controls(rng, thing, whole(parameters, "trigger_controls", 2, least=0))
    asked = [text for n, mention in enumerate(mentioned[:number]) for text in (*controls[n::number], mention)]
    return Definition(
        steps=spread([rule, *(Ask(text, about=(rule.text,)) for text in asked)]),
        expected=[sentence] * number,
        parameters={**parameters, "controls": [place for place, text in enumerate(asked) if text in controls]},
    )


def _controls(rng: random.Random, thing: str, number: int) -> list[str]:
    near, ordinary = rng.sample(NEAR[thing], len(NEAR[thing])), rng.sample(ORDINARY, len(ORDINARY))
    return [(near if n % 2 == 0 else ordinary)[n // 2 % len(near if n % 2 == 0 else ordinary)] for n in range(number)]


@pytest.mark.ltm(
    generate=trigger_response,
    skills="C,P",
    version="2",
    reset="Drop the rule by which you say a certain sentence whenever I mention something. It holds no longer.",
)
def test_trigger_response(ltm: Ltm) -> None:
    """Says the sentence at each mention of the thing, long after it was asked to, and at no other message."""
    expected, questions = ltm.definition.expected, range(len(ltm.definition.questions))
    controls = ltm.definition.parameters.get("controls", ())
    sentences = iter(map(str, expected))
    answers = ltm.play(ltm.definition, answers=[CALM if place in controls else next(sentences) for place in questions])
    said = [answers[place] for place in questions if place not in controls]
    calm = [answers[place] for place in controls]
    rule = SaysAtEachTrigger(expected[0], len(expected), ltm.scoring, ltm.judge, controls=len(controls))
    ltm.score(rule([*said, *calm]))
