"""RehearsedConversation: one conversation of a dry run, held with a stand-in and written down nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_ltm._channel import Channel
from pytest_ltm._conversation import Conversation
from pytest_ltm._costs._forecast import Bar, Forecast, Use
from pytest_ltm._journal import Journal, Timings
from pytest_ltm._locks import FolderLock
from pytest_ltm.agents._foreseen import foresee
from pytest_ltm.agents._memory import count
from pytest_ltm.agents._protocols import Reply, Usage
from pytest_ltm.agents._stand_in import StandIn
from pytest_ltm.judges._desk import Desk
from pytest_ltm.plugin._judging import NONE
from pytest_ltm.plugin._opened import Opened
from pytest_ltm.plugin._played import PlayedConversation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import datetime

    from pytest_ltm._filler import Filler, FillerExchange
    from pytest_ltm._judge import Inquiry
    from pytest_ltm._lane import Ending, Lane
    from pytest_ltm._result import ScenarioResult
    from pytest_ltm._transcript import Exchange, Kind
    from pytest_ltm.agents._foreseen import Foreseen
    from pytest_ltm.agents._reads import Reads
    from pytest_ltm.plugin._body import ItemBody

REASON = "dry run: nobody was asked"
OPINION = 60
"""Tokens of a judge's reply."""


class RehearsedChannel(Channel):
    """The way to a stand-in; counts what the agent would be sent."""

    def __init__(self, stand_in: StandIn, reads: Reads, *arguments: Any, **keywords: Any) -> None:
        super().__init__(stand_in, *arguments, **keywords)
        self._stand_in, self._reads = stand_in, reads
        self.uses: dict[int, Use] = {}
        """What each reply would take, by exchange."""

    def ask(
        self,
        by: str,
        kind: Kind,
        text: str,
        about: tuple[int, ...] = (),
        tokens: int | None = None,
        images: Sequence[str] = (),
    ) -> Exchange:
        """Send a message, and note what its reply would take."""
        self._stand_in.kind = kind
        exchange = super().ask(by, kind, text, about, tokens, images)
        asked, cached = self._reads.ask(text, exchange.reply)
        self.uses[exchange.number] = Use(messages=1, tokens_in=asked, cached=cached, tokens_out=exchange.reply_tokens)
        return exchange

    def tell(self, filler: FillerExchange, *, history: str = "") -> Exchange:
        """Tell an exchange, which costs nothing until it is sent again."""
        exchange = super().tell(filler, history=history)
        self._reads.tell(exchange.message, exchange.reply)
        return exchange


class RehearsedConversation(PlayedConversation):
    """Plays every body against a stand-in with the powers that the agent would have."""

    kept: Callable[[Forecast], object] = staticmethod(lambda _: None)
    """Is told what each conversation would take."""

    def _conversation(self, filler: Filler) -> Conversation:
        foreseen = foresee(self._source)
        self._seat = seat = StandIn(foreseen)
        journal, timings = Journal(), Timings()
        self._opened = Opened(
            journal=journal, timings=timings, seat=seat, agent_fingerprint="", lock=FolderLock(self._folder)
        )
        self._start, self._bars = self._clock.now, list[Bar]()
        self._unplayed, self._cut = list[str](), 0
        self._desk = self._bench(journal, timings)
        channel = self._counting(foreseen)
        bodies = [self.bodies[example.key] for example in self.plan.examples]
        conversation = Conversation(
            self.plan, bodies, channel=channel, filler=filler, counter=self._counter, history=self._history
        )
        for body in bodies:
            body.conversation, body.seat, body.rehearsed = conversation, seat, REASON
        return conversation

    def _counting(self, foreseen: Foreseen) -> RehearsedChannel:
        return RehearsedChannel(
            self._seat, foreseen.reads(), self._counter, self._clock, self._opened.journal, self._opened.timings,
            heard=lambda exchange: self._listener(self, exchange), around=self._around,
        )  # fmt: skip

    def _bench(self, journal: Journal, timings: Timings) -> Desk | None:
        self._judge = Use()
        if self._settings.judge == NONE:
            return None
        return Desk(
            self._opinion, configuration=None, cache=None, journal=journal, timings=timings,
            trial=str(self.place.trial), votes=self._settings.judge_votes,
        )  # fmt: skip

    def _opinion(self, inquiry: Inquiry) -> Reply:
        grade = next((grade for grade in inquiry.grades if grade != inquiry.fail), inquiry.fail)
        self._judge += Use(messages=1, tokens_in=count(inquiry.text), tokens_out=OPINION)
        return Reply(f"GRADE: {grade}", Usage(input_tokens=count(inquiry.text), output_tokens=OPINION))

    def _jumped(self, before: datetime, now: datetime) -> None:
        """Tell nobody: there is no agent."""

    def _near_misses(self) -> list[str]:
        return []

    def _example_ended(self, body: ItemBody, lane: Lane, ending: Ending) -> tuple[ScenarioResult, str]:
        if ending.unplayable is not None:
            self._unplayed.append(f"{lane.example.scenario}: {ending.unplayable}")
        self._cut += body.assertion is not None or (ending.error is not None and body.begun)
        if lane.own:
            own = tuple(exchange.start for exchange in lane.own)
            last = lane.own[-1]
            end = last.start + last.message_tokens + last.reply_tokens
            example = lane.example
            bar = Bar(scenario=example.scenario, example=example.example, start=own[0], end=end, speaks=own)
            self._bars.append(bar)
        return super()._example_ended(body, lane, ending)

    def close(self, reason: str) -> None:
        """Go on to the end, and tell what it would take; nothing is written."""
        if self._closed:
            return
        self._closed = True
        while reason == "complete" and not self.conversation.finished:
            self.conversation.step()
        try:
            self.conversation.close(reason)
        finally:
            self._let_go()
        if reason == "complete":
            self.kept(self._forecast())

    def _forecast(self) -> Forecast:
        channel: Any = self.conversation.channel
        said = list(channel.transcript)
        gaps = [
            needle.gap for row in self.results.values() for question in row.questions for needle in question.needles
        ]
        return Forecast(
            agent=self.place.agent,
            span_label=self.place.span,
            trial=self.place.conversation[2],
            tokens=channel.transcript.position,
            filler_tokens=sum(e.message_tokens + e.reply_tokens for e in said if e.kind == "filler"),
            told=sum(e.told for e in said),
            scenarios=_use(channel.uses, said, {"say", "ask"}),
            filler=_use(channel.uses, said, {"filler", "history"}),
            harness=_use(channel.uses, said, {"opening", "reset"}),
            judge=self._judge,
            longest_gap=max(gaps, default=0),
            simulated_seconds=(self._clock.now - self._start).total_seconds(),
            examples=len(self.plan.examples),
            unplayed=tuple(dict.fromkeys(self._unplayed)),
            cut_short=self._cut,
            bars=tuple(self._bars),
        )


def _use(uses: dict[int, Use], said: list[Exchange], kinds: Collection[str]) -> Use:
    mine = (uses[exchange.number] for exchange in said if exchange.kind in kinds and exchange.number in uses)
    return sum(mine, Use())
