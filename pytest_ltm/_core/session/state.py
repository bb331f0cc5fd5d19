"""Where the plugin keeps its state: typed stash keys, and an item's side of its conversation.

What is kept is said by protocols: those who put it there stand above all who look it
up.
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
    """A gate is on: a score below its threshold fails no item."""
    settings: Any
    """The options of the run."""

    def conversations(self) -> set[ConversationName]:
        """Return the run's conversations, as far as they are known in this process."""

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
        """What its test is given."""

    @property
    def conversation(self) -> Conversation:
        """The conversation that it takes part in."""

    @property
    def agent(self) -> Any:
        """The conversation's agent."""


# The LTM run of this pytest session; absent in any other session.
RUN_STATE: pytest.StashKey[RunState] = pytest.StashKey()
# Until the item has been reported.
LANE: pytest.StashKey[ItemSide] = pytest.StashKey()
# Of an item that has been reported, by its conversation: pytest need not run it.
REPORTED: pytest.StashKey[bool] = pytest.StashKey()


def not_reached(reason: str) -> str:
    """Return the skip reason of an item that its conversation did not reach."""
    return f"not reached: {reason}"


def mark_unreached(report: pytest.TestReport, traceback: str = "") -> pytest.TestReport:
    """Return the report of such an item, marked: the mark travels to xdist's controller with the report.

    `traceback`: that of the agent's own code, where that is why.
    """
    vars(report).update(ltm_unreached=True, ltm_traceback=traceback)
    return report


def agents_traceback(report: pytest.TestReport) -> str:
    """Return the traceback that a report of such an item was marked with; "" if none."""
    return getattr(report, "ltm_traceback", "")


def is_unreached(report: pytest.TestReport) -> bool:
    """Return whether a report is that of an item that its conversation did not reach."""
    return getattr(report, "ltm_unreached", False)


def mark_in_body(report: pytest.TestReport) -> pytest.TestReport:
    """Return the report of an item whose body raised, marked likewise: to pytest it is one of a setup."""
    vars(report)["ltm_in_body"] = True
    return report


def is_in_body(report: object) -> bool:
    """Return whether a report is that of an item whose body raised."""
    return getattr(report, "ltm_in_body", False)


_OURS: list[Callable[..., object]] = []


def own_fixture(function: Callable[..., object]) -> Any:
    """Return a fixture of this plugin's own."""
    _OURS.append(function)
    return pytest.fixture(function)


def is_ours(definition: Any) -> bool:
    """Return whether a fixture definition is one of this plugin, not of a project that uses the same name."""
    return any(definition.func is function for function in _OURS)


def lane_of(request: pytest.FixtureRequest) -> ItemSide:
    """Return the side of the conversation of the item that requests a fixture."""
    side: ItemSide | None = request.node.stash.get(LANE, None)
    if side is None:
        raise pytest.UsageError(
            f"{request.fixturename!r} can only be used by a test that is a scenario of an LTM run: "
            "function scope, and started with --ltm-agent"
        )
    return side
