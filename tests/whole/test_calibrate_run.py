"""The commands `calibrate` and `leak-check` on small definitions and on the published ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark_data import LOCOMO, LONGMEMEVAL
from conftest import Project
from published_definitions import write

from pytest_ltm.commands import main

pytestmark = pytest.mark.nightly(
    "minutes of texts that only scenarios, filler and generators change"
)

SUITE = """
name: small
examples: 2
scenarios:
  - scenario: colours
  - scenario: names
"""
COLOURS = ("teal", "ochre", "indigo", "beige")


def small(project: Project) -> list[str]:
    """Write four definitions of Colours, and a suite; return their names."""
    for number, colour in enumerate(COLOURS):
        place = project.path / "published" / "Colours"
        place.mkdir(parents=True, exist_ok=True)
        told = [
            f"My favourite colour is {name}." for name in (COLOURS[number - 1], colour)
        ]
        script = [*told, "What is my favourite colour?"]
        waits = [{"percentage_finished": 45.0}, {"percentage_finished": 90.0}, {}]
        definition = {
            "script": script,
            "is_question": [False, False, True],
            "waits": waits,
            "expected_responses": [colour],
        }
        (place / f"{number}.def.json").write_text(
            json.dumps(definition), encoding="utf-8"
        )
    (project.path / "published" / "config.yml").write_text(
        "memory_span: 2000\n", encoding="utf-8"
    )
    (project.path / "small.ltm-suite.yml").write_text(SUITE, encoding="utf-8")
    # the command ignores tests of the project
    project.file("import nowhere\n")
    return ["published", "small.ltm-suite.yml"]


@pytest.mark.slow
def test_both_sides_are_played_and_compared(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions, suite = small(project)
    status = main(
        [
            "lab",
            "calibrate",
            definitions,
            f"--ltm-suite={suite}",
            "--seeds=2",
            "--agent=window:500",
            "--json",
        ]
    )
    found = json.loads(capsys.readouterr().out)
    assert status == 0
    assert found["span"] == "2000"
    assert found["left_out"] == {"names": "only ours"}
    row = found["agents"]["full"]["scenarios"]["colours"]
    assert row["examples"] == [4, 4]
    assert row["published"]["value"] == row["ours"]["value"] == 1
    assert found["agents"]["window:500"]["total"]["ours"]["value"] == 0
    assert not (project.path / ".ltm").exists()


def test_a_span_that_nobody_names_is_asked_for(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions, _ = small(project)
    (project.path / "published" / "config.yml").unlink()
    assert main(["lab", "calibrate", definitions]) == 2
    assert "Give one with --span" in capsys.readouterr().err


@pytest.mark.slow
def test_scenario_messages_are_looked_through_and_compared(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    definitions, suite = small(project)
    words = [
        "lab",
        "leak-check",
        suite,
        "--reference",
        definitions,
        "--span=2k",
        "--seeds=9",
        "--json",
    ]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert printed.err.count("seed ") == 3  # the definitions take two conversations
    among, filler = json.loads(printed.out)["tables"]
    assert among["name"] == "among scenario messages"
    assert set(among["ours"]) == {"colours", "names", "all"}
    assert set(among["reference"]) == {"colours", "all"}
    assert (
        among["ours"]["all"]["evidence"]
        == among["ours"]["colours"]["evidence"]
        == 2 * 2 * 3
    )
    assert filler["ours"]["all"]["lift"]["5%"] > 1


# --- The built-in scenarios compared with the published ones.

APART = ("bm25:8k", "bm25:top5")
MOST_APART = 0.64
"""Allowed distance between their totals and those of the published definitions at 32k: 0.7 of 11, for ten scenarios."""


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.published
def test_retrieval_earns_as_much_as_published_texts_leave(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], everything: bool
) -> None:
    """Play two seeds at 32k; before a merge, the first at 8k."""
    folder = write(tmp_path / "published", "first")
    size = ["--span=32k", "--seeds=2"] if everything else ["--span=8k", "--seeds=1"]
    agents = [f"--agent={','.join(APART)}"]
    main(["lab", "calibrate", str(folder), *size, *agents, "--json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert set(found["left_out"]) <= {"chapter_break"}
    assert not [sentence for sentence in found["breaches"] if "full marks" in sentence]
    totals = {
        agent: found["agents"][agent]["total"]["difference"]["value"] for agent in APART
    }
    assert {
        agent: gain for agent, gain in totals.items() if abs(gain) > MOST_APART
    } == {}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.published
def test_scenario_messages_give_no_more_away_than_published_ones(
    tmp_path: Path, everything: bool
) -> None:
    """Look through all conversations at 32k; before a merge, through two of each side at 8k."""
    folder = write(tmp_path / "published", "first")
    size = [] if everything else ["--span=8k", "--seeds=2"]
    words = ["standard", "--reference", str(folder), *size]
    assert main(["lab", "leak-check", *words]) == 0


# --- Generated histories compared with real ones.

REAL = {
    "locomo": (LOCOMO / "locomo10.json",),
    "longmemeval": tuple(
        LONGMEMEVAL / f"longmemeval_{part}.json"
        for part in ("s_cleaned_3", "oracle_exact_2", "abs_truncated_4")
    ),
}
MOST_GIVEN = 1.25
GENERATE = {
    "locomo": ("--conversations=10",),
    "longmemeval": ("--count=8", "--tokens=115k"),
}


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.parametrize("data_set", REAL)
def test_generated_histories_give_no_more_away_than_real_ones(
    data_set: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = str(tmp_path / "made.json")
    main(["data", f"{data_set}-generate", *GENERATE[data_set], "-o", made])
    capsys.readouterr()
    main(
        ["lab", "leak-check", made, "--reference", *map(str, REAL[data_set]), "--json"]
    )
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    ours, theirs = (table[side]["all"] for side in ("ours", "reference"))
    shares = zip(ours["recall"].values(), theirs["recall"].values(), strict=True)
    assert [share for share, real in shares if share > MOST_GIVEN * real] == []
    assert ours["order"] <= 1.05 * theirs["order"]
