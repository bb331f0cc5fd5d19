"""How long a conversation is expected to be, before anything is said: what runs first, and what balances shards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pytest_ltm.api.session import LtmItem, span_of

# The share of its memory span that one example covers (the default spreading of
# messages).
SHARE = 0.9
# About the tokens of one example's own messages, which is its whole length where it
# waits for nothing.
OWN_TOKENS = 300


def items_of_conversations(
    items: Iterable[LtmItem],
) -> dict[str, list[LtmItem]]:
    """Return the items by the name of their conversation, in the order in which they come."""
    ltm_items: dict[str, list[LtmItem]] = {}
    for item in items:
        ltm_items.setdefault(str(item.place.conversation), []).append(item)
    return ltm_items


def expected_tokens(known: Sequence[LtmItem], spans: Mapping[str, int | None]) -> int:
    """Return about how many tokens a conversation of these items takes.

    Examples that must not overlap follow each other: the longest such row decides.
    `spans`: tokens by label.
    """
    span = spans[known[0].place.span]
    rows: dict[str, float] = {}
    for ltm_item in known if span is not None else ():
        if ltm_item.marks.span is not None:
            own_tokens = span_of(str(ltm_item.marks.span), "span")[1]
        else:
            own_tokens = span
        rows[ltm_item.scenario] = rows.get(ltm_item.scenario, 0.0) + SHARE * (
            own_tokens or 0
        )
    longest = max(
        (
            sum(
                rows.get(name, 0.0)
                for name in {ltm_item.scenario, *ltm_item.marks.incompatible}
            )
            for ltm_item in known
        ),
        default=0.0,
    )
    return round(longest) + OWN_TOKENS * len(known)
