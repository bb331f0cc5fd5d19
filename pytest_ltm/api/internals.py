"""Replacements of pytest's setup, fixtures and capture for concurrent conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.internals.item_context import (
        UnattributedOutput,
        cut_file,
        suspend_item_context,
        worker_interactor,
    )
    from pytest_ltm._core.internals.setup import (
        last_teardown,
        say_body_in_junit,
        users_traceback,
    )
    from pytest_ltm._core.internals.threads import route_agent_output

__all__ = [
    "UnattributedOutput",
    "cut_file",
    "last_teardown",
    "route_agent_output",
    "say_body_in_junit",
    "suspend_item_context",
    "users_traceback",
    "worker_interactor",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "internals.item_context": (
            "UnattributedOutput cut_file suspend_item_context worker_interactor"
        ),
        "internals.setup": "last_teardown say_body_in_junit users_traceback",
        "internals.threads": "route_agent_output",
    },
)
