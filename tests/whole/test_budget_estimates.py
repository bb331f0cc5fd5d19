"""Unreported usage, failed attempts and told messages count against a budget, too, and are shown."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from chat_server import Answer, ChatServer, resets, says, truncated, wrong_schema
from json_server import Post, serving
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=4
)

BOTS = """
import time
from pytest_ltm import Reply, Usage

class Hoards:
    def __init__(self):
        self.used = 0

    def reply(self, message):
        return Reply("Understood.", Usage(input_tokens=1))

    def accept(self, message, reply):
        return Usage(input_tokens=100)

class Sums(Hoards):
    def reply(self, message):
        self.used += 1
        return "Understood."

    def accept(self, message, reply):
        self.used += 100

    def usage(self):
        return Usage(input_tokens=self.used)

class Pays(Hoards):
    def reply(self, message) -> Reply:
        return Reply("Understood.", cost_usd=0.001)

    def accept(self, message, reply):
        return Reply("", Usage(input_tokens=5), 0.5)

class Sleeps(Hoards):
    stateless = True

    def reply(self, message):
        if message.startswith("1 0"):
            time.sleep(60)
        return Reply("Understood.", Usage(input_tokens=1))

class Floods(Hoards):
    def reply(self, message):
        return Reply("x" * 1_000_001, Usage(input_tokens=400, output_tokens=250_000))
"""
TALK = """
import pytest

@pytest.mark.parametrize("n", range({count}))
def test_talk(ltm, n):
    for turn in range(10):
        ltm.say(f"{{n}} {{turn}}: the word of the hour is teapot.")
    ltm.ask("Which word?")
"""
WAIT = """
def test_wait(ltm):
    ltm.say("The word of the hour is teapot.")
    for _ in range(6):
        ltm.wait(tokens=200)
    ltm.ask("Which word?")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(bots=BOTS, test_talk=TALK.format(count=2), test_wait=WAIT)
    pytester.syspathinsert()
    return pytester


def run(
    project: pytest.Pytester, *words: str, agent: str, retries: int = 0
) -> pytest.RunResult:
    agents = [f"--ltm-agent={agent}"] if agent else []
    return project.runpytest_inprocess(*agents, f"--ltm-retries={retries}", *words)


def events(project: pytest.Pytester, *kinds: str) -> list[dict[str, Any]]:
    lines = [
        line
        for path in latest_run(project.path).glob("*/journal.jsonl")
        for line in path.read_text().splitlines()
    ]
    return [event for event in map(json.loads, lines) if event["event"] in kinds]


def ledger(project: pytest.Pytester) -> dict[str, dict[str, list[float]]]:
    found: dict[str, dict[str, list[float]]] = json.loads(
        (latest_run(project.path) / "budget.json").read_text()
    )
    return found


def tokens(project: pytest.Pytester) -> int:
    return int(
        sum(row[1] for side in ledger(project).values() for row in side.values())
    )


def talked(usage: Any) -> Answer:
    message = {"role": "assistant", "content": "Noted."}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]} | (
        {} if usage == "no" else {"usage": usage}
    )
    return wrong_schema(body)


LIES: list[Any] = [
    "no",
    None,
    {},
    {"prompt_tokens": None, "completion_tokens": None},
    {"prompt_tokens": -500, "completion_tokens": -3, "total_tokens": -503},
    {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    {"prompt_tokens": True, "completion_tokens": 1.5},
    "lots",
]


@pytest.mark.parametrize("usage", LIES, ids=str)
def test_a_server_that_does_not_say_what_it_used_is_held_to_the_budget(
    project: pytest.Pytester, chat_server: ChatServer, usage: Any
) -> None:
    chat_server.default = talked(usage)
    result = run(
        project,
        "--ltm-max-tokens=200",
        "test_talk.py",
        agent=f"chat=openai:m@{chat_server.url}",
    )
    assert result.ret == 75
    asked = [
        sum(chat_server.count(message["content"]) for message in request.messages)
        for request in chat_server.requests
    ]
    assert len(chat_server.requests) < 8
    found = [event["usage"] for event in events(project, "reply")]
    assert all(one["estimated"] for one in found)
    assert [one["input_tokens"] for one in found] == sorted(
        one["input_tokens"] for one in found
    )
    # the whole prompt, not only the message
    assert found[-1]["input_tokens"] > 0.5 * asked[-1]
    assert (
        200
        <= tokens(project)
        < 200 + found[-1]["input_tokens"] + found[-1]["output_tokens"] + 1
    )


def test_estimates_are_marked_in_every_report(
    project: pytest.Pytester, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path / "r.md"))
    chat_server.default = talked("no")
    words, agent = (
        ["--ltm-price=chat=100/200", "test_talk.py"],
        f"chat=openai:m@{chat_server.url}",
    )
    result = run(
        project, "--ltm-report=r.html", "--ltm-fail-under=0.1", *words, agent=agent
    )
    result.stdout.fnmatch_lines(
        ["cost in USD *~0.*", "*did not report all that it used*"]
    )
    summary = json.loads((latest_run(project.path) / "summary.json").read_text())
    [column] = summary["results"]
    assert column["usage"]["estimated"] is column["cost"]["estimated"] is True
    assert summary["conversations"][0]["usage"]["estimated"] is True
    assert summary["conversations"][0]["examples"][0]["ltm_cost_estimated"] is True
    assert "~$0." in (project.path / "r.html").read_text()
    assert "~0." in (project.path / "r.md").read_text()


def silent(usage: Any = None, reason: str = "length") -> Answer:
    body = {
        "choices": [
            {"message": {"role": "assistant", "content": ""}, "finish_reason": reason}
        ]
    }
    return wrong_schema(body | ({} if usage is None else {"usage": usage}))


@pytest.mark.parametrize(
    ("answer", "least"),
    [
        (silent({"prompt_tokens": 30, "completion_tokens": 5_000}), 5_030),
        (
            wrong_schema(
                {
                    "choices": [],
                    "usage": {"prompt_tokens": 30, "completion_tokens": 5_000},
                }
            ),
            5_030,
        ),
        (silent(), 10),
        (truncated(), 10),
        (resets(), 10),
        (wrong_schema("<html>"), 10),
    ],
)
def test_what_was_billed_and_came_to_nothing_counts_apart(
    project: pytest.Pytester, chat_server: ChatServer, answer: Answer, least: int
) -> None:
    chat_server.default = answer
    result = run(
        project,
        "--ltm-max-tokens=1m",
        "test_talk.py",
        agent=f"chat=openai:m@{chat_server.url}",
    )
    faults = events(project, "fault")
    assert faults
    assert all(
        fault["lost"]["input_tokens"] + fault["lost"]["output_tokens"] >= least
        for fault in faults
    )
    assert tokens(project) == sum(
        fault["lost"]["input_tokens"] + fault["lost"]["output_tokens"]
        for fault in faults
    )
    assert list(ledger(project)["lost"]) == ["chat~2k~0"]
    assert "failed attempts used about" in " ".join(result.stdout.str().split())
    summary = json.loads((latest_run(project.path) / "summary.json").read_text())
    assert summary["results"][0]["lost"]["tokens"] == tokens(project)


def test_refusals_that_nobody_bills_count_nothing(
    project: pytest.Pytester, chat_server: ChatServer
) -> None:
    chat_server.key = "another"
    run(
        project,
        "--ltm-max-tokens=1m",
        "test_talk.py",
        agent=f"chat=openai:m@{chat_server.url}",
    )
    assert events(project, "fault")
    assert tokens(project) == 0


def test_attempts_that_are_made_again_count_beside_the_reply(
    project: pytest.Pytester, chat_server: ChatServer
) -> None:
    chat_server.next(truncated(), says("Noted."))
    run(
        project,
        "--ltm-max-tokens=1m",
        "test_talk.py",
        agent=f"chat=openai:m@{chat_server.url}",
        retries=2,
    )
    first = events(project, "reply")[0]
    assert first["lost"]["input_tokens"] > 0
    assert "lost" not in events(project, "reply")[1]
    assert (
        ledger(project)["lost"]["chat~2k~0"][1]
        == first["lost"]["input_tokens"] + first["lost"]["output_tokens"]
    )


def test_a_reply_over_the_limit_is_paid_for(project: pytest.Pytester) -> None:
    run(project, "--ltm-max-tokens=100k", "test_talk.py", agent="bots:Floods")
    assert len(events(project, "fault")) == 1  # the first one exhausts the budget
    assert tokens(project) == 250_400


def test_what_is_lost_is_spent_when_the_run_is_resumed(
    project: pytest.Pytester, chat_server: ChatServer
) -> None:
    chat_server.next(silent({"prompt_tokens": 30, "completion_tokens": 5_000}))
    agent = f"chat=openai:m@{chat_server.url}"
    run(project, "--ltm-max-tokens=4k", "test_talk.py", agent=agent)
    name, before = latest_run(project.path).name, len(chat_server.requests)
    (latest_run(project.path) / "budget.json").unlink()
    again = run(project, f"--ltm-resume={name}", "--ltm-max-tokens=5k", agent="")
    assert (again.ret, len(chat_server.requests)) == (75, before)
    assert tokens(project) >= 5_030
    whole = run(project, f"--ltm-resume={name}", "--ltm-max-tokens=1m", agent="")
    assert whole.ret != 75


@pytest.mark.parametrize("agent", ["bots:Hoards", "bots:Sums"])
def test_what_is_told_counts(project: pytest.Pytester, agent: str) -> None:
    result = run(project, "--ltm-max-tokens=200", "test_wait.py", agent=agent)
    assert result.ret == 75
    told = events(project, "filler")
    assert len(told) == 2
    assert [one["usage"]["input_tokens"] for one in told] == [100, 100]
    assert 200 <= tokens(project) < 300
    name = latest_run(project.path).name
    (latest_run(project.path) / "budget.json").unlink()
    same = run(project, f"--ltm-resume={name}", agent="")
    assert (same.ret, len(events(project, "filler"))) == (75, 2)


def test_dollars_of_what_is_told_are_filler(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-max-cost=1.4", "test_wait.py", agent="bots:Pays")
    assert result.ret == 75
    assert [event["cost_usd"] for event in events(project, "filler")] == [0.5, 0.5, 0.5]
    [summary] = json.loads((latest_run(project.path) / "summary.json").read_text())[
        "results"
    ]
    assert summary["cost"]["filler"] == pytest.approx(1.5)
    result.stdout.fnmatch_lines(["for filler *1.5*"])


@pytest.mark.nightly("many runs on workers", every=2)
@pytest.mark.parametrize("workers", ["0", "2"])
def test_workers_exceed_the_budget_by_one_exchange_each_at_most(
    project: pytest.Pytester, chat_server: ChatServer, workers: str
) -> None:
    chat_server.default = talked("no")
    words = ["--ltm-trials=6", "--ltm-max-tokens=2k", "-n", workers, "test_talk.py"]
    run(project, *words, agent=f"chat=openai:m@{chat_server.url}")
    dearest = max(
        event["usage"]["input_tokens"] + event["usage"]["output_tokens"]
        for event in events(project, "reply")
    )
    assert 1_000 < tokens(project) < 2_000 + max(1, int(workers)) * dearest
    assert not ledger(project).get("reserved")
    assert len(chat_server.requests) == len(events(project, "reply"))


USES = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    usage = {"input_tokens": 100 if "accept" in request else 1, "output_tokens": 1}
    print(json.dumps({"ok": True, "reply": "Understood.", "usage": usage, "cost_usd": 0.25}), flush=True)
"""


def used_by(project: pytest.Pytester, kind: str, url: str) -> str:
    """Return the file of an agent behind a process or a server that takes 100 tokens per told message."""
    project.makepyfile(uses=USES)
    if kind == "cmd":
        text = f"agent: 'cmd:{sys.executable} uses.py'\nparameters: {{capabilities: [AcceptsHistory]}}\n"
    else:
        fields = "history: /told, input_tokens: usage.in, output_tokens: usage.out, cost_usd: usd"
        text = f"agent: '{url}/chat'\nparameters: {{{fields}}}\n"
    (project.path / "uses.yml").write_text(text)
    return "uses.yml"


@pytest.mark.parametrize("kind", ["cmd", "http"])
def test_what_telling_a_process_or_a_server_takes_counts(
    project: pytest.Pytester, kind: str
) -> None:
    def answer(post: Post) -> dict[str, Any]:
        return {
            "reply": "Understood.",
            "usage": {"in": 100 if post.path == "/told" else 1, "out": 0},
            "usd": 0.25,
        }

    with serving(answer) as server:
        result = run(
            project,
            "--ltm-max-tokens=200",
            "test_wait.py",
            agent=used_by(project, kind, server.url),
        )
    assert result.ret == 75
    told = events(project, "filler")
    assert [(one["usage"]["input_tokens"], one["cost_usd"]) for one in told] == [
        (100, 0.25)
    ] * 2
    assert 200 <= tokens(project) < 310


@pytest.mark.parametrize(
    "words", [[], ["--ltm-agent-process"]], ids=["here", "process"]
)
def test_a_message_that_ran_out_of_time_counts(
    project: pytest.Pytester, words: list[str]
) -> None:
    limits = ["--ltm-reply-timeout=3", "--ltm-max-tokens=100k"]
    run(project, *limits, *words, "test_talk.py", agent="bots:Sleeps")
    lost = [event["lost"] for event in events(project, "fault")]
    assert [(one["estimated"], one["input_tokens"] > 5) for one in lost] == [
        (True, True)
    ]
    assert ledger(project)["lost"]


JUDGES = """
class Silent:
    def assess(self, inquiry):
        answer = inquiry.text.partition("<<<<< ANSWER")[2]
        return f"GRADE: {'yes' if 'cello' in answer or 'spoons' in answer else 'no'}"
"""
JUDGED = """
def test_hobby(ltm, ltm_judge):
    ltm.say("I carve spoons.")
    ltm.check("is right", ltm_judge.grade("What do I do?", ltm.ask("What do I do?"), "spoons"))
"""


def test_what_canaries_and_probe_did_not_report_is_marked(
    project: pytest.Pytester, chat_server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "")
    chat_server.default = talked("no")
    project.makepyfile(judges=JUDGES)
    words = [
        "--ltm-max-tokens=1m",
        "--ltm-judge=judges:Silent",
        "--ltm-suite=standard",
        "-k",
        "colours",
    ]
    result = run(project, *words, agent=f"chat=openai:m@{chat_server.url}")
    text = " ".join(str(result.stdout).split())
    assert "note: judge's canaries: all were graded right (3 calls, ~" in text
    assert (
        "note: isolation probe of 'chat': nothing leaks between conversations (" in text
    )
    prechecks = json.loads((latest_run(project.path) / "summary.json").read_text())[
        "prechecks"
    ]
    assert [precheck["estimated"] for precheck in prechecks] == [True, True]


@pytest.mark.parametrize(
    "words", [[], ["--ltm-max-tokens=1m"]], ids=["no budget", "a budget"]
)
def test_what_the_judge_used_in_vain_is_told(
    project: pytest.Pytester, chat_server: ChatServer, words: list[str]
) -> None:
    project.makepyfile(test_judged=JUDGED)
    chat_server.default = silent({"prompt_tokens": 30, "completion_tokens": 5_000})
    judge = [
        f"--ltm-judge=openai:m@{chat_server.url}?canaries=off",
        "--ltm-price=judge=1/1",
    ]
    result = run(project, *judge, *words, "test_judged.py", agent="echo")
    (said,) = json.loads(
        next(latest_run(project.path).glob("*/results.json")).read_text()
    )["notices"]
    assert (
        said
        == "the judge's failed attempts used about 5,030 tokens, $0.0050, which is in no other figure"
    )
    assert "failed attempts used about 5,030 tokens" in " ".join(
        str(result.stdout).split()
    )
