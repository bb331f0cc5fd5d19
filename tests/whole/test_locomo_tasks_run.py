"""LoCoMo's other tasks as a user runs them."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest
from conftest import Project
from locomo_files import talk, written
from run_folders import latest_run

BOT = """
class Bot:
    def __init__(self):
        self.said = []

    def reply(self, message):
        if "in the life of" in message:
            assert any("sold two quails" in text for text in self.said)
            return "3 March, 2024: Ines buys quails."
        if "say next?" in message:
            assert not any("What does" in text for text in self.said)
            return "Lovely, play me the Elgar."
        self.said.append(message)
        return "Fine."

def vectors(texts):
    return [[len(text), 1.0] for text in texts]
"""


@pytest.fixture(autouse=True, scope="module")
def rouge_imported_once() -> None:
    """Import the library outside the runs: what it imports cannot be imported twice."""
    if find_spec("rouge_score"):
        import_module("rouge_score.rouge_scorer")


def test_events_and_dialogue_are_items_with_figures(project: Project) -> None:
    events = {
        "events_session_1": {
            "Ines": ["Ines buys quails."],
            "Tomas": [],
            "date": "3 March, 2024",
        }
    }
    written(project.path / "data.json", [talk(event_summary=events)])
    project.file(BOT, "bot.py")
    result = project.pytest(
        "--ltm-agent=bot:Bot",
        "--ltm-suite=locomo",
        "?data=data.json",
        "?tasks=events,dialogue",
        "?embeddings=bot:vectors",
        "-v",
    )
    summary = json.loads(
        (latest_run(project.path) / "summary.json").read_text(encoding="utf-8")
    )
    rows: dict[str, Any] = {
        row["nodeid"]: row
        for held in summary["conversations"]
        for row in held["examples"]
    }

    assert (
        rows["ltm/events::test_events[bot_Bot-all-0.conv_1-0_1_2]"]["ltm_score"] == 1.0
    )
    turn = rows["ltm/dialogue::test_next_turn[bot_Bot-all-0.conv_1-D1_3]"]
    assert (turn["ltm_score"], turn["ltm_metric_bleu4"]) == (1.0, 1.0)
    assert turn["ltm_metric_mm_relevance"] > 0.99
    assert "data.json: 1 conversation, events, dialogue" in result.stdout.str()
    assert "asked the official way" not in result.stdout.str()
