"""Sets up several items at once: bodies yield with `turns.pause()`, and remain ordinary pytest items.

The private parts of pytest that this uses are listed in PRIVATE.
"""

from __future__ import annotations

import collections
import copy
from contextlib import contextmanager

import pytest
from _pytest.runner import SetupState
from greenlet import GreenletExit, getcurrent, greenlet

PRIVATE = {
    "the state of what is set up": [
        "_pytest.runner.SetupState.stack",
        "_pytest.runner.SetupState.setup",
        "_pytest.runner.SetupState.teardown_exact",
        "Session._setupstate",
    ],
    "the values of fixtures": [
        "FixtureDef.cached_result",
        "FixtureDef._finalizers",
        "Function._fixtureinfo.name2fixturedefs",
        "Function._request._arg2fixturedefs",
        "Function.callspec.indices",
        "Session._fixturemanager.getfixturedefs",
    ],
    "what is captured": [
        "CaptureManager._capture_fixture",
        "CaptureManager.item_capture",
    ],
}
TURNS = pytest.StashKey()
FATAL = (KeyboardInterrupt, pytest.exit.Exception)


# --- The setup state: pytest's is a stack, the path to one item.


class TreeSetupState(SetupState):
    """Live nodes form a tree: each item is set up on its own path, and torn down to nodes used by other items."""

    def __init__(self):
        super().__init__()
        self.held = collections.Counter()

    def setup(self, item):
        whole = self.stack
        self.stack = {node: whole[node] for node in item.listchain() if node in whole}
        try:
            super().setup(item)
        finally:
            whole.update(self.stack)
            self.stack = whole

    def teardown_exact(self, nextitem):
        keep = {*(nextitem.listchain() if nextitem else ()), *+self.held}
        errors = []
        for node in [node for node in reversed(self.stack) if node not in keep]:
            finalizers = self.stack.pop(node)[0]
            while finalizers:
                try:
                    finalizers.pop()()
                except Exception as error:  # noqa: BLE001 - all of them are torn down, as pytest does
                    errors.append(error)
        if errors:
            raise errors[0]


# --- Fixture values: pytest caches them once per definition.


SCOPES = {"class": pytest.Class, "module": pytest.Module, "package": pytest.Package}


class OwnFixtures(dict):
    """An item's copied fixture definitions, which cache values for it or for the items that share its scope."""

    def __init__(self, item, pool):
        self.item, self.pool = item, pool
        self.indices = getattr(getattr(item, "callspec", None), "indices", {})
        super().__init__(item._fixtureinfo.name2fixturedefs)
        for name, definitions in list(self.items()):
            self[name] = [self.own(definition) for definition in definitions]

    def get(self, name, default=None):
        """Called by `request.getfixturevalue` for names that are not arguments of the function."""
        if name not in self:
            where = self.item if pytest.version_tuple >= (8, 1) else self.item.nodeid
            definitions = self.item.session._fixturemanager.getfixturedefs(name, where)
            if definitions:
                self[name] = [self.own(definition) for definition in definitions]
        return super().get(name, default)

    def own(self, definition):
        parameters = frozenset(self.parameters_under(definition, set()))
        if definition.scope == "session" and not parameters:
            return definition
        kind = SCOPES.get(definition.scope)
        node = (
            self.item.session
            if definition.scope == "session"
            else kind and self.item.getparent(kind)
        )
        key = definition, node or self.item, parameters
        if key not in self.pool:
            self.pool[key] = mine = copy.copy(definition)
            mine.cached_result, mine._finalizers = None, type(definition._finalizers)()
        return self.pool[key]

    def parameters_under(self, definition, seen):
        if definition.argname in self.indices:
            yield definition.argname, self.indices[definition.argname]
        for name in {*definition.argnames} - seen:
            seen.add(name)
            for needed in self.get(name) or ():
                yield from self.parameters_under(needed, seen)


# --- One item, and all of them.


class Lane:
    """An item whose body runs in a greenlet; its reports are logged when it has ended."""

    def __init__(self, item, turns):
        self.item, self.turns, self.reports = item, turns, []
        self.error = self.capture_fixture = self.body = None

    @contextmanager
    def own_capture(self, manager):
        """Activate this item's capsys, capfd ...: the manager supports one at a time."""
        others, manager._capture_fixture = (
            manager._capture_fixture,
            self.capture_fixture,
        )
        try:
            yield
        finally:
            self.capture_fixture, manager._capture_fixture = (
                manager._capture_fixture,
                others,
            )

    def phase(self, when, function):
        with self.own_capture(self.turns.manager):
            call = pytest.CallInfo.from_call(function, when=when, reraise=FATAL)
            self.reports.append(
                self.item.ihook.pytest_runtest_makereport(item=self.item, call=call)
            )

    def begin(self):
        self.turns.state.held.update(self.item.listchain())
        self.item._request._arg2fixturedefs = OwnFixtures(self.item, self.turns.pool)
        self.phase(
            "setup", lambda: self.item.ihook.pytest_runtest_setup(item=self.item)
        )
        runtest = self.item.runtest
        return greenlet(runtest if self.reports[0].passed else lambda: None)

    def step(self):
        """Run the body to its next pause or its end; return whether it continues."""
        self.body = self.body or self.begin()
        with (
            self.own_capture(self.turns.manager),
            self.turns.manager.item_capture("call", self.item),
        ):
            try:
                self.body.switch()
            except FATAL:
                raise
            except BaseException as error:  # noqa: BLE001 - skips and failures are BaseExceptions, too
                self.error = error
        return not self.body.dead

    def end(self, following):
        """Replay the end of the body to all hooks, tear down, and log the reports."""
        item, hook = self.item, self.item.ihook
        if self.reports[0].passed:
            item.runtest = self.replay
            self.phase("call", lambda: hook.pytest_runtest_call(item=item))
        self.turns.state.held.subtract(item.listchain())
        self.phase(
            "teardown",
            lambda: hook.pytest_runtest_teardown(item=item, nextitem=following),
        )
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def replay(self):
        if self.error is not None:
            raise self.error


class Turns:
    """The items that take turns: the first to pause resumes first."""

    def __init__(self, session):
        self.manager = session.config.pluginmanager.get_plugin("capturemanager")
        self.state = session._setupstate = TreeSetupState()
        self.main, self.pool = getcurrent(), {}
        self.waiting = collections.deque(
            Lane(item, self) for item in session.items if "turns" in item.fixturenames
        )

    def run_until_end_of(self, item, nextitem):
        while any(lane.item is item for lane in self.waiting):
            lane = self.waiting.popleft()
            if lane.step():
                self.waiting.append(lane)
            else:
                lane.end(nextitem if lane.item is item else item)

    def pause(self):
        """Let all others take their turns; called by a body."""
        self.main.switch()


@pytest.fixture
def turns(request):
    return request.config.stash[TURNS]


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    session.config.stash[TURNS] = Turns(session)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if "turns" not in item.fixturenames:
        return None
    item.config.stash[TURNS].run_until_end_of(item, nextitem)
    return True


def pytest_sessionfinish(session):
    """After -x or Ctrl-C, unwind the suspended bodies."""
    turns = session.config.stash.get(TURNS, None)
    for lane in turns.waiting if turns else ():
        if lane.body:
            lane.body.throw(GreenletExit)
    if turns:
        turns.state.held.clear()
