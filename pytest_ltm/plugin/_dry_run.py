"""DryRun: `--ltm-dry-run`, the schedule that would be run and what it would take; nobody is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm.agents._foreseen import foresee
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._rehearsal import RehearsedConversation
from pytest_ltm.reporting._forecast import Priced, forecast_lines

if TYPE_CHECKING:
    from pytest_ltm._costs._forecast import Forecast
    from pytest_ltm.plugin._run import LtmRun

_NOT_WITH = {"ltm_resume": "what is left of a run cannot be told", "ltm_rescore": "scoring again asks no agent"}


class DryRun:
    """Holds every conversation with a stand-in, and shows what came of it."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._found: list[Forecast] = []
        option = run.config.option
        for name, why in _NOT_WITH.items():
            if getattr(option, name, None):
                raise pytest.UsageError(f"--ltm-dry-run: not with --{name.replace('_', '-')}: {why}")
        option.dist, option.tx, option.numprocesses = "no", [], None  # it is over sooner than workers are there
        found = self._found

        class Rehearsed(RehearsedConversation):
            kept = staticmethod(found.append)

        run.playing_as = Rehearsed

    def pytest_report_header(self) -> str:
        """Say that nothing happens."""
        return "ltm: dry run: nobody is asked, no agent is made, nothing is written"

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the schedule and the figures."""
        if not self._found:
            return
        terminalreporter.section("dry run")
        costs, settings = self._run.costs, self._run.settings
        priced = {
            label: Priced(
                price=known.tariff.price,
                source=known.source,
                free=known.tariff.free,
                policy=foresee(self._run.sources[label]).policy,
                brief=foresee(self._run.sources[label]).brief,
            )
            for label, known in costs.agents.items()
        }
        judge = Priced(price=costs.judge.tariff.price, source=costs.judge.source, free=costs.judge.tariff.free)
        for line in forecast_lines(
            self._found,
            priced,
            judge,
            width=terminalreporter._tw.fullwidth,
            latency=settings.costs.latency,
            waits_really=_options.text(self._run.config, "ltm_time") == "sleep",
            color=terminalreporter.hasmarkup,
        ):
            terminalreporter.write_line(line)
