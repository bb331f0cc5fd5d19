"""Whether an agent knows the published texts: the comparison, and when its result is worth a look."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_ltm.commands import main
from pytest_ltm.commands.check_agent import FINDS
from pytest_ltm.commands.published_texts import TextsComparison
from pytest_ltm.commands.pytest_runs import play_run

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

NAMES = [f"scenario{number}" for number in range(10)]
ALL, NOTHING = dict.fromkeys(NAMES, 1.0), dict.fromkeys(NAMES, 0.0)
TABLE = """
import json

class Table:
    def __init__(self):
        with open("table.json", encoding="utf-8") as file:
            self.answers = json.load(file)
        self.heard = 0

    def reply(self, message):
        self.heard += 1
        return "Noted." if self.heard < 12 else self.answers.get(message, "Noted.")
"""


def test_an_agent_that_answers_published_texts_alone_knows_them() -> None:
    assert TextsComparison(ALL, (NOTHING, NOTHING)).knows_texts


def test_an_agent_that_earns_the_same_everywhere_does_not_know_them() -> None:
    assert not TextsComparison(ALL, (ALL, ALL)).knows_texts


def test_one_bad_conversation_with_new_texts_is_no_sign_of_knowing() -> None:
    assert not TextsComparison(ALL, (NOTHING, ALL)).knows_texts


def test_a_lead_in_three_of_ten_scenarios_may_be_chance() -> None:
    fresh = ALL | dict.fromkeys(NAMES[:3], 0.0)
    assert not TextsComparison(ALL, (fresh, fresh)).knows_texts


def test_scenarios_without_a_score_in_one_run_are_left_out() -> None:
    assert not TextsComparison(ALL, ({}, ALL)).knows_texts


@WHOLE_RUN
@pytest.mark.slow
@pytest.mark.usefixtures("few_plugins")
def test_a_table_of_the_answers_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    run = play_run(["oracle"], ["--ltm-examples=1"], tmp_path / "ltm")
    _write_table(run.path, tmp_path / "table.json")
    (tmp_path / "table_bot.py").write_text(TABLE)
    assert main(["check-agent", "--texts", "table_bot:Table"]) == FINDS
    assert "it does better on the published texts of seed 0" in " ".join(
        capsys.readouterr().out.split()
    )


def _write_table(run: Path, to: Path) -> None:
    said, answers = "", {}
    for path in run.glob("*/journal.jsonl"):
        for event in map(json.loads, path.read_text("utf-8").splitlines()):
            if event["event"] == "message":
                said = event["text"]
            elif event["event"] == "reply":
                answers[said] = event["text"]
    to.write_text(json.dumps(answers))
