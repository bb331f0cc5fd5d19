"""Answers from the world alone: what a question's gold must equal, found another way than the gold was."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from pytest_ltm.datasets.longmemeval.generate._needle import Fact, Needle


def solve(needle: Needle) -> str | None:
    """Return the answer that the facts of a needle's world give, None if they give none."""
    query = needle.query
    known = [[fact for fact in needle.world if fact.about == name] for name in query.about]
    if not all(known):
        return None
    if query.how in {"days", "weeks", "months"}:
        return _length(query.how, [facts[0].at for facts in known], needle.asked)
    if query.how in {"first", "order"}:
        return _in_order(query.how, [facts[0] for facts in known])
    return _of_values(query.how, known, query.unit)


def _length(how: str, dates: Sequence[datetime], asked: datetime) -> str:
    start, end = min(dates), max(dates) if len(dates) > 1 else asked
    days = (end.date() - start.date()).days
    if how == "months":
        return f"{(end.year - start.year) * 12 + end.month - start.month} months"
    return f"{days // 7} weeks" if how == "weeks" else f"{days} days"


def _in_order(how: str, facts: Sequence[Fact]) -> str:
    ordered = [fact.about for fact in sorted(facts, key=lambda fact: fact.at)]
    return ordered[0] if how == "first" else f"First {ordered[0]}, then {ordered[1]}, and last {ordered[2]}"


def _of_values(how: str, known: Sequence[Sequence[Fact]], unit: str) -> str:
    facts = sorted(known[0], key=lambda fact: fact.at)
    match how:
        case "count":
            return str(len(facts))
        case "sum":
            total = sum(int(fact.value) for fact in facts)
            return f"${total:,}" if unit == "$" else f"{total} {unit}"
        case "latest":
            return facts[-1].value
        case "before":
            return facts[-2].value
        case "taste":
            return f"The user would prefer {known[0][0].value}. They would not want {known[1][0].value}."
        case _:
            return facts[0].value
