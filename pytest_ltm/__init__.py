"""pytest-ltm: tests the long-term memory of conversational agents, as pytest items in one long conversation.

What scenarios, agents and evaluators need is exported here, and what loads results;
`pytest_ltm.testing` has the fakes. Names are imported when they are used, because
pytest loads this package in every project of its environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._core.storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._core.model.agent import Agent, Mishap, Reply, Usage
    from pytest_ltm._core.model.filler import Filler, FillerExchange
    from pytest_ltm._core.model.handle import Ltm, LtmUser
    from pytest_ltm._core.model.judge import Inquiry, Judge, LtmJudge
    from pytest_ltm._core.model.opinion import Opinion
    from pytest_ltm._core.model.scenario import (
        Ask,
        Definition,
        Say,
        Step,
        Wait,
        Watch,
        spread,
    )
    from pytest_ltm._core.model.score import Check, Evaluator, Score, Unscored, Verdict
    from pytest_ltm._core.model.tools import AnsweredCall, Call, Tools
    from pytest_ltm._core.model.transcript import Exchange
    from pytest_ltm._core.session.fixtures import LtmScheduler
    from pytest_ltm._core.storage.clock import duration
    from pytest_ltm._core.storage.errors import (
        AgentError,
        AgentFault,
        ConfigurationError,
        DatasetError,
        DefinitionError,
        FillerError,
        JudgeError,
        LtmError,
        LtmInternalError,
        ScenarioError,
        TokenizerError,
        TransientFault,
        UserError,
    )
    from pytest_ltm.reports.exports.loaded import Results, load

__all__ = [
    "Agent",
    "AgentError",
    "AgentFault",
    "AnsweredCall",
    "Ask",
    "Call",
    "Check",
    "ConfigurationError",
    "DatasetError",
    "Definition",
    "DefinitionError",
    "Evaluator",
    "Exchange",
    "Filler",
    "FillerError",
    "FillerExchange",
    "Inquiry",
    "Judge",
    "JudgeError",
    "Ltm",
    "LtmError",
    "LtmInternalError",
    "LtmJudge",
    "LtmScheduler",
    "LtmUser",
    "Mishap",
    "Opinion",
    "Reply",
    "Results",
    "Say",
    "ScenarioError",
    "Score",
    "Step",
    "TokenizerError",
    "Tools",
    "TransientFault",
    "Unscored",
    "Usage",
    "UserError",
    "Verdict",
    "Wait",
    "Watch",
    "duration",
    "load",
    "spread",
]

_HOMES = {
    "_core.storage.errors": (
        "AgentError AgentFault ConfigurationError DatasetError DefinitionError FillerError JudgeError LtmError "
        "LtmInternalError ScenarioError TokenizerError TransientFault UserError"
    ),
    "_core.storage.clock": "duration",
    "_core.model.filler": "Filler FillerExchange",
    "_core.model.handle": "Ltm LtmUser",
    "_core.model.judge": "Inquiry Judge LtmJudge",
    "_core.model.opinion": "Opinion",
    "_core.model.scenario": "Ask Definition Say Step Wait Watch spread",
    "_core.model.score": "Check Evaluator Score Unscored Verdict",
    "_core.model.tools": "AnsweredCall Call Tools",
    "_core.model.transcript": "Exchange",
    "_core.model.agent": "Agent Mishap Reply Usage",
    "_core.session.fixtures": "LtmScheduler",
    "reports.exports.loaded": "Results load",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
