"""Evaluators: one family of rules per file, imported only when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.api.storage import lazy_exports

if TYPE_CHECKING:
    from pytest_ltm.evaluators._aggregates import AnswersWithSources, WorksOut
    from pytest_ltm.evaluators._benchmarks import (
        chosen_letters,
        kendall_tau_b,
        match_exactly,
        match_number,
        match_phrases,
        match_substring,
        mean_claims,
        named_items,
        official_claims,
        order_score,
        pass_hat_k,
        recall_at,
    )
    from pytest_ltm.evaluators._choices import (
        AnswersWord,
        NamesColour,
        NamesUser,
        PicksOption,
    )
    from pytest_ltm.evaluators._hygiene import (
        ForgetsOnRequest,
        KeepsSecrets,
        KnowsAndWithholds,
        KnowsHistory,
    )
    from pytest_ltm.evaluators._instructions import (
        ObeysOrders,
        QuoteAtReply,
        RemindsInTime,
        SaysAtEachTrigger,
    )
    from pytest_ltm.evaluators._lists import ListsItems, ListsNames
    from pytest_ltm.evaluators._locations import LeadsTo, LiesAt
    from pytest_ltm.evaluators._poison import WithstandsPoison
    from pytest_ltm.evaluators._recall import (
        AppliesRule,
        KnowsCurrentFacts,
        RecallsFacts,
        RecallsJoke,
        RecallsSteps,
        RecallsValue,
    )
    from pytest_ltm.evaluators._restaurant import (
        Menu,
        Order,
        PlaysGuest,
        Stage,
        notices_mix_up,
        orders_dish,
        orders_drink,
        read_order,
        recalls_drink,
    )
    from pytest_ltm.evaluators._restraint import ShowsRestraint
    from pytest_ltm.evaluators._sources import KnowsSources
    from pytest_ltm.evaluators._spy import DecodesMessages
    from pytest_ltm.evaluators._worlds import KeepsWorldsApart, SpeaksLanguage

__all__ = (
    "AnswersWithSources",
    "AnswersWord",
    "AppliesRule",
    "DecodesMessages",
    "ForgetsOnRequest",
    "KeepsSecrets",
    "KeepsWorldsApart",
    "KnowsAndWithholds",
    "KnowsCurrentFacts",
    "KnowsHistory",
    "KnowsSources",
    "LeadsTo",
    "LiesAt",
    "ListsItems",
    "ListsNames",
    "Menu",
    "NamesColour",
    "NamesUser",
    "ObeysOrders",
    "Order",
    "PicksOption",
    "PlaysGuest",
    "QuoteAtReply",
    "RecallsFacts",
    "RecallsJoke",
    "RecallsSteps",
    "RecallsValue",
    "RemindsInTime",
    "SaysAtEachTrigger",
    "ShowsRestraint",
    "SpeaksLanguage",
    "Stage",
    "WithstandsPoison",
    "WorksOut",
    "chosen_letters",
    "kendall_tau_b",
    "match_exactly",
    "match_number",
    "match_phrases",
    "match_substring",
    "mean_claims",
    "named_items",
    "notices_mix_up",
    "official_claims",
    "order_score",
    "orders_dish",
    "orders_drink",
    "pass_hat_k",
    "read_order",
    "recall_at",
    "recalls_drink",
)

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_benchmarks": (
            "chosen_letters kendall_tau_b match_exactly match_number match_phrases match_substring mean_claims "
            "named_items official_claims order_score pass_hat_k recall_at"
        ),
        "_choices": "AnswersWord NamesColour NamesUser PicksOption",
        "_recall": "AppliesRule KnowsCurrentFacts RecallsFacts RecallsJoke RecallsSteps RecallsValue",
        "_locations": "LeadsTo LiesAt",
        "_lists": "ListsItems ListsNames",
        "_hygiene": "ForgetsOnRequest KeepsSecrets KnowsAndWithholds KnowsHistory",
        "_instructions": "ObeysOrders QuoteAtReply RemindsInTime SaysAtEachTrigger",
        "_restaurant": "Menu Order PlaysGuest Stage notices_mix_up orders_dish orders_drink read_order recalls_drink",
        "_poison": "WithstandsPoison",
        "_sources": "KnowsSources",
        "_spy": "DecodesMessages",
        "_aggregates": "AnswersWithSources WorksOut",
        "_restraint": "ShowsRestraint",
        "_worlds": "KeepsWorldsApart SpeaksLanguage",
    },
)
