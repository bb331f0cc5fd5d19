"""What controller and workers tell each other beyond xdist: one event `ltm` up, two commands down.

Relied on, pytest-xdist 3.5 to 3.8: WorkerController.process_from_remote/notify_inproc/sendcommand/workerinput;
DSession finds `worker_<event>` among its own attributes, and has queue, _active_nodes, nodemanager.specs and
nodemanager.setup_node; WorkerInteractor.handle_command/sendevent/item_index; all values are what execnet can carry
(built-in types). An event that xdist does not know would end the worker, so ours are taken out before xdist sees them.
"""

from __future__ import annotations

from queue import Empty
from typing import TYPE_CHECKING, Any

from pytest_ltm._clock import stopwatch

if TYPE_CHECKING:
    from collections.abc import Callable

EVENT = "ltm"
"""Worker to controller; `kind` says what it is about."""
UNIT = "ltm_unit"
"""Controller to worker: play this conversation."""
STOP = "ltm_stop"
"""Controller to worker: play no further message."""


def hear(node: Any, dsession: Any, listener: Callable[..., None]) -> None:
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
    """Have each worker started up to so many times: one that dies in its first instants would end the session."""
    xdists = nodemanager.setup_node

    def setup_node(spec: Any, *arguments: Any) -> Any:
        for _ in range(tries - 1):
            try:
                return xdists(spec, *arguments)
            except (EOFError, OSError):
                spec.id = None  # the old one is taken, if it got so far
                nodemanager.group.allocate_id(spec)
        return xdists(spec, *arguments)

    nodemanager.setup_node = setup_node


def tell(node: Any, command: str, **values: Any) -> None:
    """Send a command of ours to a worker; one that is gone does not hear it."""
    try:
        node.sendcommand(command, **values)
    except OSError:
        return


def obey(interactor: Any, listeners: dict[str, Callable[..., None]]) -> None:
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
    end = stopwatch() + seconds
    while dsession._active_nodes and (left := end - stopwatch()) > 0:
        try:
            name, values = dsession.queue.get(timeout=left)
        except Empty:
            return
        if name == EVENT and values["kind"] == "results":
            getattr(dsession, f"worker_{EVENT}")(**values)
        if name in {"workerfinished", "errordown"}:
            dsession._active_nodes.discard(values["node"])
