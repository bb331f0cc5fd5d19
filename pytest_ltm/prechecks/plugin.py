"""Checks before the first conversation, each of which may refuse all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    from pytest_ltm.api import LtmRun


@hookimpl(tryfirst=True)
def pytest_ltm_begin(run: LtmRun) -> None:
    """Register them before gate and reports, whose lines in the header stand below theirs."""
    from pytest_ltm.prechecks.canaries import Canaries
    from pytest_ltm.prechecks.probe import Probe
    from pytest_ltm.prechecks.shadow import ShadowPlays

    run.config.pluginmanager.register(Canaries(run), "ltm-canaries")
    run.config.pluginmanager.register(Probe(run), "ltm-probe")
    run.config.pluginmanager.register(ShadowPlays(run), "ltm-shadows")
