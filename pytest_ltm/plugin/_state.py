"""Where the plugin keeps its state: typed stash keys, and the lane of an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_ltm.plugin._body import ItemBody
    from pytest_ltm.plugin._run import LtmRun

RUN: pytest.StashKey[LtmRun] = pytest.StashKey()
"""The LTM run of this pytest session; absent in any other session."""
LANE: pytest.StashKey[ItemBody] = pytest.StashKey()
"""An item's side of its conversation."""


def lane_of(request: pytest.FixtureRequest) -> ItemBody:
    """Return the side of the conversation of the item that requests a fixture."""
    body: ItemBody | None = request.node.stash.get(LANE, None)
    if body is None:
        raise pytest.UsageError(
            f"{request.fixturename!r} can only be used by a test that is a scenario of an LTM run: "
            "function scope, and started with --ltm-agent"
        )
    return body
