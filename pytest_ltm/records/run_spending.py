"""The spending of a run so far: its conversations, the canaries of its judge and the probe of its agents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_ltm.api.journal import JOURNAL, TIMINGS, Side, Tariff, conversations_in
from pytest_ltm.records import judge_checks, probe_record
from pytest_ltm.records.budget import SpentBudget, spent_in


def spent_by_run(
    run: Path,
    *,
    agent: Callable[[str], Tariff],
    judge: Tariff,
    user: Callable[[str], Tariff],
) -> dict[Side, dict[str, SpentBudget]]:
    """Return the spending on each side, by conversation or file; empty for a run that has not begun.

    Args:
        run: The run folder.
        agent: Returns the prices of an agent's replies, by its label.
        judge: The prices of the judge's replies.
        user: Returns the prices of a simulated user's model, by its name.
    """
    sides: dict[Side, dict[str, SpentBudget]] = {
        "agent": {},
        "judge": {},
        "user": {},
        "lost": {},
    }
    for name, path in conversations_in(run, JOURNAL).items():
        spending = spent_in(
            path, path.parent / TIMINGS, agent=agent(name.agent), judge=judge, user=user
        )
        for side, spent in spending.items():
            sides[side][name.folder] = spent
    usage = judge_checks.precheck_usage(run, judge)
    if usage.calls:
        sides["judge"][judge_checks.JOURNAL] = _spent_on(usage)
    rows = probe_record.read_probe(run)
    for label in {row.agent for row in rows}:
        usage = probe_record.probe_usage(rows, label, agent(label))
        sides["agent"][f"{probe_record.PROBE_FILE} {label}"] = _spent_on(usage)
    return sides


def _spent_on(usage: probe_record.PrecheckUsage) -> SpentBudget:
    return SpentBudget(usage.usd or 0.0, usage.tokens, usage.calls)
