"""Additional figures in the reports: means by scenario, each over the examples that have the figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_folders import write_run
from sample_runs import conversation, run

from pytest_ltm.api.journal import ConversationResult, ExampleMetric, RunResult
from pytest_ltm.figures.metrics import agent_metrics, metric_lines, metrics_json
from pytest_ltm.figures.text import columns_of
from pytest_ltm.reports.html import build_report
from pytest_ltm.reports.run_markdown import run_markdown
from pytest_ltm.reports.summary import summary_json
from pytest_ltm.reports.terminal import summary_lines

FIGURES = {
    "names": [{"f1": 0.5, "recall": 1.0}, {"f1": 1.0}],
    "places": [{"f1": 0.0, "recall": 0.25, "retrieved": 1_234.0}],
}


def talk(agent: str) -> ConversationResult:
    scores = {name: [1.0] * len(rows) for name, rows in FIGURES.items()}
    held = conversation(agent, "2k", scores)
    figures = [figures for rows in FIGURES.values() for figures in rows]
    rows = tuple(
        replace(row, metrics=tuple(ExampleMetric(*item) for item in each.items()))
        for row, each in zip(held.scenarios, figures, strict=True)
    )
    return replace(held, scenarios=rows)


def two() -> RunResult:
    return run(talk("full"), talk("window_8k"))


def test_means_are_over_the_examples_that_have_the_figure() -> None:
    (one, _) = agent_metrics(two())

    assert one.names == ("f1", "recall", "retrieved")
    assert [one.text("names", name) for name in one.names] == ["0.750", "1.000*", "-"]
    assert [one.text("", name) for name in one.names] == ["0.500", "0.625*", "1,234.0"]


def test_a_column_has_one_number_of_digits() -> None:
    found = (ExampleMetric("needle_rank", 1.0), ExampleMetric("recall", 1.0))
    late = (ExampleMetric("needle_rank", 4.25), ExampleMetric("recall", 0.5))
    held = conversation("full", "2k", {"names": [1.0], "places": [1.0]})
    names, places = held.scenarios
    rows = (replace(names, metrics=found), replace(places, metrics=late))
    (metrics,) = agent_metrics(run(replace(held, scenarios=rows)))

    assert [metrics.text(row, "needle_rank") for row in ("names", "places", "")] == [
        "1.0",
        "4.2",
        "2.6",
    ]
    assert [metrics.text(row, "recall") for row in ("names", "places")] == [
        "1.000",
        "0.500",
    ]


def test_the_table_names_scenarios_examples_and_figures() -> None:
    lines = [line.split() for line in metric_lines(two(), 80, color=False)]

    assert ["full", "at", "2k"] in lines
    assert ["examples", "f1", "recall", "retrieved"] in lines
    assert ["names", "2", "0.750", "1.000*", "-"] in lines
    assert ["all", "examples", "3", "0.500", "0.625*", "1,234.0"] in lines


def test_a_long_name_stands_in_two_lines() -> None:
    held = talk("full")
    rows = tuple(
        replace(row, metrics=(ExampleMetric("recall_repaired", 0.5),))
        for row in held.scenarios
    )
    lines = [
        line.split()
        for line in metric_lines(run(replace(held, scenarios=rows)), 80, color=False)
    ]

    assert ["recall"] in lines
    assert ["examples", "repaired"] in lines


@pytest.mark.parametrize("width", [40, 60, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    held = talk("an_agent_with_quite_a_long_label_that_goes_on_and_on_and_on")
    names = [
        "f1",
        "f1_corrected",
        "ceiling",
        "abstains",
        "judge",
        "recall",
        "recall_repaired",
        "recall_sessions",
    ]
    figures = tuple(ExampleMetric(name, 0.5) for name in names)
    rows = tuple(
        replace(row, scenario=row.scenario * 9, metrics=figures)
        for row in held.scenarios
    )
    lines = metric_lines(run(replace(held, scenarios=rows)), width, color=False)

    assert max(map(columns_of, lines)) <= width
    assert all(any(name.rpartition("_")[2] in line for line in lines) for name in names)


def test_without_figures_nothing_is_said() -> None:
    assert (
        metric_lines(run(conversation("full", "2k", {"names": [1.0]})), 80, color=False)
        == []
    )


def test_the_summary_has_the_table_and_a_quiet_one_a_line() -> None:
    loud = summary_lines(two(), width=80, verbosity=0, color=False)
    quiet = summary_lines(two(), width=80, verbosity=-1, color=False)

    assert any(line.startswith("names") and "0.750" in line for line in loud)
    assert "full at 2k: f1 0.500, recall 0.625*, retrieved 1,234.0" in quiet


def test_what_a_data_set_publishes_leads_every_report(tmp_path: Path) -> None:
    said = "F1 over all questions: full at 2k 0.500, window_8k at 2k 0.500"
    runs = [replace(one, agent_spec="bot") for one in two().conversations]
    build_report(
        [write_run(tmp_path / "run", *runs, journals=False)], tmp_path / "r.html"
    )
    page = (tmp_path / "r.html").read_text(encoding="utf-8")

    assert [
        summary_lines(two(), width=80, verbosity=level, color=False)[0]
        for level in (0, -1)
    ] == [said, said]
    assert "**F1 over all questions: full at 2k 0.500, " in run_markdown(two())
    assert page.index("F1 over all questions") < page.index("judged by rules")


def test_the_json_has_means_and_counts_by_scenario() -> None:
    assert metrics_json(two(), "full", "2k")["recall"] == {
        "mean": 0.625,
        "count": 2,
        "scenarios": {
            "names": {"mean": 1.0, "count": 1},
            "places": {"mean": 0.25, "count": 1},
        },
    }
    written = summary_json(two(), pytest_ltm_version="1", seed=0, plan={})
    assert written["results"][1]["metrics"]["f1"]["mean"] == 0.5


def beside_control(*gains: tuple[float, float]) -> RunResult:
    """Return a run of one example per trial, each with a metric and its control."""
    held = []
    for trial, (high, low) in enumerate(gains):
        one = conversation("bot", "2k", {"names": [1.0]}, trial=str(trial))
        metrics = (ExampleMetric("f", high), ExampleMetric("f_control", low))
        held.append(
            replace(
                one,
                scenarios=(
                    replace(one.scenarios[0], trial=str(trial), metrics=metrics),
                ),
            )
        )
    return run(*held)


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            [(1.0, 0.0)] * 8,
            "f against its control: +1.00 (the same in all; 8 examples)",
        ),
        (
            [(0.5, 0.5)] * 8,
            "f against its control: +0.00 (the same in all; 8 examples)",
        ),
        (
            [(1.0, 0.5)],
            "f against its control: +0.50 (interval needs trials; 1 example)",
        ),
    ],
)
def test_what_a_metric_has_over_its_control_is_told_with_an_interval(
    gains: list[tuple[float, float]], said: str
) -> None:
    found = beside_control(*gains)

    assert said in metric_lines(found, 80, color=False)
    assert f"- {said}" in run_markdown(found)


def test_the_interval_of_a_contrast_is_that_of_the_paired_tests() -> None:
    gains = [
        (1.0, 0.0),
        (1.0, 0.0),
        (1.0, 1.0),
        (0.5, 0.0),
        (1.0, 0.0),
        (0.0, 0.0),
        (1.0, 0.5),
        (1.0, 0.0),
        (0.5, 1.0),
    ]
    (one,) = agent_metrics(beside_control(*gains))
    contrast = one.contrasts["f"]

    assert contrast.kind == "conversation"
    assert contrast.difference == pytest.approx(
        sum(high - low for high, low in gains) / len(gains)
    )
    assert contrast.interval is not None
    assert metrics_json(beside_control(*gains), "bot", "2k")["f"][
        "against_control"
    ] == {
        "difference": contrast.difference,
        "interval": [contrast.interval.low, contrast.interval.high],
        "examples": 9,
    }
