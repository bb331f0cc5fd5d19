"""What a run asked its judge, in one line; apart from what the agent used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.reporting._text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._result import RunResult


def judge_lines(run: RunResult, remembered: Sequence[float | None]) -> list[str]:
    """Return the line about the judge, none if nobody asked it.

    `remembered`: for each reply that came from an earlier run what it had cost, in dollars, where that is known.
    """
    calls = sum(row.judge_calls for row in run.scenarios)
    if not calls:
        return []
    tokens = sum(row.judge_tokens for row in run.scenarios)
    costs = [row.judge_cost_usd for row in run.scenarios if row.judge_cost_usd is not None]
    parts = [counted(calls, "call"), *([counted(tokens, "token")] if tokens else [])]
    parts += [_dollars(sum(costs))] if costs else []
    spared = [cost for cost in remembered if cost is not None]
    saying = f"; {len(remembered):,} of them remembered from before" if remembered else ""
    saying += f", which spared {_dollars(sum(spared))}" if spared else ""
    return [f"judge: {', '.join(parts)}{saying}"]


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${amount:.4f}"
