"""The modes of a run: resumed, scored again, rehearsed, several conversations at once, several processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_ltm.api import hookimpl

if TYPE_CHECKING:
    from pytest_ltm.api import LtmRun


@hookimpl(wrapper=True, tryfirst=True)
def pytest_ltm_begin(run: LtmRun) -> Iterator[None]:
    """Register the mode before all other features, and what speaks to other processes after them.

    The hooks of pytest are called from the last that was registered: xdist's side hears
    of items first, and what resuming or scoring again refuses comes before the gate.
    """
    _register_mode(run)
    _allow_concurrency(run)
    yield
    report = run.config.pluginmanager.get_plugin("ltm-report")
    if report is not None and run.settings.rescored is None:
        from pytest_ltm.modes.resume import Unfinished

        run.config.pluginmanager.register(Unfinished(run, report), "ltm-unfinished")
    _register_xdist(run)


def _register_mode(run: LtmRun) -> None:
    manager, option = run.config.pluginmanager, run.config.option
    if run.settings.rescored is not None:
        from pytest_ltm.modes.rescoring import Rescoring

        manager.register(Rescoring(run, run.settings.rescored), "ltm-rescoring")
    if run.resumed is not None:
        from pytest_ltm.modes.resume import ResumeGuard

        manager.register(ResumeGuard(run), "ltm-resume")
    if option.ltm_dry_run and run.rehearses:
        from pytest_ltm.modes.dry_run import DryRun

        manager.register(DryRun(run), "ltm-dry-run")


def _allow_concurrency(run: LtmRun) -> None:
    if run.settings.concurrency == 1 or not run.plays:
        return
    from pytest_ltm.modes.concurrency import ConcurrentRunner, limit_conversations

    run.most_at_once, run.of_agent = limit_conversations(run.sources, run.settings)
    run.make_runner = ConcurrentRunner


def _register_xdist(run: LtmRun) -> None:
    manager = run.config.pluginmanager
    # As `-p xdist.plugin` calls it.
    if not (manager.hasplugin("xdist") or manager.hasplugin("xdist.plugin")):
        return
    if run.is_worker:
        from pytest_ltm.modes.xdist.worker import Worker

        manager.register(Worker(run), "ltm-xdist")
    else:
        from pytest_ltm.modes.xdist.controller import Controller

        manager.register(Controller(run), "ltm-xdist")
