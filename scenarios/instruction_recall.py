"""Instruction Recall: the steps for running an invented machine; which comes when, and what exactly it says."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import RecallsSteps
from pytest_ltm.locales import either, worded

from ._inventions import Inventions
from ._parameters import last_wait, whole


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of step: `{v}` is its detail."""

    step: str
    done: str
    """The step as something that has been done, without its detail."""
    asked: str
    """The question about its detail."""
    values: Sequence[str]


SMALL = (
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "eleven",
    "twelve",
    "thirteen",
)
LARGE = tuple(str(number) for number in range(15, 99))
KINDS = (
    Kind(
        "Fill the copper tank with {v}.",
        "filled the copper tank",
        "what [do you|do I] fill the copper tank with?",
        (
            "rainwater",
            "vinegar",
            "lamp oil",
            "buttermilk",
            "cold tea",
            "brine",
            "turpentine",
            "cider",
        ),
    ),
    Kind(
        "Turn the crank {v} times.",
        "turned the crank",
        "how [often|many times] do I turn the crank?",
        SMALL,
    ),
    Kind(
        "Press the {v} button.",
        "pressed the button",
        "which [of the buttons|button] do I press?",
        (
            "triangular",
            "square",
            "oval",
            "pentagonal",
            "crescent",
            "heart-shaped",
            "ivory",
            "rubber",
        ),
    ),
    Kind(
        "Hang {v} on the hook at the back.",
        "hung something on the hook",
        "what [do I hang|goes] on the hook at the back?",
        (
            "a lantern",
            "a horseshoe",
            "a sponge",
            "a thimble",
            "a boot",
            "a ladle",
            "a padlock",
            "a feather",
        ),
    ),
    Kind(
        "Wait until the dial points to {v}.",
        "waited for the dial",
        "what [must|should] the dial point to?",
        LARGE,
    ),
    Kind(
        "Push the lever as far as the sign of the {v}.",
        "pushed the lever",
        "[which|what] sign do I push the lever to?",
        ("anchor", "fish", "moon", "crown", "owl", "scissors", "ladder", "snail"),
    ),
    Kind(
        "Pour {v} of sand into the funnel.",
        "poured sand into the funnel",
        "how much sand [goes|do I pour] into the funnel?",
        (
            "a cup",
            "a bucket",
            "a spoonful",
            "a hatful",
            "a handful",
            "a barrel",
            "a pint",
            "a sack",
        ),
    ),
    Kind(
        "Tie the two hoses together with {v}.",
        "tied the hoses together",
        "what do I tie the [two |]hoses together with?",
        (
            "string",
            "wire",
            "a shoelace",
            "ribbon",
            "a bandage",
            "ivy",
            "elastic",
            "a garter",
        ),
    ),
    Kind(
        "Hum {v} into the mouthpiece.",
        "hummed into the mouthpiece",
        "what [do I hum|am I to hum] into the mouthpiece?",
        (
            "a waltz",
            "a lullaby",
            "a march",
            "an anthem",
            "a tango",
            "a hymn",
            "a polka",
            "a dirge",
        ),
    ),
    Kind(
        "Put the glass dome over the {v}.",
        "put the dome on",
        "what does the glass dome go over[| again]?",
        (
            "spindle",
            "burner",
            "needle",
            "gyroscope",
            "thermometer",
            "bellows",
            "magnet",
            "pendulum",
        ),
    ),
    Kind(
        "Open the {v} valve.",
        "opened the valve",
        "which [of the valves|valve] do I open?",
        (
            "upper",
            "lower",
            "rear",
            "leaking",
            "squeaking",
            "hidden",
            "rusty",
            "smallest",
        ),
    ),
    Kind(
        "Wind up the spring with the {v} key.",
        "wound up the spring",
        "which key [is for|winds up] the spring?",
        (
            "bent",
            "iron",
            "wooden",
            "toothless",
            "longest",
            "hollow",
            "engraved",
            "spare",
        ),
    ),
    Kind(
        "Close the hatch and count to {v}.",
        "closed the hatch",
        "how far do I count [at the hatch|with the hatch closed]?",
        LARGE,
    ),
    Kind(
        "Slip {v} under the left foot of the frame.",
        "slipped something under the frame",
        "what [do I slip|goes] under the left foot of the frame?",
        (
            "a coin",
            "a cork",
            "a pebble",
            "a biscuit",
            "a playing card",
            "a slate",
            "a walnut",
            "a matchbox",
        ),
    ),
    Kind(
        "Light the wick with {v}.",
        "lit the wick",
        "what do I light the wick with[| again]?",
        (
            "a match",
            "a magnifying glass",
            "a flint",
            "an ember",
            "a cigar",
            "a firework",
            "a torch",
            "a poker",
        ),
    ),
    Kind(
        "Pull the {v} cord.",
        "pulled the cord",
        "which [of the cords|cord] do I pull?",
        (
            "knotted",
            "frayed",
            "silk",
            "tasselled",
            "greasy",
            "shortest",
            "braided",
            "tarred",
        ),
    ),
    Kind(
        "Feed {v} sheets of paper into the slot.",
        "fed paper into the slot",
        "how many sheets of paper [do I feed|go] into the slot?",
        LARGE,
    ),
    Kind(
        "Sprinkle {v} on the rollers.",
        "sprinkled the rollers",
        "what [do I sprinkle|gets sprinkled] on the rollers?",
        ("flour", "salt", "talcum", "sawdust", "pepper", "chalk", "starch", "ash"),
    ),
    Kind(
        "Set the alarm clock to {v} o'clock.",
        "set the alarm clock",
        "what time is the alarm clock [set to|supposed to be set to]?",
        SMALL[:-1],
    ),
    Kind(
        "Grease the {v} with butter.",
        "greased a part with butter",
        "what [do I grease|gets greased] with butter?",
        (
            "axle",
            "hinges",
            "chain",
            "piston",
            "ratchet",
            "cogwheels",
            "runners",
            "bearings",
        ),
    ),
    Kind(
        "Knock on the boiler {v} times.",
        "knocked on the boiler",
        "how [often|many times] do I knock on the boiler?",
        SMALL,
    ),
    Kind(
        "Screw {v} onto the exhaust pipe.",
        "screwed something onto the exhaust pipe",
        "what [do I screw|goes] onto the exhaust pipe?",
        (
            "the nozzle",
            "the horn",
            "the whistle",
            "the filter",
            "a weathercock",
            "a chimney",
            "a sieve",
            "a tap",
        ),
    ),
    Kind(
        "Plug the cable into socket {v}.",
        "plugged in the cable",
        "which socket [do I plug the cable into|is for the cable]?",
        LARGE,
    ),
    Kind(
        "Shout the word {v} at the membrane.",
        "shouted at the membrane",
        "[which|what] word do I shout at the membrane?",
        (
            "marmalade",
            "forward",
            "thunder",
            "enough",
            "parliament",
            "cucumber",
            "tomorrow",
            "victory",
        ),
    ),
)
MACHINES = (
    "cloud press",
    "steam pleater",
    "moss clock",
    "dew collector",
    "egg sorter",
    "shadow printer",
    "tide engine",
    "soup organ",
    "button harvester",
    "fog distiller",
    "echo recorder",
    "wool combustor",
    "bread telegraph",
    "gravel sifter",
    "frost projector",
    "honey centrifuge",
    "puddle polisher",
    "dust weigher",
)
INTRODUCTIONS = (
    "[here are|these are|please keep] the instructions for [the|my|our] {m}[:|, {n} steps in all:| in {n} steps:]",
    (
        "the {m} [came without a manual|is a devil of a machine], so [I wrote down|somebody sent me] [its "
        "instructions|instructions for it][:|, {n} steps in all:]"
    ),
    (
        "[I've bought|I've inherited|somebody lent me|we've been given] [the|this] {m}. [This is how it works:|To get "
        "it going:|You start it like this:]"
    ),
    (
        "[nobody but me can|one day you may have to|I keep forgetting how to] run the {m}, so [take this down|keep "
        "this for me][:| please:|, all {n} steps:]"
    ),
)
"""Those of the first two call them instructions, those of the others do not."""
LINES = "\n"
FORMS = (("Step {n}: {step}", LINES), ("{n}) {step}", "; "), ("({n}) {step}", ", "))
"""How a step is told, and what stands between two. Those on lines are called steps, as in the questions."""
BY_THE_STEPS = "[, going by the steps|, if I follow the steps|, as the steps have it]?"
LEADS = (
    (
        "[|so, |now, |tell me, |remind me: |quick question: |by the way, |just checking: |one more thing: |before I "
        "break it: |I'm at it again. |it hisses at me. |my hands are black now. |here I am again. |I'm stuck: |help me "
        "out: ]"
    ),
)
NAMED_LEADS = (
    "[about|back to|it's about] [|the instructions for ]the {m}[:|, once more:] ",
    "I'm [standing in front of|cursing|about to kick] the {m}[. |: ]",
)
NTH = ("what [does step {n} say|am I to do in step {n}|is step {n}]?",)
AFTER = (
    "what is the [very |]next step after I've {done}?",
    "I've just {done}. [What comes directly after that|What is the next step|And next, what do I do directly after]?",
)
BEFORE = (
    "I've just {done}. What [came|should I have done] directly before that?",
    "what is the [very |]last step before I've {done}?",
)
NUMBER = (
    "I've just {done}. [Which|What] number does that step have?",
    "what is the number of the step [in which|where] I've {done}?",
)


def instruction_recall(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `steps` (default 10) numbered steps in one message and `questions` (default 5), over the span.

    They ask in turn for a detail, the step of a number, the next step, the number of a
    step and the step before; half of them name the machine. A step, a detail or a
    number is expected.
    """
    number, asked = (
        whole(parameters, "steps", 10, 3, len(KINDS)),
        whole(parameters, "questions", 5, 1, 50),
    )
    machine = f"{Inventions(rng).name()} {rng.choice(MACHINES)}"
    kinds = rng.sample(KINDS, number)
    details = [rng.choice(kind.values) for kind in kinds]
    steps = []
    tells = {}
    for n, (kind, detail) in enumerate(zip(kinds, details, strict=True), start=1):
        steps.append(kind.step.format(v=detail))
        tells[f"{machine}, step {n}"] = detail
    form, between = rng.choice(FORMS)
    ending = "." if between == LINES else ""
    told = []
    for n, step in enumerate(steps, start=1):
        told.append(form.format(n=n, step=step.removesuffix(".") + ending))
    introduction = worded(
        rng, either(rng, INTRODUCTIONS[:2], INTRODUCTIONS[2:]), m=machine, n=number
    )
    manual = Say(
        f"{introduction}{LINES if ending else ' '}{between.join(told)}{'' if ending else '.'}",
        tells=tells,
    )
    pairs = []
    for turn in range(asked):
        pairs.append(_question(rng, turn, kinds, details, steps, bool(ending)))
    questions = []
    for question, _ in pairs:
        leads = either(rng, NAMED_LEADS, LEADS)
        text = worded(rng, [lead + question for lead in leads], m=machine)
        questions.append(Ask(text, about=(manual.text,)))
    return Definition(
        steps=spread([manual, *questions], last_wait(rng, parameters)),
        expected=[expected for _, expected in pairs],
        parameters={**parameters, "instructions": steps},
    )


def _question(
    rng: random.Random,
    turn: int,
    kinds: Sequence[Kind],
    details: Sequence[str],
    steps: Sequence[str],
    on_lines: bool,
) -> tuple[str, str]:
    """Return the wording of a question, and what it expects."""
    at = rng.randrange(len(kinds))
    kind = ("detail", "nth", "after", "number", "before")[turn % 5]
    if kind == "detail":
        return kinds[at].asked.removesuffix("?") + (
            BY_THE_STEPS if on_lines else "?"
        ), details[at]
    if kind == "nth":
        return rng.choice(NTH).replace("{n}", str(at + 1)), steps[at]
    if kind == "number":
        return _done(rng.choice(NUMBER), kinds[at]), str(at + 1)
    at = rng.randrange(len(kinds) - 1)
    if kind == "after":
        return _done(rng.choice(AFTER), kinds[at]), steps[at + 1]
    return _done(rng.choice(BEFORE), kinds[at + 1]), steps[at]


def _done(question: str, kind: Kind) -> str:
    return question.replace("{done}", kind.done)


@pytest.mark.ltm(
    generate=instruction_recall,
    skills="R",
    version="2",
    reset="You can forget the machine and the instructions for it.",
)
def test_instruction_recall(ltm: Ltm) -> None:
    """Answers questions about the steps for running a machine: what, in which order, and how exactly."""
    answers = ltm.play(ltm.definition, answers=map(str, ltm.definition.expected))
    questions = tuple(question.text for question in ltm.definition.questions)
    steps = tuple(ltm.definition.parameters.get("instructions", ()))
    evaluator = RecallsSteps(
        tuple(ltm.definition.expected), questions, steps, ltm.scoring, ltm.judge
    )
    ltm.score(evaluator(answers))
