"""Prices, bills and the ledger of a budget."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from journals import header, message, reply, write

from pytest_ltm.api.journal import (
    JUDGE,
    Bill,
    Event,
    JudgeTime,
    Limits,
    Price,
    Tariff,
    Timings,
    UserTime,
    cost,
    read_price,
    read_prices,
)
from pytest_ltm.api.model import Usage
from pytest_ltm.api.storage import BudgetSpent, ConfigurationError, Shared
from pytest_ltm.providers import list_price
from pytest_ltm.records.budget import Budget, SpentBudget, doubled_limits, spent_in

OPENAI = "https://api.openai.com/v1"
USED = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=600)


@pytest.mark.parametrize(
    ("text", "price", "dollars"),
    [
        ("3/15", Price(3, 15), 0.0045),
        ("3/15/0.3", Price(3, 15, 0.3), 0.00288),
        (" 0/0 ", Price(0, 0), 0.0),
    ],
)
def test_a_price_is_dollars_for_a_million_tokens_of_each_kind(
    text: str, price: Price, dollars: float
) -> None:
    assert read_price(text) == price
    assert price.cost_of_tokens(1_000, 100, 600) == pytest.approx(dollars)
    assert read_price(str(price)) == price


@pytest.mark.parametrize(
    "text", ["", "3", "a/b", "-1/2", "nan/1", "1/inf", "1/2/3/4", "3/15/"]
)
def test_what_is_no_price_is_refused_with_its_form(text: str) -> None:
    with pytest.raises(ConfigurationError, match="Write dollars per million tokens"):
        read_price(text)


def test_a_label_has_its_own_price_and_the_judge_none_but_its_own() -> None:
    prices = read_prices(["1/2", "big=10/20", "1/3"])
    assert (
        prices.price_for("small"),
        prices.price_for("big"),
        prices.price_for(JUDGE),
    ) == (
        Price(1, 3),
        Price(10, 20),
        None,
    )
    assert read_prices(["judge=5/6"]).price_for(JUDGE) == Price(5, 6)


def test_list_prices_are_those_of_the_makers_own_endpoint() -> None:
    assert (
        list_price("gpt-4o-2024-08-06", OPENAI)
        == list_price("gpt-4o", OPENAI)
        == Price(2.5, 10, 1.25)
    )
    assert list_price("gpt-4o", "http://localhost:8000/v1") is None
    assert list_price("gpt-4o-audio", OPENAI) is None


@pytest.mark.parametrize(
    ("tariff", "said", "usd", "spent"),
    [
        (Tariff(), {"cost_usd": 0.5, "tokens": 7}, 0.5, (0.5, 27)),
        (Tariff(price=Price(100, 200)), {"cost_usd": 0.5, "tokens": 7}, 0.5, (0.5, 27)),
        (Tariff(price=Price(100, 200)), {"tokens": 10}, 0.004, (0.004, 30)),
        (
            Tariff(price=Price(100, 200, 0)),
            {"tokens": 10, "usage": USED},
            0.06,
            (0.06, 1_100),
        ),
        (Tariff(), {"tokens": 10, "usage": USED}, None, (None, 1_100)),
        (Tariff(free=True), {"tokens": 10}, None, (0.0, 30)),
        (Tariff(free=True), {"cost_usd": 9.0, "tokens": 10}, 9.0, (9.0, 30)),
    ],
)
def test_what_a_reply_costs_and_what_a_budget_is_charged_with(
    tariff: Tariff,
    said: dict[str, Any],
    usd: float | None,
    spent: tuple[float | None, int],
) -> None:
    heard = reply(**said)
    assert tariff.cost(heard, counted=(20, heard.tokens)) == (
        usd if usd is None else pytest.approx(usd)
    )
    charged, tokens = tariff.charged_amounts(heard, counted=(20, heard.tokens))
    assert (charged if charged is None else pytest.approx(charged), tokens) == spent


def test_a_bill_keeps_exchanges_apart() -> None:
    bill = Bill(Tariff(price=Price(1e6, 1e6)))
    assert (bill.total_usd, bill.exchanges_usd({0}), bill.input_tokens) == (
        None,
        None,
        None,
    )
    for event in (
        message(0, tokens=1),
        reply(0),
        message(4, tokens=1),
        reply(4, usage=USED),
    ):
        bill.count_event(event)
    assert (bill.total_usd, bill.exchanges_usd({0}), bill.exchanges_usd({1})) == (
        1_103,
        3,
        0,
    )
    assert (bill.input_tokens, bill.cached_tokens, bill.hypothetical) == (
        1_000,
        600,
        False,
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("200", 200), ("1.5k", 1_500), ("2M", 2_000_000), ("1_000", 1_000)],
)
def test_tokens_may_be_said_in_thousands_and_millions(text: str, tokens: int) -> None:
    assert cost.read_tokens(text) == tokens
    assert cost.read_dollars(f"${tokens / 100}") == tokens / 100


@pytest.mark.parametrize("text", ["", "x", "-1", "1g", "nan", "$"])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        cost.read_tokens(text)
    with pytest.raises(ConfigurationError):
        cost.read_dollars(text)


def test_conversations_spend_from_one_budget_whoever_writes_first(
    tmp_path: Path,
) -> None:
    budgets = [
        Budget(Limits(usd=1.0), Shared(tmp_path / "budget.json")) for _ in range(4)
    ]

    def spend(budget: Budget, name: str) -> None:
        account = budget.account(name, agent="bot")
        for _ in range(5):
            account.check()
            account.add("agent", usd=0.04, tokens=3)

    threads = [
        threading.Thread(target=spend, args=(budget, f"c{n}"))
        for n, budget in enumerate(budgets)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = budgets[0].total_spending()
    assert spent.usd == pytest.approx(0.8)
    assert (spent.tokens, spent.calls) == (60, 20)
    account = budgets[1].account("c1", agent="bot")
    account.add("judge", usd=0.3, tokens=1)
    with pytest.raises(BudgetSpent, match="--ltm-max-cost=\\$1") as found:
        budgets[2].account("c2", agent="bot").check()
    assert "21 replies" in str(found.value)


def test_whoever_was_refused_once_stays_refused(tmp_path: Path) -> None:
    budget = Budget(Limits(tokens=5), Shared(tmp_path / "budget.json"))
    account = budget.account("c", agent="bot")
    account.add("agent", usd=None, tokens=5)
    with pytest.raises(BudgetSpent, match="--ltm-max-tokens=5"):
        account.check()
    budget.begin({"agent": {}, "judge": {}})
    with pytest.raises(BudgetSpent):
        account.check()
    budget.account("other", agent="bot").check()


def test_an_unknown_cost_ends_a_budget_of_dollars_with_the_way_out(
    tmp_path: Path,
) -> None:
    account = Budget(Limits(usd=5), Shared(tmp_path / "budget.json")).account(
        "bot~2k~0", agent="bot"
    )
    account.check()
    account.add("agent", usd=None, tokens=5)
    with pytest.raises(BudgetSpent, match="--ltm-price=bot=IN/OUT"):
        account.check()


def test_a_larger_budget_is_twice_as_large() -> None:
    limits = Limits(usd=2.5, tokens=200)
    assert (
        doubled_limits(limits, SpentBudget(2.4, 190, 3))
        == "--ltm-max-cost=5 --ltm-max-tokens=400"
    )


def test_a_larger_budget_is_larger_than_what_was_spent_under_an_earlier_one() -> None:
    limits = Limits(usd=2.5, tokens=200)
    assert (
        doubled_limits(limits, SpentBudget(6.0, 900, 3))
        == "--ltm-max-cost=12 --ltm-max-tokens=1800"
    )


def test_what_a_record_holds_has_been_spent(tmp_path: Path) -> None:
    journal, timed = tmp_path / "journal.jsonl", tmp_path / "timings.jsonl"
    said: list[Event] = [
        header(),
        message(0, tokens=20),
        reply(0, tokens=10),
        message(1, tokens=20),
        reply(1, tokens=10, cost_usd=1.0),
    ]
    unspent: list[Event] = [
        message(2, tokens=20),
        reply(2, tokens=10, cost_usd=9.0, hypothetical=True),
    ]
    write(journal, *said, "{damaged\n", *unspent, torn='{"event": "torn')
    timings = Timings.at(timed)
    for remembered, usd in ((True, 9.0), (False, 0.5)):
        timings.write(
            JudgeTime(
                example="a/0", vote=0, remembered=remembered, seconds=1.0, cost_usd=usd
            )
        )
    used, lost = Usage(input_tokens=3, output_tokens=4), Usage(input_tokens=5)
    timings.write(
        UserTime(example="a/0", model="m:f", seconds=1.0, usage=used, lost=lost)
    )
    dollar_each = Tariff(price=Price(1e6, 1e6))
    users = {"m:f": dollar_each}
    found = spent_in(
        journal, timed, agent=dollar_each, judge=Tariff(), user=users.__getitem__
    )
    assert found == {
        "agent": SpentBudget(31.0, 60, 2),
        "judge": SpentBudget(0.5, 0, 1),
        "user": SpentBudget(7.0, 7, 1),
        "lost": SpentBudget(5.0, 5),
    }
    assert (
        spent_in(tmp_path / "no", tmp_path / "nothing", agent=Tariff(), judge=Tariff())[
            "agent"
        ]
        == SpentBudget()
    )
