"""The start of an LTM run makes hundreds of thousands of objects and hardly any garbage: nobody looks for any."""

from __future__ import annotations

import gc
from collections.abc import Generator
from functools import cache

import pytest


def hold_back(config: pytest.Config) -> None:
    """Have Python's collector rest until the first scenario is played, if it is at work."""
    if gc.isenabled():
        gc.disable()
        config.add_cleanup(gc.enable)
        config.pluginmanager.register(_Awakened(), "ltm-garbage")


class _Awakened:
    """What scenarios and agents leave behind is collected as ever; what the start has made stays for good."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Wake the collector; of several runs in a process only the first one's start is left alone."""
        freeze_once()
        gc.enable()
        return (yield)


@cache
def freeze_once() -> None:
    """Let the collector pass by everything that is there; does nothing when called again."""
    gc.freeze()
