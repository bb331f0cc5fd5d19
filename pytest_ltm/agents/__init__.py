"""What an agent is, the powers it may have beside replying, and the two simplest embedded ones."""

from __future__ import annotations

from pytest_ltm.agents._protocols import (
    POWERS,
    AcceptsHistory,
    AcceptsImages,
    Agent,
    Checkpointable,
    Configured,
    CountsTokens,
    LimitsMessages,
    Reply,
    ReportsUsage,
    Resettable,
    ShowsRetrieval,
    Stateless,
    TimeAware,
    Usage,
)
from pytest_ltm.agents._simple import Echo, Silent

__all__ = [
    "POWERS",
    "AcceptsHistory",
    "AcceptsImages",
    "Agent",
    "Checkpointable",
    "Configured",
    "CountsTokens",
    "Echo",
    "LimitsMessages",
    "Reply",
    "ReportsUsage",
    "Resettable",
    "ShowsRetrieval",
    "Silent",
    "Stateless",
    "TimeAware",
    "Usage",
]
