"""All abilities of the embedded reader, in one list. It takes a while to import: readers do so when first used."""

from __future__ import annotations

from pytest_ltm.agents.reader.errands import Instructions, Reminders, ShoppingList, StandingOrders, TriggerResponse
from pytest_ltm.agents.reader.facts import (
    Codes,
    DelayedRecall,
    HowToThink,
    InstructionRecall,
    InventedWorlds,
    KeyValuePairs,
    Languages,
    Locations,
    Secrets,
)
from pytest_ltm.agents.reader.general import Announcement, General, Jokes, Tips, Trivia
from pytest_ltm.agents.reader.history_qa import OpenQuestions, ToldHistory
from pytest_ltm.agents.reader.notes import Ability, Appends
from pytest_ltm.agents.reader.people import (
    Belongings,
    Colours,
    ConflictingPersonalInformation,
    GiftLedger,
    Names,
    OwnFacts,
)
from pytest_ltm.agents.reader.stories import ChapterBreak, Passages, Restaurant, SallyAnne, SpyMeeting

# In the order in which they are offered a message; the first that claims it replies.
ABILITIES: tuple[Ability, ...] = (
    # What is about the conversation itself, or marked as what it is.
    Announcement(), Trivia(), Secrets(), ToldHistory(),
    # What only looks like general statements: whoever knows it takes it first.
    Belongings(), OwnFacts(), Tips(), Passages(), Codes(), StandingOrders(), GiftLedger(), InventedWorlds(),
    Languages(), Reminders(), ConflictingPersonalInformation(), HowToThink(), InstructionRecall(), DelayedRecall(),
    ChapterBreak(), Instructions(), Jokes(), Colours(), SallyAnne(), Names(), ShoppingList(), Locations(),
    TriggerResponse(), SpyMeeting(), Restaurant(), KeyValuePairs(),
    # What nobody else understands.
    OpenQuestions(), General(),
)  # fmt: skip
APPENDING = tuple(ability for ability in ABILITIES if isinstance(ability, Appends))
"""Those that may add to a reply."""
