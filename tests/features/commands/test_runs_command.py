"""`ltm runs`: a line per run, whatever its folder contains."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from journals import begin, header, message, reply, write
from past_runs import BAD, COMMIT, GOOD, run_folder, trials

from pytest_ltm.api.journal import Event, RunFile, write_results, write_run_file
from pytest_ltm.api.storage import FolderLock, escape_unprintable
from pytest_ltm.commands import main

SAID: list[Event] = [
    begin("cat/0"),
    message(0, "cat/0", "ask", "Hi?", tokens=3),
    reply(0, "Yes."),
]


@pytest.fixture
def ltm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's `.ltm` folder, with the project as working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / ".ltm" / "runs").mkdir(parents=True)
    return tmp_path / ".ltm"


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["runs", *words]) == 0
    return capsys.readouterr().out.splitlines()


def begun(
    ltm: Path, name: str, *said: Event, capability: str = "AcceptsHistory"
) -> Path:
    """Write a run whose process ended halfway."""
    run = ltm / "runs" / name
    (run / "bot~2k~0").mkdir(parents=True)
    write(
        run / "bot~2k~0" / "journal.jsonl",
        header(capability, plan={"examples": [{}]}),
        *said,
    )
    write_run_file(
        run,
        RunFile(run=name, options={}, paths=(), folder=".", settings={}, versions={}),
    )
    return run


def test_runs_are_listed_newest_first_with_totals_of_each_agent_and_span(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(
        ltm,
        "20260101-080000-aaaa",
        *trials(BAD, span="32k"),
        *trials(GOOD),
        *trials(GOOD, agent="full"),
    )
    run_folder(
        ltm,
        "20260302-093000-bbbb",
        *trials(BAD),
        gate={"state": "failed", "sentence": "gate: regressed: x"},
    )
    head, newer, older, count = lines(capsys)
    assert head.split("  ")[0] == "run"
    assert (
        newer
        == "20260302-093000-bbbb  2026-03-02 09:30  gate regressed  bot 1.00 of 2 at 2k"
    )
    assert older.endswith("  finished        bot 1.75 1.00, full 1.75 of 2 at 2k, 32k")
    assert count == "2 runs"


def test_a_narrow_terminal_shows_all_totals_and_spans_below_their_run(
    ltm: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = ("2k", "4k", "8k", "16k", "32k", "64k")
    held = [of for span in spans for of in trials(GOOD, span=span, agent="full")]
    run_folder(ltm, "20260101-080000-aaaa", *held)
    monkeypatch.setenv("COLUMNS", "80")
    shown = lines(capsys)
    assert all(len(line) <= 80 and "…" not in line for line in shown)
    assert " ".join(shown[2:-1]).split()[-len(spans) :] == [
        *(f"{span}," for span in spans[:-1]),
        spans[-1],
    ]


def test_a_run_is_chosen_by_agent_and_by_date(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "20260101-080000-aaaa", *trials(GOOD, agent="full"))
    run_folder(ltm, "20260302-093000-bbbb")
    assert [line[:20] for line in lines(capsys, "--agent", "full")][1:-1] == [
        "20260101-080000-aaaa"
    ]
    assert [line[:20] for line in lines(capsys, "--since=2026-02-01")][1:-1] == [
        "20260302-093000-bbbb"
    ]
    assert lines(capsys, "--since=2026-03-03", "--agent=full") == [
        "no runs in .ltm with --agent=full --since=2026-03-03"
    ]
    assert main(["runs", "--since=soon"]) == 2
    assert "'soon' is neither a date" in capsys.readouterr().err


def test_a_run_in_the_future_is_one_of_the_last_week(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "29990101-080000-aaaa")  # the machine's clock was wrong
    run_folder(ltm, "20200101-080000-aaaa")
    assert [line[:4] for line in lines(capsys, "--since=7d")][1:-1] == ["2999"]


def test_a_run_that_was_cut_short_says_whether_it_can_be_resumed(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begun(ltm, "20260101-000000-aaaa", *SAID)
    begun(ltm, "20260102-000000-bbbb", *SAID, capability="ReportsUsage")
    _, cannot, can, _ = lines(capsys)
    assert can.endswith("interrupted, can be resumed")
    assert cannot.endswith("interrupted")


def test_what_was_finished_of_a_run_that_was_cut_short_has_its_total(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = begun(ltm, "20260101-000000-aaaa", *SAID)
    write_results(run / "bot~2k~0" / "results.json", trials(GOOD)[0])
    assert lines(capsys)[1].endswith("bot 1.75 of 2 at 2k")


def test_a_run_that_goes_on_says_so(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = FolderLock(begun(ltm, "20260101-000000-aaaa", *SAID))
    lock.acquire()
    try:
        assert lines(capsys)[1].endswith("in progress")
    finally:
        lock.release()


def test_a_run_that_is_being_resumed_goes_on(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = FolderLock(
        run_folder(ltm, "20260101-000000-aaaa", *trials(GOOD, ended="interrupted"))
    )
    assert "  interrupted, can be resumed  bot 1.75 of 2" in lines(capsys)[1]
    lock.acquire()
    try:
        assert "  in progress  bot 1.75 of 2" in lines(capsys)[1]
    finally:
        lock.release()


def test_what_was_lost_or_came_to_no_end_stands_beside_the_total(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {"colours": (1.0, None)}
    gone = trials(scores, ended="agent gone")[0]
    run_folder(ltm, "20260101-000000-aaaa", gone)
    run_folder(ltm, "20260102-000000-bbbb", *trials({"colours": (None,)}))
    _, nothing, ended, _ = lines(capsys)
    assert "interrupted, agent gone" in ended
    assert ended.endswith("bot 0.50 to 1.00 of 1 at 2k")
    assert "finished, nothing has a score" in nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("summary.json", "{", "damaged: summary.json: "),
        ("summary.json", "[1]", "damaged: summary.json: "),
        ("summary.json", "[" * 100_000, "damaged: summary.json: "),
        ("summary.json", "\x00" * 9, "damaged: summary.json: "),
        (
            "summary.json",
            '{"format": "pytest-ltm summary 9"}',
            "format 'pytest-ltm summary 9', expected",
        ),
        (
            "summary.json",
            '{"format": "pytest-ltm summary 2"}',
            "missing required field",
        ),
        ("results.json", "{", "damaged: "),
        (
            "results.json",
            '{"format": "pytest-ltm results 9"}',
            "not a results file of this version",
        ),
    ],
)
def test_a_damaged_run_is_one_line_with_the_reason(
    ltm: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    text: str,
    says: str,
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    folder = run_folder(ltm, "20260101-000000-aaaa")
    if file == "results.json":
        (folder / "summary.json").unlink()
        (folder / "a~b~c").mkdir()
    (folder / ("a~b~c" if file == "results.json" else ".") / file).write_text(text)
    run_folder(ltm, "20260102-000000-bbbb")
    _, whole, damaged, count = lines(capsys)
    assert says in damaged
    assert str(ltm) not in damaged
    assert whole.endswith("bot 1.75 of 2 at 2k")
    assert count == "2 runs"


@pytest.mark.parametrize(
    "bounds",
    [{"low": 0, "high": 0, "full": 0}, {"low": 2, "high": 1, "full": 3}, {"low": -1}],
)
def test_numbers_that_cannot_be_are_damage(
    ltm: Path, capsys: pytest.CaptureFixture[str], bounds: dict[str, Any]
) -> None:
    path = run_folder(ltm, "20260101-000000-aaaa") / "summary.json"
    said = json.loads(path.read_text())
    said["results"][0]["bounds"] |= bounds
    path.write_text(json.dumps(said))
    assert "  damaged: summary.json: no total can be" in lines(capsys)[1]


def test_files_in_the_place_of_folders_links_and_empty_folders_are_survived(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ltm / "runs" / "file").write_text("")
    (ltm / "runs" / "empty").mkdir()
    (ltm / "runs" / "loop").symlink_to(ltm / "runs")
    (ltm / "runs" / "odd" / "summary.json").mkdir(parents=True)
    (ltm / "runs" / "odd" / "run.json").mkdir()
    os.utime(ltm / "runs" / "odd", (-1e9, -1e9))
    shown = lines(capsys)
    assert shown[-1] == "3 runs"
    assert shown[-2].startswith("odd    1938-04-24 22:13  damaged: ")
    assert sum(line.endswith("  empty") for line in shown) == 2


def test_names_can_drive_no_terminal(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\x1b]0;own\x07<b>\u202e"
    run_folder(ltm, "20260101-000000-aaaa", *trials(GOOD, agent=name))
    assert escape_unprintable(name) in lines(capsys)[1]


def test_the_folder_may_be_a_project_its_ltm_folder_folders_of_runs_or_one_run(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_folder(ltm, "20260101-000000-aaaa")
    shown = lines(capsys)
    assert all(
        lines(capsys, str(path)) == shown
        for path in (ltm.parent, ltm, ltm / "runs", run)
    )
    assert main(["runs", "nowhere"]) == 2
    assert "there is no folder 'nowhere'" in capsys.readouterr().err


def test_json_has_what_the_lines_are_made_of(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "20260101-080000-aaaa")
    (ltm / "runs" / "empty").mkdir()
    by_name = {
        load["run"]: load for load in json.loads("\n".join(lines(capsys, "--json")))
    }
    found = by_name["20260101-080000-aaaa"]
    assert (found["begun"], found["state"], found["commit"]) == (
        "2026-01-01T08:00:00+00:00",
        "finished",
        COMMIT,
    )
    assert [
        (each["agent"], each["low"], each["full"], each["examples"])
        for each in found["results"]
    ] == [("bot", 1.75, 2, 4)]
    assert by_name["empty"]["state"] == "empty"


def test_no_line_is_wider_than_the_terminal(
    ltm: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_folder(ltm, "20260101-000000-" + "a" * 100, *trials(GOOD, agent="b" * 200))
    (run_folder(ltm, "20260102-000000-bbbb") / "summary.json").write_text(
        "{" + "x" * 500
    )
    for width in (80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, lines(capsys))) <= width
