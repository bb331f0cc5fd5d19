"""Scene: where a conversation stood when its worker died, read from its journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_ltm import _journal
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(slots=True)
class Scene:
    """The last moment of a journal, and what had been said until then."""

    header: dict[str, Any] = field(default_factory=dict)
    speaking: str = ""
    """The example whose message was the last, or that began after it; "" where filler or nobody was."""
    message: int | None = None
    """The number of the last message."""
    answered: bool = True
    """Whether it has a reply."""
    exchanges: int = 0
    tokens: int = 0
    filler_tokens: int = 0
    reply_tokens: int = 0
    cost_usd: float | None = None
    now: str = ""
    """The conversation's time of the last message."""

    @property
    def simulated_seconds(self) -> float:
        """The conversation's own time, from its beginning."""
        began, last = self.header.get("now"), self.now
        if not isinstance(began, str) or not last:
            return 0.0
        return (datetime.fromisoformat(last) - datetime.fromisoformat(began)).total_seconds()


def scene(journal: Path) -> Scene:
    """Return the last moment of a journal; an empty scene where there is none that can be read."""
    found = Scene()
    if journal.is_file():
        try:
            for event in _journal.read(journal):
                _follow(found, event)
        except (LtmError, KeyError, TypeError, ValueError):
            return found
    return found


def _follow(scene: Scene, event: dict[str, Any]) -> None:
    kind = event["event"]
    if kind == "header":
        scene.header = event
    elif kind == "begin":
        scene.speaking = event["example"]
    elif kind == "message":
        scene.speaking, scene.message, scene.answered = event["by"], event["exchange"], False
        scene.now = event["now"]
        scene.tokens += event["tokens"]
        scene.filler_tokens += event["tokens"] if event["kind"] == "filler" else 0
    elif kind == "reply":
        scene.answered = True
        scene.exchanges += 1
        scene.tokens += event["tokens"]
        scene.reply_tokens += event["tokens"]
        if event.get("cost_usd") is not None:
            scene.cost_usd = (scene.cost_usd or 0.0) + event["cost_usd"]
    elif kind == "filler":
        scene.speaking, scene.message, scene.answered = "", event["exchange"], True
        scene.exchanges += 1
        scene.tokens += event["message_tokens"] + event["reply_tokens"]
        scene.filler_tokens += event["message_tokens"] + event["reply_tokens"]
