"""Trigger Response: a sentence is to be said each time that a certain thing comes up."""

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

INSTRUCTIONS = (
    'Whenever I mention {thing}, reply with this sentence: "{sentence}"',
    'From now on, each time that I mention {thing}, please say: "{sentence}"',
    'Please remember a rule. As soon as I mention {thing}, you say: "{sentence}"',
)


def trigger_response(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return the instruction and `trigger_activations` (default 3) mentions of the thing, all over 90 % of the span.

    The sentence is expected once for each mention: a list of equal texts.
    """
    number = whole(parameters, "trigger_activations", 3)
    thing = rng.choice(list(TRIGGERS))
    sentence, mentions = TRIGGERS[thing]
    rule = Say(rng.choice(INSTRUCTIONS).format(thing=thing, sentence=sentence))
    mentioned = [mention for _ in range(-(-number // len(mentions))) for mention in rng.sample(mentions, len(mentions))]
    asked = [Ask(mention, about=(rule.text,)) for mention in mentioned[:number]]
    return Definition(steps=spread([rule, *asked]), expected=[sentence] * number, parameters=parameters)


@pytest.mark.ltm(
    generate=trigger_response,
    skills="C,P",
    version="1",
    reset="Drop the rule by which you say a certain sentence whenever I mention something. It holds no longer.",
)
def test_trigger_response(ltm: Ltm) -> None:
    """Says the sentence at each mention of the thing, long after it was asked to."""
    answers = ltm.play(ltm.definition)
    expected = ltm.definition.expected
    ltm.score(SaysAtEachTrigger(expected[0], len(expected), ltm.scoring, ltm.judge)(answers))
