"""Replaying recorded replies: our own journals strictly, published master logs as near as their texts allow."""

from __future__ import annotations

import difflib
import json
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ltm._errors import AgentError
from pytest_ltm.datasets._published import scenario_of
from pytest_ltm.fillers import answers_of, reply_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MESSAGE, _REPLY, _FILLER, _FILLER_REPLY = 0, 4, 3, 5
"""Event types of a published master log."""


class _Recorded:
    """Recorded exchanges by speaker, handed out once each; equal texts in the order of the recording."""

    def __init__(self, exchanges: Iterable[tuple[str, str, str]]) -> None:
        self._left: dict[str, list[tuple[str, str]]] = {}
        for speaker, message, reply in exchanges:
            self._left.setdefault(speaker, []).append((message, reply))

    def exact(self, speaker: str, message: str) -> str | None:
        """Return the reply to this very message, or None."""
        left = self._left.get(speaker, [])
        for place, (text, reply) in enumerate(left):
            if text == message:
                del left[place]
                return reply
        return None

    def nearest(self, speaker: str, message: str) -> tuple[str, str] | None:
        """Return the most similar message that is left of the speaker, with its reply; None if none is left."""
        left = self._left.get(speaker, [])
        if not left:
            return None
        similar = [difflib.SequenceMatcher(None, text, message, autojunk=False).ratio() for text, _ in left]
        return left[similar.index(max(similar))]

    def take(self, speaker: str, message: str, reply: str) -> None:
        """Hand out an exchange that `nearest` found."""
        self._left[speaker].remove((message, reply))


class JournalReplay:
    """Gives the replies that one of our journals holds; a message that it does not hold is an error with a diff."""

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        messages: dict[int, str] = {}
        self._replies: dict[str, deque[str]] = {}
        for event in events:
            if event.get("event") == "message":
                messages[event["exchange"]] = event["text"]
            elif event.get("event") == "reply":
                self._replies.setdefault(messages[event["exchange"]], deque()).append(event["text"])
            elif event.get("event") == "filler":
                self._replies.setdefault(event["message"], deque()).append(event["reply"])

    def reply(self, message: str) -> str:
        """Return the recorded reply; AgentError if there is none (left)."""
        replies = self._replies.get(message)
        if replies:
            return replies.popleft()
        if replies is not None:
            raise AgentError(f"the recording holds no further reply to {message[:200]!r}")
        near = difflib.get_close_matches(message, self._replies, n=1, cutoff=0)
        diff = "\n".join(difflib.ndiff(near[:1], [message])) if near else "it is empty"
        raise AgentError(f"the recording does not hold this message. Nearest recorded (-) and this one (+):\n{diff}")


class ToldJournalReplay(JournalReplay):
    """The same for a recording in which filler was told: it is told again, so that the conversation is the same."""

    def accept(self, message: str, reply: str) -> None:
        """Take filler in; nothing to remember."""


class MasterLogReplay:
    """Gives the replies of a published master log: exact texts first, else the nearest of the same test.

    Filler of our own is answered as it asks for; opening and reset messages are acknowledged.
    """

    def __init__(self, events: Iterable[dict[str, Any]]) -> None:
        self._recorded = _Recorded(_exchanges(events))
        self._speaker = ""

    def ltm_announce(self, speaker: str) -> None:
        """Know which example speaks next (private to the engine: no agent under test is ever told)."""
        self._speaker = speaker

    def reply(self, message: str) -> str:
        """Return the recorded reply, or one that keeps the conversation going where nothing was recorded."""
        exact = self._recorded.exact(self._speaker, message)
        if exact is not None:
            return exact
        answers = answers_of(message)
        if answers is not None:
            return reply_of(answers)
        near = self._recorded.nearest(self._speaker, message)
        if near is None:
            return "Understood."
        self._recorded.take(self._speaker, *near)
        return near[1]


def _exchanges(events: Iterable[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    asked: dict[str, str] = {}
    for event in events:
        kind, speaker, text = event["type"], _speaker(event["test_id"]), event["data"].get("message", "")
        if kind in {_MESSAGE, _FILLER}:
            asked[speaker] = text
        elif kind in {_REPLY, _FILLER_REPLY} and speaker in asked:
            yield speaker, asked.pop(speaker), text


def _speaker(test_id: str) -> str:
    folder, dash, example = test_id.rpartition(" - ")
    return f"{scenario_of(folder)}/{example}" if dash else ""


def make_replay(argument: str) -> Callable[[], JournalReplay | MasterLogReplay]:
    """Return what makes an agent that replays the file for each conversation; AgentError if it cannot be read.

    `argument`: a journal of ours, the folder that holds one, or a published master log.
    """
    path = Path(argument)
    path = path / "journal.jsonl" if path.is_dir() else path
    events = _events(path)
    if not events:
        raise AgentError(f"agent 'replay:{argument}': nothing is recorded in {path}")
    if "type" in events[0]:
        return lambda: MasterLogReplay(events)
    if any(event.get("event") == "filler" for event in events):
        return lambda: ToldJournalReplay(events)
    return lambda: JournalReplay(events)


def _events(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines: a text may hold U+2028
        return [event for event in map(json.loads, filter(None, lines)) if isinstance(event, dict)]
    except OSError as error:
        raise AgentError(f"agent 'replay:{path}': cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise AgentError(f"agent 'replay:{path}': not a journal of JSON lines: {error}") from error
