"""Settings in a suite file for the whole run: span, seed, filler, opening and resets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

NAME = "own.ltm-suite.yml"
SUITE = """
span: [800, 1k]
seed: 7
filler: trivia
opening: Hello, this will take a while.
reset: Forget that.
scenarios:
  - colours
  - {scenario: names, reset: ""}
"""
RUN = ("--ltm-agent=full", f"--ltm-suite={NAME}")


def _plans(run: Path) -> dict[str, Any]:
    return {
        path.parent.name: json.loads(path.read_text("utf-8"))
        for path in sorted(run.glob("*/plan.json"))
    }


def _header(run: Path, conversation: str) -> Any:
    return json.loads(
        (run / conversation / "journal.jsonl").read_text("utf-8").splitlines()[0]
    )


def test_a_suite_file_decides_span_seed_filler_opening_and_resets(
    project: Project,
) -> None:
    project.file(SUITE, NAME)
    run = project.pytest(*RUN)
    run.assert_outcomes(passed=4)
    run.stdout.fnmatch_lines(
        [
            "ltm: memory spans (tokens): 800, 1k; suite: own",
            "ltm: seed: 7; *filler: trivia",
            f"ltm: set by {NAME}: span (line 2), seed (line 3), filler (line 4), opening (line 5)",
        ]
    )
    plans = _plans(latest_run(project.path))
    assert list(plans) == ["full~1k~0", "full~800~0"]
    plan = plans["full~1k~0"]
    assert (plan["span"], plan["seed"], plan["opening"]) == (
        1000,
        7,
        "Hello, this will take a while.",
    )
    assert {example["scenario"]: example["reset"] for example in plan["examples"]} == {
        "colours": "Forget that.",
        "names": "",
    }
    journal = (latest_run(project.path) / "full~1k~0" / "journal.jsonl").read_text(
        "utf-8"
    )
    assert journal.count('"kind":"reset"') == 1
    assert journal.count('"text":"Hello, this will take a while."') == 1


def test_what_an_entry_says_wins_over_the_scenario_and_rivals_are_added(
    project: Project,
) -> None:
    maxim = "{scenario: how_to_think, name: maxim, floor: 0.5, examples: 2}"
    project.file(
        f"scenarios: [{maxim}, {{scenario: names, incompatible: [colours]}}, colours]\n",
        NAME,
    )
    project.pytest(*RUN, "--ltm-span=800")
    (results,) = latest_run(project.path).glob("*/results.json")
    rows = {
        row["scenario"]: row
        for row in json.loads(results.read_text("utf-8"))["scenarios"]
    }
    assert rows["maxim"]["floor"] == 0.5
    (plan,) = _plans(latest_run(project.path)).values()
    rivals = {
        example["scenario"]: set(example["incompatible"])
        for example in plan["examples"]
    }
    assert rivals["names"] == {"name_list", "colours"}
    assert [example["scenario"] for example in plan["examples"]].count("maxim") == 2


def test_the_command_line_wins_over_the_suite_file_and_that_over_the_ini_file(
    project: Project,
) -> None:
    project.file(SUITE, NAME)
    project.file(
        "[pytest]\nltm_span = 5k\nltm_seed = 1\nltm_filler = mixed\n", "pytest.ini"
    )
    run = project.pytest(*RUN, "--ltm-span=900", "--ltm-filler=varied")
    run.stdout.fnmatch_lines(
        [
            "ltm: memory spans (tokens): 900; suite: own",
            "ltm: seed: 7",
            f"ltm: set by {NAME}: span (line 2, but the command line wins), seed (line 3), filler (line 4, but *",
        ]
    )
    assert list(_plans(latest_run(project.path))) == ["full~900~0"]


def test_an_ini_value_holds_where_the_suite_file_says_nothing(project: Project) -> None:
    project.file("scenarios: [colours]\n", NAME)
    project.file("[pytest]\nltm_span = 900\nltm_seed = 4\n", "pytest.ini")
    run = project.pytest(*RUN)
    run.stdout.fnmatch_lines(
        ["ltm: memory spans (tokens): 900; suite: own", "ltm: seed: 4"]
    )
    run.stdout.no_fnmatch_line("ltm: set by *")


def test_a_setting_of_the_suite_file_gives_the_plan_of_the_same_option(
    project: Project,
) -> None:
    project.file("span: 1k\nseed: 5\nfiller: trivia\nscenarios: [colours]\n", NAME)
    project.pytest(*RUN)
    by_file = _header(latest_run(project.path), "full~1k~0")["plan_fingerprint"]
    project.file("scenarios: [colours]\n", NAME)
    project.pytest(*RUN, "--ltm-span=1k", "--ltm-seed=5", "--ltm-filler=trivia")
    assert _header(latest_run(project.path), "full~1k~0")["plan_fingerprint"] == by_file
    project.file("opening: Hi.\nscenarios: [colours]\n", NAME)
    project.pytest(*RUN, "--ltm-span=1k", "--ltm-seed=5", "--ltm-filler=trivia")
    assert _header(latest_run(project.path), "full~1k~0")["plan_fingerprint"] != by_file


def test_a_suite_may_be_isolated_and_begins_without_an_opening_then(
    project: Project,
) -> None:
    project.file(
        "span: isolated\nopening: Hello there.\nscenarios: [colours, names]\n", NAME
    )
    project.pytest(*RUN).assert_outcomes(passed=2)
    plans = _plans(latest_run(project.path))
    assert list(plans) == ["full~isolated~0.colours_0", "full~isolated~0.names_0"]
    assert {plan["opening"] for plan in plans.values()} == {""}


def test_a_file_of_filler_lies_beside_the_suite_file(project: Project) -> None:
    facts = [
        {"Question": f"What is number {n}?", "AnswerValue": f"It is {n}"}
        for n in range(9)
    ]
    project.file(json.dumps({"Data": facts}), "suites/facts.json")
    project.file(
        "span: 800\nfiller: trivia:facts.json\nscenarios: [colours]\n", f"suites/{NAME}"
    )
    run = project.pytest("--ltm-agent=full", f"--ltm-suite=suites/{NAME}")
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines(["*filler: trivia:suites/facts.json"])


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (
            "filler: nonsense",
            "own.ltm-suite.yml:1: filler: unknown filler 'nonsense'.*Known: varied, letters, trivia*",
        ),
        ("filler: trivia:no.json", "own.ltm-suite.yml:1: filler: *no.json*"),
        ('seed: "7"', "own.ltm-suite.yml:1: seed: expected a whole number, got '7'."),
        (
            "span: long",
            "own.ltm-suite.yml:1: span: expected a memory span such as 32k or isolated, or a list, got*",
        ),
        (
            "span: 2k,32k",
            "own.ltm-suite.yml:1: span: expected a memory span such as 32k or isolated, or a list, got*",
        ),
        (
            "span: [2k, 2000]",
            "own.ltm-suite.yml:1: span[[]1]: the span 2000 is given twice.",
        ),
        (
            "span: 0",
            "own.ltm-suite.yml:1: span: expected a whole number of at least 1, got 0.",
        ),
        (
            "opening: [Hello]",
            'own.ltm-suite.yml:1: opening: expected a message, or "" for none, got*',
        ),
        (
            "reset: {colors: Forget it.}",
            'own.ltm-suite.yml:1: reset: expected a message, or "" for none, got*',
        ),
    ],
)
def test_a_setting_that_cannot_be_used_ends_the_run_before_anything_is_asked(
    project: Project, said: str, sentence: str
) -> None:
    project.file(f"{said}\nscenarios: [colours]\n", NAME)
    refused = project.pytest(*RUN)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines([f"*{sentence}*"])
    assert not (project.path / ".ltm").exists()


def test_two_suites_on_one_command_line_are_refused(project: Project) -> None:
    project.file(SUITE, NAME)
    refused = project.pytest(*RUN, "--ltm-suite", "standard")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        [f"*--ltm-suite: a run has one suite, *here are {NAME} and standard. *"]
    )
    project.pytest(*RUN, f"--ltm-suite={NAME}").assert_outcomes(passed=4)


def test_a_suite_of_the_ini_options_gives_way_to_that_of_the_command_line(
    project: Project,
) -> None:
    project.file(SUITE, NAME)
    project.file("[pytest]\naddopts = --ltm-suite=standard\n", "pytest.ini")
    project.pytest(*RUN).assert_outcomes(passed=4)


def test_workers_dry_runs_and_shards_have_the_settings_of_the_suite_file(
    project: Project,
) -> None:
    project.file(SUITE, NAME)
    project.pytest(*RUN, "-n2").assert_outcomes(passed=4)
    plans = _plans(latest_run(project.path))
    assert {
        name: (plan["seed"], plan["opening"][:5]) for name, plan in plans.items()
    } == {
        "full~1k~0": (7, "Hello"),
        "full~800~0": (7, "Hello"),
    }
    rehearsed = project.pytest(*RUN, "--ltm-dry-run")
    rehearsed.stdout.fnmatch_lines(
        ["ltm: memory spans (tokens): 800, 1k; *", "ltm: set by own.ltm-suite.yml: *"]
    )
    shares = [project.pytest(*RUN, f"--ltm-shard={n}/2") for n in (1, 2)]
    for share in shares:
        share.assert_outcomes(passed=2, deselected=2)


def test_a_run_is_resumed_and_scored_again_with_the_settings_of_its_suite_file(
    project: Project,
) -> None:
    project.file(SUITE, NAME)
    project.pytest("--ltm-agent=silent", f"--ltm-suite={NAME}", "-x").assert_outcomes(
        failed=1
    )
    project.pytest("--ltm-resume=latest").assert_outcomes(failed=4)
    again = project.pytest("--ltm-rescore=latest")
    again.assert_outcomes(failed=4)
    again.stdout.fnmatch_lines(["scored again: *4 verdicts unchanged, 0 moved"])


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("seed: 7", "seed: 8", "seed was 7 and is 8."),
        ("[800, 1k]", "1k", "spans was *800* and is *"),
        ("filler: trivia", "filler: mixed", "filler was 'trivia' and is 'mixed'."),
        ("Hello, this", "Well, this", "*The plan's opening is 'Hello, this*"),
        ("Forget that.", "Drop it.", "*colours/0 has another reset*"),
    ],
)
def test_a_run_is_not_resumed_after_its_suite_file_was_edited(
    project: Project, before: str, after: str, sentence: str
) -> None:
    project.file(SUITE, NAME)
    project.pytest(*RUN)
    journals = [
        path.read_bytes()
        for path in sorted(latest_run(project.path).glob("*/journal.jsonl"))
    ]
    project.file(SUITE.replace(before, after), NAME)
    refused = project.pytest("--ltm-resume=latest")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*cannot be resumed:", f"*{sentence}*", "The record is unchanged*"]
    )
    assert [
        path.read_bytes()
        for path in sorted(latest_run(project.path).glob("*/journal.jsonl"))
    ] == journals


def test_an_entry_is_not_played_below_its_least_span_and_a_note_says_so(
    project: Project,
) -> None:
    project.file(
        "name: own\nscenarios:\n  - colours\n  - {scenario: jokes, least_span: 1k}\n",
        "own.ltm-suite.yml",
    )

    result = project.pytest(
        "--ltm-agent=full", "--ltm-suite=own.ltm-suite.yml", "--ltm-span=500,1k"
    )

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["note: jokes needs a memory span of 1,000 tokens or more: not played at 500"]
    )
