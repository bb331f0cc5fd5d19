"""The benchmarks `evidence` and `memory-linear`, on very little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks import evidence, memory_linear
from pytest_ltm._cli import main
from pytest_ltm._storage.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


def test_without_a_file_nothing_is_measured() -> None:
    with pytest.raises(ConfigurationError, match="evidence needs --longmemeval FILE"):
        evidence.main([])


@pytest.mark.slow
def test_a_generated_file_gives_a_table_by_value_and_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "s.json"
    assert main(["longmemeval-generate", "--count", "7", "--sessions", "5", "-o", str(data)]) == 0
    capsys.readouterr()
    monkeypatch.setattr(evidence, "LONGMEMEVAL", [("round", "value"), ("session", "facts")])
    evidence.main(["--longmemeval", str(data)])

    head, _, rounds, sessions = capsys.readouterr().out.splitlines()
    assert head == "| value | key | recall@5 | recall@10 | questions |"
    assert rounds.startswith("| round | value | ")
    assert sessions.startswith("| session | value + facts | ")
    assert sessions.endswith(" | 1.000 | 5 |")


def test_each_preset_has_a_line_with_what_messages_take_at_three_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_linear, "PRESETS", ("retrieval",))
    *_, line = memory_linear.linear(2_000, 1)
    name, *figures = line.split()
    assert (name, len(figures)) == ("retrieval", 9)
    assert all(float(figure) >= 0 for figure in figures)
