"""Evaluators: one family of rules a file, imported only when used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_ltm.evaluators._chapterbreak import PicksOption as PicksOption
    from pytest_ltm.evaluators._colours import NamesColour as NamesColour
    from pytest_ltm.evaluators._current_facts import KnowsCurrentFacts as KnowsCurrentFacts
    from pytest_ltm.evaluators._delayed_recall import RecallsFacts as RecallsFacts
    from pytest_ltm.evaluators._how_to_think import AppliesRule as AppliesRule
    from pytest_ltm.evaluators._instruction_recall import RecallsSteps as RecallsSteps
    from pytest_ltm.evaluators._jokes import RecallsJoke as RecallsJoke
    from pytest_ltm.evaluators._kv_pairs import RecallsValue as RecallsValue
    from pytest_ltm.evaluators._locations import LeadsTo as LeadsTo
    from pytest_ltm.evaluators._locations_direct import LiesAt as LiesAt
    from pytest_ltm.evaluators._menu import Menu as Menu
    from pytest_ltm.evaluators._names import ListsNames as ListsNames
    from pytest_ltm.evaluators._names_current import NamesUser as NamesUser
    from pytest_ltm.evaluators._orders import Order as Order
    from pytest_ltm.evaluators._orders import read_order as read_order
    from pytest_ltm.evaluators._prospective import QuoteAtReply as QuoteAtReply
    from pytest_ltm.evaluators._restaurant import PlaysGuest as PlaysGuest
    from pytest_ltm.evaluators._restaurant import Stage as Stage
    from pytest_ltm.evaluators._restaurant import notices_mix_up as notices_mix_up
    from pytest_ltm.evaluators._restaurant import orders_dish as orders_dish
    from pytest_ltm.evaluators._restaurant import orders_drink as orders_drink
    from pytest_ltm.evaluators._restaurant import recalls_drink as recalls_drink
    from pytest_ltm.evaluators._sally_anne import AnswersWord as AnswersWord
    from pytest_ltm.evaluators._shopping import ListsItems as ListsItems
    from pytest_ltm.evaluators._spy import DecodesMessages as DecodesMessages
    from pytest_ltm.evaluators._trigger import SaysAtEachTrigger as SaysAtEachTrigger

_HOMES = {
    "AnswersWord": "_sally_anne",
    "AppliesRule": "_how_to_think",
    "DecodesMessages": "_spy",
    "KnowsCurrentFacts": "_current_facts",
    "LeadsTo": "_locations",
    "LiesAt": "_locations_direct",
    "ListsItems": "_shopping",
    "ListsNames": "_names",
    "Menu": "_menu",
    "NamesColour": "_colours",
    "NamesUser": "_names_current",
    "Order": "_orders",
    "PicksOption": "_chapterbreak",
    "PlaysGuest": "_restaurant",
    "QuoteAtReply": "_prospective",
    "RecallsFacts": "_delayed_recall",
    "RecallsJoke": "_jokes",
    "RecallsSteps": "_instruction_recall",
    "RecallsValue": "_kv_pairs",
    "SaysAtEachTrigger": "_trigger",
    "Stage": "_restaurant",
    "notices_mix_up": "_restaurant",
    "orders_dish": "_restaurant",
    "orders_drink": "_restaurant",
    "read_order": "_orders",
    "recalls_drink": "_restaurant",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - one list of names, found by __getattr__


def __getattr__(name: str) -> Any:
    """Import an evaluator's module when its name is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
