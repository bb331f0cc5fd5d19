"""Agents that act: which calls of tools are the wanted ones."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.api import AnsweredCall, Call, CallRule, Check, hookimpl


@hookimpl(trylast=True)
def pytest_ltm_check_calls(
    rule: CallRule, wanted: Sequence[Call], calls: Sequence[AnsweredCall]
) -> Check:
    """Return whether calls are what a scenario wants, their values compared by what they mean."""
    from pytest_ltm.acting.call_rules import check_calls

    return check_calls(rule, wanted, calls)
