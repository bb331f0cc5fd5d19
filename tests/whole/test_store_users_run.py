"""`--ltm-users` and `--ltm-pace` in runs: one store for all users, and real time alongside simulated time."""

from __future__ import annotations

import pytest

STORES = """
import re
import time


def words(text):
    return set(re.findall(r"[a-z]+", text.lower()))


class Separate:
    made = 0

    def __init__(self):
        Separate.made += 1
        assert Separate.made <= 1 + Separate.more
        self.kept = []

    more = 0

    def add(self, text, *, role, at, session, user):
        self.kept.append((user, text))

    def search(self, query, *, k, user):
        own = [text for owner, text in self.kept if owner == user]
        return sorted(own, key=lambda text: -len(words(text) & words(query)))[:k]

    def reset(self):
        raise RuntimeError("one user may not forget for all")


class Mixed(Separate):
    def search(self, query, *, k, user):
        return [text for _, text in self.kept][::-1][:k]


class Late(Separate):
    more = 9

    def add(self, text, *, role, at, session, user):
        self.kept.append((time.monotonic(), text))

    def search(self, query, *, k):
        ready = [text for at, text in self.kept if time.monotonic() - at > 0.05]
        return sorted(ready, key=lambda text: -len(words(text) & words(query)))[:k]

    reset = None
"""
DOOR = """
def test_door(ltm):
    ltm.say("The code of my door is 4711.")
    ltm.check("knows it", "4711" in ltm.ask("What is the code of my door?"))
"""


@pytest.fixture(autouse=True)
def _stores(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(shared_stores=STORES, test_door=DOOR)


def run(pytester: pytest.Pytester, store: str, *args: str) -> pytest.RunResult:
    agent = f"--ltm-agent=store:shared_stores:{store}"
    return pytester.runpytest(
        agent, "--ltm-span=2k", "--ltm-no-probe", "test_door.py", *args
    )


@pytest.mark.parametrize("concurrency", ["1", "3"])
def test_users_of_one_store_that_keeps_them_apart_are_served_their_own(
    pytester: pytest.Pytester, concurrency: str
) -> None:
    result = run(
        pytester, "Separate", "--ltm-users=3", f"--ltm-concurrency={concurrency}"
    )
    result.assert_outcomes(passed=3)


def test_what_one_user_said_is_a_leak_in_the_conversation_of_another(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "Mixed", "--ltm-users=2")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    text = " ".join(str(result.stdout).split())
    assert "returned what another conversation told it: " in text


def test_users_and_trials_are_one_number(pytester: pytest.Pytester) -> None:
    result = run(pytester, "Separate", "--ltm-users=3", "--ltm-trials=2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ltm-users=3 plays a conversation for each user*"])


def test_a_late_store_earns_what_it_knows_and_its_lag_is_told(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "Late", "--ltm-pace=poll")
    result.assert_outcomes(passed=1)
    text = " ".join(str(result.stdout).split())
    assert "write to readable in s, p50/p95/p99: 0." in text
    result = run(pytester, "Late", "--ltm-pace=0.1")
    result.assert_outcomes(passed=1)
    result = run(pytester, "Late")
    result.assert_outcomes(failed=1)


def test_a_pace_that_is_none_is_refused(pytester: pytest.Pytester) -> None:
    result = run(pytester, "Late", "--ltm-pace=quick")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--ltm-pace: expected settle, poll or a number*"])
