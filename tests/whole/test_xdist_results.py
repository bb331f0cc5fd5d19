"""Any number of workers yields the same outcomes, ids, properties, results and journals, byte for byte."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from conftest import Project
from test_lanes_xdist import SUITE

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

pytest.importorskip("xdist")

WALL = {
    "run_id",
    "sum",  # the checksum of the summary, which has times in it
    "wall_seconds",
    "agent_seconds",
    "reply_seconds",
    "storing_seconds",
    "tokens_a_second",
    "tests_an_hour",
}
"""Parts in which two equal runs may differ."""


def without_wall_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_wall_times(part)
            for key, part in value.items()
            if key not in WALL
        }
    return (
        [without_wall_times(part) for part in value]
        if isinstance(value, list)
        else value
    )


def junit(path: Path) -> dict[str, Any]:
    """Return the file's contents by node id, without the parts that may differ."""
    found = {}
    for case in ET.parse(path).iter("testcase"):
        said = [
            (child.tag, re.sub("0x[0-9a-f]+", "", str(child.get("message"))))
            for child in case
            if child.tag in {"failure", "error", "skipped"}
        ]
        properties = [
            (one.get("name"), one.get("value")) for one in case.iter("property")
        ]
        key = f"{case.get('classname')}::{case.get('name')}"
        assert key not in found
        found[key] = (said, properties)
    return found


def html_rows(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return sorted(set(re.findall(r"test_it\.py::test_\w+\[[\w.-]+\]", text)))


def everything(project: Project, workers: int) -> dict[str, Any]:
    """Run with this many workers; return everything that a reader can see of the run."""
    (project.path / "ticks.txt").unlink(missing_ok=True)
    project.invite("html", "html_fixtures", "metadata")
    result = project.ltm(
        f"-n{workers}",
        "--junitxml=junit.xml",
        "--html=report.html",
        "--durations=2",
        "--durations-min=0",
        "-rA",
        agent="echo,silent",
        span="300,400",
    )
    (folder,) = (project.path / ".ltm" / "runs").iterdir()
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.name in {"results.json", "journal.jsonl", "plan.json", "verdicts.csv"}
    }
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    folder.rename(folder.with_name(f"workers-{workers}"))
    folder.with_name(f"workers-{workers}").rename(project.path / f"workers-{workers}")
    return {
        "status": result.ret,
        "outcomes": result.parseoutcomes(),
        "junit": junit(project.path / "junit.xml"),
        "html": html_rows(project.path / "report.html"),
        "files": files,
        "summary": without_wall_times(summary),
        "slowest": [line for line in result.outlines if "slowest 2 durations" in line],
    }


def test_the_number_of_workers_changes_nothing(project: Project) -> None:
    project.file(
        SUITE.replace('tick(os.environ.get("PYTEST_XDIST_WORKER", "main"), name)', "")
    )

    alone = everything(project, 0)

    assert len(alone["junit"]) == len(alone["html"]) == 32
    assert len(alone["files"]) == 13
    for workers in (1, 2, 5):
        assert everything(project, workers) == alone


@pytest.mark.nightly(
    "several runs on workers for each case: each has its turn within days", every=2
)
@pytest.mark.parametrize("choice", [("--lf",), ("-k", "echo and not test_a")])
def test_a_selection_is_the_same_selection(
    project: Project, choice: tuple[str, ...]
) -> None:
    project.file(SUITE)
    # --lf reads a file written by the controller
    project.ltm("-n2", agent="echo,silent")

    found = []
    for workers in (2, 0):
        result = project.ltm(f"-n{workers}", "-rA", *choice, agent="echo,silent")
        found.append(
            sorted(
                re.findall(
                    r"^(?:PASSED|FAILED|ERROR) (\S+)",
                    str(result.stdout),
                    flags=re.MULTILINE,
                )
            )
        )

    assert found[0] == found[1]
    assert found[0]


SLOW = """
import time
from pathlib import Path

BEGAN = Path(__file__).with_name("began")

class Bot:
    stateless = True

    def reply(self, message):
        time.sleep(0.05)
        return message

class Long(Bot):
    def reply(self, message):
        BEGAN.touch()
        return super().reply(message)
"""


@pytest.mark.nightly(
    "several runs on workers for each case: each has its turn within days", every=2
)
@pytest.mark.parametrize("option", ["-x", "--maxfail=2"])
def test_enough_failures_stop_the_conversations_of_other_workers(
    project: Project, option: str
) -> None:
    project.file(SLOW, "slow.py")
    project.file(
        """
from ticks import tick
from slow import BEGAN

def test_a(ltm, request):
    fails = "-quick-" in request.node.name.replace("[", "-")
    for number in range(400):
        ltm.say(f"message {number}")
        if fails and BEGAN.exists():
            break
    ltm.ask("and now?")
    tick("played to the end" if not fails else "failed")
    assert not fails

def test_b(ltm):
    ltm.say("hello")
    assert False
"""
    )

    result = project.ltm(
        "-n2", option, agent="quick=slow:Bot,long=slow:Long", span="100k"
    )

    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert project.ticks == ["failed"]
    results = (project.path / ".ltm" / "runs").glob("*/long~100k~0/results.json")
    (said,) = [json.loads(path.read_text(encoding="utf-8")) for path in results]
    assert said["ended"] == "interrupted"
    assert 0 < said["exchanges"] < 400


def test_an_id_that_no_scenario_has_is_told_as_without_workers(
    project: Project,
) -> None:
    words = ("--ltm-agent=echo", "ltm/colour::test_colours")

    alone, spread = project.pytest(*words), project.pytest(*words, "-n2")

    assert spread.ret == alone.ret == pytest.ExitCode.USAGE_ERROR
    told = [
        [line for line in result.errlines if line.startswith("ERROR")]
        for result in (alone, spread)
    ]
    assert told[0] == told[1]
    assert "Did you mean" in told[0][0]
    spread.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.nightly(
    "several runs on workers for each case: each has its turn within days", every=2
)
@pytest.mark.parametrize(
    "words", [["nosuch.py"], ["test_it.py::test_b", "test_it.py::test_c"]]
)
def test_a_path_that_is_not_there_is_told_as_without_workers(
    project: Project, words: list[str]
) -> None:
    project.file("def test_a(ltm): pass\n")

    alone, spread = project.ltm(*words), project.ltm(*words, "-n2")

    assert spread.ret == alone.ret == pytest.ExitCode.USAGE_ERROR
    assert spread.errlines == alone.errlines
    assert len([line for line in spread.errlines if line.startswith("ERROR:")]) == len(
        words
    )


def test_a_name_that_two_scenarios_share_is_told_as_without_workers(
    project: Project,
) -> None:
    project.file(
        "import pytest\n@pytest.mark.parametrize('one', ['a.b', 'a_b'])\n"
        "@pytest.mark.parametrize('x', ['x'])\ndef test_a(ltm, one, x): pass\n"
        "@pytest.mark.parametrize('one', ['a+b', 'a/b'])\ndef test_b(ltm, one): pass\n"
    )

    alone, spread = project.ltm(), project.ltm("-n2")

    assert spread.ret == alone.ret == pytest.ExitCode.USAGE_ERROR
    spread.stderr.fnmatch_lines(
        ["ERROR: * are both example 'b.a_b/0' of one conversation.*"]
    )
    spread.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_node_ids_stay_what_they_are_under_loadgroup(project: Project) -> None:
    project.file(
        "import pytest\n@pytest.mark.xdist_group('together')\ndef test_a(ltm):\n"
        "    ltm.say('hm')\n    assert ltm.ask('hm?')\n"
    )

    result = project.ltm("-n1", "--dist=loadgroup", "-v")

    result.stdout.fnmatch_lines(["*PASSED test_it.py::test_a[[]echo-300-0-0[]]*"])
    result.assert_outcomes(passed=1)


def test_what_goes_wrong_when_the_last_fixtures_go_is_told_once(
    project: Project,
) -> None:
    project.file(
        "import pytest\n@pytest.fixture(scope='module')\ndef server():\n    yield\n    raise OSError('stuck')\n"
        "def test_a(ltm, server):\n    ltm.say('hm')\n    assert ltm.ask('hm?')\n"
    )

    result = project.ltm("-n2", agent="echo,full", span="300,400")

    assert result.parseoutcomes()["passed"] == 4
    assert result.parseoutcomes()["errors"] == 2  # one module, two workers
    result.stdout.no_fnmatch_line("*INTERNALERROR*")
    result.stdout.no_fnmatch_line("*node down*")
