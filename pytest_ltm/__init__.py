"""pytest-ltm: tests the long-term memory of conversational agents, as pytest items in one long conversation.

What scenarios, agents and evaluators need is exported here, and what loads results; `pytest_ltm.testing` has the fakes.
Names are imported when they are used, because pytest loads this package in every project of its environment.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ltm._engine.agent import Agent, Reply, Usage
    from pytest_ltm._engine.filler import Filler, FillerExchange
    from pytest_ltm._engine.handle import Ltm
    from pytest_ltm._engine.scenario import Ask, Definition, Say, Step, Wait, Watch, spread
    from pytest_ltm._engine.score import Check, Evaluator, Score, Unscored, Verdict
    from pytest_ltm._engine.transcript import Exchange
    from pytest_ltm._export.loaded import Results, load
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
    from pytest_ltm.judges._ask import LtmJudge, Opinion
    from pytest_ltm.judges._inquiry import Inquiry, Judge
    from pytest_ltm.users._user import LtmUser

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
    "LtmUser",
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
    "_engine.filler": "Filler FillerExchange",
    "_engine.handle": "Ltm",
    "judges._inquiry": "Inquiry Judge",
    "judges._ask": "LtmJudge Opinion",
    "users._user": "LtmUser",
    "_engine.scenario": "Ask Definition Say Step Wait Watch spread",
    "_engine.score": "Check Evaluator Score Unscored Verdict",
    "_engine.transcript": "Exchange",
    "_engine.agent": "Agent Reply Usage",
    "_export.loaded": "Results load",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
