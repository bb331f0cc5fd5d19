"""Runs with simulated users: replies of their models are recorded, replayed, counted, limited and forecast."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from chat_server import ChatServer, fails, says
from run_folders import latest_run

pytestmark = pytest.mark.nightly(
    "whole runs: each test has its turn within days", every=8
)

# pytester forgets the modules that a run in this process imports.
for _name in ("filelock", "tenacity", "pytest_ltm.providers"):
    importlib.import_module(_name)

MODELS = """
import json
from pytest_ltm import Reply, Usage
from ticks import tick

LINES = ["I want to plan a party.", "Ana is allergic to nuts, by the way.", "Thank you!"]

def write(prompt):
    turn = prompt.count("Person: ")
    tick("asked", turn)
    text = json.dumps({"message": LINES[turn], "done": turn == 2})
    return Reply(text, Usage(input_tokens=90, output_tokens=10), 0.25)

def dead(prompt):
    raise ConnectionRefusedError("nobody is there")

def mute(prompt):
    return Reply("", Usage(input_tokens=90, output_tokens=10))

class Bot:
    stateless = True

    def reply(self, message) -> Reply:
        tick("agent")
        return Reply("No nuts, no honey.", Usage(input_tokens=90, output_tokens=10), 1.0)

    def accept(self, message, reply):
        pass
"""
TEST = """
def test_cake(ltm):
    user = ltm.user("{goal}", model={model}, facts=["allergic to nuts"], turns=4)
    user.talk(turns=1)
    ltm.wait(tokens=100)
    user.talk()
    about = user.telling("allergic to nuts")
    ltm.check("leaves the nuts out", "no nuts" in ltm.ask("What may Ana not have?", about=about).lower())
"""
GOAL = "Plan a birthday and mention what Ana must not eat"


@pytest.fixture(autouse=True)
def _own_limits() -> Iterator[None]:
    yield
    importlib.import_module("pytest_ltm.providers").share_limits(None)


def write(project: Any, model: str = '"models:write"', goal: str = GOAL) -> None:
    project.file(MODELS, "models.py")
    project.file(TEST.format(model=model, goal=goal))


def users(project: Any) -> list[dict[str, Any]]:
    lines = [
        json.loads(line)
        for path in sorted(latest_run(project.path).glob("*/journal.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [line for line in lines if line["event"] == "user"]


def summary(project: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (latest_run(project.path) / "summary.json").read_text(encoding="utf-8")
    )
    return found


@pytest.mark.parametrize(("span", "trials"), [("2k", 1), ("isolated", 1), ("2k", 2)])
def test_what_a_user_says_is_recorded_and_counted_apart(
    project: Any, span: str, trials: int
) -> None:
    write(project)
    result = project.ltm(
        *["-n2"] * (trials - 1), f"--ltm-trials={trials}", agent="models:Bot", span=span
    )
    result.assert_outcomes(passed=trials)
    cost = "$0.7500" if trials == 1 else "$1.50"
    result.stdout.fnmatch_lines(
        [f"simulated users: {3 * trials} calls, {300 * trials} tokens, {cost}"]
    )
    said = users(project)
    assert [one["model"] for one in said] == ["models:write"] * 3 * trials
    assert all(one["prompt"].startswith("sha256:") for one in said)
    row = project.results()["cake"]
    assert (row["user_calls"], row["user_tokens"], row["user_cost_usd"]) == (
        3,
        300,
        0.75,
    )
    [column] = summary(project)["results"]
    assert column["simulated_users"] == {
        "calls": 3 * trials,
        "tokens": 300 * trials,
        "cost_usd": 0.75 * trials,
    }
    assert column["judge"] is None
    needle = row["questions"][0]["needles"]
    assert [one["text"] for one in needle] == ["Ana is allergic to nuts, by the way."]


def test_a_run_that_is_scored_again_or_replayed_asks_no_model(project: Any) -> None:
    write(project)
    project.ltm(agent="models:Bot").assert_outcomes(passed=1)
    ticks = project.ticks
    recorded = latest_run(project.path).name
    first = project.results()["cake"]
    project.pytest("--ltm-rescore=latest").assert_outcomes(passed=1)
    assert project.results()["cake"] == first
    project.ltm(agent=f"replay:{recorded}").assert_outcomes(passed=1)
    assert project.ticks == ticks
    assert len(users(project)) == 3


def test_another_goal_keeps_the_recorded_verdict_and_cannot_be_replayed(
    project: Any,
) -> None:
    write(project)
    project.ltm(agent="models:Bot").assert_outcomes(passed=1)
    recorded, ticks = latest_run(project.path).name, project.ticks
    write(project, goal="Plan a wedding and mention what Ana must not eat")
    result = project.pytest(f"--ltm-rescore={recorded}")
    result.stdout.fnmatch_lines(["*1 kept because their scripts changed*"])
    result.stdout.fnmatch_lines(["*its simulated user's model something else*"])
    replayed = project.ltm(agent=f"replay:{recorded}")
    replayed.stdout.fnmatch_lines(
        ["*the recording does not hold what this simulated user says next*"]
    )
    assert project.ticks == ticks


def test_a_budget_counts_users_and_the_run_is_resumed_to_the_same_end(
    project: Any,
) -> None:
    write(project)
    project.ltm(agent="models:Bot").assert_outcomes(passed=1)
    whole = project.results()["cake"]
    ticks = len(project.ticks)
    result = project.ltm("--ltm-max-tokens=420", agent="models:Bot")
    assert result.ret == 75
    result.stdout.fnmatch_lines(["*resume with a larger budget*"])
    assert 0 < len(users(project)) < 3
    project.pytest("--ltm-resume=latest", "--ltm-max-tokens=10k").assert_outcomes(
        passed=1
    )
    assert len(project.ticks) == 2 * ticks
    assert project.results()["cake"] == whole


def test_another_model_does_not_resume_a_run(project: Any) -> None:
    write(project, "__import__('models').MODEL")
    project.file(MODELS + 'MODEL = "models:write"\n', "models.py")
    project.ltm("--ltm-max-tokens=420", agent="models:Bot")
    project.file(MODELS + 'MODEL = "models:dead"\n', "models.py")
    result = project.pytest("--ltm-resume=latest", "--ltm-max-tokens=10k")
    told = " ".join(result.stdout.str().split())
    assert "user of cake/0, model: recorded 'models:write', now 'models:dead'" in told


@pytest.mark.parametrize(
    ("model", "cause", "why"),
    [
        (
            "dead",
            "user",
            "the model of the simulated user failed: ConnectionRefusedError: nobody is there*",
        ),
        (
            "mute",
            "unscored",
            "the simulated user does not play its part: its model gave no message (3 times)",
        ),
    ],
)
def test_a_user_that_fails_is_no_zero(
    project: Any, model: str, cause: str, why: str
) -> None:
    write(project, f'"models:{model}"')
    result = project.ltm("--ltm-retries=0", agent="models:Bot")
    result.assert_outcomes(skipped=1)
    assert result.ret == 75
    row = project.results()["cake"]
    assert (row["score"], row["cause"]) == (None, cause)
    result.stdout.fnmatch_lines([f"*{why.partition(':')[0]}*"])


# --- behind a server


def at(server: ChatServer, more: str = "") -> str:
    return f'"openai:some-model@{server.url}{more}"'


def line(text: str, *, done: bool = False) -> str:
    return json.dumps({"message": text, "done": done})


LINES = (
    line("I plan a party."),
    line("Ana is allergic to nuts."),
    line("Bye.", done=True),
)


def test_a_user_behind_a_server_is_asked_with_a_seed_and_a_form(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.next(fails(), *LINES)
    write(project, at(chat_server))
    result = project.ltm(
        "--ltm-price=user=1000000/2000000", "--ltm-max-cost=100000", agent="models:Bot"
    )
    result.stdout.fnmatch_lines(["simulated users: 3 calls, * tokens, $*"])
    first, *others = chat_server.requests
    assert len(others) == 3
    seeds = {request.body["seed"] for request in chat_server.requests}
    assert len(seeds) == 1
    assert first.body["temperature"] == 0
    schema = first.body["response_format"]["json_schema"]
    assert (schema["name"], schema["schema"]["required"]) == (
        "message",
        ["message", "done"],
    )
    assert GOAL in first.last
    assert "Person: I plan a party." in others[-1].last
    said = [user["usage"] for user in users(project)]
    asked = sum(one["input_tokens"] for one in said)
    answered = sum(one["output_tokens"] for one in said)
    assert project.results()["cake"]["user_cost_usd"] == asked + 2.0 * answered

    chat_server.next(*LINES)
    project.ltm("--ltm-seed=1", agent="models:Bot")
    assert chat_server.requests[-1].body["seed"] not in seeds


def test_a_price_nobody_knows_is_refused_before_the_first_call_and_the_run_resumed_with_one(
    project: Any, chat_server: ChatServer
) -> None:
    write(project, at(chat_server))
    result = project.ltm("--ltm-max-cost=5", agent="models:Bot")
    assert result.ret == 75
    assert chat_server.requests == []
    told = " ".join(result.stdout.str().split())
    assert "the cost of the simulated user's model 'openai:some-model@" in told
    assert "--ltm-price=user=IN/OUT" in told
    chat_server.next(*LINES)
    project.pytest("--ltm-resume=latest", "--ltm-price=user=1/1").assert_outcomes(
        passed=1
    )
    assert len(chat_server.requests) == 3


def test_a_refusal_of_the_server_is_no_zero(
    project: Any, chat_server: ChatServer
) -> None:
    chat_server.default = says("", finish_reason="content_filter")
    write(project, at(chat_server))
    result = project.ltm("--ltm-retries=0", agent="models:Bot")
    assert result.ret == 75
    assert project.results()["cake"]["cause"] == "user"


# --- dry run


def test_a_dry_run_counts_what_users_may_ask_and_asks_nobody(project: Any) -> None:
    write(project)
    result = project.ltm("--ltm-dry-run", "--ltm-price=user=1/2", agent="models:Bot")
    result.stdout.fnmatch_lines(["user calls, at most*4", "USD: user *0.0*"])
    result.stdout.fnmatch_lines(
        ["simulated user models:write: one message for each of its turns; $1/2*"]
    )
    assert project.ticks == []


def test_a_list_of_messages_costs_nothing(project: Any) -> None:
    write(project, '["A party!", "Ana is allergic to nuts."]')
    result = project.ltm("--ltm-max-cost=5", agent="models:Bot")
    result.assert_outcomes(passed=1)
    assert "simulated users" not in result.stdout.str()
    assert (
        "user calls"
        not in project.ltm("--ltm-dry-run", agent="models:Bot").stdout.str()
    )
