"""All abilities of the embedded reader, in one list.

The module is slow to import, so readers do so on first use.
"""

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

# In the order in which they see a message; the first one that claims it replies.
ABILITIES: tuple[Ability, ...] = (
    # Takes notes only, and leaves the reply to the others.
    acting.ActingNotes(),
    # About the conversation itself, or explicitly marked.
    general.Announcement(),
    general.Trivia(),
    household.SharingPeople(),
    facts.Secrets(),
    history_qa.ToldHistory(),
    work.Projects(),
    restraint.Restraint(),
    trust.Trusts(),
    # These look like general statements, so specific abilities come first.
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
    # The fallback for everything else.
    history_qa.OpenQuestions(),
    general.General(),
)
APPENDING = tuple(ability for ability in ABILITIES if isinstance(ability, Appends))
"""The abilities that may add to a reply."""
