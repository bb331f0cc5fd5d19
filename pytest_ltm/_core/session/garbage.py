"""Pauses the garbage collector while an LTM run starts: that creates many objects and hardly any garbage."""

from __future__ import annotations

import gc
from collections.abc import Generator
from functools import cache

import pytest


def hold_back(config: pytest.Config) -> None:
    """Disable the garbage collector until the first scenario is played, if it is enabled."""
    if gc.isenabled():
        gc.disable()
        config.add_cleanup(gc.enable)
        config.pluginmanager.register(_Awakened(), "ltm-garbage")


class _Awakened:
    """Re-enables the collector for scenarios and agents; objects from the start are never collected."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Enable the collector; of several runs in a process, only the objects of the first are frozen."""
        freeze_once()
        gc.enable()
        return (yield)


@cache
def freeze_once() -> None:
    """Exempt all existing objects from collection; further calls do nothing."""
    gc.freeze()
