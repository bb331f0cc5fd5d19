"""The budget: the limits shared by all conversations of a run, across workers, and the spending so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from pytest_ltm.api.journal import (
    Bill,
    Limits,
    Side,
    Tariff,
    events,
    is_billed,
    iter_readable,
    timings,
)
from pytest_ltm.api.storage import BudgetSpent, Shared


class SpentBudget(Struct, frozen=True):
    """Amounts spent."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    """Replies of agent and judge."""

    def __add__(self, other: SpentBudget) -> SpentBudget:
        return SpentBudget(
            self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls
        )

    def __str__(self) -> str:
        dollars = f"${self.usd:.4f}, " if self.usd else ""
        return f"{dollars}{self.tokens:,} tokens, {self.calls:,} {'reply' if self.calls == 1 else 'replies'}"


def doubled_limits(limits: Limits, spent: SpentBudget) -> str:
    """Return the options of a budget twice as large as this one, or as the spending if that is more."""
    options = []
    if limits.usd is not None:
        dollars = 2 * max(limits.usd, spent.usd) or 1
        options.append(f"--ltm-max-cost={dollars:g}")
    if limits.tokens is not None:
        tokens = 2 * max(limits.tokens, spent.tokens) or 1000
        options.append(f"--ltm-max-tokens={tokens}")
    return " ".join(options)


class Budget:
    """The limits of one run, and the ledger of its conversations' spending."""

    def __init__(self, limits: Limits, ledger: Shared) -> None:
        self.limits = limits
        self.ledger = ledger

    def account(self, conversation: str, *, agent: str) -> BudgetAccount:
        """Return the account of one conversation of an agent."""
        return BudgetAccount(self, conversation, agent)

    def total_spending(self) -> SpentBudget:
        """Return the total spending."""
        return sum_spent(self.ledger.read())

    def doubled_limits(self) -> str:
        """Return the options of a budget twice as large as this one, or as the spending if that is more."""
        return doubled_limits(self.limits, self.total_spending())

    def begin(self, spent_before: Mapping[Side, Mapping[str, SpentBudget]]) -> None:
        """Create the ledger with the spending before the run was resumed; pending reservations count permanently."""

        def alter(before: dict[str, Any]) -> dict[str, Any]:
            value: dict[str, Any] = {side: {} for side in spent_before}
            for side, conversations in spent_before.items():
                for key, spent in conversations.items():
                    _add_spent(value, side, key, spent)
            for name in ("gone", "reserved"):
                for key, row in before.get(name, {}).items():
                    _add_spent(value, "gone", key, SpentBudget(*row))
            return value

        self.ledger.change(alter)


class BudgetAccount:
    """The account of one conversation; the limits are shared by all, so each checks before each message."""

    def __init__(self, budget: Budget, conversation: str, agent: str) -> None:
        self._budget = budget
        self._conversation = conversation
        self._agent = agent
        self.refused: BudgetSpent | None = None
        """Why nothing more was sent, if so."""
        self._last = SpentBudget()
        """The last exchange: the next one is expected to cost as much."""
        self._reserved = False

    def check(self, refused: str = "") -> None:
        """Reserve the estimated cost of the next exchange; BudgetSpent if nothing more may be spent.

        `refused`: a reason to refuse it in any case.
        """
        if refused and self.refused is None:
            self.refused = BudgetSpent(refused)
        if self.refused is not None:
            raise self.refused
        try:
            self._budget.ledger.change(self._reserve)
        except BudgetSpent as over:
            self.refused = over
            raise
        self._reserved = True

    def _reserve(self, value: dict[str, Any]) -> dict[str, Any]:
        reserved = value.setdefault("reserved", {}).pop(self._conversation, None)
        if reserved is not None and not self._reserved:
            # Of a process that died: the message was sent, and counts permanently.
            _add_spent(value, "gone", self._conversation, SpentBudget(*reserved))
        spent = sum_spent(value)  # others' reservations count as spent
        limits = self._budget.limits
        over = []
        if limits.usd is not None and spent.usd >= limits.usd:
            over.append(f"--ltm-max-cost=${limits.usd:g}")
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            over.append(f"--ltm-max-tokens={limits.tokens:,}")
        if over:
            raise BudgetSpent(f"the budget is spent: {' and '.join(over)} ({spent})")
        _add_spent(value, "reserved", self._conversation, self._last)
        return value

    def release(self) -> None:
        """Release the reservation: nothing was sent."""
        if self._reserved:
            self._settle_account(None, SpentBudget())

    def charge_reserved(self) -> None:
        """Charge the reservation: the message was sent, but its reply will not be read."""
        if self._reserved:
            self._settle_account("gone", self._last)

    def charge_wasted(self, *, usd: float | None, tokens: int) -> None:
        """Record the usage of failed attempts; without a price it costs as much as the last reply."""
        self._settle_account(
            "lost", SpentBudget(self._last.usd if usd is None else usd, tokens)
        )

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
        spent = SpentBudget(usd or 0.0, tokens, calls)
        self._settle_account(side, spent)
        if side == "agent" and calls:
            self._last = structs.replace(spent, calls=0)
        if (usd is None or not metered) and self._budget.limits.usd is not None:
            label = self._agent if side == "agent" else side
            self.refused = BudgetSpent(
                f"--ltm-max-cost: the {side} reports neither what its replies cost nor tokens that a known price could "
                f"apply to. Let it report dollars, or tokens with --ltm-price={label}=IN/OUT (dollars per million "
                "tokens), or limit tokens: --ltm-max-tokens=N"
            )

    def _settle_account(self, side: Side | None, spent: SpentBudget) -> None:
        """Record spending in place of the reservation; None: nothing was spent."""

        def alter(value: dict[str, Any]) -> dict[str, Any]:
            value.get("reserved", {}).pop(self._conversation, None)
            if side is not None:
                _add_spent(value, side, self._conversation, spent)
            return value

        self._reserved = False
        self._budget.ledger.change(alter)


def spent_in(
    journal: Path,
    timed: Path,
    *,
    agent: Tariff,
    judge: Tariff,
    user: Callable[[str], Tariff] = lambda _: Tariff(),
) -> dict[Side, SpentBudget]:
    """Return the spending of a recorded conversation; unreadable lines are skipped.

    `user`: returns the prices of a simulated user's model.
    """
    sides: dict[Side, SpentBudget] = dict.fromkeys(
        ("agent", "judge", "user", "lost"), SpentBudget()
    )
    # Hypothetical amounts are on the bill, but not spent.
    bill = Bill(agent)
    message = 0
    for event in events.iter_readable_events(journal):
        bill.count_event(event)
        if isinstance(event, events.MessageSent):
            message = event.tokens
        elif isinstance(event, events.ReplyReceived) and not event.hypothetical:
            usd, tokens = agent.charged_amounts(event, counted=(message, event.tokens))
            sides["agent"] += SpentBudget(usd or 0.0, tokens, 1)
        elif (
            isinstance(event, events.FillerSent)
            and is_billed(event)
            and not event.hypothetical
        ):
            usd, tokens = agent.charged_amounts(event)
            sides["agent"] += SpentBudget(usd or 0.0, tokens)
        elif (
            isinstance(event, events.ModelAsked)
            and event.fault is not None
            and event.usage is not None
        ):
            if isinstance(event, events.UserModelAsked):
                tariff = user(event.model)
            else:
                tariff = judge
            sides["lost"] += SpentBudget(
                tariff.dollars_for(event.usage) or 0.0, event.usage.total
            )
    if bill.lost is not None:
        sides["lost"] += SpentBudget(bill.lost_usd or 0.0, bill.lost.total)
    _add_bought(sides, timed, judge, user)
    return sides


def _add_bought(
    sides: dict[Side, SpentBudget],
    timed: Path,
    judge: Tariff,
    user: Callable[[str], Tariff],
) -> None:
    """Add the calls of the judge and of users' models, as far as they were actually sent."""
    for timing in iter_readable(timed, timings.decode_timing):
        side: Side
        if isinstance(timing, timings.JudgeTime) and not timing.remembered:
            side = "judge"
            tariff = judge
        elif isinstance(timing, timings.UserTime):
            side = "user"
            tariff = user(timing.model)
        else:
            continue
        usd, tokens = tariff.charged_amounts(timing)
        sides[side] += SpentBudget(usd or 0.0, tokens, 1)
        if timing.lost is not None:
            sides["lost"] += SpentBudget(
                tariff.dollars_for(timing.lost) or 0.0, timing.lost.total
            )


def sum_spent(ledger: Mapping[str, Any]) -> SpentBudget:
    """Return the total spending in a ledger's JSON values."""
    rows = chain.from_iterable(side.values() for side in ledger.values())
    return sum((SpentBudget(*row) for row in rows), SpentBudget())


def _add_spent(
    value: dict[str, Any], side: Side, conversation: str, spent: SpentBudget
) -> None:
    rows = value.setdefault(side, {})
    rows[conversation] = structs.astuple(
        SpentBudget(*rows.get(conversation, ())) + spent
    )
