"""Side: one of two things that are compared: a run, one agent of a run, or a baseline that was kept of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_ltm._errors import ConfigurationError, did_you_mean
from pytest_ltm._plan import natural

if TYPE_CHECKING:
    from pytest_ltm._gate._facts import PlanFacts
    from pytest_ltm._result import ConversationResult, RunResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Results, and the plans that they came from."""

    name: str
    """As sentences name it: `baseline 'main'`, `run 20260105-101500-3f2a`, `this run`."""
    result: RunResult
    plans: tuple[PlanFacts, ...]
    """One for each conversation; equal ones of several agents may be given once."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The labels of its agents, in the order of the run."""
        return tuple(dict.fromkeys(held.agent for held in self.result.conversations))

    @property
    def spans(self) -> tuple[str, ...]:
        """The labels of its memory spans, from the shortest; `isolated` is the first."""
        spans = {held.span_label: held.span or 0 for held in self.result.conversations}
        return tuple(sorted(spans, key=lambda label: (spans[label], natural(label))))

    def of(self, agent: str) -> tuple[ConversationResult, ...]:
        """Return the conversations of one agent."""
        return tuple(held for held in self.result.conversations if held.agent == agent)


def one_agent(side: Side, agent: str = "", how: str = "") -> Side:
    """Return the side with one agent only: the one named, else the only one it has.

    ConfigurationError if there is no such agent or none is named and it has several; `how` says how to name one.
    """
    known = side.agents
    if agent and agent not in known:
        raise ConfigurationError(
            f"{side.name} has no agent {agent!r}: it has {', '.join(known)}.{did_you_mean(agent, known)}"
        )
    if not agent and len(known) > 1:
        raise ConfigurationError(f"{side.name} holds several agents: {', '.join(known)}. {how}".rstrip())
    chosen = agent or (known[0] if known else "")
    return replace(side, result=replace(side.result, conversations=side.of(chosen)))
