"""`--ltm-users` with agents: leaks between users are reported, over HTTP, in a class, and under concurrency."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator

import pytest
from json_server import Post, serving

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

AGENTS = """
import re

WORDS = re.compile(r"[a-z0-9]+")


class Together:
    def __init__(self):
        self.heard = []

    def keep(self, message, user):
        if message.endswith("?"):
            return
        self.heard.append((user, message))

    def told_to(self, user):
        return [text for _, text in self.heard]

    def answer(self, message, user):
        wanted = set(WORDS.findall(message.lower()))
        texts = self.told_to(user) or [""]
        best = max(texts, key=lambda text: len(wanted & set(WORDS.findall(text.lower()))))
        self.keep(message, user)
        return "You said: " + best

    def reply(self, message, user="nobody"):
        return self.answer(message, user)


class Apart(Together):
    def told_to(self, user):
        return [text for owner, text in self.heard if owner == user]


class TogetherByScope(Together):
    def reply(self, message, scope=None):
        return self.answer(message, scope.user if scope else "")


class ApartByScope(Apart):
    def reply(self, message, scope=None):
        return self.answer(message, scope.user if scope else "")


class TogetherByKeywords(Together):
    def reply(self, message, **scope):
        return self.answer(message, scope.get("user", ""))


class ApartByKeywords(Apart):
    def reply(self, message, **scope):
        return self.answer(message, scope.get("user", ""))


class TogetherLater(Together):
    async def reply(self, message, user=""):
        return self.answer(message, user)


class TogetherInOtherWords(Together):
    def reply(self, message, user=""):
        found = re.findall(r"[0-9]{4,}", self.answer(message, user))
        return f"I think it is {int(found[0]):,}." if found else "I see."


class OfOneUser(Together):
    def reply(self, message):
        return self.answer(message, "")
"""
DOOR = """
def test_door(ltm):
    code = ltm.random.randrange(10**5, 10**6)
    ltm.say(f"The code of my green door is {code}.")
    ltm.check("knows it", str(code) in ltm.ask("What is the code of my green door?"))
"""


@pytest.fixture(autouse=True)
def _agents(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(user_agents=AGENTS, test_door=DOOR)


def run(pytester: pytest.Pytester, spec: str, *args: str) -> pytest.RunResult:
    return pytester.runpytest(
        f"--ltm-agent={spec}", "--ltm-span=2k", "--ltm-users=3", "test_door.py", *args
    )


def assert_leak(result: pytest.RunResult) -> None:
    """Assert that a run ended with the leaked text, its owner, and the path of the leak."""
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    text = " ".join(str(result.stdout).split())
    assert re.search(
        r"the agent replied to '([^']+)' with what only '(?!\1')[^']+' had told it: 'The code of my green door is \d+\."
        r"'\. The message was '",
        text,
    )


@WHOLE_RUN
@pytest.mark.parametrize("concurrency", ["1", "3"])
@pytest.mark.parametrize(
    "name",
    [
        "Together",
        "TogetherByScope",
        "TogetherByKeywords",
        "TogetherLater",
        "TogetherInOtherWords",
    ],
)
def test_a_class_that_mixes_users_up_fails_by_the_leak(
    pytester: pytest.Pytester, name: str, concurrency: str
) -> None:
    result = run(pytester, f"user_agents:{name}", f"--ltm-concurrency={concurrency}")
    assert_leak(result)


@WHOLE_RUN
@pytest.mark.parametrize("concurrency", ["1", "3"])
@pytest.mark.parametrize("name", ["Apart", "ApartByScope", "ApartByKeywords"])
def test_a_class_that_keeps_users_apart_passes_in_all_conversations(
    pytester: pytest.Pytester, name: str, concurrency: str
) -> None:
    result = run(pytester, f"user_agents:{name}", f"--ltm-concurrency={concurrency}")
    result.assert_outcomes(passed=3)
    text = " ".join(str(result.stdout).split())
    assert "3 users of one memory, each in a conversation of their own" in text


def test_a_memory_system_of_the_papers_keeps_the_users_of_a_run_apart(
    pytester: pytest.Pytester,
) -> None:
    pytest.importorskip("numpy", reason="memory: needs numpy")
    result = run(pytester, "memory:rules?preset=ltm-2")
    result.assert_outcomes(passed=3)
    text = " ".join(str(result.stdout).split())
    assert "3 users of one memory, each in a conversation of their own" in text


def test_an_agent_that_takes_no_user_is_tested_as_one_and_that_is_said(
    pytester: pytest.Pytester,
) -> None:
    result = run(pytester, "user_agents:OfOneUser")
    result.assert_outcomes(passed=3)
    text = " ".join(str(result.stdout).split())
    assert "takes no user, so it was tested as one user, in 3 conversations" in text


@pytest.fixture
def server() -> Iterator[Callable[[str], str]]:
    """Serve agents by class; yield a function from a class's name to a URL."""
    namespace: dict[str, type] = {}
    exec(AGENTS, namespace)
    agents: dict[str, object] = {}
    lock = threading.Lock()

    def answer(post: Post) -> dict[str, str]:
        name = post.path.strip("/")
        with lock:
            agent = agents.setdefault(name, namespace[name]())
            user = post.body.get("who", "")
            return {"reply": agent.reply(post.body["message"], user)}  # type: ignore[attr-defined]

    with serving(answer) as loopback:
        yield lambda name: f"{loopback.url}/{name}"


@WHOLE_RUN
@pytest.mark.parametrize("concurrency", ["1", "3"])
@pytest.mark.parametrize(("name", "leaks"), [("Together", True), ("Apart", False)])
def test_a_server_is_told_the_user_and_a_leak_is_the_finding(
    pytester: pytest.Pytester,
    server: Callable[[str], str],
    name: str,
    concurrency: str,
    *,
    leaks: bool,
) -> None:
    described = {"agent": server(name), "parameters": {"user": "who"}}
    pytester.path.joinpath("bot.yml").write_text(json.dumps(described))
    result = run(pytester, "bot.yml", f"--ltm-concurrency={concurrency}")
    if leaks:
        assert_leak(result)
    else:
        result.assert_outcomes(passed=3)


@pytest.mark.parametrize(("name", "leaks"), [("Together", True), ("Apart", False)])
def test_the_suite_lifecycle_names_what_a_server_leaks(
    pytester: pytest.Pytester,
    server: Callable[[str], str],
    name: str,
    *,
    leaks: bool,
) -> None:
    parameters = {"user": "who", "session": "session", "agent": "bot"}
    described = {"agent": server(name), "parameters": parameters}
    pytester.path.joinpath("bot.yml").write_text(json.dumps(described))
    result = pytester.runpytest(
        "--ltm-suite=lifecycle",
        "--ltm-agent=bot.yml",
        "-k",
        "apart or sessions or race",
    )
    if leaks:
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.re_match_lines([r".*same session id: search\(.* had told"])
    else:
        result.assert_outcomes(passed=3)
