"""OwnSuite: a suite that a feature runs by itself, whose tests are not conversations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class OwnSuite(NamedTuple):
    """A value of `--ltm-suite` that starts a feature's own tests in place of conversations."""

    name: str
    about: str
    """The subject of its tests, in a few words."""
    begin: Callable[[Any], None]
    """Called with pytest's configuration; registers the plugins that collect and report the tests."""
