"""Scene: where a conversation stood when its worker died: from its journal, or as it was told from far."""

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

    def add(self, event: Mapping[str, Any], tariff: Tariff) -> None:
        """Count a reply of the judge; a fault is none."""
        if "fault" in event:
            return
        usage, usd = event.get("usage") or {}, tariff.cost(event)
        self.calls += 1
        self.tokens += usage.get("input_tokens", 0) + usage.get("output_tokens", 0)
        self.cost_usd = self.cost_usd if usd is None else (self.cost_usd or 0.0) + usd


@dataclass(slots=True)
class Scene:
    """The last moment of a journal, and what had been said until then."""

    bill: Bill = field(default_factory=lambda: Bill(Tariff()))
    judge: Tariff = field(default_factory=Tariff)
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
    _message: Mapping[str, Any] = field(default_factory=dict)
    """The last."""

    def follow(self, event: Mapping[str, Any]) -> None:
        """Go on to the next event of the journal; KeyError, TypeError or ValueError if it is none."""
        kind = event["event"]
        if kind == "header":
            self.header = dict(event)
        elif kind == "begin":
            self.speaking = event["example"]
        elif kind == "message":
            self._message = event
            self.speaking, self.message, self.answered = event["by"], event["exchange"], False
        elif kind == "reply":
            self._hear(event)
        elif kind == "filler":
            self._tell(event)
        elif kind == "judge":
            self.judged.setdefault(event["example"], Asked()).add(event, self.judge)
        self.now = event.get("to" if kind == "jump" else "now", self.now)

    def _hear(self, reply: Mapping[str, Any]) -> None:
        sent, self.answered = self._message, True
        number, tokens = sent["exchange"], sent["tokens"]
        self.said.append(Said(number, sent["by"], sent["kind"], tokens, reply["tokens"]))
        self.bill.add(number, reply, message_tokens=tokens)

    def _tell(self, told: Mapping[str, Any]) -> None:
        self.speaking, self.message, self.answered = "", told["exchange"], True
        kind, tokens = "history" if "history" in told else "filler", (told["message_tokens"], told["reply_tokens"])
        self.said.append(Said(told["exchange"], "", kind, *tokens, told=True))

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


def scene(journal: Path, found: Scene) -> Scene:
    """Return `found` at the last moment of a journal, or where it cannot be read on."""
    if journal.is_file():
        try:
            for event in _journal.read(journal):
                found.follow(event)
        except (LtmError, KeyError, TypeError, ValueError):
            return found
    return found
