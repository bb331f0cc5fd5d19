"""Modes: each composes its own kind of conversations, or plays them in another way; none overrides the core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.modes.live import LiveMode

__all__ = ["LiveMode"]

__getattr__, __dir__ = lazy_exports(__name__, {"live": "LiveMode"})
