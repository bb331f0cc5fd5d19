"""A run of two workers, loaded and exported, agrees with its summary and pytest's own JUnit file."""

from __future__ import annotations

import json
from statistics import mean

import pytest
from conftest import Project
from run_folders import latest_run
from test_xdist_results import junit

import pytest_ltm
from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

SCENARIOS = """
import pytest

def test_colour(ltm):
    ltm.say("My favourite colour is ochre.")
    ltm.wait(tokens=100)
    ltm.check("names it", "ochre" in ltm.ask("What is my favourite colour?").lower())
    ltm.check("is short", True)

def test_town(ltm):
    ltm.say("I live in Leeds.")
    ltm.ask("Where do I live?")
    pytest.skip("not today")

def test_broken(ltm):
    ltm.say("Hello.")
    raise ValueError("boom")

def test_unheard(ltm):
    ltm.say("Now fail, please.")
"""

BOTS = """
class Moody:
    def reply(self, message):
        if "fail" in message:
            raise ValueError("no")
        return "Noted."
"""


@pytest.mark.slow
def test_a_run_of_many_workers_agents_and_spans_can_be_taken_elsewhere(
    project: Project,
) -> None:
    project.file(SCENARIOS)
    project.file(BOTS, "bots.py")
    project.ltm(
        "-n2",
        "--junitxml=pytest.xml",
        "--ltm-trials=2",
        agent="full,bots:Moody",
        span="300,600,isolated",
    )
    folder = latest_run(project.path)
    found = pytest_ltm.load(folder)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for column in summary["results"]:
        place = column["agent"], column["span_label"]
        scores = [
            row.score
            for row in found.examples
            if (row.agent, row.span_label) == place and row.score is not None
        ]
        said = [
            row
            for row in found.exchanges
            if (row.agent, row.span_label) == place and row.replied
        ]
        assert mean(scores) == pytest.approx(column["total"])  # one scenario has scores
        assert (
            sum(row.message_tokens + row.reply_tokens for row in said)
            == column["tokens"]
        )
        assert len(said) == column["exchanges"]
    assert len(summary["results"]) == 6
    assert (
        len({(row.conversation, row.scenario, row.example) for row in found.examples})
        == len(found.examples)
        == 48
    )
    assert {
        row.seconds is None for row in found.exchanges if row.replied and not row.told
    } == {False}
    assert {row.fault != "" for row in found.exchanges if not row.replied} == {True}
    assert found.missing == ()

    assert (
        main(
            ["export", str(folder), "--to=junit", "-o", str(project.path / "ours.xml")]
        )
        == 0
    )
    ours, theirs = junit(project.path / "ours.xml"), junit(project.path / "pytest.xml")
    assert ours.keys() == theirs.keys()
    for name, (said_of_it, properties) in theirs.items():
        assert ([tag for tag, _ in ours[name][0]], ours[name][1]) == (
            [tag for tag, _ in said_of_it],
            properties,
        )

    (folder / "summary.json").unlink()
    killed = folder / "full~600~0"
    (killed / "results.json").unlink()
    whole = (killed / "journal.jsonl").read_bytes()
    (killed / "journal.jsonl").write_bytes(whole[: whole.rindex(b'{"event":"end"') + 9])
    cut = pytest_ltm.load(folder)
    assert len(cut.examples) == 48
    rows = {
        row.scenario: row.score
        for row in cut.examples
        if row.conversation == "full~600~0"
    }
    assert rows["colour"] == next(
        row.score for row in found.examples if row.scenario == "colour"
    )
    assert len(cut.exchanges) == len(found.exchanges)
    assert len(cut.missing) == 1
