"""Whole runs against an OpenAI-compatible server on loopback, through the real client."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import ChatServer, fails, garbled, refuses, resets, says, truncated
from locomo_files import talk, written
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

# pytester forgets the modules that a run in this process imports.
for _name in ("filelock", "tenacity", "pytest_ltm.providers"):
    importlib.import_module(_name)

HARD = """\
def test_lock(ltm):
    ltm.say("The code of my bicycle lock is 4711.")
    ltm.wait(span=0.5)
    ltm.check("knows the code", "4711" in ltm.ask("What is the code of my bicycle lock?"))

def test_wifi(ltm):
    ltm.say("The password of the wifi is teapot.")
    ltm.wait(span=0.5)
    ltm.check("knows the password", "teapot" in ltm.ask("What is the password of the wifi?"))
"""
KNOWS = "It is 4711, or teapot."
PLANTED = "planted-3f9a1c-secret"


@pytest.fixture(autouse=True)
def _own_limits() -> Iterator[None]:
    yield
    importlib.import_module("pytest_ltm.providers").share_limits(None)


def rows(project: Any, label: str) -> list[tuple[str, int, float | None]]:
    found = []
    for path in sorted(latest_run(project.path).glob(f"{label}~*/results.json")):
        found += [
            (row["scenario"], row["example"], row["score"])
            for row in json.loads(path.read_text(encoding="utf-8"))["scenarios"]
        ]
    return sorted(found, key=str)


def journal(project: Any, label: str) -> list[dict[str, Any]]:
    [path] = latest_run(project.path).glob(f"{label}~*/journal.jsonl")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("span", ["2k", "32k"])
def test_scores_through_the_client_are_those_of_the_embedded_agent(
    project: Any, chat_server: ChatServer, span: str
) -> None:
    chat_server.reads("full")
    result = project.pytest(
        f"--ltm-agent=full,chat=ts:openai:m@{chat_server.url}",
        f"--ltm-span={span}",
        "--ltm-suite=standard",
        "--ltm-examples=1",
    )
    assert result.ret == 0
    assert rows(project, "chat") == rows(project, "full")
    assert len([row for row in rows(project, "chat") if row[2] == 1.0]) >= 10
    texts = [
        [
            (event["text"])
            for event in journal(project, label)
            if event["event"] in {"message", "reply"}
        ]
        for label in ("full", "chat")
    ]
    assert texts[0] == texts[1]


def test_a_context_of_its_own_lets_it_fall_where_the_embedded_window_falls(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.reads("full")
    project.file(HARD)
    project.ltm(
        agent=f"window:1k,small=openai:m@{chat_server.url}?context=1k,full", span="3k"
    )
    assert [score for *_, score in rows(project, "small")] == [0.0, 0.0]
    assert rows(project, "small") == rows(project, "window_1k")
    assert [score for *_, score in rows(project, "full")] == [1.0, 1.0]


def test_what_goes_wrong_on_the_way_changes_no_score(
    project: Any, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # between attempts
    monkeypatch.setattr("pytest_ltm._core.storage.clock.time.sleep", lambda _: None)
    chat_server.reads("full")
    project.file(HARD)
    chat_server.next(refuses(429, retry_after=0), fails(502))
    result = project.ltm(agent=f"chat=openai:m@{chat_server.url}", span="1k")
    result.assert_outcomes(passed=2)
    chat_server.next(resets(), truncated(), garbled())
    result = project.ltm(agent=f"chat=openai:m@{chat_server.url}", span="1k")
    result.assert_outcomes(passed=2)


def test_a_conversation_that_is_longer_than_the_model_takes_goes_on(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.reads("full")
    chat_server.context = 800
    project.file(HARD)
    result = project.ltm(agent=f"chat=openai:m@{chat_server.url}", span="4k")
    result.assert_outcomes(failed=2)  # it forgot, without any error
    assert max(request.prompt_tokens for request in chat_server.requests) > 800


def test_usage_is_recorded_with_each_reply(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.default = says(KNOWS, cached=3)
    project.file(HARD)
    project.ltm(agent=f"chat=openai:m@{chat_server.url}").assert_outcomes(passed=2)
    used = [
        event["usage"]
        for event in journal(project, "chat")
        if event["event"] == "reply"
    ]
    assert len(used) == len(chat_server.requests)
    tokens = chat_server.requests[0].prompt_tokens
    assert used[0] == {
        "input_tokens": tokens,
        "output_tokens": 5,
        "cached_tokens": 3,
        "calls": 1,
    }


def test_a_model_with_settings_stands_in_a_file(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.default = KNOWS
    project.file(HARD)
    project.file(
        f"agent: openai:m@{chat_server.url}\nparameters:\n  system: Be brief, and kind.\n  seed: 5\n  max_tokens: 1k\n",
        "brief.yml",
    )
    project.ltm(agent="brief=brief.yml").assert_outcomes(passed=2)
    body = chat_server.requests[0].body
    assert body["messages"][0] == {"role": "system", "content": "Be brief, and kind."}
    assert (body["seed"], body["max_tokens"]) == (5, 1000)


def test_workers_share_the_limits_of_an_endpoint(
    project: Any, chat_server: ChatServer
) -> None:
    pytest.importorskip("xdist")
    chat_server.default = KNOWS
    chat_server.next(refuses(429, retry_after=0))
    project.file(HARD)
    result = project.ltm(
        "-n2",
        "--ltm-trials=4",
        agent=f"chat=openai:m@{chat_server.url}",
        subprocess=True,
    )
    result.assert_outcomes(passed=8)
    [path] = (project.path / ".ltm" / "limits").glob("*.json")
    state = json.loads(path.read_text(encoding="utf-8"))
    assert state["endpoint"] == f"{chat_server.url} m"
    assert state["places"] == {}
    assert 4.0 <= state["limit"] < 8.0  # halved once, by one worker for both


def test_a_running_loop_is_not_disturbed(project: Any, chat_server: ChatServer) -> None:
    project.invite("asyncio")
    chat_server.default = KNOWS
    project.file(
        HARD
        + """
import asyncio, pytest, pytest_asyncio

@pytest_asyncio.fixture(loop_scope="function")
async def loop():
    yield asyncio.get_running_loop()

def test_async_neighbour(ltm, loop):
    ltm.say("My name is Ida.")
    ltm.check("answers", ltm.ask("Who are you?") != "")

def test_in_a_loop(ltm):
    ltm.say("I live in Turku.")
    async def talk():
        loop = asyncio.get_running_loop()
        reply = ltm.ask("Where do I live?")
        assert asyncio.get_running_loop() is loop
        await asyncio.sleep(0)
        return reply
    ltm.check("answers", asyncio.run(talk()) == "It is 4711, or teapot.")
"""
    )
    result = project.ltm(
        "-oasyncio_default_fixture_loop_scope=function",
        agent=f"chat=openai:m@{chat_server.url}",
    )
    result.assert_outcomes(passed=4)


@pytest.mark.parametrize("told", ["refusal", "reply"])
def test_a_key_is_in_no_output_even_if_the_server_says_it(
    project: Any, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch, told: str
) -> None:
    monkeypatch.setenv("SOME_API_KEY", PLANTED)
    chat_server.default = (
        fails(400, f"Bearer {PLANTED} is not welcome")
        if told == "refusal"
        else f"{KNOWS} Your key is {PLANTED}"
    )
    project.file(HARD)
    result = project.ltm(
        "-vv",
        "-l",
        "--tb=long",
        "--ltm-report=report.html",
        "--junitxml=junit.xml",
        agent=f"chat=openai:m@{chat_server.url}?key_env=SOME_API_KEY",
    )
    result.assert_outcomes(**({"errors": 2} if told == "refusal" else {"passed": 2}))
    assert chat_server.requests[0].headers["authorization"] == f"Bearer {PLANTED}"
    result.stdout.no_fnmatch_line(f"*{PLANTED}*")
    result.stderr.no_fnmatch_line(f"*{PLANTED}*")
    for path in project.path.rglob("*"):
        if path.is_file():
            assert PLANTED.encode() not in path.read_bytes(), path


def test_a_wrong_key_is_told_in_the_servers_words_and_is_no_score(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.key = "another"
    project.file(HARD)
    result = project.ltm(agent=f"chat=openai:m@{chat_server.url}")
    result.stdout.fnmatch_lines(
        [
            "*agent 'chat': http://127.0.0.1:*/v1 answered 401: Incorrect API key provided.*"
        ]
    )
    assert result.ret == 75
    # once per message: the opening, and the first of two scenarios
    assert len(chat_server.requests) == 3


def test_a_missing_key_ends_the_run_before_anything_is_sent(
    project: Any, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    project.file(HARD)
    result = project.ltm(agent=f"openai:m@{chat_server.url}?key_env=NO_SUCH_KEY")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*--ltm-agent: *the environment variable NO_SUCH_KEY is not set*"]
    )
    assert chat_server.requests == []
    assert "NO_SUCH_KEY" not in os.environ


def test_a_reply_that_a_limit_cut_is_named_in_the_failure_and_counted_in_the_notes(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.default = lambda asked: says(
        "I think it", finish_reason="length" if "?" in asked.last else "stop"
    )
    project.path.joinpath("test_hard.py").write_text(HARD, encoding="utf-8")
    result = project.pytest(
        "test_hard.py",
        f"--ltm-agent=chat=openai:m@{chat_server.url}?max_tokens=12",
        "--ltm-suite=none",
    )
    assert result.ret == 1
    output = result.stdout.str()
    assert "agent: I think it" in output
    assert "(cut off there: the reply reached its limit)" in output
    assert "note: chat at 2k: reply cut off at max_tokens=12: 2 times" in output
    replies = [event for event in journal(project, "chat") if event["event"] == "reply"]
    assert [event.get("finish_reason") for event in replies].count("length") == 2


def test_the_photos_of_locomo_reach_a_model_that_takes_images(
    project: Any, chat_server: ChatServer
) -> None:
    written(project.path / "data.json", [talk()])
    (project.path / "photos").mkdir()
    (project.path / "photos" / "cello.jpg").write_bytes(b"\xff\xd8cello")
    chat_server.default = "Quails."
    project.pytest(
        f"--ltm-agent=sees=openai:m@{chat_server.url}?images=true",
        "--ltm-suite=locomo",
        "?data=data.json",
        "?images=photos",
    )

    pictured = [
        part["image_url"]["url"]
        for message in chat_server.requests[-1].messages
        if isinstance(message["content"], list)
        for part in message["content"][1:]
    ]
    assert pictured == ["data:image/jpeg;base64,/9hjZWxsbw=="]
    assert [
        event["images"] for event in journal(project, "sees") if event.get("images")
    ] == [["cello.jpg"]]


def test_replies_that_are_not_whole_are_counted_by_account(
    project: Any, chat_server: ChatServer
) -> None:
    def reply(asked: Any) -> Any:
        end = "content_filter" if "?" in asked.last else "somehow"
        return says("I think it", finish_reason=end)

    chat_server.default = reply
    project.path.joinpath("test_hard.py").write_text(HARD, encoding="utf-8")
    result = project.pytest(
        "test_hard.py",
        f"--ltm-agent=chat=openai:m@{chat_server.url}",
        "--ltm-suite=none",
    )
    events = journal(project, "chat")
    unknown = sum(event.get("account") == "unknown" for event in events)
    kept_back = sum(event.get("account") == "kept back" for event in events)

    assert unknown
    assert kept_back
    assert (
        f"replies that were not whole: {kept_back} kept back, {unknown} unknown"
        in " ".join(result.stdout.str().split())
    )
    summary = json.loads((latest_run(project.path) / "summary.json").read_bytes())
    assert summary["conversations"][0]["accounts"] == {
        "kept back": kept_back,
        "unknown": unknown,
    }


def test_an_end_that_a_spec_settles_is_whole(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.default = lambda _: says("I think it", finish_reason="somehow")
    project.path.joinpath("test_hard.py").write_text(HARD, encoding="utf-8")
    result = project.pytest(
        "test_hard.py",
        f"--ltm-agent=chat=openai:m@{chat_server.url}?ends=somehow",
        "--ltm-suite=none",
    )

    assert "not whole" not in result.stdout.str()
    assert "it is not known how replies ended" not in result.stdout.str()
    replies = [event for event in journal(project, "chat") if event["event"] == "reply"]
    assert {event.get("account", "whole") for event in replies} == {"whole"}
