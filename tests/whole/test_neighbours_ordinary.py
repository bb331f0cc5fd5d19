"""An ordinary pytest session does not change because this plugin is installed."""

from __future__ import annotations

import re

import pytest
from _pytest.pytester import RunResult
from conftest import Project

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

ORDINARY = """
import unittest
import warnings
import pytest

@pytest.fixture(scope="module", params=["p", "q"])
def server(request):
    yield request.param

@pytest.fixture
def broken():
    raise ValueError("broken")

def test_pass(server, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("X", "1")
    print("seen")
    assert capsys.readouterr().out == "seen\\n"

def test_fail(server):
    print("printed")
    warnings.warn("a warning", UserWarning)
    assert server == "never"

@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.skip(reason="not today")
def test_skip(): pass
def test_error(broken): pass
def test_state(request):
    from _pytest.runner import SetupState
    assert type(request.session._setupstate) is SetupState
class TestCase(unittest.TestCase):
    def test_method(self): self.assertEqual(1, 2)
"""


def shown(result: RunResult) -> list[str]:
    """Return a run's output without the parts that differ between any two runs."""
    return [
        re.sub(r"in \d+\.\d+s[ ()\d:]*|0x[0-9a-f]+", "", line).strip("=")
        for line in result.outlines
        if not line.startswith(("plugins:", "rootdir:", "cachedir:", "configfile:"))
    ]


@WHOLE_RUN
@pytest.mark.parametrize(
    "options",
    [(), ("-v", "--setup-show"), ("-p", "no:terminal"), ("-x",), ("--co",), ("-n2",)],
)
def test_ordinary_tests_run_as_without_the_plugin(
    project: Project, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    project.file(ORDINARY)

    without = project.pytest("-p", "no:ltm", "-p", "no:cacheprovider", *options)
    with_it = project.pytest("-p", "no:cacheprovider", *options)

    if options == ("-n2",):
        assert sorted(shown(with_it)[-8:]) == sorted(shown(without)[-8:])
    else:
        assert shown(with_it) == shown(without)
    assert with_it.ret == without.ret
    assert not (project.path / ".ltm").exists()


def test_setup_state_is_pytests_own_in_any_other_session(project: Project) -> None:
    project.file(ORDINARY)

    project.pytest("-k", "test_state").assert_outcomes(passed=1, deselected=8)


def test_setup_state_is_ours_in_an_ltm_run(project: Project) -> None:
    project.file(
        """
def test_a(ltm, request):
    ltm.say("hello")
    ltm.ask("hello?")
    assert type(request.session._setupstate).__name__ == "TreeSetupState"
"""
    )

    project.ltm().assert_outcomes(passed=1)


def test_scenarios_are_skipped_naming_the_option(project: Project) -> None:
    project.file("def test_a(ltm): ltm.ask('never')\ndef test_b(): pass")

    result = project.pytest("-rs")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *test_it.py: *--ltm-agent=SPEC*"])


def test_an_ini_value_alone_never_starts_an_ltm_run(project: Project) -> None:
    project.file("[pytest]\nltm_agents = mine = echo\nltm_span = 300\n", "pytest.ini")
    project.file("def test_a(ltm): ltm.ask('never')\ndef test_b(): pass")

    project.pytest().assert_outcomes(passed=1, skipped=1)
    project.pytest("--ltm", "--ltm-suite=none").assert_outcomes(errors=1, deselected=1)


@pytest.mark.parametrize("off", [False, True], ids=["with the plugin", "without it"])
def test_a_conftest_with_an_optional_hook_works_with_and_without_the_plugin(
    project: Project, monkeypatch: pytest.MonkeyPatch, *, off: bool
) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS")
    project.conftest(
        """
import pytest

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_agent(config, spec):
    return (lambda message: f"mine: {message}") if spec == "mine" else None
"""
    )
    project.file("def test_ordinary(): pass")

    project.pytest(*(["-p", "no:ltm"] if off else [])).assert_outcomes(passed=1)


def test_the_hooks_agent_is_used(project: Project) -> None:
    project.conftest(
        """
import pytest

@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_agent(config, spec):
    return (lambda message: f"mine: {message}") if spec == "mine" else None
"""
    )
    project.file(
        "def test_a(ltm):\n    ltm.say('hello')\n    assert ltm.ask('who?') == 'mine: who?'"
    )

    project.ltm(agent="mine").assert_outcomes(passed=1)


def test_only_scenarios_stay_in_an_ltm_run(project: Project) -> None:
    project.file(
        ORDINARY + "\ndef test_a(ltm):\n    ltm.say('hello')\n    ltm.ask('hello?')"
    )

    project.ltm().assert_outcomes(passed=1, deselected=9)
