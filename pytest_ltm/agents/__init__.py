"""The agent protocol, its optional capabilities, and the two simplest embedded agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.agents.controls import Echo, Silent
    from pytest_ltm.api.model import (
        CAPABILITIES,
        AcceptsHistory,
        AcceptsImages,
        Agent,
        AnswersAlone,
        Checkpointable,
        Configured,
        CountsTokens,
        DeletesRecords,
        KeepsUsers,
        LimitsMessages,
        Reply,
        ReportsUsage,
        Resettable,
        Settles,
        ShowsContext,
        ShowsRetrieval,
        ShowsWrites,
        Stateless,
        TimeAware,
        Usage,
    )

__all__ = [
    "CAPABILITIES",
    "AcceptsHistory",
    "AcceptsImages",
    "Agent",
    "AnswersAlone",
    "Checkpointable",
    "Configured",
    "CountsTokens",
    "DeletesRecords",
    "Echo",
    "KeepsUsers",
    "LimitsMessages",
    "Reply",
    "ReportsUsage",
    "Resettable",
    "Settles",
    "ShowsContext",
    "ShowsRetrieval",
    "ShowsWrites",
    "Silent",
    "Stateless",
    "TimeAware",
    "Usage",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm",
    {
        "_core.model.agent": "CAPABILITIES AcceptsHistory AcceptsImages Agent AnswersAlone Checkpointable Configured "
        "CountsTokens DeletesRecords KeepsUsers LimitsMessages Reply ReportsUsage Resettable Settles ShowsContext "
        "ShowsRetrieval ShowsWrites Stateless "
        "TimeAware Usage",
        "agents.controls": "Echo Silent",
    },
)
