"""TreeSetupState: several items set up at once."""

from __future__ import annotations

import collections
import sys
from typing import TYPE_CHECKING

from _pytest.nodes import Node
from _pytest.outcomes import TEST_OUTCOME
from _pytest.runner import SetupState

from pytest_ltm.plugin._internals._warnings import remember_warnings

if TYPE_CHECKING:
    import pytest

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup

NodeCounter = collections.Counter[Node]


class TreeSetupState(SetupState):
    """A SetupState whose live nodes form a tree instead of one path, so that several items can be set up."""

    def __init__(self) -> None:
        super().__init__()
        self.held: NodeCounter = collections.Counter()
        """Nodes that items in progress still need."""

    def hold(self, item: pytest.Item) -> None:
        """Keep the item's nodes up until it is let go."""
        self.held.update(item.listchain())

    def let_go(self, item: pytest.Item) -> None:
        """Let the item's nodes be torn down."""
        self.held.subtract(item.listchain())

    def setup(self, item: pytest.Item) -> None:
        """Set up the nodes of the item that are not up yet: pytest's own code, on this item's own path."""
        full = self.stack
        self.stack = {node: full[node] for node in item.listchain() if node in full}
        try:
            super().setup(item)
        finally:
            full.update(self.stack)
            self.stack = full

    def teardown_exact(self, nextitem: pytest.Item | None) -> None:
        """Tear down every node that neither the next item nor an item in progress needs."""
        keep = set(nextitem.listchain()) if nextitem else set()
        errors: list[BaseException] = []
        for node in [n for n in reversed(self.stack) if n not in keep and self.held[n] <= 0]:
            finalizers = self.stack.pop(node)[0]
            while finalizers:
                try:
                    finalizers.pop()()
                except TEST_OUTCOME as error:
                    errors.append(error)
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise BaseExceptionGroup("errors while tearing down", errors[::-1])


def install(session: pytest.Session) -> TreeSetupState:
    """Replace the session's setup state; LTM runs only."""
    state = TreeSetupState()
    session._setupstate = state
    remember_warnings(session.config)
    return state
