"""The benchmark `evidence` on a small generated file."""

from __future__ import annotations

from pathlib import Path

import pytest
from alone import alone

from benchmarks import evidence
from pytest_ltm.commands import main

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)


@WHOLE_RUN
@pytest.mark.slow
def test_a_generated_file_gives_a_table_by_value_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in alone().items():
        monkeypatch.setenv(name, value)
    data = tmp_path / "s.json"
    assert (
        main(
            [
                "data",
                "longmemeval-generate",
                "--count",
                "7",
                "--sessions",
                "8",
                "-o",
                str(data),
            ]
        )
        == 0
    )
    capsys.readouterr()
    monkeypatch.setattr(
        evidence, "LONGMEMEVAL", [("round", "value"), ("session", "facts")]
    )
    evidence.main(["--longmemeval", str(data)])

    head, _, rounds, sessions = capsys.readouterr().out.splitlines()
    assert head == "| value | key | recall@5 | recall@10 | questions |"
    assert rounds.startswith("| round | value | ")
    assert sessions.startswith("| session | value + facts | ")
    # one question has evidence that shares no word with it
    assert sessions.endswith(" | 0.800 | 5 |")
