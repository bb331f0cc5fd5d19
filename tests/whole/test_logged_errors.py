"""Errors that an agent's libraries log and recover from are counted, and named once in the summary."""

from __future__ import annotations

import json

import pytest
from conftest import Project
from run_folders import latest_run

BOTS = """
import asyncio, logging, threading
logger = logging.getLogger("shelf.index")

def fails(message):
    try:
        raise ConnectionError(f"no index behind {len(message)}")
    except ConnectionError:
        logger.exception("not kept")

class Bot:
    def reply(self, message):
        logger.warning("slow")
        if message.endswith("Kelvin."):
            fails(message)
        return message

class Threaded(Bot):
    def reply(self, message):
        one = threading.Thread(target=super().reply, args=(message,))
        one.start()
        one.join()
        return message

class Async:
    async def reply(self, message):
        await asyncio.sleep(0)
        return Bot().reply(message)
"""
TALK = """
def test_cat(ltm):
    ltm.say("My first cat was called Kelvin.")
    ltm.say("My second cat was called Kelvin.")
    assert "cat" in ltm.ask("Which cat?")
"""
NOTE = "shelf.index logged an error: not kept: no index behind 31"


@pytest.fixture
def bots(project: Project) -> Project:
    project.file(BOTS, "bots.py")
    project.file(TALK)
    return project


@pytest.mark.parametrize(
    ("agent", "more", "times"),
    [
        ("Bot", (), 2),
        ("Async", (), 2),
        ("Threaded", (), 2),
        ("Bot", ("--ltm-agent-process",), 2),
        ("Async", ("--ltm-trials=4", "--ltm-concurrency=4"), 8),
        ("Bot", ("--ltm-trials=4", "--ltm-concurrency=4"), 8),
    ],
)
def test_what_a_library_logs_as_an_error_is_a_note_with_its_number(
    bots: Project, agent: str, more: tuple[str, ...], times: int
) -> None:
    result = bots.ltm("--ltm-no-probe", *more, agent=f"bots:{agent}")
    result.assert_outcomes(passed=times // 2)
    said = " ".join(result.stdout.str().split())
    assert f"note: bots_{agent} at 300: {NOTE}: {times} times" in said
    assert "slow" not in said
    summary = json.loads(
        (latest_run(bots.path) / "summary.json").read_text(encoding="utf-8")
    )
    assert (
        sum(
            each["times"]
            for held in summary["conversations"]
            for each in held["mishaps"]
        )
        == times
    )
