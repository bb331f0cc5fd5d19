"""Standing Orders: tracking them earns full marks; obeying all or none, or repeating everything, earns nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from labelled_replies import disagreements
from pytest_ltm.scenarios import standing_orders
from scenario_runs import conversation, generated, scores

from pytest_ltm.agents.registry import find_agent
from pytest_ltm.evaluators import ObeysOrders
from pytest_ltm.evaluators._instructions import obeys_order
from pytest_ltm.locales import variants

BODY = standing_orders.test_standing_orders
ROOT = Path(__file__).parents[3]
ENOUGH = 30
MESSAGES = {
    "told": [
        said.replace("{clause}", clause).replace(
            "{holds}", standing_orders.HOLDS["about"]
        )
        for said in standing_orders.TOLD
        for clause in standing_orders.CLAUSES.values()
    ],
    **{
        name: getattr(standing_orders, name)
        for name in ("NEW_WORD", "REVOKED", "RESTORED", "STAYS", "TASKS")
    },
    "NEW_CONDITION": [
        said.replace("{holds}", standing_orders.NOW_HOLDS["for"])
        for said in standing_orders.NEW_CONDITION
    ],
}
CARELESS = (
    "echo",
    "silent",
    "dump",
    "dump-always",
    "recite:2k",
    "agree",
    "candidates",
    "hedge",
    "hedge:unsure",
    "keywords",
    "fixed:last",
    "random",
    "notes",
    "inject",
)


def made(number: int, **parameters: Any) -> list[Any]:
    return generated(standing_orders.standing_orders, number, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("span", [2_000, 32_000, None])
@pytest.mark.parametrize("agent", ["oracle", "full"])
def test_who_keeps_track_of_the_orders_earns_full_marks(
    agent: str, span: int | None
) -> None:
    assert scores(BODY, made(12), find_agent(agent).make, span=span) == [1.0] * 12


@pytest.mark.slow
@pytest.mark.parametrize("agent", CARELESS)
def test_tricks_earn_nothing(agent: str) -> None:
    assert BODY.pytestmark[0].kwargs.get("floor", 0) == 0
    assert scores(BODY, made(12), find_agent(agent).make, span=None) == [0.0] * 12


@pytest.mark.slow
def test_who_forgets_earlier_messages_loses_what_they_ordered() -> None:
    assert sum(scores(BODY, made(6), find_agent("window:2k").make, span=32_000)) < 1


@pytest.mark.slow
def test_no_prose_obeys_an_order_by_accident() -> None:
    """Neither a page of English nor a control's replies to other scenarios obey one."""
    other = conversation(
        {"it": BODY}, {"it": made(3)}, find_agent("full").make(), span=2_000
    )
    texts = [
        page.read_text(encoding="utf-8")
        for page in sorted((ROOT / "docs").rglob("*.md"))
    ]
    texts = [
        "\n".join(texts),
        *(exchange.reply for exchange in other.transcript if exchange.kind != "ask"),
    ]
    orders = [
        order
        for one in generated(standing_orders.standing_orders, 20, 99)
        for task in one.expected
        for order in task
    ]
    assert [
        order
        for order in orders
        for text in texts
        if order[1] in text and obeys_order(text, *order)
    ] == []


@pytest.mark.parametrize("kind", MESSAGES)
def test_each_kind_of_message_has_many_wordings(kind: str) -> None:
    every = list(variants(MESSAGES[kind]))
    assert len(set(every)) == len(every) >= ENOUGH


@pytest.mark.parametrize(
    "parameters",
    [
        {"orders": 1},
        {"orders": 8},
        {"revoked": 0},
        {"orders": 3, "revoked": 3},
        {"restored": 2},
        {"tasks": 0},
    ],
)
def test_sizes_that_make_no_test_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=list(parameters)[-1]):
        made(1, **parameters)


@pytest.mark.parametrize("half", ["first", "second"])
def test_rules_agree_with_replies_labelled_by_hand(half: str) -> None:
    assert disagreements("reasoning", half, "standing_orders", ObeysOrders) == []
