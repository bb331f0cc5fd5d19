"""The plugin's state: typed stash keys, and an item's side of its conversation.

Protocols describe the values, because the modules that store them rank above those that
read them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from pytest_ltm._core.engine.conversation import Conversation
    from pytest_ltm._core.engine.lane import Lane
    from pytest_ltm._core.journal.result import ConversationName, ScenarioResult
    from pytest_ltm._core.model.handle import Ltm


class RunState(Protocol):
    """An LTM run, as far as its items need it."""

    gated: bool
    """A gate is active: a score below its threshold does not fail an item."""
    settings: Any
    """The options of the run."""

    def conversations(self) -> set[ConversationName]:
        """Return the run's conversations, as far as this process knows them."""

    @property
    def ended(self) -> Sequence[str]:
        """The conversations that this process has played to their ends."""

    @property
    def in_progress(self) -> Sequence[Conversation]:
        """The conversations that this process is playing."""

    @property
    def results(self) -> Sequence[ScenarioResult]:
        """The results of the examples that have ended in this process."""


class ItemSide(Protocol):
    """An item's side of its conversation."""

    lane: Lane | None
    result: ScenarioResult | None
    assertion: BaseException | None
    failure_text: str
    reported: bool

    @property
    def handle(self) -> Ltm:
        """The handle that its test is given."""

    @property
    def conversation(self) -> Conversation:
        """The conversation that it has joined."""

    @property
    def agent(self) -> Any:
        """The conversation's agent."""


# The LTM run of this pytest session; absent in any other session.
RUN_STATE: pytest.StashKey[RunState] = pytest.StashKey()
# An item's side of its conversation, until the item is reported.
LANE: pytest.StashKey[ItemSide] = pytest.StashKey()
# Set once an item has been reported by its conversation: pytest need not run it.
REPORTED: pytest.StashKey[bool] = pytest.StashKey()


def not_reached(reason: str) -> str:
    """Return the skip reason of an item that its conversation did not reach."""
    return f"not reached: {reason}"


def mark_unreached(report: pytest.TestReport, traceback: str = "") -> pytest.TestReport:
    """Mark and return the report of an unreached item: the mark travels to xdist's controller with the report.

    `traceback`: that of the agent's own code, if it is the reason.
    """
    vars(report).update(ltm_unreached=True, ltm_traceback=traceback)
    return report


def agents_traceback(report: pytest.TestReport) -> str:
    """Return the traceback in the mark of an unreached item's report; "" if there is none."""
    return getattr(report, "ltm_traceback", "")


def is_unreached(report: pytest.TestReport) -> bool:
    """Return whether a report belongs to an item that its conversation did not reach."""
    return getattr(report, "ltm_unreached", False)


def mark_in_body(report: pytest.TestReport) -> pytest.TestReport:
    """Mark and return the report of an item whose body raised: pytest sees it as a setup report."""
    vars(report)["ltm_in_body"] = True
    return report


def is_in_body(report: object) -> bool:
    """Return whether a report belongs to an item whose body raised."""
    return getattr(report, "ltm_in_body", False)


_OURS: list[Callable[..., object]] = []


def own_fixture(function: Callable[..., object]) -> Any:
    """Declare a fixture of this plugin."""
    _OURS.append(function)
    return pytest.fixture(function)


def is_ours(definition: Any) -> bool:
    """Return whether a fixture definition belongs to this plugin, not to a project that uses the same name."""
    return any(definition.func is function for function in _OURS)


def lane_of(request: pytest.FixtureRequest) -> ItemSide:
    """Return the conversation side of the item that requests a fixture."""
    side: ItemSide | None = request.node.stash.get(LANE, None)
    if side is None:
        raise pytest.UsageError(
            f"{request.fixturename!r} can only be used by a test that is a scenario of an LTM run: "
            "function scope, and started with --ltm-agent"
        )
    return side
