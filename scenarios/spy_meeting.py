"""Spy Meeting: three people send a coded message each; together they say where, when and with what to meet."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import DecodesMessages
from pytest_ltm.locales import CODES, Spoken, parse_languages

from ._parameters import last_wait

Code = tuple[tuple[str, ...], tuple[str, ...]]
"""How a message may say it, and the words any of which shows that it was understood."""

PLACES: tuple[Code, ...] = (
    (
        (
            "where thousands of sisters in striped coats make honey",
            "among the honey makers",
            "beside the boxes that the honey comes out of",
        ),
        ("apiary", "beehive", "hive", "bee", "beekeeper"),
    ),
    (
        (
            "where ships are warned of the rocks by night",
            "under the lamp that turns all night for the sailors",
            "at the tower that winks at the sea after dark",
        ),
        ("lighthouse",),
    ),
    (
        (
            "where grain is ground by sails that never go to sea",
            "under the four great arms that turn in the breeze",
            "inside the wooden giant that makes flour out of air",
        ),
        ("windmill", "mill"),
    ),
    (
        (
            "where wine hangs in bunches before anybody bottles it",
            "on the slope that the wine of the valley starts from",
            "among the wine of next year",
        ),
        ("vineyard", "vine"),
    ),
    (
        (
            "where the dead of the town lie under their names",
            "among those who have done with getting up",
            "beside the stones with a name and two dates",
        ),
        ("cemetery", "graveyard", "churchyard", "burial ground"),
    ),
    (
        (
            "where flour and yeast become loaves",
            "at the oven that the first rolls of the day come out of",
            "behind the croissants",
        ),
        ("bakery", "bakehouse", "baker"),
    ),
    (
        (
            "where tigers and giraffes can be visited on one afternoon",
            "at the moat between the lions and their visitors",
            "beside the elephants",
        ),
        ("zoo", "zoological garden", "menagerie"),
    ),
    (
        (
            "where stone is cut out of the hillside",
            "below the wall that they blast the granite from",
            "in the great hole that the whole town was built from",
        ),
        ("quarry",),
    ),
    (
        (
            "where books are lent and everybody whispers",
            "between the novels, in a whisper",
            "at the desk that fines you for reading too slowly",
        ),
        ("library",),
    ),
    (
        (
            "where planes come down from the sky",
            "past the man who makes everybody take off their belt and shoes",
            "beside the suitcases that go round and round",
        ),
        ("airport", "airfield", "airstrip", "runway", "aerodrome"),
    ),
)
TIMES: tuple[Code, ...] = (
    (
        (
            "when everybody's shadow is at its shortest",
            "with both hands of the clock pointing straight up, in broad daylight",
            "as the church clock strikes the most that it can, before lunch",
        ),
        ("noon", "midday", "12 PM", "12:00 PM"),
    ),
    (
        (
            "when one day hands over to the next",
            "with both hands of the clock pointing straight up, in the dark",
            "as today turns into tomorrow",
        ),
        ("midnight", "12 AM", "12:00 AM"),
    ),
    (
        (
            "when the rooster wakes the farm",
            "as the sky turns pale and the milkman ends his round",
            "at the first word from the birds",
        ),
        ("dawn", "sunrise", "daybreak", "early morning", "early in the morning"),
    ),
    (
        (
            "when the sun goes under behind the hills",
            "as the street lamps come on",
            "with the last of the daylight",
        ),
        ("sunset", "dusk", "sundown", "nightfall", "twilight"),
    ),
    (
        (
            "when carved pumpkins grin from the windows",
            "on the evening of children in sheets, begging for sweets",
            "at the hour that makes a witch of every other child",
        ),
        ("Halloween", "31 October", "October 31", "October 31st"),
    ),
    (
        (
            "when paper hearts are sent to those one loves",
            "on the day of cards that nobody signs",
            "on the best day of the florists' winter",
        ),
        ("Valentine", "14 February", "February 14", "February 14th"),
    ),
    (
        (
            "when people fool each other and nobody may be angry",
            "on the one morning that nobody believes the papers",
            "on the day of salt in the sugar bowl, for a laugh",
        ),
        ("April Fool", "1 April", "April 1", "April 1st"),
    ),
    (
        (
            "when the old year is counted out, ten to one",
            "as the calendar on the wall runs out of pages",
            "with the corks that fly once in twelve months",
        ),
        ("New Year", "31 December", "December 31", "December 31st"),
    ),
)
ITEMS: tuple[Code, ...] = (
    (
        (
            "a way to stay dry under a cloudburst",
            "something to hold over your head when it pours",
            "what everybody leaves on the bus once the sky clears",
        ),
        ("umbrella", "raincoat", "poncho", "rain jacket", "parasol"),
    ),
    (
        (
            "a way to dig a deep hole",
            "something to bury a chest with",
            "what gardeners lean on",
        ),
        ("spade", "shovel"),
    ),
    (
        (
            "a way up to a window, rung by rung",
            "something to climb onto a roof with",
            "what it is bad luck to walk under",
        ),
        ("ladder",),
    ),
    (
        (
            "a way to find north in a fog",
            "something whose needle always knows the way",
            "what a hiker looks at before the map",
        ),
        ("compass",),
    ),
    (
        (
            "a way to see far ships as though they were near",
            "something to watch the other shore with, with both eyes",
            "what birdwatchers wear around their necks",
        ),
        ("binoculars", "spyglass", "telescope", "field glass"),
    ),
    (
        (
            "a way to take pictures of the documents",
            "something that brings home proof, in focus",
            "what tourists point at everything",
        ),
        ("camera",),
    ),
    (
        (
            "a way to cut through a fence of wire",
            "something that bites through barbs",
            "what an electrician snips cables with",
        ),
        ("pliers", "wire cutter", "bolt cutter", "pincers", "nippers"),
    ),
    (
        (
            "a way to light up a dark cellar without a flame",
            "something to see by when the fuse has blown",
            "what burglars in films hold between their teeth",
        ),
        ("torch", "flashlight", "headlamp", "electric lamp"),
    ),
    (
        (
            "a way to leave no fingerprints",
            "something to keep your hands out of the evidence",
            "what surgeons pull on, finger by finger",
        ),
        ("glove",),
    ),
    (
        (
            "a way to breathe below the surface of a lake",
            "something to keep your lungs happy among the fish",
            "what you need to go on breathing on a sunken ship",
        ),
        ("snorkel", "scuba", "diving", "oxygen tank", "air tank"),
    ),
)
CODED = {"place": PLACES, "time": TIMES, "item": ITEMS}
PEOPLE = (
    "Anselm Zorrick",
    "Berengaria Quarrendon",
    "Cosmo Tavernake",
    "Desdemona Ilk",
    "Eustachia Vantongeren",
    "Florimund Orpwood",
    "Gwendoline Yarrick",
    "Horatio Spindleby",
    "Jessamy Ulmer",
    "Leocadia Frump",
    "Montague Ziervogel",
    "Peregrine Holdfast",
    "Sidonie Ackerwald",
    "Phineas Crumm",
    "Ulrika Nachtegaal",
)

OPENINGS = (
    "{names} will each send me a coded message about a secret meeting.",
    "There is a secret meeting coming up. {names} know about it and will tell me in code, one after the other.",
    "I am about to hear from {names}. They never say anything plainly.",
    "{names} are plotting something again, and I am invited. Each of them will tell me a part of it, in riddles.",
    "You will hear three names from me: {names}. They talk in code, in case somebody listens.",
    "Between us: {names} want to see me in secret, and each of them is going to drop me a hint.",
    "Something is up. {names} are each going to write to me, and not one of them will use plain words.",
    "If you see a line from {names}, it is code: each of the three knows a part of where I am expected.",
)
FAVOURS = (
    "I will pass the three on to you.",
    "Keep them together for me, will you?",
    "I will show you what they write.",
    "You are better at such things than I am.",
    "I will need your help to work it out.",
    "Please hold on to whatever they send.",
    "I will let you know as it comes in.",
    "We can puzzle it out once I have all three.",
)
MESSAGES: Mapping[str, tuple[str, ...]] = {
    "place": (
        "We meet {clue}.",
        "Find us {clue}.",
        "Be {clue}.",
        "I will be waiting {clue}.",
        "Look for us {clue}.",
        "Nobody will see us {clue}.",
    ),
    "time": (
        "Be there {clue}.",
        "Come {clue}.",
        "It starts {clue}.",
        "We will be there {clue}, no sooner.",
        "Turn up {clue}.",
        "They expect you {clue}.",
    ),
    "item": (
        "You will need {clue}.",
        "Bring {clue} to the meeting.",
        "Do not come without {clue}.",
        "Bring {clue}.",
        "Pack {clue}.",
        "It is up to you to bring {clue}.",
    ),
}
SENT = (
    "Coded message from {name}: {message}",
    "The coded message of {name} reads: {message}",
    "{name} sent me a message in code. {message}",
    "Another message about the meeting, from {name}: {message}",
    "A message, {name} this time: {message}",
    "In code again, from {name}: {message}",
    "{name}: {message}",
    "{name} rang, whispered “{message}” and hung up.",
    "This was under my door, signed {name}: {message}",
    "“{message}” That is all that {name} wrote.",
    "On the back of a postcard from {name}: {message}",
    "{name} has been in touch. I quote: {message}",
)
"""How a message is passed on; half of them call it one."""
LEADS = (
    "You have seen all the messages that I was sent.",
    "The meeting is not far off now, and I am none the wiser.",
    "I have read the messages again and again, and I still cannot make sense of them.",
    "You do remember that somebody wants to meet me.",
    "So, that was all of it, and I would rather not get it wrong.",
    "All right, you have heard from everybody that I have heard from.",
    "They have all had their say, and I am still puzzled.",
    "I think I have everything now, but you are better at this than I am.",
)
QUESTIONS = (
    "Can you tell me, in plain words, where I am going and when, and what I should have with me?",
    "What do you make of it: where do I have to be, when do I have to be there, and what do I take along?",
    "Please tell me as exactly as you can when and where it is going to be, and what I am to bring.",
    "If you had to say it in a sentence: what am I supposed to bring, where to, and when?",
    "Now, when is it, where is it, and what is it that they want me to carry?",
    "Where will they be, and when will they be there, and is there anything that I have to bring?",
    "Could you work out for me when I am expected, and where, and what I had better not leave at home?",
    "So what do I take with me, and where and when do I turn up? Be as specific as you can.",
)


def spy_meeting(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return an opening and three coded messages over the span, in any order, then the question.

    Expected are the groups of words for each message, as sent; `other_messages` are
    those of all others.
    """
    telling, asking = parse_languages(parameters)
    sent = [(kind, rng.randrange(len(codes))) for kind, codes in CODED.items()]
    people = rng.sample(PEOPLE, len(sent))
    rng.shuffle(sent)
    senders = rng.sample(people, len(people))
    opening = rng.choice(telling.find_text("spy_meeting.openings", OPENINGS))
    favour = rng.choice(telling.find_text("spy_meeting.favours", FAVOURS))
    names = telling.phrase(
        "spy_meeting.names",
        "{others} and {last}",
        others=telling.phrase("spy_meeting.comma", ", ").join(people[:-1]),
        last=people[-1],
    )
    says = [Say(f"{opening} {favour}".format(names=names))]
    frames = rng.sample(telling.find_text("spy_meeting.sent", SENT), len(sent))
    for frame, name, (kind, number) in zip(frames, senders, sent, strict=True):
        clues, _ = telling.find_text(f"spy_meeting.{kind}s", CODED[kind])[number]
        wording, clue = (
            rng.choice(telling.find_text(f"spy_meeting.{kind}", MESSAGES[kind])),
            rng.choice(clues),
        )
        said = frame.format(name=name, message=wording.format(clue=clue))
        says.append(Say(said, tells={f"the message of {name}": clue}))
    lead = rng.choice(asking.find_text("spy_meeting.leads", LEADS))
    asked = rng.choice(asking.find_text("spy_meeting.questions", QUESTIONS))
    question = Ask(f"{lead} {asked}", about=tuple(say.text for say in says[1:]))
    known = {}
    for kind, codes in CODED.items():
        known[kind] = asking.find_text(f"spy_meeting.{kind}s", codes)
    expected = [list(known[kind][number][1]) for kind, number in sent]
    others = []
    for codes in known.values():
        for _, words in codes:
            if list(words) not in expected:
                others.append(list(words))
    return Definition(
        steps=spread([*says, question], last_wait(rng, parameters)),
        expected=expected,
        parameters={**parameters, "other_messages": others},
    )


@pytest.mark.ltm(
    generate=spy_meeting,
    skills="R,I",
    floor=0.1,  # there are few tools, places and times to choose from
    version="2",
    reset="The secret meeting is called off. Please forget the coded messages.",
    languages=CODES,
)
def test_spy_meeting(ltm: Ltm) -> None:
    """Decodes three messages and puts together where, when and with what the meeting is."""
    answers = ltm.play(
        ltm.definition,
        answers=[". ".join(group[0] for group in ltm.definition.expected)],
    )
    said = parse_languages(ltm.definition.parameters)
    expected = _meanings(said, ltm.definition.expected)
    others = _meanings(said, ltm.definition.parameters.get("other_messages", ()))
    ltm.score(
        said.judged(DecodesMessages(expected, others, scoring=ltm.scoring), answers)
    )


def _meanings(
    spoken: Spoken, groups: Iterable[Iterable[str]]
) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(spoken.meaning, group)) for group in groups)
