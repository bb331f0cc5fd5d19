"""Memories of real libraries, each in its own environment: only if LTM_STORE_RECIPES is set, for it takes minutes."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from test_installs import PROJECT, run

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.skipif(
        "LTM_STORE_RECIPES" not in os.environ,
        reason="LTM_STORE_RECIPES is not set: this takes minutes",
    ),
]

RECIPES = PROJECT / "conftest_examples" / "library_stores"
STORES = {
    "autogen_store:AutoGenStore": "autogen-core",
    "agno_store:AgnoStore": "agno",
    "adk_store:AdkStore": "google-adk",
    "agents_sdk_store:AgentsSdkStore": "openai-agents",
    "pydantic_ai_store:PydanticAiStore": "pydantic-ai-slim",
}


@pytest.mark.parametrize(("store", "package"), STORES.items(), ids=STORES.values())
def test_a_librarys_memory_is_under_test(
    store: str, package: str, tmp_path: Path
) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(python, "-m", "pip", "install", "-q", PROJECT, package, cwd=tmp_path)
    folder = shutil.copytree(RECIPES, tmp_path / "recipe")
    shown = run(
        python,
        "-m",
        "pytest",
        f"--ltm-agent=store:{store}?k=20",
        "--ltm-span=2k",
        "test_train.py",
        cwd=folder,
    )
    assert "train" in shown
    assert "recall@10" in shown
    assert "1 passed" in shown
