"""What has no score, and why, in a few lines under the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.reporting._text import counted, one_line, shorten, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_ltm._result import RunResult, ScenarioResult

MOST = 8
"""So many reasons are listed; all stand in the result files."""
_NAMES = 4
_PLACES = 2
_REASON = 200
_KINDS = {
    "unscored": "unscored",
    "requires": "not possible",
    "not reached": "not reached",
    "agent": "error of the agent",
    "judge": "error of the judge",
    "scenario": "error of the scenario",
    "internal": "error of pytest-ltm",
}


def missing_lines(run: RunResult, width: int) -> list[str]:
    """Return what has no score, grouped by reason, most frequent first; nothing if all have one."""
    rows = [row for row in run.scenarios if not row.scored]
    if not rows:
        return []
    ordered = _ordered(rows)
    verbs = ("has", "counts") if len(rows) == 1 else ("have", "count")
    examples = counted(len(run.scenarios), "example")
    head = f"* {len(rows):,} of {examples} {verbs[0]} no score and {verbs[1]} in no mean:"
    lines = wrap(head, width, "  ")
    for why, group in ordered[:MOST]:
        lines += wrap(f"  {len(group):,} {_numbered(why, len(group))} ({_where(group)})", width, "      ")
    if len(ordered) > MOST:
        lines.append(f"  … and {counted(len(ordered) - MOST, 'more reason')}, in the results files")
    return lines


def reasons_told(run: RunResult) -> frozenset[str]:
    """Return the reasons that `missing_lines` tells in full."""
    listed = [group[0].reason for _, group in _ordered([row for row in run.scenarios if not row.scored])[:MOST]]
    return frozenset(reason for reason in listed if shorten(one_line(reason), _REASON) == one_line(reason))


def _ordered(rows: Sequence[ScenarioResult]) -> list[tuple[str, list[ScenarioResult]]]:
    groups: dict[str, list[ScenarioResult]] = {}
    for row in rows:
        groups.setdefault(_why(row), []).append(row)
    return sorted(groups.items(), key=lambda group: -len(group[1]))


def _numbered(why: str, count: int) -> str:
    return why.replace("error", "errors", 1) if count > 1 and why.startswith("error") else why


def _why(row: ScenarioResult) -> str:
    kind = _KINDS.get(row.cause, "error" if row.outcome == "error" else "skipped")
    return f"{kind}: {shorten(one_line(row.reason), _REASON)}" if row.reason else kind


def _where(rows: Sequence[ScenarioResult]) -> str:
    places: dict[str, dict[str, None]] = {}
    for row in rows:
        place = one_line(f"{row.agent} at {row.span_label}")
        places.setdefault(place, {})[one_line(row.scenario)] = None
    return _few([f"{place}: {_few(list(names), _NAMES)}" for place, names in places.items()], _PLACES, "; ")


def _few(parts: Sequence[str], most: int, between: str = ", ") -> str:
    more = [f"and {len(parts) - most:,} more"] if len(parts) > most else []
    return between.join([*parts[:most], *more])
