"""Checks before the first conversation, each of which may refuse the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    import pytest

    from pytest_ltm.api import LtmRun


@hookimpl(tryfirst=True)
def pytest_ltm_begin(run: LtmRun) -> None:
    """Register the checks before gate and reports, so that their header lines come first."""
    from pytest_ltm.prechecks.probe import Probe
    from pytest_ltm.prechecks.taking_part import TakingPart

    manager = run.config.pluginmanager
    # A rescored run carries over the recorded outcome for the judge.
    if run.settings.rescored is not None or not run.settings.judge.is_none:
        from pytest_ltm.prechecks.canaries import Canaries

        manager.register(Canaries(run), "ltm-canaries")
    manager.register(Probe(run), "ltm-probe")
    manager.register(TakingPart(run), "ltm-taking-part")
    if _looks_for_giveaways(run.config):
        from pytest_ltm.prechecks.shadow import ShadowPlays

        manager.register(ShadowPlays(run), "ltm-shadows")


def _looks_for_giveaways(config: pytest.Config) -> bool:
    """Return whether scenarios are played without memory first: if a baseline is saved, or pytest is strict."""
    return bool(getattr(config.option, "ltm_save", None)) or is_strict(config)


def is_strict(config: pytest.Config) -> bool:
    """Return whether pytest is strict: an option of its own, since pytest 9 a setting."""
    try:
        return bool(config.getini("strict"))
    except (KeyError, ValueError):
        return bool(config.getoption("strict", default=False))
