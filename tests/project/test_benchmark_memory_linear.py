"""The benchmarks `evidence` and `memory-linear`, on very small inputs."""

from __future__ import annotations

import pytest

from benchmarks import evidence, memory_linear
from pytest_ltm.api.storage import ConfigurationError


def test_without_a_file_nothing_is_measured() -> None:
    with pytest.raises(ConfigurationError, match="evidence needs --longmemeval FILE"):
        evidence.main([])


def test_each_preset_has_a_line_with_what_messages_take_at_three_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory_linear, "PRESETS", ("retrieval",))
    *_, line = memory_linear.linear(2_000, 1)
    name, *figures = line.split()
    assert (name, len(figures)) == ("retrieval", 9)
    assert all(float(figure) >= 0 for figure in figures)
