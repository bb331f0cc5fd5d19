"""Messages lost to a transient fault at the end of a conversation are sent again on resuming."""

from __future__ import annotations

import pytest
from conftest import Project

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

BOTS = """
import pathlib
from pytest_ltm import TransientFault

HERE = pathlib.Path(__file__).parent

class Told:
    def __init__(self):
        self.heard = []

    def reply(self, message):
        with open(HERE / "heard.txt", "a", encoding="utf-8") as file:
            file.write(message + "\\n")
        if "called?" in message and (HERE / "down").exists():
            raise TransientFault("overloaded")
        self.heard.append(message)
        return " ".join(self.heard)

    def accept(self, message, reply):
        self.heard.append(message)

class Saved(Told):
    accept = None
    def save(self):
        return "\\0".join(self.heard).encode()
    def load(self, state):
        self.heard = state.decode().split("\\0")

class Neither(Told):
    accept = None
"""
SCENARIOS = """
import pytest

@pytest.mark.parametrize("number", range({questions}))
def test_cat(ltm, number):
    ltm.say(f"Cat number {{number}} is called Kelvin.")
    ltm.wait(span=0.9)
    assert "Kelvin" in ltm.ask(f"What is cat {{number}} called?")
"""
RUN = ("--ltm-suite=none", "--ltm-span=600", "--ltm-retries=0")


@pytest.fixture
def pets(project: Project) -> Project:
    project.file(BOTS, "bots.py")
    project.file("", "down")
    return project


@WHOLE_RUN
@pytest.mark.parametrize(
    ("agent", "questions", "trials"),
    [("Told", 1, 1), ("Saved", 1, 1), ("Told", 3, 1), ("Told", 2, 4)],
)
def test_questions_that_were_lost_to_a_passing_fault_are_asked_again_once(
    pets: Project, agent: str, questions: int, trials: int
) -> None:
    pets.file(SCENARIOS.format(questions=questions))
    lost = pets.pytest(f"--ltm-agent=bots:{agent}", f"--ltm-trials={trials}", *RUN)
    assert lost.ret == 75
    (pets.path / "down").unlink()
    before = (pets.path / "heard.txt").read_text().count("called?")
    found = pets.pytest("--ltm-resume=latest")
    assert found.ret == 0
    found.assert_outcomes(passed=questions * trials)
    asked = (pets.path / "heard.txt").read_text().count("called?") - before
    assert asked == questions * trials
    again = pets.pytest("--ltm-resume=latest")
    assert again.ret == 0
    assert (pets.path / "heard.txt").read_text().count("called?") == before + asked


def test_an_agent_that_cannot_be_restored_is_reported_as_before(pets: Project) -> None:
    pets.file(SCENARIOS.format(questions=1))
    pets.pytest("--ltm-agent=bots:Neither", *RUN)
    (pets.path / "down").unlink()
    again = pets.pytest("--ltm-resume=latest")
    assert again.ret == 75
    again.stdout.fnmatch_lines(["*overloaded*"])
