"""The names that a feature may import from the core; each is imported on first use.

A feature is one `plugin.py` with hooks (all are listed in `pytest_ltm.hookspec`) next to
its own modules. It imports this package and the public modules of features that it builds
on, and nothing below `pytest_ltm._core`. This package has the names that most features
need; its modules have more, one module for each package of the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from pytest_ltm._core.storage.dotted import lazy, lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.agent_kinds import AgentKind
    from pytest_ltm._core.journal.events import Event, Journal
    from pytest_ltm._core.journal.result import (
        ConversationName,
        ConversationResult,
        RunResult,
        ScenarioResult,
    )
    from pytest_ltm._core.journal.section import Curve, ScreenLine, Section
    from pytest_ltm._core.model.dataset import Dataset, DatasetOption
    from pytest_ltm._core.model.filler import Filler
    from pytest_ltm._core.model.own_suite import OwnSuite
    from pytest_ltm._core.model.plan import Plan
    from pytest_ltm._core.model.score import Check
    from pytest_ltm._core.model.suite import Suite
    from pytest_ltm._core.model.tokens import TokenCounter
    from pytest_ltm._core.model.tools import AnsweredCall, Call, CallRule
    from pytest_ltm._core.model.transcript import Count, Exchange, Transcript
    from pytest_ltm._core.session.conversation_run import PlayedConversation
    from pytest_ltm._core.session.conversation_setup import (
        ConversationInputs,
        ConversationMode,
        OpenConversation,
    )
    from pytest_ltm._core.session.options import Option, is_given, read_option
    from pytest_ltm._core.session.session import LtmRun
    from pytest_ltm._core.session.settings import AgentChoice, RunSettings

__all__ = [
    "AgentChoice",
    "AgentKind",
    "AnsweredCall",
    "Call",
    "CallRule",
    "Check",
    "ConversationInputs",
    "ConversationMode",
    "ConversationName",
    "ConversationResult",
    "Count",
    "Curve",
    "Dataset",
    "DatasetOption",
    "Event",
    "Exchange",
    "Filler",
    "Journal",
    "LtmRun",
    "OpenConversation",
    "Option",
    "OwnSuite",
    "Plan",
    "PlayedConversation",
    "RunResult",
    "RunSettings",
    "ScenarioResult",
    "ScreenLine",
    "Section",
    "Suite",
    "TokenCounter",
    "Transcript",
    "hookimpl",
    "is_given",
    "lazy",
    "read_option",
]

hookimpl = pluggy.HookimplMarker("pytest")
"""Marks the function of a hook, like `pytest.hookimpl`, without importing pytest."""

_HOMES = {
    "_core.model.score": "Check",
    "_core.model.tokens": "TokenCounter",
    "_core.model.tools": "AnsweredCall Call CallRule",
    "_core.model.dataset": "Dataset DatasetOption",
    "_core.model.filler": "Filler",
    "_core.model.suite": "Suite",
    "_core.agent_kinds": "AgentKind",
    "_core.journal.events": "Event Journal",
    "_core.journal.result": "ConversationName ConversationResult RunResult ScenarioResult",
    "_core.model.own_suite": "OwnSuite",
    "_core.journal.section": "Curve ScreenLine Section",
    "_core.model.plan": "Plan",
    "_core.model.transcript": "Count Exchange Transcript",
    "_core.session.conversation_run": "PlayedConversation",
    "_core.session.conversation_setup": "ConversationInputs ConversationMode OpenConversation",
    "_core.session.options": "Option is_given read_option",
    "_core.session.session": "LtmRun",
    "_core.session.settings": "AgentChoice RunSettings",
}
__getattr__, _ = lazy_exports("pytest_ltm", _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
