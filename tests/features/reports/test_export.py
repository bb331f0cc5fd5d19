"""`ltm export`: each format is read back by the library that defines it."""

from __future__ import annotations

import csv
import json
import re
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from run_folders import HOSTILE, held, hostile_run, played, write_run

import pytest_ltm
from pytest_ltm.commands import main, make_parser
from pytest_ltm.figures.run_loading import LoadedRun, read_run
from pytest_ltm.gate.change_report import gate_from_json, gate_json
from pytest_ltm.gate.verdict import Finding, GateVerdict
from pytest_ltm.reports.exports.loaded import Results
from pytest_ltm.reports.exports.result_rows import TABLES
from pytest_ltm.reports.exports.table_files import paper_latex, paper_markdown

SCORES = (1.0, 0.25, 0.5, None)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run with two agents, in the working directory."""
    monkeypatch.chdir(tmp_path)
    talks = []
    for agent in ("full", "mybot"):
        rows = [
            played(
                "colours",
                score,
                example=str(n),
                first=1 + 4 * n,
                agent=agent,
                cost_usd=0.25,
                nodeid=f"ltm/colours::test_colours[{agent}-2k-0-{n}]",
            )
            for n, score in enumerate(SCORES)
        ]
        talks.append(held(rows, cost_usd=1.5))
    return write_run(tmp_path / "run", *talks)


def export(*words: str) -> Results:
    """Export a run and return its expected contents."""
    assert main(["export", "run", *words]) == 0
    return pytest_ltm.load("run")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# --- CSV and JSON Lines


def test_csv_is_a_file_for_each_table(run: Path) -> None:
    found = export("--to=csv")
    assert sorted(path.name for path in Path("ltm-csv").iterdir()) == sorted(
        f"{name}.csv" for name in TABLES
    )
    for name in {*TABLES} - {"calls"}:
        table = getattr(found, name)
        read = rows_of(Path("ltm-csv") / f"{name}.csv")
        assert len(read) == len(table) > 0
        assert list(read[0]) == list(table.columns)
    read = rows_of(Path("ltm-csv/examples.csv"))
    assert [row["score"] for row in read] == ["1.0", "0.25", "0.5", ""] * 2
    assert (
        rows_of(Path("ltm-csv/exchanges.csv"))[0]["time"] == "2024-03-04T12:00:00+00:00"
    )
    assert run.is_dir()


@pytest.mark.usefixtures("run")
def test_json_lines_hold_the_records() -> None:
    found = export("--to=jsonl", "--table=questions", "-o", "asked/q.jsonl")
    read = [
        json.loads(line)
        for line in Path("asked/q.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert read == found.questions.records()
    export("--to=jsonl", "--table=exchanges")
    first = json.loads(
        Path("ltm-exchanges.jsonl").read_text(encoding="utf-8").splitlines()[0]
    )
    assert first == {
        **found.exchanges.records()[0],
        "time": "2024-03-04T12:00:00+00:00",
    }


def test_no_cell_begins_a_formula(tmp_path: Path) -> None:
    texts = (
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        " \n=1",
        "＝1",
        "fine",
    )
    rows = [
        played(example=str(n), reason=text, first=1 + 4 * n)
        for n, text in enumerate(texts)
    ]
    write_run(tmp_path / "run", held(rows))
    main(
        [
            "export",
            str(tmp_path / "run"),
            "--to=csv",
            "--table=examples",
            "-o",
            str(tmp_path / "all.csv"),
        ]
    )
    reasons = [row["reason"] for row in rows_of(tmp_path / "all.csv")]
    assert [reason[0] for reason in reasons] == ["'"] * (len(texts) - 1) + ["f"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["control", "bidi", "half a surrogate", "cdata", "json", "line separators"]
)
def test_hostile_texts_are_read_back(tmp_path: Path, name: str) -> None:
    folder = hostile_run(tmp_path / "run", HOSTILE[name])
    for kind in ("csv", "jsonl", "junit", "markdown"):
        # such a label cannot come from a folder name: it is reported, and the rest is
        # written
        assert (
            main(["export", str(folder), f"--to={kind}", "-o", str(tmp_path / kind)])
            == 1
        )
    found = pytest_ltm.load(folder)
    assert len(rows_of(tmp_path / "csv" / "examples.csv")) == len(found.examples) == 3
    lines = (
        (tmp_path / "jsonl" / "questions.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert [json.loads(line) for line in lines] == found.questions.records()
    assert len(ET.parse(tmp_path / "junit").findall("testsuite/testcase")) == 3
    for path in filter(Path.is_file, tmp_path.rglob("*")):
        if tmp_path / "run" not in path.parents:
            assert "\x1b" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["csv", "jsonl", "junit", "markdown"])
def test_no_secret_leaves(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = f"hush-{kind}-4f1c9"
    write_run(
        tmp_path / "run",
        held([played(score=0.0, reason=f"it is {secret}")], notices=(secret,)),
        notices=[secret],
    )
    monkeypatch.setenv("SOME_API_KEY", secret)
    assert (
        main(
            [
                "export",
                str(tmp_path / "run"),
                f"--to={kind}",
                "-o",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )
    written = "".join(
        path.read_text()
        for path in (tmp_path / "out", *tmp_path.glob("out/*"))
        if path.is_file()
    )
    assert secret not in written
    assert "[redacted $SOME_API_KEY]" in written.replace("\\", "")


# --- Parquet


@pytest.mark.usefixtures("run")
def test_parquet_has_types_and_the_rows() -> None:
    parquet = pytest.importorskip(
        "pyarrow.parquet", reason="pip install 'pytest-ltm[parquet]'"
    )
    found = export("--to=parquet")
    for name in TABLES:
        assert (
            parquet.read_table(f"ltm-parquet/{name}.parquet").to_pylist()
            == getattr(found, name).records()
        )
    schema = parquet.read_schema("ltm-parquet/examples.parquet")
    assert [
        str(schema.field(name).type) for name in ("agent", "span", "score", "overrun")
    ] == [
        "string",
        "int64",
        "double",
        "bool",
    ]


@pytest.mark.usefixtures("run")
def test_parquet_needs_pyarrow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert main(["export", "run", "--to=parquet"]) == 2
    assert (
        "--to parquet needs pyarrow: pip install 'pytest-ltm[parquet]'"
        in capsys.readouterr().err
    )
    assert not Path("ltm-parquet").exists()


# --- JUnit and Markdown


def test_junit_counts_outcomes_and_tells_failures(run: Path) -> None:
    export("--to=junit")
    (suite,) = ET.parse("ltm-junit.xml").getroot()
    counts = {
        name: suite.get(name)
        for name in ("name", "tests", "failures", "errors", "skipped")
    }
    assert counts == {
        "name": run.name,
        "tests": "8",
        "failures": "4",
        "errors": "0",
        "skipped": "2",
    }
    passed, failed, _, skipped, *_ = suite
    assert (passed.get("classname"), passed.get("name")) == (
        "ltm.colours",
        "test_colours[full-2k-0-0]",
    )
    assert [child.tag for child in passed] == ["properties"]
    (failure,) = failed.findall("failure")
    assert failure.get("message") == "names 'ochre'"
    assert "I like ochre best, says colours." in str(failure.text)
    assert "again: pytest --ltm-agent=full" in str(failure.text)
    assert [child.tag for child in skipped] == ["properties", "skipped"]
    scores = [
        each.get("value")
        for each in suite.iter("property")
        if each.get("name") == "ltm_score"
    ]
    assert scores == ["1.0", "0.25", "0.5"] * 2


@pytest.mark.usefixtures("run")
def test_markdown_is_the_summary_of_the_run() -> None:
    export("--to=markdown")
    page = Path("ltm-markdown.md").read_text(encoding="utf-8")
    assert page.startswith("## Long-term memory: no gate\n")
    assert "| full at 2k |" in page


VERDICTS = {
    "passed": GateVerdict(
        findings=(Finding("0.8", "bot", "2k", "passed", "0.9 is enough"),)
    ),
    "failed": GateVerdict(
        findings=(Finding("0.8", "bot", "2k", "failed", "0.5 is below 0.8"),)
    ),
    "regressed": GateVerdict(
        findings=(Finding("mean:5%", "bot", "", "failed", "fell", moved=True),)
    ),
    "could not be measured": GateVerdict(findings=(), lost="the agent was gone"),
}


@pytest.mark.parametrize("state", VERDICTS)
def test_a_gates_verdict_is_read_back_from_the_summary(state: str) -> None:
    said = json.loads(json.dumps(gate_json(VERDICTS[state])))
    assert gate_from_json(said, "") == VERDICTS[state]
    assert state in said["sentence"]


def test_markdown_of_a_gated_run_says_what_the_gate_said(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", held([played()]), gate=gate_json(VERDICTS["regressed"])
    )
    main(["export", str(folder), "--to=markdown", "-o", str(tmp_path / "run.md")])
    assert (
        (tmp_path / "run.md").read_text().startswith("## Long-term memory: regressed\n")
    )


# --- the command


def test_nothing_is_overwritten_without_being_asked(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export("--to=csv")
    shutil.move("ltm-csv/exchanges.csv", "exchanges.csv")
    before = Path("ltm-csv/examples.csv").read_text()
    assert main(["export", "run", "--to=csv"]) == 2
    assert "examples.csv and 3 more. Name" in capsys.readouterr().err
    assert not Path("ltm-csv/exchanges.csv").exists()
    Path("ltm-csv/examples.csv").write_text("mine")
    assert main(["export", str(run), "--to=csv", "--force"]) == 0
    assert Path("ltm-csv/examples.csv").read_text() == before


@pytest.mark.slow
def test_what_is_missing_is_told(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = next(run.glob("*/journal.jsonl"))
    journal.write_text(journal.read_text().replace("Count to ten", "Count to two", 1))
    assert main(["export", "run", "--to=junit"]) == 1
    assert "missing: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["absent", "--to=csv"], "there is no run 'absent'"),
        (
            ["run", "--to=junit", "--table=examples"],
            "--table goes with csv, jsonl, parquet, not with junit",
        ),
        (["run", "--to=csv", "-o", "run/summary.json"], "summary.json"),
    ],
)
@pytest.mark.usefixtures("run")
def test_what_cannot_be_done_is_said(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(".ltm/runs/other").mkdir(parents=True)
    assert main(["export", *words]) == 2
    assert told in capsys.readouterr().err


def test_the_choices_of_the_command_are_the_tables_there_are() -> None:
    [table] = [
        action for action in make_parser("export")._actions if action.dest == "table"
    ]
    assert table.choices == list(TABLES)


# --- a table for a paper


def paper_runs(tmp_path: Path) -> list[LoadedRun]:
    """Return a run of two spans, the longer first, with three trials at one of them."""
    far = [
        held(
            [
                played(
                    agent="my_bot", span=32_000, span_label="32k", score=0.25, floor=0.1
                )
            ]
        )
    ]
    near = [
        held(
            [played(agent="my_bot", trial=str(trial), score=score, nodeid=f"n{trial}")]
        )
        for trial, score in enumerate((1.0, 1.0, 0.5))
    ]
    return [read_run(write_run(tmp_path / "run", *far, *near))]


def test_a_table_for_a_paper_has_spans_in_order_and_intervals_where_there_are_trials(
    tmp_path: Path,
) -> None:
    text = paper_latex(paper_runs(tmp_path))
    assert "Agent & 2k & 32k \\\\" in text
    [row] = [
        line.strip() for line in text.splitlines() if line.strip().startswith("my")
    ]
    assert re.fullmatch(
        r"my\\_bot & 83\.3 \{\\scriptsize \[[\d.]+, [\d.]+\]\} & 25\.0 \\\\", row
    )
    assert "@software{pytest_ltm," in text


def test_the_same_table_is_markdown(tmp_path: Path) -> None:
    text = paper_markdown(paper_runs(tmp_path))
    assert text.startswith(
        "| Agent | 2k | 32k |\n| --- | ---: | ---: |\n| my_bot | 83.3 "
    )
    assert "```bibtex\n@software{pytest_ltm," in text


def test_no_name_is_a_command_of_latex(tmp_path: Path) -> None:
    [run] = paper_runs(tmp_path)
    talk = replace(run.result.conversations[0], agent=r"a\b{%}$&#_^~")
    result = structs.replace(run.result, conversations=(talk,))
    row = next(
        line
        for line in paper_latex([structs.replace(run, result=result)]).splitlines()
        if "textasciitilde" in line
    )
    assert row.strip().startswith(
        r"a\textbackslash{}b\{\%\}\$\&\#\_\textasciicircum{}\textasciitilde{} & "
    )
