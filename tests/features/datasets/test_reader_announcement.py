"""The message that opens a conversation contains nothing that a question could ask for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from pytest_ltm._core.session.planning import OPENING
from pytest_ltm.agents.reader.reader import RetrievingReader, make_reader
from pytest_ltm.datasets.dataset_registry import TELLINGS
from pytest_ltm.datasets.locomo.samples import Sample, opening_message
from pytest_ltm.datasets.longmemeval.conversations import OPENING as OF_LONGMEMEVAL

PAIR = cast("Sample", SimpleNamespace(speakers=("Ines", "Tomas")))
DATE = "[9:05 am on 3 March, 2021]"
OPENINGS = (
    OPENING,
    OF_LONGMEMEVAL,
    *(opening_message(PAIR, telling) for telling in TELLINGS),
)


def retrieved(first: str, *, begun: bool = False) -> list[str]:
    reader = cast("RetrievingReader", make_reader("bm25", "top5")())
    if begun:
        reader.reply("Good morning.")
    reader.reply(first)
    reader.accept(
        f"{DATE} Ines: I keep quails, and remember each conversation with them.",
        "I have read it.",
    )
    reader.reply(
        "About the conversation that you have read: what does Ines remember of it?"
    )
    return reader.retrieved()


@pytest.mark.parametrize("first", OPENINGS)
def test_the_opening_message_takes_no_place_among_the_best_matches(first: str) -> None:
    assert [text.partition(" Ines")[0] for text in retrieved(first)] == [DATE]
    # later messages may be asked for
    assert len(retrieved(first, begun=True)) == 2


@pytest.mark.parametrize("first", OPENINGS)
def test_no_question_is_answered_with_the_opening_message(first: str) -> None:
    reader = make_reader("full")()
    assert reader.reply(first) == "Noted."
    assert reader.reply(
        "What did I say about a long conversation, session, or ask you to remember?"
    ) == ("I do not know.")


@pytest.mark.parametrize(
    "first",
    ["We are going to Turku later.", "My aunt keeps quails.", "Where is my umbrella?"],
)
def test_a_first_message_that_tells_something_is_kept(first: str) -> None:
    assert any(
        text.startswith(first)
        for text in retrieved(f"{first} I remember a long conversation.")
    )
