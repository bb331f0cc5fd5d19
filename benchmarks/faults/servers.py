"""Hostile servers behind chat models, HTTP agents and judges: the run must end in order and within its budget."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.faults import runs
from benchmarks.faults.cases import Case, Outcome, Setting, one
from benchmarks.faults.hostile_server import (
    ANSWERS,
    STATUSES,
    USAGE,
    WIRES,
    Server,
    serving,
)
from benchmarks.killed import Run

BUDGET = 400
"""Tokens for the agent or judge behind the server; a whole conversation needs several times as many."""
SLACK = 1.25
"""Allowed ratio between the counted tokens and the server's own count."""
MOST = 200
"""Requests that may be refused before the agent is gone, redirects included."""
LIMITS = ("--ltm-reply-timeout=2", "--ltm-retries=1")
BEFORE = "before=drilled:Told"
JUDGED = """
import pytest


@pytest.mark.parametrize("number", range(12))
def test_judged(ltm, ltm_judge, number):
    ltm.say(f"I carve spoon {number}.")
    question = f"What do I do with spoon {number}?"
    assert ltm_judge.grade(question, ltm.ask(question), reference="carve")
"""


def _chat(text: Any = "Noted.", **more: Any) -> Any:
    message = {"role": "assistant", "content": text}
    return {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        **more,
    }


def _reply(text: Any = "Noted.", **more: Any) -> Any:
    return {"reply": text, **more}


def _grade(text: Any = "It says so.\nGRADE: yes", **more: Any) -> Any:
    return _chat(text, **more)


class Kind(NamedTuple):
    """The client of the server: a chat model, an agent or a judge."""

    usual: Callable[..., Any]
    agent: str
    """A YAML file that contains `{url}`."""
    words: tuple[str, ...] = ()


_KEY = "key_env: LTM_FAULTS_TOKEN"
KINDS = {
    "chat": Kind(_chat, f"agent: openai:m@{{url}}/v1\nparameters: {{{{{_KEY}}}}}\n"),
    "http": Kind(
        _reply,
        "agent: {url}/\nparameters:\n  headers: {{Authorization: 'Bearer ${{LTM_FAULTS_TOKEN}}'}}\n"
        "  input_tokens: usage.in\n  output_tokens: usage.out\n",
    ),
    "judge": Kind(
        _grade,
        "agent: drilled:Stateless\n",
        (
            "--ltm-judge=openai:m@{url}/v1?key_env=LTM_FAULTS_TOKEN&canaries=off",
            "test_judged.py",
        ),
    ),
}
TRIED = {
    "chat": [*ANSWERS],
    "http": [
        *USAGE,
        *WIRES,
        "text_null",
        "text_megabytes",
        "text_controls",
        "text_secret",
        "deep",
        "html",
        "status_401",
    ],
    "judge": [
        *USAGE,
        "text_null",
        "text_controls",
        "deep",
        "nothing",
        "status_401",
        "redirect_host",
        "redirect_loop",
        "cut",
        "bomb",
    ],
}
"""The clients that get each response."""


def hostile(setting: Setting) -> Iterator[Case]:
    """Yield every hostile response to a chat model's client, an agent's and a judge's."""
    calm = runs.undisturbed(
        runs.prepared(setting.folder / "calm"),
        [*runs.words(BEFORE), "--ltm-max-tokens=1m"],
    )
    spent = sum(_spent(setting.folder / "calm").values())
    for kind, how in setting.some(
        [(kind, how) for kind, hows in TRIED.items() for how in hows]
    ):
        yield Case(f"{kind}-{how}", _play, (kind, how, calm, spent))


def _play(folder: Path, name: str, how: str, calm: Run, spent: int) -> Outcome:
    kind = KINDS[name]
    with serving(how, kind.usual) as server:
        runs.prepared(folder)
        (folder / "bad.yml").write_text(
            kind.agent.format(url=server.url), encoding="utf-8"
        )
        (folder / "test_judged.py").write_text(JUDGED, encoding="utf-8")
        more = [word.format(url=server.url) for word in kind.words]
        agents = "bad=bad.yml" if name == "judge" else f"{BEFORE},bad=bad.yml"
        budget = (2_000 if name == "judge" else spent) + BUDGET
        ended = runs.run(
            folder, [*runs.words(agents), *LIMITS, *more, f"--ltm-max-tokens={budget}"]
        )
    if server.led_away:
        return one("the conversation was sent to another host")
    if ended.trouble or ended.status not in {*runs.FINE, 75}:
        return one(
            ended.trouble or f"the exit status is {ended.status}: {ended.screen[-500:]}"
        )
    if name != "judge" and (
        harm := runs.changed(runs.left(folder), calm, only="before")
    ):
        return one(harm)
    if name == "judge" and (harm := _zeros(folder)):
        return one(harm)
    return one(
        _over_budget(folder, how, server, budget - (0 if name == "judge" else spent))
    )


def _over_budget(folder: Path, how: str, server: Server, budget: int) -> str | None:
    """Return by how much the traffic exceeded the budget, or what was not charged; None if neither."""
    sent, dearest = sum(server.prompts), max(server.prompts, default=0)
    if how in STATUSES:
        # refused requests are not billed, and after a few of them the agent is gone
        return (
            f"{len(server.prompts)} requests were made"
            if len(server.prompts) > MOST
            else None
        )
    if sent > SLACK * (budget + dearest):
        return f"{sent} tokens were sent on a budget of {budget}"
    charged = sum(
        total for key, total in _spent(folder).items() if not key.endswith("before")
    )
    return (
        f"{sent} tokens were sent and {charged} charged"
        if SLACK * charged < sent
        else None
    )


def _spent(folder: Path) -> dict[str, int]:
    """Return the charged tokens by purpose and agent."""
    (path,) = folder.glob(".ltm/runs/*/budget.json")
    ledger = json.loads(path.read_text(encoding="utf-8"))
    spent = {}
    for side, rows in ledger.items():
        for who, row in rows.items():
            spent[f"{side} {who.partition('~')[0]}"] = row[1]
    return spent


def _zeros(folder: Path) -> str | None:
    """Return the fault if a judge without a grade has cost the agent points."""
    for path in folder.glob(".ltm/runs/*/*/results.json"):
        for example in json.loads(path.read_text(encoding="utf-8"))["scenarios"]:
            if "judged" in json.dumps(example) and example.get("score") == 0:
                return "an answer without a grade was scored zero"
    return None
