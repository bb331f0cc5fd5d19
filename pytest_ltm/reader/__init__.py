"""What the embedded reader understands: one ability a file, behind one protocol."""

from __future__ import annotations

from pytest_ltm.reader.chapter_break import ChapterBreak
from pytest_ltm.reader.errands import Instructions, TriggerResponse
from pytest_ltm.reader.facts import DelayedRecall, HowToThink, InstructionRecall, KeyValuePairs
from pytest_ltm.reader.general import Announcement, General, Trivia
from pytest_ltm.reader.jokes import Jokes
from pytest_ltm.reader.notes import Ability, Appends, Note, Notebook, Turn
from pytest_ltm.reader.person import Colours, ConflictingPersonalInformation, Names
from pytest_ltm.reader.places import Locations
from pytest_ltm.reader.plays import Restaurant, SallyAnne, SpyMeeting
from pytest_ltm.reader.shopping import ShoppingList
from pytest_ltm.reader.told_history import OpenQuestions, ToldHistory

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
