"""LtmRun: the hooks of an LTM run; conversations are played as pytest asks for their items."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_ltm._errors import DiskFault
from pytest_ltm.agents._keyless import keyless
from pytest_ltm.plugin import _agents, _builtin, _collection, _fixtures, _internals, _selection
from pytest_ltm.plugin._again import RUN_FOLDER, run_file
from pytest_ltm.plugin._costs import RunCosts
from pytest_ltm.plugin._items import LTM_ITEM, LtmItem
from pytest_ltm.plugin._played import PlayedConversation
from pytest_ltm.plugin._progress import Progress
from pytest_ltm.plugin._runfolder import RunFolder, run_id
from pytest_ltm.plugin._state import LANE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from pytest_ltm._transcript import Exchange
    from pytest_ltm.plugin._selection import Selection
    from pytest_ltm.plugin._settings import Settings

ConversationKey = tuple[str, ...]


class Stopped(BaseException):
    """The pytest session is to stop, and another message would have been sent: another worker failed, say."""


class LtmRun:
    """One pytest session as an LTM run, in this process."""

    def __init__(self, config: pytest.Config, settings: Settings, selection: Selection) -> None:
        self.config, self.settings, self._selection = config, settings, selection
        option = config.option
        acts = not any(getattr(option, name, False) for name in ("collectonly", "setuponly", "setupplan"))
        self.rehearses = acts and option.ltm_dry_run
        """Whether conversations are held with a stand-in, to see what they would take; nobody really waits."""
        if self.rehearses:
            self.settings = settings = replace(settings, time="simulated")
        self.plays = acts and not self.rehearses
        """Whether anything is played: else nothing is written and no agent is made."""
        with keyless() if self.rehearses else nullcontext():
            self.sources = _agents.sources(config, settings) if acts else {}
        worker = getattr(config, "workerinput", {})
        self.resumed = config.stash.get(RUN_FOLDER, None)
        """The folder of the run that is gone on with."""
        known = worker.get("ltm_run") or (self.resumed.name if self.resumed else "")
        self.folder = RunFolder(settings.ltm_dir, known or run_id(), self.resumed)
        self.costs = RunCosts(settings, self.sources, self.folder.path)
        self.is_worker = bool(worker)
        self.gated = False
        """A gate is on: a score below its pass mark fails no item."""
        self.disk_is_gone = False
        """The disk did not take what must be kept, here or under a worker, and so the session was ended."""
        self.scenario_names: set[str] = set()
        """Of everything collected."""
        self.progress = Progress(config)
        self.playing_as: type[PlayedConversation] = PlayedConversation
        """What plays a conversation."""
        self._session: pytest.Session | None = None
        self._setup_state: _internals.TreeSetupState | None = None
        self._pool: _internals.Pool = {}
        self._groups: dict[ConversationKey, list[LtmItem]] = {}
        self._playing: PlayedConversation | None = None
        self._asked_for: tuple[pytest.Item, pytest.Item | None] | None = None

    # --- which items

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each scenario its places."""
        _collection.generate(metafunc, self.settings)

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the built-in suite to what the session collects."""
        report = yield
        if isinstance(collector, pytest.Session) and self.settings.suite is not None:
            suite = _builtin.BuiltInSuite.from_parent(
                collector, name=_builtin.ROOT, nodeid=_builtin.ROOT, suite=self.settings.suite
            )
            report.result = [*report.result, suite]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the LTM items only, conversations in one piece each."""
        everything = self._selection.has_paths or self._selection.names_suite
        found = _collection.ltm_items(items)
        self._selection.check([one.item for one in found])
        self.scenario_names = {one.scenario for one in found}
        known = list(_collection.wanted(found, self.settings, everything=everything))
        chosen = [one for one in known if self._selection.selects(one.item)]
        _collection.refuse_duplicates(chosen)
        kept = [one.item for one in _collection.in_order(chosen, self.settings)]
        dropped = set(items) - set(kept)
        if dropped:
            config.hook.pytest_deselected(items=[item for item in items if item in dropped])
        items[:] = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Put the items back in order: `--ff`, `--nf` and plugins that shuffle have mixed the conversations."""
        known = [item.stash[LTM_ITEM] for item in session.items]
        session.items[:] = [one.item for one in _collection.in_order(known, self.settings)]
        self._groups = grouped(known)

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> tuple[Any, ...] | None:
        """Hand out None instead of a handle where nothing is played: --setup-only sets up all others."""
        if self.plays or self.rehearses or fixturedef.func.__module__ != _fixtures.__name__:
            return None
        fixturedef.cached_result = None, fixturedef.cache_key(request), None
        return cast("tuple[Any, ...]", fixturedef.cached_result)

    # --- playing them

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Iterator[None]:
        """Make the run folder before workers are started; let several items be set up at once."""
        if self.plays and not self.is_worker:
            if self.resumed:
                self.folder.reopen()
            else:
                self.folder.create(run_file(self.config, self.settings, self.folder.name))
        self._session = session
        yield
        if self.plays or self.rehearses:
            self._setup_state = _internals.install(session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Play the item's conversation until the item has been reported; others that end meanwhile are, too."""
        if not (self.plays or self.rehearses):
            return None
        self._asked_for = item, nextitem
        body = item.stash.get(LANE, None)
        if body is not None and body.reported:
            return True
        try:
            if body is None:
                self._playing = self._begin(item)
            if self._playing is not None:
                self._playing.play_until_reported(item, lambda: self._stopping)
        except Stopped:
            pass
        except DiskFault as fault:
            self._end(item.session, fault)
        finally:
            if self._playing is not None and (self._stopping or sys.exc_info()[0] is not None):
                self._stop(self._playing)
        return True

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count subtests as checks; once -x stops, let the teardown that this item is about to tell be everybody's."""
        if self._playing is None:
            return
        part = _internals.subtest(report)
        if part is not None:
            self._playing.note(report.nodeid, *part)
        if self._stopping:
            self._playing.begin_no_more()

    @property
    def _stopping(self) -> bool:
        session = self._session
        return session is not None and bool(session.shouldfail or session.shouldstop)

    def _stop(self, playing: PlayedConversation) -> None:
        self._asked_for = None
        if self._session is not None:
            _internals.leave_none_behind(self._session, _is_reported)
        try:
            playing.close("interrupted")
        except DiskFault as fault:
            self._end(self._session, fault)

    def _end(self, session: pytest.Session | None, fault: DiskFault) -> None:
        self.disk_is_gone = True
        getattr(self.config, "workeroutput", {})["ltm_disk_is_gone"] = True
        if session is not None and not session.shouldstop:
            session.shouldstop = str(fault)

    def _begin(self, item: pytest.Item) -> PlayedConversation:
        if self._setup_state is None:
            raise pytest.UsageError("pytest-ltm was not there when the session started")
        key = conversation_key(item.stash[LTM_ITEM])
        known = self._groups[key]
        return self.playing_as(
            known,
            self.settings,
            self.sources[known[0].place.agent],
            folder=self.folder.conversation(key),
            setup_state=self._setup_state,
            pool=self._pool,
            next_up=self._next_up,
            again=_selection.again(self.config, self.settings, known[0].place),
            listener=self._heard,
            costs=self.costs,
        )

    def _next_up(self, item: pytest.Item) -> pytest.Item | None:
        """Return the item whose fixtures must stay up although no item in progress needs them."""
        if self._asked_for is None or self._stopping:
            return None
        asked, following = self._asked_for
        if item is not asked:
            return asked
        if following is None or not _is_reported(following):
            return following
        items = item.session.items
        if following is item:  # xdist has not said yet what follows on this worker, if anything does
            return next((one for one in items if not _is_reported(one)), cast("Any", item.session))
        later = items[items.index(item) + 1 :]
        return next((one for one in later if not _is_reported(one)), None)

    def _heard(self, played: PlayedConversation, exchange: Exchange) -> None:
        self.progress.heard(played, exchange)
        if self._stopping:
            raise Stopped

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Unwind what is still in progress before pytest tears everything down."""
        if self._playing is not None:
            self._stop(self._playing)
        if self._setup_state is not None:
            self._setup_state.held.clear()

    def expected(self) -> int:
        """Return how many examples the run has, as far as it is known in this process."""
        xdist = getattr(self.config.pluginmanager.get_plugin("ltm-xdist"), "scheduling", None)
        return len(getattr(xdist, "collection", None) or ()) or sum(map(len, self._groups.values()))

    def conversations(self) -> set[str]:
        """Return what the folders of the run's conversations are called, as far as it is known in this process."""
        xdist: Any = self.config.pluginmanager.get_plugin("ltm-xdist")
        collected = getattr(getattr(xdist, "scheduling", None), "collection", None) or ()
        names = {xdist.conversation_of(nodeid).replace("-", "~") for nodeid in collected}
        return names or {"~".join(key) for key in self._groups}

    def pytest_unconfigure(self) -> None:
        """Let others have the run folder."""
        self.folder.release()

    # --- living with others

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the conversation below the traceback of a failed assertion."""
        report = yield
        body = item.stash.get(LANE, None)
        if body is not None and report.failed and body.assertion is not None and report.when == "call":
            cast("Any", report.longrepr).addsection("conversation", body.failure_text)
        return report

    def pytest_enter_pdb(self) -> None:
        """Leave the terminal to pdb."""
        _internals.Output.in_debugger = True

    def pytest_leave_pdb(self) -> None:
        """Capture again."""
        _internals.Output.in_debugger = False

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: object) -> bool | None:
        """Keep pytest-timeout's timer off: it would charge one item for all the others."""
        return True if item.stash.get(LTM_ITEM, None) is not None else None


def _is_reported(item: pytest.Item) -> bool:
    body = item.stash.get(LANE, None)
    return body is not None and body.reported


def grouped(known: Iterable[LtmItem]) -> dict[ConversationKey, list[LtmItem]]:
    """Return the items of each conversation, in their order."""
    groups: dict[ConversationKey, list[LtmItem]] = {}
    for one in known:
        groups.setdefault(conversation_key(one), []).append(one)
    return groups


def conversation_key(known: LtmItem) -> ConversationKey:
    """Return what names a conversation; isolated variants of one scenario have one each."""
    place = known.place
    variant = (known.scenario,) if place.thread and "." in known.scenario else ()
    return (*place.conversation, *variant)
