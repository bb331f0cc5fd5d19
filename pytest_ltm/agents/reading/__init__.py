"""What the embedded reader understands: one ability a file, behind one protocol."""

from __future__ import annotations

from pytest_ltm.agents.reading._notes import Ability, Appends, Note, Notebook, Turn
from pytest_ltm.agents.reading.announcement import Announcement
from pytest_ltm.agents.reading.chapter_break import ChapterBreak
from pytest_ltm.agents.reading.colours import Colours
from pytest_ltm.agents.reading.conflicting_personal_information import ConflictingPersonalInformation
from pytest_ltm.agents.reading.delayed_recall import DelayedRecall
from pytest_ltm.agents.reading.general import General
from pytest_ltm.agents.reading.how_to_think import HowToThink
from pytest_ltm.agents.reading.instruction_recall import InstructionRecall
from pytest_ltm.agents.reading.instructions import Instructions
from pytest_ltm.agents.reading.jokes import Jokes
from pytest_ltm.agents.reading.kv_pairs import KeyValuePairs
from pytest_ltm.agents.reading.locations import Locations
from pytest_ltm.agents.reading.names import Names
from pytest_ltm.agents.reading.restaurant import Restaurant
from pytest_ltm.agents.reading.sally_anne import SallyAnne
from pytest_ltm.agents.reading.shopping_list import ShoppingList
from pytest_ltm.agents.reading.spy_meeting import SpyMeeting
from pytest_ltm.agents.reading.told_history import OpenQuestions, ToldHistory
from pytest_ltm.agents.reading.trigger_response import TriggerResponse
from pytest_ltm.agents.reading.trivia import Trivia

__all__ = ["ABILITIES", "Ability", "Appends", "Note", "Notebook", "Turn"]

ABILITIES: tuple[Ability, ...] = (
    Announcement(),
    Trivia(),
    ToldHistory(),
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
"""In the order in which they are offered a message; the first that claims it replies."""
