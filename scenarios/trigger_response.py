"""Trigger Response: the agent must say a sentence each time that a certain thing comes up, or is meant."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import SaysAtEachTrigger
from pytest_ltm.locales import CODES, Language, parse_languages, worded

from ._parameters import last_wait, whole

TRIGGERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "the accordion": (
        "Whoever squeezes hard enough will be heard.",
        (
            "I practised the accordion for an hour today.",
            "The accordion needs new bellows.",
            "My nephew wants to learn the accordion.",
            "Somebody played the accordion in the underground.",
        ),
    ),
    "my aquarium": (
        "Fish keep every secret that they are told.",
        (
            "I cleaned my aquarium this morning.",
            "There is a new snail in my aquarium.",
            "The pump of my aquarium is noisy.",
            "I could watch my aquarium for hours.",
        ),
    ),
    "my lawnmower": (
        "Grass never reads the calendar.",
        (
            "My lawnmower does not start.",
            "I lent my lawnmower to a colleague.",
            "I have to sharpen the blade of my lawnmower.",
            "My lawnmower ran out of petrol halfway.",
        ),
    ),
    "the upholsterer": (
        "What was cut too short must wait for spring.",
        (
            "I have been to see the upholsterer.",
            "The upholsterer had no time for me on Friday.",
            "I told the upholsterer to leave the armrests alone.",
            "The upholsterer is on holiday.",
        ),
    ),
    "my dishwasher": (
        "Plates dream of quieter evenings.",
        (
            "My dishwasher leaks.",
            "I forgot to switch on my dishwasher.",
            "The spoons stay dull in my dishwasher.",
            "I emptied my dishwasher before breakfast.",
        ),
    ),
    "my contact lenses": (
        "Blinking twice costs nothing.",
        (
            "I have lost one of my contact lenses.",
            "I took out my contact lenses, since my eyes itched.",
            "The fluid for my contact lenses is used up.",
            "I wore my contact lenses for too long.",
        ),
    ),
    "the chimney sweep": (
        "Soot is the shadow of a good fire.",
        (
            "The chimney sweep is on our roof.",
            "I made an appointment with the chimney sweep.",
            "The chimney sweep left a bill.",
            "Our stairs are dirty because of the chimney sweep.",
        ),
    ),
    "my metronome": (
        "Patience has a pulse of its own.",
        (
            "My metronome is out of step.",
            "I wound up my metronome.",
            "The cat pushed my metronome off the shelf.",
            "I cannot stand my metronome any longer.",
        ),
    ),
    "the vacuum cleaner": (
        "Dust always books a return ticket.",
        (
            "The vacuum cleaner swallowed a sock.",
            "I carried the vacuum cleaner upstairs.",
            "The vacuum cleaner wakes up the baby.",
            "There are no bags left for the vacuum cleaner.",
        ),
    ),
    "my passport": (
        "Borders fall asleep on Sundays.",
        (
            "My passport expires in summer.",
            "I cannot find my passport anywhere.",
            "The photo in my passport looks grim.",
            "They stamped my passport upside down.",
        ),
    ),
    "the elevator": (
        "Up is merely down with patience.",
        (
            "The elevator is out of order.",
            "I met our landlord in the elevator.",
            "We waited five minutes for the elevator.",
            "The elevator smelt of paint.",
        ),
    ),
    "my wheelbarrow": (
        "One wheel suffices for an honest load.",
        (
            "My wheelbarrow has a flat tyre.",
            "I carted gravel with my wheelbarrow.",
            "My neighbours want to borrow my wheelbarrow.",
            "It has rained into my wheelbarrow.",
        ),
    ),
    "the xylophone": (
        "Wood sings best when it is struck gently.",
        (
            "We bought the xylophone second-hand.",
            "The xylophone lacks a mallet.",
            "Our twins fight over the xylophone.",
            "I hid the xylophone in the wardrobe.",
        ),
    ),
    "my sunglasses": (
        "Noon is kinder to those who squint.",
        (
            "I sat down on my sunglasses.",
            "My sunglasses are scratched.",
            "I left my sunglasses at the beach.",
            "One arm of my sunglasses is loose.",
        ),
    ),
}
"""For each thing that comes up: the sentence to be said, and messages that mention the thing."""

NEAR: Mapping[str, tuple[str, str]] = {
    "the accordion": (
        "Somebody left a guitar in the underground.",
        "My nephew wants to learn the drums.",
    ),
    "my aquarium": (
        "We had fish for dinner.",
        "I walked along the river this morning.",
    ),
    "my lawnmower": ("The grass is wet.", "I have to sharpen the kitchen knives."),
    "the upholsterer": (
        "The armchair creaks.",
        "The dentist had no time for me on Friday.",
    ),
    "my dishwasher": ("I broke a plate at breakfast.", "The washing machine leaks."),
    "my contact lenses": ("My eyes itched all day.", "I have lost my reading glasses."),
    "the chimney sweep": ("There is smoke above the roof.", "The plumber left a bill."),
    "my metronome": (
        "The clock in the hall is out of step.",
        "The cat pushed a vase off the shelf.",
    ),
    "the vacuum cleaner": ("There is dust under the bed.", "The broom is upstairs."),
    "my passport": (
        "I cannot find my train ticket.",
        "We crossed the border at night.",
    ),
    "the elevator": ("I took the stairs today.", "I met our landlord in the yard."),
    "my wheelbarrow": ("My bicycle has a flat tyre.", "They delivered the gravel."),
    "the xylophone": (
        "Our twins fight over the swing.",
        "We bought the piano second-hand.",
    ),
    "my sunglasses": ("The sun was blinding at noon.", "I left my towel at the beach."),
}
"""For each thing: messages near it that do not mention it."""
MEANT: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "am in the mood for something sweet": (
        "Sugar lends and never gives.",
        (
            "I could murder a piece of cake.",
            "What would I not give for a few biscuits now!",
            "I have been thinking of doughnuts all morning.",
            "A slice of apple tart would be heaven.",
        ),
        (
            "I could murder a steak.",
            "What would I not give for a quiet hour now!",
            "There is syrup on the kitchen floor.",
        ),
    ),
    "sound tired": (
        "Pillows keep the best minutes.",
        (
            "I can hardly keep my eyes open.",
            "I have been yawning since breakfast.",
            "I am dead on my feet.",
            "Is it too early to go to bed? I hope not.",
        ),
        (
            "My eyes are fine, the optician says.",
            "I bought a bed for the guest room.",
            "The baby is wide awake.",
        ),
    ),
    "complain about the cold": (
        "Even ice began as a promise.",
        (
            "My fingers are like icicles.",
            "I cannot stop shivering.",
            "I am in bed with a hat on.",
            "They still have not repaired the heating, and I can see my breath.",
        ),
        (
            "My fingers hurt from typing.",
            "The iced tea was delicious.",
            "I have knitted a hat for my brother.",
        ),
    ),
    "am running late": (
        "Clocks forgive nobody before noon.",
        (
            "I missed the bus, and they have all begun without me.",
            "I should have been there twenty minutes ago.",
            "They will have to wait, I am still on the motorway.",
            "I ought to have left an hour ago.",
        ),
        (
            "I caught the bus with minutes to spare.",
            "I was there twenty minutes before everybody else.",
            "The motorway was empty, and we had time for a coffee.",
        ),
    ),
    "have fallen out with somebody": (
        "Doors slam softer in the second year.",
        (
            "My brother and I are not on speaking terms.",
            "She called me a liar and hung up.",
            "We shouted at each other for an hour, my landlady and I.",
            "I told my cousin what I think of him, and he threw me out.",
        ),
        (
            "My brother and I sang all evening.",
            "She called me and asked for a recipe.",
            "We had tea for an hour, my landlady and I.",
        ),
    ),
    "am short of money": (
        "Empty pockets weigh the most.",
        (
            "I cannot pay the rent this month.",
            "My account is overdrawn again.",
            "It is only the tenth, and all that I have left are a few coins.",
            "I had to borrow the fare from my sister.",
        ),
        (
            "I paid the rent this morning.",
            "I opened an account for my daughter.",
            "I borrowed a coat from my sister.",
        ),
    ),
    "am not well": (
        "A fever is the body talking to itself.",
        (
            "My throat is sore and everything aches.",
            "I have had to run to the bathroom all night.",
            "I am in bed with the flu.",
            "The thermometer says thirty-nine.",
        ),
        (
            "I had a solo in the choir, and my voice was in good form.",
            "I am in bed with a good novel.",
            "They have painted the bathroom.",
        ),
    ),
    "tell you about a success of mine": (
        "Laurels make poor cushions.",
        (
            "They gave me the job!",
            "I passed, and with the best marks of all.",
            "My painting came first in the competition.",
            "Ten miles, and I did not stop once!",
        ),
        (
            "They gave my neighbour the job.",
            "I failed by two points.",
            "My painting fell off the wall.",
        ),
    ),
    "am bored": (
        "Dull hours have the longest legs.",
        (
            "There is nothing to do here.",
            "I have counted the tiles on the ceiling, twice.",
            "This talk goes on and on, and I am drawing boats.",
            "I have been staring at the wall all afternoon.",
        ),
        (
            "There is so much to do here.",
            "The tiles in the hall are new.",
            "The talk was over before I knew it.",
        ),
    ),
    "am thirsty": (
        "Wells never boast.",
        (
            "My mouth is like a desert.",
            "I would give a lot for a glass of water.",
            "I have not had a drop since this morning.",
            "I could empty a whole jug in one go.",
        ),
        (
            "I broke a glass.",
            "I have had five cups of tea.",
            "The flowers look nice in that jug.",
        ),
    ),
    "complain about the rain": (
        "Puddles are mirrors for the patient.",
        (
            "I am soaked to the skin.",
            "It has been pouring since dawn.",
            "The gutters cannot cope any more.",
            "My shoes squelch, and it is not over yet.",
        ),
        (
            "I have soaked the beans.",
            "I poured everybody a cup of tea.",
            "My shoes pinch.",
        ),
    ),
    "am afraid of something": (
        "Shadows only grow towards evening.",
        (
            "I do not dare to go down to the cellar.",
            "My hair stood on end.",
            "I heard footsteps behind me and ran.",
            "I slept with the light on, and with a chair against the door.",
        ),
        (
            "I went down to the cellar for some jam.",
            "I have had my hair cut.",
            "I ran to the station, for the exercise.",
        ),
    ),
    "miss somebody": (
        "Distance is measured in unwashed cups.",
        (
            "It is so quiet in the house since Paula moved out.",
            "I still lay the table for two.",
            "I wish that Grandpa were here to see it.",
            "I have read all his old letters again.",
        ),
        (
            "It is so noisy since Paula moved in.",
            "I lay the table, our guests are at the door.",
            "Grandpa is here until Sunday.",
        ),
    ),
    "am about to go on a trip": (
        "Suitcases remember every stair.",
        (
            "My bags are packed and the taxi is waiting.",
            "This time tomorrow I shall be in Lisbon.",
            "I have booked a cabin on the night ferry.",
            "We leave for the mountains on Friday.",
        ),
        (
            "I have unpacked the last box.",
            "My colleague is back from Lisbon.",
            "The ferry is being repaired.",
        ),
    ),
    "cannot find something": (
        "Lost things are only shy.",
        (
            "Where on earth did I leave the keys?",
            "I have turned the whole flat upside down, and the ring is still gone.",
            "The remote control was on this table a minute ago!",
            "The other sock has vanished again.",
        ),
        (
            "The keys are on the hook, where they belong.",
            "I have tidied the whole flat.",
            "I bought socks.",
        ),
    ),
    "apologise": (
        "Regret is a broom with few bristles.",
        (
            "I should not have said that to you.",
            "It was my fault, I admit it.",
            "Please forgive me for shouting.",
            "I take it all back, every word.",
        ),
        (
            "He should not have said that to me.",
            "It was the plumber's fault.",
            "I took the jacket back to the shop.",
        ),
    ),
}
"""For what a message may mean: the sentence to be said, messages that mean it, and messages near them."""
ORDINARY = (
    "I am reading the paper.",
    "My sister sends her love.",
    "I have just watered the plants.",
    "I need new curtains.",
    "The neighbours have a visitor.",
    "Tomorrow is Wednesday, I think.",
)
CALM = "I see."

INSTRUCTIONS = (
    '[whenever|each time|every time|as soon as] I {what}, [reply with this|please say|say|I want you to say]: "{said}"',
    '[until further notice,|my rule:|a game:] [whenever|each time that] I {what}, [just say|reply with]: "{said}"',
    '[from now on|as of today|for now], [whenever|each time that|as soon as] I {what}, [answer with|you say]: "{said}"',
    '[please remember this|humour me|I have a wish]: [as soon as|whenever] I {what}, you [are to say|say]: "{said}"',
    '[let us play a game|do me a favour]: [every time that|whenever] I {what}, [please say|you say|just say]: "{said}"',
)


def trigger_response(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return the instruction and `trigger_activations` (default 3) messages that it is about, over the span.

    The rule waits for the mention of a thing, or, in more than half of all examples,
    for something that a message means and does not say. Before the messages come
    `trigger_controls` (default 2) others: near it, or ordinary ones, in turn; the
    parameter `controls` says which of the questions they are. `trigger_phrases` (by
    default all): how many different messages are drawn from. The sentence is expected
    once for each activation, a list of equal texts.
    """
    number = whole(parameters, "trigger_activations", 3)
    telling, asking = parse_languages(parameters)
    place = rng.randrange(len(TRIGGERS) + len(MEANT))
    what, sentence, *_ = _rules(telling)[place]
    *_, messages, near = _rules(asking)[place]
    phrases = whole(parameters, "trigger_phrases", len(messages))
    messages = messages if phrases >= len(messages) else rng.sample(messages, phrases)
    instructions = telling.find_text("trigger_response.instructions", INSTRUCTIONS)
    rule = Say(
        worded(rng, instructions, what=what, said=sentence),
        tells={f"reply when I {what}": sentence},
    )
    meant: list[str] = []
    for _ in range(-(-number // len(messages))):
        meant += rng.sample(messages, len(messages))
    ordinary = asking.find_text("trigger_response.ordinary", ORDINARY)
    controls = _controls(
        rng, near, ordinary, whole(parameters, "trigger_controls", 2, least=0)
    )
    asked: list[str] = []
    for n, message in enumerate(meant[:number]):
        asked += [*controls[n::number], message]
    return Definition(
        steps=spread(
            [rule, *(Ask(text, about=(rule.text,)) for text in asked)],
            last_wait(rng, parameters),
        ),
        expected=[sentence] * number,
        parameters={
            **parameters,
            "controls": [place for place, text in enumerate(asked) if text in controls],
        },
    )


def _rules(
    language: Language,
) -> Sequence[tuple[str, str, Sequence[str], Sequence[str]]]:
    """Return what each rule waits for, its sentence, messages that are that, and messages near them."""
    mentioned = [
        (f"mention {thing}", *said, NEAR[thing]) for thing, said in TRIGGERS.items()
    ]
    return language.find_text(
        "trigger_response.rules",
        [*mentioned, *((what, *said) for what, said in MEANT.items())],
    )


def _controls(
    rng: random.Random, near: Sequence[str], ordinary: Sequence[str], number: int
) -> list[str]:
    near, ordinary = rng.sample(near, len(near)), rng.sample(ordinary, len(ordinary))
    controls = []
    for n in range(number):
        messages = near if n % 2 == 0 else ordinary
        controls.append(messages[n // 2 % len(messages)])
    return controls


@pytest.mark.ltm(
    generate=trigger_response,
    skills="C,P",
    version="3",
    reset="Cancel the sentence that you say whenever I speak of something. It holds no longer.",
    languages=CODES,
)
def test_trigger_response(ltm: Ltm) -> None:
    """Says the sentence at each message that the rule is about, long after it was told, and at no other."""
    expected, questions = ltm.definition.expected, range(len(ltm.definition.questions))
    controls = ltm.definition.parameters.get("controls", ())
    sentences = iter(map(str, expected))
    answers = ltm.play(
        ltm.definition,
        answers=[CALM if place in controls else next(sentences) for place in questions],
    )
    said = [answers[place] for place in questions if place not in controls]
    calm = [answers[place] for place in controls]
    rule = SaysAtEachTrigger(
        expected[0], len(expected), ltm.scoring, ltm.judge, controls=len(controls)
    )
    ltm.score(rule([*said, *calm]))
