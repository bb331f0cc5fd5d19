"""The fixtures that scenarios use; each looks up its lane, so they cost nothing outside an LTM run."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._core.session.state import RUN_STATE, RunState, lane_of, own_fixture
from pytest_ltm._core.storage.errors import AgentError

if TYPE_CHECKING:
    from pytest_ltm._core.engine.conversation import Conversation
    from pytest_ltm._core.journal.result import ScenarioResult
    from pytest_ltm._core.model.handle import Ltm
    from pytest_ltm._core.model.judge import LtmJudge
    from pytest_ltm._core.session.items import ItemPlace
    from pytest_ltm._core.storage.clock import Clock


class LtmScheduler:
    """A read-only view of the scheduler of a session's run; false in sessions without a run.

    Args:
        run: The run; None if the session is not an LTM run.
    """

    __slots__ = ("_run",)

    def __init__(self, run: RunState | None) -> None:
        self._run = run

    def __bool__(self) -> bool:
        """Whether the session is an LTM run."""
        return self._run is not None

    @property
    def agents(self) -> Mapping[str, str]:
        """The agents under test: label -> spec."""
        agents = () if self._run is None else self._run.settings.agents
        return MappingProxyType({agent.label: agent.spec for agent in agents})

    @property
    def spans(self) -> Mapping[str, int | None]:
        """The memory spans: label -> tokens; None if examples are isolated."""
        return MappingProxyType(
            {} if self._run is None else dict(self._run.settings.spans)
        )

    @property
    def planned(self) -> tuple[str, ...]:
        """The conversations of the run, as in node ids: `bot-32k-0`."""
        if self._run is None:
            return ()
        return tuple(sorted(map(str, self._run.conversations())))

    @property
    def in_progress(self) -> tuple[Conversation, ...]:
        """The conversations that this process is playing, each with its plan and its transcript so far."""
        if self._run is None:
            return ()
        return tuple(self._run.in_progress)

    @property
    def ended(self) -> tuple[str, ...]:
        """The conversations that this process has played to their ends."""
        return () if self._run is None else tuple(self._run.ended)

    @property
    def results(self) -> tuple[ScenarioResult, ...]:
        """The results of the examples that have ended in this process, in that order within a conversation."""
        return () if self._run is None else tuple(self._run.results)


@pytest.fixture(scope="session")
def ltm_scheduler(request: pytest.FixtureRequest) -> LtmScheduler:
    """The run's scheduler, for a conftest: agents, spans, conversations in progress and ended, results so far."""
    return LtmScheduler(request.config.stash.get(RUN_STATE, None))


@own_fixture
def _ltm_place(request: pytest.FixtureRequest) -> ItemPlace | None:
    """The place where the item is played."""
    # All fixtures below request this one: pytest parametrizes only fixtures in an
    # item's closure.
    place: ItemPlace | None = getattr(request, "param", None)
    return place


@own_fixture
def ltm(request: pytest.FixtureRequest, _ltm_place: ItemPlace | None) -> Ltm:
    """The shared conversation as this scenario sees it: `say`, `ask`, `wait`, `check`, `score`, `watch`, `play`."""
    return lane_of(request).handle


@own_fixture
def ltm_agent(request: pytest.FixtureRequest, _ltm_place: ItemPlace | None) -> Any:
    """The conversation's agent, to look at; talk to it through `ltm`."""
    from pytest_ltm._core.model.agent import Apart

    agent = lane_of(request).agent
    if isinstance(agent, Apart):
        raise AgentError(
            "ltm_agent: the agent is in a process of its own (--ltm-agent-process, or `process: true` in its file), so "
            "it cannot be looked at from here. Leave that out, or the fixture"
        )
    return agent


@own_fixture
def ltm_conversation(
    request: pytest.FixtureRequest, _ltm_place: ItemPlace | None
) -> Conversation:
    """The conversation of this scenario: its plan and its transcript so far."""
    return lane_of(request).conversation


@own_fixture
def ltm_clock(request: pytest.FixtureRequest, _ltm_place: ItemPlace | None) -> Clock:
    """The conversation's clock; only the scheduler lets it advance."""
    return lane_of(request).conversation.channel.clock


@own_fixture
def ltm_judge(request: pytest.FixtureRequest, _ltm_place: ItemPlace | None) -> LtmJudge:
    """The run's judge, with `ask` and `grade`; false if there is none, and asking it then skips the scenario."""
    from pytest_ltm._core.model.judge import LtmJudge

    judge = lane_of(request).handle.judge
    return judge if isinstance(judge, LtmJudge) else LtmJudge(None)
