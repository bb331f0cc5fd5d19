"""The workflow of the recipe `ci_gate`, as CI would run it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import yaml
from _commands import ROOT, run
from _pages import blocks

from pytest_ltm._gate.rules import names
from pytest_ltm.plugin import options as _options

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = ROOT / "conftest_examples" / "ci_gate"


def workflow_command() -> str:
    """Return the step that runs pytest."""
    steps = yaml.safe_load((RECIPE / "memory.yml").read_text(encoding="utf-8"))["jobs"]["memory"]["steps"]
    [command] = [step["run"] for step in steps if str(step.get("run", "")).startswith("pytest")]
    return str(command)


def test_the_workflow_is_green_with_the_agent_of_the_baseline_and_red_with_the_cheaper_one(tmp_path: Path) -> None:
    folder = shutil.copytree(RECIPE, tmp_path / "recipe", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    [save, *_] = [command for block in blocks(RECIPE / "README.md") for command, _ in block.commands()]
    assert run(save, folder).status == 0
    assert run(workflow_command(), folder).status == 0
    red = run(workflow_command().replace("bot:Bot", "bot:Cheaper"), folder)
    assert red.status == 1
    assert "gate: regressed: bot at 4k, 2 rules broken (exit status 1)" in red.lines
    assert {"memory.xml", "memory.html"} <= {path.name for path in folder.iterdir()}


def test_the_workflow_names_only_options_that_there_are() -> None:
    named = {word.partition("=")[0] for word in workflow_command().split() if word.startswith("--ltm-")}
    assert named <= {option.flag for option in _options.OPTIONS} | {"--ltm-agent"}


def test_the_page_of_the_gate_has_a_row_for_every_metric() -> None:
    lines = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8").splitlines()
    cells = "".join(line.split(" | ")[0] for line in lines if line.startswith("| `"))
    assert [name for name in [*names(against=True), *names(against=False)] if f"`{name}`" not in cells] == []
