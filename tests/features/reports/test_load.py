"""`pytest_ltm.load`: a run as tables of plain rows, and as data frames."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections import defaultdict
from dataclasses import replace
from datetime import timezone
from pathlib import Path
from statistics import mean
from typing import Any

import journals
import pytest
from msgspec import structs
from run_folders import HOSTILE, NOON, held, hostile_run, played, write_run

import pytest_ltm
from pytest_ltm.api.journal import (
    Automatic,
    ConversationResult,
    ExampleMetric,
    ReplyTime,
    Timings,
    events,
)
from pytest_ltm.api.model import Usage
from pytest_ltm.api.scenarios import Plan, PlannedExample
from pytest_ltm.api.storage import json_text
from pytest_ltm.commands import main
from pytest_ltm.reports.exports import result_rows
from pytest_ltm.reports.exports.column_list import column_lines
from pytest_ltm.reports.exports.result_rows import PlacedRow
from pytest_ltm.reports.summary import summary_json

DOCS = Path(__file__).parents[3] / "docs" / "results-that-travel.md"


def talks() -> list[ConversationResult]:
    """Return conversations of two agents at two spans, with an unscored and an amended example."""
    found = []
    for agent, scores in (("full", (1.0, 0.5)), ("mybot", (0.25, None))):
        for span in ("2k", "32k"):
            place: dict[str, Any] = {
                "agent": agent,
                "span_label": span,
                "span": int(span[:-1]) * 1000,
            }
            first, second = (
                played(
                    "colours",
                    score,
                    example=str(n),
                    first=1 + 4 * n,
                    cost_usd=0.5,
                    **place,
                )
                for n, score in enumerate(scores)
            )
            third = played(
                "jokes",
                1.0,
                first=9,
                metrics=(ExampleMetric("f1", 0.7),),
                judge_calls=2,
                automatic=Automatic(score=0.0, reason="no joke", outcome="failed"),
                **place,
            )
            found.append(held([first, second, third]))
    return found


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = write_run(tmp_path / "runs" / "one", *talks())
    summary = json.loads((folder / "summary.json").read_text())
    result = pytest_ltm.load(folder).runs[0].result
    said = summary_json(result, pytest_ltm_version="0.1", seed=0, plan=summary["plan"])
    (folder / "summary.json").write_text(json_text(said))
    return folder


def unfinished(folder: Path, *said: events.Event) -> Path:
    """Write a truncated conversation into a run's folder."""
    place = folder / "mybot~8k~0"
    place.mkdir(parents=True)
    plan = Plan(
        examples=tuple(
            PlannedExample(scenario=name, example="0") for name in ("a", "b", "c")
        ),
        seed=0,
        trial=0,
        span=8_000,
        tokenizer="cl100k_base",
        filler=None,
        scoring="current",
        judge="none",
        judge_votes=1,
        time="simulated",
        opening="",
    )
    (place / "plan.json").write_text(json_text(plan.to_json()))
    (place / "journal.jsonl").write_text(
        "".join(journals.sealed(*said)) + '{"event":"mess', encoding="utf-8"
    )
    return folder


def a_beginning() -> list[events.Event]:
    return [
        journals.header(),
        journals.begin("a/0"),
        journals.message(0, "a/0", text="I like ochre.", now=NOON),
        journals.reply(
            0, "Noted.", usage=Usage(input_tokens=9, output_tokens=2), cost_usd=0.01
        ),
        journals.filler(1),
        journals.message(
            2, "a/0", "ask", "Which colour?", position=14, about=(0,), now=NOON
        ),
        journals.reply(2, "Ochre."),
        journals.verdict("a/0", 1.0, "names it"),
        events.End(example="a/0"),
        journals.message(3, "b/0", text="And you?", position=20),
        journals.fault(3, "timed out"),
    ]


# --- invariants


def test_sums_over_rows_are_those_of_the_summary(run: Path) -> None:
    found = pytest_ltm.load(run)
    columns = json.loads((run / "summary.json").read_text())["results"]
    assert len(columns) == 4
    for column in columns:
        place = column["agent"], column["span_label"]
        examples = [
            row for row in found.examples if (row.agent, row.span_label) == place
        ]
        scores: dict[str, list[float]] = defaultdict(list)
        for row in examples:
            scores[row.scenario] += [] if row.score is None else [row.score]
        assert sum(mean(score) for score in scores.values() if score) == pytest.approx(
            column["total"]
        )
        assert len(examples) == column["examples"]
        assert sum(row.score is None for row in examples) == column["unscored"]
        assert sum(row.amended for row in examples) == column["amended"]
        verdicts = [
            row
            for row in found.verdicts
            if (row.agent, row.span_label) == place and row.counts
        ]
        assert [row.score for row in verdicts] == [row.score for row in examples]


def test_every_row_can_be_joined_by_its_conversation(run: Path) -> None:
    found = pytest_ltm.load(run)
    examples = {
        (row.run, row.conversation, row.scenario, row.example) for row in found.examples
    }
    assert len(examples) == len(found.examples) == 12
    assert {
        (row.run, row.conversation, row.scenario, row.example)
        for row in found.questions
    } == examples
    said = {
        (row.run, row.conversation, row.scenario, row.example)
        for row in found.exchanges
        if row.scenario
    }
    assert said == examples
    asked = {(row.conversation, row.number): row.text for row in found.questions}
    messages = {(row.conversation, row.number): row.message for row in found.exchanges}
    assert asked.items() <= messages.items()


# --- each table


def test_an_example_says_who_it_was_and_how_it_went(run: Path) -> None:
    first, *_, last = pytest_ltm.load(run).examples
    assert (first.run, first.agent, first.role, first.span, first.score) == (
        "one",
        "full",
        "yardstick",
        2_000,
        1.0,
    )
    assert (first.gap, first.told_gap, first.measured_span, first.cost_usd) == (
        900,
        700,
        1_900,
        0.5,
    )
    assert (last.role, last.amended, last.metrics, last.skills) == (
        "agent",
        True,
        {"f1": 0.7},
        "R",
    )


def test_a_question_has_its_nearest_needle(tmp_path: Path) -> None:
    row = played()
    (asked,) = row.questions
    near = replace(
        asked.needles[0],
        gap=300,
        told_gap=200,
        text="I like teal better.",
        number=2,
        rank=0,
    )
    far = replace(asked.needles[0], rank=3)
    several = replace(asked, needles=(far, near), gap=300, retrieved=("x", "y", "z"))
    write_run(
        tmp_path / "run",
        held([replace(row, questions=(several,)), played(example="1", questions=())]),
    )
    (found,) = pytest_ltm.load(tmp_path / "run").questions
    assert (found.needle, found.needle_number, found.gap, found.told_gap) == (
        "I like teal better.",
        2,
        300,
        200,
    )
    assert (found.needles, found.needles_retrieved, found.rank, found.retrieved) == (
        2,
        1,
        3,
        3,
    )
    write_run(
        tmp_path / "none",
        held([replace(row, questions=(replace(asked, needles=(), gap=None),))]),
    )
    (found,) = pytest_ltm.load(tmp_path / "none").questions
    assert (found.needle, found.gap, found.needles, found.rank, found.retrieved) == (
        None,
        None,
        0,
        None,
        None,
    )


def test_an_amended_verdict_has_two_rows_and_one_counts(run: Path) -> None:
    by = [
        (row.by, row.counts, row.score, row.reason)
        for row in pytest_ltm.load(run).verdicts
        if row.scenario == "jokes"
    ]
    assert by[:2] == [
        ("person", True, 1.0, "names 'ochre'"),
        ("judge", False, 0.0, "no joke"),
    ]
    (first, *_) = pytest_ltm.load(run).verdicts
    assert (first.by, first.rule, first.evidence) == ("rules", "colours/1", "Teal")
    assert (first.checks, first.checks_passed, first.failed_checks) == (1, 1, "")


def test_an_exchange_has_what_it_cost_and_how_long_it_took(tmp_path: Path) -> None:
    folder = unfinished(tmp_path / "run", *a_beginning())
    timings = Timings.at(folder / "mybot~8k~0" / "timings.jsonl")
    for seconds in (9.0, 1.5):  # it was asked again after a resume
        timings.write(ReplyTime(exchange=0, seconds=seconds))
    timings.close()
    first, filler, asked, last = pytest_ltm.load(folder).exchanges
    assert (first.input_tokens, first.output_tokens, first.cost_usd, first.seconds) == (
        9,
        2,
        0.01,
        1.5,
    )
    assert (first.scenario, first.example, first.kind, first.told) == (
        "a",
        "0",
        "say",
        False,
    )
    assert (
        filler.scenario,
        filler.kind,
        filler.told,
        filler.input_tokens,
        filler.seconds,
    ) == (
        "",
        "filler",
        True,
        None,
        None,
    )
    assert (asked.message, asked.reply, asked.start) == ("Which colour?", "Ochre.", 14)
    assert asked.time == NOON
    assert asked.time.tzinfo == timezone.utc
    assert (last.fault, last.reply, last.replied, last.number) == (
        "timed out",
        "",
        False,
        3,
    )
    assert first.replied
    assert filler.replied


# --- unusual runs


def test_a_killed_run_is_there_as_far_as_it_came(tmp_path: Path) -> None:
    found = pytest_ltm.load(unfinished(tmp_path / "run", *a_beginning()))
    states = [
        (row.scenario, row.outcome, row.score, row.cause) for row in found.examples
    ]
    assert states == [
        ("a", "passed", 1.0, ""),
        ("b", "skipped", None, "not reached"),
        ("c", "skipped", None, "not reached"),
    ]
    (asked,) = found.questions
    assert (asked.answer, asked.needle, asked.gap) == ("Ochre.", "I like ochre.", 10)
    assert "is not finished" in " ".join(found.missing)
    assert {(row.agent, row.span, row.conversation) for row in found.examples} == {
        ("mybot", 8_000, "mybot~8k~0")
    }


def test_finished_conversations_stand_beside_one_that_is_not(run: Path) -> None:
    found = pytest_ltm.load(unfinished(run, *a_beginning()))
    assert len(found.examples) == 12 + 3
    assert sum(row.outcome == "passed" for row in found.examples) == 7


def test_a_damaged_journal_yields_what_stands_before_the_damage(run: Path) -> None:
    path = run / "full~2k~0" / "journal.jsonl"
    whole = len(
        [
            row
            for row in pytest_ltm.load(run).exchanges
            if row.conversation == "full~2k~0"
        ]
    )
    path.write_text(path.read_text().replace("Count to ten", "Count to two", 1))
    found = pytest_ltm.load(run)
    assert (
        0
        < len([row for row in found.exchanges if row.conversation == "full~2k~0"])
        < whole
    )
    assert len(found.examples) == 12
    assert any("journal.jsonl" in notice for notice in found.missing)


def test_a_run_without_journals_has_no_exchanges(tmp_path: Path) -> None:
    found = pytest_ltm.load(write_run(tmp_path / "run", *talks(), journals=False))
    assert (len(found.examples), len(found.exchanges), found.missing) == (12, 0, ())


def test_runs_are_found_by_folder_by_folder_of_runs_by_id_and_as_the_latest(
    run: Path, monkeypatch: Any
) -> None:
    write_run(run.parent / "two", *talks())
    assert {row.run for row in pytest_ltm.load(run.parent).examples} == {"one", "two"}
    assert {row.run for row in pytest_ltm.load(run.parent.parent).examples} == {
        "one",
        "two",
    }
    assert {
        row.run for row in pytest_ltm.load(run, run.parent / "two", run).examples
    } == {"one", "two"}
    assert len(pytest_ltm.load(run, str(run)).examples) == 12
    assert {
        row.run for row in pytest_ltm.load("two", ltm_dir=run.parent.parent).examples
    } == {"two"}
    monkeypatch.chdir(run.parent.parent)
    shutil.move("runs", ".ltm/runs")
    Path(".ltm/latest").write_text("two\n")
    assert {row.run for row in pytest_ltm.load().examples} == {"two"}


def test_runs_of_the_same_name_are_told_apart_by_their_paths(
    run: Path, tmp_path: Path
) -> None:
    other = write_run(tmp_path / "other" / "one", *talks())
    assert {row.run for row in pytest_ltm.load(run, other).verdicts} == {
        str(run),
        str(other),
    }


def test_a_run_that_cannot_be_read_is_an_error_and_among_others_a_notice(
    run: Path, tmp_path: Path
) -> None:
    for path in shutil.copytree(run, run.parent / "old").glob("*/results.json"):
        path.write_text('{"format": "pytest-ltm results 1"}')
    with pytest.raises(
        pytest_ltm.LtmError, match="format 'pytest-ltm results 1', expected"
    ):
        pytest_ltm.load(run.parent / "old")
    found = pytest_ltm.load(run.parent)
    assert len(found.examples) == 12
    assert "results 1" in " ".join(found.missing)
    (tmp_path / "empty").mkdir()
    with pytest.raises(pytest_ltm.LtmError, match="no results"):
        pytest_ltm.load(tmp_path / "empty")
    with pytest.raises(pytest_ltm.ConfigurationError, match="there is no run 'absent'"):
        pytest_ltm.load("absent", ltm_dir=run.parent.parent)


# --- records and frames


def test_records_have_every_column_and_no_secret(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pytest_ltm.load(run).examples
    assert all(list(record) == list(table.columns) for record in table.records())
    assert [record["metric_f1"] for record in table.records()[:3]] == [None, None, 0.7]
    write_run(run.parent / "told", held([played(reason="it is hush-77e1b0")]))
    monkeypatch.setenv("SOME_API_KEY", "hush-77e1b0")
    (first,) = pytest_ltm.load(run.parent / "told").examples.records()
    assert first["reason"] == "it is [redacted $SOME_API_KEY]"


@pytest.mark.parametrize("name", ["half a surrogate", "control", "bidi", "prototype"])
def test_hostile_texts_are_valid_unicode(tmp_path: Path, name: str) -> None:
    found = pytest_ltm.load(hostile_run(tmp_path / "run", HOSTILE[name]))
    for table in (found.examples, found.questions, found.verdicts):
        for record in table.records():
            "".join(
                value for value in record.values() if isinstance(value, str)
            ).encode()


def test_a_frame_needs_pandas(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(
        pytest_ltm.LtmError,
        match=r"frame\(\) needs pandas: pip install 'pytest-ltm\[data\]'",
    ):
        pytest_ltm.load(run).examples.frame()


def test_frames_have_types_that_can_be_calculated_with(run: Path) -> None:
    pytest.importorskip("pandas", reason="pip install 'pytest-ltm[data]'")
    found = pytest_ltm.load(run)
    for table in (found.examples, found.questions, found.exchanges, found.verdicts):
        frame = table.frame()
        assert list(frame.columns) == list(table.columns)
        assert len(frame) == len(table)
    examples = found.examples.frame()
    assert examples.groupby(["agent", "span"]).score.mean()[
        "mybot", 2_000
    ] == pytest.approx((0.25 + 1) / 2)
    assert (
        str(examples.span.dtype),
        str(examples.score.dtype),
        str(examples.overrun.dtype),
    ) == (
        "Int64",
        "float64",
        "bool",
    )
    assert str(found.exchanges.frame().time.dtype) == "datetime64[ns, UTC]"
    assert examples.metric_f1.sum() == pytest.approx(4 * 0.7)
    empty = pytest_ltm.load(
        write_run(run.parent / "three", *talks(), journals=False)
    ).exchanges.frame()
    assert (len(empty), str(empty.number.dtype)) == (0, "Int64")


def test_tables_are_sequences_that_say_what_they_hold(run: Path) -> None:
    found = pytest_ltm.load(run)
    assert found.examples[0] == next(iter(found.examples))
    assert len(found.examples[2:4]) == 2
    assert repr(found) == "<results of one: 12 examples>"
    assert repr(found.questions).startswith("<12 rows: run, conversation, agent, ")


# --- columns


def kinds() -> dict[str, type[PlacedRow]]:
    return dict(result_rows.TABLES)


def test_every_column_is_described_where_it_is_declared() -> None:
    declared = {
        node.name: node
        for node in ast.parse(Path(result_rows.__file__).read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    for kind in ("PlacedRow", *(each.__name__ for each in kinds().values())):
        body = declared[kind].body[1:]
        assert all(
            isinstance(field, ast.AnnAssign) and isinstance(said, ast.Expr)
            for field, said in zip(body[::2], body[1::2], strict=True)
        ), kind


def printed_columns() -> dict[str, list[str]]:
    """Return the columns by table, as printed by `ltm export --columns`."""
    columns: dict[str, list[str]] = {}
    for line in column_lines():
        if not line.startswith(" "):
            columns[line] = names = []
            continue
        name, words = line.split(maxsplit=1)
        assert len(words.split()) > 1, line
        names.append(name)
    return columns


def test_the_columns_of_every_table_are_printed_with_their_meaning() -> None:
    shared = [field.name for field in structs.fields(result_rows.PlacedRow)]
    own = {
        table: [field.name for field in structs.fields(kind)][len(shared) :]
        for table, kind in kinds().items()
    }
    assert printed_columns() == {"every table": shared, **own}


def test_columns_are_printed_without_a_format_or_a_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["export", "--columns"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "\n".join(column_lines()) + "\n"


def test_the_page_names_every_table() -> None:
    part = DOCS.read_text(encoding="utf-8").partition("\n## Columns\n")[2]
    assert re.findall(r"^\| `(\w+)`", part, re.MULTILINE) == [*kinds()]


def test_the_recipe_of_the_page_runs(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas", reason="pip install 'pytest-ltm[data]'")
    monkeypatch.chdir(run.parent)
    part = (
        DOCS.read_text(encoding="utf-8")
        .partition("\n## From a run to a plot\n")[2]
        .partition("\n## ")[0]
    )
    blocks = part.split("```python\n")[1:]
    lines = [
        line
        for block in blocks
        for line in block.partition("```")[0].splitlines()
        if line.strip()
    ]
    drawn = [line for line in lines if ".plot" in line]
    assert len(drawn) == 2  # matplotlib's
    names: dict[str, Any] = {"results": pytest_ltm.load(run)}
    exec(
        "\n".join(line.partition(".plot")[0] for line in lines).replace(
            '"latest"', repr(str(run))
        ),
        names,
    )
    assert names["scores"].loc[2_000, "full"] == pytest.approx((1 + 0.5 + 1) / 3)
