"""Baselines: small files that people read in diffs, and that may come from untrusted sources."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gate_sides import FULL, WAYS, WORSE, held, side
from msgspec import structs

from pytest_ltm.api.storage import ConfigurationError, LtmError
from pytest_ltm.gate.baseline import baseline_text, check_name, load_baseline
from pytest_ltm.gate.changes import GateSide, compare_sides
from pytest_ltm.gate.plan_facts import unequal_plans, value_or_digest
from pytest_ltm.gate.sides import find_side, save_baseline

MIXED = {**FULL, "spy": (None, 1 / 3)}


def several() -> GateSide:
    """Two spans, two trials, and an example without a score."""
    return side(
        *(
            held(MIXED, span=span, trial=trial)
            for span in ("2k", "32k")
            for trial in ("0", "1")
        )
    )


def test_a_baseline_holds_all_that_a_comparison_needs(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text(baseline_text(several(), "0.1"))
    kept = load_baseline(tmp_path / "main.json")
    for before, after in ((kept, several()), (several(), kept)):
        found = compare_sides(before, after, WAYS)
        assert [change.label for change in found.changes] == [
            "mybot at 2k",
            "mybot at 32k",
        ]
        assert all(
            change.is_identical and not change.partial for change in found.changes
        )
        assert all(
            change.only_before == change.only_after == 0 for change in found.changes
        )


def test_equal_results_give_equal_files_in_whatever_order_they_come(
    tmp_path: Path,
) -> None:
    one = several()
    backwards = tuple(
        replace(conversation, scenarios=conversation.scenarios[::-1])
        for conversation in reversed(one.result.conversations)
    )
    other = structs.replace(
        one,
        result=structs.replace(one.result, conversations=backwards, run_id="other"),
        plans=one.plans[::-1],
    )
    assert baseline_text(one, "0.1") == baseline_text(other, "0.1")
    (tmp_path / "a.json").write_text(baseline_text(one, "0.1"))
    assert baseline_text(load_baseline(tmp_path / "a.json"), "0.1") == baseline_text(
        one, "0.1"
    )


def test_a_baseline_has_one_row_a_line_sorted_and_changes_only_where_a_result_does() -> (
    None
):
    one = baseline_text(side(held(FULL)), "0.1").splitlines()
    rows = [
        json.loads(line.rstrip(","))
        for line in one
        if line.startswith('  {"scenario"') and '"score"' in line
    ]
    assert [(row["scenario"], row["example"], row["score"]) for row in rows] == [
        ("colours", "0", 1.0),
        ("colours", "1", 1.0),
        ("jokes", "0", 1.0),
        ("jokes", "1", 0.5),
        ("spy", "0", 1.0),
        ("spy", "1", 0.75),
    ]
    other = baseline_text(
        side(held({**FULL, "jokes": (1.0, 0.25)})), "0.1"
    ).splitlines()
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1


def test_the_rows_of_an_example_follow_its_spans_from_the_shortest() -> None:
    spans = ("120k", "isolated", "2k", "32k")
    text = baseline_text(
        side(*(held({"spy": (1.0,)}, span=span) for span in spans)), "0.1"
    )
    assert [row["span"] for row in json.loads(text)["rows"]] == [
        "isolated",
        "2k",
        "32k",
        "120k",
    ]


def test_a_file_is_ascii_and_holds_no_number_that_json_has_not() -> None:
    assert baseline_text(side(held(FULL, agent="b\u00f6t\ud800")), "0.1").isascii()
    with pytest.raises(ValueError, match="JSON"):
        baseline_text(side(held(FULL, cost_usd=float("nan"))), "0.1")


def test_spans_are_told_from_the_shortest_isolated_first() -> None:
    assert side(
        *(held(FULL, span=span) for span in ("120k", "2k", "isolated", "32k"))
    ).spans == (
        "isolated",
        "2k",
        "32k",
        "120k",
    )


@pytest.mark.parametrize(("letters", "kept"), [(78, True), (79, False)])
def test_a_setting_of_more_than_eighty_characters_is_kept_as_a_digest(
    letters: int, kept: bool
) -> None:
    value = "x" * letters  # plus two quotation marks
    assert (value_or_digest(value) == value) is kept
    assert str(value_or_digest([value, value])).startswith("sha256:")
    assert value_or_digest({"a": value, "b": value}) == value_or_digest(
        {"b": value, "a": value}
    )


def test_where_settings_differ_no_example_is_equal() -> None:
    found = unequal_plans(
        side(held(FULL)).plans, side(held(FULL, plan={"seed": 1})).plans
    )
    assert found is not None
    assert (found.same, found.of, found.changed) == (0, 6, ())
    other = unequal_plans(
        side(held(FULL)).plans, side(held(FULL, versions={"spy": "2"})).plans
    )
    assert other is not None
    assert (other.same, other.of, other.changed) == (4, 6, ("spy/0", "spy/1"))


def test_a_score_at_the_threshold_has_passed_when_it_is_read_back(
    tmp_path: Path,
) -> None:
    conversation, facts = held({"spy": (0.6, 0.59, 1.0)})
    facts = structs.replace(
        facts,
        examples={
            key: {**one, "threshold": 0.6} for key, one in facts.examples.items()
        },
    )
    (tmp_path / "main.json").write_text(
        baseline_text(side((conversation, facts)), "0.1")
    )
    rows = load_baseline(tmp_path / "main.json").result.conversations[0].scenarios
    assert [(row.score, row.threshold, row.outcome) for row in rows] == [
        (0.6, 0.6, "passed"),
        (0.59, 0.6, "failed"),
        (1.0, 0.6, "passed"),
    ]


def test_what_differs_from_the_baseline_is_told_by_span_then_trial() -> None:
    places = [("32k", "10"), ("2k", "10"), ("32k", "2"), ("2k", "2")]
    sides = [
        side(
            *(
                held(FULL, span=span, trial=trial, plan={"seed": seed})
                for span, trial in places
            )
        )
        for seed in (0, 1)
    ]
    found = unequal_plans(sides[0].plans, sides[1].plans)
    assert found is not None
    assert found.places == (("2k", "2"), ("2k", "10"), ("32k", "2"), ("32k", "10"))


def test_only_the_first_four_trials_are_named_where_nothing_can_be_compared() -> None:
    many = side(*(held(FULL, trial=str(n)) for n in range(5)))
    with pytest.raises(
        ConfigurationError,
        match=r"spans 2k \(trials 0, 1, 2, 3 …\), this run .* 32k \(trials 0\)",
    ):
        compare_sides(many, side(held(FULL, span="32k")), WAYS)
    four = side(*(held(FULL, trial=str(n)) for n in range(4)))
    with pytest.raises(ConfigurationError, match=r"trials 0, 1, 2, 3\)"):
        compare_sides(four, side(held(FULL, span="32k")), WAYS)


def test_two_results_of_one_place_are_kept_apart_where_isolated_variants_share_it(
    tmp_path: Path,
) -> None:
    parts = [
        held({name: (1.0,)}, span="isolated", trial="0.x_0") for name in ("x.a", "x.b")
    ]
    (tmp_path / "iso.json").write_text(baseline_text(side(*parts), "0.1"))
    found = compare_sides(load_baseline(tmp_path / "iso.json"), side(*parts), WAYS)
    assert sorted(found.changes[0].levels) == ["x.a", "x.b"]
    assert found.changes[0].only_before == found.changes[0].only_after == 0


def test_a_refused_baseline_still_says_in_what_it_differs(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text(baseline_text(side(held(FULL)), "0.1"))
    kept = load_baseline(tmp_path / "main.json")
    with pytest.raises(
        ConfigurationError,
        match="the tokenizer is 'cl100k_base' there and 'o200k_base' in this run",
    ):
        compare_sides(kept, side(held(FULL, plan={"tokenizer": "o200k_base"})), WAYS)
    with pytest.raises(
        ConfigurationError, match=r"jokes \(2 examples\): version differs"
    ):
        compare_sides(kept, side(held(FULL, versions={"jokes": "2"})), WAYS)


@pytest.mark.parametrize("name", ["main", "release-1.2", "a_b", "0"])
def test_names_of_baselines(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "latest",
        "-x",
        ".hidden",
        "a b",
        "é",
        "x" * 101,
        "a\n",
    ],
)
def test_a_name_that_is_a_path_or_a_word_of_ours_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot name a baseline"):
        check_name(name)


def test_saving_says_whether_something_was_there(tmp_path: Path) -> None:
    folder = tmp_path / "ltm_baselines"
    assert (
        save_baseline(side(held(FULL)), "main", folder, "0.1")
        == f"baseline saved: {folder / 'main.json'}"
    )
    assert save_baseline(side(held(FULL)), "main", folder, "0.1").startswith(
        "baseline unchanged: "
    )
    assert save_baseline(side(held(WORSE)), "main", folder, "0.1").startswith(
        "baseline overwritten: "
    )


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LtmError, match=r"main\.json: cannot be written"):
        save_baseline(side(held(FULL)), "main", tmp_path / "file", "0.1")


def test_what_is_not_there_is_told_with_what_is(tmp_path: Path) -> None:
    save_baseline(side(held(FULL)), "main", tmp_path / "b", "0.1")
    with pytest.raises(
        ConfigurationError,
        match=r"no baseline, file or run 'mian'. Did you mean 'main'\? Baselines: main",
    ):
        find_side("mian", tmp_path / "b", tmp_path / ".ltm")
    with pytest.raises(ConfigurationError, match="There are no baselines yet"):
        find_side("main", tmp_path / "none", tmp_path / ".ltm")


def test_one_agent_of_several_is_named_after_an_at_sign(tmp_path: Path) -> None:
    save_baseline(side(held(FULL)), "main", tmp_path, "0.1")
    assert find_side("main@mybot", tmp_path, tmp_path)[0].agents == ("mybot",)
    with pytest.raises(ConfigurationError, match="has no agent 'other'"):
        find_side("main@other", tmp_path, tmp_path)


# --- untrusted files


def broken(change: Any) -> str:
    """Return the text of a baseline after a change to its data."""
    data = json.loads(baseline_text(side(held(FULL)), "0.1"))
    change(data)
    return json.dumps(data)


ROW = {"scenario": "colours", "example": "0", "span": "2k", "trial": "0", "score": None}


def _set(*path: Any, to: Any) -> Any:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = to

    return change


def _drop(*path: Any) -> Any:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not a baseline"),
        ("[1, 2", "not a baseline"),
        ("[]", "format None"),
        ("null", "format None"),
        ("[" * 100_000, "not a baseline"),
        ('{"format": "pytest-ltm summary 2"}', "name the run's folder"),
        (
            broken(_set("format", to="pytest-ltm baseline 1")),
            "format 'pytest-ltm baseline 1', expected",
        ),
        (broken(_drop("rows")), "the field 'rows' is missing"),
        (broken(_set("rows", to={})), "rows: expected a list of rows"),
        (broken(_set("rows", 2, to=7)), "rows[2]: expected a mapping"),
        (
            broken(_set("rows", 2, "score", to=1.5)),
            "rows[2].score: expected a score from 0 to 1, got 1.5",
        ),
        (broken(_set("rows", 2, "score", to="1")), "rows[2].score: expected a score"),
        (broken(_set("rows", 2, "score", to=True)), "rows[2].score: expected a score"),
        (broken(_set("rows", 2, "score", to=float("nan"))), "rows[2].score"),
        (broken(_drop("rows", 0, "trial")), "rows[0]: the field 'trial' is missing"),
        (
            broken(_set("rows", 0, "span", to="9k")),
            "rows[0]: there is no conversation at span '9k', trial '0'",
        ),
        (
            broken(_set("rows", 1, "example", to="0")),
            "rows[1]: a second row of colours/0 at span '2k', trial '0'",
        ),
        (broken(_set("rows", 0, "gap", to=-1)), "rows[0].gap: expected a whole number"),
        (
            broken(_set("rows", 0, "definition", to=float("inf"))),
            "rows[0].definition: expected a JSON value",
        ),
        (
            broken(_set("conversations", 0, "memory_span", to=0)),
            "conversations[0].memory_span",
        ),
        (broken(_set("conversations", 0, "plan", to=None)), "conversations[0].plan"),
        (
            broken(_set("conversations", 0, "cost_usd", to="free")),
            "conversations[0].cost_usd",
        ),
        (broken(_set("scenarios", 0, "threshold", to="all")), "scenarios[0].threshold"),
        (
            broken(_set("scenarios", 0, "threshold", to=1.5)),
            "scenarios[0].threshold: expected a number from 0 to 1",
        ),
        (broken(_set("scenarios", 0, "skills", to=3)), "scenarios[0].skills"),
        (
            broken(_set("rows", 0, to={**ROW, "outcome": "odd"})),
            "rows[0].outcome: expected one of 'error', 'skipped'",
        ),
        (broken(_set("agent", to="")), "agent: expected a non-empty text"),
    ],
)
def test_a_file_that_is_no_baseline_is_told_by_file_and_field(
    tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "main.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LtmError) as caught:
        load_baseline(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_bytes_that_are_no_text_are_no_baseline(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(LtmError, match="not a baseline"):
        load_baseline(tmp_path / "main.json")


def test_fields_that_a_later_version_adds_are_no_harm(tmp_path: Path) -> None:
    (tmp_path / "main.json").write_text(broken(_set("invented", to={"x": 1})))
    assert load_baseline(tmp_path / "main.json").agents == ("mybot",)
