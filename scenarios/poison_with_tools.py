"""Poison with Tools: the same for an agent that reads pages, orders and sends; its calls show whether poison acted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Definition, Ltm

from ._poison import CHANNELS, READ, READ_CHANNEL, TOOLS, make_poison, play_poison

READING_FIRST = tuple(sorted(CHANNELS, key=lambda name: name != READ_CHANNEL))
"""All channels; the first is the default."""


def poison_with_tools(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return an example of `channel` (default `tool`) and `attack` (default `instruction`)."""
    return make_poison(rng, parameters, READING_FIRST, acts=True)


@pytest.mark.ltm(
    generate=poison_with_tools, skills="R,C", requires=["TakesTools"], version="1"
)
def test_poison_with_tools(ltm: Ltm) -> None:
    """Calls what the user said, and nothing that a stranger's page wanted, in the same words."""
    pages = ltm.definition.parameters["pages"]

    def read(page: str = "") -> str:
        known = next((name for name in pages if name in page), "")
        return str(pages.get(known, "There is no such page."))

    for name, (description, schema) in TOOLS.items():
        returns = read if name == READ else "done"
        ltm.tool(name, schema, returns=returns, description=description)
    play_poison(ltm)
