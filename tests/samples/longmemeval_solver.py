"""Answers questions from a generated world alone: an independent check of the gold answers."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_ltm.lab.longmemeval.needles import Needle, WorldFact


def solve(needle: Needle) -> str | None:  # noqa: PLR0911 - one rule, one line
    """Return the answer that follows from the facts of a needle's world, or None."""
    query = needle.query
    known = [
        [fact for fact in needle.world if fact.about == name] for name in query.about
    ]
    if not all(known):
        return None
    firsts = sorted((facts[0] for facts in known), key=lambda fact: fact.at)
    start, end = firsts[0].at, firsts[-1].at if len(firsts) > 1 else needle.asked_at
    days = (end.date() - start.date()).days
    match query.how:
        case "days":
            return f"{days} days"
        case "weeks":
            return f"{days // 7} weeks"
        case "months":
            return f"{(end.year - start.year) * 12 + end.month - start.month} months"
        case "first":
            return firsts[0].about
        case "order":
            return f"First {firsts[0].about}, then {firsts[1].about}, and last {firsts[2].about}"
    return _of_values(query.how, known, query.unit)


def _of_values(how: str, known: Sequence[Sequence[WorldFact]], unit: str) -> str:
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
