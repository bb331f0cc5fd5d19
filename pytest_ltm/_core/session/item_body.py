"""ItemBody: a pytest item as the body of an example; its phases are run and reported when its turn comes."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, TypeVar

import pytest

from pytest_ltm._core.calls.conversation_thread import OutOfTime, own_thread, own_time
from pytest_ltm._core.calls.time_limits import call_within
from pytest_ltm._core.engine.conversation import Conversation
from pytest_ltm._core.engine.lane import UNWINDING, Ending, GreenBody, Lane
from pytest_ltm._core.internals import setup as internals
from pytest_ltm._core.internals.item_context import ItemContext
from pytest_ltm._core.journal.events import VerdictRecorded
from pytest_ltm._core.journal.result import ScenarioResult
from pytest_ltm._core.model.handle import Ltm, Sheet
from pytest_ltm._core.model.scenario import Ask, Request, Say
from pytest_ltm._core.model.score import UNDECIDED, Score, Unscored
from pytest_ltm._core.session.items import LtmItem, fixture_names
from pytest_ltm._core.session.state import (
    LANE,
    REPORTED,
    RUN_STATE,
    mark_in_body,
    mark_unreached,
    not_reached,
)
from pytest_ltm._core.storage.errors import LtmInternalError, ScenarioError, Unmeasured

T = TypeVar("T")

# The fixture that changes global state.
PATCHING = "monkeypatch"
# Exceptions by which a body skips itself: pytest reports them best.
SKIPS = (pytest.skip.Exception, unittest.SkipTest, pytest.xfail.Exception)


class BelowThreshold(pytest.fail.Exception):  # type: ignore[misc, name-defined]  # mypy sees an instance
    """The score is below the threshold; the message is the whole failure text."""


_LATE = "the evaluator did not return within"


class Membership(NamedTuple):
    """An item's part in the conversation that it has joined."""

    conversation: Conversation
    handle: Ltm
    ended: Callable[[ItemBody, Lane, Ending], tuple[ScenarioResult, str]]
    """Returns the example's result and its failure text."""


class BodyConditions(NamedTuple):
    """The conditions shared by the bodies of a run."""

    setup_state: internals.TreeSetupState
    pool: internals.Pool
    next_up: Callable[[pytest.Item], pytest.Item | None]
    """Returns the item that pytest will run next, whose fixtures must stay up."""
    withheld: str
    """Why none of their results is reported; "" if they are."""
    limit: float | None
    """Seconds for judging an answer: the body until its next request, or one call of a watcher; None: no limit."""


class ItemBody(GreenBody):
    """An item in its conversation, once it has joined."""

    fatal = (*UNWINDING, pytest.exit.Exception)
    assertion_types = (AssertionError, pytest.fail.Exception)

    def __init__(self, ltm_item: LtmItem, conditions: BodyConditions) -> None:
        super().__init__()
        self.known = ltm_item
        self.item = ltm_item.item
        self.conditions = conditions
        self._has_asked = False
        self._part: Membership | None = None
        self._unready: Exception | None = None
        """Why the body cannot begin: its definition could not be generated."""
        self.result: ScenarioResult | None = None
        self.lane: Lane | None = None
        self.recorded: VerdictRecorded | None = None
        self.failure_text = ""
        self.agents_traceback = ""
        """The traceback of the agent's own code, if that is why the agent does not answer."""
        self.reported = False
        self._around = internals.ProtocolWrappers(self.item)
        self._stretch: ItemContext | None = None
        self._setup: pytest.TestReport | None = None
        self._runtest = self.item.runtest
        self._is_held = True
        conditions.setup_state.hold_nodes(self.item)
        self.item.stash[LANE] = self

    def join(self, part: Membership, *, unready: Exception | None) -> None:
        """Join a conversation."""
        self._part = part
        self._unready = unready
        self.sheet = part.handle.sheet

    @property
    def _joined(self) -> Membership:
        if self._part is None:
            raise LtmInternalError(f"{self.item.nodeid} takes part in no conversation")
        return self._part

    @property
    def conversation(self) -> Conversation:
        """The conversation that it has joined."""
        return self._joined.conversation

    @property
    def handle(self) -> Ltm:
        """The handle that its test is given."""
        return self._joined.handle

    @property
    def agent(self) -> Any:
        """The conversation's agent, created on first access when a run is resumed."""
        return self.conversation.channel.port.agent

    # --- its stretches

    @property
    def is_begun(self) -> bool:
        """Whether its setup was run or at least attempted."""
        return self._stretch is not None

    def begin(self) -> Request | None:
        """Set the item up, then run its body up to the first request."""
        if self._unready is not None:
            self.error = self._unready
            return None
        self._patches(begin=True)
        self._around.enter_wrappers()
        with self._around.active():
            stretch = self._stretch = ItemContext(self.item)
            internals.prepare_fixtures(self.item, self.conditions.pool)
            with stretch.fixtures():
                setup = self._setup = internals.run_phase(self.item, "setup")
            if self.item.config.getoption("setupshow", False):
                internals.show_item(self.item)
            if setup.passed:
                stretch.begin_call()
                return super().begin()
        if setup.failed:
            crash = getattr(setup.longrepr, "reprcrash", None)
            # "fixture 'x' not found"
            missing = getattr(setup.longrepr, "errorstring", "").partition("\n")[0]
            self.error = SetupFailed(
                crash.message if crash is not None else missing or str(setup.longrepr)
            )
        else:
            if isinstance(setup.longrepr, tuple):
                skip_reason = setup.longrepr[2]
            else:
                skip_reason = getattr(setup, "wasxfail", "")
            self.error = pytest.skip.Exception(
                skip_reason.removeprefix("Skipped: ").removeprefix("reason: ")
            )
        return None

    def play(self) -> object:
        """Run the test function or the item's own runtest; ScenarioError for a coroutine that no plugin awaits."""
        try:
            return self._runtest()
        except (pytest.fail.Exception, pytest.skip.Exception) as ended:
            # the second before pytest 8.4
            if not str(ended.msg).startswith("async def function"):
                raise
            name = getattr(self.item, "originalname", None) or self.item.name
            raise ScenarioError(
                f"{name} is an async def, and no plugin awaits it. `ltm` itself needs no await: write def, or install "
                "a plugin such as pytest-asyncio and mark the test as it says"
            ) from None

    def surrounding_context(self) -> AbstractContextManager[object]:
        """Return the context that restores the item's state and measures its time."""
        return self._begun_stretch.active()

    def talking(self) -> AbstractContextManager[object]:
        """Return the context for the agent's reply: its output, logs and warnings belong to this item."""
        return self._begun_stretch.claims()

    @property
    def log_level(self) -> int:
        """The lowest level at which its logs are wanted."""
        return self._begun_stretch.log_level

    def send(self, request: Request) -> Any:
        """Send a request; the time that the agent takes is charged to the item."""
        __tracebackhide__ = True
        thread = own_thread()
        began = own_time()
        if thread is not None:
            thread.may_send()
        self._has_asked |= isinstance(request, Ask)
        try:
            return super().send(request)
        finally:
            if self._stretch is not None and isinstance(request, (Say, Ask)):
                self._stretch.spent.seconds += own_time() - began

    def judging(self, call: Callable[[], T]) -> T:
        """Run a call that judges an answer, within the limit; Unmeasured if it takes longer."""
        __tracebackhide__ = True
        limit = self.conditions.limit
        was_scored = self.recorded is not None and self.recorded.score is not None
        if limit is None or was_scored or not self._has_asked:
            return call()
        try:
            return call_within(limit, call)
        except OutOfTime as error:
            raise Unmeasured(
                f"{_LATE} {limit:g} s. If it may take longer, give "
                "--ltm-evaluator-timeout=SECONDS",
                cause="evaluator",
            ) from error

    @property
    def _begun_stretch(self) -> ItemContext:
        if self._stretch is None:
            raise LtmInternalError("a body sends before its setup")
        return self._stretch

    # --- its end

    def finish(self, lane: Lane, ending: Ending) -> None:
        """Report setup, call and teardown of the item, as pytest would have."""
        self.lane = lane
        recorded = self.recorded
        if recorded is not None and recorded.reason.startswith(_LATE):
            # It may be fast enough today: rescoring then decides its score.
            late = Unscored(recorded.reason, cause="evaluator")
            ending = Ending(verdict=late)
        result, self.failure_text = self._joined.ended(self, lane, ending)
        self.result = result
        self._around.enter_wrappers()
        stretch = self._stretch or ItemContext(self.item)
        hook = self.item.ihook
        nodeid = self.item.nodeid
        location = self.item.location
        self.reported = self.item.stash[REPORTED] = True
        with stretch.reporting(), self._around.active():
            hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
            for report in self._reports(ending, result):
                hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logreport(report=self._teardown())
            hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        self._around.leave()
        stretch.warnings.close()
        stretch.announce_end(stretch.spent.seconds)
        self.release()
        del self.item.stash[LANE]

    def withdraw_item(self) -> None:
        """Tear the item down when the session stops; only an error in its teardown is reported."""
        if self._stretch is None:
            self.let_go()
            return
        with self._stretch.reporting(), self._around.active():
            report = self._teardown()
            if report.failed:
                self.item.ihook.pytest_runtest_logreport(report=report)
        self._around.leave()
        self._stretch.warnings.close()

    def _reports(
        self, ending: Ending, result: ScenarioResult
    ) -> list[pytest.TestReport]:
        if self._setup is not None and not self._setup.passed:
            return [self._setup]
        if self._stretch is not None:
            self._stretch.add_sections()
        if self.conditions.withheld and self._unready is None:
            return [self._skipped(self.conditions.withheld)]
        withheld = ending.unplayable or (
            ending.unreached and not_reached(ending.unreached)
        )
        if withheld is not None:
            report = self._skipped(withheld)
            return [
                report
                if ending.unplayable
                else mark_unreached(report, self.agents_traceback)
            ]
        if ending.error is not None and not isinstance(ending.error, SKIPS):
            failed = internals.failed_setup(
                self.item, ending.error, begun=self.is_begun
            )
            return [failed if self._unready else mark_in_body(failed)]
        if self._setup is None:
            raise LtmInternalError(
                f"{self.item.nodeid} has a verdict but was never set up"
            )
        return [self._setup, self._call(ending, result)]

    def _skipped(self, reason: str) -> pytest.TestReport:
        return internals.failed_setup(
            self.item,
            pytest.skip.Exception(reason, _use_item_location=True),
            begun=self.is_begun,
        )

    def _call(self, ending: Ending, result: ScenarioResult) -> pytest.TestReport:
        error = ending.error
        # The gate decides, not the score; an expected failure stays one.
        gated = self.item.config.stash[RUN_STATE].gated and not any(
            self.item.iter_markers("xfail")
        )
        if error is None and not isinstance(ending.verdict, Score):
            kind = UNDECIDED if result.cause == UNDECIDED else "unscored"
            error = pytest.skip.Exception(
                f"{kind}: {result.reason}", _use_item_location=True
            )
        elif error is None and result.outcome != "passed" and not gated:
            error = self.assertion or BelowThreshold(self.failure_text, pytrace=False)

        def replay() -> None:
            if self._stretch is not None:
                self._stretch.restore_log_records()
            if error is not None:
                raise error

        self.item.runtest = replay  # type: ignore[method-assign]
        if isinstance(error, BelowThreshold):
            internals.show_text_alone(self.item, error)
        try:
            report = internals.run_phase(self.item, "call")
        finally:
            self.item.runtest = self._runtest  # type: ignore[method-assign]
            vars(self.item).pop("repr_failure", None)
        report.duration = 0.0 if self._stretch is None else self._stretch.spent.seconds
        if result.outcome == "failed" and report.passed:
            # It travels to xdist's controller with the report.
            vars(report)["ltm_scored"] = result.score
            report.sections.append(("score below the threshold", self.failure_text))
        return report

    def let_go(self) -> None:
        """Release the fixtures that it shares with others, so that they can be torn down."""
        if self._is_held:
            self._is_held = False
            self.conditions.setup_state.let_go(self.item)

    def release(self) -> None:
        """Drop the finished conversation: the item, and everything that keeps its tracebacks, lives longer."""
        self._part = self._green = self._hub = self._stretch = self._setup = None
        self.lane = self.result = self.error = self.assertion = None
        self.sheet = Sheet()
        self.failure_text = ""
        # pytest-rerunfailures keeps tracebacks for possible reruns here, and with them
        # everything; our items are never rerun.
        self.item.__dict__.pop("_rerun_condition_excinfos", None)

    def _teardown(self) -> pytest.TestReport:
        self.let_go()
        if self._stretch is None:
            return internals.empty_teardown(self.item)
        with self._stretch.fixtures():
            report = internals.run_phase(
                self.item, "teardown", nextitem=self.conditions.next_up(self.item)
            )
        internals.dispose_fixtures(self.item)
        self._patches(begin=False)
        return report

    def _patches(self, *, begin: bool) -> None:
        """Isolate patches: other conversations must not see them, and the first to end would undo them for all."""
        thread = own_thread()
        if thread is not None and PATCHING in fixture_names(self.item):
            (thread.wait_for_turn if begin else thread.leave)(PATCHING)


class SetupFailed(Exception):
    """A fixture failed; the setup's report has the traceback."""
