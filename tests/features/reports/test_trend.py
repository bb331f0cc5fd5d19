"""`ltm lab trend`: scores over time; results of different plans are never joined."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from gate_sides import FULL, WORSE, held, side
from past_runs import BAD, COMMIT, GOOD, run_folder, trials
from run_folders import HOSTILE

from pytest_ltm.commands import main
from pytest_ltm.commands.run_history import file_versions
from pytest_ltm.gate.sides import save_baseline
from pytest_ltm.reports.history import read_past
from pytest_ltm.reports.trend import (
    PLAIN,
    UNICODE_SIGNS,
    of_run,
    series_of,
    trend_lines,
)


@pytest.fixture
def ltm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's `.ltm` folder, with the project as working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    return tmp_path / ".ltm"


def lines(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["lab", "trend", *words]) == 0
    return capsys.readouterr().out.splitlines()


def test_results_of_one_plan_stand_in_one_chart_with_date_commit_total_and_interval(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "20260101-080000-aaaa", *trials(BAD, of=3))
    run_folder(ltm, "20260102-090000-bbbb", *trials(GOOD, of=3))
    assert lines(capsys) == [
        "bot at 2k",
        "  2 results  ▅▇",
        "date (UTC)        commit       total         0%          100%",
        "2026-01-01 08:00  0123456  1.00 of 2   50%  │    ────●───    │  20260101-080000…",
        "2026-01-02 09:00  0123456  1.75 of 2   88%  │        ─────●──│  20260102-090000…",
        "",
        "● run, ◆ baseline, ─ 95% interval, which needs trials.",
    ]


def test_plans_are_never_in_one_chart_however_they_alternate(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for day, plan in enumerate("ABAB", start=1):
        run_folder(ltm, f"2026010{day}-080000-aaaa", *trials(GOOD, plan=plan))
    shown = lines(capsys)
    heads = [line for line in shown if "plan " in line and " of 2, 2 results" in line]
    assert len(heads) == 2
    days = [line[:10] for line in shown if line.startswith("2026-")]
    assert days == ["2026-01-01", "2026-01-03", "2026-01-02", "2026-01-04"]
    assert "compare" in " ".join(shown)


def test_a_plan_says_in_what_it_differs_from_the_one_before(
    ltm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, parts in {
        "a": [held(FULL)],
        "b": [held(FULL, plan={"seed": 7})],
        "c": [held(FULL, plan={"seed": 7}), held(FULL, plan={"seed": 7}, trial="1")],
    }.items():
        save_baseline(side(*parts), name, tmp_path / "ltm_baselines", "0.1")
        os.utime(
            tmp_path / "ltm_baselines" / f"{name}.json",
            (ord(name) * 1e6, ord(name) * 1e6),
        )
    run_folder(ltm, "20260101-080000-aaaa", *trials(GOOD, agent="mybot"))
    told = [line.strip() for line in lines(capsys) if "not the plan" in line]
    assert told == [
        "not the plan before ('there'): the seed is 0 there and 7 in this plan",
        "not the plan before ('there'): its trials differ",
    ]


def test_of_many_plans_the_last_are_shown(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        run_folder(
            ltm, f"202601{number + 10}-080000-aaaa", *trials(GOOD, plan=f"p{number}")
        )
    shown = lines(capsys)
    assert shown[1] == "  … 7 earlier plans: --all shows them"
    assert next(line[:10] for line in shown if line.startswith("2026")) == "2026-01-17"
    assert sum("of 12, 1 result" in line for line in lines(capsys, "--all")) == 12


def test_more_trials_are_another_plan(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "20260101-080000-aaaa", *trials(GOOD, of=1))
    run_folder(ltm, "20260102-080000-aaaa", *trials(GOOD, of=2))
    assert sum(" of 2, 1 result" in line for line in lines(capsys)) == 2


def test_what_says_too_little_is_listed_and_not_drawn(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "20260101-080000-aaaa", *trials(GOOD))
    run_folder(ltm, "20260102-080000-bbbb", *trials(GOOD, ended="agent gone"))
    run_folder(ltm, "20260103-080000-cccc", *trials(GOOD))
    shown = lines(capsys)
    assert "  3 results  ▇▇" in shown
    assert sum("●" in line for line in shown if line.startswith("2026")) == 2
    [gone] = [line for line in shown if line.startswith("2026-01-02")]
    assert "not drawn: inter" in gone


def test_yardsticks_are_left_out_beside_an_agent_under_test(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(
        ltm,
        "20260101-080000-aaaa",
        *trials(GOOD),
        *trials(GOOD, agent="full"),
        *trials(BAD, span="32k"),
    )
    assert [line for line in lines(capsys) if " at " in line] == [
        "bot at 2k",
        "bot at 32k",
    ]
    assert lines(capsys, "--agent=full")[0] == "full at 2k"
    assert lines(capsys, "--span=32k")[0] == "bot at 32k"
    assert lines(capsys, "--agent=no", "--span=4k") == [
        "no such agent or span in the runs and baselines here: there are agents bot, full; spans 2k, 32k"
    ]


def test_no_results_and_paths_that_lead_nowhere_are_said(
    ltm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(capsys) == ["no results in the runs and baselines here"]
    (tmp_path / "empty").mkdir()
    assert lines(capsys, "empty") == ["no results in empty"]
    assert main(["lab", "trend", "nowhere"]) == 2
    assert "there is no run 'nowhere'" in capsys.readouterr().err
    assert not ltm.exists()


def test_damaged_runs_and_later_formats_are_left_out_with_the_reason(
    ltm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder(ltm, "20260101-080000-aaaa")
    (run_folder(ltm, "20260102-080000-bbbb") / "summary.json").write_text(
        '{"format": "pytest-ltm summary 9"}'
    )
    (ltm.parent / "ltm_baselines").mkdir()
    (ltm.parent / "ltm_baselines" / "main.json").write_text(
        '{"format": "pytest-ltm baseline 9"}'
    )
    assert main(["lab", "trend"]) == 0
    told = capsys.readouterr()
    assert "  1 result\n" in told.out
    assert (
        "note: run 20260102-080000-bbbb is left out: summary.json: format 'pytest-ltm summary 9'"
        in told.err
    )
    assert "note: baseline main: 1 version left out: " in told.err


def test_runs_and_baselines_of_one_plan_share_a_line(
    ltm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conversation, _ = held(FULL)
    run_folder(ltm, "20260101-080000-aaaa", conversation)
    save_baseline(side(held(FULL)), "main", tmp_path / "ltm_baselines", "0.1")
    found = json.loads("\n".join(lines(capsys, "--json")))
    [series] = found
    run, baseline = series["points"]
    assert (run["kind"], run["commit"], baseline["kind"], baseline["commit"]) == (
        "run",
        COMMIT,
        "baseline",
        None,
    )
    assert run["plan"] == baseline["plan"]
    assert (run["low"], run["full"], run["share"]) == (
        baseline["low"],
        baseline["full"],
        baseline["share"],
    )
    assert run["interval"] is None
    paths = (
        [str(tmp_path / "ltm_baselines")],
        [str(tmp_path / "ltm_baselines" / "main.json")],
    )
    for words in paths:
        [only] = json.loads("\n".join(lines(capsys, "--json", *words)))
        assert [point["kind"] for point in only["points"]] == ["baseline"]
    [only] = json.loads("\n".join(lines(capsys, "--json", "20260101-080000-aaaa")))
    assert [point["kind"] for point in only["points"]] == ["run"]
    assert lines(capsys, "--since=29990101") == [
        "no results in the runs and baselines here"
    ]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_every_committed_version_of_a_baseline_is_a_result(
    ltm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ltm_baselines"

    def git(*words: str, at: str = "2026-01-05T10:00:00Z") -> str:
        who = [
            "-c",
            "user.name=n",
            "-c",
            "user.email=e",
            "-c",
            "init.defaultBranch=main",
        ]
        done = subprocess.run(
            ["git", *who, *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "GIT_COMMITTER_DATE": at},
        )
        return done.stdout.strip()

    git("init", "-q")
    save_baseline(side(held(FULL)), "main", folder, "0.1")
    git("add", "ltm_baselines")
    git("commit", "-qm", "one")
    git("rm", "-q", "ltm_baselines/main.json")
    git("commit", "-qm", "gone")
    save_baseline(side(held(WORSE)), "main", folder, "0.1")
    git("add", "ltm_baselines")
    git("commit", "-qm", "two", at="2026-02-05T10:00:00Z")
    first, last = git("log", "--format=%H", "--reverse").splitlines()[::2]
    save_baseline(side(held(FULL, plan={"seed": 7})), "main", folder, "0.1")
    [series] = json.loads("\n".join(lines(capsys, "--json")))
    assert [
        (each["commit"], (each["at"] or "")[:10]) for each in series["points"][:2]
    ] == [
        (first, "2026-01-05"),
        (last, "2026-02-05"),
    ]
    assert series["points"][2]["commit"] is None
    assert len({each["plan"] for each in series["points"]}) == 2
    assert file_versions(tmp_path / "ltm_baselines" / "other.json") == []
    assert not ltm.exists()


def points(ltm: Path, number: int, **more: Any) -> None:
    for i in range(number):
        scores = GOOD if i % 3 else BAD
        run_folder(
            ltm,
            f"20260101-{i // 60:02d}{i % 60:02d}00-{i:04x}",
            *trials(scores, **more),
            branch="b" * 300,
        )


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120, 200])
def test_charts_fit_into_the_terminal_also_in_ascii(ltm: Path, width: int) -> None:
    points(ltm, 40, of=2, agent="long_name_" * 20)
    found = series_of(
        [
            point
            for path in (ltm / "runs").iterdir()
            for point in of_run(read_past(path))
        ]
    )
    for signs in (UNICODE_SIGNS, PLAIN):
        shown = trend_lines(found, width, signs=signs)
        assert max(map(len, shown)) <= width
        assert "  … 10 earlier: --all shows them" in shown
        assert sum(line.startswith("2026-") for line in shown) == 30
    assert all(
        line.replace("…", "").isascii()
        for line in trend_lines(found, width, signs=PLAIN)
    )
    assert len(trend_lines(found, width, is_complete=True)) > 40


def test_names_drive_no_terminal(ltm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_folder(ltm, "20260101-080000-aaaa", *trials(GOOD, agent=HOSTILE["control"]))
    shown = "\n".join(lines(capsys))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
