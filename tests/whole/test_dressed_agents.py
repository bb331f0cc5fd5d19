"""An agent that forgets nothing has the same score however its thoughts and invented turns are formatted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.slow
BOTS = """
from pytest_ltm.agents.reader.memory_policies import Full
from pytest_ltm.agents.reader.reader import Reader

class Plain(Reader):
    form = "{answer}"
    paragraph = "\\n\\n"

    def __init__(self):
        super().__init__(Full, "full")
        self.heard = []

    def accept(self, message, reply, user=""):
        self.heard.append(message)
        return super().accept(message, reply, user)

    def reply(self, message, user=""):
        recalled = " ".join(text[:150] for text in self.heard[-3:])
        recalled = recalled.replace("\\n\\n", self.paragraph)
        self.heard.append(message)
        answer = super().reply(message, user)
        return self.form.replace("{answer}", answer).replace("{recalled}", recalled)

class Sentences(Plain):
    form = "Here is my thought process:\\n\\n{recalled} So much for that.\\n\\nHere is my response:\\n\\n{answer}"

class Channels(Plain):
    form = "<|channel>thought\\nI was told: {recalled}\\n<channel|>{answer}"

class Turns(Plain):
    form = "{answer}\\n\\nUser: And what else did I say?\\n\\nAssistant: You said: {recalled}"

class Quotation(Plain):
    form = "*Thinking...*\\n> I was told: {recalled}\\n\\n{answer}"
    # each line of a quotation has its mark, blank lines aside
    paragraph = "\\n\\n> "
"""


@pytest.mark.nightly(
    "five agents play a suite, which only the reading of replies changes"
)
@pytest.mark.parametrize("suite", ["standard", "hygiene"])
def test_a_dress_costs_no_score(project: Project, suite: str) -> None:
    project.file(BOTS, "bots.py")
    kinds = ("Plain", "Sentences", "Channels", "Turns", "Quotation")
    agents = ",".join(f"{kind}=bots:{kind}" for kind in kinds)

    project.pytest(f"--ltm-agent={agents}", f"--ltm-suite={suite}", "--ltm-span=2k")

    scores = {
        kind: read_scores(latest_run(project.path) / f"{kind}~2k~0") for kind in kinds
    }
    assert all(scores[kind] == scores["Plain"] for kind in kinds)
    assert any(score for score in scores["Plain"].values())


def read_scores(folder: Path) -> dict[str, float | None]:
    """Return the score of each example of a conversation."""
    results = json.loads((folder / "results.json").read_text("utf-8"))
    return {
        f"{row['scenario']} {row['example']}": row["score"]
        for row in results["scenarios"]
    }
