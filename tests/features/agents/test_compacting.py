"""Compaction: agents replace their context by a shorter one, and the suite `long-work` measures what is left."""

from __future__ import annotations

import io
import random
from contextlib import closing
from typing import Any

import pytest
from chat_server import ChatServer
from pytest_ltm.scenarios import long_work

from pytest_ltm import Definition, Ltm, Score, Unscored
from pytest_ltm import providers as chat_models
from pytest_ltm.agents.capabilities import capabilities_of
from pytest_ltm.agents.registry import find_agent
from pytest_ltm.api.journal import Journal
from pytest_ltm.api.model import COMPACTION, HANDED_ON
from pytest_ltm.api.scenarios import built_in
from pytest_ltm.api.storage import AgentError
from pytest_ltm.testing import Played, run_conversation


def definition(seed: int = 0, **parameters: Any) -> Definition:
    made: Definition = long_work.long_work(random.Random(seed), parameters)
    return made


def play(
    agent: object, seed: int = 0, **parameters: Any
) -> tuple[Any, dict[str, float]]:
    played = run_conversation(
        {"work": long_work.test_long_work},
        agent,
        definitions={"work": definition(seed, **parameters)},
        span=2_000,
    )
    body = played.lanes["work/0"].body
    return played.endings["work/0"].verdict, body.sheet.metrics


def control(spec: str) -> Any:
    return find_agent(spec).make()


# --- The suite.


@pytest.mark.parametrize("seed", range(3))
def test_a_compactor_that_keeps_what_matters_earns_full_marks(seed: int) -> None:
    verdict, metrics = play(control("compactor"), seed, compactions=4)
    assert verdict.value == 1.0
    assert [metrics[f"kept_{k}"] for k in range(1, 5)] == [1.0] * 4
    assert metrics["secrets_written"] == 0


@pytest.mark.parametrize(
    "loses", ["goals", "tasks", "files", "conventions", "corrections", "reasons"]
)
def test_a_compactor_that_loses_a_kind_is_named_by_that_kind(loses: str) -> None:
    _, metrics = play(control(f"compactor:{loses}"))
    lost = [kind for kind in long_work.KINDS if metrics[f"{kind}_kept"] < 1]
    assert lost == [loses.removesuffix("s")]
    assert metrics[f"{lost[0]}_kept"] == 0


def test_a_compactor_that_writes_secrets_down_is_named() -> None:
    verdict, metrics = play(control("compactor:secrets"))
    assert metrics["secrets_written"] == 3
    assert verdict.value < 1
    assert "writes no secret into a summary" in verdict.reason


def test_a_compactor_that_keeps_nothing_earns_nothing() -> None:
    verdict, _ = play(control("compactor:all"))
    assert verdict.value == 0


def test_an_agent_that_cannot_compact_has_no_score_and_is_told_how_it_could() -> None:
    verdict, _ = play(control("full"))
    assert isinstance(verdict, Unscored)
    assert "compacting:SPEC" in verdict.reason


def test_the_suite_has_the_scenario() -> None:
    assert [entry.scenario for entry in built_in("long-work").entries] == ["long_work"]


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(AgentError, match="Did you mean 'reasons'"):
        find_agent("compactor:reason")


# --- Agents.


class Worker:
    """Remembers messages until it is reset."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.resets = 0

    def reply(self, message: str) -> str:
        if message == COMPACTION:
            return f"I know {len(self.heard)} things."
        self.heard.append(message)
        return "Noted."

    def reset(self) -> None:
        self.heard, self.resets = [], self.resets + 1


def compacts(ltm: Ltm) -> None:
    ltm.say("One.")
    ltm.say("Two.")
    summary = ltm.compact()
    ltm.ask("Three?")
    ltm.check("the summary is returned", summary == "I know 2 things.")


def test_an_agent_that_can_be_reset_compacts_by_a_summary_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "worker_bot.py").write_text(
        "bot = None\ndef make():\n    return bot\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    module: Any = importlib.import_module("worker_bot")
    module.bot = Worker()
    agent = find_agent("compacting:worker_bot:make").make()
    assert "Compacts" in capabilities_of(agent)
    played = run_conversation({"s": compacts}, agent, span=None)
    verdict = played.endings["s/0"].verdict
    assert isinstance(verdict, Score)
    assert verdict.value == 1.0
    assert module.bot.heard == [f"{HANDED_ON}\nI know 2 things.", "Three?"]
    assert [exchange.kind for exchange in played.transcript] == [
        *("say", "say", "compact", "ask")
    ]


def test_a_chat_model_writes_down_what_it_needs_and_is_shown_only_that(
    chat_server: ChatServer,
) -> None:
    chat_models.share_limits(None)
    chat_server.next("Noted.", "We want tea.", "Tea.")
    agent: Any = find_agent(f"openai:m@{chat_server.url}").make()
    with closing(agent):
        agent.reply("We want tea.")
        assert agent.compact().text == "We want tea."
        agent.reply("What do we want?")
    shown = [message["content"] for message in chat_server.requests[-1].messages]
    assert shown == [HANDED_ON, "We want tea.", "What do we want?"]
    assert chat_server.requests[1].last == COMPACTION


# --- The run's own schedule of compactions, and the record.


def told(agent: object, journal: Journal | None = None, **plan: Any) -> Played:
    def scenario(ltm: Ltm) -> None:
        ltm.say("I like tea.")
        ltm.wait(span=0.9)
        ltm.ask("What do I like?")

    return run_conversation(
        {"s": scenario}, agent, span=1_000, journal=journal or Journal(), **plan
    )


class Counting:
    max_message_tokens = 100

    def __init__(self) -> None:
        self.compacted = 0

    def reply(self, message: str) -> str:
        return f"{len(message)} characters"

    def compact(self) -> None:
        self.compacted += 1


def test_the_agent_compacts_after_every_so_many_tokens() -> None:
    agent = Counting()
    kinds = [exchange.kind for exchange in told(agent, compact="every:300").transcript]
    assert agent.compacted == kinds.count("compact") == 3


def test_a_journal_is_what_it_was_where_nobody_compacts() -> None:
    file = io.StringIO()
    told(Counting(), Journal(file))
    assert "compact" not in file.getvalue().replace("Compacts", "")


def test_a_compaction_that_is_recorded_is_not_asked_for_again() -> None:
    file = io.StringIO()
    told(Counting(), Journal(file), compact="every:300")
    lines = file.getvalue().encode().splitlines(keepends=True)
    again = Counting()
    told(again, Journal(io.StringIO(), iter(lines)), compact="every:300")
    assert again.compacted == 0


def test_a_run_whose_agent_cannot_compact_is_over_at_once() -> None:
    played = told(lambda message: message, compact="every:300")
    assert "--ltm-compact is given" in str(played.endings["s/0"].unreached)
    assert not played.transcript
