"""The messages of controller and workers in addition to xdist's: one event `ltm` up, two commands down.

The required parts of pytest-xdist 3.5 to 3.8 are listed in `internals/names.yml`. In
addition to names: DSession finds `worker_<event>` among its own attributes; execnet's
Group.makegateway has a local variable `io` with a `popen`; all values are of types that
execnet supports (built-in types). An unknown event would end the worker, so ours are
removed before xdist sees them.
"""

from __future__ import annotations

import subprocess
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_ltm.api.journal import ConversationName
from pytest_ltm.api.scenarios import label_of
from pytest_ltm.api.storage import LtmInternalError, stopwatch_seconds

if TYPE_CHECKING:
    from pytest_ltm.modes.xdist.scheduling import WorkUnit


# Worker to controller; `kind` is the kind of event.
EVENT = "ltm"
# Controller to worker: play this conversation.
UNIT = "ltm_unit"
# Controller to worker: play no further message.
STOP = "ltm_stop"


def listen_to_node(node: Any, dsession: Any, listener: Callable[..., None]) -> None:
    """Call `listener(node, **values)`, in the main thread, for each event of ours that a worker sends."""
    setattr(dsession, f"worker_{EVENT}", listener)
    xdists = node.process_from_remote

    def process(eventcall: Any) -> None:  # runs in the thread that receives
        if isinstance(eventcall, tuple) and eventcall[0] == EVENT:
            node.notify_inproc(EVENT, node=node, **eventcall[1])
        else:
            xdists(eventcall)

    node.process_from_remote = process


def start_patiently(nodemanager: Any, tries: int) -> None:
    """Start each worker up to this many times: one that dies immediately would end the session."""
    xdists = nodemanager.setup_node

    def setup_node(spec: Any, *arguments: Any) -> Any:
        for _ in range(tries - 1):
            try:
                return xdists(spec, *arguments)
            except (EOFError, OSError) as error:
                _reap_failed_worker(error)
                spec.id = None  # the old id is taken, if it got that far
                nodemanager.group.allocate_id(spec)
        return xdists(spec, *arguments)

    nodemanager.setup_node = setup_node


def _reap_failed_worker(error: BaseException) -> None:
    """Kill the process of a worker that did not start: execnet keeps it only in this error's frames."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        process = getattr(frame.f_locals.get("io"), "popen", None)
        if isinstance(process, subprocess.Popen):
            # Closes its pipes, one of which may contain unread data, and waits for it.
            with suppress(OSError), process:
                process.kill()


def send_command(node: Any, command: str, **values: Any) -> None:
    """Send a command of ours to a worker; a dead one never receives it."""
    with suppress(OSError):
        node.sendcommand(command, **values)


def obey_commands(interactor: Any, listeners: dict[str, Callable[..., None]]) -> None:
    """Pass our commands to their listeners, in the receiving thread."""
    xdists = interactor.handle_command

    def handle(command: Any) -> None:
        if isinstance(command, tuple) and command[0] in listeners:
            listeners[command[0]](**command[1])
        else:
            xdists(command)

    interactor.handle_command = handle


def until_down(dsession: Any, seconds: float) -> None:
    """Shut all workers down and wait up to `seconds`; of their events, only results are handled."""
    for node in dsession._active_nodes:
        node.shutdown()
    end = stopwatch_seconds() + seconds
    while dsession._active_nodes and (seconds_left := end - stopwatch_seconds()) > 0:
        try:
            name, values = dsession.queue.get(timeout=seconds_left)
        except Empty:
            return
        if name == EVENT and values["kind"] == "results":
            getattr(dsession, f"worker_{EVENT}")(**values)
        if name in {"workerfinished", "errordown"}:
            dsession._active_nodes.discard(values["node"])


# --- Ledger: the reports received for each item, so that none is duplicated or lost.


class Brief(NamedTuple):
    """A worker's data about an item before it is played, sufficient to report it if it cannot be played."""

    nodeid: str
    folder: str
    """The name of its conversation's folder."""
    scenario: str
    example: str
    threshold: float
    pass_k: int | None
    skills: tuple[str, ...]
    location: tuple[str, int, str]
    """Its location according to pytest: path, line and name."""

    @property
    def key(self) -> str:
        """The example's name in its conversation."""
        return f"{self.scenario}/{self.example}"


class ReportLedger:
    """Reports by item; briefs and results of the units being played."""

    def __init__(self) -> None:
        self._reports: Counter[str] = Counter()
        self._finished: set[str] = set()
        self._briefs: dict[str, tuple[Brief, ...]] = {}
        self._rows: dict[str, dict[str, str]] = {}

    def reported(self, report: pytest.TestReport) -> None:
        """Record a report from a worker."""
        self._reports[report.nodeid] += 1
        if report.when == "teardown":
            self._finished.add(report.nodeid)

    def is_finished(self, nodeid: str) -> bool:
        """Return whether an item has been reported completely."""
        return nodeid in self._finished

    def told(self, unit: WorkUnit) -> dict[str, list[int]]:
        """Return, by item of a unit, the number of its reports so far, and whether it is complete."""
        reported: dict[str, list[int]] = {}
        for nodeid in unit.items:
            if nodeid in self._reports:
                finished = int(nodeid in self._finished)
                reported[nodeid] = [self._reports[nodeid], finished]
        return reported

    def begun(self, unit: str, briefs: Iterable[Brief]) -> None:
        """Record the briefs of a unit that a worker is about to play."""
        self._briefs[unit] = tuple(briefs)

    def ended(self, unit: str, nodeid: str, row: str) -> None:
        """Record the result of an example."""
        self._rows.setdefault(unit, {})[nodeid] = row

    def over(self, unit: str) -> None:
        """Drop a unit that has been played: the rest is on disk."""
        self._briefs.pop(unit, None)
        self._rows.pop(unit, None)

    def briefs(self, unit: WorkUnit) -> tuple[Brief, ...]:
        """Return the briefs of a unit's items, derived from the node ids if no worker has begun it."""
        made_up = []
        for nodeid in () if unit.name in self._briefs else unit.items:
            # `file::test_name[agent-span-trial-example...]`
            path, _, name_parts = nodeid.partition("::")
            name = label_of(
                name_parts.partition("[")[0].rpartition("::")[2].removeprefix("test_")
            )
            example, _, variant = (
                _node_id_labels(nodeid).removeprefix(f"{unit.name}-").partition("-")
            )
            scenario = f"{name}.{label_of(variant)}" if variant else name
            folder = conversation_of(nodeid).folder
            made_up.append(
                Brief(
                    nodeid,
                    folder,
                    scenario,
                    example,
                    1.0,
                    None,
                    (),
                    (path, 0, name_parts),
                )
            )
        return self._briefs.get(unit.name) or tuple(made_up)

    def rows(self, unit: str) -> dict[str, str]:
        """Return the known results of a unit's examples, as JSON, by node id."""
        return dict(self._rows.get(unit, {}))


def conversation_of(nodeid: str) -> ConversationName:
    """Return the conversation of an item, from its node id."""
    labels = ConversationName.of_labels(_node_id_labels(nodeid))
    if labels is None:
        raise LtmInternalError(f"{nodeid} names no conversation")
    return labels


def _node_id_labels(nodeid: str) -> str:
    return nodeid.partition("::")[2].partition("[")[2].removesuffix("]")


# --- Filter: reports that a resuming worker may omit, because another one has sent
# them.


class Filter:
    """Detects events of items that were reported before; a repeated item has the same reports in the same order."""

    def __init__(self) -> None:
        self._known: dict[str, list[int]] = {}
        """By item: the number of its reports, and whether it is complete."""
        self._left: dict[str, int] = {}
        """The number of reports still to be omitted."""

    def leave_out(self, reported: dict[str, list[int]]) -> None:
        """Omit these numbers of reports of these items, and their other events if they are complete."""
        self._known |= reported
        self._left |= {nodeid: reports for nodeid, (reports, _) in reported.items()}

    def is_known(self, event: str, values: dict[str, Any]) -> bool:
        """Return whether this event has been sent before; each report is omitted once."""
        if event == "testreport":
            nodeid = values["data"]["nodeid"]
            repeats_left = self._left.get(nodeid, 0)
            self._left[nodeid] = max(repeats_left - 1, 0)
            return repeats_left > 0
        if event not in {"logstart", "logfinish", "warning_recorded"}:
            return False
        reports, finished = self._known.get(values["nodeid"], (0, 0))
        return bool(reports if event == "logstart" else finished)
