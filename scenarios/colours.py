"""Colours: a favourite that changes several times; only the colour told last counts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Ask, Definition, Ltm, Say, spread
from pytest_ltm.evaluators import NamesColour
from pytest_ltm.locales import CODES, either, parse_languages, worded

from ._parameters import last_wait, whole

COLOURS = (
    "amber",
    "beige",
    "black",
    "blue",
    "bronze",
    "brown",
    "coral",
    "cream",
    "crimson",
    "cyan",
    "emerald",
    "green",
    "indigo",
    "ivory",
    "khaki",
    "lavender",
    "lilac",
    "magenta",
    "maroon",
    "mauve",
    "ochre",
    "olive",
    "orange",
    "pink",
    "purple",
    "red",
    "scarlet",
    "silver",
    "tan",
    "teal",
    "turquoise",
    "violet",
    "white",
    "yellow",
)

FIRST = (
    "[By the way, |Just so you know, |If anybody asks, |For what it's worth, |]my favourite colour is {colour}.",
    "[when it comes to|as for|speaking of] my favourite colour, [it has to be|I always say|I'd pick|give me] {colour}.",
    "I have a thing about {colour}: it's my favourite colour[, always was|, on walls at least|, whoever laughs].",
    "my [flat|wardrobe|bike] is all {colour}, and no wonder: it's my favourite colour[.| by far.]",
    "guess my favourite colour: [wrong, it's|no, it's|exactly,] {colour}.",
    (
        "my favourite colour of all is {colour}[.|, in case you were wondering.|; half my clothes are.|, and always "
        "has been.]"
    ),
    "{colour} is my favourite colour[.|, if that helps.|, has been for years.|, even for shoes.]",
    "[at the paint shop|in a silly quiz] I put {colour} down as my favourite colour[.|, of course.|, as one does.]",
    (
        "[my niece|the dentist|a form] asked for my favourite colour [today|just now|again], and I said {colour}[.|, "
        "as ever.]"
    ),
    "since my favourite colour is {colour}, [guess what the hall will be.|the hall is settled.|no samples needed.]",
)
"""Nothing has been said of colours yet, so each of these names what it is about."""
NAMED = (
    "[By the way, |Small update: |For the record, |]my favourite colour is {colour} [now|these days|at the moment].",
    "I've changed my mind about my favourite colour[: it's|. It's] {colour}[ now| after all|, to match the sofa|].",
    "my favourite colour has changed[ again|]: it's {colour}[.| these days.]",
    "[Lately|These days|This week|Since the spring] my favourite colour is {colour}.",
    "my new favourite colour is {colour}[.|, and it suits me.|; I bought the shirt, too.]",
    "if I had to name my favourite colour [today|now], it would be {colour}.",
    "you can put {colour} down as my favourite colour[ now|, for the time being| from today].",
    "{colour} is my [new favourite colour|favourite colour now], [by the way|as of today|if you can believe it].",
)
UNNAMED = (
    "I've moved on to {colour}[, by the way|, would you believe it|].",
    "[Actually|You know what|Come to think of it], {colour} is my favourite [now|these days|at the moment].",
    "[It's|It has to be] {colour} for me [now|these days|from here on].",
    "[I've gone right off it|I'm over that one]; {colour} [has won me over|is my favourite now|does it for me now].",
    "scrap what I said, {colour} is [my favourite|the one I like best|the one I love most].",
    "[My sister|A friend|My neighbour|The woman at the paint shop] has converted me to {colour}.",
    "[my favourite is|I'd say my favourite is] {colour} now[.|, funny as it sounds.|, thanks to that scarf.]",
    "[I bought new curtains, and now|Since the holidays] {colour} is my favourite[.| by far.]",
    "[Make that|No, make it] {colour}[, I've had second thoughts|. I looked at them all again|].",
    "I [seem to be|think I'm] in my {colour} phase[ now| at last|, I admit].",
    "[So, |Well, ]{colour} has [overtaken it|taken the top spot|become my favourite now].",
)
"""How people go on once a favourite colour is known: a good half of them call it a favourite, and none a colour."""
QUESTIONS = (
    "[So, |Tell me, |Quick question: |]what[ is|'s] my favourite colour[ now| these days| at the moment|]?",
    "which colour is my favourite[ now| these days| at the moment| by now|]?",
    "[Can|Could] you [tell me|remind me of|name] my favourite colour[, please|]?",
    "do you [know|remember] [what my favourite colour is|my favourite colour][ now| at the moment|]?",
)


def colours(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return `colour_changes` (default 3) statements over the span, then the question.

    A colour may come back later, but each statement changes it. The first says that it
    is about a favourite colour, of the others one half. The colour told last is
    expected.
    """
    telling, asking = parse_languages(parameters)
    first = telling.find_text("colours.first", FIRST)
    named = telling.find_text("colours.named", NAMED)
    unnamed = telling.find_text("colours.unnamed", UNNAMED)
    told: list[str] = []
    for _ in range(whole(parameters, "colour_changes", 3)):
        told.append(rng.choice([colour for colour in COLOURS if told[-1:] != [colour]]))
    says = []
    for place, colour in enumerate(told):
        wordings = either(rng, named, unnamed) if place else first
        word = telling.word(colour)
        text = worded(rng, wordings, colour=word)
        says.append(Say(text, tells={"favourite colour": str(word)}))
    question = Ask(
        worded(rng, asking.find_text("colours.questions", QUESTIONS)),
        about=(says[-1].text,),
    )
    return Definition(
        steps=spread([*says, question], last_wait(rng, parameters)),
        expected=str(asking.word(told[-1])),
        parameters=parameters,
    )


@pytest.mark.ltm(
    generate=colours,
    skills="R",
    version="1",
    reset="Please forget everything that I told you about my favourite colour.",
    languages=CODES,
)
def test_colours(ltm: Ltm) -> None:
    """Names the favourite colour told last, after others were told before."""
    answers = ltm.play(ltm.definition, answers=[ltm.definition.expected])
    said = parse_languages(ltm.definition.parameters)
    ltm.score(
        said.judged(
            NamesColour(said.meaning(ltm.definition.expected), scoring=ltm.scoring),
            answers,
        )
    )
