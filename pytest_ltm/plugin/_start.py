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
from pytest_ltm.plugin._resume import Resume, Unfinished
from pytest_ltm.plugin._run import LtmRun
from pytest_ltm.plugin._selection import Selection
from pytest_ltm.plugin._shards import Sharding
from pytest_ltm.plugin._state import RUN
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
    if settings.shard is not None:  # before the run's own hooks are registered: so it is called after them
        manager.register(Sharding(settings, settings.shard), "ltm-shard")
    if settings.rescored is not None:
        from pytest_ltm.plugin._rescoring import Rescoring  # noqa: PLC0415 - few runs are scored again

        manager.register(Rescoring(run, settings.rescored), "ltm-rescoring")
    if run.resumed is not None:
        manager.register(Resume(run), "ltm-resume")
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
    if not run.is_worker:
        report = Report(run, gate)
        manager.register(report, "ltm-report")
        manager.register(Brevity(settings), "ltm-brevity")
        if settings.rescored is None:
            manager.register(Unfinished(run, report), "ltm-unfinished")
    if getattr(config.option, "htmlpath", None):
        from pytest_ltm.plugin._html import HtmlReport, HtmlRows  # noqa: PLC0415 - only where pytest-html is

        manager.register(HtmlRows(), "ltm-html-rows")
        if not run.is_worker:
            manager.register(HtmlReport(report), "ltm-html-report")
    if manager.hasplugin("xdist"):
        manager.register(hooks(run), "ltm-xdist")
