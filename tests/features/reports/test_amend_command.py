"""`ltm lab amend`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import sample_runs

from pytest_ltm.api.journal import CallDurations, Pace, RunResult, write_results
from pytest_ltm.commands import main
from pytest_ltm.figures.run_loading import read_run
from pytest_ltm.reports.summary import summary_json, verdicts_csv, write_summary
from pytest_ltm.reports.terminal import summary_lines

SCORES: dict[str, tuple[float | None, ...]] = {
    "colours": (0.0, 1.0),
    "jokes": (1.0, None),
}


def _held(agent: str, span: str) -> Any:
    rows = tuple(
        sample_runs.row(
            name,
            score,
            example=str(i),
            agent=agent,
            span_label=span,
            nodeid=f"ltm/{name}.py::test_{name}[{agent}-{span}-0-{i}]",
            cause="unscored" if score is None else "",
        )
        for name, column in SCORES.items()
        for i, score in enumerate(column)
    )
    return sample_runs.conversation(agent, span, {}, scenarios=rows)


def folder(tmp_path: Path, *labels: tuple[str, str]) -> Path:
    """Return a run folder as written by a run."""
    path = tmp_path / "run"
    held = tuple(_held(agent, span) for agent, span in labels)
    for one in held:
        (path / f"{one.agent}~{one.span_label}~0").mkdir(parents=True)
        write_results(path / f"{one.agent}~{one.span_label}~0" / "results.json", one)
    taken = [
        Pace(
            agent=one.agent, span_label=one.span_label, asking=CallDurations(total=2.0)
        )
        for one in held
    ]
    run = RunResult(run_id="run", conversations=held, paces=tuple(taken))
    summary = summary_json(
        run, pytest_ltm_version="0.1", seed=7, plan={}, wall_seconds=1.5
    )
    write_summary(path / "summary.json", summary)
    (path / "verdicts.csv").write_text(verdicts_csv(run))
    return path


def amend(
    path: Path, item: str, *words: str, score: str = "1", reason: str = "it is right"
) -> int:
    return main(
        ["lab", "amend", str(path), item, "--score", score, "--reason", reason, *words]
    )


def test_the_old_and_the_new_verdict_and_total_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert amend(folder(tmp_path, ("full", "2k")), "colours/0") == 0
    assert capsys.readouterr().out.splitlines() == [
        "ltm/colours.py::test_colours[full-2k-0-0]",
        "  before: 0.00: because",
        "  now:    1.00: amended by hand: it is right",
        "total of full at 2k: 1.00 to 1.50 of 2 before, now 1.50 to 2.00 of 2 (1 verdict of 4 amended by hand)",
    ]


def test_the_files_that_a_run_leaves_tell_the_amended_verdict_and_keep_the_rest(
    tmp_path: Path,
) -> None:
    path = folder(tmp_path, ("full", "2k"))
    amend(path, "colours/0")
    summary = json.loads((path / "summary.json").read_text())
    (result,) = summary["results"]
    assert (result["total"], result["amended"]) == (2.0, 1)
    assert (summary["seed"], summary["wall_seconds"], result["agent_seconds"]) == (
        7,
        1.5,
        2.0,
    )
    with (path / "verdicts.csv").open() as file:
        line = next(csv.DictReader(file))
    assert (line["ltm_score"], line["automatic_score"], line["automatic_reason"]) == (
        "1.0",
        "0.0",
        "because",
    )


def test_results_themselves_are_left_alone(tmp_path: Path) -> None:
    path = folder(tmp_path, ("full", "2k"))
    before = (path / "full~2k~0" / "results.json").read_bytes()
    amend(path, "colours/0")
    assert (path / "full~2k~0" / "results.json").read_bytes() == before


def test_an_example_that_had_no_score_gets_one(tmp_path: Path) -> None:
    path = folder(tmp_path, ("full", "2k"))
    amend(path, "jokes/1", score="0.5")
    (row,) = (row for row in read_run(path).result.scenarios if row.id == "jokes/1")
    assert (row.score, row.outcome, row.automatic and row.automatic.score) == (
        0.5,
        "failed",
        None,
    )


def test_a_second_amendment_still_shows_what_the_rules_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder(tmp_path, ("full", "2k"))
    amend(path, "colours/0")
    amend(path, "colours/0", score="0.5", reason="half of it")
    assert "  automatic: 0.00: because" in capsys.readouterr().out.splitlines()


def test_an_item_of_several_agents_is_not_guessed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder(tmp_path, ("full", "2k"), ("window_8k", "2k"))
    assert amend(path, "colours/0") == 2
    told = capsys.readouterr().err
    assert "means 2 items" in told
    assert "ltm/colours.py::test_colours[window_8k-2k-0-0]" in told
    assert not (path / "amendments.json").exists()


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("colours/0", ("--agent=window_8k", "--span=32k")),
        ("ltm/colours.py::test_colours[window_8k-32k-0-0]", ()),
    ],
)
def test_agent_and_span_or_the_node_id_choose_one(
    tmp_path: Path, item: str, words: tuple[str, ...]
) -> None:
    path = folder(tmp_path, ("full", "2k"), ("window_8k", "2k"), ("window_8k", "32k"))
    assert amend(path, item, *words) == 0
    changed = [
        row.nodeid
        for row in read_run(path).result.scenarios
        if row.automatic is not None
    ]
    assert changed == ["ltm/colours.py::test_colours[window_8k-32k-0-0]"]


def test_an_unknown_item_is_told_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert amend(folder(tmp_path, ("full", "2k")), "colors/0") == 2
    assert "Did you mean 'colours/0'?" in capsys.readouterr().err


def test_an_impossible_score_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder(tmp_path, ("full", "2k"))
    assert amend(path, "colours/0", score="2") == 2
    assert "between 0 and 1" in capsys.readouterr().err
    assert not (path / "amendments.json").exists()


def test_the_terminal_says_below_its_table_how_many_verdicts_were_amended(
    tmp_path: Path,
) -> None:
    path = folder(tmp_path, ("full", "2k"), ("window_8k", "2k"))
    shown = "amended by hand"
    assert shown not in "\n".join(
        summary_lines(read_run(path).result, width=80, verbosity=0, color=False)
    )
    amend(path, "colours/0", "--agent=full")
    lines = summary_lines(read_run(path).result, width=80, verbosity=0, color=False)
    assert any(line.startswith("1 verdict amended by hand; ") for line in lines)
    assert [line.split() for line in lines if line.startswith("amended by hand ")] == [
        ["amended", "by", "hand", "1", "0"]
    ]
    quiet = summary_lines(read_run(path).result, width=120, verbosity=-1, color=False)
    assert [shown in line for line in quiet] == [True, False]
