"""`ltm export` limits the time of a feature's exporter."""

from __future__ import annotations

import sys
import time
from typing import NoReturn

import pytest

from pytest_ltm.api.storage import ConfigurationError
from pytest_ltm.commands.sharing import ask_exporter


def hang() -> NoReturn:
    while True:
        time.sleep(0.01)


def fail() -> NoReturn:
    raise KeyError("no such table")


@pytest.mark.skipif(sys.platform == "win32", reason="no interval timers there")
def test_an_exporter_that_hangs_is_an_error_with_the_way_out() -> None:
    words = r"'mine' did not return within 0\.2 s\. .*give --timeout=SECONDS"
    with pytest.raises(ConfigurationError, match=words):
        ask_exporter("mine", hang, 0.2)


def test_an_exporter_that_raises_is_named() -> None:
    with pytest.raises(ConfigurationError, match="exporter 'mine' raised KeyError"):
        ask_exporter("mine", fail, 60)


@pytest.mark.parametrize("seconds", [0, 60])
def test_what_an_exporter_returns_is_taken(seconds: float) -> None:
    assert ask_exporter("mine", lambda: [1], seconds) == [1]
