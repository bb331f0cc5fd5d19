"""Replacements made for an item are undone in any case."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_ltm._core.internals.item_context import InPlace


class Noted:
    """A swap that logs its steps, and fails on demand."""

    def __init__(self, name: str, log: list[str], *, fails_at: str = "") -> None:
        self._name, self._log, self._fails_at = name, log, fails_at

    def put_in(self) -> str:
        if self._fails_at == "put_in":
            raise KeyboardInterrupt
        self._log.append(f"+{self._name}")
        return f"before {self._name}"

    def take_out(self, outside: Any) -> None:
        self._log.append(f"-{self._name}")
        assert outside == f"before {self._name}"
        if self._fails_at == "take_out":
            raise ValueError(f"{self._name} is closed")


def test_the_last_one_in_is_the_first_one_out() -> None:
    log: list[str] = []
    with InPlace([Noted("a", log), Noted("b", log)]):
        log.append("body")
    assert log == ["+a", "+b", "body", "-b", "-a"]


def test_one_that_cannot_be_put_in_leaves_none_in() -> None:
    log: list[str] = []
    with (
        pytest.raises(KeyboardInterrupt),
        InPlace([Noted("a", log), Noted("b", log), Noted("c", log, fails_at="put_in")]),
    ):
        log.append("body")
    assert log == ["+a", "+b", "-b", "-a"]


def test_one_that_fails_on_the_way_out_keeps_none_in_and_is_told() -> None:
    log: list[str] = []
    with (
        pytest.raises(ValueError, match="b is closed"),
        InPlace(
            [Noted("a", log), Noted("b", log, fails_at="take_out"), Noted("c", log)]
        ),
    ):
        pass
    assert log == ["+a", "+b", "+c", "-c", "-b", "-a"]
