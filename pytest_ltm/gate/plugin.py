"""The gate's plugin, which loads the gate only if an option or a scenario asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm.api import LtmRun, Option


def pytest_ltm_options(register: Callable[[Option], None]) -> None:
    """Register the options of the gate."""
    from pytest_ltm.gate.options import OPTIONS

    for option in OPTIONS:
        register(option)


@hookimpl(trylast=True)
def pytest_ltm_begin(run: LtmRun) -> None:
    """Register the watcher that loads the gate, before the plugins that show its verdict."""
    from pytest_ltm.gate.watch import GateWatch

    watch = GateWatch(run)
    run.config.pluginmanager.register(watch, "ltm-gate-watch")
    watch.heed_options()
