"""LtmRun: the hooks of an LTM run; conversations are played when pytest asks for their items."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import cache
from itertools import chain
from typing import Any, cast

import pytest
from msgspec import structs

from pytest_ltm._core.calls.event_loop import close_loops
from pytest_ltm._core.engine.conversation import Conversation
from pytest_ltm._core.internals import setup as _internals
from pytest_ltm._core.journal.result import ConversationName, ScenarioResult
from pytest_ltm._core.model.transcript import Exchange
from pytest_ltm._core.session import collection as _collection
from pytest_ltm._core.session.asked_item import AskedItem, is_reported
from pytest_ltm._core.session.collection import Selection
from pytest_ltm._core.session.composition import Composition
from pytest_ltm._core.session.conversation_run import PlayedConversation
from pytest_ltm._core.session.conversation_setup import KnownCosts
from pytest_ltm._core.session.hook_calls import HookCalls
from pytest_ltm._core.session.item_body import BodyConditions
from pytest_ltm._core.session.items import LTM_ITEM
from pytest_ltm._core.session.options import only_shows
from pytest_ltm._core.session.recorded_run import RUN_FOLDER, run_file
from pytest_ltm._core.session.run_folder import RunFolder, run_id
from pytest_ltm._core.session.run_items import RunItems
from pytest_ltm._core.session.run_parts import ConcurrentPlayer, ProgressDisplay
from pytest_ltm._core.session.settings import RunSettings
from pytest_ltm._core.session.state import LANE, is_ours
from pytest_ltm._core.storage.disk import disk_fault
from pytest_ltm._core.storage.errors import DiskFault, Stopped


class LtmRun:
    """One pytest session as an LTM run, in this process."""

    gated = False
    """A gate is active: a score below its threshold does not fail an item."""
    disk_is_gone = False
    """The disk could not be written, here or in a worker, so the session was ended."""
    ended_by = ""
    """The signal that ended the session, here or in a worker: SIGTERM or SIGHUP."""

    def __init__(
        self, config: pytest.Config, settings: RunSettings, selection: Selection
    ) -> None:
        self.config = config
        self.settings = settings
        acts = not only_shows(config)
        self.rehearses = acts and config.option.ltm_dry_run
        """Whether this is a dry run, which estimates conversations with simulated agents; no real time passes."""
        self.settings = settings = (
            structs.replace(settings, time="simulated") if self.rehearses else settings
        )
        self.plays = acts and not self.rehearses
        """Whether anything is played; otherwise nothing is written and no agent is created."""
        agent_sources = config.hook.pytest_ltm_agent_sources(
            config=config, settings=settings, acts=acts, rehearses=self.rehearses
        )
        self.sources: Mapping[str, Any] = agent_sources[0] if agent_sources else {}
        """The sources of agents, by label."""
        self.settings = settings = agent_sources[1] if agent_sources else settings
        worker = getattr(config, "workerinput", {})
        self.resumed = config.stash.get(RUN_FOLDER, None)
        """The folder of the run that is resumed."""
        known_id = worker.get("ltm_run") or (self.resumed.name if self.resumed else "")
        self.folder = RunFolder(settings.ltm_dir, known_id or run_id(), self.resumed)
        self.costs: KnownCosts = config.hook.pytest_ltm_costs(run=self)
        self.is_worker = bool(worker)
        self.progress: ProgressDisplay = config.hook.pytest_ltm_progress(config=config)
        self.hooks = HookCalls(config, settings.evaluator_timeout)
        self.composition = Composition(
            self, settings, sources=self.sources, folder=self.folder, costs=self.costs
        )
        """Creates the inputs of each conversation."""
        self._session: pytest.Session | None = None
        self._setup_state: _internals.TreeSetupState | None = None
        self._pool: _internals.Pool = {}
        self.items = RunItems(settings, selection)
        """The items of the run."""
        self._playing: PlayedConversation | None = None
        self._results: dict[str, Mapping[str, ScenarioResult]] = {}
        """The results of the conversations begun in this process."""
        self.make_runner: Callable[[LtmRun], ConcurrentPlayer] | None = None
        """Creates the player of several conversations at once; None: one is played at a time."""
        self._at_once: ConcurrentPlayer | None = None
        """The player of the conversations that are not played alone, if several are played at once."""
        self.to_come: list[ConversationName] = []
        """The conversations that `_at_once` has not begun, in order; in a worker, those assigned to it."""
        self.most_at_once, self.of_agent = 1, dict[str, int]()
        """The maximum number of conversations played at once, by agent label; 0: each is played alone."""
        self._asked = AskedItem(lambda: self.is_stopping)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: Any, request: pytest.FixtureRequest
    ) -> tuple[Any, ...] | None:
        """Return None in place of a handle if nothing is played: --setup-only sets up all other fixtures."""
        if self.plays or self.rehearses or not is_ours(fixturedef):
            return None
        fixturedef.cached_result = None, fixturedef.cache_key(request), None
        return cast("tuple[Any, ...]", fixturedef.cached_result)

    # --- playing them

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        """Create the run folder before workers are started; allow several items to be set up at once."""
        if self.plays and not self.is_worker:
            if self.resumed:
                self.folder.reopen_folder()
            else:
                self.folder.create(
                    run_file(self.config, self.settings, self.folder.name)
                )
        self._session = session
        yield
        if self.plays or self.rehearses:
            self._setup_state = _internals.install_setup_state(session)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(
        self, session: pytest.Session
    ) -> Generator[None, object, object]:
        """Make other plugins wrap each item separately."""
        with (
            _internals.one_by_one(session)
            if self.plays or self.rehearses
            else nullcontext()
        ):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Play the item's conversation until the item is reported, along with others that end before it."""
        if not (self.plays or self.rehearses):
            return None
        self._asked.note(item, nextitem)
        if is_reported(item):
            return True
        if self.composition.refused is None:
            try:
                self.composition.refused = self.hooks.first_reason(item.session)
            except (DiskFault, OSError) as fault:
                self.end_session(
                    fault
                    if isinstance(fault, DiskFault)
                    else disk_fault(self.folder.path, fault)
                )
                return True
        several = self._several()
        if several is None:
            self._play_alone(item)
        elif self.of_agent[item.stash[LTM_ITEM].place.agent]:
            several.play_until(lambda: is_reported(item))
            if self.is_stopping:
                self._asked.forget(self._session)
        else:
            several.finish()
            self._play_alone(item)
        return True

    def _play_alone(self, item: pytest.Item) -> None:
        try:
            if LANE not in item.stash:
                self._playing = self.begin_conversation(
                    item.stash[LTM_ITEM].conversation
                )
            if self._playing is not None:
                self._playing.play(lambda: self.is_stopping, item.stash[LANE])
                self.note_over(self._playing)
        except Stopped:
            pass
        except DiskFault as fault:
            self.end_session(fault)
        finally:
            if self._playing is not None and (
                self.is_stopping or sys.exc_info()[0] is not None
            ):
                self._stop(self._playing)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count subtests as checks; once -x stops the session, release the fixtures of all waiting items."""
        part = _internals.subtest_outcome(report)
        for playing in self.all_playing:
            if part is not None:
                playing.note(report.nodeid, *part)
            if self.is_stopping:
                playing.begin_no_more()
        if self.is_stopping:
            self._let_go(self.to_come)
            self.to_come.clear()

    def _several(self) -> ConcurrentPlayer | None:
        """Return the player of several conversations at once; None if one is played at a time."""
        if (
            self._at_once is None
            and self._setup_state is not None
            and self.of_agent
            and self.make_runner is not None
        ):
            if not self.is_worker:
                self.enqueue_conversations(self.items.groups)
                for ltm_item in chain.from_iterable(
                    self.items.groups[name] for name in self.to_come
                ):
                    # Fixtures live until no waiting item needs them.
                    self._setup_state.hold_nodes(ltm_item.item)
            self._at_once = self.make_runner(self)
        return self._at_once

    def enqueue_conversations(self, names: Iterable[ConversationName]) -> None:
        """Add conversations to be played, except those that must be played alone; callable in any thread."""
        self.to_come += [name for name in names if self.of_agent.get(name.agent)]
        self.look_up()

    def look_up(self) -> None:
        """React at once to new conversations or a stopping session; callable in any thread."""
        if self._at_once is not None:
            self._at_once.look_up()

    def note_over(self, played: PlayedConversation) -> None:
        """Notify followers that a conversation has ended; one that was cut off has not."""
        name = played.inputs.items[0].conversation
        if self._at_once is not None:
            self.progress.remove_conversation(str(name), to_come=len(self.to_come))
        if played.all_are_reported:
            self.hooks.tell_all("pytest_ltm_follow", name=name, state="over")

    def _let_go(self, names: Iterable[ConversationName]) -> None:
        if self._setup_state is not None and not self.is_worker:
            for ltm_item in chain.from_iterable(
                self.items.groups[name] for name in names
            ):
                self._setup_state.let_go(ltm_item.item)

    @property
    def notices(self) -> list[str]:
        """The report's notices about concurrent conversations, and about hooks that raised."""
        several = [] if self._at_once is None else self._at_once.notices
        return [*several, *self.hooks.faults]

    @property
    def all_playing(self) -> list[PlayedConversation]:
        """The conversations that this process has open."""
        several = [] if self._at_once is None else self._at_once.playing
        return [*several, *([] if self._playing is None else [self._playing])]

    @property
    def in_progress(self) -> list[Conversation]:
        """The conversations that this process is playing."""
        return [
            played.conversation
            for played in self.all_playing
            if not played.all_are_reported
        ]

    @property
    def results(self) -> list[ScenarioResult]:
        """The results of the examples that have ended in this process."""
        return [row for results in self._results.values() for row in results.values()]

    @property
    def ended(self) -> list[str]:
        """The conversations that this process has played to their ends."""
        playing = {
            str(played.inputs.items[0].conversation)
            for played in self.all_playing
            if not played.all_are_reported
        }
        return [name for name in self._results if name not in playing]

    @property
    def is_stopping(self) -> bool:
        """Whether pytest is about to stop the session: -x, --maxfail, or a failed disk."""
        session = self._session
        return session is not None and bool(session.shouldfail or session.shouldstop)

    def _stop(self, playing: PlayedConversation) -> None:
        self._asked.forget(self._session)
        try:
            playing.close("interrupted")
        except DiskFault as fault:
            self.end_session(fault)

    def end_session(self, fault: DiskFault) -> None:
        """End the session: the disk has failed, so nothing can be written any more."""
        self.disk_is_gone = True
        getattr(self.config, "workeroutput", {})["ltm_disk_is_gone"] = True
        if self._session is not None and not self._session.shouldstop:
            self._session.shouldstop = str(fault)

    def begin_conversation(self, name: ConversationName) -> PlayedConversation:
        """Open a conversation of the run, and notify the hooks."""
        if self._setup_state is None:
            raise pytest.UsageError(
                "pytest-ltm was not loaded when the session started"
            )
        setup_state = self._setup_state
        self.hooks.tell_all("pytest_ltm_follow", name=name, state="begins")
        inputs = self.composition.inputs(self.items.groups[name], self.conversations())
        mode = self.composition.mode(inputs)
        conditions = BodyConditions(
            setup_state,
            self._pool,
            self._asked.next_up,
            mode.withheld,
            self.settings.evaluator_timeout,
        )
        repeat_command = cache(
            lambda: _collection.repeat_command(self.config, self.settings, inputs.place)
        )
        playing = PlayedConversation(
            inputs,
            mode,
            conditions,
            again=repeat_command,
            heard=self._heard,
            hooks=self.hooks,
        )
        # The same dict that the conversation fills later, so `ltm_scheduler` shows
        # results as they arrive. The results of a rehearsal are not kept: nothing reads
        # them, and there may be 100,000.
        self._results[str(name)] = {} if self.rehearses else playing.results
        for observer in self.hooks.ask_all("pytest_ltm_observe", conversation=playing):
            playing.observe(self.hooks.guard(observer))
        if self.of_agent.get(name.agent):
            self._let_go([name])  # its bodies hold their fixtures from now on
        return playing

    def _heard(self, played: PlayedConversation, exchange: Exchange) -> None:
        self.progress.show_progress(played, exchange)
        self.hooks.tell_all(
            "pytest_ltm_exchange",
            config=self.config,
            conversation=played.name,
            exchange=exchange,
        )
        if self.is_stopping:
            raise Stopped

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Unwind the conversations still in progress before pytest tears everything down."""
        if self._at_once is not None:
            self._at_once.close()
        if self._playing is not None:
            self._stop(self._playing)
        if self._setup_state is not None:
            self._setup_state.held.clear()

    def conversations(self) -> set[ConversationName]:
        """Return the run's conversations, as far as this process knows them."""
        xdist = self.config.pluginmanager.get_plugin("ltm-xdist")
        return getattr(xdist, "conversations", None) or set(self.items.groups)

    def pytest_unconfigure(self) -> None:
        """Close event loops and release the run folder."""
        close_loops()
        self.folder.release()
