"""Prospective Memory: an instruction to be carried out some replies later, amid everything else."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, Wait
from pytest_ltm.evaluators import QuoteAtReply

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
    "Marie Curie", "Galileo Galilei", "Jane Austen", "Leonardo da Vinci", "Ada Lovelace", "Isaac Newton",
    "Frida Kahlo", "Charles Darwin", "Florence Nightingale", "Johann Sebastian Bach", "Amelia Earhart",
    "Mark Twain", "Charlotte Brontë", "Alexander von Humboldt", "Sappho", "Confucius", "Hypatia",
    "Emily Dickinson", "Michael Faraday", "Clara Schumann",
)  # fmt: skip
FIRST_NAMES = (
    "Orsolina", "Tobiah", "Ismerelda", "Caspard", "Lunetta", "Bartolph", "Philomina", "Evander", "Quenna",
    "Theodric", "Marisolde", "Ignatz",
)  # fmt: skip
LAST_NAMES = (
    "Brandwick", "Quillermoor", "Tarnhollow", "Vestergart", "Ombrelline", "Fennimarsh", "Drosselhart",
    "Pellingstone", "Marchbanner", "Ullenwood", "Castorby", "Wintergraft",
)  # fmt: skip

STATEMENTS = (
    'Here is a line that I imagine {author} saying: "{quote}"',
    'I have made up a line, and I imagine {author} saying it: "{quote}"',
    '"{quote}" - that is a line which I imagine {author} saying.',
)
INSTRUCTIONS = (
    "Please append the line that I imagine {author} saying to your {nth} reply, and to no other. {count}",
    "At the end of your {nth} reply, and nowhere else, add the line that I imagine {author} saying. {count}",
    "I want to read the line that I imagine {author} saying again: put it below your {nth} reply only. {count}",
)
ORDINALS = {3: "3rd", 4: "4th", 5: "5th", 6: "6th", 7: "7th", 8: "8th"}
COUNTS = (
    "Your reply to this message counts as the first.",
    "Count from this message: the reply to it is number one.",
)


def prospective_memory(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return a quote, a wait until 90 % of the span, then the instruction for the 3rd to 8th reply.

    `authors` is "known" (default) or "invented"; every quote is ours, and the message says that it is made up.
    """
    quote, author, nth = rng.choice(QUOTES), _author(rng, parameters), rng.choice(list(ORDINALS))
    statement = Say(rng.choice(STATEMENTS).format(quote=quote, author=author))
    instruction = rng.choice(INSTRUCTIONS).format(author=author, nth=ORDINALS[nth], count=rng.choice(COUNTS))
    return Definition(
        steps=(statement, Wait(span=0.9), Ask(instruction, about=(statement.text,))),
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
    version="1",
    reset="Forget my request to add a line to one of your replies, and the line as well.",
)
def test_prospective_memory(ltm: Ltm) -> None:
    """Appends the quote to the reply asked for, whatever that reply is about, and to no other."""
    quote, nth = ltm.definition.expected["quote"], ltm.definition.expected["nth"]
    ltm.play(ltm.definition, answers=[quote if nth == 1 else ""])
    watcher = QuoteAtReply(quote, nth, scoring=ltm.scoring, judge=ltm.judge)
    ltm.watch(watcher, replies=nth, answers={nth: quote})
