"""Chat models behind an OpenAI-compatible endpoint: which one is meant, asking it, and sharing its limits."""

from __future__ import annotations

from pytest_ltm._providers._answers import Answer, Used
from pytest_ltm._providers._completions import Completions, ContextOverflow, Refused
from pytest_ltm._providers._limiter import share
from pytest_ltm._providers._model import PARAMETERS, Model, model

__all__ = ["PARAMETERS", "Answer", "Completions", "ContextOverflow", "Model", "Refused", "Used", "model", "share"]
