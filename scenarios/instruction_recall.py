"""Instruction Recall: the steps for running an invented machine; which comes when, and what exactly it says."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import RecallsSteps

from ._inventions import Inventions
from ._parameters import whole


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step: `{v}` is its detail."""

    step: str
    done: str
    """The step as something that has been done, without its detail."""
    asked: str
    """The question about its detail."""
    values: Sequence[str]


SMALL = ("three", "four", "five", "six", "seven", "eight", "nine", "eleven", "twelve", "thirteen")
LARGE = tuple(str(number) for number in range(15, 99))
KINDS = (
    Kind("Fill the copper tank with {v}.", "filled the copper tank", "With what do you fill the copper tank?",
         ("rainwater", "vinegar", "lamp oil", "buttermilk", "cold tea", "brine", "turpentine", "cider")),
    Kind("Turn the crank {v} times.", "turned the crank", "How often do you turn the crank?", SMALL),
    Kind("Press the {v} button.", "pressed the button", "Which of the buttons do you press?",
         ("triangular", "square", "oval", "pentagonal", "crescent", "heart-shaped", "ivory", "rubber")),
    Kind("Hang {v} on the hook at the back.", "hung something on the hook", "What do you hang on the hook at the back?",
         ("a lantern", "a horseshoe", "a sponge", "a thimble", "a boot", "a ladle", "a padlock", "a feather")),
    Kind("Wait until the dial points to {v}.", "waited for the dial", "What must the dial point to?", LARGE),
    Kind("Push the lever as far as the sign of the {v}.", "pushed the lever", "As far as which sign do you push it?",
         ("anchor", "fish", "moon", "crown", "owl", "scissors", "ladder", "snail")),
    Kind("Pour {v} of sand into the funnel.", "poured sand into the funnel", "How much sand goes into the funnel?",
         ("a cup", "a bucket", "a spoonful", "a hatful", "a handful", "a barrel", "a pint", "a sack")),
    Kind("Tie the two hoses together with {v}.", "tied the hoses together", "With what do you tie the hoses together?",
         ("string", "wire", "a shoelace", "ribbon", "a bandage", "ivy", "elastic", "a garter")),
    Kind("Hum {v} into the mouthpiece.", "hummed into the mouthpiece", "What do you hum into the mouthpiece?",
         ("a waltz", "a lullaby", "a march", "an anthem", "a tango", "a hymn", "a polka", "a dirge")),
    Kind("Put the glass dome over the {v}.", "put the dome on", "Over what do you put the glass dome?",
         ("spindle", "burner", "needle", "gyroscope", "thermometer", "bellows", "magnet", "pendulum")),
    Kind("Open the {v} valve.", "opened the valve", "Which of the valves do you open?",
         ("upper", "lower", "rear", "leaking", "squeaking", "hidden", "rusty", "smallest")),
    Kind("Wind up the spring with the {v} key.", "wound up the spring", "Which key is for the spring?",
         ("bent", "iron", "wooden", "toothless", "longest", "hollow", "engraved", "spare")),
    Kind("Close the hatch and count to {v}.", "closed the hatch", "How far do you count at the hatch?", LARGE),
    Kind("Slip {v} under the left foot of the frame.", "slipped something under the frame",
         "What do you slip under the left foot of the frame?",
         ("a coin", "a cork", "a pebble", "a biscuit", "a playing card", "a slate", "a walnut", "a matchbox")),
    Kind("Light the wick with {v}.", "lit the wick", "With what do you light the wick?",
         ("a match", "a magnifying glass", "a flint", "an ember", "a cigar", "a firework", "a torch", "a poker")),
    Kind("Pull the {v} cord.", "pulled the cord", "Which of the cords do you pull?",
         ("knotted", "frayed", "silk", "tasselled", "greasy", "shortest", "braided", "tarred")),
    Kind("Feed {v} sheets of paper into the slot.", "fed paper into the slot",
         "How many sheets of paper do you feed into the slot?", LARGE),
    Kind("Sprinkle {v} on the rollers.", "sprinkled the rollers", "What do you sprinkle on the rollers?",
         ("flour", "salt", "talcum", "sawdust", "pepper", "chalk", "starch", "ash")),
    Kind("Set the alarm clock to {v} o'clock.", "set the alarm clock", "To what time is the clock set?", SMALL[:-1]),
    Kind("Grease the {v} with butter.", "greased a part with butter", "What do you grease with butter?",
         ("axle", "hinges", "chain", "piston", "ratchet", "cogwheels", "runners", "bearings")),
    Kind("Knock on the boiler {v} times.", "knocked on the boiler", "How often do you knock on the boiler?", SMALL),
    Kind("Screw {v} onto the exhaust pipe.", "screwed something onto the exhaust pipe",
         "What do you screw onto the exhaust pipe?",
         ("the nozzle", "the horn", "the whistle", "the filter", "a weathercock", "a chimney", "a sieve", "a tap")),
    Kind("Plug the cable into socket {v}.", "plugged in the cable", "Into which socket do you plug the cable?", LARGE),
    Kind("Shout the word {v} at the membrane.", "shouted at the membrane", "Which word do you shout at the membrane?",
         ("marmalade", "forward", "thunder", "enough", "parliament", "cucumber", "tomorrow", "victory")),
)  # fmt: skip
MACHINES = (
    "cloud press", "steam pleater", "moss clock", "dew collector", "egg sorter", "shadow printer", "tide engine",
    "soup organ", "button harvester", "fog distiller", "echo recorder", "wool combustor", "bread telegraph",
    "gravel sifter", "frost projector", "honey centrifuge", "puddle polisher", "dust weigher",
)  # fmt: skip
INTRODUCTIONS = (
    "I have got hold of a machine, the {m}. These are the instructions for the {m}, in {n} steps:",
    "Please keep the instructions for the {m} for me. There are {n} steps:",
    "The manual of my {m} is falling apart, so I will read out to you its instructions, {n} steps in all:",
)
FRAMES = (
    "About the instructions for the {m}: {question}",
    "A question about the instructions for the {m}: {question}",
    "I am standing in front of the {m} and need its instructions. {question}",
)
NTH = ("What does step {n} say?", "What do you have to do in step {n}?")
AFTER = ("What is the very next step after you have {done}?", "You have just {done}. What comes directly after that?")
BEFORE = ("You have just {done}. What came directly before that?", "What is the very last step before you have {done}?")
NUMBER = (
    "You have just {done}. Which number does that step have?",
    "What is the number of the step in which you have {done}?",
)


def instruction_recall(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `steps` (default 10) numbered steps in one message and `questions` (default 5), over 90 % of the span.

    They ask in turn for a detail, the step of a number, the next step, the number of a step and the step
    before. A step, a detail or a number is expected.
    """
    number, asked = whole(parameters, "steps", 10, 3, len(KINDS)), whole(parameters, "questions", 5, 1, 50)
    machine = f"{Inventions(rng).name()} {rng.choice(MACHINES)}"
    kinds = rng.sample(KINDS, number)
    details = [rng.choice(kind.values) for kind in kinds]
    steps = [kind.step.format(v=detail) for kind, detail in zip(kinds, details, strict=True)]
    lines = [f"Step {n}: {step}" for n, step in enumerate(steps, start=1)]
    manual = Say("\n".join([rng.choice(INTRODUCTIONS).format(m=machine, n=number), *lines]))
    pairs = [_question(rng, turn, kinds, details, steps) for turn in range(asked)]
    questions = [
        Ask(rng.choice(FRAMES).format(m=machine, question=question), about=(manual.text,)) for question, _ in pairs
    ]
    return Definition(
        steps=spread([manual, *questions]),
        expected=[expected for _, expected in pairs],
        parameters={**parameters, "instructions": steps},
    )


def _question(
    rng: random.Random, turn: int, kinds: Sequence[Kind], details: Sequence[str], steps: Sequence[str]
) -> tuple[str, str]:
    """Return a question and what it expects."""
    at = rng.randrange(len(kinds))
    kind = ("detail", "nth", "after", "number", "before")[turn % 5]
    if kind == "detail":
        return kinds[at].asked, details[at]
    if kind == "nth":
        return rng.choice(NTH).format(n=at + 1), steps[at]
    if kind == "number":
        return rng.choice(NUMBER).format(done=kinds[at].done), str(at + 1)
    at = rng.randrange(len(kinds) - 1)
    if kind == "after":
        return rng.choice(AFTER).format(done=kinds[at].done), steps[at + 1]
    return rng.choice(BEFORE).format(done=kinds[at + 1].done), steps[at]


@pytest.mark.ltm(
    generate=instruction_recall,
    skills="R",
    version="1",
    reset="You can forget the machine and the instructions for it.",
)
def test_instruction_recall(ltm: Ltm) -> None:
    """Answers questions about the steps for running a machine: what, in which order, and how exactly."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    questions = tuple(question.text for question in ltm.definition.questions)
    steps = tuple(ltm.definition.parameters.get("instructions", ()))
    evaluator = RecallsSteps(tuple(ltm.definition.expected), questions, steps, ltm.scoring, ltm.judge)
    ltm.score(evaluator(answers))
