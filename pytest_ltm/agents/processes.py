"""Processes: how agents that dotted paths name run in processes of their own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from pytest_ltm.agents.sources import AgentSource


class Processes(Struct, frozen=True, kw_only=True):
    """How agents run in processes of their own."""

    every: bool = False
    """All that dotted paths name; else those whose file says so."""
    jump: bool = False
    """Their clocks show the conversation's time during calls."""
    limit: float | None = None
    """Seconds for each answer, where nobody can interrupt the wait for it."""
    look: bool = True
    """Whether a process is asked first what the path names."""
    hidden: str | None = None
    """The folder that they cannot read, where the kernel can keep them from it."""

    def source(
        self, spec: str, *, base: Path | None, settings: Mapping[str, Any] | None = None
    ) -> AgentSource:
        """Return the source of the agents that a dotted path names, or a file with one.

        AgentError if a process says that there are none, or none that can run there.
        One that says nothing will be told of by the conversations.
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
