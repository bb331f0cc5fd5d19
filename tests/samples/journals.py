"""Journals by hand: events with defaults for every field that a test does not care about, and files of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from pytest_ltm.api.journal import Chain, events, strip_checksum
from pytest_ltm.api.model import Kind

NOW = datetime(2024, 3, 4, 9, 0, tzinfo=timezone.utc)
FACTS = events.AgentFacts(
    spec="bot", configuration=None, capabilities=(), max_message_tokens=4096
)


def header(*capabilities: str, **more: Any) -> events.Header:
    """Return the header of an agent with these capabilities."""
    fields: dict[str, Any] = {
        "plan": {},
        "plan_fingerprint": "sha256:1",
        "agent_fingerprint": "sha256:2",
        "now": NOW,
    }
    facts = events.AgentFacts(
        spec="bot",
        configuration=None,
        capabilities=capabilities,
        max_message_tokens=4096,
    )
    return events.Header(**{**fields, "agent": facts, **more})


def begin(example: str = "a/0", position: int = 0) -> events.Begin:
    """Return the event that begins an example."""
    return events.Begin(example=example, position=position, now=NOW)


def message(
    number: int = 0, by: str = "a/0", kind: Kind = "say", text: str = "hi", **more: Any
) -> events.MessageSent:
    """Return a message of four tokens."""
    fields: dict[str, Any] = {"tokens": 4, "position": 0, "now": NOW, **more}
    return events.MessageSent(exchange=number, by=by, kind=kind, text=text, **fields)


def reply(number: int = 0, text: str = "ho", **more: Any) -> events.ReplyReceived:
    """Return a reply of two tokens."""
    return events.ReplyReceived(exchange=number, text=text, **{"tokens": 2, **more})


def filler(
    number: int = 0, message: str = "m", reply: str = "r", **more: Any
) -> events.FillerSent:
    """Return an exchange of six tokens that was told to the agent."""
    fields: dict[str, Any] = {"message_tokens": 5, "reply_tokens": 1, **more}
    return events.FillerSent(exchange=number, message=message, reply=reply, **fields)


def wait(example: str = "a/0", tokens: int = 9) -> events.WaitBegan:
    """Return a wait of an example."""
    return events.WaitBegan(example=example, tokens=tokens, time=NOW)


def fault(number: int = 0, text: str = "boom", **more: Any) -> events.Fault:
    """Return a fault of the agent."""
    return events.Fault(exchange=number, text=text, **more)


def judge(
    example: str = "a/0", prompt: str = "sha256:3", vote: int = 0, **reply: Any
) -> events.JudgeAsked:
    """Return a judge call with the reply "yes", unless `reply` gives another."""
    return events.JudgeAsked(
        example=example,
        name="answer",
        version=1,
        prompt=prompt,
        vote=vote,
        **(reply or {"reply": "yes"}),
    )


def verdict(
    example: str = "a/0", score: float | None = None, reason: str = "so"
) -> events.VerdictRecorded:
    """Return a verdict."""
    return events.VerdictRecorded(
        example=example, score=score, reason=reason, rule="", evidence="", checks=()
    )


def sealed(*entries: events.Event | str) -> list[str]:
    """Return sealed journal lines from events, or from lines that lack only their checksums."""
    chain = Chain()
    lines = []
    for entry in entries:
        line = entry if isinstance(entry, str) else events.encode_event(entry)
        lines.append(chain.seal_line(line) if line.endswith("}\n") else line)
    return lines


def edit(path: Path, change: Callable[[str], str]) -> None:
    """Change a journal, without its checksums, like an editor who then recomputes them."""
    text = "".join(
        strip_checksum(line).decode()
        for line in path.read_bytes().splitlines(keepends=True)
    )
    write(path, *change(text).splitlines(keepends=True))


def opened(text: str) -> list[events.Event]:
    """Return the events of a journal given as text."""
    return [
        events.decode_event(strip_checksum(line.encode()), "the journal")
        for line in text.splitlines(keepends=True)
    ]


def write(path: Path, *entries: events.Event | str, torn: str = "") -> Path:
    """Write a journal of events, or of literal lines, and return its path."""
    text = "".join(sealed(*entries)) + torn
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return path
