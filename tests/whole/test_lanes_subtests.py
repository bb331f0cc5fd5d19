"""pytest's own subtests in scenarios."""

from __future__ import annotations

import re

import pytest
from conftest import Project

pytestmark = pytest.mark.skipif(
    pytest.version_tuple < (9, 0), reason="subtests are a part of pytest from 9.0 on"
)

SUBTESTS = """
def talk(ltm, subtests, name, wrong):
    ltm.say(f"{name} speaks")
    for number in range(3):
        with subtests.test(f"{name} part", number=number):
            ltm.wait(span=0.3 * number)
            print(f"{name} {number} printed")
            assert ltm.ask(f"{name} {number}") != f"{name} {wrong}"

def test_a(ltm, subtests): talk(ltm, subtests, "A", wrong=1)
def test_b(ltm, subtests): talk(ltm, subtests, "B", wrong=None)
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_subtests_of_scenarios_that_take_turns_are_reported_one_by_one(
    project: Project, workers: str
) -> None:
    pytest.importorskip("xdist")
    project.file(SUBTESTS)

    result = project.ltm(workers, "-v")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = "\n".join(result.outlines)
    assert "INTERNALERROR" not in lines
    assert lines.count("SUBFAILED") >= 1
    failed = [line for line in result.outlines if "SUBFAILED[A part] (number=" in line]
    assert failed
    assert all("test_it.py::test_a[" in line for line in failed)
    result.stdout.fnmatch_lines(["*2 failed, 1 passed, 5 subtests passed*"])


def test_what_a_subtest_prints_and_logs_is_never_in_anothers_report(
    project: Project,
) -> None:
    project.file(
        "import logging\n"
        + SUBTESTS.replace(
            "print(", "logging.warning(f'{name} {number} logged'); print("
        ).replace("=None", "=2")
    )

    result = project.ltm()

    reports = re.split(
        r"\n__+ (?=test_[ab]\[)",
        "\n".join(result.outlines).partition("long-term memory")[0],
    )[1:]
    assert len(reports) == 4
    for report in reports:
        mine, other = ("A", "B") if report.startswith("test_a") else ("B", "A")
        assert f"{other} 0 printed" not in report
        assert not re.search(f"{other} . logged", report)
        if "number=" in report.splitlines()[0]:
            assert re.search(f"{mine} . logged", report)
    for name in "AB":
        assert f"{name} 1 printed" in "\n".join(
            report for report in reports if report.startswith(f"test_{name.lower()}")
        )


def test_each_subtest_is_a_check(project: Project) -> None:
    project.file(SUBTESTS)

    result = project.ltm("-v")

    rows = project.results()
    assert (rows["a"]["outcome"], rows["b"]["outcome"]) == ("failed", "passed")
    assert rows["a"]["score"] == pytest.approx(2 / 3)
    assert rows["b"]["score"] == 1.0
    assert [check["ok"] for check in rows["a"]["checks"]] == [True, False, True]
    result.stdout.fnmatch_lines(
        ["*test_a*PARTIAL 0.67*", "  FAILED  A part number=1", "*2 failed, 1 passed*"]
    )


def test_an_agents_fault_in_a_subtest_is_an_error_of_the_whole(
    project: Project,
) -> None:
    project.file(
        "class Bot:\n    def reply(self, message):\n        1 / ('1' not in message)\n        return message",
        "bot.py",
    )
    project.file(SUBTESTS)

    result = project.ltm(agent="bot:Bot")

    assert result.ret == 75
    assert project.results()["a"]["score"] is None
