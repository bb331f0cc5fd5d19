"""Prospective Memory: an instruction to be carried out some replies later, amid everything else."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, Wait
from pytest_ltm.evaluators import QuoteAtReply
from pytest_ltm.locales import CODES, either, parse_languages, worded

from ._parameters import last_wait, whole

QUOTES = (
    "Patience is a lantern that burns the oil of yesterday.",
    "A bridge is a road that refused to drown.",
    "Whoever counts the waves will never learn to swim.",
    "The longest corridor is the one before an apology.",
    "Doubt is the whetstone on which an answer grows sharp.",
    "A borrowed certainty must be returned with interest.",
    "Every map is a promise made to somebody who is lost.",
    "Silence is the only guest who never breaks a glass.",
    "You do not own a garden until the weeds know your name.",
    "Courage is fear that has read the timetable.",
    "The smallest door in the house is the one that habit built.",
    "A good question leaves the window open behind it.",
    "Haste ties its shoes twice and still arrives barefoot.",
    "What you repair with care will outlive what you bought with pride.",
    "The river never argues with the stone, and always wins.",
    "Envy is a mirror that only shows the neighbours.",
    "An honest error teaches more than a lucky guess.",
    "Those who plant walnuts rarely hurry.",
    "Memory is a harbour that moves a little every night.",
    "A kindness that is announced arrives half empty.",
    "The truth can wait, but it does not sit down.",
    "Mountains are only slow conversations with the sea.",
    "Learn to fold a sail before you praise the wind.",
    "A crowd has many feet and no shoes that fit.",
    "Hope is the bread that we bake with tomorrow's flour.",
    "Nobody has ever sharpened a knife by shouting at it.",
    "Time does not heal; it merely teaches the hands to be careful.",
    "The best teacher leaves the room before the applause.",
)
KNOWN = (
    "Marie Curie",
    "Galileo Galilei",
    "Jane Austen",
    "Leonardo da Vinci",
    "Ada Lovelace",
    "Isaac Newton",
    "Frida Kahlo",
    "Charles Darwin",
    "Florence Nightingale",
    "Johann Sebastian Bach",
    "Amelia Earhart",
    "Mark Twain",
    "Charlotte Brontë",
    "Alexander von Humboldt",
    "Sappho",
    "Confucius",
    "Hypatia",
    "Emily Dickinson",
    "Michael Faraday",
    "Clara Schumann",
)
FIRST_NAMES = (
    "Orsolina",
    "Tobiah",
    "Ismerelda",
    "Caspard",
    "Lunetta",
    "Bartolph",
    "Philomina",
    "Evander",
    "Quenna",
    "Theodric",
    "Marisolde",
    "Ignatz",
)
LAST_NAMES = (
    "Brandwick",
    "Quillermoor",
    "Tarnhollow",
    "Vestergart",
    "Ombrelline",
    "Fennimarsh",
    "Drosselhart",
    "Pellingstone",
    "Marchbanner",
    "Ullenwood",
    "Castorby",
    "Wintergraft",
)

STATEMENTS = (
    'in the [play|novel|film script] that I am writing, {author} [says|mutters|sings]: "{quote}"',
    'I have let {author} [say this|come out with this|blurt this out] in my [play|novel|sketch]: "{quote}"',
    '[be honest,|quick opinion,|tell me,] can {author} say this in my [play|novel|sketch]? "{quote}"',
    'it is nonsense as history, but in my [play|novel|sketch] {author} [says|sighs|shouts]: "{quote}"',
    '"{quote}" [Nobody ever said that, but|Nobody talks like that, but] in my [play|novel|sketch] {author} does.',
    '[a|a new|another] line of mine, for {author} in my [play|novel|sketch]: "{quote}"',
    'the best line that I have written [so far|today|all week|for years] goes to {author}: "{quote}"',
    '"{quote}" That is the line that I have [given to|written for] {author} in my [play|novel|sketch].',
)
"""Each says that the line is made up."""
NAMED = (
    "[please append|add|please attach] the line [of|that I gave] {author} to your {nth} {reply}, and to no other.",
    "at the end of your {nth} {reply}, and nowhere else, [add|write|put] what I made {author} say.",
    "[add|write|put] what I made {author} say [below|at the end of|after] your {nth} {reply}, and nowhere else.",
)
UNNAMED = (
    "[please append|add|please attach] [that line of mine|the line that I showed you] to your {nth} {reply} only.",
    "I [want|would love|need] to read that line of mine again: [put|write|add] it below your {nth} {reply} only.",
    "[put|write|add] the line from what I am writing [below|at the end of|after] your {nth} {reply}, and nowhere else.",
)
"""Nobody else shows the agent a line."""
REPLY = ("reply", "answer")
ORDINALS = {
    2: ("2nd", "second"),
    3: ("3rd", "third"),
    4: ("4th", "fourth"),
    5: ("5th", "fifth"),
    6: ("6th", "sixth"),
    7: ("7th", "seventh"),
    8: ("8th", "eighth"),
}
COUNTS = (
    "Your reply to this message counts as the first.",
    "Count from this message: the reply to it is number one.",
    "Your answer to this message is number one.",
    "The one that you are about to give is number one.",
)


def prospective_memory(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return a quote, the `last_wait`, then the instruction for the `least_reply`-th to `most_reply`-th reply (2 to 8).

    `authors` is "known" (default) or "invented"; every quote is ours, and the message
    says that it is made up. Every second instruction does not say whose quote it is.
    """
    least = whole(
        parameters, "least_reply", min(ORDINALS), min(ORDINALS), max(ORDINALS)
    )
    most = whole(parameters, "most_reply", max(ORDINALS), least, max(ORDINALS))
    telling, asking = parse_languages(parameters)
    quotes = telling.find_text("prospective_memory.quotes", QUOTES)
    quote, author, nth = (
        rng.choice(quotes),
        _author(rng, parameters),
        rng.choice(range(least, most + 1)),
    )
    statement = Say(
        worded(
            rng,
            telling.find_text("prospective_memory.statements", STATEMENTS),
            quote=quote,
            author=author,
        ),
        tells={f"the line of {author}": quote},
    )
    ordinal, reply = (
        rng.choice(ORDINALS[nth]),
        rng.choice(asking.find_text("prospective_memory.reply", REPLY)),
    )
    slots = {"author": author, "nth": asking.word(ordinal), "reply": reply}
    named, unnamed = (
        asking.find_text("prospective_memory.named", NAMED),
        asking.find_text("prospective_memory.unnamed", UNNAMED),
    )
    counts = asking.find_text("prospective_memory.counts", COUNTS)
    instruction = (
        f"{worded(rng, either(rng, named, unnamed), **slots)} {rng.choice(counts)}"
    )
    return Definition(
        steps=(
            statement,
            Wait(span=last_wait(rng, parameters)),
            Ask(instruction, about=(statement.text,)),
        ),
        expected={"quote": quote, "author": author, "nth": nth},
        parameters=parameters,
    )


def _author(rng: random.Random, parameters: Mapping[str, Any]) -> str:
    authors = parameters.get("authors", "known")
    if authors == "known":
        return rng.choice(KNOWN)
    if authors == "invented":
        return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"
    raise ValueError(f"authors is 'known' or 'invented', not {authors!r}")


@pytest.mark.ltm(
    generate=prospective_memory,
    skills="P",
    version="2",
    reset="Forget my request to add a line to one of your replies, and the line as well.",
    languages=CODES,
)
def test_prospective_memory(ltm: Ltm) -> None:
    """Appends the quote to the reply asked for, whatever that reply is about, and to no other."""
    quote, nth = ltm.definition.expected["quote"], ltm.definition.expected["nth"]
    ltm.play(ltm.definition, answers=[quote if nth == 1 else ""])
    watcher = QuoteAtReply(quote, nth, scoring=ltm.scoring, judge=ltm.judge)
    ltm.watch(watcher, replies=nth, answers={nth: quote})
