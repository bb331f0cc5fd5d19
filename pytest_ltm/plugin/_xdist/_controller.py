"""Controller: the hooks of the process that hands conversations out and shows what comes back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._recording import RESULTS
from pytest_ltm.plugin._xdist import _wire
from pytest_ltm.plugin._xdist._ledger import Brief, Ledger
from pytest_ltm.plugin._xdist._recovery import Recovery
from pytest_ltm.plugin._xdist._scheduling import ConversationScheduling, failed_collection

START_TRIES = 3
"""So often a worker is started that dies before it can speak."""
GRACE = 3.0
"""Seconds that workers have, after Ctrl-C, for the reply that they wait for: somebody sits there."""
STOP_GRACE = 15.0
"""The same after -x and --maxfail, where nobody does."""

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_ltm.plugin._run import LtmRun
    from pytest_ltm.plugin._xdist._units import Unit


class Controller:
    """What the controller does beyond xdist."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        if run.config.option.dist == "each":
            raise pytest.UsageError("--dist=each would have every conversation on every worker. Leave --dist out")
        self.scheduling: ConversationScheduling | None = None
        self._conversation = _conversation_pattern(run)
        self._expected: dict[str, int] = {}
        self._ledger = Ledger()
        self.recovery = Recovery(run, self._ledger)
        self._away: set[Any] = set()
        """Workers on other machines."""
        self._stopped = self._interrupted = False
        self._failures = 0

    @property
    def notices(self) -> list[str]:
        """Of the run, for its report."""
        return self.recovery.notices

    # --- beginning

    def conversation_of(self, nodeid: str) -> str:
        """Return the labels that name an item's conversation; the controller knows node ids only."""
        found = self._conversation.search(nodeid, max(nodeid.find("::"), 0))
        return found.group(1) if found else nodeid

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> ConversationScheduling:
        """Schedule conversations; never `loadgroup`, which rewrites node ids or silently stops grouping."""
        self.scheduling = ConversationScheduling(
            len(self._dsession.nodemanager.specs),
            unit_of=self.conversation_of,
            expected=self._expected,
            send=self._hand_out,
            lost=self._lost,
            differ=self._differ,
            may_play=self._may_play,
        )
        return self.scheduling

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self) -> None:
        """Start a worker again that dies while it starts."""
        _wire.start_patiently(self._dsession.nodemanager, START_TRIES)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Have all workers write into one run folder, and listen to them."""
        node.workerinput["ltm_run"] = self._run.folder.name
        node.workerinput["ltm_live"] = self._run.progress.is_live
        _wire.hear(node, self._dsession, self._heard)

    @property
    def _dsession(self) -> Any:
        return self._run.config.pluginmanager.get_plugin("dsession")

    def _hand_out(self, node: Any, unit: Unit, indices: list[int]) -> None:
        self._run.progress.gone(unit.name, left=self._left)
        _wire.tell(node, _wire.UNIT, unit=unit.name, indices=indices, told=self._ledger.told(unit))

    def _may_play(self, node: Any, unit: Unit) -> bool:
        """Return whether a worker can: what has a journal here would be begun anew, and said again, elsewhere."""
        return node not in self._away or not self._run.folder.has_journal(unit.name)

    def _lost(self, node: Any, unit: Unit) -> bool:
        self._run.progress.gone(unit.name, left=self._left)
        if self._stopped:
            return False
        return self.recovery.lost(node.gateway.id, unit, here=node not in self._away)

    @property
    def _left(self) -> int:
        """Conversations that nobody plays yet."""
        return self.scheduling.waiting if self.scheduling is not None else 0

    def _differ(self, worker: str, text: str) -> None:
        self._run.config.hook.pytest_collectreport(report=failed_collection(worker, text))

    # --- what workers say

    def _heard(self, node: Any, kind: str, **values: Any) -> None:
        listeners: dict[str, Callable[..., None]] = {
            "refused": self._refused,
            "collected": self._collected,
            "begun": self._begun,
            "row": self._row,
            "written": self._written,
            "results": self._results,
            "over": self._over,
            "progress": self._progress,
        }
        listeners[kind](node, **values)

    def _refused(self, node: Any, sentences: list[str]) -> None:
        raise pytest.UsageError(*sentences)

    def _collected(self, node: Any, here: bool, tokens: dict[str, int], scenarios: list[str]) -> None:
        if not here:
            self._away.add(node)
        self._expected.update(tokens)
        self._run.scenario_names.update(scenarios)

    def _begun(self, node: Any, unit: str, briefs: list[list[Any]]) -> None:
        self._ledger.begun(unit, [Brief(*brief) for brief in briefs])

    def _row(self, node: Any, unit: str, nodeid: str, row: str) -> None:
        self._ledger.ended(unit, nodeid, row)

    def _written(self, node: Any, folder: str, event: dict[str, Any]) -> None:
        self.recovery.told(folder, event)

    def _results(self, node: Any, folder: str, text: str) -> None:
        """Keep what a worker on another machine sends: the report reads this machine's run folder."""
        self.recovery.over(folder)
        path = self._run.folder.path / folder
        path.mkdir(exist_ok=True)
        (path / RESULTS).write_text(text, encoding="utf-8")

    def _over(self, node: Any, unit: str) -> None:
        self._ledger.over(unit)
        if self.scheduling is not None:
            self.scheduling.over(node, unit)
        self._run.progress.gone(unit, left=self._left)

    def _progress(self, node: Any, unit: str, state: dict[str, Any]) -> None:
        self._run.progress.show(unit, state)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        """Show the lines again: what was written about the item has taken them away."""
        self._run.progress.draw()

    # --- stopping

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Stop the other workers' conversations, too, when -x or --maxfail is reached."""
        self._ledger.reported(report)
        maxfail = self._run.config.getvalue("maxfail")
        self._failures += report.failed and not hasattr(report, "wasxfail")
        if maxfail and self._failures >= maxfail:
            self._stop(f"stopping after {self._failures} failures")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker that ends because its own session stops ends the others'."""
        output = getattr(node, "workeroutput", None)
        if not error and output:
            why = output.get("shouldfail") or output.get("shouldstop")
            if why:
                self._stop(str(why))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Be quick after Ctrl-C; what xdist raises after -x is a kind of KeyboardInterrupt, too."""
        self._interrupted = excinfo.type is KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Before the report: after Ctrl-C let the workers write down what they have; miss nothing in silence."""
        dsession = self._dsession
        if dsession is not None and dsession._active_nodes:
            self._stop("interrupted")
            _wire.until_down(dsession, GRACE if self._interrupted else STOP_GRACE)
        if self.scheduling is not None and not self._stopped:
            for unit in self.scheduling.unplayed:
                stranded = bool(self._away) and self._run.folder.has_journal(unit.name)
                here = " of this machine, where its journal is," if stranded else ""
                self.recovery.give_up(unit, f"no worker{here} was left to play it")

    def _stop(self, why: str) -> None:
        if self._stopped or self._dsession is None:  # xdist is installed, and there are no workers
            return
        self._stopped = True
        for node in list(self._dsession._active_nodes):
            _wire.tell(node, _wire.STOP, why=why)


def _conversation_pattern(run: LtmRun) -> re.Pattern[str]:
    agents = "|".join(re.escape(agent.label) for agent in run.settings.agents)
    spans = "|".join(re.escape(span) for span in run.settings.spans)
    return re.compile(rf"\[((?:{agents})-(?:{spans})-[^-\]]+)(?=[-\]])")
