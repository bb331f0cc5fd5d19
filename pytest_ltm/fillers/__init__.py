"""Fillers: messages that keep the agent busy between the scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.api.model import Filler, FillerExchange
    from pytest_ltm.fillers._spec import filler_from_spec
    from pytest_ltm.fillers.quiz import (
        CLOSING,
        INSTRUCTION,
        QuizFact,
        answers_of,
        message_of,
        reply_of,
    )
    from pytest_ltm.fillers.trivia import TriviaFiller

__all__ = [
    "CLOSING",
    "INSTRUCTION",
    "Filler",
    "FillerExchange",
    "QuizFact",
    "TriviaFiller",
    "answers_of",
    "filler_from_spec",
    "message_of",
    "reply_of",
]

__getattr__, __dir__ = lazy_exports(
    "pytest_ltm",
    {
        "_core.model.filler": "Filler FillerExchange",
        "fillers.quiz": "CLOSING INSTRUCTION QuizFact answers_of message_of reply_of",
        "fillers._spec": "filler_from_spec",
        "fillers.trivia": "TriviaFiller",
    },
)
