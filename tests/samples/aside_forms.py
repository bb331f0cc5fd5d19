"""Generated answers that mention a value only as an aside while the main clause states another one.

A clause, a phrase or an attribute sets the value aside. Its place, and the wording of
the main clause, are drawn at random. None of the forms asserts the value.
"""

from __future__ import annotations

import random

MAINS = (
    "{other}",
    "it was {other}",
    "the answer is {other}",
    "you told me {other}",
    "my answer is {other}",
    "{other} it is",
)
# Clauses with their own subject and verb.
CLAUSES = (
    "you flirted with {gold}",
    "you turned {gold} down",
    "you couldn't stand {gold}",
    "you envied whoever had {gold}",
    "you spent an evening reading about {gold}",
    "you laughed at {gold}",
    "you mixed it up with {gold}",
    "you used {gold} as a joke",
    "{gold} crossed your mind",
    "{gold} was struck off the list",
    "{gold} lost out",
    "{gold} belongs to your landlord",
    "{gold} rings a bell",
    "{gold} appears in another chat",
    "{gold} got the fewest votes",
    "{gold} is a common guess",
    "{gold} sounds tempting",
    "{gold} goes back to your school days",
    "{gold} deserves a mention",
    "{gold} falls short",
    "your landlord swears by {gold}",
    "your aunt's was {gold}",
    "the brochure talked of {gold}",
    "people tend to say {gold}",
    "somebody else picked {gold}",
    "a stranger asked about {gold}",
    "the neighbours have {gold}",
    "my first draft had {gold}",
    "it reminds me of {gold}",
    "it has nothing in common with {gold}",
    "there was talk of {gold}",
    "there used to be {gold}",
    "it had been {gold} for years",
    "it replaced {gold}",
    "I nearly typed {gold}",
    "I would have bet on {gold}",
    "I doubt that {gold} fits",
    "I see {gold} in my notes for your sister",
    "nobody brought up {gold}",
    "had you listened to me it would be {gold}",
    "you were offered {gold}",
    "you put {gold} on the shortlist",
    "you gave {gold} to a cousin",
    "you returned {gold} the same day",
    "you always skip {gold}",
    "you quoted {gold} from a film",
    "you had your doubts about {gold}",
    "you got tired of {gold}",
    "{gold} was mentioned in passing",
    "{gold} was your second choice",
    "{gold} came third",
    "{gold} was meant for Tom",
    "{gold} turned up in the small print",
    "{gold} made you laugh",
    "{gold} is out of the question",
    "{gold} is what most would say",
    "{gold} was sold out",
    "{gold} stands in the brochure",
    "your teacher preferred {gold}",
    "Tom has {gold}",
    "the website listed {gold}",
    "everyone else chose {gold}",
    "your parents insisted on {gold}",
    "the waiter suggested {gold}",
    "it beat {gold}",
    "it is often mistaken for {gold}",
    "it outlasted {gold}",
    "it came right before {gold}",
    "there were rumours about {gold}",
    "it stood next to {gold}",
    "I misread it as {gold}",
    "I can rule out {gold}",
    "I was going to say {gold}",
    "I have {gold} in an older note",
    "I wrote {gold} by mistake",
    "don't confuse it with {gold}",
    "forget {gold}",
    "ask your sister about {gold}",
    "who said {gold}",
    "people who own {gold} would disagree",
)
# Phrases that depend on the main clause.
PHRASES = (
    "even if {gold} came close",
    "after {gold} fell through",
    "long before {gold} was an option",
    "seeing that {gold} had been ruled out",
    "in case you wonder about {gold}",
    "no matter how good {gold} looked",
    "as {gold} was gone",
    "much as you love {gold}",
    "having dismissed {gold}",
    "with {gold} a distant second",
    "a far cry from {gold}",
    "well ahead of {gold}",
    "next to which {gold} pales",
    "the successor of {gold}",
    "a rival of {gold}",
    "leaving {gold} to others",
    "to the regret of those who backed {gold}",
    "where others would expect {gold}",
    "the very opposite of {gold}",
    "short of {gold}",
    "by way of {gold}",
    "for want of {gold}",
    "whoever says {gold}",
    "{gold} having been sold out",
    "once {gold} was out of the way",
    "despite the charm of {gold}",
    "to replace {gold}",
    "instead of the planned {gold}",
    "unlike Tom with {gold}",
    "given that {gold} is Tom's",
    "as good as {gold}",
    "better than {gold}",
    "twice the price of {gold}",
    "in exchange for {gold}",
    "right after {gold}",
    "while {gold} went to Tom",
    "because {gold} was taken",
    "whether or not {gold} is nicer",
    "so much for {gold}",
    "which rules {gold} out",
    "not unlike {gold}",
    "the younger sister of {gold}",
    "following {gold}",
    "together with the rumour of {gold}",
)
PLACES = {
    "clause": (
        "{Aside}. {Main}.",
        "{Main}. {Aside}.",
        "{Main}; {aside}.",
        "{Aside}; {main}.",
        "{Aside}, but {main}.",
        "{Main}, and {aside}.",
        "{Main} ({aside}).",
        "{Main} - {aside}.",
        "{Aside}: {main}.",
    ),
    "phrase": (
        "{Aside}, {main}.",
        "{Main}, {aside}.",
        "{Main} ({aside}).",
        "{Main} - {aside}.",
        "{Main}. {Aside}.",
    ),
}


def aside_forms(seed: int) -> list[str]:
    """Return a form with `{gold}` and `{other}` per clause and phrase; place and main clause are drawn at random."""
    draw = random.Random(seed)
    forms = []
    for kind, asides in (("clause", CLAUSES), ("phrase", PHRASES)):
        for aside in asides:
            place = draw.choice(PLACES[kind])
            forms.append(_fill_place(place, aside, draw.choice(MAINS)))
    return forms


def _fill_place(place: str, aside: str, main: str) -> str:
    """Return a filled form; a clause at its beginning is capitalized."""
    parts = {
        "aside": aside,
        "Aside": aside[:1].upper() + aside[1:],
        "main": main,
        "Main": main[:1].upper() + main[1:],
    }
    return place.format(**parts)
