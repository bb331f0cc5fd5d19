"""Journals by hand: events with all that a test has no opinion about filled in, and files of them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pytest_ltm._record import events

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_ltm._engine.transcript import Kind

NOW = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)
FACTS = events.AgentFacts(spec="bot", configuration=None, capabilities=(), max_message_tokens=4096)


def header(*capabilities: str, **more: Any) -> events.Header:
    """Return the header of an agent with these capabilities."""
    fields: dict[str, Any] = {"plan": {}, "plan_fingerprint": "sha256:1", "agent_fingerprint": "sha256:2", "now": NOW}
    facts = events.AgentFacts(spec="bot", configuration=None, capabilities=capabilities, max_message_tokens=4096)
    return events.Header(**{**fields, "agent": facts, **more})


def begin(example: str = "a/0", position: int = 0) -> events.Begin:
    """Return the beginning of an example."""
    return events.Begin(example=example, position=position, now=NOW)


def message(number: int = 0, by: str = "a/0", kind: Kind = "say", text: str = "hi", **more: Any) -> events.Message:
    """Return a message of four tokens."""
    fields: dict[str, Any] = {"tokens": 4, "position": 0, "now": NOW, **more}
    return events.Message(exchange=number, by=by, kind=kind, text=text, **fields)


def reply(number: int = 0, text: str = "ho", **more: Any) -> events.Reply:
    """Return a reply of two tokens."""
    return events.Reply(exchange=number, text=text, **{"tokens": 2, **more})


def filler(number: int = 0, message: str = "m", reply: str = "r", **more: Any) -> events.Filler:
    """Return an exchange of six tokens that the agent was told."""
    fields: dict[str, Any] = {"message_tokens": 5, "reply_tokens": 1, **more}
    return events.Filler(exchange=number, message=message, reply=reply, **fields)


def wait(example: str = "a/0", tokens: int = 9) -> events.Wait:
    """Return a wait of an example."""
    return events.Wait(example=example, tokens=tokens, time=NOW)


def fault(number: int = 0, text: str = "boom", *, fatal: bool = False) -> events.Fault:
    """Return a fault of the agent."""
    return events.Fault(exchange=number, text=text, fatal=fatal)


def judge(example: str = "a/0", prompt: str = "sha256:3", vote: int = 0, **said: Any) -> events.Judge:
    """Return a call of the judge, who said yes unless `said` says something else."""
    return events.Judge(
        example=example, name="answer", version=1, prompt=prompt, vote=vote, **(said or {"reply": "yes"})
    )


def verdict(example: str = "a/0", score: float | None = None, reason: str = "so") -> events.Verdict:
    """Return a verdict."""
    return events.Verdict(example=example, score=score, reason=reason, rule="", evidence="", checks=())


def write(path: Path, *said: events.Event | str, torn: str = "") -> Path:
    """Write a journal of events, or of lines as they are; return its path."""
    text = "".join(one if isinstance(one, str) else events.encode(one) for one in said) + torn
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path
