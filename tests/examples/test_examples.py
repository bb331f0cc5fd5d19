from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from _commands import ROOT, comparable, run
from _pages import blocks

RECIPES = ROOT / "conftest_examples"

EXPECTED: dict[str, list[tuple[dict[str, int], str]]] = {
    "first_agent": [({}, "colours                1.00")],
    "plain_function": [({"failed": 2}, "bicycle                0.50    0.50")],
    "async_agent": [({"passed": 1}, "conference            1.00")],
    "hook_agent": [
        ({"passed": 1, "failed": 1}, "train                0.00       1.00")
    ],
    "many_items": [({"passed": 6, "failed": 1}, "1 failed, 6 passed in TIME")],
    "openai_agent": [],
    "own_package": [],
    "local_model": [],
    "ini_agents": [
        ({"passed": 1, "failed": 1}, "allergy             0.00    1.00"),
        ({"passed": 1}, "allergy             1.00"),
    ],
    "resumed_agent": [
        ({"failed": 1}, "resume with: pytest --ltm-resume=RUN-ID"),
        ({"failed": 1, "passed": 1}, "boots                 0.00"),
    ],
    "returning_user": [
        ({"passed": 1, "failed": 1}, "what_is_only_said                0.00")
    ],
    "process_agent": [
        ({"error": 1, "passed": 1}, "button                  -*          1.00"),
        ({"passed": 1}, "button                1.00"),
    ],
    "recorded_run": [
        ({"passed": 4}, "rent                   1.00   1.00"),
        ({"passed": 4}, "scored again: run recorded: 4 verdicts unchanged, 0 moved"),
    ],
    "custom_scenario": [
        (
            {"passed": 2, "failed": 2, "deselected": 2},
            "FAILED  does not contain 'Tuesday'",
        ),
        ({"passed": 4, "deselected": 2}, "accuracy             100%"),
        (
            {"passed": 2, "skipped": 3},
            "2 passed, 3 skipped in TIME",
        ),
    ],
    "acting_agent": [
        ({"passed": 1, "failed": 1}, "table                     1.00      0.50"),
    ],
    "poisoned_page": [
        ({"passed": 1, "failed": 1}, "minutes               1.00       0.50"),
    ],
    "coding_agents": [
        (
            {"passed": 4, "failed": 2},
            "style                         1.00        1.00        0.50",
        ),
    ],
    "compacting_agent": [
        ({"passed": 1, "failed": 1}, "convention          1.00    0.00"),
    ],
    "simulated_user": [
        ({"passed": 2, "failed": 2}, "birthday              1.00           0.00"),
        ({"skipped": 2}, "user calls, at most         6"),
    ],
    "custom_filler": [({"passed": 1}, "ferry                  1.00")],
    "ci_gate": [
        ({"passed": 9}, "baseline saved: ltm_baselines/main.json"),
        (
            {"passed": 9},
            "gate: passed (2 rules, each for one agent at one memory span)",
        ),
        ({"passed": 9}, "gate: regressed: bot at 4k, 2 rules broken (exit status 1)"),
    ],
    "exchange_log": [({"passed": 1}, "boat                   1.00")],
    "locomo": [
        ({}, "conversation.json: 1 conversation, 90 turns, 30 questions"),
        (
            {},
            "multi_hop            4  0.460         -   0.750     0.750     0.875        5.0",
        ),
    ],
    "longmemeval": [
        ({}, "questions.json: 7 questions, 1.0 MB"),
        ({}, "collected 21 items"),
        ({}, "7 answers"),
        ({}, "single-session-preference           -       0         1"),
    ],
    "own_logs": [
        ({}, "sessions.jsonl: 3 sessions, 8 turns, 0 questions"),
        ({}, "amounts: 1 question; gold answers: 1, never told: 0, with evidence: 1"),
        ({}, "shared.jsonl: e-mail addresses: 2, names: 8"),
        ({"passed": 6}, "amounts                 1.00     1.00"),
    ],
    "own_dataset": [
        ({"passed": 2}, "multi_hop            2  0.225     1.000"),
        ({"passed": 2}, "2 passed in TIME"),
    ],
    "memory_systems": [
        ({"passed": 2}, "platform                      1.00        1.00")
    ],
    "yaml_agent": [({"passed": 1, "failed": 1}, "train                0.00    1.00")],
    "command_agent": [
        ({"passed": 1}, "1 passed in TIME"),
        ({"passed": 1}, "train               1.00"),
    ],
    "http_agent": [],
    "ten_line_store": [
        ({"passed": 1}, "train                                          1.00"),
        ({"passed": 1}, "gate: passed (1 rule, each for one agent at one memory span)"),
    ],
    "store_life": [
        ({"passed": 3, "deselected": 24}, "3 passed, 24 deselected in TIME"),
        ({"failed": 3, "deselected": 24}, "3 failed, 24 deselected in TIME"),
        (
            {"failed": 1, "skipped": 1, "deselected": 25},
            "1 failed, 1 skipped, 25 deselected in TIME",
        ),
    ],
    "memory_operations": [
        ({"passed": 1}, "updated                                            100%"),
        (
            {"passed": 1},
            "gate: failed: store_fact_store_Stubborn at 4k, 1 rule broken (exit status 1)",
        ),
    ],
    "recorded_extraction": [
        (
            {},
            (
                "| fact_notes:ModelNotes, own extraction | 24/26 | 6/6 | 30/30 | 30/30 | 30/30 | 30/30 | 0/5 | - |"
                " 0/4 | 0/30 | 30/32 | 2 | 0 | 0 |"
            ),
        ),
        (
            {},
            "card db51ead5e25f5a12 of fact_notes:WordNotes, fact_notes:ModelNotes holds: 20 figures recomputed",
        ),
    ],
    "library_stores": [],
    "memory_store": [({"passed": 1}, "train                1.00")],
    "langchain_agent": [({"passed": 1}, "train                1.00")],
    "langgraph_agent": [({"passed": 1}, "train                1.00")],
    "openai_agents_sdk": [({"passed": 1}, "train                1.00")],
    "pydantic_ai_agent": [({"passed": 1}, "train                1.00")],
    "judged_scenario": [
        (
            {"passed": 1, "failed": 1},
            "allotment                    0.50             1.00",
        ),
        ({}, "breach: false-pass is 25.0%, above 0.0%"),
    ],
}
"""For each command in a recipe's README: its outcomes (if it plays no built-in scenario), and a distinctive line."""

LIBRARIES = {
    "langchain_agent": "langchain_core",
    "langgraph_agent": "langgraph",
    "openai_agents_sdk": "agents",
    "pydantic_ai_agent": "pydantic_ai",
}
"""Packages that a recipe needs in addition; without them, test_library_recipes.py runs its adapter against a fake."""


def test_every_recipe_is_tested_and_listed() -> None:
    folders = {
        path.name
        for path in RECIPES.iterdir()
        if path.is_dir() and path.name[0] not in "._"
    }
    assert folders == set(EXPECTED)
    index = (RECIPES / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}]({name}/README.md)" in index for name in folders)


@pytest.mark.nightly("runs as its reader types: each has its turn within days", every=4)
@pytest.mark.parametrize("recipe", EXPECTED)
def test_the_commands_of_a_recipe_give_what_it_says(
    recipe: str, tmp_path: Path
) -> None:
    if recipe in LIBRARIES:
        pytest.importorskip(
            LIBRARIES[recipe], reason=f"{LIBRARIES[recipe]} is not installed"
        )
    folder = shutil.copytree(
        RECIPES / recipe,
        tmp_path / recipe,
        ignore=shutil.ignore_patterns("__pycache__", ".*"),
    )
    page = blocks(folder / "README.md")
    commands = [
        command
        for block in page
        if block.language == "console"
        for command, _ in block.commands()
    ]
    assert len(commands) == len(EXPECTED[recipe])
    for command, (counts, line) in zip(commands, EXPECTED[recipe], strict=True):
        output = run(command, folder)
        assert not counts or output.counts() == counts, "\n".join(output.lines)
        assert comparable(line) in output.lines, "\n".join(output.lines)


def test_an_async_agent_is_closed_at_the_end_of_its_conversation(
    tmp_path: Path,
) -> None:
    folder = shutil.copytree(RECIPES / "async_agent", tmp_path / "recipe")
    output = run("pytest -s --ltm-agent=bot:Bot test_conference.py", folder)
    assert [line for line in output.lines if "closed with" in line]


def test_weather_takes_the_place_of_the_quiz(tmp_path: Path) -> None:
    folder = shutil.copytree(RECIPES / "custom_filler", tmp_path / "recipe")
    run("pytest --ltm-agent=full --ltm-filler=weather test_ferry.py", folder)
    [journal] = folder.glob(".ltm/runs/*/full~2k~0/journal.jsonl")
    text = journal.read_text(encoding="utf-8")
    assert "Here are the weather reports of today." in text
    assert "quiz" not in text
