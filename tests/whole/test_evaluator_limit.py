"""An evaluator that does not return leaves its example unscored, and the run continues."""

from __future__ import annotations

import sys

import pytest
from conftest import Project
from run_folders import latest_run

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="no interval timers there"
)

SCENARIOS = """
import re, time
from pytest_ltm import Score

def asked(ltm):
    ltm.say("Hello")
    return ltm.ask("There?")

def test_sleeps(ltm):
    answer = asked(ltm)
    time.sleep(600)
    ltm.check("is heard", answer != "")

def test_spins(ltm):
    answer = asked(ltm)
    while True:
        try:
            answer += ""
        except Exception:
            pass

def test_matches_for_ever(ltm):
    asked(ltm)
    ltm.check("is a word", re.fullmatch("(a+)+", "a" * 60 + "!"))

def test_watches_for_ever(ltm):
    ltm.say("Hello")
    def watcher(since):
        while len(since) > 1:
            pass
    ltm.watch(watcher, replies=3)
    ltm.ask("There?")

def test_takes_long_to_ask(ltm):
    time.sleep(1.3)
    ltm.say("Hello")
    ltm.check("is heard", ltm.ask("There?") != "")
"""


@WHOLE_RUN
@pytest.mark.slow
def test_what_does_not_come_back_is_unscored_with_the_reason(project: Project) -> None:
    project.file(SCENARIOS)
    done = project.ltm("--ltm-evaluator-timeout=1", "-rs", subprocess=True)
    found = project.results()
    for name in ("sleeps", "spins", "matches_for_ever", "watches_for_ever"):
        assert (found[name]["outcome"], found[name]["cause"], found[name]["score"]) == (
            "skipped",
            "evaluator",
            None,
        )
        assert found[name]["reason"] == (
            "the evaluator did not return within 1 s. If it may take longer, give --ltm-evaluator-timeout=SECONDS"
        )
    assert found["takes_long_to_ask"]["outcome"] == "passed"
    done.assert_outcomes(passed=1, skipped=4)
    assert done.ret == 75


@pytest.mark.slow
def test_a_judge_has_a_limit_of_its_own(project: Project) -> None:
    project.file(
        "import time\n\nclass Judge:\n    def assess(self, inquiry):\n"
        "        time.sleep(1.5)\n        return 'GRADE: yes'\n",
        "slow.py",
    )
    project.file(
        "import time\n\ndef test_it(ltm, ltm_judge):\n    ltm.say('Hello')\n    answer = ltm.ask('There?')\n"
        "    time.sleep(0.3)\n    ltm.check('is heard', ltm_judge.ask('Is it?', answer))\n    time.sleep(0.3)\n"
    )
    project.ltm(
        "--ltm-evaluator-timeout=1",
        "--ltm-judge=slow:Judge?canaries=off",
        subprocess=True,
    )
    assert project.results()["it"]["score"] == 1


@pytest.mark.slow
def test_the_time_before_and_after_a_judge_counts_together(project: Project) -> None:
    project.file(
        "class Judge:\n    def assess(self, inquiry):\n        return 'GRADE: yes'\n",
        "quick.py",
    )
    project.file(
        "import time\n\ndef test_it(ltm, ltm_judge):\n    ltm.say('Hello')\n    answer = ltm.ask('There?')\n"
        "    time.sleep(0.7)\n    ltm.check('is heard', ltm_judge.ask('Is it?', answer))\n    time.sleep(20)\n"
    )
    project.ltm(
        "--ltm-evaluator-timeout=1",
        "--ltm-judge=quick:Judge?canaries=off",
        subprocess=True,
    )
    assert project.results()["it"]["cause"] == "evaluator"


@WHOLE_RUN
@pytest.mark.slow
def test_what_swallows_every_interruption_ends_the_process_with_the_stacks(
    project: Project,
) -> None:
    project.file(
        "def test_it(ltm):\n    ltm.say('Hello')\n    ltm.ask('There?')\n    while True:\n        try:\n"
        "            while True:\n                pass\n        except BaseException:\n            pass\n"
    )
    done = project.ltm("--ltm-evaluator-timeout=0.5", subprocess=True)
    assert done.ret == 75
    done.stderr.fnmatch_lines(
        ["ltm: the running code ignores all interruptions, *", "resume with: pytest *"]
    )
    assert "test_it.py" in (latest_run(project.path) / "hung.txt").read_text(
        encoding="utf-8"
    )


def test_the_limit_is_a_number_of_seconds(project: Project) -> None:
    project.file("def test_it(ltm):\n    ltm.say('Hello')\n    ltm.ask('There?')\n")
    done = project.ltm("--ltm-evaluator-timeout=soon")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*--ltm-evaluator-timeout*soon*"])
    assert project.ltm("--ltm-evaluator-timeout=0").ret == 0


ONCE_SLOW = """
import time
from pathlib import Path

def test_is_judged(ltm):
    ltm.say("Hello")
    answer = ltm.ask("There?")
    until = time.monotonic() + 1.5 * Path("busy").exists()
    while time.monotonic() < until:
        pass
    assert answer
"""


def test_what_had_a_score_has_no_limit_when_it_is_resumed(project: Project) -> None:
    project.file(ONCE_SLOW)
    project.ltm("--ltm-evaluator-timeout=0.5").assert_outcomes(passed=1)
    (project.path / "busy").touch()
    run = project.pytest("--ltm-resume=latest")
    run.assert_outcomes(passed=1)
    assert run.ret == 0


def test_what_took_too_long_stays_unscored_when_it_is_resumed_and_takes_nothing_else_with_it(
    project: Project,
) -> None:
    project.file(
        ONCE_SLOW + ONCE_SLOW.replace("busy", "quiet").replace("is_", "is_not_")
    )
    (project.path / "busy").touch()
    project.ltm("--ltm-evaluator-timeout=0.5").assert_outcomes(passed=1, skipped=1)
    (project.path / "busy").unlink()
    run = project.pytest("--ltm-resume=latest")
    run.assert_outcomes(passed=1, skipped=1)
    assert run.ret == 75
    assert project.results()["is_judged"]["cause"] == "evaluator"
    assert project.results()["is_not_judged"]["score"] == 1
