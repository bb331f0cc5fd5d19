"""Features register through hooks: the order of their calls, and the handling of one that raises."""

from __future__ import annotations

import json

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
    """pytest calls the last registered first: xdist's part must see items first, and resuming after the gate."""
    project.conftest(
        """
def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        return
    names = [name for name, _ in session.config.pluginmanager.list_name_plugin()]
    order = [name for name in names if name in (
        "ltm-run", "ltm-rescoring", "ltm-canaries", "ltm-probe", "ltm-gate",
        "ltm-report", "ltm-xdist")]
    open("order.txt", "w").write(" ".join(order))
"""
    )
    project.file(SCENARIO)
    project.ltm(span="2k")

    project.pytest("--ltm-rescore=latest", "-n1", "--ltm-fail-under=0")

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
    result.stderr.fnmatch_lines(["ERROR: --ltm-thoughts: nothing separates speech *"])
    assert result.ret == 4

    project.ltm(
        *without, "--ltm-thoughts=keep", span="2k", subprocess=True
    ).assert_outcomes(passed=1)


SECTIONS = """
import pytest
from pytest_ltm.api import Section

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_report_sections(result, status):
    {body}

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_exit_status(result, status):
    return 3 if result.scenarios and status == 1 else None
"""


def test_a_section_of_a_conftest_is_in_every_report_and_its_exit_status_counts(
    project: Project,
) -> None:
    body = """return Section(title="Tides", sentences=["High <b>water</b> at 6."], json={"hour": 6})"""
    project.conftest(SECTIONS.format(body=body))
    project.file(SCENARIO)

    result = project.ltm(
        "--ltm-report=page.html", "--ltm-summary=page.md", agent="silent", span="2k"
    )

    assert result.ret == 3
    result.stdout.fnmatch_lines(["Tides", "  High <b>water</b> at 6."])
    [summary] = project.path.glob(".ltm/runs/*/summary.json")
    assert json.loads(summary.read_text())["sections"] == [
        {
            "title": "Tides",
            "sentences": ["High <b>water</b> at 6."],
            "json": {"hour": 6},
        }
    ]
    page = (project.path / "page.html").read_text()
    assert "<h2>Tides</h2><p>High &lt;b&gt;water&lt;/b&gt; at 6.</p>" in page
    markdown = (project.path / "page.md").read_text()
    assert "### Tides\n\n- High &lt;b&gt;water&lt;/b&gt; at 6." in markdown


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("raise OSError('the sea is gone')", "*raised OSError*the sea is gone*"),
        ("return 'Tides'", "*returns 'Tides', which is not a Section*"),
        ("return Section(title='x', json={'a': {1}})", "*raised TypeError*"),
        ("return Section(json={'tides': 1})", "*no field 'tides'*"),
    ],
)
def test_a_section_that_cannot_be_made_is_named_and_the_rest_is_reported(
    project: Project, body: str, why: str
) -> None:
    project.conftest(SECTIONS.format(body=body))
    project.file(SCENARIO)

    result = project.ltm(span="2k")

    result.assert_outcomes(passed=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines([why])


LOADED = """
import sys

def pytest_unconfigure():
    names = [name for name in sys.modules if name.startswith("pytest_ltm.gate")]
    open("loaded.txt", "w").write(" ".join(names))
"""


def test_the_gate_is_loaded_where_something_asks_for_it(project: Project) -> None:
    project.conftest(LOADED)
    project.file(SCENARIO)

    project.ltm(span="2k", subprocess=True)
    idle = (project.path / "loaded.txt").read_text().split()
    project.ltm("--ltm-fail-under=0", span="2k", subprocess=True)
    asked = (project.path / "loaded.txt").read_text().split()

    unused = {"pytest_ltm.gate.run_gate", "pytest_ltm.gate.verdict"}
    assert not unused & {*idle}
    assert unused <= {*asked}
