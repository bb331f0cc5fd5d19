"""Processes: how agents named by dotted paths run in their own processes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.sources import AgentSource


class Processes(Struct, frozen=True, kw_only=True):
    """How agents run in their own processes."""

    every: bool = False
    """Whether all agents named by dotted paths get a process; else only those whose file says so."""
    jump: bool = False
    """Whether their clocks show the conversation's time during calls."""
    limit: float | None = None
    """Seconds for each answer, if the caller cannot interrupt the wait."""
    look: bool = True
    """Whether a process is asked for the agent's capabilities first."""
    hidden: str | None = None
    """The folder that they cannot read, if the kernel supports hiding it."""

    def source(
        self, spec: str, *, base: Path | None, settings: Mapping[str, Any] | None = None
    ) -> AgentSource:
        """Return the source of the agents that a dotted path, or a file with one, names.

        Raises AgentError if a process reports that there are none, or none that can run
        there. An agent whose process does not answer is reported by the conversations.
        """
        from pytest_ltm.agents._subprocess_agent import AgentApart, ApartPlace

        where = ApartPlace(
            spec, None if base is None else str(base), settings is not None, self
        )
        return AgentSource(
            lambda: AgentApart(where),
            spec=spec,
            owned=True,
            settings=settings,
            apart=True,
            definition=where.promised_capabilities() if self.look else None,
            produce_in=partial(AgentApart, where),
        )
