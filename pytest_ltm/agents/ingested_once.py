"""`reading.k=5,10,25`: agents that differ only in reading, so that one ingests the history for all.

The first agent that is told a history ingests it. The others only compare their history
with that one and, at their first question, adopt the resulting state. An agent that is
told anything else ingests everything by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from msgspec import Struct, field

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.memory.stores import Steps, stepwise
from pytest_ltm.agents.sources import AgentSource, agent_source
from pytest_ltm.agents.wrapping import AgentWrapper, InTurn
from pytest_ltm.api.model import TakesTurns

# Capabilities that an agent loses because it may adopt another agent's state.
_OWN = frozenset({"Checkpointable", "KeepsUsers", "Stateless"})


class Ingestion(Struct):
    """The history of one agent before its first question, and the resulting state."""

    exchanges: list[tuple[str, str | None, datetime | None]]
    """Message, reply and time; reply None: the agent replied itself."""
    state: Any
    agent: Any
    """The agent that ingested it; it stays open until all agents that adopted its state are closed."""
    users: set[int]
    """The numbers of the agents that use this state, including the one that created it."""
    closed: set[int] = field(default_factory=set)


class Family(Struct):
    """The agents of one spec with several parameter values, and their ingested histories."""

    size: int
    ingestions: list[Ingestion] = field(default_factory=list)


def join_families(
    sources: Mapping[str, AgentSource], families: Mapping[str, str]
) -> dict[str, AgentSource]:
    """Return the sources by label; those in one family (by label, "": none) have agents that ingest once."""
    sizes = Counter(filter(None, families.values()))
    by_name = {name: Family(size) for name, size in sizes.items() if size > 1}
    joined = {}
    for number, (label, source) in enumerate(sources.items()):
        joined[label] = source
        if family := by_name.get(families.get(label, "")):
            # A new source: the original one counts its agents, and resets those that it
            # knows.
            joined_source = agent_source(
                partial(_ingest_once, source, family, number),
                spec=source.spec,
                settings=source.settings,
            )
            joined[label] = replace(
                joined_source,
                definition=source.definition,
                kind=source.kind,
                sees_clock=source.sees_clock,
            )
    return joined


def _ingest_once(source: AgentSource, family: Family, number: int) -> IngestedOnce:
    agent = source.make()
    kind = IngestedOnceInTurn if isinstance(agent, TakesTurns) else IngestedOnce
    return kind(source, agent, family, number)


class IngestedOnce(AgentWrapper):
    """A wrapper that withholds the history from its agent as long as a family member was told the same."""

    def __init__(
        self, model: AgentSource, agent: Any, family: Family, number: int
    ) -> None:
        super().__init__(model, agent)
        self._family = family
        self._number = number
        self._time: datetime | None = None
        self._begin()
        self._take_members(without=_OWN)

    def _begin(self) -> None:
        self._exchanges: list[tuple[str, str | None, datetime | None]] = []
        self._known_count = 0
        """How many of them this agent itself was told."""
        self._same: list[Ingestion] = []
        """Histories of other agents that begin with this agent's history."""
        # Only those not used yet: a conversation that is repeated stands on its own.
        for ingestion in self._family.ingestions:
            if self._number not in ingestion.users:
                self._same.append(ingestion)
        self._shared: Ingestion | None = None
        """The state that it shares with others."""

    @stepwise
    def reply(self, message: str) -> Steps:
        """Return the agent's own reply; it leaves the family first."""
        yield from self._leave_family()
        yield from self._catch_up()
        reply = yield self._agent.reply(message)
        self._add(message, None)
        self._known_count = len(self._exchanges)
        return reply

    async def aclose(self) -> None:
        """Close the agent; a shared one is closed by the last agent that shares its state."""
        shared = self._shared
        if shared is None or shared.agent is not self._agent:
            await super().aclose()
        if shared is not None:
            shared.closed.add(self._number)
            if len(shared.closed) == self._family.size:
                self._family.ingestions.remove(shared)
                self._agent = shared.agent
                await super().aclose()

    # --- capabilities, if the agent has them

    def _tell_time(self, now: datetime) -> Any:
        self._time = now
        return self._agent.tell_time(now)

    @stepwise
    def _answer_alone(self, message: str) -> Steps:
        count = len(self._exchanges)
        if self._shared is None and self._known_count < count:
            for ingestion in self._same:
                if len(ingestion.exchanges) == count:
                    self._agent.adopt(ingestion.state)
                    ingestion.users.add(self._number)
                    self._shared = ingestion
                    self._known_count = count
                    break
        yield from self._catch_up()
        if self._shared is None:
            self._shared = Ingestion(
                [*self._exchanges], self._agent.ingested(), self._agent, {self._number}
            )
            self._family.ingestions.append(self._shared)
        return (yield self._agent.answer_alone(message))

    @stepwise
    def _accept(self, message: str, reply: str) -> Steps:
        yield from self._leave_family()
        self._add(message, reply)
        return None if self._same else (yield from self._catch_up())

    def _reset(self) -> Any:
        self._begin()
        return self._agent.reset()

    def _add(self, message: str, reply: str | None) -> None:
        self._exchanges.append((message, reply, self._time))
        last = len(self._exchanges) - 1
        same = []
        for ingestion in self._same:
            if ingestion.exchanges[last : last + 1] == self._exchanges[last:]:
                same.append(ingestion)
        self._same = same

    def _catch_up(self) -> Steps:
        """Tell the agent the withheld exchanges; return the result of the last one."""
        result = None
        spared = self._exchanges[self._known_count :]
        for message, reply, time in spared:
            if time is not None and "TimeAware" in capabilities_of(self._agent):
                yield self._agent.tell_time(time)
            result = yield self._agent.accept(message, reply or "")
        self._known_count = len(self._exchanges)
        if (
            spared
            and self._time is not None
            and "TimeAware" in capabilities_of(self._agent)
        ):
            yield self._agent.tell_time(self._time)
        return result

    def _leave_family(self) -> Steps:
        """Stop sharing a state: the next exchange must not reach the others."""
        shared = self._shared
        self._shared = None
        if shared is None:
            return
        if shared.agent is self._agent and shared.users == {self._number}:
            self._family.ingestions.remove(shared)
            return
        shared.closed.add(self._number)
        if shared.agent is not self._agent:
            yield AgentWrapper.aclose(self)
        self._agent = self._model.make()
        self._known_count = 0
        self._take_members(without=_OWN)


class IngestedOnceInTurn(InTurn, IngestedOnce):
    """An IngestedOnce around an agent that takes turns."""
