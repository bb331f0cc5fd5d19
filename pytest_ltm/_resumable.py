"""Whether a recorded conversation can be gone on with: its plan and its agent must be the ones of then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import DefinitionError, LtmError
from pytest_ltm._fields import shown
from pytest_ltm._plan import Plan, differences
from pytest_ltm._seat import Known, cannot_be_put_back

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_ltm._checkpoints import Checkpoints
    from pytest_ltm._recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """What a journal's header says of an agent: all that decides what may be sent, and what it may remember."""

    fingerprint: str
    spec: str
    configuration: object
    """JSON values, without secrets; None where it tells none."""
    powers: tuple[str, ...]
    """Sorted."""
    max_message_tokens: int

    def to_json(self) -> dict[str, Any]:
        """Return what the header's `agent` holds."""
        return {
            "spec": self.spec,
            "configuration": self.configuration,
            "powers": list(self.powers),
            "max_message_tokens": self.max_message_tokens,
        }


def known(recording: Recording) -> Known:
    """Return what the recording says of its agent; LtmError if it says nothing that can be used."""
    agent: Mapping[str, Any] = recording.header["agent"]
    powers, most = agent.get("powers"), agent.get("max_message_tokens")
    if not isinstance(powers, list) or type(most) is not int or most < 1:
        raise LtmError("the journal's header does not say what its agent could do")
    return Known(frozenset(map(str, powers)), most)


def plan_differences(recording: Recording, plan: Plan) -> list[str]:
    """Return a sentence for each difference between the recorded plan and this one."""
    if recording.header.get("plan_fingerprint") == plan.fingerprint:
        return []
    try:
        recorded = Plan.from_json(recording.header.get("plan"), where="the recorded plan")
        plans = ("the recorded plan", "the plan of now")
        found = differences(recorded, plan, names=("recorded", "now"), plans=plans)
    except DefinitionError as error:
        found = [str(error)]
    return found or ["The plan's fingerprint is another one."]


def agent_differences(recording: Recording, agent: AgentRecord) -> list[str]:
    """Return a sentence for each difference between the recorded agent and this one."""
    recorded, now = recording.header["agent"], agent.to_json()
    names = ["powers", "max_message_tokens"]
    if recording.header.get("agent_fingerprint") != agent.fingerprint:
        names = ["spec", "configuration", *names]
    found = []
    for name in names:
        then = recorded.get(name)
        if isinstance(then, dict) and isinstance(now[name], dict):
            found += _changed(then, now[name])
        elif then != now[name]:
            found.append(f"The agent's {name} was {shown(then)} and is {shown(now[name])}.")
    if recording.header.get("agent_fingerprint") != agent.fingerprint and not found:
        found.append("The agent's configuration differs in what is not shown because it may be secret.")
    return found


def cannot_go_on(recording: Recording, checkpoints: Checkpoints) -> str:
    """Return why no agent could go on with the recording, whatever it is now, or ""."""
    if recording.complete or not recording.heard:
        return ""
    powers = known(recording).powers
    if "AcceptsHistory" not in powers and "Checkpointable" in powers and "Stateless" not in powers:
        lost = recording.last is not None and not checkpoints.has(recording.last)
        return f"there is no checkpoint of exchange {recording.last}" if lost else ""
    return cannot_be_put_back(powers)


def _changed(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"The agent's configuration, {key}: was {shown(then.get(key))} and is {shown(now.get(key))}."
        for key in {**then, **now}
        if then.get(key) != now.get(key)
    ]
