"""Faults and secrets in a whole run: exit status, screen, and every written file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from run_folders import latest_run

from pytest_ltm.api.scenarios import agent_fingerprint

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

AGENTS = '''
import os, sys
from pytest_ltm import AgentFault

class Bot:
    """Fails at its n-th message, once."""
    nth, error = 0, None
    def __init__(self):
        self.heard = 0
    def reply(self, message):
        self.heard += 1
        if self.heard == self.nth:
            raise self.error
        return "ok"

class Flaky(Bot):
    nth, error = 3, ConnectionRefusedError("refused")
class Wrong(Bot):
    nth, error = 2, ValueError("no such model")
class Gone(Bot):
    nth, error = 2, AgentFault("the process has ended", fatal=True)
class Exits(Bot):
    nth, error = 2, SystemExit(7)
class Rude(Bot):
    def reply(self, message):
        return "\\0\\x1b[2J\\x07\\u202e half \\ud83d <script>alert(1)</script>"
class Flood(Bot):
    def reply(self, message):
        return "a" * 10_000_000
'''

TESTS = """
def test_a(ltm):
    ltm.say("I like ochre.")
    ltm.wait(span=0.5)
    ltm.check("says ok", "ok" in ltm.ask("Which colour?"))

def test_b(ltm):
    ltm.say("I live in Brno.")
    ltm.wait(span=0.5)
    ltm.check("says ok", "ok" in ltm.ask("Which town?"))
"""


@pytest.fixture(autouse=True)
def quickly(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_ltm._core.storage.clock.time.sleep", lambda _: None)
    project.file(AGENTS, "agents_here.py")
    project.file(TESTS)


def timings(project: Any) -> list[dict[str, Any]]:
    [path] = latest_run(project.path).glob("*/timings.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_passing_fault_costs_nobody_anything(project: Any) -> None:
    result = project.ltm(agent="agents_here:Flaky")
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    [retry] = [event for event in timings(project) if event["event"] == "retry"]
    assert (retry["exchange"], retry["attempt"]) == (2, 1)
    assert 0.5 <= retry["waited"] <= 1
    result.stdout.fnmatch_lines(
        ["note: *at 300: 1 message sent again after 1 failed attempt: see 'retry' in*"]
    )
    assert "ConnectionRefusedError: refused" in retry["error"]


def test_without_retries_it_does(project: Any) -> None:
    result = project.ltm("--ltm-retries=0", agent="agents_here:Flaky")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 75
    assert not [event for event in timings(project) if event["event"] == "retry"]


def test_the_ini_file_says_how_often(project: Any) -> None:
    project.file("[pytest]\nltm_retries = 0\n", "pytest.ini")
    assert project.ltm(agent="agents_here:Flaky").ret == 75


@pytest.mark.parametrize(
    ("given", "said"),
    [("-1", "at least 0, not -1"), ("many", "'many' is not a whole number")],
)
def test_a_number_of_retries_that_is_none_ends_the_session(
    project: Any, given: str, said: str
) -> None:
    result = project.ltm(f"--ltm-retries={given}", agent="echo")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"*--ltm-retries: {said}*"])


@pytest.mark.parametrize(
    ("agent", "said"),
    [("Wrong", "ValueError: no such model"), ("Exits", "SystemExit: 7")],
)
def test_a_fault_that_stays_is_the_error_of_one_scenario(
    project: Any, agent: str, said: str
) -> None:
    result = project.ltm(agent=f"agents_here:{agent}")
    result.assert_outcomes(passed=1, errors=1)
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        [f"*agent error*: *{said}*", "*unmeasurable (exit status 75)*"]
    )


def test_an_agent_that_is_gone_for_good_ends_the_conversation(project: Any) -> None:
    result = project.ltm(agent="agents_here:Gone")
    result.assert_outcomes(errors=1, skipped=1)
    assert result.ret == 75
    result.stdout.fnmatch_lines(["*the agent is gone*the process has ended*"])


def test_a_flood_is_a_fault_and_leaves_no_flood_behind(project: Any) -> None:
    result = project.ltm(agent="agents_here:Flood")
    assert result.ret == 75
    result.stdout.fnmatch_lines(
        ["*replied with 10,000,000 characters; a reply has at most 1,000,000*"]
    )
    assert (
        sum(
            path.stat().st_size
            for path in latest_run(project.path).rglob("*")
            if path.is_file()
        )
        < 100_000
    )


def test_a_rude_reply_drives_neither_terminal_nor_page(project: Any) -> None:
    result = project.ltm(
        "--ltm-report=page.html", "--junitxml=unit.xml", agent="agents_here:Rude"
    )
    result.assert_outcomes(failed=2)
    assert result.ret == 1
    shown = result.stdout.str()
    assert "\\x1b[2J" in shown
    assert not set("\0\x1b\x07\u202e") & set(shown)
    page = (project.path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "\0" not in page
    assert "\x1b" not in (project.path / "unit.xml").read_text(encoding="utf-8")


# --- secrets

VALUE = 'pl"anted\\sécret-0123456789'
"""Written differently in JSON, in a repr and in HTML."""
CORES = ["cret-0123456789", "swordfish-9", "bearer-planted-1", "tokenplanted55"]
"""Must appear nowhere, however the rest of a secret is written."""

LEAKY = '''
import logging, os, sys, warnings
KEY = os.environ["PLANTED_API_KEY"]

class Leaky:
    """Shows its secrets wherever it can."""
    def configuration(self):
        return {"model": "m", "api_key": "tokenplanted55", "url": "https://me:swordfish-9@host/v1", "key": KEY}
    def __init__(self):
        self.heard = 0
    def __repr__(self):
        return f"<Leaky {KEY}>"
    def reply(self, message):
        self.heard += 1
        headers = {"Authorization": "Bearer bearer-planted-1", "x-api-key": "tokenplanted55"}
        url = "https://me:swordfish-9@host/v1?api_key=tokenplanted55"
        print("out", headers, url, KEY)
        print("err", headers, url, KEY, file=sys.stderr)
        logging.getLogger("leaky").warning("log %s %s %s", headers, url, KEY)
        warnings.warn(f"warned {KEY} {url}")
        if self.heard == 3:
            raise RuntimeError(f"request failed: {headers} {url} {KEY!r}")
        return f"ok {KEY} {headers} {url}"
'''

LEAKY_TESTS = """
import os
import pytest

@pytest.fixture
def broken():
    secret = os.environ["PLANTED_API_KEY"]
    raise RuntimeError(f"fixture {secret}")

def test_error(ltm):
    ltm.say("one")
    ltm.say("two")
    ltm.ask("three?")

def test_fails(ltm):
    secret = os.environ["PLANTED_API_KEY"]
    ltm.say(f"my key is {secret}")
    answer = ltm.ask("which?")
    ltm.check(f"holds {secret}", False)
    assert answer == secret, f"it is {secret} https://me:swordfish-9@host"

def test_score(ltm):
    ltm.say("a")
    ltm.score(0.5, "reason " + ltm.ask("b?"))

def test_fixture(ltm, broken):
    ltm.ask("never")

def test_raises(ltm):
    ltm.say("a")
    raise KeyError(os.environ["PLANTED_API_KEY"])
"""


@pytest.mark.parametrize(
    "more", [(), ("--showlocals", "-vv"), ("--tb=short", "-rA"), ("--tb=native",)]
)
def test_no_secret_is_in_any_output(
    project: Any, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", VALUE)
    project.file(LEAKY, "leaky.py")
    project.file(LEAKY_TESTS)
    project.invite("html", "html_fixtures", "metadata")
    result = project.ltm(
        "--ltm-report=page.html",
        "--junitxml=unit.xml",
        "--html=table.html",
        "--self-contained-html",
        *more,
        agent="leaky:Leaky",
    )
    assert result.ret == 75
    sources = {project.path / "leaky.py", project.path / "test_it.py"}
    written = [
        path
        for path in project.path.rglob("*")
        if path.is_file() and path not in sources and path.suffix != ".pyc"
    ]
    assert {
        "journal.jsonl",
        "results.json",
        "summary.json",
        "plan.json",
        "page.html",
        "unit.xml",
        "table.html",
    } <= {path.name for path in written}
    texts = {path.name: path.read_bytes() for path in written}
    texts |= {
        "stdout": result.stdout.str().encode(),
        "stderr": result.stderr.str().encode(),
    }
    leaks = [
        (name, core)
        for name, text in texts.items()
        for core in CORES
        if core.encode() in text
    ]
    assert leaks == []
    assert b"[redacted $PLANTED_API_KEY]" in texts["journal.jsonl"]
    assert b"[redacted $PLANTED_API_KEY]" in texts["stdout"]


@pytest.mark.parametrize(
    "agent",
    [
        "http:https://me:swordfish-9@127.0.0.1:9/",
        "nobody:https://me:swordfish-9@host",
        "x=echo:https://me:swordfish-9@host,x=full",
        "leaky:Absent",
    ],
)
def test_a_spec_with_credentials_is_shown_without_them(
    project: Any, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", VALUE)
    project.file(LEAKY, "leaky.py")
    result = project.ltm("--ltm-retries=0", agent=agent)
    assert "swordfish" not in result.stdout.str() + result.stderr.str()
    for path in (
        (project.path / ".ltm").rglob("*") if (project.path / ".ltm").exists() else ()
    ):
        assert "swordfish" not in path.name
        assert path.is_dir() or b"swordfish" not in path.read_bytes()


def test_two_passwords_have_one_fingerprint() -> None:
    assert agent_fingerprint("http:https://a:one@host", None) == agent_fingerprint(
        "http:https://a:two@host", None
    )
    one, two = ({"model": "m", "api_key": key} for key in ("one", "two"))
    assert agent_fingerprint("x", one) == agent_fingerprint("x", two)
    assert agent_fingerprint("x", one) != agent_fingerprint(
        "x", {"model": "n", "api_key": "one"}
    )


def test_an_exception_that_cannot_be_printed_ends_its_own_scenario_only(
    project: Any,
) -> None:
    project.file(
        """
class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no text")
    __repr__ = __str__

def test_a(ltm):
    ltm.say("a")
    raise Unspeakable

def test_b(ltm):
    ltm.say("b")
    ltm.ask("c")

def test_c(ltm):
    def watcher(since):
        raise Unspeakable
    ltm.say("c")
    ltm.watch(watcher)
"""
    )
    result = project.ltm(agent="echo")
    result.assert_outcomes(passed=1, errors=2)
    assert "please report" not in result.stdout.str()


def test_a_scenario_that_says_itself_that_it_was_not_reached_was_reached(
    project: Any,
) -> None:
    project.file(
        "import pytest\n"
        "def test_a(ltm):\n    ltm.say('A')\n    assert ltm.ask('A?')\n"
        "def test_b(ltm):\n    ltm.say('B')\n    pytest.skip('not reached: by design')\n"
    )
    result = project.ltm(agent="echo")
    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == pytest.ExitCode.OK
