"""Logs of one's own: dated sessions and questions from a file, and how such a file is made from a chat export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.datasets.logs.log_verdict import LogsAnswer

__all__ = ("LogsAnswer",)

__getattr__, __dir__ = lazy_exports(__name__, {"log_verdict": "LogsAnswer"})
