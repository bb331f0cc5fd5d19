"""The benchmark `linear`, on a fake clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks import linear
from benchmarks.linear import Reading
from pytest_ltm.api.storage import ConfigurationError


@pytest.mark.parametrize(
    ("seconds", "status", "printed"),
    [
        (
            lambda letters: 0.01 * letters,
            0,
            "words: at most 10 times the time for ten times the text, of 'a '\n",
        ),
        (
            lambda letters: 0.01 * letters**2,
            1,
            "  grows faster than its text: 'a ', 100 times\n",
        ),
    ],
)
def test_what_grows_with_the_square_of_a_text_ends_with_status_1(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seconds: Callable[[int], float],
    status: int,
    printed: str,
) -> None:
    passed = [0.0]

    def read(text: str) -> None:
        passed[0] += seconds(len(text))

    monkeypatch.setattr(linear, "process_time", lambda: passed[0])
    monkeypatch.setattr(linear, "READINGS", (Reading("words", read, ("a ",)),))
    monkeypatch.setattr(linear, "_evaluator_readings", tuple)

    assert linear.main(["--size", "100"]) == status
    assert capsys.readouterr().out.endswith(printed)


def test_each_reading_reads_each_of_its_pieces(
    capsys: pytest.CaptureFixture[str],
) -> None:
    linear.main(["--size", "10", "--repeat", "1"])
    assert len(capsys.readouterr().out.splitlines()) >= len(linear.READINGS)


def test_a_size_without_a_tenth_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="--size is at least 10"):
        linear.main(["--size", "9"])
