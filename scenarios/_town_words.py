"""How the book words a fact: when it is introduced, when it changes, and when a later chapter takes it for granted.

Each fact is one sentence, and no sentence of `_town_days` tells any. The person or
place named last in a sentence of change is the new one.
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
        "The curtains in {new} were {p}'s, and so was the kettle on its sill.",
        "Whoever wanted {p} after supper knocked at {new}.",
        "{p} paid the rent of {new} on the first of every month.",
        "“You can hear the gulls from my bed in {new},” {p} liked to say.",
        "There was only one bell at {new}, and it was {p}'s.",
    ),
    "work": (
        "{p} worked at {new}.",
        "From Monday to Saturday {p} worked at {new}.",
        "{p} worked at {new}, which suited {him} well.",
        "By trade {p} was handy with anything, and {he} worked at {new}.",
        "{p} had long worked at {new}.",
        "{p} earned {his} bread at {new}.",
        "The wages that {p} took home on Fridays came from {new}.",
        "{p} had the early shift at {new}.",
        "Nobody at {new} was quicker than {p}.",
        "{p}'s apron hung on its own hook at {new}.",
    ),
    "owner": (
        "{Thing} belonged to {new}.",
        "{Thing} belonged to {new}, who was fond of it.",
        "It was no secret that {thing} belonged to {new}.",
        "{new} owned {thing}.",
        "{new} owned {thing}, an heirloom from an aunt.",
        "For as long as people remembered, {thing} had belonged to {new}.",
        "{Thing} was {new}'s pride.",
        "If you wanted to borrow {thing}, you had to ask {new}.",
        "{new} had bought {thing} at an auction, long ago.",
        "Somebody had carved {new}'s name into {thing}.",
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
        "{p} slept in {old} for the last time, and the next night in {new}.",
        "There was a bed to spare in {old} now, for {p} had taken {new}.",
        "“Do not write to me at {old} any more but at {new},” said {p}.",
    ),
    "work": (
        "{p} left {old} and found work at {new}.",
        "{p} was dismissed from {old} and taken on at {new}.",
        "{p} gave notice at {old} and began at {new} on {day}.",
        "From {day} on {p} no longer worked at {old} but at {new}.",
        "{p} had had enough of {old} and hired on at {new}.",
        "They paid better elsewhere, and so {p} went from {old} to a new job at {new}.",
        "{p} hung up {his} apron at {old} and tied on another one at {new}.",
        "They were sorry to lose {p} at {old}, and glad to have {him} at {new}.",
        "It was {p}'s last week at {old}, and on {day} {new} had a new pair of hands.",
    ),
    "owner": (
        "{old} sold {thing} to {new}.",
        "{old} gave {thing} to {new}, to keep.",
        "{old} lost {thing} at cards, and the lucky winner was {new}.",
        "{old} traded {thing} for a winter's firewood, and it went to {new}.",
        "On {day} {old} parted with {thing} and sold it to {new}.",
        "{old} made a present of {thing} to {new}.",
        "After some haggling {thing} passed from {old} to {new} for good.",
        "{old} let {thing} go, for a fair price, to {new}.",
        "{old} needed money more than {thing}, and the money came from {new}.",
        "From {day} on it was no use asking {old} for {thing}, one had to ask {new}.",
    ),
    "whole": (),
}
BROKE = (
    "{Thing} fell down some steps and broke.",
    "On {day} a falling beam broke {thing}.",
    "With a crack {thing} broke, and could not be used any more.",
    "Nobody knew how, but on {day} {thing} broke.",
    "In the storm of {day} {thing} broke.",
    "Somebody sat down on {thing}, and that was the end of it.",
    "{Thing} came off a cart and went to pieces.",
    "The frost got into {thing} and split it from end to end.",
)
MENDED = (
    "A tinker who passed through mended {thing}, and it was as good as new.",
    "It took three evenings and a pot of glue, but then {thing} was mended.",
    "On {day} {thing} was mended at last.",
    "{Thing} was mended and could be used again.",
    "They had put {thing} together again by {day}, and it did its work.",
    "A new part came by the {day} coach, and {thing} was itself again.",
)
CLAIMED: Mapping[Kind, Sequence[str]] = {
    "home": (
        "{p} woke early in {new}, where {he} lived, and listened to the rain.",
        "Smoke was rising from {new}, where {p} lived.",
        "{p} lived in {new}, and from its window {he} saw the carts go by.",
        "“Come and see me in {new},” said {p}, who lived there.",
        "The telegram for {p} was carried to {new}, where {he} lived.",
        "{p} swept the floor of {new}, where {he} lived, and whistled.",
        "{p} had overslept, and the sun stood high over {new} before {he} drew {his} curtains.",
        "A parcel for {p} came to the door of {new}, and {he} signed for it in {his} slippers.",
        "It was past midnight, and in {new} {p} lay in bed, wide awake.",
    ),
    "work": (
        "{p} was late at {new}, where {he} worked.",
        "{p} came straight from {new}, where {he} worked.",
        "“They will miss me at {new},” said {p}, who worked there.",
        "At {new}, where {p} worked, the lamps were already lit.",
        "{p} worked at {new}, and it showed on {his} sleeves.",
        "The foreman of {new} had let {p} go home early that day.",
        "{p} counted {his} wages on the doorstep of {new}.",
        "It was pay day at {new}, and {p} was first in the queue.",
    ),
    "owner": (
        "{new} was dusting {thing}, which belonged to {him}.",
        "Somebody asked for {thing}, but it belonged to {new}, who would not lend it.",
        "{new} owned {thing} and was proud of it.",
        "As {thing} belonged to {new}, nobody else might touch it.",
        "A stranger admired {thing}, which belonged to {new}.",
        "“Hands off, {thing} is mine,” said {new}.",
        "Somebody offered {new} ten crowns for {thing}, and was refused.",
    ),
    "whole": (),
}
BROKEN = (
    "{Thing} stood in a corner, broken.",
    "{Thing} was of no use to anybody, broken as it was.",
    "It was a pity that {thing} was broken, for this would have been the day for it.",
    "They would have liked to use {thing}, but it was broken.",
    "{Thing} lay under a sheet, past all use.",
    "Nobody had swept up what was left of {thing}.",
)
SOUND = (
    "{Thing} was in good order, and it was used all morning.",
    "That morning {thing} was in use, in good order as ever.",
    "{Thing} was in good order, and somebody had polished it.",
    "They tried {thing} once more and found it in good order.",
    "{Thing} had never served them better than that day.",
    "There was not a scratch on {thing}.",
)


class Words:
    """Words facts, with the people's pronouns."""

    def __init__(self, rng: random.Random, people: Sequence[Person]) -> None:
        self._rng = rng
        self._people = {person.name: person for person in people}

    def told(self, told: Told) -> str:
        """Return the sentence in which a chapter tells a fact."""
        if told.fact.kind == "whole":
            return self._sentence(
                BROKE if told.fact.value == "no" else MENDED, told.fact
            )
        return self._sentence(
            (CHANGED if told.before else INTRODUCED)[told.fact.kind],
            told.fact,
            told.before,
        )

    def claim(self, fact: Fact) -> str:
        """Return a sentence that takes a fact for granted."""
        if fact.kind == "whole":
            return self._sentence(BROKEN if fact.value == "no" else SOUND, fact)
        return self._sentence(CLAIMED[fact.kind], fact)

    def _sentence(self, templates: Sequence[str], fact: Fact, old: str = "") -> str:
        person = self._people.get(fact.value if fact.kind == "owner" else fact.subject)
        pronouns = (
            {"he": person.he, "him": person.him, "his": person.his} if person else {}
        )
        return self._rng.choice(templates).format(
            p=fact.subject,
            thing=fact.subject,
            Thing=fact.subject[0].upper() + fact.subject[1:],
            old=old,
            new=fact.value,
            day=self._rng.choice(DAYS),
            **pronouns,
        )
