"""The record of a judge's answers to canaries, whose grades are known."""

from __future__ import annotations

from pathlib import Path

from pytest_ltm.api.journal import JudgeTime, Precheck, Price, Tariff, Timings
from pytest_ltm.api.model import Usage
from pytest_ltm.records import judge_checks
from pytest_ltm.records.judge_checks import FILE, TIMINGS


def asked(run: Path, *remembered: bool) -> None:
    timings = Timings.at(run / TIMINGS)
    for each in remembered:
        usage = Usage(input_tokens=200, output_tokens=50)
        timings.write(
            JudgeTime(
                example="right", vote=0, remembered=each, seconds=0.1, usage=usage
            )
        )
    timings.close()


def test_what_the_judge_remembers_costs_nothing(tmp_path: Path) -> None:
    asked(tmp_path, False, True, False)

    assert judge_checks.precheck_usage(tmp_path, Tariff()) == (2, 500, None, False)
    assert judge_checks.precheck_usage(tmp_path, Tariff(price=Price(1000, 0))) == (
        2,
        500,
        0.4,
        False,
    )


def test_a_judge_that_was_cut_off_was_asked_all_the_same(tmp_path: Path) -> None:
    assert judge_checks.judge_prechecks(tmp_path) == []
    asked(tmp_path, False)

    [found] = judge_checks.judge_prechecks(tmp_path)
    assert (found.verdict, found.calls, found.tokens) == ("unfinished", 1, 250)


def test_what_they_came_to_is_kept_and_a_damaged_file_tells_nothing(
    tmp_path: Path,
) -> None:
    came_to = Precheck(
        kind="canaries",
        of="rules",
        verdict="wrong",
        why="it passes anything",
        calls=2,
        cost_usd=0.5,
    )
    judge_checks.write_precheck(tmp_path, came_to)
    assert judge_checks.read_precheck(tmp_path) == came_to
    assert judge_checks.judge_prechecks(tmp_path) == [came_to]

    for damaged in ("", "{", "[]", '{"kind": "canaries"}'):
        (tmp_path / FILE).write_text(damaged)
        assert judge_checks.read_precheck(tmp_path) is None
