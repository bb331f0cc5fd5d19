"""Kinds of agents that a conftest or a package registers through the hook alone."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_ltm.api.features import AGENT_KINDS, AgentKind
from pytest_ltm.api.journal import read_results

SCENARIO = """
    def test_a(ltm):
        ltm.say("My colour is teal.")
        ltm.check("said", "teal" in ltm.ask("Is it teal?"))
"""
PARROT = """
    from pytest_ltm.api import AgentKind

    class Parrot:
        def __init__(self, word):
            self.word = word

        def reply(self, message):
            return message.lower() + self.word

    def make_parrot(argument):
        if not argument.isalpha():
            raise {error}
        return lambda: Parrot(argument)

    def pytest_ltm_agents(register):
        register(AgentKind("parrot", make_parrot, "Repeats what it hears.", "WORD", {roles}))
"""


def play(
    pytester: pytest.Pytester, *words: str, roles: str = "", error: str = "ValueError"
) -> pytest.RunResult:
    pytester.makeconftest(PARROT.format(roles=roles, error=error))
    pytester.makepyfile(SCENARIO)
    return pytester.runpytest("--ltm-suite=none", "--ltm-span=500", "-q", ".", *words)


def test_a_kind_of_a_conftest_is_played(pytester: pytest.Pytester) -> None:
    result = play(pytester, "--ltm-agent=parrot:aye")

    result.assert_outcomes(passed=1)
    [folder] = pytester.path.glob(".ltm/runs/*")
    run = json.loads((folder / "run.json").read_text())
    assert run["settings"]["agents"] == {"parrot_aye": "parrot:aye"}


def test_a_control_is_never_ranked(pytester: pytest.Pytester) -> None:
    play(pytester, "--ltm-agent=parrot:aye", roles="control=True")

    [path] = pytester.path.glob(".ltm/runs/*/*/results.json")
    result = read_results(path)
    with_kind = AgentKind("parrot", str, "Repeats.", control=True)
    ended = AGENT_KINDS.use(
        cast(
            "Any",
            SimpleNamespace(pytest_ltm_agents=lambda register: register(with_kind)),
        )
    )
    try:
        assert result.is_control
        assert not result.is_yardstick
    finally:
        ended()
    assert not result.is_control  # the package that registered it is not installed here


def test_what_its_maker_raises_is_a_wrong_spec(pytester: pytest.Pytester) -> None:
    result = play(pytester, "--ltm-agent=parrot:7", error="ValueError('letters only')")

    result.stderr.fnmatch_lines(
        [
            "ERROR: --ltm-agent: agent 'parrot:7': its kind raised ValueError: letters only"
        ]
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_name_that_is_taken_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("""
        from pytest_ltm.api import AgentKind

        def pytest_ltm_agents(register):
            register(AgentKind("full", str, "Mine."))
    """)
    pytester.makepyfile(SCENARIO)
    result = pytester.runpytest("--ltm-agent=full", "--ltm-suite=none", ".")

    result.stderr.fnmatch_lines(
        ["ERROR: --ltm-agent: two features have a kind of agents 'full'.*"]
    )


def test_a_misspelt_kind_is_corrected(pytester: pytest.Pytester) -> None:
    result = play(pytester, "--ltm-agent=parot:aye")

    result.stderr.fnmatch_lines(["*Did you mean 'parrot'?*"])
