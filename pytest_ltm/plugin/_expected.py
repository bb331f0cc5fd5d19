"""How long a conversation is expected to be, before anything is said: what runs first, and what balances shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ltm.plugin._spans import span_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_ltm.plugin._items import LtmItem

SHARE = 0.9
"""One example is stretched over so much of its memory span (the default spreading of messages)."""
OWN_TOKENS = 300
"""About so many tokens one example says itself, which is all there is where nothing is waited for."""


def name_of(known: LtmItem) -> str:
    """Return the three labels that name an item's conversation, as they stand in its node id."""
    return "-".join(known.place.conversation)


def conversations(items: Iterable[LtmItem]) -> dict[str, list[LtmItem]]:
    """Return the items by the name of their conversation, in the order in which they come."""
    found: dict[str, list[LtmItem]] = {}
    for known in items:
        found.setdefault(name_of(known), []).append(known)
    return found


def expected_tokens(known: Sequence[LtmItem], spans: Mapping[str, int | None]) -> int:
    """Return about how many tokens a conversation of these items takes.

    Examples that must not overlap follow each other: the longest such row decides. `spans`: tokens by label.
    """
    span = spans[known[0].place.span]
    rows: dict[str, float] = {}
    for one in known if span is not None else ():
        own = span_of(str(one.marks.span), "span")[1] if one.marks.span is not None else span
        rows[one.scenario] = rows.get(one.scenario, 0.0) + SHARE * (own or 0)
    longest = max((_with_rivals(one, rows) for one in known), default=0.0)
    return round(longest) + OWN_TOKENS * len(known)


def _with_rivals(one: LtmItem, rows: Mapping[str, float]) -> float:
    return sum(rows.get(name, 0.0) for name in {one.scenario, *one.marks.incompatible})
