"""All abilities of the embedded reader, in one list. It takes a while to import: readers do so when first used."""

from __future__ import annotations

from pytest_ltm.agents.reader.belongings import Belongings
from pytest_ltm.agents.reader.chapter_break import ChapterBreak
from pytest_ltm.agents.reader.codes import Codes
from pytest_ltm.agents.reader.errands import Instructions, TriggerResponse
from pytest_ltm.agents.reader.facts import DelayedRecall, HowToThink, InstructionRecall, KeyValuePairs
from pytest_ltm.agents.reader.general import Announcement, General, Trivia
from pytest_ltm.agents.reader.history_qa import OpenQuestions, ToldHistory
from pytest_ltm.agents.reader.invented_languages import Languages
from pytest_ltm.agents.reader.jokes import Jokes
from pytest_ltm.agents.reader.kept_secrets import Secrets
from pytest_ltm.agents.reader.ledger import GiftLedger
from pytest_ltm.agents.reader.notes import Ability, Appends
from pytest_ltm.agents.reader.orders import StandingOrders
from pytest_ltm.agents.reader.own_facts import OwnFacts
from pytest_ltm.agents.reader.passages import Passages
from pytest_ltm.agents.reader.person import Colours, ConflictingPersonalInformation, Names
from pytest_ltm.agents.reader.places import Locations
from pytest_ltm.agents.reader.plays import Restaurant, SallyAnne, SpyMeeting
from pytest_ltm.agents.reader.reminders import Reminders
from pytest_ltm.agents.reader.shopping import ShoppingList
from pytest_ltm.agents.reader.tips import Tips
from pytest_ltm.agents.reader.worlds import InventedWorlds

# In the order in which they are offered a message; the first that claims it replies.
ABILITIES: tuple[Ability, ...] = (
    Announcement(),
    Trivia(),
    Secrets(),
    ToldHistory(),
    Belongings(),
    OwnFacts(),
    Tips(),
    Passages(),
    Codes(),
    StandingOrders(),
    GiftLedger(),
    InventedWorlds(),
    Languages(),
    Reminders(),
    ConflictingPersonalInformation(),
    HowToThink(),
    InstructionRecall(),
    DelayedRecall(),
    ChapterBreak(),
    Instructions(),
    Jokes(),
    Colours(),
    SallyAnne(),
    Names(),
    ShoppingList(),
    Locations(),
    TriggerResponse(),
    SpyMeeting(),
    Restaurant(),
    KeyValuePairs(),
    OpenQuestions(),
    General(),
)
APPENDING = tuple(ability for ability in ABILITIES if isinstance(ability, Appends))
"""Those that may add to a reply."""
