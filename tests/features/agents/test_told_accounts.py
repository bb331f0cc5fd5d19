"""Ends and errors reported by `http:` and `cmd:` agents are classified like those of models."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from json_server import Answer, serving

from pytest_ltm.agents.caller import AgentCaller
from pytest_ltm.agents.registry import source_of_kind
from pytest_ltm.api.calls import classify_failure
from pytest_ltm.api.features import agent_kinds
from pytest_ltm.api.storage import AgentFault, Field, wall_time

Asker = Callable[[dict[str, Any]], str]


def account_of_answer(agent: Any) -> str:
    """Return the account of an agent's reply, and whether its fault is transient."""
    caller = AgentCaller(agent, timeout=30)
    try:
        reply = caller.ask("Where do I live?")
    except AgentFault as fault:
        passing = classify_failure(fault, now=wall_time()) is not None
        return f"{fault.account or 'error'}{', passing' if passing else ''}"
    finally:
        caller.close()
    return f"{reply.text} {reply.finish_reason}".strip()


def ask_server(answer: dict[str, Any], status: int = 200, **settings: Any) -> str:
    with serving(lambda _: Answer(answer, status)) as server:
        field = Field(settings, "bot.yml", "parameters")
        source = source_of_kind(agent_kinds()["http"], server.url, field)
        return account_of_answer(source.make())


def ask_process(folder: Path, answer: dict[str, Any]) -> str:
    script = folder / "bot.py"
    body = f"""
        import json, sys
        for line in sys.stdin:
            print(json.dumps({answer!r}), flush=True)
    """
    script.write_text(textwrap.dedent(body))
    field = Field({}, "bot.yml", "parameters")
    source = source_of_kind(agent_kinds()["cmd"], f"{sys.executable} {script}", field)
    return account_of_answer(source.make())


ANSWERS: list[tuple[dict[str, Any], str]] = [
    ({"reply": "Riga."}, "Riga."),
    ({"reply": "Riga.", "finishReason": "END_TURN"}, "Riga. END_TURN"),
    ({"reply": "In which", "stop_reason": "MAX_TOKENS"}, "In which MAX_TOKENS"),
    ({"reply": "In which", "finish_reason": "SAFETY"}, "kept back"),
    ({"reply": "In which", "finish-reason": "cancelled"}, "broken off, passing"),
    ({"reply": "", "reasoning": "Riga, then."}, "nothing said"),
    ({"reply": "Riga.", "error": None}, "Riga."),
    ({"error": "The model is overloaded"}, "error, passing"),
    ({"error": {"code": 503, "message": "try later"}}, "error, passing"),
    ({"reply": "", "error": {"message": "rate limit reached"}}, "error, passing"),
    ({"error": "This model is not supported"}, "error"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "account"), ANSWERS)
def test_a_server_and_a_process_that_answer_alike_have_one_account(
    tmp_path: Path, answer: dict[str, Any], account: str
) -> None:
    assert ask_process(tmp_path, answer) == account
    assert ask_server(answer) == account


@pytest.mark.parametrize(
    ("status", "words", "account"),
    [
        (500, "The server had an error.", "error, passing"),
        (503, "Overloaded", "error, passing"),
        (500, f"{'The field was sent. ' * 9} It is not supported.", "error"),
        (400, "Bad request", "error"),
    ],
)
def test_an_error_of_a_server_is_read_to_its_end(
    status: int, words: str, account: str
) -> None:
    assert ask_server({"detail": words}, status) == account


def test_a_reply_that_was_kept_back_need_not_have_a_text() -> None:
    answer = {"candidates": [{"finishReason": "SAFETY"}]}

    assert ask_server(answer, reply="candidates.0.content.0.text") == "kept back"


def test_an_end_that_settings_name_is_a_good_one() -> None:
    answer = {"reply": "Riga.", "finish_reason": "odd"}

    assert ask_server(answer) == "Riga. odd"
    assert ask_server(answer, ends="odd") == "Riga. stop"
