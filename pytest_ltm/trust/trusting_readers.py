"""Controls that trust everybody, only the user, or nobody.

They differ only in the texts that they follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pytest_ltm.agents.reader.memory_policies import Full
from pytest_ltm.agents.reader.notes import IncomingTurn
from pytest_ltm.agents.reader.reader import Reader
from pytest_ltm.agents.reader.trust import TRUST, Trust
from pytest_ltm.agents.sources import AgentSource, agent_source, refuse_argument

TRUSTS: Mapping[str, Trust] = {"obeying": "all", "fencing": "own", "refusing": "none"}
"""Whose texts each control follows."""


class TrustingReader(Reader):
    """A reader that forgets nothing and follows the texts of everybody, of the user, or of nobody."""

    def __init__(self, name: str) -> None:
        self._trust = TRUSTS[name]
        super().__init__(Full, name)

    def reset(self) -> None:
        """Forget everything except whose texts it follows."""
        super().reset()
        start = IncomingTurn(text="", position=0, now=None)
        self._notes.add(start, TRUST, self._trust)


def make_trusting(name: str, argument: str) -> AgentSource:
    """Return the source of a control; AgentError if it has an argument."""
    refuse_argument(name, argument)
    return agent_source(partial(TrustingReader, name), spec=name)
