"""OwnSuite: a suite that a feature runs by itself, whose tests are not conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class OwnSuite(NamedTuple):
    """A value of `--ltm-suite` that starts tests of a feature's own in place of conversations."""

    name: str
    about: str
    """What it tests, in a few words."""
    begin: Callable[[Any], None]
    """Is called with pytest's configuration, and registers what collects and reports the tests."""
