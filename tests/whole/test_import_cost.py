"""An installed plugin costs nothing until it is used, as seen from outside in separate processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HEAVY = {
    "asyncio",
    "faker",
    "greenlet",
    "httpx2",
    "jinja2",
    "nltk",
    "numpy",
    "openai",
    "rapidfuzz",
    "requests",
    "rouge_score",
    "tenacity",
    "tiktoken",
    "wcwidth",
    "yaml",
}
LIGHT = {
    "pytest_ltm",
    "pytest_ltm._core",
    "pytest_ltm._core.storage",
    "pytest_ltm._core.storage.choices",
    "pytest_ltm._core.storage.dotted",
    "pytest_ltm._core.storage.errors",
    "pytest_ltm._core.storage.patterns",
    "pytest_ltm._core.storage.secrets",
    "pytest_ltm.hookspec",
}
"""Modules needed to declare the options of the core; features are not looked up."""
WATCH = """\
import json, os, sys, threading

TELLING = ("socket.", "subprocess.", "os.mkdir", "os.rename", "os.remove", "os.system", "_thread.start", "urllib.")
done = []

def hear(event, arguments):
    writes = event == "open" and (
        set(arguments[1]) & set("wax+") if isinstance(arguments[1], str) else arguments[2] & (os.O_WRONLY | os.O_RDWR)
    )
    if writes or event.startswith(TELLING):
        name = os.path.basename(str(arguments[0])) if arguments else ""
        done.append(f"{event} {name if '.' in name else '(temporary)'}")

sys.addaudithook(hear)

def pytest_unconfigure():
    loaders = {name: str(getattr(module, "__loader__", "")) for name, module in sys.modules.items()}
    rewritten = [name for name, loader in loaders.items() if "AssertionRewritingHook" in loader]
    told = {"modules": sorted(sys.modules), "done": done, "threads": threading.active_count(), "rewritten": rewritten}
    print("@" + json.dumps(told))
"""


def watched(folder: Path, *words: str) -> tuple[dict[str, Any], str]:
    """Run the only test of a folder; return the actions of the process, and its output without times."""
    (folder / "watch.py").write_text(WATCH)
    (folder / "test_one.py").write_text("def test_one():\n    pass\n")
    command = [
        sys.executable,
        "-B",
        "-m",
        "pytest",
        "-p",
        "watch",
        "-p",
        "no:cacheprovider",
        *words,
    ]
    environment = {
        **os.environ,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPATH": str(folder),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    run = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    shown, _, told = (run.stdout + run.stderr).partition("@")
    found: dict[str, Any] = json.loads(told)
    return found, shown.partition(" passed in ")[0]


@pytest.fixture
def runs(
    tmp_path: Path,
) -> tuple[tuple[dict[str, Any], str], tuple[dict[str, Any], str]]:
    """An unrelated run with the plugin, and the same run without it."""
    return watched(tmp_path, "-p", "pytest_ltm._core.session"), watched(tmp_path)


def test_an_unrelated_run_imports_nothing_but_a_few_modules_of_ours(runs: Any) -> None:
    (used, _), (bare, _) = runs
    more = set(used["modules"]) - set(bare["modules"])
    assert "pytest_ltm._core.session" in more
    assert [name for name in more if name.partition(".")[0] != "pytest_ltm"] == []
    assert {
        name for name in more if not name.startswith("pytest_ltm._core.session")
    } == LIGHT
    assert HEAVY.isdisjoint(more)


def test_an_unrelated_run_writes_sends_and_starts_nothing(runs: Any) -> None:
    (used, _), (bare, _) = runs
    assert used["done"] == bare["done"]
    assert used["threads"] == bare["threads"] == 1


def test_pytest_rewrites_and_compiles_no_module_of_ours_but_the_first(
    runs: Any,
) -> None:
    (used, _), (bare, _) = runs
    assert "test_one" in bare["rewritten"]
    assert set(used["rewritten"]) - set(bare["rewritten"]) == {
        "pytest_ltm._core.session"
    }


def test_an_unrelated_run_prints_nothing_of_ours(runs: Any) -> None:
    (_, used), (_, bare) = runs
    assert "test_one.py ." in used
    assert used == bare


def test_the_watch_sees_what_an_ltm_run_does(tmp_path: Path) -> None:
    used, shown = watched(
        tmp_path,
        "-p",
        "pytest_ltm._core.session",
        "--ltm-agent=full",
        "--ltm-suite=standard",
    )
    assert {"greenlet", "tiktoken", "yaml"} <= set(used["modules"])
    assert any("journal.jsonl" in what for what in used["done"])
    assert "long-term memory" in shown


def test_the_package_alone_imports_nothing_heavy() -> None:
    command = "import sys, pytest_ltm, pytest_ltm.commands; print(*(name.partition('.')[0] for name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert {"pytest", *HEAVY}.isdisjoint(run.stdout.split())
