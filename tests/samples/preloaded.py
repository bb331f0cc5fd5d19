"""What runs inside this process would import each for itself; it is imported when this module is.

pytester forgets the modules that a run imports: what is here already is imported once only.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec

PRELOADED = (
    "filelock",
    "greenlet",
    "numpy",  # cannot be imported twice
    "pytest_ltm.agents",
    "pytest_ltm.agents.reader.reader",
    "pytest_ltm.fillers._spec",
    "pytest_ltm.fillers._talk",
    "pytest_ltm._core.internals",
    "pytest_ltm._core.session.garbage",
    "pytest_ltm._core.session.startup",
    "pytest_ltm._core.session.collection",
    "pytest_ltm.testing",
    "rouge_score.rouge_scorer",
    "tiktoken",
    "yaml",
)
for _name in PRELOADED:
    if find_spec(_name.partition(".")[0]) and (
        _name != "rouge_score.rouge_scorer" or find_spec("numpy")
    ):
        importlib.import_module(_name)
