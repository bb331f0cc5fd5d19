"""A store that serves another user's texts fails the example and names the leak, without ending the run."""

from __future__ import annotations

import re

import pytest

STORES = """
SHARED = []


class Leaky:
    def __init__(self):
        self.kept = SHARED

    def add(self, text, *, role, at, session, user):
        self.kept.append((user, text))

    def search(self, query, *, k):
        return [text for _, text in self.kept][-k:]


class LeaksUsers(Leaky):
    def __init__(self):
        self.kept = []

    def search(self, query, *, k, user):
        return [text for _, text in self.kept][-k:]


class KeepsUsers(LeaksUsers):
    def search(self, query, *, k, user):
        return [text for owner, text in self.kept if owner == user][-k:]
"""
APART = """
scenarios:
  - scenario: users_apart
    examples: 1
    parameters: {speakers: ids}
"""


@pytest.fixture(autouse=True)
def _stores(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(leaky_stores=STORES)
    pytester.makefile(".ltm-suite.yml", apart="name: apart\nversion: 1\n" + APART)


def test_a_leak_between_conversations_fails_the_example(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest(
        "--ltm-agent=store:leaky_stores:Leaky",
        "--ltm-span=2k",
        "--ltm-trials=2",
        "-k",
        "colours",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "returned what another conversation told it: " in unwrapped(result)
    result.stdout.no_fnmatch_line("*the agent is gone*")


@pytest.mark.parametrize(
    ("name", "leaks"), [("LeaksUsers", True), ("KeepsUsers", False)]
)
def test_a_leak_between_users_of_one_conversation_fails_the_example(
    pytester: pytest.Pytester, name: str, *, leaks: bool
) -> None:
    result = pytester.runpytest(
        f"--ltm-agent=store:leaky_stores:{name}",
        "--ltm-span=2k",
        "--ltm-suite=apart.ltm-suite.yml",
    )
    result.stdout.no_fnmatch_line("*has no parameter `user`*")
    if leaks:
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        assert re.search(
            r"returned to '\w+' what '\w+' told it: '[^']{9}", unwrapped(result)
        )
    else:
        assert "told it: " not in unwrapped(result)


def unwrapped(result: pytest.RunResult) -> str:
    """Return the output with line breaks removed."""
    return " ".join(str(result.stdout).split())
