"""Verdicts corrected by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
import sample_runs

from pytest_ltm.api.storage import ConfigurationError, LtmError
from pytest_ltm.records import amendments as _amendments
from pytest_ltm.records.amendments import Amendment

NODEID = "ltm/colours.py::test_colours[full-2k-0-0]"
WRONG = Amendment(score=0.0, reason="it named the colour by chance")


def test_an_amendment_replaces_the_verdict_and_keeps_the_automatic_one(
    tmp_path: Path,
) -> None:
    row = _amendments.amend_verdict(tmp_path, sample_runs.one(), NODEID, WRONG)
    assert (row.score, row.outcome, row.reason) == (
        0.0,
        "failed",
        "amended by hand: it named the colour by chance",
    )
    assert row.automatic is not None
    assert (row.automatic.score, row.automatic.outcome) == (1.0, "passed")


def test_amendments_are_found_again_and_change_the_run(tmp_path: Path) -> None:
    run = sample_runs.one()
    _amendments.amend_verdict(tmp_path, run, NODEID, WRONG)
    again = _amendments.apply_amendments(run, _amendments.read_amendments(tmp_path))
    changed = [row.nodeid for row in again.scenarios if row.automatic is not None]
    assert changed == [NODEID]


def test_a_second_amendment_still_keeps_the_automatic_verdict(tmp_path: Path) -> None:
    run = sample_runs.one()
    _amendments.amend_verdict(tmp_path, run, NODEID, WRONG)
    first = _amendments.apply_amendments(run, _amendments.read_amendments(tmp_path))
    row = _amendments.amend_verdict(
        tmp_path, first, NODEID, Amendment(score=0.5, reason="half")
    )
    assert row.automatic is not None
    assert row.automatic.score == 1.0
    assert _amendments.read_amendments(tmp_path)[NODEID].score == 0.5


def test_a_run_without_amendments_has_none(tmp_path: Path) -> None:
    assert _amendments.read_amendments(tmp_path) == {}


def test_an_unknown_item_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"Did you mean 'ltm/colours.py::test_colours"
    ):
        _amendments.amend_verdict(
            tmp_path, sample_runs.one(), NODEID.replace("colours", "colors"), WRONG
        )


@pytest.mark.parametrize(("score", "reason"), [(1.5, "x"), (-0.1, "x"), (1.0, " ")])
def test_a_score_out_of_range_or_a_missing_reason_is_refused(
    score: float, reason: str
) -> None:
    with pytest.raises(ConfigurationError):
        Amendment(score=score, reason=reason)


@pytest.mark.parametrize(
    "text", ["[1]", "{", '{"x": {"score": "high", "reason": "y"}}']
)
def test_a_broken_file_says_what_is_wrong(tmp_path: Path, text: str) -> None:
    (tmp_path / "amendments.json").write_text(text)
    with pytest.raises(LtmError, match=r"amendments\.json"):
        _amendments.read_amendments(tmp_path)
