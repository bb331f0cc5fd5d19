"""`--ltm-time`: how the agent's process and the hook see the conversation's time."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

SCENARIO = """
def test_waits(ltm):
    ltm.say("begin")
    ltm.wait(time="3h")
    answer = ltm.ask("what time is it?")
    assert answer == "{expected}"
"""
WALL_AGENT = """
import datetime, pytest
class Agent:
    {define} reply(self, message):
        {body}return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H")
@pytest.hookimpl(optionalhook=True)
def pytest_ltm_make_agent(config, spec):
    return Agent if spec == "wall" else None
"""


@pytest.mark.parametrize(
    ("define", "body"),
    [("def", ""), ("async def", "import asyncio; await asyncio.sleep(0.01)\n        ")],
)
def test_jump_moves_the_clock_of_the_agents_process(
    pytester: pytest.Pytester, define: str, body: str
) -> None:
    pytest.importorskip("time_machine")
    pytester.makeconftest(WALL_AGENT.format(define=define, body=body))
    pytester.makepyfile(SCENARIO.format(expected="2024-03-04 12"))
    result = pytester.runpytest_subprocess(
        "--ltm-agent=wall", "--ltm-time=jump", "--ltm-suite=none"
    )
    result.assert_outcomes(passed=1)


def test_simulated_time_leaves_the_clock_of_the_process_alone(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(WALL_AGENT.format(define="def", body=""))
    pytester.makepyfile(SCENARIO.format(expected="2024-03-04 12"))
    result = pytester.runpytest_subprocess("--ltm-agent=wall", "--ltm-suite=none")
    result.assert_outcomes(failed=1)


def test_signal_tells_the_hook_of_each_jump(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import pytest
        class Agent:
            told = "never"
            def reply(self, message):
                return self.told
        @pytest.hookimpl(optionalhook=True)
        def pytest_ltm_make_agent(config, spec):
            return Agent
        @pytest.hookimpl(optionalhook=True)
        def pytest_ltm_time_jumped(spec, agent, before, now):
            agent.told = f"{spec} {now - before}"
        """
    )
    pytester.makepyfile(SCENARIO.format(expected="outside 3:00:00"))
    result = pytester.runpytest_subprocess(
        "--ltm-agent=outside", "--ltm-time=signal", "--ltm-suite=none"
    )
    result.assert_outcomes(passed=1)


def test_sleep_really_waits(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import time
        def test_waits(ltm):
            ltm.say("begin")
            began = time.monotonic()
            ltm.wait(time="0.3s")
            ltm.ask("done?")
            assert time.monotonic() - began >= 0.3
        """
    )
    result = pytester.runpytest_subprocess(
        "--ltm-agent=echo", "--ltm-time=sleep", "--ltm-suite=none"
    )
    result.assert_outcomes(passed=1)


def test_jump_without_its_library_names_the_extra(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("import sys; sys.modules['time_machine'] = None")
    result = pytester.runpytest_subprocess("--ltm-agent=echo", "--ltm-time=jump")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ltm-time=jump: *pip install 'pytest-ltm?time?'*"])


NEEDS_TIME = """
import pytest
@pytest.mark.ltm(requires=["TimeAware"])
def test_needs_time(ltm):
    ltm.say("begin")
    ltm.check("answers", ltm.ask("what time is it?") != "")
"""


@pytest.mark.parametrize(
    ("mode", "agent", "outcome"),
    [
        ("simulated", "wall", "skipped"),
        ("jump", "wall", "passed"),
        ("signal", "wall", "skipped"),
        ("sleep", "echo", "skipped"),
    ],
)
def test_who_cannot_know_the_time_is_not_measured(
    pytester: pytest.Pytester, mode: str, agent: str, outcome: str
) -> None:
    """Our controls never look at a clock, and without the hook nothing is notified of jumps."""
    pytester.makeconftest(WALL_AGENT.format(define="def", body=""))
    pytester.makepyfile(NEEDS_TIME)
    result = pytester.runpytest_subprocess(
        f"--ltm-agent={agent}", f"--ltm-time={mode}", "--ltm-suite=none", "-rs"
    )
    result.assert_outcomes(**{outcome: 1})
