"""The loop that plays a conversation, for features that compose, repeat or report conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.engine.conversation import (
        Action,
        Close,
        Conversation,
        ConversationScript,
        GiveUp,
        Renew,
        ScriptChanged,
        Send,
        SendFiller,
        TellHistoryPart,
    )
    from pytest_ltm._core.engine.factory import ConversationFactory
    from pytest_ltm._core.engine.held_agent import Checkpoints, RecordedAgent
    from pytest_ltm._core.engine.lane import CreditedQuestion, Ending, Lane
    from pytest_ltm._core.engine.port import MAX_CONSECUTIVE_FAULTS, Enclosed, LivePort
    from pytest_ltm._core.engine.scoring import (
        classify_ending,
        ending_of,
        ending_told,
        question_result,
        scenario_result,
        usage_totals,
    )

__all__ = [
    "MAX_CONSECUTIVE_FAULTS",
    "Action",
    "Checkpoints",
    "Close",
    "Conversation",
    "ConversationFactory",
    "ConversationScript",
    "CreditedQuestion",
    "Enclosed",
    "Ending",
    "GiveUp",
    "Lane",
    "LivePort",
    "RecordedAgent",
    "Renew",
    "ScriptChanged",
    "Send",
    "SendFiller",
    "TellHistoryPart",
    "classify_ending",
    "ending_of",
    "ending_told",
    "question_result",
    "scenario_result",
    "usage_totals",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm._core",
    {
        "engine.conversation": (
            "Action Close Conversation ConversationScript GiveUp Renew "
            "ScriptChanged Send SendFiller TellHistoryPart"
        ),
        "engine.factory": "ConversationFactory",
        "engine.held_agent": "Checkpoints RecordedAgent",
        "engine.lane": "CreditedQuestion Ending Lane",
        "engine.port": "Enclosed LivePort MAX_CONSECUTIVE_FAULTS",
        "engine.scoring": (
            "scenario_result classify_ending ending_of ending_told question_result usage_totals"
        ),
    },
)
