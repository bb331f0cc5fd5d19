"""AgentBill: what an agent costs in one conversation, within the budget of its run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pytest_ltm._core.journal import events
from pytest_ltm._core.journal.cost import Account, Tariff
from pytest_ltm._core.model.agent import Usage
from pytest_ltm._core.storage.errors import AgentFault


class AgentBill:
    """Charges what an agent's replies used, and what its failed attempts did.

    `tariff`: what its tokens cost where it does not say; `account`: where the budget is
    kept; None: there is none.
    """

    def __init__(self, tariff: Tariff, account: Account | None) -> None:
        self._tariff = tariff
        self._account = account
        self._lost: Usage | None = None
        """What failed attempts used, and is not charged yet."""

    def check(self) -> None:
        """Raise ConversationOver where the budget is spent."""
        if self._account is not None:
            self._account.check()

    def release(self) -> None:
        """Give back what was set aside for a reply that does not come."""
        if self._account is not None:
            self._account.release()

    def charge_reserved(self) -> None:
        """Charge what was set aside: what was sent is on its way."""
        if self._account is not None:
            self._account.charge_reserved()

    def charge(
        self,
        took: events.ReplyReceived | events.FillerSent,
        *,
        calls: int,
        counted: tuple[int, int] = (0, 0),
    ) -> None:
        """Charge what was answered or told; what was told and used nothing is free."""
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
        """Note what failed attempts used."""
        if usage is not None:
            self._lost = usage + self._lost

    @contextlib.contextmanager
    def losing(self, usage: Usage | None) -> Iterator[None]:
        """Note what a reply used as lost if the agent cannot be asked what belongs to it."""
        try:
            yield
        except AgentFault:
            self.lose(usage)
            raise

    def charge_lost(self) -> Usage | None:
        """Return what failed attempts used, and charge it."""
        lost_usage = self._lost
        self._lost = None
        if lost_usage is not None and self._account is not None:
            self._account.charge_wasted(
                usd=self._tariff.dollars_for(lost_usage), tokens=lost_usage.total
            )
        return lost_usage
