"""The beginning of an LTM run: everything is checked here, before anything runs."""

from __future__ import annotations

import pytest

from pytest_ltm._secrets import redacted
from pytest_ltm.plugin import _gate_options, _settings
from pytest_ltm.plugin._brevity import Brevity
from pytest_ltm.plugin._costs import Costs
from pytest_ltm.plugin._gate import Gate
from pytest_ltm.plugin._redaction import Redaction
from pytest_ltm.plugin._report import Report
from pytest_ltm.plugin._resume import Resume
from pytest_ltm.plugin._run import LtmRun
from pytest_ltm.plugin._selection import Selection
from pytest_ltm.plugin._shards import Sharding
from pytest_ltm.plugin._state import RUN
from pytest_ltm.plugin._unfinished import Unfinished
from pytest_ltm.plugin._xdist import hooks


def start(config: pytest.Config) -> None:
    """Parse and check the options, and register the plugins of an LTM run."""
    if config.option.help or getattr(config.option, "version", 0):
        return
    try:
        _register(config)
    except pytest.UsageError as error:
        raise pytest.UsageError(*(redacted(str(word)) for word in error.args)) from error


def _register(config: pytest.Config) -> None:
    selection = Selection(config)
    settings = _settings.parse(config, has_paths=selection.has_paths)
    run = config.stash[RUN] = LtmRun(config, settings, selection)
    manager = config.pluginmanager
    manager.register(Redaction(), "ltm-redaction")
    _register_before(run, manager)
    if not manager.hasplugin("ltm-run"):
        manager.register(run, "ltm-run")
    run.costs.check()
    if not run.is_worker:
        manager.register(Costs(run), "ltm-costs")
    if run.rehearses:
        from pytest_ltm.plugin._dry_run import DryRun  # noqa: PLC0415 - most runs are none

        manager.register(DryRun(run), "ltm-dry-run")
    gate = Gate(run, _gate_options.parse(config, settings, run.folder.path))
    manager.register(gate, "ltm-gate")
    report = None if run.is_worker else Report(run, gate)
    if report is not None:
        _register_reporting(run, report, manager)
    if getattr(config.option, "htmlpath", None):
        _register_html(report, manager)
    if manager.hasplugin("xdist"):
        manager.register(hooks(run), "ltm-xdist")


def _register_before(run: LtmRun, manager: pytest.PytestPluginManager) -> None:
    """Register what is called after the run's own hooks, which therefore are registered later."""
    settings = run.settings
    if settings.shard is not None:
        manager.register(Sharding(settings, settings.shard), "ltm-shard")
    if settings.rescored is not None:
        from pytest_ltm.plugin._rescoring import Rescoring  # noqa: PLC0415 - few runs are scored again

        manager.register(Rescoring(run, settings.rescored), "ltm-rescoring")
    if run.resumed is not None:
        manager.register(Resume(run), "ltm-resume")


def _register_reporting(run: LtmRun, report: Report, manager: pytest.PytestPluginManager) -> None:
    """Register what only the controller, or the only process, shows."""
    manager.register(report, "ltm-report")
    manager.register(Brevity(run.settings), "ltm-brevity")
    if run.settings.rescored is None:
        manager.register(Unfinished(run, report), "ltm-unfinished")


def _register_html(report: Report | None, manager: pytest.PytestPluginManager) -> None:
    from pytest_ltm.plugin._html import HtmlReport, HtmlRows  # noqa: PLC0415 - only where pytest-html is

    manager.register(HtmlRows(), "ltm-html-rows")
    if report is not None:
        manager.register(HtmlReport(report), "ltm-html-report")
