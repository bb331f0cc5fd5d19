"""The trust line: where agents ran, whether the texts were public, how the judge was checked."""

from __future__ import annotations

import json

import pytest
from conftest import Project
from run_folders import latest_run

from pytest_ltm.agents import _hidden, sources
from pytest_ltm.agents._hidden import can_hide_folders
from pytest_ltm.api.journal import Precheck
from pytest_ltm.figures.sentences import trust_sentence

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

hides = pytest.mark.skipif(
    not can_hide_folders(),
    reason="the kernel cannot hide folders (Landlock, Linux 5.19)",
)
BOT = """
class Bot:
    def reply(self, message):
        return "Noted."
"""
PUBLIC = "the texts of seed 0 are public (--ltm-seed=env:NAME: a secret one)"


def _trust(project: Project, *words: str, agent: str = "bot:Bot") -> str:
    project.file(BOT, "bot.py")
    project.pytest(
        f"--ltm-agent={agent}",
        "--ltm-suite=standard",
        "--ltm-span=isolated",
        "--ltm-examples=1",
        *words,
    )
    return str(
        json.loads((latest_run(project.path) / "summary.json").read_text())["trust"]
    )


@pytest.mark.slow
def test_an_agent_in_our_process_and_public_texts_are_named(project: Project) -> None:
    assert (
        _trust(project)
        == f"bot_Bot runs in this process, which knows the answers; {PUBLIC}"
    )


@pytest.mark.slow
@hides
def test_an_agent_in_a_process_of_its_own_cannot_read_the_run_folder(
    project: Project,
) -> None:
    assert _trust(project, "--ltm-agent-process", "--ltm-seed=fresh") == (
        "bot_Bot runs in a process of its own, which cannot read the run folder; the seed was drawn for this run"
    )


def test_where_the_kernel_hides_nothing_a_process_of_its_own_can_read_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_hidden, "can_hide_folders", lambda: False)
    source = sources.AgentSource(object, spec="bot:Bot", owned=True, apart=True)
    assert (
        source.place == "in a process of its own, which can read the files of the run"
    )


@pytest.mark.slow
def test_every_report_has_the_line(project: Project) -> None:
    project.file(BOT, "bot.py")
    words = (
        "--ltm-span=isolated",
        "--ltm-examples=1",
        "--ltm-report=page.html",
        "--ltm-summary=page.md",
    )
    shown = project.pytest("--ltm-agent=bot:Bot", "--ltm-suite=standard", *words)
    text = "runs in this process, which knows the answers"
    assert text in " ".join(shown.stdout.str().split())
    assert text in (project.path / "page.html").read_text()
    assert text in (project.path / "page.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("hides", "says"),
    [
        pytest.param(True, "cannot read the run folder", marks=hides),
        (False, "can read the run folder: keep --ltm-dir where its user cannot"),
    ],
)
def test_the_header_says_whether_a_process_of_its_own_can_read_the_run(
    project: Project, monkeypatch: pytest.MonkeyPatch, hides: bool, says: str
) -> None:
    monkeypatch.setattr(_hidden, "can_hide_folders", lambda: hides)
    project.file(BOT, "bot.py")
    shown = project.pytest(
        "--ltm-agent=bot:Bot",
        "--ltm-agent-process",
        "--ltm-suite=standard",
        "--ltm-examples=1",
    )
    shown.stdout.fnmatch_lines([f"ltm: bot_Bot {says}"])


def test_agents_at_one_place_share_a_clause() -> None:
    places = {
        "one": "outside this process",
        "other": "outside this process",
        "third": "in this process",
    }
    said = trust_sentence(places, "", has_judge=False, prechecks=())
    assert said == "one and other run outside this process; third runs in this process"


def test_a_judge_without_checks_is_said_to_have_none() -> None:
    said = trust_sentence({}, "the seed is a secret", has_judge=True, prechecks=())
    assert said == "the seed is a secret; the judge was not checked during the run"


def test_what_the_judge_misjudged_is_counted() -> None:
    why = "the judge misjudged 1 of 17 answers with known grades: to 'Who?' it passes 'No one.'"
    checks = Precheck(kind="checks", of="rules", verdict="right", why=why, calls=17)
    said = trust_sentence({}, "", has_judge=True, prechecks=[checks])
    assert said == "the judge misjudged 1 of 17 answers with known grades"
