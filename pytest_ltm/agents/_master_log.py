"""Replaying a published master log, as near as its texts allow."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from pytest_ltm.datasets._published import scenario_of
from pytest_ltm.fillers import answers_of, reply_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_MESSAGE, _REPLY, _FILLER, _FILLER_REPLY = 0, 4, 3, 5
"""Event types of a published master log."""
_COMPARED = 2_000
"""Characters of a message that are compared: the time that takes grows with their square."""


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
        wanted = message[:_COMPARED]
        similar = [difflib.SequenceMatcher(None, text[:_COMPARED], wanted, autojunk=False).ratio() for text, _ in left]
        return left[similar.index(max(similar))]

    def take(self, speaker: str, message: str, reply: str) -> None:
        """Hand out an exchange that `nearest` found."""
        self._left[speaker].remove((message, reply))


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
