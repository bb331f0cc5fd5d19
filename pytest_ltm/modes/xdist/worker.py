"""Worker: the hooks of a worker; conversations arrive whole, and nothing is reported twice."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_ltm.api.internals import last_teardown, worker_interactor
from pytest_ltm.api.journal import FILE as RUN_FILE
from pytest_ltm.api.journal import RESULTS, ConversationName, events
from pytest_ltm.api.session import LANE, LTM_ITEM
from pytest_ltm.api.storage import make_private, read_text, to_record
from pytest_ltm.modes.xdist import wire as _wire
from pytest_ltm.modes.xdist.wire import Brief, Filter, conversation_of
from pytest_ltm.reports.expected_length import expected_tokens, items_of_conversations

if TYPE_CHECKING:
    from pytest_ltm.api.session import LtmRun, PlayedConversation


_TOLD = (
    events.Header,
    events.Begin,
    events.MessageSent,
    events.ReplyReceived,
    events.FillerSent,
    events.TimeJumped,
    events.ModelAsked,
)


class Worker:
    """A worker's hooks in addition to playing conversations."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run
        self._interactor: Any = None
        self._session: pytest.Session | None = None
        self._again: deque[bool] = deque()
        """For each item that xdist will ask for: whether it was run already, and only keeps xdist from waiting."""
        self._open: dict[str, dict[ConversationName, None]] = {}
        """For each unit assigned to this worker, its unfinished conversations, in order."""
        self._filter = Filter()
        self._items: dict[str, pytest.Item] = {}
        self._here = (run.folder.path / RUN_FILE).is_file()
        """Whether the controller's run folder is on this machine; otherwise the results are sent."""
        self._unsent: dict[str, list[str]] = {}
        """Names of conversations' folders whose results must be sent, by unit that has begun."""
        if run.plays and not self._here:
            make_private(run.folder.path, exist_ok=True)
        run.config.option.loadgroup = (
            False  # xdist would rewrite the node ids of marked items.
        )

    def pytest_ltm_observe(
        self, conversation: PlayedConversation
    ) -> Callable[[events.Event], None] | None:
        """Send a remote controller each event written by a conversation, header first."""
        if self._here or not self._run.plays:
            return None
        played = conversation

        def tell(event: events.Event) -> None:
            if isinstance(event, _TOLD):
                line = events.encode_event(events.without_texts(event))
                self._tell("written", folder=played.inputs.folder.name, event=line)

        plan = {"count": played.plan.count, "reading": to_record(played.plan.reading)}
        fingerprint = played.plan.fingerprint
        agent = played.agent_fingerprint
        tell(
            events.Header(
                plan=plan,
                plan_fingerprint=fingerprint,
                agent_fingerprint=agent,
                now=played.start,
            )
        )
        return tell

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Listen to the controller before it can send anything."""
        self._session = session
        self._interactor = interactor = worker_interactor(self._run.config)
        _wire.obey_commands(
            interactor, {_wire.UNIT: self._play, _wire.STOP: self._stop}
        )
        self._send = interactor.sendevent
        interactor.sendevent = self._sendevent

    # --- collecting

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        """Send the controller the missing path or id: xdist hides a UsageError."""
        try:
            return (yield)
        except pytest.UsageError as error:
            self._refuse(error)
            return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """Send the controller an error in the collection before the collected items."""
        try:
            yield
        except pytest.UsageError as error:
            items[:] = []
            self._refuse(error)

    def _refuse(self, error: pytest.UsageError) -> None:
        self._tell("refused", sentences=[str(sentence) for sentence in error.args])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Send the controller, which knows only node ids, the expected length of each conversation."""
        self._items = {item.nodeid: item for item in session.items}
        ltm_items = [item.stash[LTM_ITEM] for item in session.items]
        tokens: dict[str, int] = {}
        for name, group in items_of_conversations(ltm_items).items():
            tokens[name] = expected_tokens(group, self._run.settings.spans)
        deselected = self._run.items.deselected.items()
        self._tell(
            "collected",
            here=self._here,
            tokens=tokens,
            scenarios=sorted(self._run.items.scenario_names),
            deselected=[[*place, count] for place, count in deselected],
        )

    # --- commands of the controller

    def _play(
        self, unit: str, indices: list[int], reported: dict[str, list[int]]
    ) -> None:
        assert self._session is not None
        self._filter.leave_out(reported)
        ltm_items = [self._session.items[n].stash[LTM_ITEM] for n in indices]
        names = dict.fromkeys(ltm_item.conversation for ltm_item in ltm_items)
        self._open[unit] = names
        self._again.extend([False] * len(indices) + [True])
        self._run.enqueue_conversations(names)
        # xdist runs an item only when it knows the next one: the last one is named
        # twice, and ignored the second time.
        self._interactor.handle_command(
            ("runtests", {"indices": [*indices, indices[-1]]})
        )

    def _stop(self, reason: str) -> None:
        if self._session is not None:
            self._session.shouldstop = reason
        self._run.look_up()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Skip an item that is only named again; after the very last one, tear everything down."""
        if not self._again[0]:
            return None
        if nextitem is None:
            report = last_teardown(item)
            if report.failed:
                item.ihook.pytest_runtest_logreport(report=report)
        return True

    def pytest_ltm_follow(
        self, name: ConversationName, state: Literal["begins", "over"]
    ) -> None:
        """Send the controller the data about a conversation's items before it begins, and its results afterwards."""
        unit = str(name)
        if state == "over":
            self._open[unit].pop(name, None)
            if not self._open[unit]:
                self._send_results(unit)
                del self._open[unit]
                self._tell("over", unit=unit)
        elif unit not in self._unsent:
            # Sent before it is played, so that it can be accounted for whatever happens
            # to this process.
            briefs = []
            for ltm_item in chain.from_iterable(
                map(self._run.items.groups.__getitem__, self._open[unit])
            ):
                marks = ltm_item.marks
                folder = ltm_item.conversation.folder
                (path, line, title) = ltm_item.item.location
                briefs.append(
                    Brief(
                        ltm_item.item.nodeid,
                        folder,
                        ltm_item.scenario,
                        ltm_item.place.example,
                        marks.threshold,
                        marks.pass_k,
                        marks.skill_letters,
                        (path, line or 0, title),
                    )
                )
            if self._here:
                self._unsent[unit] = []
            else:
                self._unsent[unit] = list(
                    dict.fromkeys(brief.folder for brief in briefs)
                )
            self._tell("begun", unit=unit, briefs=[list(brief) for brief in briefs])

    def _sendevent(self, name: str, **values: Any) -> None:
        if name == "logstart":
            nodeid = values["nodeid"]
            body = self._items[nodeid].stash.get(LANE, None)
            if body is not None and body.result is not None:
                unit = str(conversation_of(nodeid))
                self._tell(
                    "row",
                    unit=unit,
                    nodeid=nodeid,
                    row=json.dumps(to_record(body.result)),
                )
        if self._filter.is_known(name, values):
            return
        self._send(name, **values)
        if (
            name == "runtest_protocol_complete"
            and values["item_index"] == self._interactor.item_index
        ):
            self._again.popleft()

    def pytest_sessionfinish(self) -> None:
        """Send the results so far of conversations that were stopped."""
        for unit in list(self._unsent):
            self._send_results(unit)

    def _send_results(self, unit: str) -> None:
        for name in self._unsent.pop(unit):
            path = self._run.folder.path / name / RESULTS
            if path.is_file():
                self._tell("results", folder=name, text=read_text(path))

    def _tell(self, kind: str, **values: Any) -> None:
        self._send(_wire.EVENT, kind=kind, **values)
