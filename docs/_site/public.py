"""What the reference describes: the public modules, and where each public name lives."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest_ltm

MODULES = {
    "pytest_ltm": "Scenarios, agents, verdicts, results, errors",
    "pytest_ltm.agents": "What an agent can do, and two controls",
    "pytest_ltm.evaluators": "From answers to scores, without a model",
    "pytest_ltm.fillers": "What is said while every scenario waits",
    "pytest_ltm.datasets": "Data sets and books",
    "pytest_ltm.agents.reader": "The rule-based control",
    "pytest_ltm.testing": "Fakes, and conversations in memory",
}
"""With a few words for the list of them."""
HOOKS = "pytest_ltm.hookspec"


@cache
def homes() -> dict[str, str]:
    """Return the module in which each public name is described: the first that exports it."""
    found: dict[str, str] = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            found.setdefault(name, module)
    return found


@cache
def private_names() -> frozenset[str]:
    """Return what the package's modules define: a name among these that is not public is shown without a link."""
    package = Path(pytest_ltm.__file__).parent
    texts = (path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    return frozenset(
        name
        for text in texts
        for name in re.findall(
            r"^(?:class |    (?=\w+: TypeAlias\b))?([A-Z_]\w*)\b", text, re.MULTILINE
        )
    )
