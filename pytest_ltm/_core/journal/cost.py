"""Cost: prices for a million tokens, what a conversation used, and the budget that a run shares."""

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
    """Dollars for a million tokens in, out, and in from the provider's cache (None: as any other in)."""

    tokens_in: float
    tokens_out: float
    cached: float | None = None

    def cost_of_tokens(self, tokens_in: int, tokens_out: int, cached: int = 0) -> float:
        """Return the dollars for the given tokens; `cached` are among `tokens_in`."""
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
    """What the user says that tokens cost."""

    any: Price | None = None
    """Of every agent without a price of its own; never of the judge or of a simulated user."""
    by_label: Mapping[str, Price] = field(default_factory=dict)

    def price_for(self, label: str) -> Price | None:
        """Return the price of an agent, of the judge or of simulated users; None if none was given."""
        return self.by_label.get(label, None if label in (JUDGE, USER) else self.any)


def read_prices(texts: Iterable[str]) -> Prices:
    """Return what `IN/OUT[/CACHED]` and `LABEL=IN/OUT[/CACHED]` say; the last word on a label holds.

    Raises ConfigurationError for anything else.
    """
    prices = {}
    for text in texts:
        match = _LABELLED.fullmatch(text)
        label, price = match.groups() if match else ("", text)
        prices[label] = read_price(price)
    return Prices(prices.pop("", None), prices)


def read_price(text: str) -> Price:
    """Return the price that `IN/OUT[/CACHED]` says; ConfigurationError if it says none."""
    try:
        parts = [float(part) for part in text.split("/")]
    except ValueError:
        parts = []
    if len(parts) not in _PARTS or not all(0 <= part < math.inf for part in parts):
        raise ConfigurationError(f"{text.strip()!r} is not a price. {_FORM}")
    return Price(*parts)


# --- Bill: what the replies of one conversation cost and used; Tariff: dollars where a
# reply reports tokens only.


class PricedReply(Protocol):
    """A reply of an agent or a judge, wherever it is recorded."""

    @property
    def usage(self) -> Usage | None:
        """Tokens as its provider counts them."""

    @property
    def cost_usd(self) -> float | None:
        """Dollars as its provider reports them."""


class Tariff(Struct, frozen=True, kw_only=True):
    """What replies cost that do not report dollars."""

    price: Price | None = None
    """Of the reported tokens or, where none are reported, of those that were counted here."""
    free: bool = False
    """Without a price they cost nothing; otherwise the cost is unknown."""

    def cost(
        self, reply: PricedReply, *, counted: tuple[int, int] = (0, 0)
    ) -> float | None:
        """Return the dollars of a recorded reply of agent or judge; None where it is not reported.

        `counted`: tokens of the message and of the reply, for where no usage is
        reported.
        """
        usd = reply.cost_usd
        if usd is None and self.price is not None:
            usd = self.price.cost_of_tokens(*_used_tokens(reply, counted))
        return None if usd is None else float(usd)

    def dollars_for(self, usage: Usage) -> float | None:
        """Return the dollars of tokens; None without a price."""
        if self.price is None:
            return 0.0 if self.free else None
        return self.price.cost_of_tokens(
            usage.input_tokens, usage.output_tokens, usage.cached_tokens
        )

    def estimates(self, reply: PricedReply) -> bool:
        """Whether tokens or dollars of a reply are an estimate, for want of a report."""
        unreported = (
            reply.usage is None and reply.cost_usd is None and self.price is not None
        )
        return unreported or (reply.usage is not None and reply.usage.estimated)

    def charged_amounts(
        self, reply: PricedReply, *, counted: tuple[int, int] = (0, 0)
    ) -> tuple[float | None, int]:
        """Return what a budget is charged with: dollars (None: unknown) and tokens."""
        usd = self.cost(reply, counted=counted)
        tokens_in, tokens_out, _ = _used_tokens(reply, counted)
        return (0.0 if usd is None and self.free else usd), tokens_in + tokens_out


class Bill(Struct):
    """What the replies of one conversation cost and used, be they recorded or new."""

    tariff: Tariff
    costs: dict[int, float] = field(default_factory=dict)
    """Dollars by exchange, where they are known."""
    guesses: set[int] = field(default_factory=set)
    """The exchanges whose tokens and dollars were not all reported."""
    hypothetical: bool = False
    """Nothing of it is spent."""
    lost: Usage | None = None
    """What failed attempts used."""
    lost_usd: float | None = None
    """What that cost, where a price or the cost of the reply before tells; in no other figure."""
    input_tokens: int | None = None
    """As the agent's provider counts them; None where no reply told."""
    output_tokens: int | None = None
    cached_tokens: int | None = None
    metered: int = 0
    """Replies whose usage is known."""
    calls: int = 0
    """Requests to models for those."""
    told: int = 0
    """What the agent was only told."""
    told_use: Usage | None = None
    """What that took; None where it does not report it."""
    _asked: int = 0
    """Tokens of the last message."""
    _last: float | None = None
    """Dollars of the last reply."""

    def count_event(self, event: events.Event) -> None:
        """Count what the conversation says."""
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
        """All dollars together; None where nothing is known."""
        return sum(self.costs.values()) if self.costs else None

    def exchanges_usd(self, exchanges: Collection[int]) -> float | None:
        """Return the dollars of these exchanges; None where no reply reports its cost."""
        if self.costs:
            return sum(
                (cost for number, cost in self.costs.items() if number in exchanges),
                0.0,
            )
        return None


def is_billed(filler_sent: events.FillerSent) -> bool:
    """Whether telling an exchange took something, as far as the agent reports it."""
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


# --- Budget: what all conversations of a run may spend together, on every worker; a
# feature keeps it.

# The file in the run folder.
LEDGER = "budget.json"
# Who spent it; what failed attempts used; what is kept for what is being sent, and what was
# when its process died.
Side: TypeAlias = Literal["agent", "judge", "user", "lost", "reserved", "gone"]


_AMOUNT = lazy_pattern(r"(\d+(?:\.\d+)?)([km]?)")
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


class Limits(Struct, frozen=True):
    """What may be spent; None: as much as it takes."""

    usd: float | None = None
    tokens: int | None = None
    """In and out together, agent and judge."""

    def __bool__(self) -> bool:
        return self.usd is not None or self.tokens is not None


def read_dollars(text: str) -> float:
    """Return the dollars that `2.50` or `$2.50` says; ConfigurationError if it says none."""
    return _parse_amount(text.removeprefix("$"), text, "number of dollars, as in 2.50")


def read_tokens(text: str) -> int:
    """Return the tokens that `200000`, `200k` or `1.5m` says; ConfigurationError if it says none."""
    return round(_parse_amount(text, text, "number of tokens, as in 200k or 1.5m"))


def _parse_amount(text: str, written: str, noun: str) -> float:
    match = _AMOUNT.fullmatch(text.strip().lower().replace(",", "").replace("_", ""))
    if not match:
        raise ConfigurationError(f"{written!r} is not a {noun}")
    return float(match[1]) * _SCALE[match[2]]


class Account(Protocol):
    """What one conversation may spend; the same limits hold for all, so each asks before each message."""

    refused: BudgetSpent | None
    """Why nothing more was sent, if so."""

    def check(self, refused: str = "") -> None:
        """Raise BudgetSpent if nothing may be spent any more; else reserve what the next exchange may take.

        `refused`: why this may not be sent in any case.
        """

    def release(self) -> None:
        """Let go of what was reserved: nothing was sent."""

    def charge_reserved(self) -> None:
        """Count what was reserved: it was sent, and nobody waits for what comes back."""

    def charge_wasted(self, *, usd: float | None, tokens: int) -> None:
        """Write down what failed attempts used; without a price it cost as much as the last reply."""

    def add(
        self,
        side: Side,
        *,
        usd: float | None,
        tokens: int,
        calls: int = 1,
        metered: bool = True,
    ) -> None:
        """Write down one reply; without its cost a budget in dollars cannot be kept, so it is the last one.

        `metered`: its cost or its tokens were reported, or it costs nothing. Otherwise
        the price of the message and the reply alone is not all of it: nobody knows what
        else was sent.
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
