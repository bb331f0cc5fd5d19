"""Agents that compact: a wrapper that asks for a summary, and readers that lose one kind of fact."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.reader.memory_policies import Full
from pytest_ltm.agents.reader.reader import Reader
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.agents.sources import AgentSource, agent_source, require_spec
from pytest_ltm.agents.wrapping import AgentWrapper, await_result
from pytest_ltm.api.model import COMPACTION, HANDED_ON, Reply
from pytest_ltm.api.storage import AgentError, did_you_mean


class Compacting(AgentWrapper):
    """A wrapper that compacts: asks the agent for a summary, resets it, and continues from the summary.

    It has the wrapped agent's capabilities. Compacts, Configured.
    """

    def __init__(self, model: AgentSource, agent: Any) -> None:
        super().__init__(model, agent)
        if "Resettable" not in capabilities_of(agent):
            raise AgentError(
                f"agent 'compacting:{model.spec}': {model.spec!r} has no reset(), so its context cannot end"
            )
        self._take_members(without=frozenset({"Configured", "Stateless", "Compacts"}))
        self.reply = agent.reply

    async def compact(self) -> str | Reply:
        """Return the summary from which the wrapped agent continues."""
        summary: str | Reply = await await_result(self._agent.reply(COMPACTION))
        text = summary.text if isinstance(summary, Reply) else summary
        await await_result(self._agent.reset())
        if "AcceptsHistory" in capabilities_of(self._agent):
            await await_result(self._agent.accept(HANDED_ON, text))
        else:
            await await_result(self._agent.reply(f"{HANDED_ON}\n{text}"))
        return summary

    def configuration(self) -> Mapping[str, Any]:
        """Return the wrapped agent's configuration."""
        return {"compacting": self._model.configuration(self._agent)}


def make_compacting(argument: str) -> AgentSource:
    """Return the source of `compacting:SPEC`; AgentError if SPEC is missing."""
    require_spec("compacting", argument, example="mypkg.bot:Bot")
    model = find_agent(argument)
    return agent_source(
        lambda: Compacting(model, model.make()), spec=f"compacting:{argument}"
    )


# The kinds of sentence that a compactor's summary leaves out; "all" keeps nothing.
LOSSES: Mapping[str, tuple[str, ...]] = {
    "nothing": (),
    "goals": ("goal",),
    "tasks": ("task",),
    "files": ("file",),
    "conventions": ("convention",),
    "corrections": ("correction",),
    "reasons": ("reason",),
    "all": ("goal", "task", "file", "convention", "correction", "reason", "server"),
}
SECRETS = "secrets"


class Compactor(Reader):
    """A reader that compacts by rules: it keeps the project sentences that it noted, without secrets.

    `loses`: the kind that its summaries leave out; "secrets": they include secrets.
    Compacts.
    """

    def __init__(self, loses: str) -> None:
        super().__init__(Full, f"compactor:{loses}")
        self._loses = loses

    def compact(self) -> str:
        """Return the summary from which the reader continues."""
        from pytest_ltm.agents.reader.work import WORK

        left_out = {*LOSSES.get(self._loses, ())}
        if self._loses != SECRETS:
            left_out.add("secret")
        noted = reversed(self._notes.contents(WORK))
        texts = [text for kind, _, _, text in noted if kind not in left_out]
        self.reset()
        for text in texts:
            self.accept(text, "Noted.")
        return "\n".join(texts)


def make_compactor(argument: str) -> AgentSource:
    """Return the source of compactors that lose one kind, by default nothing.

    Raises AgentError for an unknown kind.
    """
    loses = argument or "nothing"
    losses = [*LOSSES, SECRETS]
    if loses not in losses:
        raise AgentError(
            f"agent 'compactor:{loses}': it loses {', '.join(losses[:-1])} or {losses[-1]}."
            f"{did_you_mean(loses, losses)}"
        )
    spec = f"compactor:{argument}" if argument else "compactor"
    return agent_source(partial(Compactor, loses), spec=spec)
