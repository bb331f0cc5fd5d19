"""Budgets: the total spending of all conversations, the unplayed rest, and how to continue."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_server import ChatServer, says
from run_folders import latest_run

AGENTS = """
from pytest_ltm import Reply, Usage

class Paid:
    def reply(self, message) -> Reply:
        return Reply("Understood.", cost_usd=0.01)

    def accept(self, message, reply):
        pass

class Counted(Paid):
    def reply(self, message):
        return Reply("Understood.", Usage(input_tokens=90, output_tokens=10))

class Summing(Paid):
    used = 0

    def reply(self, message):
        self.used += 100
        return "Understood."

    def usage(self):
        return Usage(input_tokens=self.used)

class Silent(Paid):
    def reply(self, message):
        return "Understood."

class Declared(Paid):
    def reply(self, message) -> str:
        return "Understood."

class Judge:
    def assess(self, inquiry):
        return Reply("GRADE: yes", cost_usd=1.0)

    def configuration(self):
        return {}
"""
TALK = """
import pytest

@pytest.mark.parametrize("n", range({count}))
def test_talk(ltm, n):
    for turn in range(5):
        ltm.say(f"{{n}} {{turn}}: the word of the hour is teapot.")
    ltm.ask("Which word?")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(bots=AGENTS, test_talk=TALK.format(count=2))
    pytester.syspathinsert()
    return pytester


def run(
    project: pytest.Pytester, *words: str, agent: str = "bots:Paid"
) -> pytest.RunResult:
    given = [f"--ltm-agent={agent}"] if agent else []
    return project.runpytest_inprocess(*given, *words)


def held(project: pytest.Pytester) -> list[dict[str, Any]]:
    return [
        json.loads(path.read_text())
        for path in sorted(latest_run(project.path).glob("*/results.json"))
    ]


def replies(project: pytest.Pytester) -> list[dict[str, Any]]:
    lines = [
        line
        for path in latest_run(project.path).glob("*/journal.jsonl")
        for line in path.read_text().splitlines()
    ]
    return [event for event in map(json.loads, lines) if event["event"] == "reply"]


def spent(project: pytest.Pytester) -> list[float]:
    ledger = json.loads((latest_run(project.path) / "budget.json").read_text())
    rows = [row for side in ledger.values() for row in side.values()]
    return [sum(column) for column in zip(*rows, strict=True)]


def test_a_budget_stops_the_run_with_what_was_reached(project: pytest.Pytester) -> None:
    result = run(project, "--ltm-max-cost=0.08", "test_talk.py")
    assert result.ret == 75
    assert len(replies(project)) == 8
    text = result.stdout.str()
    assert "ltm: budget of agents and judge: $0.08" in text
    assert "the budget is spent: --ltm-max-cost=$0.08" in text
    assert (
        f"resume with a larger budget: pytest --ltm-resume={latest_run(project.path).name} --ltm-max-cost=0.16"
        in text
    )
    [conversation] = held(project)
    assert conversation["ended"] == "budget spent"
    assert [row["cause"] for row in conversation["scenarios"]] == ["", "not reached"]


def test_workers_share_the_budget_and_exceed_it_by_one_exchange_each_at_most(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(test_talk=TALK.format(count=1))
    result = run(
        project, "--ltm-max-cost=0.105", "--ltm-trials=6", "-n2", "test_talk.py"
    )
    assert result.ret == 75
    talks = {
        path.parent.name for path in latest_run(project.path).glob("*/journal.jsonl")
    }
    at_once = 2
    assert talks
    assert 0.105 <= spent(project)[0] < 0.105 + 0.01 * at_once + 1e-9
    assert spent(project)[2] == len(replies(project))


def test_recorded_replies_of_a_resumed_run_are_spent_already(
    project: pytest.Pytester,
) -> None:
    run(project, "--ltm-max-cost=0.05", "test_talk.py")
    name = latest_run(project.path).name
    (latest_run(project.path) / "budget.json").unlink()
    again = run(project, f"--ltm-resume={name}", "--ltm-max-cost=0.08", agent="")
    assert (again.ret, len(replies(project))) == (75, 8)
    # the original budget
    same = run(project, f"--ltm-resume={name}", agent="")
    assert (same.ret, len(replies(project))) == (75, 8)
    assert (
        f"resume with a larger budget: pytest --ltm-resume={name} --ltm-max-cost=0.16"
        in same.stdout.str()
    )
    whole = run(project, f"--ltm-resume={name}", "--ltm-max-cost=10", agent="")
    assert whole.ret != 75
    assert len(replies(project)) == 13
    assert spent(project)[0] == pytest.approx(0.13)
    assert [each["ended"] for each in held(project)] == ["complete"]


def test_tokens_are_those_that_are_reported_else_those_that_were_counted(
    project: pytest.Pytester,
) -> None:
    for agent, expected in (("bots:Counted", 4), ("bots:Summing", 4)):
        run(project, "--ltm-max-tokens=0.4k", "test_talk.py", agent=agent)
        assert len(replies(project)) == expected, agent
    run(project, "--ltm-max-tokens=100", "test_talk.py", agent="bots:Silent")
    [conversation] = held(project)
    assert 100 <= conversation["tokens"] < 200
    assert conversation["input_tokens"] is None


def test_a_price_turns_reported_tokens_into_dollars(project: pytest.Pytester) -> None:
    run(
        project,
        "--ltm-price=1000/2000",
        "--ltm-max-cost=0.5",
        "test_talk.py",
        agent="bots:Counted",
    )
    assert len(replies(project)) == 5  # 0.09 + 0.02 dollars each
    [conversation] = held(project)
    assert conversation["cost_usd"] == pytest.approx(0.55)
    assert conversation["harness_cost_usd"] == pytest.approx(0.11)
    assert conversation["filler_cost_usd"] == 0.0
    assert (conversation["input_tokens"], conversation["output_tokens"]) == (450, 50)


def test_a_budget_of_dollars_that_nobody_can_keep_is_refused_or_ends_at_the_first_reply(
    project: pytest.Pytester,
) -> None:
    refused = run(project, "--ltm-max-cost=1", "test_talk.py", agent="bots:Declared")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        [
            "*the cost of the agent 'bots_Declared' is unknown. Give --ltm-price=bots_Declared*"
        ]
    )
    assert not (project.path / ".ltm").exists()
    priced = run(
        project,
        "--ltm-max-cost=1",
        "--ltm-price=3/15",
        "test_talk.py",
        agent="bots:Declared",
    )
    assert priced.ret == pytest.ExitCode.USAGE_ERROR
    priced.stderr.fnmatch_lines(
        ["*'bots_Declared' does not report what it uses, so no price can apply to it*"]
    )
    unknown = run(project, "--ltm-max-cost=1", "test_talk.py", agent="bots:Silent")
    assert unknown.ret == pytest.ExitCode.USAGE_ERROR
    assert not (project.path / ".ltm").exists()
    found = run(
        project,
        "--ltm-max-cost=1",
        "--ltm-price=3/15",
        "test_talk.py",
        agent="bots:Silent",
    )
    assert (found.ret, len(replies(project))) == (75, 1)
    assert "--ltm-price=bots_Silent=IN/OUT" in found.stdout.str()
    run(project, "--ltm-max-cost=1", "test_talk.py", agent="full")
    assert len(replies(project)) == 13  # the embedded agents cost nothing


def test_hypothetical_cost_counts_against_no_budget_and_is_shown_as_such(
    project: pytest.Pytester,
) -> None:
    result = run(
        project,
        "--ltm-max-cost=0.000001",
        "--ltm-max-tokens=1",
        "test_talk.py",
        agent="cost:3/15",
    )
    assert len(replies(project)) == 13
    result.stdout.fnmatch_lines(["would cost in USD *"])
    assert (
        not (latest_run(project.path) / "budget.json").exists() or spent(project) == []
    )
    [conversation] = held(project)
    assert conversation["hypothetical"] is True
    summary = json.loads((latest_run(project.path) / "summary.json").read_text())
    [column] = summary["results"]
    assert column["cost"]["hypothetical"] is True
    assert sum(
        column["cost"][part] for part in ("scenarios", "filler", "harness")
    ) == pytest.approx(column["cost_usd"])


def test_the_judge_spends_from_the_same_budget(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_talk="""
        import pytest
        @pytest.mark.parametrize("n", range(3))
        def test_talk(ltm, ltm_judge, n):
            ltm.say(f"I carve {n} spoons.")
            ltm.check("right", ltm_judge.grade("What?", ltm.ask(f"What do I carve, {n}?"), "spoons"))
        """
    )
    result = run(
        project,
        "--ltm-judge=bots:Judge?canaries=off",
        "--ltm-max-cost=1.03",
        "test_talk.py",
    )
    assert result.ret == 75
    [conversation] = held(project)
    assert [row["cause"] for row in conversation["scenarios"]] == [
        "",
        "not reached",
        "not reached",
    ]
    assert conversation["ended"] == "budget spent"
    assert 1.03 <= spent(project)[0] <= 1.04
    name = latest_run(project.path).name
    whole = run(project, f"--ltm-resume={name}", "--ltm-max-cost=100", agent="")
    whole.assert_outcomes(passed=3)
    assert [row["judge_cost_usd"] for row in held(project)[0]["scenarios"]] == [
        1.0,
        1.0,
        1.0,
    ]


def test_a_chat_model_is_kept_within_its_budget_by_what_its_server_counts(
    project: pytest.Pytester, chat_server: ChatServer
) -> None:
    chat_server.default = says("Noted.")
    spec = f"chat=openai:some-model@{chat_server.url}"
    refused = run(project, "--ltm-max-cost=1", "test_talk.py", agent=spec)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    refused.stderr.fnmatch_lines(
        ["*the cost of the agent 'chat' is unknown. Give --ltm-price=chat=IN/OUT*"]
    )
    assert not chat_server.requests
    result = run(
        project,
        "--ltm-price=chat=100/200",
        "--ltm-max-cost=0.04",
        "test_talk.py",
        agent=spec,
    )
    assert result.ret == 75
    usages = [reply["usage"] for reply in replies(project)]
    dollars = [
        (100 * usage["input_tokens"] + 200 * usage["output_tokens"]) / 1e6
        for usage in usages
    ]
    assert sum(dollars[:-1]) < 0.04 <= sum(dollars)
    assert len(chat_server.requests) == len(usages)
    [conversation] = held(project)
    assert conversation["cost_usd"] == pytest.approx(sum(dollars))


def test_the_command_to_repeat_a_conversation_names_each_price_as_it_was_given(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        test_talk="def test_talk(ltm):\n    ltm.say('Listen.')\n    assert ltm.ask('Which word?') == 'teapot'\n"
    )
    text = run(
        project, "--ltm-price=3/15", "--ltm-price=judge=1/2", "test_talk.py"
    ).stdout.str()
    assert "--ltm-span=2k --ltm-price=3/15 --ltm-price=judge=1/2 test_talk.py" in text
