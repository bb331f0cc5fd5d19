"""`ltm compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from gate_sides import FULL, WORSE, held, side

from pytest_ltm.api.journal import write_results
from pytest_ltm.commands import main
from pytest_ltm.gate.sides import save_baseline


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two baselines, as working directory."""
    monkeypatch.chdir(tmp_path)
    save_baseline(
        side(held(FULL), held(FULL, span="32k")),
        "main",
        tmp_path / "ltm_baselines",
        "0.1",
    )
    save_baseline(
        side(held(FULL), held(WORSE, span="32k")),
        "worse",
        tmp_path / "ltm_baselines",
        "0.1",
    )
    return tmp_path


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("main", "main", "--compare-fail=mean:0"), 0),
        (("main", "worse"), 0),
        (("main", "worse", "--compare-fail=mean:5%"), 1),
        (("main", "main", "worse", "--compare-fail=mean:5%"), 1),
        (("worse", "main", "--compare-fail=mean:5%", "--compare-fail=pass_rate:0"), 0),
        (("main", "worse", "--fail-under=0.6"), 1),
        (("main", "worse", "--compare-fail=cost:5%"), 75),
        (
            (
                "main",
                "worse",
                "main",
                "--compare-fail=cost:5%",
                "--compare-fail=mean:5%",
            ),
            1,
        ),
        (("main", "worse", "--compare-fail=meen:5%"), 2),
        (("main", "absent"), 2),
    ],
)
@pytest.mark.usefixtures("kept")
def test_the_exit_status_is_that_of_the_gate(
    words: tuple[str, ...], status: int
) -> None:
    assert main(["compare", *words]) == status


@pytest.mark.usefixtures("kept")
def test_the_table_fits_into_80_columns_and_says_what_moved(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["compare", "main", "worse", "--compare-fail=mean:5%"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    cells = [line.split() for line in lines]
    assert ["mybot", "at", "2k", "0.88", "0.88", "0", "-"] in cells
    assert ["colours", "1.00", "0.00", "-1.00", "-"] in cells
    assert "gate: regressed: mybot at 32k, 1 rule broken (exit status 1)" in lines


def test_later_sides_share_the_limit_of_a_rule_about_chance(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad = (
        {"colours": (1.0,), "jokes": (1.0,)},
        {"colours": (0.0,), "jokes": (1.0,)},
    )
    for name, scores in (("good", good), ("bad", bad)):
        save_baseline(
            side(*(held(scores, trial=str(n)) for n in range(8))),
            name,
            kept / "ltm_baselines",
            "0.1",
        )
    assert main(["compare", "good", "bad", "--compare-fail=p:0.004"]) == 1
    assert main(["compare", "good", "bad", "--compare-fail=p:0.01"]) == 1
    capsys.readouterr()
    assert (
        main(["compare", "good", "bad", "good", "good", "--compare-fail=p:0.015"]) == 1
    )
    assert "one of 3 comparisons" in capsys.readouterr().out


@pytest.mark.usefixtures("kept")
def test_json_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    main(["compare", "main", "worse", "main", "--compare-fail=mean:5%", "--json"])
    first, second = json.loads(capsys.readouterr().out)
    assert (first["gate"]["state"], second["gate"]["state"]) == ("failed", "passed")
    assert main(["compare", "main", "worse", "--markdown"]) == 0
    assert "| colours | 1.00 | 0.00 | -1.00 |" in capsys.readouterr().out


def test_run_folders_are_compared_too_and_agents_by_name(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, (conversation, _) in enumerate(
        (held(FULL, agent="a"), held(WORSE, agent="b"))
    ):
        folder = kept / ".ltm" / "runs" / "r1" / str(number)
        folder.mkdir(parents=True)
        write_results(folder / "results.json", conversation)
    assert main(["compare", "r1", "r1"]) == 2
    assert (
        "has several agents: a, b. Name one as in RUN@AGENT" in capsys.readouterr().err
    )
    assert main(["compare", "r1@a", "r1@b", "--compare-fail=mean:5%"]) == 1
    told = capsys.readouterr().out
    assert "b of run r1 against a of run r1" in told
    assert "Compared with a of run r1; p:" in told
    assert "b at 2k is worse than a of run r1 by" in told


def test_the_agent_of_a_baseline_is_told_though_its_label_is_in_the_name(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "later"):
        save_baseline(side(held(WORSE, agent="a")), name, kept / "ltm_baselines", "0.1")
    assert main(["compare", "later", "first"]) == 0
    assert "Compared with baseline 'later' (agent a); p:" in capsys.readouterr().out


def test_the_span_is_shown_of_an_agent_with_a_long_name(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = "memory_rules_preset_memgpt_paper"
    save_baseline(side(held(WORSE, agent=label)), "long", kept / "ltm_baselines", "0.1")
    assert main(["compare", "main", "long"]) == 0
    assert "\nmemory_rules_preset_mem… at 2k " in capsys.readouterr().out


def test_plans_that_differ_are_refused_unless_the_common_part_is_asked_for(
    kept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_baseline(
        side(held({**FULL, "names": (1.0,)})), "more", kept / "ltm_baselines", "0.1"
    )
    assert main(["compare", "main", "more"]) == 2
    assert "only in this run: names/0" in capsys.readouterr().err
    assert main(["compare", "main", "more", "--plans=overlapping"]) == 0
    assert "only the examples equal in both are compared" in " ".join(
        capsys.readouterr().out.split()
    )


def test_in_a_ci_job_the_comparison_becomes_a_summary_and_annotations(
    kept: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(kept / "step.md"))
    main(["compare", "main", "worse", "--compare-fail=mean:5%", "--json"])
    said = capsys.readouterr()
    assert json.loads(said.out)
    assert said.err.startswith(
        "::error title=long-term memory%3A mean%3A5%25::mybot at 32k: "
    )
    assert "| colours | 1.00 | 0.00 | -1.00 |" in (kept / "step.md").read_text()
