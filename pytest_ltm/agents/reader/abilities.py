"""All abilities of the embedded reader, in one list. It takes a while to import: readers do so when first used."""

from __future__ import annotations

from pytest_ltm.agents.reader import (
    acting,
    errands,
    facts,
    general,
    history_qa,
    household,
    people,
    restraint,
    stories,
    trust,
    work,
)
from pytest_ltm.agents.reader.notes import Ability, Appends

# In the order in which they are offered a message; the first that claims it replies.
ABILITIES: tuple[Ability, ...] = (
    # What only notes, and leaves the reply to the others.
    acting.ActingNotes(),
    # What is about the conversation itself, or marked as what it is.
    general.Announcement(),
    general.Trivia(),
    household.SharingPeople(),
    facts.Secrets(),
    history_qa.ToldHistory(),
    work.Projects(),
    restraint.Restraint(),
    trust.Trusts(),
    # What only looks like general statements: whoever knows it takes it first.
    people.Belongings(),
    people.OwnFacts(),
    household.Changes(),
    general.Tips(),
    stories.Passages(),
    facts.Codes(),
    errands.StandingOrders(),
    people.GiftLedger(),
    facts.InventedWorlds(),
    facts.Languages(),
    errands.Reminders(),
    people.ConflictingPersonalInformation(),
    facts.HowToThink(),
    facts.InstructionRecall(),
    facts.DelayedRecall(),
    stories.ChapterBreak(),
    errands.Instructions(),
    general.Jokes(),
    people.Colours(),
    stories.SallyAnne(),
    people.Names(),
    errands.ShoppingList(),
    facts.Locations(),
    errands.TriggerResponse(),
    stories.SpyMeeting(),
    stories.Restaurant(),
    facts.KeyValuePairs(),
    # What nobody else understands.
    history_qa.OpenQuestions(),
    general.General(),
)
APPENDING = tuple(ability for ability in ABILITIES if isinstance(ability, Appends))
"""Those that may add to a reply."""
