"""The command `cheats` on a project's own scenarios, and the limits that it guards for the built-in ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Project

from pytest_ltm.agents.wrapping import padded_spec
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.commands import main
from pytest_ltm.lab.cheat_agents import SPECS, skipped_window
from pytest_ltm.lab.commands.cheats import LEARNED_POINTS, PADDING

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

OWN = """
import pytest

def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    ltm.wait(span=0.9)
    assert {check} ltm.ask("What is my cat called?")

@pytest.mark.ltm(floor=1)
def test_nothing(ltm):
    ltm.say("Hello.")
    ltm.ask("Well?")
    ltm.score(1.0, "anything will do")
"""


def test_a_scenario_of_ones_own_that_can_be_bought_is_told(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file(OWN.format(check="'Kelvin' in"))
    agents = ["--agent=silent,dump", "--agent=padded:20:echo"]
    status = main(
        [
            "lab",
            "cheats",
            "test_it.py",
            "--span=300",
            *agents,
            "-o",
            "all.md",
            "--pytest=-p no:randomly",
        ]
    )
    printed = capsys.readouterr().out
    assert status == 1
    assert "dump                     2.00" in printed
    assert "- dump earns 1.00 at 300 in cat, whose floor is 0.00" in printed
    assert "nothing   1.00   1.00 silent" in printed
    assert "| echo | 1.00 |" in (project.path / "all.md").read_text(encoding="utf-8")
    assert not (project.path / ".ltm").exists()


def test_one_that_cannot_be_bought_holds(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file(OWN.format(check="'Kelvin.' =="))
    assert main(["lab", "cheats", "test_it.py", "--span=300", "--agent=dump"]) == 0
    assert "No cheat earns more than 3% above a floor" in capsys.readouterr().out


def test_what_pytest_refuses_is_told(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file(OWN.format(check="'Kelvin' in"))
    assert main(["lab", "cheats", "test_it.py", "--span=300", "--agent=dumpp"]) == 2
    assert "Did you mean 'dump'?" in capsys.readouterr().err


# --- The built-in scenarios.

QUICK = ("random", "fixed:last", "candidates", "hedge", "padded:window:4k")
"""Cheats with short answers, which attack the suite `standard` at every run."""


EVERY_NTH = 3
"""Before a merge, all cheats attack one scenario out of so many."""


def attacked(
    path: Path, suite: str, *words: str, span: str = "32k"
) -> list[dict[str, Any]]:
    main(
        [
            "lab",
            "cheats",
            f"--ltm-suite={suite}",
            f"--span={span}",
            *words,
            "-o",
            str(path / "found.json"),
        ]
    )
    cells: list[dict[str, Any]] = json.loads(
        (path / "found.json").read_text(encoding="utf-8")
    )["cells"]
    return cells


def excess(cells: list[dict[str, Any]]) -> dict[tuple[str, str], float]:
    """Return the points above the floors, except of agents measured against the same window."""
    padded = {padded_spec(cell["agent"]) for cell in cells}
    return {
        (cell["agent"], cell["scenario"]): round(cell["points"] - cell["floor"], 2)
        for cell in cells
        if cell["above"]
        and cell["agent"] not in padded
        and not padded_spec(cell["agent"])
        and not skipped_window(cell["agent"])
    }


def total(cells: list[dict[str, Any]], agent: str) -> float:
    """Return an agent's points above the floors."""
    above = [cell for cell in cells if cell["agent"] == agent and cell["above"]]
    return sum(float(cell["points"]) - float(cell["floor"]) for cell in above)


def gained(cells: list[dict[str, Any]]) -> dict[str, float]:
    """Return the gain from padding by padded agent, as a share of all marks."""
    padded = {cell["agent"] for cell in cells if padded_spec(cell["agent"])}
    scenarios = len({cell["scenario"] for cell in cells})
    return {
        spec: (total(cells, spec) - total(cells, padded_spec(spec))) / scenarios
        for spec in padded
    }


def learned(cells: list[dict[str, Any]]) -> list[float]:
    """Return the points that windows gained by skipping what a learner classifies as filler."""
    agents = {cell["agent"] for cell in cells}
    return [
        total(cells, spec) - total(cells, window)
        for spec in sorted(agents)
        if (window := skipped_window(spec))
    ]


@pytest.mark.long
@WHOLE_RUN
def test_short_cheats_earn_nothing_above_the_floors(project: Project) -> None:
    cells = attacked(project.path, "standard", *(f"--agent={spec}" for spec in QUICK))
    assert excess(cells) == {}
    assert max(gained(cells).values()) <= PADDING


@pytest.mark.long
@pytest.mark.nightly("only evaluators, scenarios and cheats change what it finds")
@pytest.mark.slow
def test_no_cheat_earns_more_than_the_floors_of_all_scenarios(
    project: Project, everything: bool
) -> None:
    """Attack all scenarios at 32k, and the suite at 120k; before a merge, every third scenario at 8k."""
    if everything:
        cells = attacked(project.path, "extended")
        assert len(learned(cells)) == 2
        assert max(learned(cells)) <= LEARNED_POINTS
    else:
        # the first is left out at 8k
        entries = built_in("extended").entries[1::EVERY_NTH]
        tests = [f"ltm/{entry.name}" for entry in entries]
        agents = [f"--agent={spec}" for spec in SPECS]
        cells = attacked(project.path, "extended", *tests, *agents, span="8k")
        assert {cell["scenario"] for cell in cells} == {entry.name for entry in entries}
    assert excess(cells) == {}
    assert max(gained(cells).values()) <= PADDING
