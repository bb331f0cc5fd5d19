"""Cost: prices for a million tokens, the usage of a conversation, and the budget that a run shares."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from pytest_ltm._core.journal import events, timings
from pytest_ltm._core.journal.codec import iter_readable
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.storage.errors import BudgetSpent, ConfigurationError
from pytest_ltm._core.storage.patterns import lazy_pattern

MILLION = 1_000_000
JUDGE, USER = "judge", "user"
"""The labels under which the prices of the judge and of simulated users' models are given."""
# The name of a simulated user's model that is a list of messages: it costs nothing.
SCRIPTED = "scripted"

_LABELLED = lazy_pattern(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*=(.*)", re.DOTALL)
_FORM = "Write dollars per million tokens in and out, as in 3/15 or, with the price of cached tokens, 3/15/0.3"
_PARTS = (2, 3)


class Price(Struct, frozen=True):
    """Dollars for a million tokens in, out, and in from the provider's cache (None: like other input)."""

    tokens_in: float
    tokens_out: float
    cached: float | None = None

    def cost_of_tokens(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """Return the dollars for the given tokens; `cached` is included in `tokens_in`."""
        rate = self.tokens_in if self.cached is None else self.cached
        cached_tokens = min(cached, tokens_in)
        return (
            (tokens_in - cached_tokens) * self.tokens_in
            + cached_tokens * rate
            + tokens_out * self.tokens_out
        ) / MILLION

    def __str__(self) -> str:
        parts = [
            self.tokens_in,
            self.tokens_out,
            *([] if self.cached is None else [self.cached]),
        ]
        return "/".join(f"{part:g}" for part in parts)


class Prices(Struct, frozen=True):
    """The token prices given by the user."""

    any: Price | None = None
    """For every agent without a price of its own; never for the judge or a simulated user."""
    by_label: Mapping[str, Price] = field(default_factory=dict)

    def price_for(self, label: str) -> Price | None:
        """Return the price of an agent, of the judge or of simulated users; None if none was given."""
        return self.by_label.get(label, None if label in (JUDGE, USER) else self.any)


def read_prices(texts: Iterable[str]) -> Prices:
    """Parse prices of the form `IN/OUT[/CACHED]` or `LABEL=IN/OUT[/CACHED]`; the last one for a label counts.

    Raises ConfigurationError for any other text.
    """
    prices = {}
    for text in texts:
        match = _LABELLED.fullmatch(text)
        label, price = match.groups() if match else ("", text)
        prices[label] = read_price(price)
    return Prices(prices.pop("", None), prices)


def read_price(text: str) -> Price:
    """Parse a price `IN/OUT[/CACHED]`; ConfigurationError for any other text."""
    try:
        parts = [float(part) for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) not in _PARTS or not all(0 <= part < math.inf for part in parts):
        raise ConfigurationError(f"{text.strip()!r} is not a price. {_FORM}")
    return Price(*parts)


# --- Bill: cost and usage of one conversation's replies; Tariff: dollars for replies
# that report only tokens.


class PricedReply(Protocol):
    """A recorded reply of an agent or a judge."""

    @property
    def usage(self) -> Usage | None:
        """Tokens as its provider counts them."""

    @property
    def cost_usd(self) -> float | None:
        """Dollars as its provider reports them."""


class Tariff(Struct, frozen=True, kw_only=True):
    """The cost of replies that do not report dollars."""

    price: Price | None = None
    """Applied to the reported tokens or, without a report, to the tokens counted here."""
    free: bool = False
    """Replies without a price cost nothing; otherwise their cost is unknown."""

    def cost(
        self, reply: PricedReply, *, counted: tuple[int, int] = (0, 0)
    ) -> float | None:
        """Return the dollars of a recorded reply of agent or judge; None if unknown.

        `counted`: tokens of the message and of the reply, used if no usage is reported.
        """
        usd = reply.cost_usd
        if usd is None and self.price is not None:
            usd = self.price.cost_of_tokens(*_used_tokens(reply, counted))
        return None if usd is None else float(usd)

    def dollars_for(self, usage: Usage) -> float | None:
        """Return the dollars for a usage; None without a price."""
        if self.price is None:
            return 0.0 if self.free else None
        return self.price.cost_of_tokens(
            usage.input_tokens, usage.output_tokens, usage.cached_tokens
        )

    def estimates(self, reply: PricedReply) -> bool:
        """Return whether a reply's tokens or dollars are estimated because they were not reported."""
        unreported = (
            reply.usage is None and reply.cost_usd is None and self.price is not None
        )
        return unreported or (reply.usage is not None and reply.usage.estimated)

    def charged_amounts(
        self, reply: PricedReply, *, counted: tuple[int, int] = (0, 0)
    ) -> tuple[float | None, int]:
        """Return the dollars (None: unknown) and tokens to charge to a budget."""
        usd = self.cost(reply, counted=counted)
        tokens_in, tokens_out, _ = _used_tokens(reply, counted)
        return (0.0 if usd is None and self.free else usd), tokens_in + tokens_out


class Bill(Struct):
    """The cost and usage of one conversation's replies, recorded or new."""

    tariff: Tariff
    costs: dict[int, float] = field(default_factory=dict)
    """Dollars by exchange, where known."""
    guesses: set[int] = field(default_factory=set)
    """The exchanges whose tokens and dollars were not all reported."""
    hypothetical: bool = False
    """The amounts are hypothetical: nothing is spent."""
    lost: Usage | None = None
    """The usage of failed attempts."""
    lost_usd: float | None = None
    """Its cost, by a price or estimated from the previous reply; not included in other figures."""
    input_tokens: int | None = None
    """As counted by the agent's provider; None if no reply reported it."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    metered: int = 0
    """The number of replies whose usage is known."""
    calls: int = 0
    """Requests to models for those."""
    told: int = 0
    """The number of exchanges that the agent was only told."""
    told_use: Usage | None = None
    """Their usage; None if not reported."""
    _asked: int = 0
    """Tokens of the last message."""
    _last: float | None = None
    """Dollars of the last reply."""

    def count_event(self, event: events.Event) -> None:
        """Add an event's cost and usage."""
        if isinstance(event, events.MessageSent):
            self._asked = event.tokens
        elif isinstance(event, events.ReplyReceived):
            self._add(event, counted=(self._asked, event.tokens))
        elif isinstance(event, events.FillerSent):
            self.told += 1
            if is_billed(event):
                self._add(event)
        if (
            isinstance(event, (events.ReplyReceived, events.FillerSent, events.Fault))
            and event.lost is not None
        ):
            self.lost = event.lost + self.lost
            usd = self.tariff.dollars_for(event.lost)
            if (usd := self._last if usd is None else usd) is not None:
                self.lost_usd = (self.lost_usd or 0.0) + usd

    def _add(
        self,
        reply: events.ReplyReceived | events.FillerSent,
        counted: tuple[int, int] = (0, 0),
    ) -> None:
        self.hypothetical |= reply.hypothetical
        if self.tariff.estimates(reply):
            self.guesses.add(reply.exchange)
        self._last = self.tariff.cost(reply, counted=counted)
        if self._last is not None:
            self.costs[reply.exchange] = self._last
        if reply.usage is not None:
            self.input_tokens = (self.input_tokens or 0) + reply.usage.input_tokens
            self.output_tokens = (self.output_tokens or 0) + reply.usage.output_tokens
            self.cached_tokens = (self.cached_tokens or 0) + reply.usage.cached_tokens
            if isinstance(reply, events.FillerSent):
                self.told_use = reply.usage + self.told_use
            else:
                self.metered += 1
                self.calls += reply.usage.calls

    @property
    def total_usd(self) -> float | None:
        """The sum of all known dollars; None if none are known."""
        return sum(self.costs.values()) if self.costs else None

    def exchanges_usd(self, exchanges: Collection[int]) -> float | None:
        """Return the dollars of these exchanges; None if no reply reports its cost."""
        if self.costs:
            return sum(
                (cost for number, cost in self.costs.items() if number in exchanges),
                0.0,
            )
        return None


def is_billed(filler_sent: events.FillerSent) -> bool:
    """Return whether a told exchange reports usage or cost."""
    return filler_sent.usage is not None or filler_sent.cost_usd is not None


def _used_tokens(reply: PricedReply, counted: tuple[int, int]) -> tuple[int, int, int]:
    """Return tokens in, out, and from the cache: as reported, else those of the message and the reply alone."""
    if reply.usage is None:
        return *counted, 0
    return (
        reply.usage.input_tokens,
        reply.usage.output_tokens,
        reply.usage.cached_tokens,
    )


# --- Budget: the limit that all conversations of a run share, across workers; enforced
# by a feature.

# The file in the run folder.
LEDGER = "budget.json"
# The spender; usage of failed attempts; the reservation for messages being sent, and
# reservations of dead processes.
Side: TypeAlias = Literal["agent", "judge", "user", "lost", "reserved", "gone"]


_AMOUNT = lazy_pattern(r"(\d+(?:\.\d+)?)([km]?)")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


class Limits(Struct, frozen=True):
    """Spending limits; None: unlimited."""

    usd: float | None = None
    tokens: int | None = None
    """Input and output together, agent and judge."""

    def __bool__(self) -> bool:
        return self.usd is not None or self.tokens is not None


def read_dollars(text: str) -> float:
    """Parse dollars, such as `2.50` or `$2.50`; ConfigurationError for any other text."""
    return _parse_amount(text.removeprefix("$"), text, "number of dollars, as in 2.50")


def read_tokens(text: str) -> int:
    """Parse tokens, such as `200000`, `200k` or `1.5m`; ConfigurationError for any other text."""
    return round(_parse_amount(text, text, "number of tokens, as in 200k or 1.5m"))


def _parse_amount(text: str, written: str, noun: str) -> float:
    match = _AMOUNT.fullmatch(text.strip().lower().replace(",", "").replace("_", ""))
    if not match:
        raise ConfigurationError(f"{written!r} is not a {noun}")
    return float(match[1]) * _SCALE[match[2]]


class Account(Protocol):
    """The budget of one conversation; the limits are shared by all, so each checks before each message."""

    refused: BudgetSpent | None
    """Why nothing more was sent, if so."""

    def check(self, refused: str = "") -> None:
        """Reserve the estimated cost of the next exchange; BudgetSpent if nothing more may be spent.

        `refused`: a reason to refuse it in any case.
        """

    def release(self) -> None:
        """Release the reservation: nothing was sent."""

    def charge_reserved(self) -> None:
        """Charge the reservation: the message was sent, but its reply will not be read."""

    def charge_wasted(self, *, usd: float | None, tokens: int) -> None:
        """Record the usage of failed attempts; without a price it costs as much as the last reply."""

    def add(
        self,
        side: Side,
        *,
        usd: float | None,
        tokens: int,
        calls: int = 1,
        metered: bool = True,
    ) -> None:
        """Record one reply; if its cost is unknown and the budget is in dollars, it is the last one.

        `metered`: its cost or tokens were reported, or it is free. Otherwise the price
        of the message and the reply is only a part: the rest of the input is unknown.
        """


def lost_with_judge(journal: Path, timed: Path, judge: Tariff) -> tuple[int, float]:
    """Return the tokens and dollars of a judge's failed attempts in a recorded conversation."""
    uses = [
        event.usage
        for event in events.iter_readable_events(journal)
        if isinstance(event, events.JudgeAsked | events.JudgeChecked)
        and event.fault is not None
    ]
    uses += [
        timing.lost
        for timing in iter_readable(timed, timings.decode_timing)
        if isinstance(timing, timings.JudgeTime) and not timing.remembered
    ]
    tokens = 0
    dollars = 0.0
    for usage in uses:
        if usage is not None:
            tokens += usage.total
            dollars += judge.dollars_for(usage) or 0.0
    return tokens, dollars
