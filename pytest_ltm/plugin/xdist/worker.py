"""Worker: the hooks of a worker; conversations come in whole, and nothing is told twice."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._engine.result import to_json
from pytest_ltm._record import events
from pytest_ltm._record.resume import RESULTS
from pytest_ltm._record.run_file import FILE as RUN_FILE
from pytest_ltm._storage.disk import make_private
from pytest_ltm.plugin.internals.setup import last_teardown
from pytest_ltm.plugin.internals.stretch import worker_interactor
from pytest_ltm.plugin.items import LTM_ITEM
from pytest_ltm.plugin.selection import conversations, expected_tokens
from pytest_ltm.plugin.state import LANE
from pytest_ltm.plugin.xdist import wire as _wire
from pytest_ltm.plugin.xdist.wire import Brief, Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from pytest_ltm.plugin.played import PlayedConversation
    from pytest_ltm.plugin.session import LtmRun


_TOLD = (
    events.Header, events.Begin, events.Message, events.Reply, events.Filler, events.Jump, events.Asked,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One item that xdist asks this worker for."""

    unit: str
    indices: tuple[int, ...]
    """Of all items of the unit, with the first of them; else empty."""
    last: bool
    """Of its conversation: after it everything has been reported and written."""
    again: bool
    """It has been run already: it only keeps xdist, which must know what follows, from waiting with the last."""


class Worker:
    """What a worker does beyond playing conversations."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._interactor: Any = None
        self._session: pytest.Session | None = None
        self._steps: deque[Step] = deque()
        self._filter = Filter()
        self._items: dict[str, pytest.Item] = {}
        self._here = (run.folder.path / RUN_FILE).is_file()
        """The controller's run folder is on this machine; else the results are sent."""
        self._unsent: list[str] = []
        """Names of conversations' folders, where results must be sent."""
        if run.plays and not self._here:
            make_private(run.folder.path, exist_ok=True)
            run.observing.append(self._telling)
        run.config.option.loadgroup = False  # xdist would rewrite the node ids of marked items

    def _telling(self, played: PlayedConversation) -> Callable[[events.Event], None]:
        """Tell each event of a conversation that is written down, the header first."""

        def tell(event: events.Event) -> None:
            if isinstance(event, _TOLD):
                told = events.encode(events.without_texts(event))
                self._tell("written", folder=played.given.folder.name, event=told)

        plan, agent = played.plan.fingerprint, played.agent_fingerprint
        tell(
            events.Header(
                plan={"count": played.plan.count}, plan_fingerprint=plan, agent_fingerprint=agent, now=played.start
            )
        )
        return tell

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Listen to the controller before it can say anything."""
        self._session = session
        self._interactor = interactor = worker_interactor(self._run.config)
        _wire.obey(interactor, {_wire.UNIT: self._play, _wire.STOP: self._stop})
        self._send, interactor.sendevent = interactor.sendevent, self._sendevent

    # --- collecting

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Let the controller say which path or id is missing: xdist hides a UsageError."""
        try:
            return (yield)
        except pytest.UsageError as error:
            self._refuse(error)
            return True

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Let the controller say what is wrong with the collection before it hears what was collected."""
        try:
            yield
        except pytest.UsageError as error:
            items[:] = []
            self._refuse(error)

    def _refuse(self, error: pytest.UsageError) -> None:
        self._tell("refused", sentences=[str(sentence) for sentence in error.args])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell the controller, which knows node ids only, how long each conversation is expected to be."""
        self._items = {item.nodeid: item for item in session.items}
        found = conversations(item.stash[LTM_ITEM] for item in session.items)
        spans = self._run.settings.spans
        tokens = {name: expected_tokens(known, spans) for name, known in found.items()}
        self._tell(
            "collected", here=self._here, tokens=tokens, scenarios=sorted(self._run.scenario_names),
            deselected=[[*place, count] for place, count in self._run.deselected.items()],
        )  # fmt: skip

    # --- playing what the controller says

    def _play(self, unit: str, indices: list[int], told: dict[str, list[int]]) -> None:
        self._filter.leave_out(told)
        last = len(indices) - 1
        for number in range(len(indices)):
            first = () if number else tuple(indices)
            self._steps.append(Step(unit, first, last=number == last, again=False))
        self._steps.append(Step(unit, (), last=False, again=True))
        # xdist runs an item only when it knows the next: the last one is named twice, and the second time ignored.
        self._interactor.handle_command(("runtests", {"indices": [*indices, indices[-1]]}))

    def _stop(self, why: str) -> None:
        if self._session is not None:
            self._session.shouldstop = why

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Do not run an item again that is only named again; after the very last take everything down."""
        step = self._steps[0]
        if step.indices:
            self._announce(step)
        if not step.again:
            return None
        if nextitem is None:
            report = last_teardown(item)
            if report.failed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True

    def _announce(self, step: Step) -> None:
        """Tell what is about to be played, so that it can be accounted for whatever happens to this process."""
        every = self._session.items if self._session is not None else []
        briefs = [_brief(every[index]) for index in step.indices]
        self._unsent += [] if self._here else dict.fromkeys(brief.folder for brief in briefs)
        self._tell("begun", unit=step.unit, briefs=[list(brief) for brief in briefs])

    def _sendevent(self, name: str, **values: Any) -> None:
        if name == "logstart" and self._steps:
            self._tell_row(values["nodeid"])
        if self._filter.is_known(name, values):
            return
        self._send(name, **values)
        if name == "runtest_protocol_complete" and values["item_index"] == self._interactor.item_index:
            step = self._steps.popleft()
            if step.last:
                self._send_results()
                self._tell("over", unit=step.unit)

    def pytest_sessionfinish(self) -> None:
        """Send the results so far of a conversation that was stopped."""
        self._send_results()

    def _send_results(self) -> None:
        for name in self._unsent:
            path = self._run.folder.path / name / RESULTS
            if path.is_file():
                self._tell("results", folder=name, text=path.read_text(encoding="utf-8"))
        self._unsent.clear()

    def _tell_row(self, nodeid: str) -> None:
        body = self._items[nodeid].stash.get(LANE, None)
        if body is not None and body.result is not None:
            self._tell("row", unit=self._steps[0].unit, nodeid=nodeid, row=json.dumps(to_json(body.result)))

    def _tell(self, kind: str, **values: Any) -> None:
        self._send(_wire.EVENT, kind=kind, **values)


def _brief(item: pytest.Item) -> Brief:
    known = item.stash[LTM_ITEM]
    path, line, name = item.location
    return Brief(
        nodeid=item.nodeid,
        folder=known.conversation.folder,
        scenario=known.scenario,
        example=known.place.example,
        threshold=known.marks.threshold,
        pass_k=known.marks.pass_k,
        skills=known.marks.skill_letters,
        path=path,
        line=line or 0,
        name=name,
    )
