"""summary.json and the properties of items."""

from __future__ import annotations

import csv
import importlib.resources
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import sample_runs
from msgspec import structs
from run_folders import played
from sample_runs import row
from schemas import summary_schema

from pytest_ltm.api.journal import (
    CallDurations,
    ExampleMetric,
    FactMemory,
    MemoryResult,
    Pace,
    Precheck,
    RunResult,
)
from pytest_ltm.api.model import Mishap
from pytest_ltm.figures.figures import read_definitions
from pytest_ltm.figures.run_loading import LoadedRun
from pytest_ltm.figures.sentences import precheck_sentences
from pytest_ltm.records.amendments import Amendment, apply_amendments
from pytest_ltm.reports.html.report_data import run_origin
from pytest_ltm.reports.run_markdown import run_markdown
from pytest_ltm.reports.summary import (
    summary_checksum,
    summary_json,
    user_properties,
    verdicts_csv,
    write_summary,
)
from pytest_ltm.reports.terminal import summary_lines

ALL = (
    "ltm_score",
    "ltm_scenario",
    "ltm_example",
    "ltm_agent",
    "ltm_span",
    "ltm_trial",
    "ltm_gap",
    "ltm_told_gap",
    "ltm_tokens",
    "ltm_cost_usd",
    "ltm_skills",
)


def summary(run: RunResult) -> dict[str, Any]:
    return summary_json(
        run,
        pytest_ltm_version="0.1.0",
        seed=7,
        plan={"suite": "standard"},
        wall_seconds=1.5,
    )


def test_properties_are_the_contract_in_builtin_types() -> None:
    properties = user_properties(
        row("colours", 0.5, gap=812, cost_usd=0.25, questions=played().questions)
    )

    assert tuple(name for name, _ in properties) == ALL
    assert {type(value) for _, value in properties} <= {str, int, float}
    assert dict(properties)["ltm_span"] == "2k"


def test_what_there_is_not_is_absent_and_zero_is_there() -> None:
    absent = {name for name, _ in user_properties(row("colours", None))}

    assert not absent & {"ltm_score", "ltm_gap", "ltm_cost_usd"}
    assert dict(user_properties(row("colours", 0.0)))["ltm_score"] == 0.0


def test_results_hold_totals_with_spread_for_each_agent_and_span() -> None:
    results = summary(sample_runs.grid())["results"]

    assert [(result["agent"], result["span_label"]) for result in results] == [
        (agent, span)
        for agent in ("full", "window_8k")
        for span in ("2k", "32k", "120k")
    ]
    middle = results[4]
    assert middle["total"] == pytest.approx(3 * (1 / 3 + 0 + 0.5) / 3)
    assert middle["spread"]["sd"] == pytest.approx((3 * 0.0432) ** 0.5, rel=0.1)
    assert middle["spread"]["low"] < middle["total"] < middle["spread"]["high"]
    assert middle["scenarios"]["jokes"] == {
        "mean": pytest.approx(5 / 18),
        "scored": 3,
        "examples": 3,
    }


def test_without_any_score_there_is_no_total() -> None:
    lost = summary(sample_runs.gaps())["results"][1]

    assert (lost["total"], lost["accuracy"], lost["out_of"], lost["unscored"]) == (
        None,
        None,
        0,
        3,
    )


def test_every_example_has_its_properties_outcome_and_reason() -> None:
    examples = summary(sample_runs.gaps())["conversations"][1]["examples"]

    assert [
        (example["outcome"], example["cause"], "ltm_score" in example)
        for example in examples
    ] == [
        ("error", "agent", False),
        ("error", "agent", False),
        ("skipped", "not reached", False),
    ]
    assert examples[0]["ltm_scenario"] == "colours"
    assert examples[0]["reason"] == "no reply within 300 s to #12"


def test_every_metric_named_is_in_the_summary() -> None:
    held = amended().conversations[0]
    did = MemoryResult(facts=(FactMemory(needle=1, value="ochre", lag=0),))
    rows = tuple(
        replace(row, user_calls=1, floor=0.1, upper=1.0, memory=did)
        for row in held.scenarios
    )
    voiced = replace(
        held,
        asked_together=1,
        scenarios=rows,
        mishaps=(Mishap("notebooks unreadable", 1, 3),),
    )
    taken = CallDurations(total=2.0, median=0.5, p95=1.0)
    pace = Pace(
        agent=voiced.agent,
        span_label=voiced.span_label,
        asking=taken,
        storing=taken,
        settling=taken,
    )
    text = json.dumps(
        {**summary(sample_runs.run(voiced, paces=(pace,))), "metrics": {}}
    ) + json.dumps(user_properties(row("a", 1.0, gap=1, upper=1.0)))

    assert [name for name in read_definitions() if f'"{name}"' not in text] == []


def test_a_written_summary_reads_back_and_says_how_it_was_made(tmp_path: Path) -> None:
    write_summary(tmp_path / "summary.json", summary(sample_runs.gaps()))

    read = json.loads((tmp_path / "summary.json").read_bytes())

    checksum = summary_checksum(read)
    assert read == {**summary(sample_runs.gaps()), "sum": checksum}
    assert (read["seed"], read["plan"], read["wall_seconds"]) == (
        7,
        {"suite": "standard"},
        1.5,
    )


def amended() -> RunResult:
    """Return a run with one verdict corrected by hand."""
    run = sample_runs.grid()
    return apply_amendments(
        run, {run.scenarios[0].nodeid: Amendment(score=0.25, reason="it guessed")}
    )


def test_an_amended_example_keeps_the_verdict_of_the_rules() -> None:
    results = summary(amended())
    changed = [
        one for one in results["conversations"][0]["examples"] if "automatic" in one
    ]
    assert [one["automatic"] for one in changed] == [
        {"score": 1.0, "reason": "r", "outcome": "passed"}
    ] * len(changed)
    assert results["results"][0]["amended"] == len(changed) > 0
    assert summary(sample_runs.grid())["results"][0]["amended"] == 0


def schema() -> dict[str, Any]:
    text = (
        importlib.resources.files("pytest_ltm.reports")
        .joinpath("summary.schema.json")
        .read_text("utf-8")
    )
    read: dict[str, Any] = json.loads(text)
    return read


def test_the_schema_in_the_package_has_the_figures_as_they_are() -> None:
    assert schema() == summary_schema(), "run python tests/golden/refresh.py schema"


def measured() -> RunResult:
    """Return a run with additional figures, as recorded by data sets."""
    run = sample_runs.grid()
    (first, *others), figures = (
        run.conversations,
        (ExampleMetric("f1", 0.25), ExampleMetric("recall.at 5", 1.0)),
    )
    rows = tuple(replace(row, metrics=figures) for row in first.scenarios)
    return structs.replace(run, conversations=(replace(first, scenarios=rows), *others))


PRECHECKS = (
    Precheck(kind="probe", of="full", verdict="clean", calls=5, tokens=1_066),
    Precheck(
        kind="probe", of="other", verdict="unfinished", calls=1, tokens=9, cost_usd=0.5
    ),
    Precheck(kind="probe", of="me", verdict="skipped", why="it is a person"),
    Precheck(
        kind="canaries",
        of="rules (answer/1)",
        verdict="right",
        calls=3,
        tokens=812,
        cost_usd=0.0123,
    ),
)


def prechecked() -> RunResult:
    """Return a run with a probe of its agents and a check of its judge before it."""
    return structs.replace(sample_runs.grid(), prechecks=PRECHECKS)


def test_what_was_asked_before_the_run_has_a_key_and_the_same_sentences_everywhere() -> (
    None
):
    run = prechecked()
    assert summary(run)["prechecks"][3] == {
        "kind": "canaries",
        "of": "rules (answer/1)",
        "verdict": "right",
        "why": "",
        "calls": 3,
        "tokens": 812,
        "cost_usd": 0.0123,
    }
    sentences = [
        "isolation probe of 'full': nothing leaks between conversations (5 messages, 1,066 tokens)",
        "isolation probe of 'other': it was cut off (1 message, 9 tokens, $0.5000)",
        "isolation probe of 'me': skipped: it is a person",
        "judge's canaries: all were graded right (3 calls, 812 tokens, $0.0123)",
    ]
    assert precheck_sentences(run) == sentences
    printed = "\n".join(summary_lines(run, width=200, verbosity=0, color=False))
    pages = (
        printed,
        run_markdown(run).replace("\\", ""),
        "\n".join(run_origin(LoadedRun.from_results(run)).notices),
    )
    assert [
        sentence for page in pages for sentence in sentences if sentence not in page
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        sample_runs.one,
        sample_runs.grid,
        sample_runs.floors,
        sample_runs.gaps,
        amended,
        measured,
        prechecked,
    ],
)
def test_the_published_schema_is_true_of_summaries(make: Any) -> None:
    jsonschema.Draft202012Validator(schema()).validate(
        json.loads(json.dumps(summary(make())))
    )


def test_what_guessing_earns_stands_beside_totals_where_it_is_anything() -> None:
    kept, lost = (summary(sample_runs.floors())["results"][place] for place in (0, 3))
    assert kept["floor"] == lost["floor"] == pytest.approx(0.5)
    assert lost["scenarios"]["sally_anne"]["floor"] == pytest.approx(1 / 3)
    assert "floor" not in lost["scenarios"]["colours"]
    assert "floor" not in summary(sample_runs.grid())["results"][0]
    page = run_markdown(sample_runs.floors())
    assert "| full at 2k | 2.25 to 2.75 of 3 | 0.50 |" in page
    assert "0.33≤" in page
    assert "without memory" not in run_markdown(sample_runs.grid())


def test_the_schema_notices_a_field_that_it_does_not_know() -> None:
    broken = summary(sample_runs.one()) | {"surprise": 1}
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        jsonschema.Draft202012Validator(schema()).validate(broken)


def test_every_verdict_is_a_line_of_the_csv() -> None:
    run = sample_runs.gaps()
    lines = list(csv.DictReader(io.StringIO(verdicts_csv(run))))
    assert [(line["ltm_scenario"], line["ltm_example"]) for line in lines] == [
        (row.scenario, row.example) for row in run.scenarios
    ]
    assert [line["ltm_score"] for line in lines] == [
        "" if row.score is None else str(row.score) for row in run.scenarios
    ]


def test_no_cell_of_the_csv_is_a_formula() -> None:
    run = sample_runs.run(
        sample_runs.conversation(
            "full", "2k", {}, scenarios=(row("colours", 0.0, reason='=HYPERLINK("x")'),)
        )
    )
    (line,) = csv.DictReader(io.StringIO(verdicts_csv(run)))
    assert line["reason"].startswith("'=")


def test_speed_is_told_where_timings_are_known() -> None:
    pace = Pace(
        agent="full",
        span_label="2k",
        asking=CallDurations(total=2.0, median=0.5, p95=1.0),
    )
    (result,) = summary(structs.replace(sample_runs.one(), paces=(pace,)))["results"]
    assert result["tests_an_hour"] == result["examples"] * 1800
    assert result["reply_seconds"] == {"median": 0.5, "p95": 1.0}
    assert summary(sample_runs.one())["results"][0]["tests_an_hour"] is None
