"""Parameters, skips and expected failures of scenarios work as for any test."""

from __future__ import annotations

import pytest
from conftest import Project

TALK = """
import pytest
from ticks import tick

def talk(ltm, name="someone", expected=""):
    tick(name, "speaks")
    ltm.say(f"{name} speaks")
    ltm.wait(span=0.5)
    assert expected in ltm.ask(f"{name} asks")

"""


def test_the_users_parameters_follow_agent_span_trial_and_example_in_the_id(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("colour", ["red", "blue"])
def test_a(ltm, colour, size):
    talk(ltm, f"{colour}{size}")
"""
    )

    ids = [
        line
        for line in project.ltm("--co", "-q", "--ltm-trials=2").outlines
        if "::" in line
    ]

    parameters = ["red-1", "red-2", "blue-1", "blue-2"]
    expected = [
        f"test_it.py::test_a[echo-300-{trial}-0-{parameter}]"
        for trial in (0, 1)
        for parameter in parameters
    ]
    assert sorted(ids) == sorted(expected)
    project.ltm().assert_outcomes(passed=4)
    assert sorted(project.ticks) == [
        "blue1 speaks",
        "blue2 speaks",
        "red1 speaks",
        "red2 speaks",
    ]


def test_each_parameter_is_a_scenario_of_its_own(project: Project) -> None:
    project.file(
        TALK
        + "@pytest.mark.parametrize('name', ['x', 'y'])\ndef test_a(ltm, name): talk(ltm, name, expected='x')"
    )

    project.ltm().assert_outcomes(passed=1, failed=1)

    assert {name: row["score"] for name, row in project.results().items()} == {
        "a.x": 1.0,
        "a.y": 0.0,
    }


def test_examples_are_items_and_never_overlap(project: Project) -> None:
    project.file(
        TALK
        + """
@pytest.mark.ltm(examples=2)
def test_a(ltm):
    tick("begins", ltm.example)
    talk(ltm, f"{ltm.example}")
    tick("ends", ltm.example)
"""
    )

    project.ltm().assert_outcomes(passed=2)

    assert [tick for tick in project.ticks if "speaks" not in tick] == [
        "begins 0",
        "ends 0",
        "begins 1",
        "ends 1",
    ]


@pytest.mark.parametrize(
    "mark",
    [
        "skip(reason='not today')",
        "skipif(True, reason='not today')",
        "skipif('1 == 1', reason='not today')",
    ],
)
def test_a_skipped_scenario_says_nothing(project: Project, mark: str) -> None:
    project.file(
        TALK
        + f"@pytest.mark.{mark}\ndef test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    result = project.ltm("-rs")

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] test_it.py:11: not today"])
    assert project.ticks == ["B speaks"]


def test_a_module_can_skip_itself(project: Project) -> None:
    project.file(
        "import pytest\npytestmark = pytest.mark.skip(reason='not today')\ndef test_a(ltm): ltm.ask('A?')"
    )
    project.file(
        "import pytest\npytest.skip('never', allow_module_level=True)\ndef test_b(ltm): ltm.ask('B?')",
        "test_b.py",
    )

    project.ltm().assert_outcomes(skipped=2)


def test_a_scenario_that_is_expected_to_fail_and_fails_is_xfailed(
    project: Project,
) -> None:
    project.file(
        TALK
        + "@pytest.mark.xfail(reason='known')\ndef test_a(ltm): talk(ltm, 'A', expected='never')"
    )

    result = project.ltm("-rx")

    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["XFAIL test_it.py::test_a[[]echo-300-0-0[]] - known"])
    assert project.results()["a"]["score"] == 0.0


def test_a_scenario_with_some_credit_that_is_expected_to_fail_is_xfailed(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.mark.xfail
def test_a(ltm):
    talk(ltm)
    ltm.check("yes", True)
    ltm.check("no", False)
"""
    )

    project.ltm().assert_outcomes(xfailed=1)


def test_a_scenario_that_is_expected_to_fail_and_passes_is_xpassed(
    project: Project,
) -> None:
    project.file(TALK + "@pytest.mark.xfail\ndef test_a(ltm): talk(ltm)")

    result = project.ltm()

    result.assert_outcomes(xpassed=1)
    assert result.ret == pytest.ExitCode.OK


def test_a_strict_xpass_fails(project: Project) -> None:
    project.file(TALK + "@pytest.mark.xfail(strict=True)\ndef test_a(ltm): talk(ltm)")

    result = project.ltm()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*XPASS(strict)*"])
    result.stdout.no_fnmatch_line("*PARTIAL*")


def test_xfail_without_run_says_nothing(project: Project) -> None:
    project.file(
        TALK
        + "@pytest.mark.xfail(run=False)\ndef test_a(ltm): talk(ltm, 'A')\ndef test_b(ltm): talk(ltm, 'B')"
    )

    project.ltm().assert_outcomes(xfailed=1, passed=1)

    assert project.ticks == ["B speaks"]


def test_xfail_raises_expects_the_exception_that_it_names_only(
    project: Project,
) -> None:
    project.file(
        TALK
        + """
@pytest.mark.xfail(raises=ZeroDivisionError)
def test_a(ltm):
    talk(ltm, "A")
    1 / 0

@pytest.mark.xfail(raises=ZeroDivisionError)
def test_b(ltm):
    talk(ltm, "B", expected="never")

@pytest.mark.xfail(raises=ZeroDivisionError)
def test_c(ltm):
    talk(ltm, "C")
    [][0]
"""
    )

    project.ltm().assert_outcomes(xfailed=1, failed=1, errors=1)


def test_xfail_in_a_body_ends_it(project: Project) -> None:
    project.file(
        TALK + "def test_a(ltm):\n    talk(ltm, 'A')\n    pytest.xfail('gave up')"
    )

    result = project.ltm("-rx")

    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["XFAIL *test_a*gave up"])


def test_raises_spans_a_wait(project: Project) -> None:
    project.file(
        TALK
        + """
def test_a(ltm):
    with pytest.raises(ZeroDivisionError):
        talk(ltm, "A")
        1 / 0
    assert ltm.ask("still here?")

def test_b(ltm):
    talk(ltm, "B")
"""
    )

    project.ltm().assert_outcomes(passed=2)


def test_unittest_methods_of_a_class_without_ltm_are_left_out_like_any_ordinary_test(
    project: Project,
) -> None:
    project.file(
        TALK
        + "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\ndef test_a(ltm): talk(ltm)"
    )

    project.ltm().assert_outcomes(passed=1, deselected=1)
