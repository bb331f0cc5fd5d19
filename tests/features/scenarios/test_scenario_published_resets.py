"""The reset messages of the published runs make the reader forget the facts of the finished test."""

from __future__ import annotations

import pytest
from benchmark_data import GOODAI, lines_of

from pytest_ltm.agents.reader.reader import make_reader

LOGS = ("master_log_1k_gpt4o.jsonl", "master_log_120k_gpt-4-turbo.jsonl.gz")
TOLD = {
    "NameList": (
        "My name is Orla.",
        "Which names have I used? Answer with a JSON list.",
        "Orla",
    ),
    "Shopping": (
        "I want to buy 2 Sponge.",
        "What is on my shopping list? Answer in JSON.",
        "sponge",
    ),
    "Locations Directions": (
        "I visited Quay, which is 2 KM, North from Mill.",
        "How do I go from Mill to Quay following the way?",
        "2 km north",
    ),
    "Trigger Response": (
        "Whenever I mention my ladder then say: 'Mind the rungs'",
        "I fell off my ladder.",
        "Mind the rungs",
    ),
}

pytestmark = pytest.mark.published


def last_messages(log: str) -> dict[str, str]:
    """Return the message that ends the first test of each data set, which follows its question."""
    last: dict[str, str] = {}
    for event in lines_of(GOODAI / log):
        folder, _, number = (event["test_id"] or "").rpartition(" - ")
        if event["type"] == 0 and number == "0":
            last[folder] = event["data"]["message"]
    return last


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("folder", TOLD)
def test_the_published_last_message_makes_the_reader_forget(
    log: str, folder: str
) -> None:
    statement, question, known = TOLD[folder]
    reader = make_reader("full")()
    reader.reply(statement)
    assert known in reader.reply(question)
    reader.reply(last_messages(log)[folder])
    assert known not in reader.reply(question)
