"""AgentBill: the cost of an agent in one conversation, charged to the budget of its run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.cost import Account, Tariff
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.storage.errors import AgentFault


class AgentBill:
    """Charges the usage of an agent's replies and of its failed attempts.

    `tariff`: token prices, used where the agent does not report a cost; `account`: the
    budget, or None if there is none.
    """

    def __init__(self, tariff: Tariff, account: Account | None) -> None:
        self._tariff = tariff
        self._account = account
        self._lost: Usage | None = None
        """The usage of failed attempts that has not been charged yet."""

    def check(self) -> None:
        """Raise ConversationOver if the budget is spent."""
        if self._account is not None:
            self._account.check()

    def release(self) -> None:
        """Release the amount reserved for a reply that will not come."""
        if self._account is not None:
            self._account.release()

    def charge_reserved(self) -> None:
        """Charge the reserved amount: the message has already been sent."""
        if self._account is not None:
            self._account.charge_reserved()

    def charge(
        self,
        took: events.ReplyReceived | events.FillerSent,
        *,
        calls: int,
        counted: tuple[int, int] = (0, 0),
    ) -> None:
        """Charge a reply or a told exchange; a told exchange that reports no usage is free."""
        if self._account is None:
            return
        is_reported = took.usage is not None or took.cost_usd is not None
        if took.hypothetical or not (calls or is_reported):
            self._account.release()
            return
        usd, tokens = self._tariff.charged_amounts(took, counted=counted)
        metered = is_reported or self._tariff.free
        self._account.add("agent", usd=usd, tokens=tokens, calls=calls, metered=metered)

    def lose(self, usage: Usage | None) -> None:
        """Record the usage of failed attempts."""
        if usage is not None:
            self._lost = usage + self._lost

    @contextlib.contextmanager
    def losing(self, usage: Usage | None) -> Iterator[None]:
        """Record a reply's usage as lost if a follow-up query to the agent fails."""
        try:
            yield
        except AgentFault:
            self.lose(usage)
            raise

    def charge_lost(self) -> Usage | None:
        """Charge and return the usage of failed attempts."""
        lost_usage = self._lost
        self._lost = None
        if lost_usage is not None and self._account is not None:
            self._account.charge_wasted(
                usd=self._tariff.dollars_for(lost_usage), tokens=lost_usage.total
            )
        return lost_usage
