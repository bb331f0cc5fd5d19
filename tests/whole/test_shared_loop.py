"""Concurrent async agents share one event loop; an agent that freezes or blocks it is named."""

from __future__ import annotations

import subprocess
import sys

import pytest
from chat_server import ChatServer, says
from conftest import Project
from run_folders import latest_run

from pytest_ltm.modes import concurrency

WHOLE_RUN = pytest.mark.nightly("whole runs: it has its turn within days", every=4)

pytestmark = pytest.mark.slow
TALK = """
def test_cat(ltm):
    ltm.say("My cat is called Kelvin.")
    assert ltm.ask("What is my cat called?")
"""
BOTS = """
import asyncio, re, time
from openai import AsyncOpenAI

client = AsyncOpenAI(base_url="{url}", api_key="none", default_headers={{"Connection": "close"}})
limit = asyncio.Semaphore(2)

class Bot:
    async def reply(self, message):
        async with limit:
            asked = [{{"role": "user", "content": message}}]
            return (await client.chat.completions.create(model="m", messages=asked)).choices[0].message.content

class Blocks:
    async def reply(self, message):
        time.sleep(0.3)
        return message

class Freezes:
    def reply(self, message):
        re.match(r"(a+)+$", "a" * 60 + "b")
        return message
"""


@pytest.fixture
def bots(project: Project, chat_server: ChatServer) -> Project:
    pytest.importorskip("openai")
    chat_server.default = says("Noted.")
    project.file(BOTS.format(url=chat_server.url), "bots.py")
    project.file(TALK)
    return project


def journals(project: Project) -> dict[str, bytes]:
    return {
        path.parent.name: path.read_bytes()
        for path in latest_run(project.path).glob("*/journal.jsonl")
    }


def test_a_client_of_the_module_serves_all_conversations_and_the_journals_are_those_of_one_at_a_time(
    bots: Project,
) -> None:
    bots.ltm("--ltm-trials=8", agent="bots:Bot").assert_outcomes(passed=8)
    alone = journals(bots)
    bots.ltm("--ltm-trials=8", "--ltm-concurrency=8", agent="bots:Bot").assert_outcomes(
        passed=8
    )
    assert journals(bots) == alone


def test_an_async_agent_that_blocks_is_named_with_the_ways_out(
    bots: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(concurrency, "MUCH", 0.5)
    result = bots.ltm(
        "--ltm-trials=4", "--ltm-concurrency=4", "--ltm-no-probe", agent="bots:Blocks"
    )
    result.assert_outcomes(passed=4)
    said = " ".join(result.stdout.str().split())
    assert (
        "note: agent 'bots_Blocks' kept the event loop that all async agents share from turning for"
        in said
    )
    assert "own_loop = True" in said


@WHOLE_RUN
@pytest.mark.skipif(
    sys.platform == "win32", reason="has no wake-up descriptors for processes"
)
def test_a_frozen_process_is_ended_with_the_line_and_the_way_to_resume(
    bots: Project,
) -> None:
    command = [
        sys.executable,
        "-c",
        (
            "import pytest; from pytest_ltm.modes import signals; "
            "signals.SLACK = 1; raise SystemExit(pytest.main())"
        ),
        "--ltm-agent=bots:Freezes",
        "--ltm-trials=2",
        "--ltm-concurrency=2",
        "--ltm-no-probe",
        "--ltm-suite=none",
        "--ltm-reply-timeout=1",
        "-p",
        "no:cacheprovider",
        "-q",
    ]
    ended = subprocess.run(
        command, cwd=bots.path, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode < 0
    assert "no Python code has run for too long" in ended.stderr
    assert "--ltm-agent-process" in ended.stderr
    assert "resume with: pytest --ltm-resume=" in ended.stderr
    assert "bots.py" in ended.stderr
