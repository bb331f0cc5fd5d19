"""The data set alone: its parsing of a chat, without an agent."""

from pathlib import Path

from realtalk import REALTALK

CHATS = Path(__file__).with_name("chats")


def test_a_chat_is_told_by_date_with_names_and_captions():
    told = REALTALK.open(CHATS, {}, seed=0).told("Chat_1_Ilse_Tom").history
    assert [one.message for one in told] == [
        "[2026/03/02 (Mon) 09:15] Ilse: The rowing club has a new boat. It is called Otter.",
        "[2026/03/02 (Mon) 09:15] Tom: I am painting my kitchen today.\n[photo: a yellow wall]",
        "[2026/03/09 (Mon) 20:00] Ilse: We came second in the race in Leiden.",
    ]


def test_a_question_names_its_evidence_and_its_scorer():
    suite = REALTALK.open(CHATS, {}, seed=0)
    thread, example = suite.places("multi_hop")[1]
    definition = suite.definition("multi_hop", thread, example)
    assert definition.questions[0].about == ("session_2_1",)
    assert definition.parameters["scorer"] == "realtalk:score_answer"
