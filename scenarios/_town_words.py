"""How the book words a fact: when it is introduced, when it changes, and when a later chapter takes it for granted.

Each fact is one sentence, and no sentence of `_town_days` tells any. The person or place named last in a
sentence of change is the new one.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ._town import Fact, Kind, Person, Told

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

INTRODUCED: Mapping[Kind, Sequence[str]] = {
    "home": (
        "{p} lived in {new}.",
        "In those days {p} lived in {new}.",
        "{p} had {his} bed and {his} books in {new}, where {he} lived alone.",
        "Everybody in town could have told you that {p} lived in {new}.",
        "{p} lived in {new}, as {his} mother had done.",
        "For some years now {p} had lived in {new}.",
    ),
    "work": (
        "{p} worked at {new}.",
        "From Monday to Saturday {p} worked at {new}.",
        "{p} worked at {new}, which suited {him} well.",
        "By trade {p} was handy with anything, and {he} worked at {new}.",
        "{p} had long worked at {new}.",
    ),
    "owner": (
        "{Thing} belonged to {new}.",
        "{Thing} belonged to {new}, who was fond of it.",
        "It was no secret that {thing} belonged to {new}.",
        "{new} owned {thing}.",
        "{new} owned {thing}, an heirloom from an aunt.",
        "For as long as people remembered, {thing} had belonged to {new}.",
    ),
    "whole": (),
}
CHANGED: Mapping[Kind, Sequence[str]] = {
    "home": (
        "{p} moved out of {old} and into {new}.",
        "On {day} {p} packed two trunks, left {old} for good and moved into {new}.",
        "{p} gave up {old} and settled in {new}.",
        "All {day} a cart went to and fro, for {p} was moving from {old} to {new}.",
        "{p} handed back the key of {old} and carried {his} bed into {new}, where {he} lived from then on.",
        "By {day} it was done, and {p} no longer lived in {old} but in {new}.",
        "The landlord wanted {old} for his nephew, and so {p} had to move to {new}.",
    ),
    "work": (
        "{p} left {old} and found work at {new}.",
        "{p} was dismissed from {old} and taken on at {new}.",
        "{p} gave notice at {old} and began at {new} on {day}.",
        "From {day} on {p} no longer worked at {old} but at {new}.",
        "{p} had had enough of {old} and hired on at {new}.",
        "They paid better elsewhere, and so {p} went from {old} to a new job at {new}.",
    ),
    "owner": (
        "{old} sold {thing} to {new}.",
        "{old} gave {thing} to {new}, to keep.",
        "{old} lost {thing} at cards, and the lucky winner was {new}.",
        "{old} traded {thing} for a winter's firewood, and it went to {new}.",
        "On {day} {old} parted with {thing} and sold it to {new}.",
        "{old} made a present of {thing} to {new}.",
        "After some haggling {thing} passed from {old} to {new} for good.",
    ),
    "whole": (),
}
BROKE = (
    "{Thing} fell down some steps and broke.",
    "On {day} a falling beam broke {thing}.",
    "With a crack {thing} broke, and could not be used any more.",
    "Nobody knew how, but on {day} {thing} broke.",
    "In the storm of {day} {thing} broke.",
)
MENDED = (
    "A tinker who passed through mended {thing}, and it was as good as new.",
    "It took three evenings and a pot of glue, but then {thing} was mended.",
    "On {day} {thing} was mended at last.",
    "{Thing} was mended and could be used again.",
)
CLAIMED: Mapping[Kind, Sequence[str]] = {
    "home": (
        "{p} woke early in {new}, where {he} lived, and listened to the rain.",
        "Smoke was rising from {new}, where {p} lived.",
        "{p} lived in {new}, and from its window {he} saw the carts go by.",
        "“Come and see me in {new},” said {p}, who lived there.",
        "The telegram for {p} was carried to {new}, where {he} lived.",
        "{p} swept the floor of {new}, where {he} lived, and whistled.",
    ),
    "work": (
        "{p} was late at {new}, where {he} worked.",
        "{p} came straight from {new}, where {he} worked.",
        "“They will miss me at {new},” said {p}, who worked there.",
        "At {new}, where {p} worked, the lamps were already lit.",
        "{p} worked at {new}, and it showed on {his} sleeves.",
    ),
    "owner": (
        "{new} was dusting {thing}, which belonged to {him}.",
        "Somebody asked for {thing}, but it belonged to {new}, who would not lend it.",
        "{new} owned {thing} and was proud of it.",
        "As {thing} belonged to {new}, nobody else might touch it.",
        "A stranger admired {thing}, which belonged to {new}.",
    ),
    "whole": (),
}
BROKEN = (
    "{Thing} stood in a corner, broken.",
    "{Thing} was of no use to anybody, broken as it was.",
    "It was a pity that {thing} was broken, for this would have been the day for it.",
    "They would have liked to use {thing}, but it was broken.",
)
SOUND = (
    "{Thing} was in good order, and it was used all morning.",
    "That morning {thing} was in use, in good order as ever.",
    "{Thing} was in good order, and somebody had polished it.",
    "They tried {thing} once more and found it in good order.",
)


class Words:
    """Words facts, with the people's pronouns."""

    def __init__(self, rng: random.Random, people: Sequence[Person]) -> None:
        self._rng = rng
        self._people = {person.name: person for person in people}

    def told(self, told: Told) -> str:
        """Return the sentence in which a chapter tells a fact."""
        if told.fact.kind == "whole":
            return self._sentence(BROKE if told.fact.value == "no" else MENDED, told.fact)
        return self._sentence((CHANGED if told.before else INTRODUCED)[told.fact.kind], told.fact, told.before)

    def claim(self, fact: Fact) -> str:
        """Return a sentence that takes a fact for granted."""
        if fact.kind == "whole":
            return self._sentence(BROKEN if fact.value == "no" else SOUND, fact)
        return self._sentence(CLAIMED[fact.kind], fact)

    def _sentence(self, templates: Sequence[str], fact: Fact, old: str = "") -> str:
        person = self._people.get(fact.value if fact.kind == "owner" else fact.subject)
        pronouns = {"he": person.he, "him": person.him, "his": person.his} if person else {}
        return self._rng.choice(templates).format(
            p=fact.subject,
            thing=fact.subject,
            Thing=fact.subject[0].upper() + fact.subject[1:],
            old=old,
            new=fact.value,
            day=self._rng.choice(DAYS),
            **pronouns,
        )
