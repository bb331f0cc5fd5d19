"""Going on with a run: what must be equal is checked before anything is sent."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from pytest_ltm._errors import AgentError, LtmError
from pytest_ltm._resumable import plan_differences
from pytest_ltm._run_file import read_run_file
from pytest_ltm._tokens import counter
from pytest_ltm.plugin import _again
from pytest_ltm.plugin._begun import Begun
from pytest_ltm.plugin._items import LTM_ITEM
from pytest_ltm.plugin._opened import Supply
from pytest_ltm.plugin._planning import filler_for, plan_for
from pytest_ltm.plugin._run import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_ltm._plan import Plan
    from pytest_ltm._recording import Recording
    from pytest_ltm.plugin._items import LtmItem
    from pytest_ltm.plugin._run import LtmRun


class Resume:
    """Refuses to go on with a run that would not be the same run; there is no force."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._begun = Begun({}, {})

    def pytest_report_header(self) -> list[str]:
        """Say what is gone on with, and what a kill or a crash has left half written."""
        begun = self._begun
        stuck = f", {len(begun.stuck)} cannot be gone on with" if begun.stuck else ""
        torn = {name: one.torn for name, one in begun.heard.items() if one.torn}
        resumed = (
            f"ltm: resumed: {len(begun.complete)} of {len(begun.recordings)} conversations that were begun are "
            f"complete{stuck}; {begun.exchanges:,} recorded exchanges are not said again"
        )
        left_out = [f"ltm: {name}: a torn last line of {size:,} bytes is left out" for name, size in torn.items()]
        return [resumed, *left_out]

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self) -> Iterator[None]:
        """Check options and agents, also those whose conversations are complete, as far as they can be made."""
        if self._run.plays:
            self._begun = Begun.of(self._run.folder.path)
            if not self._run.is_worker:
                self._check_settings()
                self._refuse(self._agents())
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Check each plan once it is known which examples are selected, and whether anything is left to be said."""
        yield
        if self._run.plays:
            groups = {"~".join(key): group for key, group in grouped(item.stash[LTM_ITEM] for item in items).items()}
            heard = self._begun.heard
            known = [(name, heard[name], group) for name, group in groups.items() if name in heard]
            self._refuse([problem for each in known for problem in self._plan_problems(*each)])
            if not self._begun.can_go_on(groups):
                self._refuse(self._begun.reasons())

    def _check_settings(self) -> None:
        folder = self._run.folder.path
        try:
            found = _again.differences(read_run_file(folder), self._run.settings)
        except LtmError as error:
            raise pytest.UsageError(f"--ltm-resume: {error}") from error
        self._refuse(found)

    def _agents(self) -> list[str]:
        by_label: dict[str, dict[str, Recording]] = {}
        for name, recording in self._begun.heard.items():
            if name not in self._begun.stuck:
                by_label.setdefault(name.partition("~")[0], {})[name] = recording
        known = [(label, held) for label, held in by_label.items() if label in self._run.sources]
        return [problem for label, held in known for problem in self._agent_problems(label, held)]

    def _agent_problems(self, label: str, held: dict[str, Recording]) -> list[str]:
        folder = self._run.folder.path / next(iter(held))
        supply = Supply(self._run.sources[label], self._run.settings, folder, label=label, trial=0)
        try:
            found = supply.differences(held.values())
        except AgentError as error:
            # Who has come to the end is only reported again, for which nobody needs a key or a server.
            found = [] if self._begun.complete >= held.keys() else [str(error)]
        except LtmError as error:
            found = [str(error)]
        return [f"{label}: {' '.join(found)}"] if found else []

    def _plan_problems(self, name: str, recording: Recording, group: list[LtmItem]) -> list[str]:
        found = plan_differences(recording, self._plan(group))
        return [f"{name}: {' '.join(found)}"] if found else []

    def _plan(self, group: list[LtmItem]) -> Plan:
        settings = self._run.settings
        filler = filler_for(self._run.config, settings, group[0].place.trial, counter(settings.tokenizer))
        return plan_for(group, settings, filler)[0]

    def _refuse(self, problems: list[str]) -> None:
        if problems:
            self._run.plays = False  # nothing is written, nothing is shown
            folder = self._run.folder
            raise pytest.UsageError(
                f"--ltm-resume: run {folder.name} cannot be resumed:\n  " + "\n  ".join(problems) + "\n"
                "What was recorded stays as it is. Start a new run, or put things back to how they were. What else can "
                f"be done with it: python -m pytest_ltm doctor {shlex.quote(folder.shown())}"
            )
