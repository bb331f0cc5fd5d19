"""Scenarios that require a capability, and agents that have it, lack it, or nearly have it."""

from __future__ import annotations

import pytest

from pytest_ltm.agents import CAPABILITIES

SCENARIOS = """
import pytest

def scenario(capability):
    @pytest.mark.ltm(requires=[capability])
    def play(ltm):
        ltm.say("My train leaves from platform 14.")
        ltm.check("is asked", ltm.ask("From which platform does it leave?") is not None)
    return play

for capability in {capabilities!r}:
    globals()[f"test_needs_{{capability}}"] = scenario(capability)
"""
BOTS = """
from pytest_ltm.agents import Usage

class Bare:
    def reply(self, message):
        return "I do not know."

class Able(Bare):
    stateless, max_message_tokens = True, 500
    def reply(self, message, user="", tools=None): return "I do not know."
    def answer_alone(self, message): return "I do not know."
    def reset(self): ...
    def compact(self): ...
    def save(self): return b"state"
    def load(self, state): ...
    def begin_session(self, user): ...
    def accept(self, message, reply): ...
    def tell_time(self, now): ...
    def usage(self): return Usage()
    def count_tokens(self, text): return 1
    def retrieved(self): return []
    def in_context(self): return []
    def reply_with_images(self, message, images): return ""
    def configuration(self): return {}
    def written(self): return []
    def settle(self): ...
    def delete(self, record): ...

class Awaited(Bare):
    async def reset(self): ...
    async def save(self): return b"state"
    async def load(self, state): ...
    async def accept(self, message, reply): ...
    async def tell_time(self, now): ...

class Nearly(Bare):
    stateless = False
    def save(self, path): ...

class SavesText(Bare):
    def save(self): return "state"
    def load(self, state): ...

class Configures(Bare):
    async def configuration(self): return {}
"""


def run(
    pytester: pytest.Pytester, bot: str, capabilities: list[str]
) -> pytest.RunResult:
    pytester.makepyfile(
        test_needs=SCENARIOS.format(capabilities=capabilities), bots=BOTS
    )
    return pytester.runpytest(
        f"--ltm-agent=bots:{bot}", "--ltm-span=500", "-rs", "test_needs.py"
    )


def test_a_scenario_whose_capability_is_missing_is_skipped_with_the_reason(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "Bare", sorted(CAPABILITIES))
    result.assert_outcomes(skipped=len(CAPABILITIES))
    assert all(
        f"needs an agent that is {capability}" in result.stdout.str()
        for capability in CAPABILITIES
    )


def test_with_the_capability_it_is_played(pytester: pytest.Pytester) -> None:
    run(pytester, "Able", sorted(CAPABILITIES)).assert_outcomes(
        passed=len(CAPABILITIES)
    )


def test_members_may_be_async(pytester: pytest.Pytester) -> None:
    capabilities = ["AcceptsHistory", "Checkpointable", "Resettable", "TimeAware"]
    run(pytester, "Awaited", capabilities).assert_outcomes(passed=4)


def test_members_that_are_nearly_a_capability_are_told_with_what_they_lack(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "Nearly", ["Checkpointable", "Stateless"])
    result.assert_outcomes(skipped=2)
    shown = " ".join(result.stdout.str().split())
    assert (
        "is not Checkpointable: its save() cannot be called with no arguments, it has no load()"
        in shown
    )
    assert "is not Stateless: stateless is False, not True" in shown


def test_a_save_that_gives_no_bytes_is_a_fault_that_says_so(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "SavesText", ["Checkpointable"])
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*saved 'state' (a str); save() returns bytes*"])


def test_an_async_configuration_is_refused_with_the_way_out(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "Configures", ["Configured"])
    result.assert_outcomes(skipped=1)
    shown = " ".join(result.stdout.str().split())
    assert (
        "failed in configuration(): TypeError: it returned an awaitable. Make it a plain function"
        in shown
    )
