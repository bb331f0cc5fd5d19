"""How long a conversation is expected to be, before anything is said: what runs first, and what balances shards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pytest_ltm.api.session import LtmItem, span_of
from pytest_ltm.figures.statistics.totals import group_by

# The share of its memory span that one example covers (the default spreading of
# messages).
SHARE = 0.9
# About the tokens of one example's own messages, which is its whole length where it
# waits for nothing.
OWN_TOKENS = 300


def items_of_conversations(items: Iterable[LtmItem]) -> dict[str, list[LtmItem]]:
    """Return the items by the name of their conversation, in the order in which they come."""
    return group_by(items, lambda item: str(item.place.conversation))


def expected_tokens(items: Sequence[LtmItem], spans: Mapping[str, int | None]) -> int:
    """Return about how many tokens a conversation of these items takes.

    Examples that must not overlap follow each other: the longest such row decides.
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
