"""What controller and workers send each other beyond xdist: one event `ltm` up, two commands down.

What is relied on (pytest-xdist 3.5 to 3.8) is in `internals/names.yml`. Beyond names:
DSession finds `worker_<event>` among its own attributes; execnet's Group.makegateway
has a local variable `io` with a `popen`; all values are what execnet can carry
(built-in types). An event that xdist does not know would end the worker, so ours are
taken out before xdist sees them.
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

from pytest_ltm.api.journal import ConversationName, node_label
from pytest_ltm.api.storage import LtmInternalError, stopwatch_seconds

if TYPE_CHECKING:
    from pytest_ltm.modes.xdist.scheduling import WorkUnit


# Worker to controller; `kind` says what it is about.
EVENT = "ltm"
# Controller to worker: play this conversation.
UNIT = "ltm_unit"
# Controller to worker: play no further message.
STOP = "ltm_stop"


def listen_to_node(node: Any, dsession: Any, listener: Callable[..., None]) -> None:
    """Have `listener(node, **values)` called, in the main thread, for each event of ours that a worker sends."""
    setattr(dsession, f"worker_{EVENT}", listener)
    xdists = node.process_from_remote

    def process(eventcall: Any) -> None:  # runs in the thread that receives
        if isinstance(eventcall, tuple) and eventcall[0] == EVENT:
            node.notify_inproc(EVENT, node=node, **eventcall[1])
        else:
            xdists(eventcall)

    node.process_from_remote = process


def start_patiently(nodemanager: Any, tries: int) -> None:
    """Have each worker started up to this many times: one that dies in its first instants would end the session."""
    xdists = nodemanager.setup_node

    def setup_node(spec: Any, *arguments: Any) -> Any:
        for _ in range(tries - 1):
            try:
                return xdists(spec, *arguments)
            except (EOFError, OSError) as error:
                _reap_failed_worker(error)
                spec.id = None  # the old one is taken, if it got that far
                nodemanager.group.allocate_id(spec)
        return xdists(spec, *arguments)

    nodemanager.setup_node = setup_node


def _reap_failed_worker(error: BaseException) -> None:
    """End the process of a worker that did not come up: execnet keeps it nowhere but in this error's frames."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        process = getattr(frame.f_locals.get("io"), "popen", None)
        if isinstance(process, subprocess.Popen):
            # Closes its pipes, one of which may hold what it never read, and waits for
            # it.
            with suppress(OSError), process:
                process.kill()


def send_command(node: Any, command: str, **values: Any) -> None:
    """Send a command of ours to a worker; one that is gone never receives it."""
    with suppress(OSError):
        node.sendcommand(command, **values)


def obey_commands(interactor: Any, listeners: dict[str, Callable[..., None]]) -> None:
    """Have our commands carried out by their listeners, in the thread that receives."""
    xdists = interactor.handle_command

    def handle(command: Any) -> None:
        if isinstance(command, tuple) and command[0] in listeners:
            listeners[command[0]](**command[1])
        else:
            xdists(command)

    interactor.handle_command = handle


def until_down(dsession: Any, seconds: float) -> None:
    """Let all workers end, and wait so long for them at most; of what else they say only results are heard."""
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


# --- Ledger: what the controller has been told of each item, so that nothing is told
# twice and nothing gets lost.


class Brief(NamedTuple):
    """What a worker reports of an item before playing it: enough to account for it if it cannot be played."""

    nodeid: str
    folder: str
    """The name of its conversation's folder."""
    scenario: str
    example: str
    threshold: float
    pass_k: int | None
    skills: tuple[str, ...]
    location: tuple[str, int, str]
    """Where pytest says that it is: path, line and name."""

    @property
    def key(self) -> str:
        """The example's name in its conversation."""
        return f"{self.scenario}/{self.example}"


class ReportLedger:
    """Reports by item; briefs and results of the units that are being played."""

    def __init__(self) -> None:
        self._reports: Counter[str] = Counter()
        self._finished: set[str] = set()
        self._briefs: dict[str, tuple[Brief, ...]] = {}
        self._rows: dict[str, dict[str, str]] = {}

    def reported(self, report: pytest.TestReport) -> None:
        """A report has come from a worker."""
        self._reports[report.nodeid] += 1
        if report.when == "teardown":
            self._finished.add(report.nodeid)

    def is_finished(self, nodeid: str) -> bool:
        """Return whether an item has been reported to its end."""
        return nodeid in self._finished

    def told(self, unit: WorkUnit) -> dict[str, list[int]]:
        """Return by item what need not be told again of a unit: the number of reports, and whether it has ended."""
        reported_items = [nodeid for nodeid in unit.items if nodeid in self._reports]
        return {
            nodeid: [self._reports[nodeid], int(nodeid in self._finished)]
            for nodeid in reported_items
        }

    def begun(self, unit: str, briefs: Iterable[Brief]) -> None:
        """A worker is about to play a unit."""
        self._briefs[unit] = tuple(briefs)

    def ended(self, unit: str, nodeid: str, row: str) -> None:
        """An example has its result."""
        self._rows.setdefault(unit, {})[nodeid] = row

    def over(self, unit: str) -> None:
        """A unit has been played: the rest is on disk."""
        self._briefs.pop(unit, None)
        self._rows.pop(unit, None)

    def briefs(self, unit: WorkUnit) -> tuple[Brief, ...]:
        """Return the briefs of a unit's items, made up from the node ids where no worker has begun it."""
        made_up = []
        for nodeid in () if unit.name in self._briefs else unit.items:
            # `file::test_name[agent-span-trial-example...]`
            path, _, name_parts = nodeid.partition("::")
            name = node_label(
                name_parts.partition("[")[0].rpartition("::")[2].removeprefix("test_")
            )
            example, _, variant = (
                _node_id_labels(nodeid).removeprefix(f"{unit.name}-").partition("-")
            )
            scenario = f"{name}.{node_label(variant)}" if variant else name
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
        """Return the results of a unit's examples that are known, as JSON, by node id."""
        return dict(self._rows.get(unit, {}))


def conversation_of(nodeid: str) -> ConversationName:
    """Return the conversation of an item of which only the node id is known."""
    labels = ConversationName.of_labels(_node_id_labels(nodeid))
    if labels is None:
        raise LtmInternalError(f"{nodeid} names no conversation")
    return labels


def _node_id_labels(nodeid: str) -> str:
    return nodeid.partition("::")[2].partition("[")[2].removesuffix("]")


# --- Filter: what a worker that resumes a conversation need not report, because another
# has.


class Filter:
    """Knows the events of items that were reported before; played again, an item reports the same in the same order."""

    def __init__(self) -> None:
        self._known: dict[str, list[int]] = {}
        """By item: the number of its reports, and whether it is complete."""
        self._left: dict[str, int] = {}
        """Reports that are still to be left out."""

    def leave_out(self, reported: dict[str, list[int]]) -> None:
        """Leave out this many reports of these items, and whether they are complete."""
        self._known |= reported
        self._left |= {nodeid: reports for nodeid, (reports, _) in reported.items()}

    def is_known(self, event: str, values: dict[str, Any]) -> bool:
        """Return whether this event has been told before; each report is left out once."""
        if event == "testreport":
            nodeid = values["data"]["nodeid"]
            repeats_left = self._left.get(nodeid, 0)
            self._left[nodeid] = max(repeats_left - 1, 0)
            return repeats_left > 0
        if event not in {"logstart", "logfinish", "warning_recorded"}:
            return False
        reports, finished = self._known.get(values["nodeid"], (0, 0))
        return bool(reports if event == "logstart" else finished)
