"""Cost of a run: prices, the budget and what is known of both before anything is sent."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pytest_ltm._costs._bill import Tariff
from pytest_ltm._costs._budget import LEDGER, Budget, Limits, read_dollars, read_tokens, spent_in
from pytest_ltm._costs._prices import JUDGE, LISTED, Prices, list_price, read_prices
from pytest_ltm._recording import JOURNAL, TIMINGS
from pytest_ltm._shared import Shared
from pytest_ltm.plugin import _options
from pytest_ltm.plugin._values import named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_ltm._costs._budget import Account, Side, Spent
    from pytest_ltm._providers import Model
    from pytest_ltm.agents._adapt import AgentSource
    from pytest_ltm.plugin._run import LtmRun
    from pytest_ltm.plugin._settings import Settings

FREE_JUDGES = frozenset({"none", "rules"})
_WAY_OUT = "Give --ltm-price={label}=IN/OUT (dollars per million tokens), or limit tokens: --ltm-max-tokens=N"


@dataclass(frozen=True, slots=True)
class CostSettings:
    """What the options say of costs."""

    prices: Prices = field(default_factory=Prices)
    limits: Limits = field(default_factory=Limits)
    latency: float = 2.0
    """Seconds that a dry run reckons with for a reply."""


def cost_settings(config: pytest.Config) -> CostSettings:
    """Return what the options say; UsageError for what they cannot."""
    usd, tokens = _options.given(config, "ltm_max_cost"), _options.given(config, "ltm_max_tokens")
    return CostSettings(
        prices=named("--ltm-price", lambda: read_prices(_options.lines(config, "ltm_price"))),
        limits=Limits(
            None if usd is None else named("--ltm-max-cost", lambda: read_dollars(usd)),
            None if tokens is None else named("--ltm-max-tokens", lambda: read_tokens(tokens)),
        ),
        latency=_latency(config),
    )


def _latency(config: pytest.Config) -> float:
    given = _options.text(config, "ltm_latency")
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise pytest.UsageError(f"--ltm-latency: {given!r} is no number of seconds")
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the cost of an agent, or of the judge, before it says anything."""

    tariff: Tariff
    source: str = ""
    """Where a price comes from, for readers."""
    untold: bool = False
    """It never tells its dollars by itself."""


def known_of(label: str, source: AgentSource, prices: Prices) -> Known:
    """Return what is known of an agent's cost."""
    from pytest_ltm.agents._foreseen import is_free, model_of, spec_within  # noqa: PLC0415 - agents import a lot

    given = prices.of(label)
    if given is not None:
        return Known(tariff=Tariff(price=given), source="as given")
    spec = spec_within(source)
    chosen = model_of(spec)
    if chosen is not None:
        return _listed(chosen)
    return Known(tariff=Tariff(free=is_free(spec)), untold=_says_text_only(source) and not is_free(spec))


def judge_of(spec: str, prices: Prices) -> Known:
    """Return what is known of the judge's cost."""
    from pytest_ltm.agents._foreseen import model_of  # noqa: PLC0415 - agents import a lot

    given = prices.of(JUDGE)
    if given is not None:
        return Known(tariff=Tariff(price=given), source="as given")
    chosen = model_of(spec)
    return Known(tariff=Tariff(free=spec in FREE_JUDGES)) if chosen is None else _listed(chosen)


def _listed(chosen: Model) -> Known:
    listed = list_price(chosen.name, chosen.base_url)
    source = "" if listed is None else f"list price of {LISTED}"
    return Known(tariff=Tariff(price=listed), source=source, untold=listed is None)


def _says_text_only(source: AgentSource) -> bool:
    """Return whether an agent is declared to reply with a bare text, which tells no cost."""
    given: Any = source.given
    function = getattr(given, "reply", given)
    try:
        return inspect.signature(function).return_annotation in {str, "str"}
    except (TypeError, ValueError):
        return False


class RunCosts:
    """Prices of agents and judge in one run, and its budget."""

    def __init__(self, settings: Settings, sources: Mapping[str, AgentSource], folder: Path) -> None:
        self._costs, self._folder = settings.costs, folder
        self.agents = {label: known_of(label, source, self._costs.prices) for label, source in sources.items()}
        self.judge = judge_of(settings.judge, self._costs.prices)
        self._budget = Budget(self._costs.limits, Shared(folder / LEDGER)) if self._costs.limits else None

    @property
    def limits(self) -> Limits:
        """What may be spent."""
        return self._costs.limits

    def larger(self) -> str:
        """Return the options of a budget with which the run can go on; "" where nothing is limited."""
        return "" if self._budget is None else self._budget.limits.twice(self._budget.spent())

    def account(self, conversation: str) -> Account | None:
        """Return where a conversation writes what it spends; None where nothing is limited."""
        return None if self._budget is None else self._budget.account(conversation)

    def check(self) -> None:
        """Raise UsageError for a budget in dollars that nobody could keep, and for prices of nobody."""
        for label in self._costs.prices.by_label:
            if label != JUDGE and label not in self.agents:
                there = ", ".join([*self.agents, JUDGE])
                raise pytest.UsageError(f"--ltm-price: no agent of this run is called {label!r}. There are {there}")
        if self.limits.usd is None:
            return
        for label, known in [*self.agents.items(), (JUDGE, self.judge)]:
            if known.untold:
                who = "the judge" if label == JUDGE else f"the agent {label!r}"
                way = _WAY_OUT.format(label=label)
                raise pytest.UsageError(f"--ltm-max-cost: nobody knows what {who} costs. {way}")

    def begin(self) -> None:
        """Begin the ledger with what the run has spent before it was resumed."""
        if self._budget is None:
            return
        sides: dict[Side, dict[str, Spent]] = {"agent": {}, "judge": {}}
        for path in sorted(self._folder.glob(f"*/{JOURNAL}")):
            tariff = self._of(path.parent.name)
            found = spent_in(path, path.parent / TIMINGS, agent=tariff, judge=self.judge.tariff)
            for side, spent in found.items():
                sides[side][path.parent.name] = spent
        self._budget.begin(sides)

    def _of(self, folder: str) -> Tariff:
        known = self.agents.get(folder.partition("~")[0])
        return Tariff() if known is None else known.tariff

    def header(self) -> Iterator[str]:
        """Yield lines about prices and budget, where there is anything to say."""
        priced = [*self.agents.items(), (JUDGE, self.judge)]
        said = [f"{label} {known.tariff.price} ({known.source})" for label, known in priced if known.tariff.price]
        if said:
            yield f"ltm: dollars per million tokens in/out: {', '.join(said)}"
        limits = self.limits
        words = [] if limits.usd is None else [f"${limits.usd:g}"]
        words += [] if limits.tokens is None else [f"{limits.tokens:,} tokens in and out"]
        if words:
            yield f"ltm: budget of agents and judge: {' and '.join(words)}"


class Costs:
    """Checks the cost of a run before anything is sent, and begins the ledger."""

    def __init__(self, run: LtmRun) -> None:
        self._run = run

    def pytest_report_header(self) -> list[str]:
        """Say prices and budget."""
        return list(self._run.costs.header())

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Begin the ledger; the run folder is there by now."""
        if self._run.plays and not self._run.is_worker:
            self._run.costs.begin()
