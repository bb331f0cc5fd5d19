"""Features add themselves by hooks: in which order they are heard, and what becomes of one that raises."""

from __future__ import annotations

import pytest
from conftest import Project

SCENARIO = """
def test_hat(ltm):
    ltm.say("My hat is red.")
    ltm.check("echoed", "colour" in ltm.ask("Which colour is my hat?"))
"""
HOOK = """
import pytest

@pytest.hookimpl(optionalhook=True)
def {hook}({arguments}):
    {body}
"""


def write_hook(project: Project, hook: str, arguments: str, body: str) -> None:
    project.conftest(HOOK.format(hook=hook, arguments=arguments, body=body))
    project.file(SCENARIO)


@pytest.mark.parametrize(
    ("hook", "arguments"),
    [
        ("pytest_ltm_observe", "conversation"),
        ("pytest_ltm_follow", "name, state"),
        ("pytest_ltm_exchange", "exchange"),
        ("pytest_ltm_verdict", "verdict"),
        ("pytest_ltm_precheck", "session"),
    ],
)
def test_a_hook_that_raises_is_named_and_the_run_goes_on(
    project: Project, hook: str, arguments: str
) -> None:
    write_hook(project, hook, arguments, "raise RuntimeError('of a feature')")

    result = project.ltm(span="2k")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"*{hook}*conftest*RuntimeError*of a feature*"])


def test_an_observer_that_raises_is_named_and_told_no_more(project: Project) -> None:
    write_hook(
        project,
        "pytest_ltm_observe",
        "conversation",
        "return lambda event: open('seen.txt', 'a').write('x') / 0",
    )

    result = project.ltm(span="2k")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*an observer of conftest raised ZeroDivisionError*"])
    assert (project.path / "seen.txt").read_text() == "x"


def test_an_observer_is_told_each_event_after_the_header(project: Project) -> None:
    write_hook(
        project,
        "pytest_ltm_observe",
        "conversation",
        "return lambda event: open('seen.txt', 'a').write(type(event).__name__ + ' ')",
    )

    project.ltm(span="2k")

    seen = (project.path / "seen.txt").read_text().split()
    assert seen.count("MessageSent") == seen.count("ReplyReceived") > 1
    assert "Header" not in seen


def test_a_precheck_refuses_every_conversation_with_its_reason(
    project: Project,
) -> None:
    write_hook(project, "pytest_ltm_precheck", "session", "return 'the moon is full'")

    result = project.ltm(span="2k")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the moon is full*"])
    assert result.ret == 75


def test_the_first_mode_of_a_conftest_composes_the_conversations(
    project: Project,
) -> None:
    project.conftest(
        """
import pytest
from pytest_ltm.modes import LiveMode

class Marked(LiveMode):
    def notices(self, talk):
        return ["composed elsewhere"]

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_conversation_mode(run):
    return Marked
"""
    )
    project.file(SCENARIO)

    result = project.ltm(span="2k")

    result.stdout.fnmatch_lines(["*composed elsewhere*"])


def test_modes_are_registered_around_all_other_features(project: Project) -> None:
    """pytest calls the last first: xdist's side hears of items before anybody, and what resumes after the gate."""
    project.conftest(
        """
def pytest_collection_finish(session):
    names = [name for name, _ in session.config.pluginmanager.list_name_plugin()]
    order = [name for name in names if name in (
        "ltm-run", "ltm-rescoring", "ltm-canaries", "ltm-probe", "ltm-gate",
        "ltm-report", "ltm-xdist")]
    open("order.txt", "w").write(" ".join(order))
"""
    )
    project.file(SCENARIO)
    project.ltm(span="2k")

    project.pytest("--ltm-rescore=latest", "-p", "xdist")

    assert (project.path / "order.txt").read_text().split() == [
        "ltm-run",
        "ltm-rescoring",
        "ltm-canaries",
        "ltm-probe",
        "ltm-gate",
        "ltm-report",
        "ltm-xdist",
    ]


def test_what_reads_speech_is_missed_before_the_first_message(project: Project) -> None:
    project.file(SCENARIO)
    without = ("-p", "no:ltm-feature-language")

    result = project.ltm(*without, span="2k", subprocess=True)
    result.stderr.fnmatch_lines(["ERROR: --ltm-thoughts: nothing here tells speech *"])
    assert result.ret == 4

    project.ltm(
        *without, "--ltm-thoughts=keep", span="2k", subprocess=True
    ).assert_outcomes(passed=1)
