"""Agents that act: decides which tool calls are the wanted ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_ltm.api import AnsweredCall, Call, CallRule, Check, hookimpl, lazy
from pytest_ltm.figures.figure import Figure


@hookimpl(trylast=True)
def pytest_ltm_check_calls(
    rule: CallRule, wanted: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Check:
    """Return whether calls are those that a scenario wants, comparing the meanings of their values."""
    from pytest_ltm.acting.call_rules import check_calls

    return check_calls(rule, wanted, calls)


@hookimpl
def pytest_ltm_figures(register: Callable[[Figure], None]) -> None:
    """Register the share of passed checks on calls and files."""
    register(
        Figure(
            "acted",
            "share",
            lazy("pytest_ltm.acting.acted_share:acted_share"),
            "acted",
            missing="absent",
            definition="mean over examples of the share of checks of calls and files that passed",
        )
    )
