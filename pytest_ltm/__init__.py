"""pytest-ltm: tests the long-term memory of conversational agents, as pytest items in one long conversation.

What scenarios, agents and evaluators need is exported here, and what loads results;
`pytest_ltm.testing` has the fakes. Names are imported when they are used, because
pytest loads this package in every project of its environment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm._storage.dotted import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm._model.agent import Agent, Mishap, Reply, Usage
    from pytest_ltm._model.filler import Filler, FillerExchange
    from pytest_ltm._model.handle import Ltm
    from pytest_ltm._model.judge import Inquiry, Judge, LtmJudge, Opinion
    from pytest_ltm._model.scenario import (
        Ask,
        Definition,
        Say,
        Step,
        Wait,
        Watch,
        spread,
    )
    from pytest_ltm._model.score import Check, Evaluator, Score, Unscored, Verdict
    from pytest_ltm._model.simulated_user import LtmUser
    from pytest_ltm._model.transcript import Exchange
    from pytest_ltm._storage.clock import duration
    from pytest_ltm._storage.errors import (
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
    from pytest_ltm.plugin.fixtures import LtmScheduler
    from pytest_ltm.reporting.exports.loaded import Results, load

__all__ = [
    "Agent",
    "AgentError",
    "AgentFault",
    "Ask",
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
    "_storage.errors": (
        "AgentError AgentFault ConfigurationError DatasetError DefinitionError FillerError JudgeError LtmError "
        "LtmInternalError ScenarioError TokenizerError TransientFault UserError"
    ),
    "_storage.clock": "duration",
    "_model.filler": "Filler FillerExchange",
    "_model.handle": "Ltm",
    "_model.judge": "Inquiry Judge LtmJudge Opinion",
    "_model.simulated_user": "LtmUser",
    "_model.scenario": "Ask Definition Say Step Wait Watch spread",
    "_model.score": "Check Evaluator Score Unscored Verdict",
    "_model.transcript": "Exchange",
    "_model.agent": "Agent Mishap Reply Usage",
    "plugin.fixtures": "LtmScheduler",
    "reporting.exports.loaded": "Results load",
}
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
