"""Estimates the length of a conversation before it starts, to order conversations and balance shards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pytest_ltm.api.session import LtmItem, span_of
from pytest_ltm.figures.statistics.totals import group_by

# The share of its memory span that an example covers with the default spacing of
# messages.
SHARE = 0.9
# Approximate tokens of an example's own messages; its whole length if it never waits.
OWN_TOKENS = 300


def items_of_conversations(items: Iterable[LtmItem]) -> dict[str, list[LtmItem]]:
    """Group the items by conversation name, in their original order."""
    return group_by(items, lambda item: str(item.place.conversation))


def expected_tokens(items: Sequence[LtmItem], spans: Mapping[str, int | None]) -> int:
    """Return the approximate length in tokens of a conversation made of these items.

    Examples that must not overlap run one after another, so the longest such row determines the length.
    `spans`: tokens by label.
    """
    span = spans[items[0].place.span]
    rows: defaultdict[str, float] = defaultdict(float)
    for item in items if span is not None else ():
        tokens = span
        if item.marks.span is not None:
            _, tokens = span_of(str(item.marks.span), "span")
        rows[item.scenario] += SHARE * (tokens or 0)
    longest = 0.0
    for item in items:
        names = {item.scenario, *item.marks.incompatible}
        longest = max(longest, sum(rows.get(name, 0.0) for name in names))
    return round(longest) + OWN_TOKENS * len(items)
