"""Costs of a run: prices, the budget, and what is known of both before anything is sent."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct, structs

from pytest_ltm.agents.sources import AgentSource
from pytest_ltm.api.calls import inherits, look
from pytest_ltm.api.journal import cost as _cost
from pytest_ltm.api.model import Promised
from pytest_ltm.api.session import RunSettings
from pytest_ltm.api.storage import Shared

if TYPE_CHECKING:
    from pytest_ltm.records.budget import Budget

FREE_JUDGES = frozenset({"none", "rules", "always-yes", "always-no"})
_WAY_OUT = "Give --ltm-price={label}=IN/OUT (dollars per million tokens), or limit tokens: --ltm-max-tokens=N"
_NO_USAGE = (
    "Let it report the tokens that it uses (reply() -> Reply with a usage, usage(), or the fields of an agent behind "
    "HTTP), or limit tokens: --ltm-max-tokens=N"
)


class KnownPrice(Struct, frozen=True, kw_only=True):
    """What is known of the cost of an agent or the judge before its first reply."""

    tariff: _cost.Tariff
    source: str = ""
    """The source of the price, for readers."""
    untold: bool = False
    """The cost in dollars will be unknown: there is no price, and it does not declare to report dollars."""
    unmetered: bool = False
    """It reports neither dollars nor tokens to which a price could apply."""
    refused: str = ""
    """Why a simulated user's model may not be asked under a budget in dollars."""


def _known_price(
    price: _cost.Price | None,
    spec: str,
    *,
    free: bool,
    untold: bool = False,
    unmetered: bool = False,
) -> KnownPrice:
    """Return what is known of a cost in advance; `price`: the price given in the options."""
    from pytest_ltm.agents.spec_facts import model_of

    if price is not None:
        return KnownPrice(
            tariff=_cost.Tariff(price=price, free=free),
            source="as given",
            unmetered=unmetered,
        )
    chosen = model_of(spec)
    if chosen is None:
        return KnownPrice(tariff=_cost.Tariff(free=free), untold=untold)
    from pytest_ltm.providers import LISTED, list_price

    listed = list_price(chosen.name, chosen.base_url)
    source = "" if listed is None else f"list price of {LISTED}"
    return KnownPrice(
        tariff=_cost.Tariff(price=listed), source=source, untold=listed is None
    )


def _declared_reports(source: AgentSource) -> frozenset[str] | None:
    """Return the usage and cost fields that an agent declares to report; None if unknown."""
    declared: Any = source.definition
    if inherits(declared, Promised):
        promised: frozenset[str] | None = declared.reports
        return promised
    reports: frozenset[str] | None = look(lambda: _annotated_reports(declared))
    return reports


def _annotated_reports(declared: Any) -> frozenset[str] | None:
    function = getattr(declared, "reply", declared)
    annotation = inspect.signature(function).return_annotation
    # As text, since an annotation may be a string, an Optional, or an awaitable of the
    # class.
    if "Reply" in str(annotation):
        return frozenset({"usage", "cost_usd"})
    if callable(getattr(declared, "usage", None)):
        return frozenset({"usage"})
    return frozenset() if annotation in {str, "str"} else None


class RunCosts:
    """The prices of agents and judge in one run, and its budget; a plugin of the process that begins the run."""

    def __init__(
        self,
        settings: RunSettings,
        sources: Mapping[str, AgentSource],
        folder: Path,
        *,
        spends: bool,
    ) -> None:
        from pytest_ltm.agents.spec_facts import is_free, spec_within

        self._prices = settings.prices
        self._limits = settings.limits
        self._folder = folder
        self.agents: dict[str, KnownPrice] = {}
        for label, source in sources.items():
            spec = spec_within(source)
            reports = _declared_reports(source)
            free = is_free(spec)
            self.agents[label] = _known_price(
                self._prices.price_for(label),
                spec,
                free=free,
                untold=not free and "cost_usd" not in (reports or ()),
                unmetered=not free and reports == frozenset(),
            )
        self.judge = _known_price(
            self._prices.price_for(_cost.JUDGE),
            settings.judge.judge,
            free=settings.judge.judge in FREE_JUDGES,
        )
        self._users: dict[str, KnownPrice] = {}
        self._budget: Budget | None = None
        if self._limits and spends:
            from pytest_ltm.records.budget import Budget

            self._budget = Budget(self._limits, Shared(folder / _cost.LEDGER))

    def user(self, name: str) -> KnownPrice:
        """Return the known cost of a simulated user's model, by its name in records."""
        # Only a test knows its users' models, so their prices are looked up at the
        # first message.
        if name not in self._users:
            cost = _known_price(
                self._prices.price_for(_cost.USER), name, free=name == _cost.SCRIPTED
            )
            if self._limits.usd is not None and cost.untold:
                cure = _WAY_OUT.format(label=_cost.USER)
                reason = f"--ltm-max-cost: the cost of the simulated user's model {name!r} is unknown. {cure}"
                cost = structs.replace(cost, refused=reason)
            self._users[name] = cost
        return self._users[name]

    def larger_budget(self) -> str:
        """Return the budget options that allow the run to continue; "" if nothing is limited."""
        if self._budget is None:
            return ""
        return self._budget.doubled_limits()

    def account(self, conversation: str, *, agent: str) -> _cost.Account | None:
        """Return the account that a conversation charges; None if nothing is limited."""
        if self._budget is None:
            return None
        return self._budget.account(conversation, agent=agent)

    def check(self) -> None:
        """Raise UsageError for a budget in dollars that cannot be enforced, or for prices of unknown agents."""
        labels = [*self.agents, _cost.JUDGE, _cost.USER]
        for label in (label for label in self._prices.by_label if label not in labels):
            raise pytest.UsageError(
                f"--ltm-price: this run has no agent {label!r}, only {', '.join(labels)}"
            )
        if self._limits.usd is None:
            return
        for label, cost in [*self.agents.items(), (_cost.JUDGE, self.judge)]:
            if cost.untold:
                if label == _cost.JUDGE:
                    subject = "the judge"
                else:
                    subject = f"the agent {label!r}"
                cure = _WAY_OUT.format(label=label)
                raise pytest.UsageError(
                    f"--ltm-max-cost: the cost of {subject} is unknown. {cure}"
                )
            if cost.unmetered:
                reason = f"the agent {label!r} does not report what it uses, so no price can apply to it"
                raise pytest.UsageError(f"--ltm-max-cost: {reason}. {_NO_USAGE}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Create the ledger in the run folder, with the spending of the run before it was resumed."""
        if self._budget is None:
            return
        # A budget belongs to the run, not to the session: spending before a resumption
        # counts, including checks.
        from pytest_ltm.records.run_spending import spent_by_run

        spent = spent_by_run(
            self._folder,
            agent=self.tariff_of,
            judge=self.judge.tariff,
            user=lambda model: self.user(model).tariff,
        )
        self._budget.begin(spent)

    def tariff_of(self, agent: str) -> _cost.Tariff:
        """Return the known prices of an agent's replies."""
        cost = self.agents.get(agent)
        return _cost.Tariff() if cost is None else cost.tariff

    def pytest_report_header(self) -> list[str]:
        """Return header lines with prices and budget, if there are any."""
        priced = [*self.agents.items(), (_cost.JUDGE, self.judge)]
        prices: list[str] = []
        for label, cost in priced:
            if cost.tariff.price:
                prices.append(f"{label} {cost.tariff.price} ({cost.source})")
        limits = []
        if self._limits.usd is not None:
            limits.append(f"${self._limits.usd:g}")
        if self._limits.tokens is not None:
            limits.append(f"{self._limits.tokens:,} tokens in and out")
        lines = []
        if prices:
            lines.append(f"ltm: dollars per million tokens in/out: {', '.join(prices)}")
        if limits:
            lines.append(f"ltm: budget of agents and judge: {' and '.join(limits)}")
        return lines
