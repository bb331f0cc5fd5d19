"""Runs of the suite `trust`: all reports name the agents that obeyed, and a resumed run agrees."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from run_folders import latest_run
from schemas import SCHEMA

from pytest_ltm.commands import main as ltm

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

CHOSEN = ("--ltm-suite=trust", "-k", "(sale or denial) and (tool or file)")


def play(pytester: pytest.Pytester, agents: str, *words: str) -> pytest.RunResult:
    return pytester.runpytest(*CHOSEN, f"--ltm-agent={agents}", *words)


def summary(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((latest_run(path) / "summary.json").read_bytes())
    return found


@pytest.fixture
def played(pytester: pytest.Pytester) -> pytest.RunResult:
    return play(
        pytester,
        "obeying,fencing,refusing",
        "--ltm-sessions=3",
        "--ltm-report=page.html",
        "--ltm-summary=page.md",
    )


@WHOLE_RUN
def test_reports_say_who_obeyed_by_channel_and_by_class(
    pytester: pytest.Pytester, played: pytest.RunResult
) -> None:
    played.assert_outcomes(failed=8, passed=4)
    played.stdout.fnmatch_lines(
        [
            "attack rate*100%*0%*0%",
            "utility*100%*100%*0%",
            "Poison at a distance",
            "*obeying at 2k: attack rate 100%, utility 100% (4 pairs)",
        ]
    )
    found = summary(pytester.path)
    jsonschema.validate(found, json.loads(SCHEMA.read_bytes()))
    [section] = [row for row in found["sections"] if "Poison" in row["title"]]
    rates = {row["agent"]: row["spans"][0] for row in section["json"]["agents"]}
    assert rates["obeying"]["attack_rate"] == 1
    assert rates["refusing"]["utility"] == 0
    assert set(rates["fencing"]["channels"]) == {"file", "tool"}
    assert rates["fencing"]["classes"]["sale"] == {
        "pairs": 2,
        "attack_rate": 0,
        "utility": 1,
        "open": 0,
    }
    columns = {row["agent"]: row for row in found["results"]}
    assert (columns["obeying"]["attack_rate"], columns["refusing"]["utility"]) == (1, 0)
    [rate, *_] = [row for row in section["curves"] if "sessions" in row["axis"]]
    assert rate["name"].endswith("attack rate")
    assert all(int(label) >= 1 for label, _ in rate["points"])
    for page in ("page.html", "page.md"):
        text = (pytester.path / page).read_text(encoding="utf-8")
        assert "obeying at 2k: attack rate 100%" in text


def test_the_page_draws_both_rates_over_memory_spans_in_one_figure(
    pytester: pytest.Pytester,
) -> None:
    words = ("--ltm-span=1k,2k", "--ltm-report=page.html")
    play(pytester, "obeying,fencing", *words)
    text = (pytester.path / "page.html").read_text(encoding="utf-8")
    [section] = re.findall(r'(?s)<section class="added">.*?</section>', text)
    assert section.count("<svg") == 1
    for name in ("obeying: attack rate", "fencing: utility"):
        assert f"{name} at 1k: 100%" in section
    assert "fencing: attack rate at 2k: 0%" in section


def test_findings_are_exported_with_the_line_where_the_answer_stands(
    pytester: pytest.Pytester, played: pytest.RunResult
) -> None:
    assert played.ret == 1
    assert ltm(["export", "latest", "--to", "sarif", "-o", "found"]) == 0
    document = json.loads((pytester.path / "found.sarif").read_bytes())
    [run] = document["runs"]
    assert document["version"] == "2.1.0"
    assert run["properties"]["pairs"] == 12
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules)) == 4
    assert len(run["results"]) == 4
    for result in run["results"]:
        assert (result["kind"], result["level"]) == ("fail", "error")
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["properties"]["agent"] == "obeying"
        place = result["locations"][0]["physicalLocation"]
        journal = latest_run(pytester.path) / place["artifactLocation"]["uri"]
        line = journal.read_text(encoding="utf-8").splitlines()[
            place["region"]["startLine"] - 1
        ]
        event = json.loads(line)
        assert event["event"] == "reply"
        answer = result["message"]["text"].rpartition("Answered: ")[2]
        assert event["text"] == answer
    names = {result["partialFingerprints"]["pytestLtm/v1"] for result in run["results"]}
    assert len(names) == 4


FINDER = """
import re

class Finder:
    def __init__(self):
        self.told = []

    def reply(self, message):
        asked = set(re.findall(r"\\w{5,}", message.lower()))
        if not message.endswith("?"):
            self.told.insert(0, message)
            return "ok"
        return max(self.told, key=lambda text: len(asked & set(re.findall(r"\\w{5,}", text.lower()))))
"""


def test_a_pair_that_is_wholly_open_is_counted_and_exported(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(finder=FINDER)
    played = play(pytester, "finder:Finder", "-k", "denial_by_file or denial_by_user")

    played.assert_outcomes(skipped=2)
    played.stdout.fnmatch_lines(
        ["*attack rate -, utility - (2 pairs; open: 2 attacks, 2 twins)"]
    )
    assert ltm(["export", "latest", "--to", "sarif", "-o", "found"]) == 0
    [run] = json.loads((pytester.path / "found.sarif").read_bytes())["runs"]
    assert run["properties"]["pairs"] == 2
    assert [result["kind"] for result in run["results"]] == ["open", "open"]


def test_a_run_without_planted_texts_has_no_findings_to_export(
    pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
) -> None:
    pytester.runpytest("--ltm-suite=standard", "-k", "colours", "--ltm-agent=echo")
    assert ltm(["export", "latest", "--to", "sarif"]) != 0
    assert "--ltm-suite=trust" in capsys.readouterr().err
    assert not (pytester.path / "ltm-sarif.sarif").exists()


def test_a_run_that_is_scored_again_says_the_same(
    pytester: pytest.Pytester, played: pytest.RunResult
) -> None:
    assert played.ret == 1
    before = summary(pytester.path)["sections"]
    result = pytester.runpytest("--ltm-rescore=latest")
    result.stdout.fnmatch_lines(["*scored again: run *, 0 moved*"])
    assert summary(pytester.path)["sections"] == before
