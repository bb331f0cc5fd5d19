"""The installed features, and the kinds of agents that they add."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.agent_kinds import (
        AGENT_KINDS,
        AgentKind,
        agent_kinds,
        find_agent_kind,
    )
    from pytest_ltm._core.features import (
        Registry,
        current_hooks,
        feature_hooks,
        feature_names,
        leave_out_features,
        use_session_hooks,
    )

__all__ = [
    "AGENT_KINDS",
    "AgentKind",
    "Registry",
    "agent_kinds",
    "current_hooks",
    "feature_hooks",
    "feature_names",
    "find_agent_kind",
    "leave_out_features",
    "use_session_hooks",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "agent_kinds": "AGENT_KINDS AgentKind agent_kinds find_agent_kind",
        "features": (
            "Registry current_hooks feature_hooks feature_names "
            "leave_out_features use_session_hooks"
        ),
    },
)
