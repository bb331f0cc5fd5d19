"""`ltm data dataset-stats`: the papers' figures, for small files of our own and for the published ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_data import LOCOMO, LONGMEMEVAL
from locomo_files import talk, written
from longmemeval_files import KILN, MOSS
from longmemeval_files import written as histories

from pytest_ltm.commands import main
from pytest_ltm.datasets.locomo.samples import load_locomo
from pytest_ltm.lab.commands.dataset_stats import locomo_stats, longmemeval_stats

Capture = pytest.CaptureFixture[str]


def test_conversations_are_counted_as_in_the_paper(tmp_path: Path) -> None:
    sample = load_locomo(written(tmp_path / "talk.json", [talk()])).samples[0]
    figures = locomo_stats([sample])
    assert figures["conversations"] == "1"
    assert figures["turns a conversation"] == f"{len(sample.turns)}.0"
    assert (
        figures["photos a conversation"]
        == f"{sum(bool(turn.caption) for turn in sample.turns)}.0"
    )
    assert figures["questions"] == str(len(sample.questions))


def test_evidence_is_placed_within_its_session_and_its_history(tmp_path: Path) -> None:
    figures = longmemeval_stats(histories(tmp_path / "two.json", [KILN, MOSS]))
    assert (
        figures["questions, abstention"]
        == figures["questions, knowledge-update"]
        == "1"
    )
    assert figures["questions with 2 evidence sessions"] == "1"
    # the first of two turns, and the third of four
    assert figures["evidence, mean place in its session"] == "0.25"
    assert figures["evidence in the first turn"] == "50%"
    assert figures["evidence sessions, mean place in the history"] == "0.22"


def test_files_stand_side_by_side_by_their_format(
    tmp_path: Path, capsys: Capture
) -> None:
    one, two = (
        written(tmp_path / "one.json", [talk()]),
        histories(tmp_path / "two.json", [KILN]),
    )
    assert main(["data", "dataset-stats", str(one), str(two), str(one)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["LoCoMo", "one.json"]
    assert any(line.split() == ["LongMemEval", "two.json"] for line in lines)


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "nothing.json"), ("[]", "holds no conversation"), ("{", "nothing.json")],
)
def test_a_file_that_is_neither_is_an_error_that_names_it(
    tmp_path: Path, capsys: Capture, text: str, why: str
) -> None:
    (tmp_path / "nothing.json").write_text(text, "utf-8")
    assert main(["data", "dataset-stats", str(tmp_path / "nothing.json")]) == 2
    assert why in capsys.readouterr().err


def test_a_file_that_is_absent_is_an_error_that_names_it(
    tmp_path: Path, capsys: Capture
) -> None:
    assert main(["data", "dataset-stats", str(tmp_path / "gone.json")]) == 2
    assert "gone.json" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.published
def test_the_published_conversations_have_the_figures_of_the_paper() -> None:
    figures = locomo_stats(load_locomo(LOCOMO / "locomo10.json").samples)
    assert figures["tokens a conversation"] == "16,640.8"
    assert (figures["turns a conversation"], figures["sessions a conversation"]) == (
        "588.2",
        "27.2",
    )
    assert (figures["photos a conversation"], figures["questions"]) == (
        "122.6",
        "1,986",
    )


@pytest.mark.slow
@pytest.mark.published
def test_published_evidence_stands_mostly_at_the_beginning() -> None:
    figures = longmemeval_stats(LONGMEMEVAL / "longmemeval_s_cleaned_3.json")
    assert (
        figures["evidence, mean place in its session"],
        figures["evidence in the first turn"],
    ) == ("0.11", "50%")
