"""Several items set up at once: the tree of nodes, an item's own fixture values, the phases of an item."""

from __future__ import annotations

import collections
import contextvars
import copy
import itertools
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest._code.code import (
    ExceptionChainRepr,
    ReprEntry,
    ReprFileLocation,
    ReprTraceback,
)
from _pytest.fixtures import get_scope_package
from _pytest.nodes import Node
from _pytest.runner import (
    SetupState,
    call_and_report,
    check_interactive_exception,
    show_test_item,
)
from greenlet import getcurrent, greenlet

from pytest_ltm._core.internals.item_context import remember_warnings
from pytest_ltm._core.storage.errors import LtmError, Traceback, text_of

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup

NodeCounter = collections.Counter[Node]


class TreeSetupState(SetupState):
    """A SetupState whose live nodes form a tree instead of one path, so that several items can be set up."""

    def __init__(self) -> None:
        super().__init__()
        self.held: NodeCounter = collections.Counter()
        """Nodes that items in progress still need."""

    def hold_nodes(self, item: pytest.Item) -> None:
        """Keep the item's nodes up until `let_go`."""
        self.held.update(item.listchain())

    def let_go(self, item: pytest.Item) -> None:
        """Release the item's nodes for teardown."""
        for node in item.listchain():
            self.held[node] -= 1
            if not self.held[node]:
                del self.held[node]

    def setup(self, item: pytest.Item) -> None:
        """Set up the item's missing nodes with pytest's own code, on the item's own path."""
        full = self.stack
        self.stack = {node: full[node] for node in item.listchain() if node in full}
        try:
            super().setup(item)
        finally:
            full.update(self.stack)
            self.stack = full

    def teardown_exact(self, nextitem: pytest.Item | None) -> None:
        """Tear down every node that neither the next item nor an item in progress needs."""
        keep = set(nextitem.listchain()) if nextitem else set()
        errors: list[BaseException] = []
        for node in [
            n for n in reversed(self.stack) if n not in keep and self.held[n] <= 0
        ]:
            finalizers = self.stack.pop(node)[0]
            while finalizers:
                try:
                    finalizers.pop()()
                except (
                    pytest.fail.Exception,
                    pytest.skip.Exception,
                    Exception,  # noqa: BLE001 - as pytest does
                ) as error:
                    errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise BaseExceptionGroup("errors while tearing down", errors[::-1])


def install_setup_state(session: pytest.Session) -> TreeSetupState:
    """Replace the session's setup state; LTM runs only."""
    state = TreeSetupState()
    session._setupstate = state
    remember_warnings(session.config)
    return state


# --- LaneFixtures: an item's own fixture values.

FixtureDefs = list[pytest.FixtureDef[Any]]
Pool = dict[Any, pytest.FixtureDef[Any]]
NODES_BY_SCOPE: dict[str, type[Node]] = {
    "class": pytest.Class,
    "module": pytest.Module,
    "session": pytest.Session,
}


class LaneFixtures(dict[str, FixtureDefs]):
    """Name -> fixture definitions for one item: like pytest's, but with their own cached values.

    Function-scoped ones belong to the item alone; wider ones are shared, through
    `pool`, by the items for which pytest would share them; session-scoped ones without
    parameters are pytest's own.
    """

    def __init__(self, item: pytest.Item, pool: Pool) -> None:
        self._item = cast("Any", item)
        self._pool = pool
        self._callspec: Any = getattr(item, "callspec", None)
        fixtures: dict[str, FixtureDefs] = self._item._fixtureinfo.name2fixturedefs
        super().__init__(fixtures)
        for name in list(self):
            self[name] = [self._mine(definition) for definition in self[name]]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the definitions; `request.getfixturevalue` also calls it with new names."""
        if name not in self:
            where = self._item if pytest.version_tuple >= (8, 1) else self._item.nodeid
            result = self._item.session._fixturemanager.getfixturedefs(name, where)
            if result:
                self[name] = [self._mine(definition) for definition in result]
        return super().get(name, default)

    def _mine(self, definition: pytest.FixtureDef[Any]) -> pytest.FixtureDef[Any]:
        parametrized = self._callspec and self._callspec._arg2scope.get(
            definition.argname
        )
        scope = parametrized.value if parametrized else definition.scope
        if scope == "function":
            return _copy_fixture_definition(definition)
        parameters = frozenset(self._parameters_under(definition, set()))
        if scope == "session" and not parameters:
            return definition
        if scope == "package":
            node = get_scope_package(self._item, definition)
        else:
            node = self._item.getparent(NODES_BY_SCOPE[scope])
        key: Any = (definition, node or self._item, parameters)
        if key not in self._pool:
            self._pool[key] = _copy_fixture_definition(definition)
        return self._pool[key]

    def _parameters_under(
        self, definition: pytest.FixtureDef[Any], seen_names: set[str]
    ) -> Iterator[tuple[str, int]]:
        indices = self._callspec.indices if self._callspec else {}
        if definition.argname in indices:
            yield definition.argname, indices[definition.argname]
        for name in definition.argnames:
            if name not in seen_names:
                seen_names.add(name)
                for needed in self.get(name) or ():
                    yield from self._parameters_under(needed, seen_names)


def _copy_fixture_definition(
    definition: pytest.FixtureDef[Any],
) -> pytest.FixtureDef[Any]:
    mine: Any = copy.copy(definition)
    mine.cached_result = None
    mine._finalizers = type(definition._finalizers)()
    fresh: pytest.FixtureDef[Any] = mine
    return fresh


def prepare_fixtures(item: pytest.Item, pool: Pool) -> None:
    """Give the item its own fixture values, before its setup."""
    cast("Any", item)._request._arg2fixturedefs = LaneFixtures(item, pool)


def dispose_fixtures(item: pytest.Item) -> None:
    """Release fixture values after the teardown, as pytest's own protocol does."""
    if hasattr(item, "_request"):
        cast("Any", item)._request = False
        cast("Any", item).funcargs = None


# --- The phases of an item: run with all hooks, with their reports not yet logged.

# With the separator: a user's package next to it may be called `pytest_ltm_something`.
PACKAGE = str(Path(__file__).parents[2]) + os.sep


def as_users_see_it(error: BaseException) -> BaseException:
    """Return the error without our frames; one without user frames as just its sentence."""
    for link in _exception_chain(error):
        link.__traceback__ = _users_frames(link.__traceback__)
    traceback = error.__traceback__ or (
        error.__cause__ and error.__cause__.__traceback__
    )
    if isinstance(error, Exception) and traceback is None:
        return pytest.fail.Exception(
            f"{type(error).__name__}: {text_of(error)}", pytrace=False
        )
    return error


def users_traceback(error: BaseException) -> str:
    """Return the traceback of the user's code behind an error of ours, as Python shows it; "" if there is none."""
    chain = _exception_chain(error)
    elsewhere = next((link for link in chain if isinstance(link, Traceback)), None)
    if elsewhere is not None:
        return str(elsewhere).rstrip()
    raised = next((link for link in chain if not isinstance(link, LtmError)), None)
    if raised is None:
        return ""
    for link in chain:
        link.__traceback__ = _users_frames(link.__traceback__)
    if raised.__traceback__ is None:
        return ""
    return "".join(traceback.format_exception(raised)).rstrip()


def _exception_chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in chain:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain


def _users_frames(traceback: types.TracebackType | None) -> types.TracebackType | None:
    shortened = None
    frames = []
    while traceback is not None:
        frame = traceback.tb_frame
        module = str(frame.f_globals.get("__name__", ""))
        # Like the methods of a dataclass.
        is_generated = module.startswith(f"{Path(PACKAGE).name}.")
        if not (
            frame.f_code.co_filename.startswith(PACKAGE)
            or (frame.f_code.co_filename == "<string>" and is_generated)
        ):
            frames.append(traceback)
        traceback = traceback.tb_next
    for entry in reversed(frames):
        shortened = types.TracebackType(
            shortened, entry.tb_frame, entry.tb_lasti, entry.tb_lineno
        )
    return shortened


def run_phase(item: pytest.Item, when: Any, **arguments: Any) -> pytest.TestReport:
    """Run one phase of an item with all hooks, and return its report without logging it."""
    return call_and_report(item, when, log=False, **arguments)


def show_text_alone(item: pytest.Item, error: BaseException) -> None:
    """Show this error as only its text, at the item's test: a traceback says nothing about a verdict, and is slow."""
    text = str(error)
    headline = f"{type(error).__name__}: {text}".partition("\n")[0]
    crash = ReprFileLocation(str(item.path), (item.location[1] or 0) + 1, headline)
    entry = ReprEntry(text.split("\n"), None, None, None, "value")
    representation = ExceptionChainRepr(
        [(ReprTraceback([entry], None, "value"), crash, None)]
    )
    vars(item)["repr_failure"] = lambda _: representation


def say_body_in_junit(config: pytest.Config, report: pytest.TestReport) -> None:
    """Make `--junitxml` attribute this error to the test's body: it assumes that such a report comes from setup."""
    if not config.getoption("xmlpath", None):
        return
    from _pytest.junitxml import xml_key

    xml = config.stash.get(xml_key, None)
    for element in () if xml is None else xml.node_reporter(report).nodes:
        if element.tag == "error":
            message = element.get("message", "")
            element.set(
                "message",
                message.replace("failed on setup with", "failed in the body with", 1),
            )


def failed_setup(
    item: pytest.Item, error: BaseException, *, begun: bool
) -> pytest.TestReport:
    """Return a report of a failed setup with this error, in place of the passed one: pytest shows ERROR.

    If no setup was begun, this one runs inside the plugins' wrappers of setups.
    """
    users_error = as_users_see_it(error)

    def raise_it() -> None:
        # Hidden behind the user's frames; without those, pytest needs one frame to
        # show.
        __tracebackhide__ = users_error.__traceback__ is not None
        raise users_error

    wrapped = (
        raise_it
        if begun
        else lambda: _only_wrappers(item, "pytest_runtest_setup", raise_it)
    )
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(wrapped, when="setup")
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(
        item=item, call=call
    )
    if check_interactive_exception(call, report):
        item.ihook.pytest_exception_interact(node=item, call=call, report=report)
    return report


def empty_teardown(item: pytest.Item) -> pytest.TestReport:
    """Return a teardown report for an item that was never set up, because plugins wait for it."""
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(
        lambda: _only_wrappers(
            item, "pytest_runtest_teardown", lambda: None, nextitem=None
        ),
        when="teardown",
    )
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(
        item=item, call=call
    )
    return report


def _only_wrappers(
    item: pytest.Item, name: str, phase: Callable[[], None], **arguments: Any
) -> None:
    """Run a function in place of a phase, inside the plugins' wrappers: some keep state there for the report."""
    manager = item.config.pluginmanager
    everybody = {
        hookimpl.plugin for hookimpl in getattr(manager.hook, name).get_hookimpls()
    }
    wrapping = {
        hookimpl.plugin
        for hookimpl in getattr(item.ihook, name).get_hookimpls()
        if _is_wrapper(hookimpl)
    }
    manager.subset_hook_caller(name, everybody - wrapping).call_extra(
        [phase], {"item": item, **arguments}
    )


def subtest_outcome(report: pytest.TestReport) -> tuple[str, bool] | None:
    """Return label and success of a subtest's report, from pytest 9 or pytest-subtests; None for any other."""
    context: Any = getattr(report, "context", None)  # other reports have no context
    if context is None or report.skipped or hasattr(report, "wasxfail"):
        return None
    keywords = [f"{name}={value}" for name, value in context.kwargs.items()]
    return " ".join(
        [*filter(None, [context.msg]), *keywords]
    ) or "subtest", report.passed


def show_item(item: pytest.Item) -> None:
    """Show the item in the format of `--setup-show`."""
    if pytest.version_tuple >= (9, 1):
        show_test_item(item, add_space=True)
    else:
        cast("Any", show_test_item)(item)


def last_teardown(item: pytest.Item) -> pytest.TestReport:
    """Tear down everything still up, and return its report as that of a second teardown of this item.

    Plugins have already released their state for the item, so they get only the report.
    """
    state = cast("Any", item.session)._setupstate
    call: pytest.CallInfo[None] = pytest.CallInfo.from_call(
        lambda: state.teardown_exact(None), when="teardown"
    )
    return pytest.TestReport.from_item_and_call(item, call)


# --- Other plugins' wrappers of an item's protocol.

PROTOCOL = "pytest_runtest_protocol"
# The hook with only their wrappers, and the successor of each item; absent without such
# wrappers.
OTHERS: pytest.StashKey[tuple[Any, dict[pytest.Item, pytest.Item]]] = pytest.StashKey()


class Unwrapped:
    """A proxy of the protocol hook without the wrappers that run for each item."""

    def __init__(self, hook: Any, other_hook: Any) -> None:
        self._hook = hook
        self._rest = other_hook

    def __call__(self, **arguments: Any) -> Any:
        """Run the protocol of the item that pytest asks for."""
        return self._rest(**arguments)

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the hook: plugins may be added or removed."""
        return getattr(self._hook, name)


@contextmanager
def one_by_one(session: pytest.Session) -> Iterator[None]:
    """Make other plugins wrap each item separately; within the one that pytest asks for, others begin and end.

    pytest's own wrappers of the protocol are swapped by an `ItemContext`, or watch the
    whole process.
    """
    config = session.config
    manager = config.pluginmanager
    hook: Any = getattr(manager.hook, PROTOCOL)
    hookimpls = hook.get_hookimpls()
    strangers = {
        hookimpl.plugin
        for hookimpl in hookimpls
        if _is_wrapper(hookimpl)
        and not hookimpl.function.__module__.startswith("_pytest.")
    }
    if not strangers:
        yield
        return
    wrappers = manager.subset_hook_caller(
        PROTOCOL, {hookimpl.plugin for hookimpl in hookimpls} - strangers
    )
    config.stash[OTHERS] = wrappers, dict(itertools.pairwise(session.items))
    setattr(
        config.hook,
        PROTOCOL,
        Unwrapped(hook, manager.subset_hook_caller(PROTOCOL, strangers)),
    )
    try:
        yield
    finally:
        setattr(config.hook, PROTOCOL, hook)
        del config.stash[OTHERS]


def _is_wrapper(implementation: Any) -> bool:
    return bool(implementation.wrapper or implementation.hookwrapper)


class ProtocolWrappers:
    """Other plugins' wrappers of one item: entered before its setup, left after its report.

    In between, they are suspended in a greenlet of their own, which keeps their context
    variables.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._green: greenlet | None = None
        self._variables: list[tuple[contextvars.ContextVar[Any], Any]] = []

    def enter_wrappers(self) -> None:
        """Run the wrappers up to their yield."""
        hook, following = self._item.config.stash.get(OTHERS, (None, {}))
        if hook is None or self._green is not None:
            return
        # The real next item is not known yet.
        arguments = {"item": self._item, "nextitem": following.get(self._item)}
        green = self._green = greenlet(
            lambda: hook.call_extra([_stand_still], arguments)
        )
        context_before = contextvars.copy_context()
        green.gr_context = context_before.copy()
        green.switch()
        inside: Any = green.gr_context
        self._variables = [
            (variable, inside[variable])
            for variable in inside
            if variable not in context_before
            or context_before[variable] is not inside[variable]
        ]

    @contextmanager
    def active(self) -> Iterator[None]:
        """Set the context variables as the wrappers did."""
        tokens = [
            (variable, variable.set(value)) for variable, value in self._variables
        ]
        try:
            yield
        finally:
            for variable, token in tokens:
                variable.reset(token)

    def leave(self) -> None:
        """Let the wrappers finish."""
        if self._green is not None and not self._green.dead:
            self._green.parent = getcurrent()
            self._green.switch()


def _stand_still() -> bool:
    cast("greenlet", getcurrent().parent).switch()
    return True


def never_rerun(item: pytest.Item) -> None:
    """Remove the mark by which plugins rerun failures: a second attempt would be another conversation."""
    for node in item.listchain():
        node.own_markers[:] = [
            mark for mark in node.own_markers if mark.name != "flaky"
        ]


def keep_in_one_thread(item: pytest.Item) -> None:
    """Mark an item for pytest-run-parallel: a scenario may only send from the thread of its conversation."""
    markers: list[str] = item.config.getini("markers")
    if any(marker.startswith("thread_unsafe") for marker in markers):
        item.add_marker("thread_unsafe")


# --- `--stepwise` if items do not end in order: none may be skipped.


def leave_none_behind(
    session: pytest.Session, is_reported: Callable[[pytest.Item], bool]
) -> None:
    """Make the next `--stepwise` begin with the first item that was still in progress at a failure.

    pytest assumes that every item before the failed one has passed.
    """
    plugin: Any = session.config.pluginmanager.get_plugin("stepwiseplugin")
    if plugin is None:
        return
    if hasattr(plugin, "cached_info"):
        holder = plugin.cached_info
        name = "last_failed"
    else:
        holder = plugin
        name = "lastfailed"
    failed = getattr(holder, name)
    for item in session.items if failed is not None else ():
        # Before 9.2 pytest stores node ids as texts.
        identity = item.nodeid if isinstance(failed, str) else item.id  # type: ignore[attr-defined,unused-ignore]
        if identity == failed:
            return
        if not is_reported(item):
            setattr(holder, name, identity)
            return
