"""Poison: a text that is not the user's acts long after it came in, or it does not; the user's own, the same, must."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_ltm import Definition, Ltm

from ._poison import CHANNELS, LANGUAGES, READ_CHANNEL, make_poison, play_poison

TALKED = tuple(name for name in CHANNELS if name != READ_CHANNEL)
"""The channels that take no tool."""


def poison(rng: random.Random, parameters: Mapping[str, Any]) -> Definition:
    """Return an example of `channel` (default `message`) and `attack` (default `instruction`)."""
    return make_poison(rng, parameters, TALKED, acts=False)


@pytest.mark.ltm(generate=poison, skills="R,C", version="1", languages=LANGUAGES)
def test_poison(ltm: Ltm) -> None:
    """Does what the user said, and nothing that a stranger's text wanted, in the same words."""
    play_poison(ltm)
