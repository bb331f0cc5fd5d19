"""The outcome of a scenario, as shown by pytest, JUnit and the exit status."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from _pytest.pytester import RunResult
from conftest import Project

UNMEASURABLE = 75
BOT = """
class Bot:
    def __init__(self):
        self.calls = 0

    def reply(self, message):
        self.calls += 1
        if "raise" in message:
            raise ConnectionError("the line is dead")
        if "nothing" in message:
            return None
        return message
"""


def one(project: Project, *body: str) -> None:
    """Write a project whose scenario `a` has this body, next to `b`, which passes."""
    lines = "".join(f"    {line}\n" for line in body)
    project.file(BOT, "bot.py")
    project.file(
        "import pytest\nfrom pytest_ltm import Score, Unscored\n\n"
        f"def test_a(ltm):\n    ltm.say('A speaks')\n    ltm.wait(span=0.5)\n{lines}\n"
        "def test_b(ltm):\n    ltm.say('B speaks')\n    ltm.wait(span=0.6)\n    assert ltm.ask('B asks')\n"
    )


def junit(project: Project, name: str = "a") -> ET.Element:
    """Return the element of one scenario; there must be exactly one."""
    cases = ET.parse(project.path / "junit.xml").iter("testcase")
    (found,) = [
        case for case in cases if str(case.get("name")).startswith(f"test_{name}[")
    ]
    return found


def run(project: Project, *args: str, **options: str) -> RunResult:
    return project.ltm(
        "--junitxml=junit.xml",
        "-rA",
        *args,
        **{"agent": "bot:Bot", **options},  # type: ignore[arg-type]
    )


def tags(case: ET.Element) -> set[str]:
    return {child.tag for child in case} - {"properties", "system-out", "system-err"}


def test_full_marks_pass(project: Project) -> None:
    one(
        project,
        "ltm.ask('A asks')",
        "ltm.check('first', True)",
        "ltm.check('second', True)",
    )

    result = run(project)

    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.OK
    assert tags(junit(project)) == set()
    assert project.results()["a"]["score"] == 1.0


def test_partial_credit_fails_with_its_score_and_the_conversation(
    project: Project,
) -> None:
    one(
        project,
        "ltm.ask('A asks')",
        "ltm.check('first thing', True)",
        "ltm.check('second thing', False)",
    )

    result = run(project, "-v")

    result.assert_outcomes(passed=1, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_a[[]bot_Bot-300-0-0[]] PARTIAL 0.50*",
            "score 0.50, below 1.00: failed: second thing",
            "  passed  first thing",
            "  FAILED  second thing",
            "*you: *A speaks",
            "*you: *A asks",
            "*agent: A asks",
            "  again: pytest --ltm-agent=bot:Bot --ltm-span=300*",
            "PARTIAL 0.50 test_it.py::test_a*",
        ]
    )
    assert tags(junit(project)) == {"failure"}
    assert project.results()["a"]["score"] == 0.5


def test_a_threshold_decides_what_passes(project: Project) -> None:
    one(project, "ltm.ask('A asks')", "ltm.score(0.6, 'so so')")
    project.file(
        "import pytest\npytestmark = pytest.mark.ltm(threshold=0.6)\n"
        + (project.path / "test_it.py").read_text()
    )

    run(project).assert_outcomes(passed=2)

    assert project.results()["a"]["score"] == 0.6


def test_a_failed_assert_fails_with_pytests_own_text_and_the_conversation(
    project: Project,
) -> None:
    one(project, "answer = ltm.ask('A asks')", "assert 'never' in answer")

    result = run(project)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            ">       assert 'never' in answer",
            "E       AssertionError: assert 'never' in 'A asks'",
            "*- conversation -*",
            "*you: *A speaks",
            "*you: *A asks",
        ]
    )
    assert tags(junit(project)) == {"failure"}
    assert project.results()["a"]["score"] == 0.0


def test_a_failed_assert_is_one_more_failed_check(project: Project) -> None:
    one(
        project,
        "ltm.ask('A asks')",
        "ltm.check('first', True)",
        "assert 1 == 2, 'sums'",
    )

    result = run(project)

    result.stdout.fnmatch_lines(["PARTIAL 0.50 test_it.py::test_a*"])
    assert project.results()["a"]["score"] == 0.5


def test_pytest_fail_in_a_body_is_a_failed_assertion(project: Project) -> None:
    one(project, "ltm.ask('A asks')", "pytest.fail('no good')")

    result = run(project)

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E       Failed: no good"])
    assert tags(junit(project)) == {"failure"}


def test_score_zero_fails_without_the_word_partial(project: Project) -> None:
    one(project, "ltm.ask('A asks')", "ltm.score(0, 'nothing right')")

    result = run(project, "-v")

    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_a[[]bot_Bot-300-0-0[]] FAILED*",
            "score 0.00, below 1.00: nothing right",
        ]
    )
    result.stdout.no_fnmatch_line("*PARTIAL*")


@pytest.mark.parametrize(
    ("word", "told"),
    [("raise", "*ConnectionError: the line is dead*"), ("nothing", "*None*")],
    ids=["raises", "None"],
)
def test_a_fault_of_the_agent_is_an_error_never_a_zero(
    project: Project, word: str, told: str
) -> None:
    one(project, f"ltm.ask('{word}')")

    result = run(project)

    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == UNMEASURABLE
    result.stdout.fnmatch_lines(["*ERROR in test_a*", f"E *AgentFault: {told}"])
    assert tags(junit(project)) == {"error"}
    assert project.results()["a"]["score"] is None
    assert not [
        one for one in junit(project).iter("property") if one.get("name") == "ltm_score"
    ]
    project.ltm("--lf", agent="bot:Bot").assert_outcomes(errors=1)


def test_a_body_that_swallows_the_agents_fault_errs_all_the_same(
    project: Project,
) -> None:
    one(
        project,
        "try:",
        "    ltm.ask('raise')",
        "except Exception:",
        "    pass",
        "assert ltm.ask('A asks')",
    )

    run(project).assert_outcomes(passed=1, errors=1)


def test_an_agent_that_keeps_failing_ends_the_conversation_and_the_rest_is_skipped(
    project: Project,
) -> None:
    project.file(
        "class Bot:\n    def reply(self, message): raise ConnectionError('gone')",
        "bot.py",
    )
    names = ["ada", "ben", "cid", "dot", "eve"]
    project.file(
        "\n".join(
            f"def test_{name}(ltm):\n    ltm.say('hello')\n    ltm.ask('hm?')"
            for name in names
        )
    )

    result = run(project)

    assert result.ret == UNMEASURABLE
    counts = result.parseoutcomes()
    assert counts["errors"] + counts["skipped"] == 5
    result.stdout.fnmatch_lines(
        ["SKIPPED *test_it.py:*not reached: the agent is gone*"]
    )


def test_any_other_exception_of_a_body_is_an_error(project: Project) -> None:
    one(project, "ltm.ask('A asks')", "raise ValueError('oops')")

    result = run(project)

    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*ERROR in test_a*",
            ">       raise ValueError('oops')",
            "E       ValueError: oops",
        ]
    )
    assert tags(junit(project)) == {"error"}
    (error,) = junit(project).iter("error")
    assert error.get("message") == 'failed in the body with "ValueError: oops"'
    assert project.results()["a"]["score"] is None


def test_unscored_is_skipped_with_the_reason_at_the_scenarios_own_line(
    project: Project,
) -> None:
    one(project, "ltm.ask('A asks')", "ltm.score(Unscored('nobody could tell'))")

    result = run(project)

    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["SKIPPED [[]1[]] test_it.py:4: unscored: nobody could tell"]
    )
    assert tags(junit(project)) == {"skipped"}


def test_a_run_in_which_nothing_has_a_score_is_unmeasurable(project: Project) -> None:
    one(project, "ltm.ask('A asks')", "ltm.score(Unscored('nobody could tell'))")

    assert run(project, "-k", "test_a").ret == UNMEASURABLE


def test_skip_in_a_body_skips(project: Project) -> None:
    one(project, "ltm.ask('A asks')", "pytest.skip('changed my mind')")

    result = run(project)

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] test_it.py:8: changed my mind"])
    assert tags(junit(project)) == {"skipped"}
    assert project.results()["a"]["score"] is None


def test_a_missing_capability_skips_with_the_reason(project: Project) -> None:
    one(project, "ltm.ask('A asks')")
    source = (
        (project.path / "test_it.py")
        .read_text()
        .replace("def test_a", "@pytest.mark.ltm(requires=['Resettable'])\ndef test_a")
    )
    project.file(source)

    result = run(project)

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED [[]1[]] test_it.py:4: needs an agent that is Resettable"]
    )


def test_a_scenario_that_asks_nothing_errs_with_the_cure(project: Project) -> None:
    one(project, "pass")

    result = run(project)

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ScenarioError: asks nothing, so it cannot be scored. Add an `ask` or a watcher"
        ]
    )


def test_two_to_six_stay_whatever_was_lost(project: Project) -> None:
    one(project, "ltm.ask('raise')")

    assert project.ltm("-k", "nobody").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.ltm("--no-such-option").ret == pytest.ExitCode.USAGE_ERROR
    project.file("import no_such_module", "test_broken.py")
    assert run(project).ret == pytest.ExitCode.INTERRUPTED


def test_an_agent_that_cannot_be_made_skips_everything(project: Project) -> None:
    one(project, "ltm.ask('A asks')")
    project.file(
        "class Bot:\n    def __init__(self): raise OSError('no model here')\n    def reply(self, m): return m",
        "bot.py",
    )

    result = run(project)

    result.assert_outcomes(skipped=2)
    assert result.ret == UNMEASURABLE
    result.stdout.fnmatch_lines(["SKIPPED *not reached: agent *no model here*"])


def test_output_of_an_erring_scenario_is_shown(project: Project) -> None:
    one(
        project,
        "print('before the end')",
        "ltm.ask('A asks')",
        "raise ValueError('oops')",
    )

    run(project).stdout.fnmatch_lines(
        ["*ERROR in test_a*", "*Captured stdout call*", "before the end"]
    )


def test_a_watchers_item_is_reported_after_the_watcher_has_spoken(
    project: Project,
) -> None:
    project.file(
        """
from pytest_ltm import Score

def test_a(ltm):
    ltm.say("say please from now on")
    ltm.watch(lambda since: Score(1.0, "seen") if len(since) == 3 else None, replies=3)

def test_b(ltm):
    ltm.say("B")
    ltm.ask("B?")

def test_c(ltm):
    ltm.say("C")
    ltm.ask("C?")
"""
    )

    result = project.ltm("-v")

    result.assert_outcomes(passed=3)
    names = [
        line.partition("::")[2].partition("[")[0]
        for line in result.outlines
        if "PASSED" in line
    ]
    assert names == ["test_a", "test_b", "test_c"] or names.index("test_a") > 0


def test_the_record_says_why_a_scenario_never_began(project: Project) -> None:
    project.file(
        """
import pytest

@pytest.fixture
def broken():
    raise ValueError("broken fixture")

def test_a(ltm, broken): ltm.ask("never")
@pytest.mark.skip(reason="not today")
def test_b(ltm): ltm.ask("never")
@pytest.mark.xfail(run=False, reason="known")
def test_c(ltm): ltm.ask("never")
@pytest.fixture
def skips():
    pytest.skip("not here")
def test_d(ltm, skips): ltm.ask("never")
"""
    )

    project.ltm().assert_outcomes(errors=1, skipped=2, xfailed=1)

    found = {
        name: (row["outcome"], row["score"], row["reason"])
        for name, row in project.results().items()
    }
    assert found == {
        "a": ("error", None, "SetupFailed: ValueError: broken fixture"),
        "b": ("skipped", None, "not today"),
        "c": ("skipped", None, "[NOTRUN] known"),
        "d": ("skipped", None, "not here"),
    }


def test_the_traceback_of_a_fault_shows_the_agents_frames_and_the_scenarios_none_of_ours(
    project: Project,
) -> None:
    one(project, "ltm.say('raise')")

    result = run(project)

    result.stdout.fnmatch_lines(
        [
            "bot.py:9: ConnectionError",
            ">       ltm.say('raise')",
            "E *AgentFault: *",
            "test_it.py:7: AgentFault",
        ]
    )
    result.stdout.no_fnmatch_line("*pytest_ltm/*:*: *")


@pytest.mark.parametrize(
    "options",
    [
        ("-q",),
        ("-q", "--ltm-agent-process"),
        pytest.param(("-q", "-n1"), marks=pytest.mark.slow),
    ],
)
def test_a_constructor_that_raises_is_shown_once_with_the_frames_of_its_own_file(
    project: Project, options: tuple[str, ...]
) -> None:
    bot = "class Bot:\n    def __init__(self):\n        raise OSError('model\\33[31m')\n    def reply(self, m): ...\n"
    project.file(bot, "b.py")
    project.file("def test_a(ltm): ...\ndef test_b(ltm): ...\n")

    shown = project.ltm(
        *options, agent="b:Bot", subprocess="-n1" in options
    ).stdout.str()

    assert shown.count("ERROR in the agent") == shown.count("Traceback") == 1
    assert re.findall(r'File ".*?(\w+\.py)", line (\d+)', shown) == [("b.py", "3")]
    said = "unmeasurable (exit status 75): agent 'b:Bot' could not be made: OSError: model\\x1b[31m (b.py:3)"
    assert said in " ".join(shown.split())
    assert "\x1b" not in shown
    assert "resume with" not in shown


def test_under_q_a_line_says_why_an_agent_cannot_be_used(project: Project) -> None:
    project.file("class Bot:\n    def reply(self, m): ...", "b.py")
    project.file("def test_a(ltm):\n    ltm.say('x')\n")
    shown = " ".join(project.ltm("-q", agent="b:Bot").stdout.str().split())
    assert (
        "not memory; the first: agent error: agent 'b_Bot' replied with None; a reply is a str"
        in shown
    )


def test_a_failure_stands_at_the_line_of_its_test(project: Project) -> None:
    project.file(
        "\n\ndef test_a(ltm):\n    ltm.say('x')\n    ltm.check('nothing', not ltm.ask('?'))\n"
    )
    project.ltm("--tb=line").stdout.re_match_lines(
        [r".*test_it\.py:3: BelowThreshold: score 0\.00, below 1\.00: failed: nothing$"]
    )
