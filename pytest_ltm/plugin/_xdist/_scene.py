"""Scene: where a conversation stood when its worker died, read from its journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pytest_ltm import _journal
from pytest_ltm._costs._bill import Bill, Tariff
from pytest_ltm._errors import LtmError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Said:
    """One exchange of a journal."""

    number: int
    by: str
    kind: str
    message_tokens: int
    reply_tokens: int
    told: bool = False
    """The agent generated no reply."""

    @property
    def tokens(self) -> int:
        """Of message and reply."""
        return self.message_tokens + self.reply_tokens


@dataclass(slots=True)
class Asked:
    """What one example has asked the judge."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = None


@dataclass(slots=True)
class Scene:
    """The last moment of a journal, and what had been said until then."""

    bill: Bill = field(default_factory=lambda: Bill(Tariff()))
    header: dict[str, Any] = field(default_factory=dict)
    speaking: str = ""
    """The example whose message was the last, or that began after it; "" where filler or nobody was."""
    message: int | None = None
    """The number of the last message."""
    answered: bool = True
    """Whether it has a reply."""
    said: list[Said] = field(default_factory=list)
    """Exchanges: a message without a reply is none."""
    judged: dict[str, Asked] = field(default_factory=dict)
    """By example."""
    now: str = ""
    """The conversation's time."""

    def tokens(self, kinds: Collection[str] = ()) -> int:
        """Return the tokens of all exchanges, or of those of some kinds."""
        return sum(one.tokens for one in self.said if not kinds or one.kind in kinds)

    def usd(self, kinds: Collection[str]) -> float | None:
        """Return what the exchanges of some kinds cost; None where nothing is known."""
        return self.bill.of({one.number for one in self.said if one.kind in kinds})

    @property
    def reply_tokens(self) -> int:
        """Of the replies that the agent generated."""
        return sum(one.reply_tokens for one in self.said if not one.told)

    @property
    def simulated_seconds(self) -> float:
        """The conversation's own time, from its beginning."""
        began = self.header.get("now")
        if not isinstance(began, str) or not self.now:
            return 0.0
        return (datetime.fromisoformat(self.now) - datetime.fromisoformat(began)).total_seconds()

    def spent_by(self, example: str) -> dict[str, Any]:
        """Return what an example has used up so far, as its result says it."""
        own = [one for one in self.said if one.by == example]
        costs = [self.bill.costs[one.number] for one in own if one.number in self.bill.costs]
        asked = self.judged.get(example, Asked())
        return {
            "tokens": sum(one.tokens for one in own),
            "cost_usd": sum(costs) if costs else None,
            "judge_calls": asked.calls,
            "judge_tokens": asked.tokens,
            "judge_cost_usd": asked.cost_usd,
        }


def scene(journal: Path, *, agent: Tariff | None = None, judge: Tariff | None = None) -> Scene:
    """Return the last moment of a journal; an empty scene where there is none that can be read.

    `agent` and `judge`: what their replies cost that do not tell their dollars.
    """
    found = Scene(Bill(agent or Tariff()))
    message: Mapping[str, Any] = {}
    if journal.is_file():
        try:
            for event in _journal.read(journal):
                if event["event"] == "judge":
                    _count(found.judged.setdefault(event["example"], Asked()), event, judge or Tariff())
                elif event["event"] == "reply":
                    _answer(found, message, event)
                else:
                    message = event if event["event"] == "message" else message
                    _follow(found, event)
        except (LtmError, KeyError, TypeError, ValueError):
            return found
    return found


def _follow(scene: Scene, event: Mapping[str, Any]) -> None:
    kind = event["event"]
    if kind == "header":
        scene.header = dict(event)
    elif kind == "begin":
        scene.speaking = event["example"]
    elif kind == "jump":
        scene.now = event["to"]
    elif kind == "message":
        scene.speaking, scene.message, scene.answered, scene.now = event["by"], event["exchange"], False, event["now"]
    elif kind == "filler":
        scene.speaking, scene.message, scene.answered = "", event["exchange"], True
        scene.now = event.get("now", scene.now)
        history = "history" if "history" in event else "filler"
        scene.said.append(
            Said(event["exchange"], "", history, event["message_tokens"], event["reply_tokens"], told=True)
        )


def _answer(scene: Scene, message: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    scene.answered = True
    scene.now = reply.get("now", scene.now)
    number = message["exchange"]
    scene.said.append(Said(number, message["by"], message["kind"], message["tokens"], reply["tokens"]))
    scene.bill.add(number, reply, message_tokens=message["tokens"])


def _count(asked: Asked, event: Mapping[str, Any], tariff: Tariff) -> None:
    if "fault" in event:
        return
    usage, usd = event.get("usage") or {}, tariff.cost(event)
    asked.calls += 1
    asked.tokens += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
    asked.cost_usd = asked.cost_usd if usd is None else (asked.cost_usd or 0.0) + usd
