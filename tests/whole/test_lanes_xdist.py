"""Under pytest-xdist every conversation stays on one worker, and nothing else changes."""

from __future__ import annotations

import json

import pytest
from conftest import Project

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

pytest.importorskip("xdist")

SUITE = """
import os
import pytest
from ticks import tick

@pytest.fixture(scope="module")
def server():
    tick("server up", os.getpid())
    yield
    tick("server down", os.getpid())

def talk(ltm, name, span=0.5):
    tick(os.environ.get("PYTEST_XDIST_WORKER", "main"), name)
    ltm.say(f"{name} speaks")
    ltm.wait(span=span)
    return ltm.ask(f"{name} asks")

def test_a(ltm, server):
    assert talk(ltm, "A", 0.9)

def test_b(ltm, server, capsys):
    print("B out")
    assert talk(ltm, "B", 0.2) == "B asks"
    assert capsys.readouterr().out == "B out\\n"

@pytest.mark.parametrize("size", ["x-y", "z"])
def test_c(ltm, size):
    print("C out")
    assert talk(ltm, f"C {size}", 0.6) == "C z asks"

@pytest.mark.skip(reason="not today")
def test_d(ltm): pass

@pytest.fixture
def broken():
    raise ValueError("broken")

def test_e(ltm, broken): pass

@pytest.mark.ltm(examples=2)
def test_f(ltm):
    talk(ltm, "F")
    ltm.check("one", True)
    ltm.check("two", False)
"""


def test_a_conversation_stays_on_one_worker(project: Project) -> None:
    project.file(
        SUITE.replace(
            'tick(os.environ.get("PYTEST_XDIST_WORKER", "main"), name)', ""
        ).replace(
            'ltm.say(f"{name} speaks")',
            'tick(ltm.say(os.environ["PYTEST_XDIST_WORKER"]) or "silent", os.getpid())',
        )
    )

    project.ltm("-n3", agent="echo,silent")

    pids = {
        kind: {tick.split()[1] for tick in project.ticks if tick.startswith(kind)}
        for kind in ("gw", "silent")
    }
    assert [len(pid) for pid in pids.values()] == [1, 1]
    assert pids["gw"] != pids["silent"]


def test_module_fixtures_are_set_up_once_on_each_worker(project: Project) -> None:
    project.file(SUITE)

    project.ltm("-n2", agent="echo,silent")

    ups = [tick.split()[-1] for tick in project.ticks if tick.startswith("server up")]
    downs = [
        tick.split()[-1] for tick in project.ticks if tick.startswith("server down")
    ]
    assert sorted(ups) == sorted(downs)
    assert len(set(ups)) == len(ups) == 2


def test_all_workers_write_into_one_run_folder(project: Project) -> None:
    project.file(SUITE)

    result = project.ltm("-n2", agent="echo,silent", span="300,400")

    (folder,) = (project.path / ".ltm" / "runs").iterdir()
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == [
        "echo~300~0",
        "echo~400~0",
        "silent~300~0",
        "silent~400~0",
    ]
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert len(summary["conversations"]) == 4
    result.stdout.fnmatch_lines(["*long-term memory*"])


@pytest.mark.parametrize("dist", ["load", "loadgroup"])
def test_the_kind_of_distribution_makes_no_difference(
    project: Project, dist: str
) -> None:
    project.file(SUITE)

    result = project.ltm("-n2", f"--dist={dist}", "-rA", agent="echo,silent")

    result.assert_outcomes(passed=3, failed=9, skipped=2, errors=2)
    result.stdout.no_fnmatch_line("*@*echo*")


def test_dist_each_is_refused(project: Project) -> None:
    project.file(SUITE)

    result = project.ltm("-n2", "--dist=each")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--dist=each would play every conversation on every worker*"]
    )


def test_a_wrong_option_is_told_once_before_any_worker_starts(project: Project) -> None:
    project.file(SUITE)

    result = project.ltm("-n2", agent="no.such:Agent")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_75_is_said_by_the_controller(project: Project) -> None:
    project.file(
        "class Bot:\n    def reply(self, message): raise OSError('gone')", "bot.py"
    )
    project.file("def test_a(ltm):\n    ltm.say('hello')\n    ltm.ask('hm?')")

    assert project.ltm("-n2", agent="bot:Bot").ret == 75


def test_x_stops_the_worker_and_cleans_up(project: Project) -> None:
    project.file(
        SUITE.replace(
            'return ltm.ask(f"{name} asks")',
            'try:\n        return ltm.ask(f"{name} asks")\n    finally:\n        tick("finally", name)',
        )
    )

    result = project.ltm("-n1", "-x")

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert [tick.split()[1] for tick in project.ticks if tick.startswith("server")] == [
        "up",
        "down",
    ]


def test_captured_output_comes_over_from_the_worker(project: Project) -> None:
    project.file(SUITE)

    result = project.ltm("-n1", "-k", "test_c")

    result.stdout.fnmatch_lines(
        [
            "*test_c[[]echo-300-0-0-x-y[]]*",
            "*conversation*",
            "*Captured stdout call*",
            "C out",
        ]
    )


def test_xdist_hears_at_once_that_an_item_is_done_that_it_did_not_ask_for(
    project: Project,
) -> None:
    project.conftest(
        """
from ticks import tick

def pytest_sessionstart(session):
    controller = session.config.pluginmanager.get_plugin("dsession")
    if controller is not None:
        heard = controller.worker_runtest_protocol_complete
        def hear(node, item_index, duration):
            tick("done", item_index)
            heard(node, item_index, duration)
        controller.worker_runtest_protocol_complete = hear
"""
    )
    project.file(
        "def talk(ltm, span):\n    ltm.say('hello')\n    ltm.wait(span=span)\n    ltm.ask('hello?')\n"
        "def test_a(ltm): talk(ltm, 0.9)\ndef test_b(ltm): talk(ltm, 0.2)"
    )

    project.ltm("-n1").assert_outcomes(passed=2)

    assert project.ticks[:2] == ["done 1", "done 0"]
